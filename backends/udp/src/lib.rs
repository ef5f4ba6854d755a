//! The userspace data plane over UDP sockets, and over TCP connections where UDP does not pass:
//! portable, the default, always there.
//!
//! Three layers, each usable without the one above it:
//!
//! 1. A [`Shard`](shard::Shard) is one worker's tables and packet path, without socket, clock or
//!    thread: datagrams in, runs of datagrams out. A leg lives in exactly one shard, with its keys,
//!    its indexes and its egress run. Shards pass packets and requests to each other through
//!    bounded rings.
//! 2. A [`Control`](control::Control) is the agent's handle: it validates every entry, decides
//!    which shard owns it, and collects what the shards report.
//! 3. [`UdpPlane`] gives each shard a thread and a [`Network`], by default [`Sockets`].
//!    [`InlinePlane`] runs the same shards one after the other in the caller's thread, for
//!    deterministic tests.
//!
//! `channel` has the rings between a control handle and a worker. `packing` chooses the worker of
//! new legs while few are connected. `tcp` has the connections, beside any network. `relays` have
//! sockets and workers of their own, and no legs.
//!
//! Read [`shard`] first: its folders follow a packet through the pipeline. `srtp` protects packets.
//! `net` is the only module that calls the operating system; only `net` and `prefetch` have
//! `unsafe` code.

#![deny(unsafe_code)]
// Tests may read a clock; the packet path is given the time.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

pub mod control;
pub mod shard;
pub mod srtp;

mod abort;
mod channel;
mod clock;
mod config;
mod hash;
mod heartbeat;
mod inline;
mod net;
mod packing;
mod plane;
mod prefetch;
mod relays;
mod replay_window;
mod slab;
mod sorted;
mod tcp;
mod wakeup;
mod worker;

pub use config::UdpConfig;
pub use inline::InlinePlane;
pub use net::{EventFd, Network, Sockets, UdpPorts, trim_heap};
pub use plane::UdpPlane;
pub use relays::RtpBypass;
pub use wakeup::Wakeup;
