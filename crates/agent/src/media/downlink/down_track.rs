//! One receiver's copy of a track.

use std::time::{Duration, Instant};

use dataplane::{LegId, Replica, ReplicaFormat, ReplicaId, Rewriting, StreamKey};
use southbound::{PayloadFormat, Subscription};
use wire::codec::Layer;
use wire::extension::PlayoutDelay;
use wire::{Codec, PayloadType};

use super::layer_switches::LayerSwitches;
use super::sent_rate::SentRate;
use super::stale_rtx::StaleRtx;
use crate::limits::{KEY_FRAMES_MAX, KEY_FRAMES_WINDOW};
use crate::media::budget::Path;
use crate::media::quality::Reported;
use crate::media::rate_limit::RateLimit;
use crate::media::rtx_history::RtxHistory;

/// After a fall to the smallest size, the key frame for the granted size waits for this long.
/// Encoders skip frames after two key frames in a row, and the queue is shorter by then.
const SMALL: Duration = Duration::from_secs(2);

/// A subscription and its state.
pub(super) struct DownTrack {
    pub(super) subscription: Subscription,
    /// Its entry, once the receiver has a leg. The first sequence numbers are fixed with it.
    pub(super) entry: Option<Entry>,
    /// The entry in the table.
    pub(super) written: Option<Replica>,
    /// How much of the track it gets.
    pub(super) choice: Choice,
    /// The smaller size that is kept beside it.
    pub(super) fallback_spatial: Option<u8>,
    /// Whether it gets the smallest size before the granted one, because the path is full.
    pub(super) small: Small,
    /// Nobody gets the track at the moment.
    pub(super) held: bool,
    /// Others are among the few that are shown.
    pub(super) left_out: bool,
    /// Whether the controller was told that it is paused.
    pub(super) told_paused: bool,
    /// The stream that it should follow.
    pub(super) source: Option<StreamKey>,
    /// The layer that it is sent.
    pub(super) current: Option<Current>,
    /// Reports its layer switches.
    pub(super) switches: LayerSwitches,
    pub(super) delivered: bool,
    /// Packets that were sent in place of media.
    pub(super) fills: u8,
    pub(super) rtx_history: RtxHistory,
    /// Retransmissions that would be useless.
    pub(super) stale_rtx: StaleRtx,
    /// How many packets of it had been sent by the last round of reports.
    pub(super) counted: u64,
    /// The rate sent of it, as reported to its publisher.
    pub(super) sent: SentRate,
    /// Playout delay of its receiver.
    pub(super) playout_delay: Option<PlayoutDelay>,
    /// The key frames its receiver asked for.
    pub(super) key_frames: RateLimit,
    pub(super) reported: Reported,
    /// Number of the last full intra request: the same again is a repetition (RFC 5104 section
    /// 4.3.1).
    pub(super) intra_request: Option<u8>,
}

/// The fixed part of a table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) replica: ReplicaId,
    pub(super) first_sequence: u16,
    pub(super) rtx_first_sequence: u16,
    pub(super) rewriting: Rewriting,
}

/// How much of a track a receiver gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// As much as it wants, without a limit.
    Free,
    /// It is not decided yet.
    Undecided,
    /// No layer arrives yet; the lowest one that arrives will be sent.
    Expecting,
    /// Up to this layer of the source.
    Granted(Layer),
    /// No layer: the downlink does not carry it.
    NoRoom,
}

/// Whether a subscription gets the smallest size in place of the granted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Small {
    No,
    /// It starts with the smallest size at the next key frame.
    First,
    /// It began with it, and stays there for the time being.
    Until(Instant),
}

/// The layer that a replica forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    pub(crate) source: StreamKey,
    pub(crate) layer: Layer,
    /// Whether it needs a key frame of this source to reach its target, or to be continued at all.
    pub(crate) awaits_key_frame: bool,
}

impl DownTrack {
    pub(super) fn new(subscription: Subscription) -> Self {
        DownTrack {
            subscription,
            entry: None,
            written: None,
            choice: Choice::Free,
            fallback_spatial: None,
            small: Small::No,
            held: false,
            left_out: false,
            told_paused: false,
            source: None,
            current: None,
            switches: LayerSwitches::default(),
            delivered: false,
            fills: 0,
            rtx_history: RtxHistory::default(),
            stale_rtx: StaleRtx::default(),
            counted: 0,
            sent: SentRate::default(),
            playout_delay: None,
            key_frames: RateLimit::new(KEY_FRAMES_MAX, KEY_FRAMES_WINDOW),
            reported: Reported::default(),
            intra_request: None,
        }
    }

    /// Whether anything of it is sent.
    pub(super) fn is_sent(&self) -> bool {
        let is_allowed = match self.choice {
            Choice::Free | Choice::Expecting | Choice::Granted(_) => true,
            Choice::Undecided | Choice::NoRoom => false,
        };
        is_allowed && self.subscription.settings.enabled && !self.held && !self.left_out
    }

    /// The stream that it is sent, and the one that it should follow.
    pub(super) fn streams(&self) -> [Option<StreamKey>; 2] {
        [self.current.map(|current| current.source), self.source]
    }

    /// Whether it waits for a key frame of this stream.
    pub(super) fn awaits(&self, key: StreamKey) -> bool {
        let has_it = |current: Current| current.source == key && !current.awaits_key_frame;
        self.is_sent() && self.source == Some(key) && !self.current.is_some_and(has_it)
    }

    /// Whether it waits for a key frame in order to get less: of another source, or of a smaller
    /// size of this one. `is_lower` tells whether its source is of a lower encoding than another.
    pub(super) fn is_lowering(&self, is_lower: impl FnOnce(StreamKey) -> bool) -> bool {
        let (Choice::Granted(layer), Some(current)) = (self.choice, self.current) else {
            return false;
        };
        match self.source == Some(current.source) {
            true => current.awaits_key_frame && current.layer.spatial > layer.spatial,
            false => is_lower(current.source),
        }
    }

    /// Whether the change to this layer is made at a key frame.
    fn begins_anew(&self, next: Current) -> bool {
        self.current.is_none_or(|before| {
            let other_size = before.layer.spatial != next.layer.spatial;
            before.source != next.source || before.awaits_key_frame && !next.awaits_key_frame && other_size
        })
    }

    /// Whether it gets a smaller size than it should, and waits for a larger one.
    pub(super) fn is_rising(&self) -> bool {
        let (Choice::Granted(layer), Some(current)) = (self.choice, self.current) else {
            return false;
        };
        self.source == Some(current.source) && current.layer.spatial < layer.spatial
    }

    /// Decides whether it gets the smallest size in place of the granted one; `is_larger` tells
    /// whether that is less than it gets now. Returns whether it gets all of its grant from now on.
    pub(super) fn follow_path(&mut self, now: Instant, path: Path, is_larger: impl FnOnce(Current) -> bool) -> bool {
        match self.small {
            _ if path == Path::Cut && self.current.is_some_and(is_larger) => {
                self.small = match self.fallback_spatial {
                    // The kept size is available at once, while the granted one needs a key frame
                    // in any case.
                    Some(_) => Small::Until(now + SMALL),
                    None => Small::First,
                };
            }
            Small::Until(end) if end <= now && path == Path::Free => {
                self.small = Small::No;
                return true;
            }
            _ => {}
        }
        false
    }

    /// Records the forwarded layer, and whether it started with the smallest size: a size that was
    /// kept needed no key frame.
    pub(super) fn forwards(&mut self, now: Instant, current: Current) {
        let begins_anew = self.begins_anew(current);
        if begins_anew {
            self.stale_rtx.begin(now);
        }
        if self.small == Small::First && self.source == Some(current.source) && !current.awaits_key_frame {
            self.small = match begins_anew {
                true => Small::Until(now + SMALL),
                false => Small::No,
            };
        }
        self.current = Some(current);
    }

    /// The highest layer it should get of its source now.
    fn target(&self) -> Layer {
        let wanted = Layer {
            spatial: self.subscription.settings.spatial_max,
            temporal: u8::MAX,
        };
        match self.choice {
            Choice::Granted(layer) if self.small != Small::No => Layer { spatial: 0, ..layer },
            Choice::Granted(layer) => layer,
            Choice::Expecting => Layer { spatial: 0, ..wanted },
            Choice::Free | Choice::Undecided | Choice::NoRoom => wanted,
        }
    }

    /// Its table entry on the receiver's leg. `published` are the formats of the publisher's
    /// payload types; `is_lowering` drops the higher temporal layers for the time being.
    pub(super) fn replica(&self, leg: LegId, entry: Entry, published: &[PayloadFormat], is_lowering: bool) -> Replica {
        let subscription = &self.subscription;
        let is_redundant = |source: PayloadType| {
            let found = published.iter().find(|format| format.payload_type == source);
            found.is_some_and(|format| format.codec == Codec::Red)
        };
        let format = |(source, format): &(PayloadType, PayloadFormat)| ReplicaFormat {
            source: *source,
            payload_type: format.payload_type,
            rtx: format.rtx,
            primary_only: format.codec != Codec::Red && is_redundant(*source),
        };
        Replica {
            leg,
            ssrc: subscription.ssrc,
            first_sequence: entry.first_sequence,
            rtx: subscription.rtx.map(|rtx| (rtx, entry.rtx_first_sequence)),
            formats: subscription.formats.iter().map(format).collect(),
            mid: subscription.mid,
            playout_delay: self.playout_delay,
            source: self.source,
            target: match is_lowering && self.fallback_spatial.is_none() {
                // A layer that is too large is forwarded until the key frame arrives. Dropping its
                // higher temporal layers lowers the rate at once.
                true => Layer {
                    temporal: 0,
                    ..self.target()
                },
                false => self.target(),
            },
            fallback_spatial: self.fallback_spatial,
            rewriting: entry.rewriting,
            paused: !self.is_sent(),
        }
    }
}

#[cfg(test)]
mod tests {
    use southbound::{SubscriptionId, SubscriptionSettings, TrackId, TransportId};
    use wire::Ssrc;

    use super::*;

    const SOURCE: StreamKey = StreamKey {
        leg: LegId(0),
        ssrc: Ssrc(7),
    };

    fn shown(spatial: u8) -> Current {
        Current {
            source: SOURCE,
            layer: Layer { spatial, temporal: 2 },
            awaits_key_frame: false,
        }
    }

    /// Granted the middle one of three sizes where the largest is sent, on a path that was cut at
    /// this time.
    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn cut(fallback_spatial: Option<u8>) -> (DownTrack, Instant) {
        let mut down_track = DownTrack::new(Subscription {
            subscription: SubscriptionId(1),
            transport: TransportId(1),
            track: TrackId(1),
            ssrc: Ssrc(1),
            rtx: None,
            mid: None,
            formats: Vec::new(),
            settings: SubscriptionSettings::BEST,
            fill: false,
        });
        let now = Instant::now();
        down_track.choice = Choice::Granted(shown(1).layer);
        (down_track.source, down_track.current, down_track.fallback_spatial) =
            (Some(SOURCE), Some(shown(2)), fallback_spatial);
        let is_larger = |current: Current| current.layer.spatial > 1;
        assert!(!down_track.follow_path(now, Path::Cut, is_larger));
        down_track.current = Some(shown(0));
        (down_track, now)
    }

    #[test]
    fn a_small_picture_that_was_kept_goes_on_as_long_as_one_that_began_anew() {
        let (mut down_track, now) = cut(Some(0));
        assert_eq!(down_track.target(), shown(0).layer);
        down_track.forwards(now, shown(0));
        let never = |_: Current| false;
        assert!(!down_track.follow_path(now + SMALL / 2, Path::Free, never));
        assert_eq!(down_track.target(), shown(0).layer, "a key frame would come too soon");
        assert!(!down_track.follow_path(now + SMALL, Path::Full, never));
        assert!(down_track.follow_path(now + SMALL, Path::Free, never));
        assert_eq!(down_track.target(), shown(1).layer);
    }
}
