//! Observations of the agent, for the timelines of operators. Nothing is decided by them.

use wire::codec::Layer;

use crate::{SubscriptionId, TransportId};

/// One observation. A node reports a bounded number in each second of each subject, and counts the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A receiver is sent another layer of a subscription.
    LayerSwitch {
        /// Which subscription.
        subscription: SubscriptionId,
        /// The layer before; `None` if nothing was sent.
        from: Option<SentLayer>,
        /// The layer now.
        to: SentLayer,
    },
    /// A downlink is probed for more room.
    Probe {
        /// Which transport.
        transport: TransportId,
        /// The rate of the burst. Shape: bits per second of UDP payload.
        rate: u64,
        /// The least number of its bytes.
        bytes: u32,
    },
    /// Packets were lost in the last round of reports, which is a second long.
    Loss {
        /// Which transport.
        transport: TransportId,
        /// The way they were lost on.
        direction: Direction,
        /// The packets that were expected.
        expected: u64,
        /// Those of them that did not arrive, before repair.
        lost: u64,
    },
}

/// An encoding, by its place in the publication, and the highest layer of it that is sent:
/// [`u8::MAX`] for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentLayer {
    /// In rising quality from 0.
    pub encoding: u8,
    /// Inside the encoding.
    pub layer: Layer,
}

/// A way between a node and a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the peer.
    Uplink,
    /// To the peer.
    Downlink,
}
