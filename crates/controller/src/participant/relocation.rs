//! The way of a participant to another media node.

use std::time::Instant;

use southbound::{NodeId, TransportId};

/// How far a participant is on its way to another media node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Relocation {
    /// Trunks to the other node are opened, and what it receives crosses to it.
    Prepared {
        /// The node that it comes to.
        to: NodeId,
        /// When its client is told.
        tell_at: Instant,
    },
    /// Its client was told to come back. Its media flows at the node before.
    Awaited {
        /// The node that it comes to.
        to: NodeId,
        /// The client has to be there by then, or it joins again.
        until: Instant,
    },
    /// Its client is back, and has yet to restart ICE. Its media flows at the node before.
    Returned {
        /// The node that it comes to.
        to: NodeId,
        /// The end of the time for this.
        until: Instant,
    },
    /// It has transports at the other node, and the transports before go on until these connect.
    Connecting {
        /// The transports that have not connected.
        awaited: Vec<TransportId>,
        /// The transports at the node before.
        left: Vec<(NodeId, TransportId)>,
        /// The end of the time for this.
        until: Instant,
    },
}

impl Relocation {
    /// When the participant has to join again.
    pub(crate) fn until(&self) -> Option<Instant> {
        match self {
            Self::Prepared { .. } => None,
            Self::Awaited { until, .. } | Self::Returned { until, .. } | Self::Connecting { until, .. } => Some(*until),
        }
    }

    /// The node that it is to come to and is not on yet.
    pub(crate) fn target(&self) -> Option<NodeId> {
        match self {
            Self::Prepared { to, .. } | Self::Awaited { to, .. } | Self::Returned { to, .. } => Some(*to),
            Self::Connecting { .. } => None,
        }
    }

    /// The transports that it leaves.
    pub(crate) fn left(&self) -> &[(NodeId, TransportId)] {
        match self {
            Self::Connecting { left, .. } => left,
            Self::Prepared { .. } | Self::Awaited { .. } | Self::Returned { .. } => &[],
        }
    }
}
