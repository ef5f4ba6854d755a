//! Multicast groups and clone sessions.

use std::collections::BTreeMap;

/// The output port of a dropped packet.
pub const DROP_PORT: u16 = 511;

/// One copy: its port, and the number by which the egress pipeline knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    /// The output port.
    pub port: u16,
    /// `egress_rid`.
    pub instance: u16,
}

/// The packet-replication engine.
#[derive(Debug, Default)]
pub struct Replication {
    /// The copies of each group.
    pub groups: BTreeMap<u32, Vec<Replica>>,
    /// The copies of each clone session.
    pub sessions: BTreeMap<u16, Vec<Replica>>,
}

impl Replication {
    /// The copies over all groups and sessions.
    #[must_use]
    pub fn replicas(&self) -> usize {
        self.groups.values().chain(self.sessions.values()).map(Vec::len).sum()
    }
}
