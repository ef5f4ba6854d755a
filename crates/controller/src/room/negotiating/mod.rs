//! Session descriptions in and out.

mod negotiate;
mod renegotiate;
