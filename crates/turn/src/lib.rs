//! A TURN server that relays to this server's own media and to nothing else (RFC 8656).
//!
//! A [`Server`] has what all clients share: the secret of their credentials, and the peers they may
//! reach. A [`Client`] is one of them, with one allocation at most. Both are without a clock or a
//! socket: datagrams in, a datagram out. A client is kept only once it has an allocation: before,
//! each of its requests shows all that matters. [`framing`] finds the messages in a stream.
//! Everybody is told the address that a Binding request came from (RFC 8489).
//!
//! Peers are a fixed list, so permissions need no table: an address that is not in the list is
//! refused, and datagrams from it are dropped. A datagram to a peer stays on this machine and is
//! never fragmented, so DONT-FRAGMENT is understood and has no effect. TCP towards peers (RFC 6062)
//! is not there, because browsers do not use it.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

pub mod framing;
pub mod limits;

mod allocation;
mod answer;
mod answer_limit;
mod authentication;
mod client;
mod encoding;
mod errors;
mod family;
mod integrity;
mod kinds;
mod message;
mod port;
mod server;
#[cfg(test)]
mod tests;

pub use answer_limit::AnswerLimit;
pub use client::{Client, Outcome, Times};
pub use encoding::{encode, sign};
pub use family::Family;
pub use port::{Opened, PortRequest, Refusal, Token};
pub use server::Server;
