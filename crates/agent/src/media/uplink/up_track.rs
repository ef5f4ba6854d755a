//! What a publisher announced, and the streams of it that arrive.

use std::collections::BTreeSet;
use std::time::Instant;

use allocation::Offer;
use dataplane::{Stream, StreamFormat, StreamKey};
use southbound::{Publication, SubscriptionId, TrackId};
use wire::{MediaKind, NtpTime, RtpTimestamp, Ssrc};

use crate::media::downlink::rtx::RtxHistory;
use crate::media::rtcp::reports::ReceiverHistory;
use crate::media::uplink::key_frames::KeyFrames;
use crate::media::uplink::layer_bitrate::LayerBitrate;
use crate::media::uplink::nack::NackTracker;

/// A track with what has become of it.
pub(in crate::media) struct Track {
    pub(in crate::media) publication: Publication,
    /// One for each of the publication's encodings.
    pub(in crate::media) encodings: Vec<EncodingState>,
    pub(in crate::media) subscribers: BTreeSet<SubscriptionId>,
    pub(in crate::media) started: bool,
    /// Nobody gets it at the moment.
    pub(in crate::media) held: bool,
    /// Its place among those who speak.
    pub(in crate::media) speaker_rank: Option<u8>,
    /// When it last had one.
    pub(in crate::media) spoke: Option<Instant>,
    /// What arrives of it, and until when that is so.
    pub(in crate::media) offers: (Vec<Offer>, Option<Instant>),
}

/// One encoding, as far as its streams are known.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::media) struct EncodingState {
    pub(in crate::media) stream: Option<StreamKey>,
    /// Where its retransmissions arrive.
    pub(in crate::media) rtx: Option<Ssrc>,
    /// When it last arrived, while it does.
    pub(in crate::media) active: Option<Instant>,
}

/// One stream that is in the table.
pub(in crate::media) struct UpTrack {
    pub(in crate::media) track: TrackId,
    pub(in crate::media) encoding: usize,
    /// The newest sender report: one instant in both of the publisher's clocks, and when we got it.
    pub(in crate::media) reference: Option<(NtpTime, RtpTimestamp, Instant)>,
    /// Only where the publisher agreed to send again.
    pub(in crate::media) nack: Option<NackTracker>,
    /// What its publisher was asked for because receivers miss it.
    pub(in crate::media) upstream_nacks: RtxHistory,
    pub(in crate::media) key_frames: KeyFrames,
    pub(in crate::media) history: ReceiverHistory,
    pub(in crate::media) layer_bitrate: LayerBitrate,
}

impl Track {
    pub(in crate::media) fn new(publication: Publication) -> Self {
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
    pub(in crate::media) fn stream(&self, encoding: usize, reference: Option<(NtpTime, RtpTimestamp)>) -> Stream {
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
    pub(in crate::media) fn has_nack(&self) -> bool {
        self.publication.formats.iter().any(|format| format.nack)
    }

    /// Whether receivers can only begin at a key frame.
    pub(in crate::media) fn has_key_frames(&self) -> bool {
        self.publication.kind == MediaKind::Video
    }

    /// Which encodings arrive, as a bit set.
    pub(in crate::media) fn active(&self) -> u8 {
        let bit = |(index, encoding): (usize, &EncodingState)| u8::from(encoding.active.is_some()) << index;
        self.encodings.iter().enumerate().take(8).map(bit).sum()
    }
}

impl UpTrack {
    pub(in crate::media) fn new(track: TrackId, encoding: usize, has_nack: bool) -> Self {
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
    pub(in crate::media) fn table_reference(&self) -> Option<(NtpTime, RtpTimestamp)> {
        self.reference.map(|(ntp, rtp, _)| (ntp, rtp))
    }
}
