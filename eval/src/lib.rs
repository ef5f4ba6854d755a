//! Measures the cost of a media switch: a generator of many light clients of the LiveKit protocol
//! or of Janus, and its measurements.
//!
//! The clients are real ones as far as a server can tell: ICE, DTLS, SRTP, NACK, receiver reports
//! and transport-wide feedback, over one UDP socket per transport. Only the decoder is missing.
//! Each packet's payload carries a stamp (its source, number and sending time) that no forwarding
//! server touches, so loss and latency are counted end to end.
//!
//! Everything runs on one thread over one `epoll`, because the generator shares the machine with
//! the server that it measures.
//!
//! Start with [`run`]. Its parts are [`client`], one client; [`media`], the packets that it sends
//! and receives; [`transport`], their way to the server; [`measure`], the counting; and [`net`],
//! the sockets. [`floor`] measures a lower bound for the cost of any server, [`suite`] measures a
//! server beside the floor, [`routes`] measures TCP and TURN beside UDP, [`compare`] compares
//! servers.

#![forbid(unsafe_code)]

pub mod client;
pub mod compare;
pub mod floor;
pub mod impairment;
pub mod measure;
pub mod media;
pub mod report;
pub mod routes;
pub mod run;
pub mod scenario;
pub mod suite;
pub mod transport;

pub use harness::{clock, net};
