//! Writes the entries of a stream and of its replicas to the kernel.

use std::time::Instant;

use dataplane::{ReplicaId, StreamKey};
use wire::MediaKind;

use super::super::kernel::set;
use super::super::{entries, fit, stamp};
use super::{EntryTable, Location};
use crate::EbpfError;
use crate::layout::fanout::{self as layout, StreamCell, StreamPlace};

impl EntryTable {
    /// Tells the kernel what it is to know of a stream: all of it in one step, or that it is none
    /// of its.
    pub(super) fn publish(&mut self, now: Instant, key: StreamKey) {
        let Some(stream) = self.streams.get(&key) else { return };
        let Some(from) = self.legs.get(&key.leg) else { return };
        let number = self.pairs.number(key.leg, from);
        let members: Vec<ReplicaId> = stream.members.iter().copied().collect();
        let here: Vec<ReplicaId> = members.iter().filter(|id| self.sends(**id)).copied().collect();
        let before = stream.place;
        let place = (!here.is_empty() && self.fits(key).is_ok())
            .then(|| self.write(now, key, &here, here.len() < members.len()))
            .flatten();
        let name = layout::StreamKey {
            leg: number,
            ssrc: key.ssrc.0.to_be(),
        };
        let stream = self.streams.get_mut(&key).expect("it was looked at");
        stream.place = place;
        match (place, stream.state) {
            (Some(entry), Some(state)) => {
                self.kernel.set_stream(name, StreamPlace { entry, state });
            }
            _ => {
                self.kernel.remove_stream(&name);
                if let Some(state) = stream.state.take() {
                    self.by_state.remove(&state);
                    self.stream_states.give_up(state, now);
                }
            }
        }
        if let Some(before) = before {
            self.stream_entries.give_up(before, now);
        }
    }

    /// Writes a stream's entry to a new place.
    fn write(&mut self, now: Instant, key: StreamKey, here: &[ReplicaId], some_elsewhere: bool) -> Option<u32> {
        self.state_of(now, key)?;
        let mut places = Vec::with_capacity(here.len());
        for id in here {
            places.extend(self.place_of(now, *id));
        }
        let stream = &self.streams[&key];
        let from = &self.legs[&key.leg];
        let first = here.first().and_then(|id| self.legs.get(&self.replicas[id].entry.leg));
        let mut entry = entries::stream(&stream.entry, &places);
        entries::extensions(&mut entry, from, &first.map_or(Vec::new(), |to| fit::carried(to, from)));
        for id in here {
            let replica = &self.replicas[id].entry;
            stamp::make_room(&mut entry, replica, &self.legs[&replica.leg]);
        }
        entry.goes_up = (self.goes_up || some_elsewhere).into();
        // A descriptor may grow for some receivers, which the driver cannot do.
        let may_grow = entry.descriptor != 0 && stream.entry.kind == MediaKind::Video;
        if let Ok(broadcast) = &mut self.kernel.broadcast
            && entry.goes_up == 0
            && !may_grow
            && !stream.in_stack
        {
            entry.in_driver = broadcast.mark(places.len()).unwrap_or(0);
        }
        let place = self.stream_entries.take(now)?;
        set(&mut self.kernel.stream_entries, place, entry).then_some(place)
    }

    /// Has a stream's copies made in the stack from this call on.
    pub(in super::super) fn keep_in_stack(&mut self, now: Instant, key: StreamKey) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.in_stack = true;
            self.publish(now, key);
        }
    }

    /// The same of all, because of that.
    pub(in super::super) fn leave_driver(&mut self, now: Instant, why: EbpfError) {
        self.kernel.broadcast = Err(Some(why));
        let streams: Vec<StreamKey> = self.streams.keys().copied().collect();
        streams.into_iter().for_each(|key| self.publish(now, key));
    }

    /// The place of a stream's state; a cleared place if it had none.
    fn state_of(&mut self, now: Instant, key: StreamKey) -> Option<u32> {
        let stream = self.streams.get_mut(&key)?;
        if stream.state.is_none() {
            let state = self.stream_states.take(now)?;
            set(&mut self.kernel.stream_states, state, StreamCell::default());
            stream.state = Some(state);
            self.by_state.insert(state, key);
        }
        stream.state
    }

    /// The place of a replica's entry, which is rewritten if it has changed.
    fn place_of(&mut self, now: Instant, id: ReplicaId) -> Option<u32> {
        let source = self.replicas[&id].entry.source;
        let source = source.and_then(|key| self.state_of(now, key));
        let table = self.replicas.get_mut(&id)?;
        let Location::Kernel { state, place } = table.location else {
            return None;
        };
        // All streams that it may follow are alike in this.
        let any = table.entry.source.or(table.lingers.first().copied());
        let formats = any.and_then(|key| self.streams.get(&key));
        let formats = formats.map_or(&[][..], |stream| &stream.entry.formats);
        let counted = self.counts.place(table.entry.leg);
        let mut entry = entries::replica(&table.entry, self.legs.get(&table.entry.leg)?, formats, counted);
        entry.state = state;
        entry.epoch = table.epoch;
        entry.source = source.map_or(0, |state| state + 1);
        if let Some((at, before)) = place
            && before == entry
        {
            return Some(at);
        }
        let at = self.replica_entries.take(now)?;
        set(&mut self.kernel.replica_entries, at, entry);
        if let Some((old, _)) = place {
            self.replica_entries.give_up(old, now);
        }
        table.location = Location::Kernel {
            state,
            place: Some((at, entry)),
        };
        Some(at)
    }
}
