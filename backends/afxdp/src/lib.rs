//! The userspace data plane over AF_XDP rings: backend-udp's workers with a faster way in and out.
//!
//! What happens to a packet is [`backend_udp`]'s business, to the last byte: the same shards, the
//! same control handle. What is here is a worker's [`Network`](backend_udp::Network). An XDP
//! program takes Weir's RTP off the interface before the stack sees it and puts it into memory a
//! worker shares with the kernel; the worker writes Ethernet, IP and UDP headers around what it
//! sends and puts that there, too. Everything else (STUN, DTLS, RTCP, fragments, other interfaces,
//! receivers whose hardware address is not known yet) goes through the ordinary sockets on the same
//! port, which are always open: always right, only slower.
//!
//! Read `network` first, then `frame` (what is around a datagram), `next_hops` (where it goes),
//! `program` and `program/weir.bpf.c` (what is taken). `sys` is the only place that talks to the
//! operating system, and so the only one with `unsafe`.

#![deny(unsafe_code)]
// Tests may read a clock.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod error;
mod frame;
mod interface;
mod neigh;
mod netlink;
mod network;
mod plane;
mod program;
mod retry;
mod statistics;
mod sys;
#[cfg(test)]
mod tests;

pub use error::{AfxdpError, Step};
pub use plane::{AfxdpConfig, AfxdpPlane, Found};
pub use program::ProgramMode;
pub use statistics::{Counter, Counters, Statistics};
