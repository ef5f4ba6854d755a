//! A published track as announced, and its streams that arrive.

use std::time::{Duration, Instant};

use allocation::Offer;
use dataplane::{Stream, StreamFormat, StreamKey};
use southbound::{Publication, TrackId};
use wire::{MediaKind, NtpTime, RtpTimestamp, Ssrc};

use super::key_frames::KeyFrames;
use super::layer_bitrate::LayerBitrate;
use super::nack_tracker::NackTracker;
use super::receiver_history::ReceiverHistory;
use crate::media::rtx_history::RtxHistory;

/// How long a track that comes over another transport is not paused.
const MOVED_SETTLES: Duration = Duration::from_secs(5);

/// A track and its state.
pub(in crate::media) struct Track {
    pub(super) publication: Publication,
    /// One for each of the publication's encodings.
    pub(super) encodings: Vec<EncodingState>,
    pub(super) started: bool,
    /// Nobody gets it at the moment.
    pub(super) is_held: bool,
    /// Its speaker rank.
    pub(super) speaker_rank: Option<u8>,
    /// When it last had one.
    pub(super) spoke: Option<Instant>,
    /// When it came over another transport last.
    pub(super) moved: Option<Instant>,
    /// The layers that arrive of it, and the time until which they are valid.
    pub(super) offers: (Vec<Offer>, Option<Instant>),
}

/// One encoding, as far as its streams are known.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::media) struct EncodingState {
    pub(in crate::media) stream: Option<StreamKey>,
    /// SSRC of its retransmissions.
    pub(in crate::media) rtx: Option<Ssrc>,
    /// When it last arrived, while it does.
    pub(in crate::media) active: Option<Instant>,
}

/// One stream that is in the table.
pub(super) struct UpTrack {
    pub(super) track: TrackId,
    pub(super) encoding: usize,
    /// The newest sender report: one instant in both of the publisher's clocks, and when we got it.
    pub(super) reference: Option<(NtpTime, RtpTimestamp, Instant)>,
    /// Only where the publisher agreed to send again.
    pub(super) nack: Option<NackTracker>,
    /// NACKs sent to its publisher because receivers miss packets.
    pub(super) upstream_nacks: RtxHistory,
    pub(super) key_frames: KeyFrames,
    pub(super) history: ReceiverHistory,
    pub(super) layer_bitrate: LayerBitrate,
}

impl Track {
    /// Whether it may be paused, as far as itself is concerned. While it was silent, on its way to
    /// another transport, its receivers' estimates had little to go by.
    pub(in crate::media) fn is_settled(&self, now: Instant) -> bool {
        self.moved
            .is_none_or(|at| now.saturating_duration_since(at) >= MOVED_SETTLES)
    }

    pub(super) fn new(publication: Publication) -> Self {
        let encodings = vec![EncodingState::default(); publication.encodings.len()];
        Track {
            publication,
            encodings,
            started: false,
            is_held: false,
            speaker_rank: None,
            spoke: None,
            moved: None,
            offers: (Vec::new(), None),
        }
    }

    pub(in crate::media) fn publication(&self) -> &Publication {
        &self.publication
    }

    pub(in crate::media) fn encodings(&self) -> &[EncodingState] {
        &self.encodings
    }

    /// The layers that arrive of it, the lowest first.
    pub(in crate::media) fn offers(&self) -> &[Offer] {
        &self.offers.0
    }

    /// Whether nobody gets it at the moment.
    pub(in crate::media) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Its speaker rank.
    pub(in crate::media) fn speaker_rank(&self) -> Option<u8> {
        self.speaker_rank
    }

    /// When it last had a speaker rank, which may be now.
    pub(in crate::media) fn spoke(&self, now: Instant) -> Option<Instant> {
        self.speaker_rank.map(|_| now).or(self.spoke)
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
            mid: self.publication.mid,
            reference,
        }
    }

    /// Whether the publisher answers NACKs.
    pub(super) fn has_nack(&self) -> bool {
        self.publication.formats.iter().any(|format| format.nack)
    }

    /// Whether receivers can only begin at a key frame.
    pub(in crate::media) fn has_key_frames(&self) -> bool {
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

    /// The reference in the form of the table.
    pub(super) fn table_reference(&self) -> Option<(NtpTime, RtpTimestamp)> {
        self.reference.map(|(ntp, rtp, _)| (ntp, rtp))
    }
}

#[cfg(test)]
mod tests {
    use southbound::TransportId;

    use super::*;

    #[test]
    fn a_track_that_has_moved_is_not_paused_for_a_while() {
        let mut track = Track::new(Publication {
            track: TrackId(1),
            transport: TransportId(1),
            kind: MediaKind::Video,
            mid: None,
            formats: Vec::new(),
            encodings: Vec::new(),
            muted: false,
            source: Default::default(),
        });
        let now = Instant::now();
        assert!(track.is_settled(now));
        track.moved = Some(now);
        assert!(!track.is_settled(now + MOVED_SETTLES / 2));
        assert!(track.is_settled(now + MOVED_SETTLES));
    }
}
