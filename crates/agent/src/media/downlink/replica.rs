//! Which stream each subscription gets, and its table entry.

use dataplane::{LegId, Replica, ReplicaId, StreamKey, Update, WriteError};
use rand::Rng;
use southbound::{Notice, PayloadFormat, SentLayer, SubscriptionId, TrackId, TransportId};

use super::down_track::{Choice, Current, DownTrack, Entry, Small};
use super::select::select;
use super::{Downlink, Env};
use crate::context::Context;
use crate::counters::Counter;
use crate::media::uplink::Uplink;

/// First sequence numbers are below this, so that a receiver's first guess of the roll-over counter
/// is right.
const FIRST_SEQUENCE_END: u16 = 1 << 15;

impl Downlink {
    /// Selects a source again for every subscription to a track, after a change of its streams or
    /// offers.
    pub(in crate::media) fn reselect(&mut self, cx: &mut Context<'_>, env: &mut Env<'_>, track: TrackId) {
        for id in self.subscribers_of(track) {
            self.choose_source(env, id);
            self.write_replica(cx, env, id);
        }
    }

    /// A replica forwards something else than before.
    pub(in crate::media) fn selected(
        &mut self,
        cx: &mut Context<'_>,
        env: &mut Env<'_>,
        replica: ReplicaId,
        current: Current,
    ) {
        let Some(id) = self.by_replica.get(&replica).copied() else {
            return;
        };
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        // A selection that is reported for a paused replica is out of date.
        if !known.is_sent() {
            return;
        }
        observe_switch(cx, env.uplink, known, current);
        known.forwards(cx.now, current);
        if known.is_lowering(|_| false) {
            // It would have been lowered to the kept size, if that had been complete.
            known.fallback_spatial = None;
        }
        if !current.awaits_key_frame {
            env.uplink.key_frame_arrived(current.source);
        }
        if !known.delivered {
            known.delivered = true;
            cx.notice(Notice::SubscriptionStarted { subscription: id });
        }
        self.write_replica(cx, env, id);
        self.request_awaited_key_frame(cx, env, id);
    }

    /// Writes the entries of all that a transport gets.
    pub(in crate::media) fn write_replicas(&mut self, cx: &mut Context<'_>, env: &mut Env<'_>, transport: TransportId) {
        for id in self.subscriptions_of(transport) {
            self.write_replica(cx, env, id);
        }
    }

    /// Writes a subscription's entry, and asks for the key frame it begins with.
    pub(in crate::media) fn write_replica(&mut self, cx: &mut Context<'_>, env: &mut Env<'_>, id: SubscriptionId) {
        let playout_delay = self.playout_delay(env, id);
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        let transport = known.subscription.transport;
        let Some(leg) = env.transports.leg(transport) else {
            return;
        };
        known.playout_delay = playout_delay;
        let is_new = known.entry.is_none();
        let entry = *known.entry.get_or_insert_with(|| Entry {
            replica: ReplicaId(self.replica_ids.take()),
            first_sequence: cx.shared.rng.random_range(0..FIRST_SEQUENCE_END),
            rtx_first_sequence: cx.shared.rng.random_range(0..FIRST_SEQUENCE_END),
            rewriting: cx.plane.capabilities().rewriting.nearest(cx.shared.config.rewriting),
        });
        let is_lowering = self.make_way(cx, env, id, leg, entry);
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        let replica = known.replica(leg, entry, published(env.uplink, known), is_lowering);
        if known.written.as_ref() == Some(&replica) {
            return;
        }
        known.written = Some(replica.clone());
        let is_full = is_new && self.by_replica.len() >= cx.plane.capabilities().replicas_max;
        let written = match is_full {
            true => Err(WriteError::TableFull),
            false => cx.try_write(Update::SetReplica(entry.replica, replica)),
        };
        if let (true, Err(error)) = (is_new, written) {
            cx.count_many(Counter::ReplicasFull, u64::from(error == WriteError::TableFull));
            (known.entry, known.written) = (None, None);
            self.replica_ids.release(entry.replica.0);
            return cx.refused(transport, error, "the data plane holds all the replicas it can");
        }
        self.by_replica.insert(entry.replica, id);
        if !known.is_sent() || known.source.is_none() {
            known.current = None;
        }
        self.request_awaited_key_frame(cx, env, id);
        self.begin_filling(cx, env, id);
    }

    /// Whether the larger layer is forwarded until the key frame of a smaller one arrives. If the
    /// path is congested the larger layer is stopped at once: its packets would only queue in front
    /// of the key frame. If a smaller layer was kept, that one is forwarded. If there is too little
    /// room, only the smallest size of the key frame is sent: it passes soonest. The granted size
    /// follows with another key frame when the queue is gone.
    fn make_way(&mut self, cx: &mut Context<'_>, env: &Env<'_>, id: SubscriptionId, leg: LegId, entry: Entry) -> bool {
        let Some(known) = self.tracks.get_mut(&id) else {
            return false;
        };
        let source = known.source.and_then(|key| env.uplink.encoding_of(key));
        if !known.is_lowering(|current| source < env.uplink.encoding_of(current)) {
            return false;
        }
        if known.fallback_spatial.is_some() {
            return true;
        }
        let is_congested = env.budgets.is_congested(known.subscription.transport);
        let is_of_one_stream = known.source == known.current.map(|current| current.source);
        if is_congested && is_of_one_stream {
            known.small = Small::First;
        }
        let is_asked_at_once = known.source.is_some_and(|key| env.uplink.may_ask_key_frame(cx, key));
        if !((is_congested || known.small == Small::First) && is_asked_at_once) {
            return true;
        }
        let stopped = Replica {
            source: None,
            ..known.replica(leg, entry, published(env.uplink, known), false)
        };
        if cx.try_write(Update::SetReplica(entry.replica, stopped)).is_err() {
            return true;
        }
        // The earlier entry has to be written again.
        (known.current, known.written) = (None, None);
        false
    }

    /// Requests the key frames that a receiver's subscriptions wait for.
    pub(in crate::media) fn request_awaited_key_frames(
        &self,
        cx: &mut Context<'_>,
        env: &mut Env<'_>,
        transport: TransportId,
    ) {
        for id in self.subscriptions_of(transport) {
            self.request_awaited_key_frame(cx, env, id);
        }
    }

    /// Requests the key frame that a subscription waits for, if it does. The first one is requested
    /// before the leg has keys: the data plane keeps it until then.
    fn request_awaited_key_frame(&self, cx: &mut Context<'_>, env: &mut Env<'_>, id: SubscriptionId) {
        if let Some(key) = self.awaited(env, id) {
            env.uplink.request_key_frame(cx, env.transports, key);
        }
    }

    /// Requests a key frame of everything that a receiver is sent, after it has moved.
    pub(in crate::media) fn request_key_frames_after_move(
        &mut self,
        cx: &mut Context<'_>,
        env: &mut Env<'_>,
        transport: TransportId,
    ) {
        for id in self.subscriptions_of(transport) {
            if let Some(key) = self.admit_key_frame(cx, id) {
                env.uplink.request_key_frame_after_move(cx, env.transports, key);
            }
        }
    }

    /// The stream of which a subscription waits for a key frame, if it does.
    pub(super) fn awaited(&self, env: &Env<'_>, id: SubscriptionId) -> Option<StreamKey> {
        let source = self.tracks.get(&id)?.source;
        source.filter(|key| self.awaits(env, id, *key))
    }

    /// Whether anybody waits for a key frame of a track's stream, and could be sent it.
    pub(in crate::media) fn is_awaited(&self, env: &Env<'_>, track: TrackId, key: StreamKey) -> bool {
        let mut subscribers = self.by_track.get(&track).into_iter().flatten();
        subscribers.any(|id| self.is_keyed(env, *id) && self.awaits(env, *id, key))
    }

    /// Whether a subscription waits for a key frame of this stream, and has an entry that forwards
    /// or keeps it. A change to a larger size waits until the queue is gone.
    fn awaits(&self, env: &Env<'_>, id: SubscriptionId, key: StreamKey) -> bool {
        self.tracks.get(&id).is_some_and(|known| {
            let has_room = || !known.is_rising() || !env.budgets.is_congested(known.subscription.transport);
            known.entry.is_some() && known.awaits(key) && has_room()
        })
    }

    /// Selects a subscription's source, if no allocation does: the best one wanted, or the lowest
    /// that arrives while there is no decision.
    pub(in crate::media) fn choose_source(&mut self, env: &Env<'_>, id: SubscriptionId) {
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        let Some(track) = env.uplink.track(known.subscription.track) else {
            return;
        };
        let encoding_of = |key: &StreamKey| {
            let streams = track.encodings().iter().map(|encoding| encoding.stream);
            streams.into_iter().position(|stream| stream == Some(*key))
        };
        if known.subscription.settings.encoding_exact {
            let wanted = usize::from(known.subscription.settings.encoding_max);
            known.source = track.encodings().get(wanted).and_then(|encoding| encoding.stream);
            return;
        }
        let current = known.source.as_ref().and_then(encoding_of);
        let max = match known.choice {
            Choice::Free => usize::from(known.subscription.settings.encoding_max),
            Choice::Undecided | Choice::Expecting => 0,
            Choice::Granted(_) | Choice::NoRoom if current.is_some() => return,
            Choice::Granted(_) | Choice::NoRoom => 0,
        };
        let chosen = select(max, track.encodings(), current);
        known.source = chosen.and_then(|encoding| track.encodings()[encoding].stream);
    }
}

/// The formats of the publisher's payload types.
fn published<'a>(uplink: &'a Uplink, known: &DownTrack) -> &'a [PayloadFormat] {
    let track = uplink.track(known.subscription.track);
    track.map_or(&[], |track| &track.publication().formats)
}

/// Reports that a subscription is sent another layer from now on.
fn observe_switch(cx: &mut Context<'_>, uplink: &Uplink, known: &mut DownTrack, current: Current) {
    let sent = |current: Current| {
        let encoding = uplink.encoding_of(current.source)? as u8;
        let layer = current.layer;
        Some(SentLayer { encoding, layer })
    };
    let (from, to) = (known.current.and_then(sent), sent(current));
    if let Some(to) = to.filter(|to| from != Some(*to)) {
        let still_arrives = known.current.is_some_and(|before| uplink.arrives(before.source));
        let subscription = known.subscription.subscription;
        known.switches.report(cx, subscription, (from, to), still_arrives);
    }
}
