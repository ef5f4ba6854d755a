//! Subscriptions come, change and go; and which stream each gets.

use std::collections::BTreeMap;

use dataplane::{LegId, Replica, ReplicaId, StreamKey, Update};
use rand::Rng;
use southbound::{Notice, PayloadFormat, Subscription, SubscriptionId, TrackId};
use wire::rtcp::RtcpWriter;

use crate::Counter;
use crate::context::Context;
use crate::limits::SUBSCRIPTIONS_PER_TRANSPORT_MAX;
use crate::media::Media;
use crate::media::budget::Budget;
use crate::media::budget::allocate::SETTLE;
use crate::media::downlink::down_track::{Choice, Current, DownTrack, Entry, Small};
use crate::media::downlink::select::select;
use crate::media::media_transport::MediaTransport;
use crate::media::uplink::up_track::Track;
use crate::timers::Timer;

/// First sequence numbers are below this, so that a receiver's first guess of the roll-over counter is right.
const FIRST_SEQUENCE_END: u16 = 1 << 15;

impl Media {
    /// A receiver gets a track, or differently than before.
    pub(crate) fn subscribe(&mut self, cx: &mut Context<'_>, new: Subscription) {
        let (id, transport) = (new.subscription, new.transport);
        let Some(peer) = self.peers.get_mut(&transport) else {
            cx.count(Counter::MediaDangling);
            return;
        };
        if !peer.subscriptions.contains(&id) && peer.subscriptions.len() >= SUBSCRIPTIONS_PER_TRANSPORT_MAX {
            cx.count(Counter::MediaFull);
            cx.notice(Notice::Refused {
                transport,
                why: "a transport has too many subscriptions".into(),
            });
            return;
        }
        let fixed = |known: &Subscription| (known.transport, known.track, known.ssrc, known.rtx);
        match self.down_tracks.get_mut(&id) {
            Some(known) if fixed(&known.subscription) == fixed(&new) => known.subscription = new,
            Some(_) => {
                self.unsubscribe(cx, id);
                return self.subscribe(cx, new);
            }
            None => {
                peer.subscriptions.insert(id);
                peer.by_ssrc.insert(new.ssrc, id);
                match self.tracks.get_mut(&new.track) {
                    Some(track) => drop(track.subscribers.insert(id)),
                    None => cx.count(Counter::MediaDangling),
                }
                self.down_tracks.insert(id, Box::new(DownTrack::new(new)));
            }
        }
        self.begin_estimate(cx, transport);
        self.adopt(id);
        self.choose_source(id);
        self.write_replica(cx, id);
        self.request_changed(cx, id);
    }

    /// A subscription is there, and so is its track: what was said of the track is true of it.
    fn adopt(&mut self, id: SubscriptionId) {
        let is_picture = self.is_picture(id);
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        if let Some(track) = self.tracks.get(&down_track.subscription.track) {
            down_track.held = track.held;
        }
        let peer = self.peers.get(&down_track.subscription.transport);
        let is_estimated = peer.is_some_and(|peer| peer.budget.is_some());
        if is_picture && is_estimated && down_track.choice == Choice::Free {
            down_track.choice = Choice::Undecided;
        }
    }

    /// A receiver no longer gets a track.
    pub(crate) fn unsubscribe(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        let Some(gone) = self.down_tracks.remove(&id) else {
            return;
        };
        cx.shared.timers.clear(Timer::Fill(id));
        let subscription = gone.subscription;
        if let Some(track) = self.tracks.get_mut(&subscription.track) {
            track.subscribers.remove(&id);
        }
        let peer = self.peers.get_mut(&subscription.transport);
        if let Some(peer) = peer {
            peer.subscriptions.remove(&id);
            peer.by_ssrc.remove(&subscription.ssrc);
            if let (Some(leg), true) = (peer.leg, gone.delivered) {
                let mut compound = Vec::new();
                RtcpWriter::receiver_report(&mut compound, peer.ssrc, &peer.cname, &[]).bye(&[subscription.ssrc]);
                cx.send_rtcp(leg, &compound);
            }
        }
        if let Some(entry) = gone.entry {
            cx.write(Update::RemoveReplica(entry.replica));
            self.by_replica.remove(&entry.replica);
            self.replica_ids.release(entry.replica.0);
        }
    }

    /// Subscriptions that were there before their track.
    pub(in crate::media) fn adopt_subscribers(&mut self, cx: &mut Context<'_>, track: TrackId) {
        let Some(known) = self.tracks.get_mut(&track) else {
            return;
        };
        let waiting = self
            .down_tracks
            .iter()
            .filter(|(_, down_track)| down_track.subscription.track == track);
        known.subscribers.extend(waiting.map(|(id, _)| *id));
        for id in known.subscribers.clone() {
            if let Some(transport) = self
                .down_tracks
                .get(&id)
                .map(|down_track| down_track.subscription.transport)
            {
                self.begin_estimate(cx, transport);
                self.adopt(id);
            }
        }
        self.reselect(cx, track);
    }

    /// Chooses anew for everybody who gets a track: its streams, or what arrives of them, changed.
    pub(in crate::media) fn reselect(&mut self, cx: &mut Context<'_>, track: TrackId) {
        let Some(known) = self.tracks.get_mut(&track) else {
            return;
        };
        known.offers.1 = None;
        for id in known.subscribers.clone() {
            self.choose_source(id);
            self.write_replica(cx, id);
            if let Some(transport) = self
                .down_tracks
                .get(&id)
                .map(|down_track| down_track.subscription.transport)
            {
                self.allocate_by(cx, transport, cx.now + SETTLE);
            }
        }
    }

    /// A replica forwards something else than before.
    pub(crate) fn selected(&mut self, cx: &mut Context<'_>, replica: ReplicaId, current: Current) {
        let Some(id) = self.by_replica.get(&replica).copied() else {
            return;
        };
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        // What was said before it was paused is not so any more.
        if !down_track.is_sent() {
            return;
        }
        down_track.forwards(cx.now, current);
        if down_track.is_lowering(|_| false) {
            // It would have gone down to what was kept, had that been whole.
            down_track.keeps = None;
        }
        if let Some(up_track) = self
            .up_tracks
            .get_mut(&current.source)
            .filter(|_| !current.awaits_key_frame)
        {
            up_track.key_frames.restart();
        }
        if !down_track.delivered {
            down_track.delivered = true;
            cx.notice(Notice::Delivered { subscription: id });
        }
        self.write_replica(cx, id);
        self.want_first_key_frame(cx, id);
    }

    /// Writes a subscription's entry, and asks for the key frame it begins with.
    pub(in crate::media) fn write_replica(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        let playout_delay = self.playout_delay(id);
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        let Some(leg) = self
            .peers
            .get(&down_track.subscription.transport)
            .and_then(|peer| peer.leg)
        else {
            return;
        };
        down_track.playout_delay = playout_delay;
        let is_new = down_track.entry.is_none();
        let entry = *down_track.entry.get_or_insert_with(|| Entry {
            replica: ReplicaId(self.replica_ids.take()),
            first_sequence: cx.shared.rng.random_range(0..FIRST_SEQUENCE_END),
            rtx_first_sequence: cx.shared.rng.random_range(0..FIRST_SEQUENCE_END),
            rewriting: cx.shared.config.rewriting,
        });
        let is_lowering = self.make_way(cx, id, leg, entry);
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        let published = published(&self.tracks, down_track);
        let replica = down_track.replica(leg, entry, published, is_lowering);
        if down_track.written.as_ref() == Some(&replica) {
            return;
        }
        down_track.written = Some(replica.clone());
        let written = cx.try_write(Update::SetReplica(entry.replica, replica));
        if let (true, Err(error)) = (is_new, written) {
            (down_track.entry, down_track.written) = (None, None);
            self.replica_ids.release(entry.replica.0);
            let transport = down_track.subscription.transport;
            return cx.refused(transport, error, "the data plane holds all the replicas it can");
        }
        self.by_replica.insert(entry.replica, id);
        if !down_track.is_sent() || down_track.source.is_none() {
            down_track.current = None;
        }
        self.want_first_key_frame(cx, id);
        self.begin_filling(cx, id);
    }

    /// Whether a smaller picture is waited for while a larger one goes on. Where packets wait long in the path already the larger one is stopped at once: what goes on
    /// meanwhile would only stand in the queue before the key frame. Where a smaller one was kept that one goes on. Where there is too little room none larger than the smallest
    /// is sent of the key frame that comes: it is through soonest. What is granted follows with another when the queue is gone.
    fn make_way(&mut self, cx: &mut Context<'_>, id: SubscriptionId, leg: LegId, entry: Entry) -> bool {
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return false;
        };
        let encoding = |key: StreamKey| self.up_tracks.get(&key).map(|up_track| up_track.encoding);
        let source = down_track.source.and_then(encoding);
        if !down_track.is_lowering(|current| source < encoding(current)) {
            return false;
        }
        if down_track.keeps.is_some() {
            return true;
        }
        let peer = self.peers.get(&down_track.subscription.transport);
        let is_congested = peer
            .and_then(|peer| peer.budget.as_ref())
            .is_some_and(Budget::is_congested);
        let is_of_one_stream = down_track.source == down_track.current.map(|current| current.source);
        if is_congested && is_of_one_stream {
            down_track.small = Small::First;
        }
        let up_track = down_track.source.and_then(|key| self.up_tracks.get(&key));
        let is_asked_at_once = up_track.is_some_and(|up_track| up_track.key_frames.may_ask(cx.now).is_ok());
        if !((is_congested || down_track.small == Small::First) && is_asked_at_once) {
            return true;
        }
        let stopped = Replica {
            source: None,
            ..down_track.replica(leg, entry, published(&self.tracks, down_track), false)
        };
        if cx.try_write(Update::SetReplica(entry.replica, stopped)).is_err() {
            return true;
        }
        // What was written before is to be written again.
        (down_track.current, down_track.written) = (None, None);
        false
    }

    /// Asks for the key frame a subscription waits for, if it does.
    pub(in crate::media) fn want_first_key_frame(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        let source = self.down_tracks.get(&id).and_then(|down_track| down_track.source);
        if let Some(key) = source.filter(|key| self.awaits(id, *key)) {
            self.want_key_frame(cx, key);
        }
    }

    /// Whether a subscription waits for a key frame of this stream, and could send it on. What would make a picture larger waits until a queue is gone.
    pub(in crate::media) fn awaits(&self, id: SubscriptionId, key: StreamKey) -> bool {
        self.down_tracks.get(&id).is_some_and(|down_track| {
            let peer = self.peers.get(&down_track.subscription.transport);
            let has_room = |peer: &MediaTransport| {
                !down_track.is_rising() || !peer.budget.as_ref().is_some_and(Budget::is_congested)
            };
            down_track.entry.is_some()
                && down_track.awaits(key)
                && peer.is_some_and(|peer| peer.keyed && has_room(peer))
        })
    }

    /// Chooses a subscription's source, where no allocation does: the best that is wanted, or the lowest that comes where that is not decided yet.
    pub(in crate::media) fn choose_source(&mut self, id: SubscriptionId) {
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        let Some(track) = self.tracks.get(&down_track.subscription.track) else {
            return;
        };
        let encoding_of = |key: &StreamKey| {
            let streams = track.encodings.iter().map(|encoding| encoding.stream);
            streams.into_iter().position(|stream| stream == Some(*key))
        };
        let current = down_track.source.as_ref().and_then(encoding_of);
        let max = match down_track.choice {
            Choice::Free => usize::from(down_track.subscription.wanted.encoding_max),
            Choice::Undecided | Choice::Expecting => 0,
            Choice::Granted(_) | Choice::NoRoom if current.is_some() => return,
            Choice::Granted(_) | Choice::NoRoom => 0,
        };
        let chosen = select(max, &track.encodings, current);
        down_track.source = chosen.and_then(|encoding| track.encodings[encoding].stream);
    }
}

/// What the publisher's payload types mean.
fn published<'a>(tracks: &'a BTreeMap<TrackId, Track>, down_track: &DownTrack) -> &'a [PayloadFormat] {
    let track = tracks.get(&down_track.subscription.track);
    track.map_or(&[], |track| &track.publication.formats)
}
