//! Hardware addresses, and next hops on a link.

/// A hardware address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mac(pub(crate) [u8; 6]);

impl Mac {
    /// Six bytes as an interface or a neighbour has them; `None` for other lengths.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Mac)
    }
}

/// The next hop on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Which interface, by its place in the configuration.
    pub(crate) interface: usize,
    /// The interface's address.
    pub(crate) from: Mac,
    /// The neighbour's.
    pub(crate) to: Mac,
    /// The most bytes of a packet, including its IP header.
    pub(crate) mtu: usize,
}
