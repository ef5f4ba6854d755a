//! What a media switch costs: a generator of many light clients of the LiveKit protocol or of
//! Janus, and what it measures.
//!
//! The clients are real ones as far as a server can tell: ICE, DTLS, SRTP, NACK, receiver reports
//! and transport-wide feedback, over one UDP socket per transport. What is left out is the decoder.
//! Each packet's payload carries a stamp (its source, number and sending time) that no forwarding
//! server touches, so loss and latency are counted end to end.
//!
//! Everything runs on one thread over one `epoll`, because the generator shares the machine with
//! the server that it measures.
//!
//! Start with [`run`]; below it [`client`] is one client, [`media`] what it sends and receives,
//! [`measure`] the counting, [`net`] the sockets. [`floor`] measures what no server could undercut,
//! [`suite`] puts the two beside each other, [`compare`] puts servers beside each other.

#![forbid(unsafe_code)]

pub mod client;
pub mod compare;
pub mod floor;
pub mod measure;
pub mod media;
pub mod net;
pub mod report;
pub mod run;
pub mod scenario;
pub mod suite;

pub use harness::clock;
