//! One receiver's copy of a track.

use dataplane::{Replica, ReplicaFormat, ReplicaId, StreamKey};
use southbound::{PayloadFormat, Subscription};
use wire::PayloadType;
use wire::codec::Layer;

use super::quality::Reported;
use super::resend::Resends;

/// A subscription with what has become of it.
pub(super) struct Downlink {
    pub(super) subscription: Subscription,
    /// Its entry, once the receiver has a leg. The first sequence numbers are fixed with it.
    pub(super) entry: Option<Entry>,
    /// The stream it should come from.
    pub(super) source: Option<StreamKey>,
    /// The stream it does come from.
    pub(super) current: Option<StreamKey>,
    pub(super) delivered: bool,
    pub(super) resends: Resends,
    pub(super) reported: Reported,
    /// Number of the last full intra request: the same again is a repetition (RFC 5104 section 4.3.1).
    pub(super) intra_request: Option<u8>,
}

/// The fixed part of a table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) replica: ReplicaId,
    pub(super) first_sequence: u16,
    pub(super) rtx_first_sequence: u16,
}

impl Downlink {
    pub(super) fn new(subscription: Subscription) -> Self {
        Downlink {
            subscription,
            entry: None,
            source: None,
            current: None,
            delivered: false,
            resends: Resends::default(),
            reported: Reported::default(),
            intra_request: None,
        }
    }

    /// Whether it waits for a key frame of the stream it should come from.
    pub(super) fn awaits(&self, key: StreamKey) -> bool {
        self.subscription.wanted.enabled && self.source == Some(key) && self.current != Some(key)
    }

    /// Its table entry on the receiver's leg.
    pub(super) fn replica(&self, leg: dataplane::LegId, entry: Entry) -> Replica {
        let subscription = &self.subscription;
        let format = |(source, format): &(PayloadType, PayloadFormat)| ReplicaFormat {
            source: *source,
            payload_type: format.payload_type,
            rtx: format.rtx,
            primary_only: false,
        };
        Replica {
            leg,
            ssrc: subscription.ssrc,
            first_sequence: entry.first_sequence,
            rtx: subscription.rtx.map(|rtx| (rtx, entry.rtx_first_sequence)),
            formats: subscription.formats.iter().map(format).collect(),
            mid: subscription.mid,
            source: self.source,
            target: Layer::HIGHEST,
            paused: !subscription.wanted.enabled,
        }
    }
}
