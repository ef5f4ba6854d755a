//! Observations of the agent, for the timelines of operators. Nothing is decided by them.

use std::net::SocketAddr;
use std::time::Duration;

use operator::observation::{Direction, PathProtocol, SwitchCause};
use operator::receivers::{Limit, Usage};
use wire::codec::Layer;

use crate::{SubscriptionId, TrackId, TransportId, Versions};

/// One observation. A node reports a bounded number in each second of each subject, and counts the
/// others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation {
    /// A receiver is sent another layer of a subscription.
    LayerSwitch {
        /// Which subscription.
        subscription: SubscriptionId,
        /// The layer before; `None` if nothing was sent.
        from: Option<SentLayer>,
        /// The layer now.
        to: SentLayer,
        /// Why; nodes before version 4 do not say.
        cause: Option<SwitchCause>,
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
    /// The estimate of a downlink has changed, or is said again.
    Estimate {
        /// The receiver's transport, whose downlink is estimated.
        transport: TransportId,
        /// The estimate, and the rates that were divided by it.
        estimate: DownlinkEstimate,
    },
    /// The decoder of a receiver asks for a key frame.
    KeyFrameRequest {
        /// The subscription that the decoder shows.
        subscription: SubscriptionId,
    },
    /// A publisher is asked for a key frame.
    KeyFrameQuery {
        /// The track that the key frame is to be of.
        track: TrackId,
        /// How often it was asked without a use for a receiver, this time included.
        attempt: u32,
    },
    /// A transport uses another ICE pair.
    Path {
        /// The transport that uses the pair.
        transport: TransportId,
        /// The peer's address, as the node sees it.
        remote: SocketAddr,
        /// Whether it is a connection over TCP.
        protocol: PathProtocol,
    },
}

impl Observation {
    /// The first version of the protocol that has the observation.
    pub fn version(&self) -> u32 {
        match self {
            Observation::LayerSwitch { .. } | Observation::Probe { .. } | Observation::Loss { .. } => 1,
            Observation::Estimate { .. }
            | Observation::KeyFrameRequest { .. }
            | Observation::KeyFrameQuery { .. }
            | Observation::Path { .. } => Versions::TIMELINES,
        }
    }
}

/// The estimate of a downlink. Shape: rates in bits per second of UDP payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DownlinkEstimate {
    /// The estimated capacity.
    pub target: u64,
    /// The rate of everything granted.
    pub allocated: u64,
    /// The rate of everything wanted.
    pub wanted: u64,
    /// The reason that the estimate is not higher.
    pub limit: Limit,
    /// The use of the path, as seen from delay.
    pub usage: Usage,
    /// The part of the packets that is lost, 0 to 1.
    pub loss: f32,
    /// To the receiver and back, where it is measured.
    pub round_trip: Option<Duration>,
    /// The delay in the queue of the path.
    pub queue: Duration,
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
