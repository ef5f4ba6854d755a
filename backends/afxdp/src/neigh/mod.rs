//! Next hops: an interface and a hardware address for each path, asked of the kernel off the packet
//! path.
//!
//! A worker has a cache, [`NextHops`]. It asks a [`Resolver`] about paths that are not in it. The
//! resolver is one thread for all workers. It asks the kernel over netlink, listens for changes and
//! informs the workers. Until there is an answer, and on paths that no ring serves, the worker's
//! sockets send. The kernel then resolves the neighbours' addresses itself, and the resolver learns
//! them from it.

mod cache;
mod resolver;

use std::net::IpAddr;

use dataplane::Path;

pub(crate) use cache::NextHops;
pub(crate) use resolver::{Resolver, ResolverThread};

use crate::hop::Hop;

/// A worker's message to the resolver.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Query {
    /// Tell me of this path, now and whenever it changes.
    About(Path),
    /// No more of this one.
    NoMore(Path),
}

/// The resolver's message to a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// The next hop of this path; `None` for sending by socket.
    Path(Path, Option<Hop>),
    /// Time to forget what was not used since the last time.
    Tidy,
}

/// A neighbour: on which interface (the kernel's index), under which address.
type NeighbourKey = (u32, IpAddr);
