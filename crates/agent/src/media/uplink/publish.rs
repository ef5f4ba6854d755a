//! Adds, changes and removes tracks.

use dataplane::Update;
use southbound::{Encoding, Notice, Publication, TrackId, TransportId};

use super::Uplink;
use super::up_track::{EncodingState, Track};
use crate::context::Context;
use crate::counters::Counter;
use crate::limits::{ABANDONED_MAX, TRACKS_PER_TRANSPORT_MAX, TRACKS_PER_TRUNK_MAX};
use crate::media::media_transport::{MediaTransport, MediaTransports};
use crate::timers::Timer;

impl Uplink {
    /// A track may arrive, or differently than before. Returns whether it is taken.
    pub(in crate::media) fn publish(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        publication: Publication,
    ) -> bool {
        let (track, transport) = (publication.track, publication.transport);
        let Some(publisher) = self.publishers.get_mut(&transport) else {
            cx.count(Counter::MediaDangling);
            return false;
        };
        let most = match transports.get(transport).is_some_and(MediaTransport::is_direct) {
            true => TRACKS_PER_TRUNK_MAX,
            false => TRACKS_PER_TRANSPORT_MAX,
        };
        if !publisher.tracks.contains(&track) && publisher.tracks.len() >= most {
            cx.count(Counter::MediaFull);
            cx.notice(Notice::Refused {
                transport,
                why: "a transport publishes too many tracks".into(),
            });
            return false;
        }
        publisher.tracks.insert(track);
        match self.tracks.get(&track).map(|known| known.publication.transport) {
            None => drop(self.tracks.insert(track, Track::new(publication))),
            Some(before) if before == transport => self.republish(cx, publication),
            Some(before) => self.move_from(cx, before, publication),
        }
        self.bind_described(cx, transports, track);
        self.map_unmapped(cx, transports, transport);
        true
    }

    /// A track may no longer arrive. Its subscriptions have ended.
    pub(in crate::media) fn unpublish(&mut self, cx: &mut Context<'_>, track: TrackId) {
        let Some(known) = self.tracks.get(&track) else { return };
        for encoding in 0..known.encodings.len() {
            self.unbind(cx, track, encoding);
        }
        let gone = self.tracks.remove(&track).expect("found above");
        if let Some(publisher) = self.publishers.get_mut(&gone.publication.transport) {
            publisher.tracks.remove(&track);
        }
        cx.shared.timers.clear(Timer::Activity(track));
        cx.shared.timers.clear(Timer::Abandoned(track));
        self.hearing.forget(track);
    }

    /// The publisher of a track has closed its transport. The track stays for a while.
    pub(in crate::media) fn abandon(&mut self, cx: &mut Context<'_>, track: TrackId) {
        let Some(known) = self.tracks.get(&track) else { return };
        let (transport, encodings) = (known.publication.transport, known.encodings.len());
        for encoding in 0..encodings {
            self.unbind(cx, track, encoding);
        }
        if let Some(publisher) = self.publishers.get_mut(&transport) {
            publisher.tracks.remove(&track);
        }
        cx.timer(Timer::Abandoned(track), cx.now + ABANDONED_MAX);
    }

    /// Whether nothing brings a track.
    pub(in crate::media) fn is_abandoned(&self, track: TrackId) -> bool {
        let known = self.tracks.get(&track);
        known.is_some_and(|known| !self.publishers.contains_key(&known.publication.transport))
    }

    /// A track comes over another transport from now on. Its streams are others, and what is known
    /// of the track itself stays.
    fn move_from(&mut self, cx: &mut Context<'_>, before: TransportId, publication: Publication) {
        let track = publication.track;
        for encoding in 0..self.tracks[&track].encodings.len() {
            self.unbind(cx, track, encoding);
        }
        if let Some(publisher) = self.publishers.get_mut(&before) {
            publisher.tracks.remove(&track);
        }
        let known = self.tracks.get_mut(&track).expect("it is published again");
        known.encodings = vec![EncodingState::default(); publication.encodings.len()];
        known.publication = publication;
        known.moved = Some(cx.now);
        cx.notice(Notice::Encodings { track, active: 0 });
    }

    /// Keeps the streams of encodings that are still the same ones.
    fn republish(&mut self, cx: &mut Context<'_>, publication: Publication) {
        let track = publication.track;
        let known = &self.tracks[&track];
        let kept: Vec<EncodingState> = publication
            .encodings
            .iter()
            .map(|encoding| {
                let same = |old: &Encoding| (old.rid, old.ssrc) == (encoding.rid, encoding.ssrc);
                let position = known.publication.encodings.iter().position(same);
                position.map(|position| known.encodings[position]).unwrap_or_default()
            })
            .collect();
        let is_kept = |state: &EncodingState| kept.iter().any(|kept| kept.stream == state.stream);
        let gone: Vec<usize> = (0..known.encodings.len())
            .filter(|index| !is_kept(&known.encodings[*index]))
            .collect();
        for encoding in gone {
            self.unbind(cx, track, encoding);
        }
        let known = self.tracks.get_mut(&track).expect("it is republished");
        known.encodings = kept;
        known.publication = publication;
        known.offers.1 = None;
        self.rewrite_streams(cx, track);
    }

    /// The entries of a track's streams, again: its formats may have changed.
    fn rewrite_streams(&mut self, cx: &mut Context<'_>, track: TrackId) {
        let known = &self.tracks[&track];
        for (encoding, state) in known.encodings.iter().enumerate() {
            let Some(key) = state.stream else { continue };
            let Some(stream) = self.streams.get_mut(&key) else {
                continue;
            };
            stream.encoding = encoding;
            cx.write(Update::SetStream(key, known.stream(encoding, stream.table_reference())));
        }
    }
}
