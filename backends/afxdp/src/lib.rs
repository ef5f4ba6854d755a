//! The userspace data plane over AF_XDP rings: backend-udp's workers with a faster way in and out.
//!
//! [`backend_udp`] processes all packets: the shards and the control handle are the same. This
//! crate provides a worker's [`Network`](backend_udp::Network). An XDP program takes Weir's RTP off
//! the interface before the stack and puts it into memory that a worker shares with the kernel. For
//! sending, the worker writes Ethernet, IP and UDP headers around a payload and puts it there, too.
//! Everything else (STUN, DTLS, RTCP, fragments, other interfaces, receivers whose hardware address
//! is not yet known) passes through the ordinary sockets on the same port. These are always open
//! and always correct, only slower.
//!
//! Read `network` first, then `frame` (the headers around a datagram), `next_hops` (its next hop),
//! `program` and `program/weir.bpf.c` (the packets that are taken). `sys` is the only module that
//! calls the operating system, and so the only one with `unsafe`.

#![deny(unsafe_code)]
// Tests may read a clock.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

mod error;
mod frame;
mod hop;
mod interface;
mod neigh;
mod netlink;
mod network;
mod plane;
mod program;
mod statistics;
mod sys;
#[cfg(test)]
mod tests;

pub use error::{AfxdpError, Step};
pub use plane::{AfxdpConfig, AfxdpPlane, InterfaceInfo};
pub use program::ProgramMode;
pub use statistics::{Counter, Counters, Statistics};
