//! A TURN server that relays to this server's own media and to nothing else (RFC 8656).
//!
//! A [`Server`] has what all clients share: the secret of their credentials, and the peers they may
//! reach. A [`Client`] is one of them, with one allocation at most. Both are without a clock or a
//! socket: datagrams in, a datagram out. Over UDP an address needs no client that is kept until the
//! server [admits](Server::admits) it. [`framing`] finds the messages in a client's stream.
//!
//! Peers are a fixed list, so permissions need no table: an address that is not in the list is
//! refused, and datagrams from it are dropped. TCP towards peers, reservations and even ports
//! (RFC 6062, RFC 8656 section 14.6) are not there, because browsers do not use them. Attributes
//! that ask for them are refused with 420, as unknown ones are.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

pub mod framing;
pub mod limits;

mod attributes;
mod client;
mod message;
mod server;
#[cfg(test)]
mod tests;

pub use client::{Client, Family, Outcome, Refusal, Times};
pub use message::{encode, sign};
pub use server::Server;
