//! Where the next hop is: an interface and a hardware address for each path, asked of the kernel
//! off the packet path.
//!
//! A worker has [`NextHops`], what it knows; what it does not know it asks a [`Resolver`], one
//! thread for all workers, which asks the kernel over netlink, hears of changes and tells the
//! workers. Until there is an answer, and wherever it is that no ring leads there, the worker's
//! sockets send: the kernel knows every way, and by sending finds out the neighbours' addresses, of
//! which the guide then hears.

mod cache;
mod resolver;

use std::net::IpAddr;

use dataplane::Path;

pub(crate) use cache::NextHops;
pub(crate) use resolver::{Resolver, ResolverThread};

/// A hardware address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mac(pub(crate) [u8; 6]);

/// How to reach somebody over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Which interface, by its place in the configuration.
    pub(crate) interface: usize,
    /// The interface's address.
    pub(crate) from: Mac,
    /// The neighbour's.
    pub(crate) to: Mac,
    /// What a packet may be long, IP header included, in bytes.
    pub(crate) mtu: usize,
}

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
    /// This path goes over this hop; `None`, by socket.
    Path(Path, Option<Hop>),
    /// Time to forget what was not used since the last time.
    Tidy,
}

/// A neighbour: on which interface (the kernel's index), under which address.
type NeighbourKey = (u32, IpAddr);
