//! TCP connections that carry the datagrams of legs (RFC 6544, RFC 4571).
//!
//! A connection is a path like any other: its local address has the TCP port, which is not the UDP
//! port, and its remote address is the other end's. So neither tables nor shards differ between the
//! two. Below them:
//!
//! 1. An [`acceptor`] thread opens the port. It keeps each connection until its first frame, which
//!    has to be STUN.
//! 2. A [`TcpWorker`] reads the connections that it was given, beside the worker's network, and
//!    writes what its shard sends to any connection. It closes one that sends something other than
//!    STUN before it is a leg's.
//! 3. A [`connection`] is the half that is written. It queues what the other end does not take in
//!    time, up to a limit, and drops the rest.
//! 4. The [`registry`] finds connections by path, and [`slots`] counts them by address.
//!
//! Each connection has one lock, for its queue. It is taken once for a run of datagrams, and is
//! contended only when the owner of a leg is not the worker that reads its connection.

mod acceptor;
mod connection;
mod connection_slots;
mod port;
mod registry;
mod statistics;
#[cfg(test)]
mod tests;
mod worker;

use std::time::Duration;

use dataplane::limits::DATAGRAM_MAX;
use wire::framing::HEADER;

pub(crate) use port::TcpPort;
use statistics::TcpStatistics;
pub(crate) use worker::{TcpTransmit, TcpWorker};

/// How many connections there may be. For one more, the oldest that is no leg's is closed, or else
/// the new one. One address takes eight ninths at most: all clients of a carrier may have one.
const CONNECTIONS_MAX: usize = 8_192;
/// How long an unclaimed connection keeps its place in any case: a check, and a look of its worker.
const UNCLAIMED_MIN: Duration = Duration::from_secs(2);
/// How long the first frame may take.
const UNOPENED_FOR: Duration = Duration::from_secs(5);
/// How long a connection may be without a leg, before the check that makes it one's and after.
const UNCLAIMED_FOR: Duration = Duration::from_secs(15);
/// How long the other end may acknowledge nothing.
const DEAD_AFTER: Duration = Duration::from_secs(15);
/// Bytes that the kernel holds of a connection and has not sent. They cannot be dropped any more.
const UNSENT_MAX: i32 = 32 << 10;
/// Bytes that wait in a connection's queue: half a second at 2 Mbit/s. Datagrams that find no room
/// are dropped.
const QUEUE_MAX: usize = 128 << 10;
/// Bytes that wait in all queues together. One queue has at most what is free, divided by
/// [`QUEUES_SHARED`], so that the queues of many that do not read leave room to the next one.
/// Beyond that it takes only the rest of a frame that was begun.
const QUEUES_MAX: usize = 256 << 20;
/// See [`QUEUES_MAX`].
const QUEUES_SHARED: usize = 2_048;
/// The longest frame, which is as long as a datagram may be. A longer one ends its connection.
const FRAME_MAX: usize = HEADER + DATAGRAM_MAX;
