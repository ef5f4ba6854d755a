//! A replica's way to the switch and back.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dataplane::{Reason, Refused, ReplicaId, StreamKey, Written};

use super::layers::CopiedLayers;
use super::numbers::{SLACK, SLACK_LOST};
use super::publish::Touched;
use super::sent::SentCell;
use super::{
    AGAIN, Began, LATER, Location, Rooms, START_MAX, STRUCTURE_MAX, Stage, SwitchReplica, entries, fit, replace,
};
use crate::cells::Cell;
use crate::context::{ANSWER_MAX, Context};
use crate::entry::{Key, Table};
use crate::relays::refused;
use crate::table_writer::{Failed, Settled};

impl Rooms {
    /// Decides where replicas are, and writes what has changed by it.
    pub(super) fn refresh(&mut self, context: &mut Context<'_>, ids: &[ReplicaId], mut touched: Touched) {
        for id in ids {
            self.assign(context, *id, &mut touched);
            self.aim(context.now, *id);
            if let Some(row) = self.replicas.get(*id) {
                touched.streams.extend(row.replica.source);
                touched.legs.insert(row.replica.leg);
            }
        }
        self.publish(context, touched);
        for id in ids {
            self.write_place(context, *id);
        }
        self.look_for_candidates(context);
    }

    /// Decides where a replica is.
    fn assign(&mut self, context: &mut Context<'_>, id: ReplicaId, touched: &mut Touched) {
        let fits = self.fits(context, id);
        let Some(row) = self.replicas.get_mut(id) else { return };
        match (&row.location, fits) {
            (Location::Switch(_), Ok(())) => {}
            (Location::Switch(_), Err(why)) => self.leave(context, id, why, touched),
            (Location::Base(_), Err(why)) => row.location = Location::Base(why),
            (Location::Base(_), Ok(())) if row.not_before.is_some_and(|at| context.now < at) => {}
            (Location::Base(_), Ok(())) if context.away_since.is_some() => row.location = Location::Base(Refused::Gone),
            (Location::Base(_), Ok(())) => match self.indexes.take() {
                Some(index) => {
                    context.cells.start(Cell::Sent(index));
                    row.not_before = None;
                    row.location = Location::Switch(Box::new(SwitchReplica {
                        index,
                        entries: Default::default(),
                        stage: Stage::Preparing,
                        since: context.now,
                        copied: CopiedLayers::new(row.replica.target.temporal),
                    }));
                    self.by_index.insert(index, id);
                    self.preparing.insert(id);
                }
                None => {
                    row.location = Location::Base(Refused::Full);
                    row.not_before = Some(context.now + AGAIN);
                }
            },
        }
    }

    /// Whether the switch could send a replica.
    fn fits(&self, context: &Context<'_>, id: ReplicaId) -> Result<(), Refused> {
        let unsupported = Refused::Unsupported;
        let companion = || unsupported(Reason::Companion);
        let row = self.replicas.get(id).ok_or_else(companion)?;
        if !context.config.rooms {
            return Err(unsupported(Reason::Table));
        }
        let entry = &row.replica;
        let to = self.legs.get(&entry.leg).ok_or_else(companion)?;
        fit::leg(context.config, &to.leg).map_err(unsupported)?;
        let source = entry.source.filter(|_| !entry.paused);
        let source = source.ok_or(unsupported(Reason::NoMedia))?;
        let stream = self.streams.get(&source).ok_or_else(companion)?;
        let from = self.legs.get(&source.leg).ok_or_else(companion)?;
        fit::leg(context.config, &from.leg)
            .and_then(|()| fit::stream(&stream.stream, &from.leg))
            .and_then(|()| fit::replica(entry, &to.leg, &stream.stream, &from.leg))
            .map_err(unsupported)?;
        // The switch knows a replica by its leg and stream.
        let is_same = |other: &super::ReplicaRow| {
            other.replica.source == entry.source && matches!(other.location, Location::Switch(_))
        };
        let mut others = self
            .replicas
            .sent_to(entry.leg)
            .into_iter()
            .filter(|other| *other != id);
        match others.any(|other| self.replicas.get(other).is_some_and(is_same)) {
            true => Err(companion()),
            false => Ok(()),
        }
    }

    /// Writes the entries of a replica's own.
    pub(super) fn write_place(&mut self, context: &mut Context<'_>, id: ReplicaId) {
        let Some(row) = self.replicas.get_mut(id) else { return };
        let (Location::Switch(on_switch), Some(source)) = (&mut row.location, row.replica.source) else {
            return;
        };
        let (Some(to), Some(from)) = (self.legs.get(&row.replica.leg), self.legs.get(&source.leg)) else {
            return;
        };
        let Some(stream) = self.streams.get(&source) else {
            return;
        };
        let mut new = entries::payload_types(on_switch.index, &row.replica);
        let remote = to.leg.paths.first().map(|path| path.remote.ip());
        let hop = remote.and_then(|remote| context.config.next_hop(remote));
        if let (Some(began), Some(rid), Some(number), Some(hop)) = (on_switch.stage.began(), to.rid, stream.number, hop)
        {
            let value = entries::replica(on_switch.index, began, &row.replica, &to.leg, &stream.stream, &from.leg);
            new.insert(entries::replica_key(rid, number, hop.port), value);
        }
        replace(context, &mut on_switch.entries, new);
    }

    /// Names replicas as candidates whose entries the switch has.
    pub(crate) fn look_for_candidates(&mut self, context: &Context<'_>) {
        if !context.is_leased {
            return;
        }
        let complete = self.preparing.iter().copied();
        let complete: Vec<ReplicaId> = complete.filter(|id| self.is_to_be_named(context, *id)).collect();
        for id in complete {
            self.preparing.remove(&id);
            if let Some(on_switch) = self.on_switch_mut(id) {
                on_switch.stage = Stage::Named;
                self.candidates.push_back(id);
            }
        }
    }

    fn is_to_be_named(&self, context: &Context<'_>, id: ReplicaId) -> bool {
        let Some(on_switch) = self.on_switch(id) else {
            return false;
        };
        let source = self.replicas.get(id).and_then(|row| row.replica.source);
        let stream = source.and_then(|source| self.streams.get(&source));
        let needs_it = self.replicas.get(id).is_some_and(|row| row.needs_structure);
        let waits = needs_it || context.now.saturating_duration_since(on_switch.since) < STRUCTURE_MAX;
        let is_known = stream.is_some_and(|stream| stream.templates.are_known());
        (!waits || is_known || !self.is_described(id)) && self.is_complete(context, id)
    }

    /// Whether a replica begins at a key frame.
    pub(super) fn is_described(&self, id: ReplicaId) -> bool {
        let source = self.replicas.get(id).and_then(|row| row.replica.source);
        source.is_some_and(|source| self.is_stream_described(source))
    }

    /// Whether packets of a stream have descriptors.
    pub(super) fn is_stream_described(&self, key: StreamKey) -> bool {
        let both = self.streams.get(&key).zip(self.legs.get(&key.leg));
        both.is_some_and(|(stream, from)| fit::described(&stream.stream, &from.leg).is_some())
    }

    /// Removes a replica from the switch. If the switch may have sent it, the base continues after
    /// all numbers that may have been used.
    pub(super) fn leave(&mut self, context: &mut Context<'_>, id: ReplicaId, why: Refused, touched: &mut Touched) {
        self.leave_with(context, id, why, SLACK, touched);
    }

    fn leave_with(
        &mut self,
        context: &mut Context<'_>,
        id: ReplicaId,
        why: Refused,
        slack: u16,
        touched: &mut Touched,
    ) {
        let Some(row) = self.replicas.get_mut(id) else { return };
        if !matches!(row.location, Location::Switch(_)) {
            return;
        }
        let Location::Switch(mut on_switch) = std::mem::replace(&mut row.location, Location::Base(why)) else {
            return;
        };
        touched.streams.extend(row.replica.source);
        touched.legs.insert(row.replica.leg);
        let cell = SentCell::of(self.legs.get(&row.replica.leg), on_switch.index);
        row.sent.leave(cell);
        self.by_resting.insert(on_switch.index, id);
        let keys: Vec<Key> = on_switch.entries.keys().cloned().collect();
        replace(context, &mut on_switch.entries, Default::default());
        self.by_index.remove(&on_switch.index);
        self.indexes.give_back(on_switch.index, keys);
        self.preparing.remove(&id);
        self.candidates.retain(|candidate| *candidate != id);
        if let Some(began) = on_switch.stage.began() {
            self.left.insert(id, began.numbers.snapshot(context.now, slack));
        }
        if let Stage::Taking(write, _) = on_switch.stage {
            self.written.push_back(Written {
                write,
                outcome: Err(why),
                traffic: None,
            });
        }
    }

    /// An entry is on the switch, or why not.
    pub(crate) fn settled(&mut self, context: &mut Context<'_>, (key, outcome): &Settled) {
        match outcome {
            Ok(()) if key.table() == Some(Table::Replica) => self.taken(key),
            Ok(()) => {}
            Err(why) => self.failed(context, key, refused(*why)),
        }
    }

    /// The last entry of a replica is written: the switch sends it.
    fn taken(&mut self, key: &Key) {
        let Some(id) = self.replica_of(key) else { return };
        let Some(on_switch) = self.on_switch_mut(id) else {
            return;
        };
        match std::mem::replace(&mut on_switch.stage, Stage::Preparing) {
            Stage::Taking(write, began) => {
                on_switch.stage = Stage::Sending(began);
                self.written.push_back(Written {
                    write,
                    outcome: Ok(()),
                    traffic: None,
                });
            }
            stage => on_switch.stage = stage,
        }
    }

    pub(super) fn replica_of(&self, key: &Key) -> Option<ReplicaId> {
        let leg = *self.by_rid.get(&(key.field(0) as u16))?;
        let source = *self.by_number.get(&(key.field(1) as u32))?;
        let is_it =
            |row: &super::ReplicaRow| row.replica.source == Some(source) && matches!(row.location, Location::Switch(_));
        let mut sent = self.replicas.sent_to(leg).into_iter();
        sent.find(|id| self.replicas.get(*id).is_some_and(is_it))
    }

    /// The switch has no room for an entry, or does not accept it. The replicas that need it are
    /// the base's from here on, except those that the switch sends without it.
    fn failed(&mut self, context: &mut Context<'_>, key: &Key, why: Refused) {
        let mut concerned: Vec<ReplicaId> = match key {
            Key::Group(number) if self.simplify(context, *number) => return,
            Key::Entry(Table::LayerGroup, _) if self.simplify_stream(context, key) => return,
            Key::Group(number) => self.users_of(*number),
            Key::Entry(Table::Participant, _) => self.users_of(key.field(0) as u16),
            Key::Entry(Table::Receiver, _) => match self.by_rid.get(&(key.field(0) as u16)) {
                Some(leg) => self.replicas.sent_to(*leg),
                None => Vec::new(),
            },
            Key::Entry(Table::Replica, _) => self.replica_of(key).into_iter().collect(),
            Key::Entry(Table::PayloadType, _) => {
                self.by_index.get(&(key.field(0) as u32)).copied().into_iter().collect()
            }
            Key::Entry(Table::Format | Table::LayerGroup, _) => match self.by_number.get(&(key.field(0) as u32)) {
                Some(source) => self.followers(*source),
                None => Vec::new(),
            },
            Key::Entry(Table::Sender, _) => self.followers_by_sender(key),
            // Frames of this template are taken for the lowest layer.
            _ => Vec::new(),
        };
        let is_new = |id: &ReplicaId| {
            self.on_switch(*id)
                .is_some_and(|on_switch| !matches!(on_switch.stage, Stage::Sending(_)))
        };
        let is_of_one = matches!(key.table(), Some(Table::Replica | Table::PayloadType));
        if !is_of_one && concerned.iter().any(is_new) {
            concerned.retain(is_new);
        }
        self.give_back(context, &concerned, why);
    }

    /// The base has these replicas again, for a while.
    fn give_back(&mut self, context: &mut Context<'_>, ids: &[ReplicaId], why: Refused) {
        for id in ids {
            let sends = self.sends(*id);
            self.put_off(context, *id, why, 5 * AGAIN);
            if sends {
                self.returned.push_back(*id);
            }
        }
    }

    /// The switch does not look at packets to an address, for want of room.
    pub(crate) fn lose(&mut self, context: &mut Context<'_>, at: SocketAddr, why: Failed) {
        let streams = self.streams.iter().filter(|(_, row)| row.services.contains(&at));
        let streams: Vec<StreamKey> = streams.map(|(key, _)| *key).collect();
        for key in streams {
            let followers = self.followers(key);
            self.give_back(context, &followers, refused(why));
        }
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, context: &mut Context<'_>) {
        let is_due = |at: Instant| at <= context.now;
        let mut due = Vec::new();
        let mut stuck = Vec::new();
        for (id, row) in self.replicas.iter() {
            match &row.location {
                Location::Base(Refused::Gone) if context.away_since.is_none() && row.not_before.is_none_or(is_due) => {
                    due.push(id);
                }
                Location::Base(_) if row.not_before.is_some_and(is_due) => due.push(id),
                Location::Base(_) => {}
                Location::Switch(on_switch) => {
                    let age = context.now.saturating_duration_since(on_switch.since);
                    match &on_switch.stage {
                        Stage::Taking(..) if age >= ANSWER_MAX => stuck.push((id, Refused::Gone, AGAIN)),
                        Stage::Sending(began) if began.is_overdue(age) => {
                            stuck.push((id, Refused::Unsupported(Reason::Codec), LATER));
                        }
                        _ => {}
                    }
                }
            }
        }
        for (id, why, after) in stuck {
            let sends = self.sends(id);
            self.put_off(context, id, why, after);
            if sends {
                self.returned.push_back(id);
            }
            if let Some(row) = self.replicas.get_mut(id) {
                row.needs_structure |= sends;
            }
        }
        if !due.is_empty() {
            for id in &due {
                if let Some(row) = self.replicas.get_mut(*id) {
                    row.not_before = None;
                }
            }
            self.refresh(context, &due, Touched::default());
        }
        self.look_for_candidates(context);
        self.rids.tick(context.now, context.writer);
        self.numbers.tick(context.now, context.writer);
        for index in self.indexes.tick(context.now, context.writer) {
            let id = self.by_resting.remove(&index);
            if let Some(row) = id.and_then(|id| self.replicas.get_mut(id)) {
                row.sent.settle(index, context.cells);
            }
        }
        self.groups.tick(context);
        self.lower_layers(context);
    }

    /// The switch certainly numbers no packets any more: the base continues all that it sent.
    pub(crate) fn return_all(&mut self, context: &mut Context<'_>) {
        let here = self
            .replicas
            .iter()
            .map(|(id, _)| id)
            .filter(|id| self.on_switch(*id).is_some());
        let here: Vec<ReplicaId> = here.collect();
        let mut touched = Touched::default();
        for id in here {
            if self.sends(id) {
                self.returned.push_back(id);
            }
            self.leave_with(context, id, Refused::Gone, SLACK_LOST, &mut touched);
        }
        self.publish(context, touched);
    }
}

impl Began {
    /// Whether it should have begun and has not: its stream has no descriptors, whatever was
    /// negotiated.
    fn is_overdue(&self, age: Duration) -> bool {
        age >= START_MAX && !self.numbers.is_begun() && self.from.source.is_none()
    }
}
