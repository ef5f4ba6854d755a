//! Publishers: their tracks and the streams that arrive.
//!
//! `publish` and `binding` establish the streams, `arrivals` handles packets, `nack` and
//! `key_frame_requests` request missing data, `feedback` and `reports` report to publishers. A
//! change that receivers must learn of is a [`StreamChange`].

mod activity;
mod arrivals;
mod audio;
mod binding;
mod feedback;
mod key_frame_requests;
mod key_frames;
mod layer_bitrate;
mod nack;
mod nack_tracker;
mod offers;
mod overload;
mod publish;
mod publisher;
mod receiver_history;
mod remb_out;
mod reports;
mod unmapped;
mod up_track;

use std::collections::BTreeMap;
use std::time::Instant;

use dataplane::{DataPlane, StreamKey};
use southbound::{TrackId, TransportId};

use crate::context::Context;
use crate::map::Map;
use audio::Hearing;
use overload::Overload;
use publisher::Publisher;
pub(crate) use unmapped::UnmappedStream;
use up_track::UpTrack;
pub(in crate::media) use up_track::{EncodingState, Track};

/// Everything that publishers send.
#[derive(Default)]
pub(in crate::media) struct Uplink {
    publishers: BTreeMap<TransportId, Box<Publisher>>,
    tracks: BTreeMap<TrackId, Track>,
    streams: Map<StreamKey, UpTrack>,
    hearing: Hearing,
    overload: Overload,
    changes: Vec<StreamChange>,
}

/// A change of publishers' streams that concerns their receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::media) enum StreamChange {
    /// A track's streams or their offers changed.
    Changed(TrackId),
    /// A stream of this track is gone.
    Gone(TrackId, StreamKey),
    /// A stream of this track arrives, perhaps again.
    Arrives(TrackId, StreamKey),
    /// More is missing of a stream than can be repaired.
    Broken(TrackId, StreamKey),
}

impl Uplink {
    /// Adds a transport; a repeated call has no effect.
    pub(in crate::media) fn open(&mut self, transport: TransportId) {
        self.publishers.entry(transport).or_default();
    }

    /// Removes a transport, whose tracks are gone by now.
    pub(in crate::media) fn close(&mut self, transport: TransportId) {
        self.publishers.remove(&transport);
    }

    /// Notes whether a transport's packets carry transport-wide numbers to report on.
    pub(in crate::media) fn described(&mut self, transport: TransportId, is_reported: bool) {
        if let Some(publisher) = self.publishers.get_mut(&transport) {
            publisher.is_reported = is_reported;
        }
    }

    /// Takes the changes since the last call.
    pub(in crate::media) fn take_changes(&mut self) -> Vec<StreamChange> {
        std::mem::take(&mut self.changes)
    }

    pub(in crate::media) fn track(&self, id: TrackId) -> Option<&Track> {
        self.tracks.get(&id)
    }

    /// The tracks that a transport publishes.
    pub(in crate::media) fn tracks_of(&self, transport: TransportId) -> Vec<TrackId> {
        let publisher = self.publishers.get(&transport);
        publisher.map_or(Vec::new(), |publisher| publisher.tracks.iter().copied().collect())
    }

    /// The streams of media that a transport publishes, with their tracks.
    pub(in crate::media) fn streams_of(&self, transport: TransportId) -> Vec<(TrackId, StreamKey)> {
        let tracks = self.tracks_of(transport).into_iter();
        let streams_of = |id| {
            let encodings = self.tracks.get(&id).map_or(&[][..], Track::encodings);
            encodings
                .iter()
                .filter_map(move |encoding| Some((id, encoding.stream?)))
        };
        tracks.flat_map(streams_of).collect()
    }

    /// Which encoding of its track a stream is.
    pub(in crate::media) fn encoding_of(&self, key: StreamKey) -> Option<usize> {
        self.streams.get(&key).map(|stream| stream.encoding)
    }

    /// Whether packets of a stream arrive.
    pub(in crate::media) fn arrives(&self, key: StreamKey) -> bool {
        self.streams.get(&key).is_some_and(|stream| {
            let track = self.tracks.get(&stream.track);
            let encoding = track.and_then(|track| track.encodings().get(stream.encoding));
            encoding.is_some_and(|encoding| encoding.active.is_some())
        })
    }

    /// Which track a stream is of.
    pub(in crate::media) fn track_of(&self, key: StreamKey) -> Option<TrackId> {
        self.streams.get(&key).map(|stream| stream.track)
    }

    /// Whether the device loses packets for lack of processor time.
    pub(in crate::media) fn is_overloaded(&mut self, now: Instant, plane: &mut dyn DataPlane) -> bool {
        self.overload.is_seen(now, plane)
    }

    /// Reports audio levels to the controller.
    pub(in crate::media) fn report_audio(&mut self, cx: &mut Context<'_>) {
        self.hearing.report(cx);
    }

    /// Notes whether a track goes to nobody. Returns whether that is new.
    pub(in crate::media) fn set_held(&mut self, id: TrackId, is_held: bool) -> bool {
        let track = self.tracks.get_mut(&id);
        track.is_some_and(|track| std::mem::replace(&mut track.is_held, is_held) != is_held)
    }

    /// Records the speaker rank of a track. Returns whether it changed.
    pub(in crate::media) fn set_speaker_rank(&mut self, now: Instant, id: TrackId, rank: Option<u8>) -> bool {
        let Some(track) = self.tracks.get_mut(&id) else {
            return false;
        };
        if rank.is_some() || track.speaker_rank.is_some() {
            track.spoke = Some(now);
        }
        std::mem::replace(&mut track.speaker_rank, rank) != rank
    }

    pub(in crate::media) fn is_empty(&self) -> bool {
        self.publishers.is_empty() && self.tracks.is_empty() && self.streams.is_empty()
    }

    /// Records that a track's streams or their offers changed.
    fn changed(&mut self, track: TrackId) {
        if let Some(known) = self.tracks.get_mut(&track) {
            known.offers.1 = None;
            self.changes.push(StreamChange::Changed(track));
        }
    }
}
