//! RTCP from peers and to them.

mod receive;
mod remb;
mod reports;
