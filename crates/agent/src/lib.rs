//! The control of one media node. It turns a controller's commands into table entries and keeps
//! every peer's transport alive.
//!
//! The agent speaks ICE, DTLS, SCTP and RTCP with the peers. It handles no media packets: the data
//! plane forwards those by table and hands over the packets that the tables do not cover. Start
//! reading at [`Agent`]. It has two halves: the transports (`transport`, `ice`, `dtls`, `channels`)
//! and the media over them (`media`). A transport to another node needs no ICE and no DTLS
//! (`transports::direct`). Beside them are calls that are relayed unchanged (`relays`).
//!
//! The crate is sans-IO: it owns no clock, socket or thread. Its input is
//! [`Command`](southbound::Command)s, [`Event`](dataplane::Event)s and the passage of time. It
//! writes table entries, injects packets and returns [`Notice`](southbound::Notice)s. It hands out
//! the slow work, the [`Handshake`]s, to be computed on any thread.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test has to start somewhere"))]

mod agent;
mod channels;
mod config;
mod context;
mod counters;
mod departed;
mod digest;
mod dtls;
pub mod fence;
mod handshake;
mod ice;
mod ids;
mod ledger;
pub mod limits;
mod liveness;
mod map;
mod media;
mod owner;
pub mod receivers;
mod relays;
mod timers;
mod transport;
mod transports;

pub use agent::Agent;
pub use channels::{dcep, packets as sctp_packets};
pub use config::{Certificate, CertificateError, Config, Feedback, NodeAddresses, Policy};
pub use counters::{Counter, Counters};
pub use dtls::{HandshakeFailure, HandshakeFault, is_whole_records};
pub use handshake::{Handshake, Handshaken};
pub use receivers::Receiver;

#[cfg(test)]
mod tests;
