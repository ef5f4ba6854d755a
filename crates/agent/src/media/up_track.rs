//! What a publisher announced, and the streams of it that arrive.

use std::collections::BTreeSet;
use std::time::Instant;

use allocation::Offer;
use dataplane::{Stream, StreamFormat, StreamKey};
use southbound::{Publication, SubscriptionId, TrackId};
use wire::{MediaKind, NtpTime, RtpTimestamp, Ssrc};

use super::key_frames::KeyFrames;
use super::layer_bitrate::LayerBitrate;
use super::nack::NackTracker;
use super::reports::ReceiverHistory;
use super::rtx::RtxHistory;

/// A track with what has become of it.
pub(super) struct Track {
    pub(super) publication: Publication,
    /// One for each of the publication's encodings.
    pub(super) encodings: Vec<EncodingState>,
    pub(super) subscribers: BTreeSet<SubscriptionId>,
    pub(super) started: bool,
    /// Nobody gets it at the moment.
    pub(super) held: bool,
    /// Its place among those who speak.
    pub(super) speaker_rank: Option<u8>,
    /// When it last had one.
    pub(super) spoke: Option<Instant>,
    /// What arrives of it, and until when that is so.
    pub(super) offers: (Vec<Offer>, Option<Instant>),
}

/// One encoding, as far as its streams are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EncodingState {
    pub(super) stream: Option<StreamKey>,
    /// Where its retransmissions arrive.
    pub(super) rtx: Option<Ssrc>,
    /// When it last arrived, while it does.
    pub(super) active: Option<Instant>,
}

/// One stream that is in the table.
pub(super) struct UpTrack {
    pub(super) track: TrackId,
    pub(super) encoding: usize,
    /// The newest sender report: one instant in both of the publisher's clocks, and when we got it.
    pub(super) reference: Option<(NtpTime, RtpTimestamp, Instant)>,
    /// Only where the publisher agreed to send again.
    pub(super) nack: Option<NackTracker>,
    /// What its publisher was asked for because receivers miss it.
    pub(super) upstream_nacks: RtxHistory,
    pub(super) key_frames: KeyFrames,
    pub(super) history: ReceiverHistory,
    pub(super) layer_bitrate: LayerBitrate,
}

impl Track {
    pub(super) fn new(publication: Publication) -> Self {
        let encodings = vec![EncodingState::default(); publication.encodings.len()];
        Track {
            publication,
            encodings,
            subscribers: BTreeSet::new(),
            started: false,
            held: false,
            speaker_rank: None,
            spoke: None,
            offers: (Vec::new(), None),
        }
    }

    /// The table entry of one of its streams.
    pub(super) fn stream(&self, encoding: usize, reference: Option<(NtpTime, RtpTimestamp)>) -> Stream {
        let format = |format: &southbound::PayloadFormat| StreamFormat {
            payload_type: format.payload_type,
            codec: format.codec,
            rtx: format.rtx,
        };
        Stream {
            kind: self.publication.kind,
            formats: self.publication.formats.iter().map(format).collect(),
            rtx: self.encodings[encoding].rtx,
            reference,
        }
    }

    /// Whether the publisher sends again what is lost.
    pub(super) fn has_nack(&self) -> bool {
        self.publication.formats.iter().any(|format| format.nack)
    }

    /// Whether receivers can only begin at a key frame.
    pub(super) fn has_key_frames(&self) -> bool {
        self.publication.kind == MediaKind::Video
    }

    /// Which encodings arrive, as a bit set.
    pub(super) fn active(&self) -> u8 {
        let bit = |(index, encoding): (usize, &EncodingState)| u8::from(encoding.active.is_some()) << index;
        self.encodings.iter().enumerate().take(8).map(bit).sum()
    }
}

impl UpTrack {
    pub(super) fn new(track: TrackId, encoding: usize, has_nack: bool) -> Self {
        UpTrack {
            track,
            encoding,
            reference: None,
            nack: has_nack.then(NackTracker::default),
            upstream_nacks: RtxHistory::default(),
            key_frames: KeyFrames::default(),
            history: ReceiverHistory::default(),
            layer_bitrate: LayerBitrate::default(),
        }
    }

    /// The reference as the table wants it.
    pub(super) fn table_reference(&self) -> Option<(NtpTime, RtpTimestamp)> {
        self.reference.map(|(ntp, rtp, _)| (ntp, rtp))
    }
}
