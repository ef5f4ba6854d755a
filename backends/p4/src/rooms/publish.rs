//! Writes what the switch is to have of legs and streams.

use std::collections::BTreeSet;

use dataplane::{LegId, Refused, ReplicaId, StreamKey};
use planning::Quality;

use super::groups::{Fanout, Groups, Members, StreamFanout};
use super::meetings::Followers;
use super::{AGAIN, Entries, LegRow, Location, Rooms, entries, fit, replace};
use crate::context::Context;
use crate::entry::{Key, Table};
use crate::{P4Config, Replication};

/// The things whose entries may have to change.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub legs: BTreeSet<LegId>,
    pub streams: BTreeSet<StreamKey>,
}

impl Rooms {
    /// Writes the entries of these legs and streams.
    pub(super) fn publish(&mut self, context: &mut Context<'_>, mut touched: Touched) {
        for leg in std::mem::take(&mut touched.legs) {
            self.meetings.trees.touch(leg);
            if self.publish_leg(context, leg) {
                // A stream's group may have its sender as a member.
                touched.streams.extend(self.streams.keys().filter(|key| key.leg == leg));
            }
        }
        if context.config.replication == Replication::Multicast {
            self.seat(context, &mut touched);
        }
        for key in touched.streams {
            self.publish_stream(context, key);
        }
        self.write_trees(context);
    }

    /// Has the meetings be those of these streams, and adds the streams that have other trees then.
    fn seat(&mut self, context: &mut Context<'_>, touched: &mut Touched) {
        for key in touched.streams.clone() {
            let followers = self.followers_on_switch(key);
            if self.meetings.follow(context.now, key, followers).is_err() {
                self.all_leave(context, key);
                // None always have room.
                let _ = self.meetings.follow(context.now, key, Followers::new());
            }
        }
        let rerouted = self.meetings.take_rerouted().into_iter();
        touched
            .streams
            .extend(rerouted.filter(|key| self.streams.contains_key(key)));
    }

    /// Writes the trees that have changed.
    fn write_trees(&mut self, context: &mut Context<'_>) {
        let (legs, config) = (&self.legs, context.config);
        self.meetings.trees.write(context, |leg| copy(config, legs.get(&leg)?));
    }

    /// Writes a leg that receives from the switch. Returns whether its rid has changed.
    fn publish_leg(&mut self, context: &mut Context<'_>, id: LegId) -> bool {
        let mut sent = self.replicas.sent_to(id).into_iter();
        let receives = sent.any(|id| self.on_switch(id).is_some());
        let Some(row) = self.legs.get_mut(&id) else {
            return false;
        };
        let before = row.rid;
        match (receives, before) {
            (true, None) => row.rid = self.rids.take(),
            (false, Some(rid)) => {
                row.rid = None;
                let keys = row.entries.keys().cloned().collect();
                replace(context, &mut row.entries, Entries::new());
                self.by_rid.remove(&rid);
                self.rids.give_back(rid, keys);
            }
            _ => {}
        }
        if let Some(rid) = row.rid {
            self.by_rid.insert(rid, id);
            let remote = row.leg.paths.first().map(|path| path.remote);
            if let Some(hop) = remote.and_then(|remote| context.config.next_hop(remote.ip())) {
                let new = entries::receiver(rid, hop, &row.leg);
                replace(context, &mut row.entries, new);
            }
        }
        row.rid != before
    }

    /// Writes a stream that has replicas on the switch.
    fn publish_stream(&mut self, context: &mut Context<'_>, key: StreamKey) {
        let members = self.members_of(context, key);
        let Some(row) = self.streams.get_mut(&key) else { return };
        if members[0].is_empty() {
            return self.withdraw_stream(context, key);
        }
        if row.number.is_none() {
            row.number = self.numbers.take();
        }
        let Some(number) = row.number else {
            return self.all_leave(context, key);
        };
        self.by_number.insert(number, key);
        let Some(fanouts) = self.fan_out(context, key, &members) else {
            return self.all_leave(context, key);
        };
        let (Some(from), Some(row)) = (self.legs.get(&key.leg), self.streams.get_mut(&key)) else {
            return;
        };
        row.fanouts = Some(fanouts);
        // Entries of layers stay, so that a layer that has the way of all has it before a target is
        // raised.
        row.is_layered |= fanouts.is_layered();
        let mut new = entries::stream(number, fanouts, key.ssrc.0, &row.stream, &from.leg, &row.templates);
        if row.is_layered {
            new.extend(entries::layer_groups(number, fanouts, &row.templates));
        }
        replace(context, &mut row.entries, new);
        let services: BTreeSet<_> = from.leg.paths.iter().map(|path| path.local).collect();
        for at in services.difference(&row.services) {
            context.services.hold(context.writer, context.config, *at);
        }
        for at in row.services.difference(&services) {
            context.services.release(context.writer, *at);
        }
        row.services = services;
    }

    /// The ways of a stream's packets to its receivers. `None` if there is no room.
    fn fan_out(&mut self, context: &mut Context<'_>, key: StreamKey, members: &[Members; 3]) -> Option<StreamFanout> {
        let has_engine = context.config.replication == Replication::Multicast;
        let is_tree = has_engine && members[0].len() > 1;
        let row = self.streams.get_mut(&key)?;
        let before = std::mem::take(&mut row.held);
        // New groups are held before the old ones are released, so that they may be the same.
        let fanouts = match (is_tree, has_engine) {
            (true, _) => self.meetings.fanouts(key),
            (false, true) => self.groups.hold(context, None, &members[0]).map(StreamFanout::one),
            (false, false) => hold(&mut self.groups, context, &before, row.is_layered, members),
        };
        if !is_tree && let Some(fanouts) = fanouts {
            let held = if has_engine { 1 } else { 3 };
            row.held = fanouts.iter().take(held).map(|fanout| fanout.group).collect();
        }
        for group in before {
            self.groups.release(context, group);
        }
        fanouts
    }

    /// The legs that a stream's packets are copied to, by layer.
    fn members_of(&self, context: &Context<'_>, key: StreamKey) -> [Members; 3] {
        let member = |id: LegId| copy(context.config, self.legs.get(&id)?);
        let followers = self.followers_on_switch(key);
        let of_layer = |lowest: Quality| {
            let gets = |quality: &Option<Quality>| quality.is_none_or(|quality| quality >= lowest);
            let members = followers.iter().filter(|(_, quality)| gets(quality));
            members.filter_map(|(leg, _)| member(*leg)).collect::<Members>()
        };
        let mut members = Quality::ALL.map(of_layer);
        let is_trees = context.config.replication == Replication::Multicast;
        if members[0].len() > 1 && !is_trees {
            // So that the streams of a room share a group.
            let sender = member(key.leg);
            members.iter_mut().for_each(|members| members.extend(sender));
        }
        members
    }

    /// Removes a stream from the switch.
    fn withdraw_stream(&mut self, context: &mut Context<'_>, key: StreamKey) {
        let Some(row) = self.streams.get_mut(&key) else { return };
        (row.fanouts, row.is_layered) = (None, false);
        for group in std::mem::take(&mut row.held) {
            self.groups.release(context, group);
        }
        for at in std::mem::take(&mut row.services) {
            context.services.release(context.writer, at);
        }
        let keys: Vec<Key> = row.entries.keys().cloned().collect();
        replace(context, &mut row.entries, Entries::new());
        if let Some(number) = row.number.take() {
            self.by_number.remove(&number);
            self.numbers.give_back(number, keys);
            // Its next entries will have another number, and packets with structures name that.
            row.templates = Default::default();
        }
    }

    /// There is no room for a stream.
    fn all_leave(&mut self, context: &mut Context<'_>, key: StreamKey) {
        let mut touched = Touched::default();
        for id in self.followers(key) {
            let is_here = self.on_switch(id).is_some();
            self.leave(context, id, Refused::Full, &mut touched);
            if let Some(row) = self.replicas.get_mut(id).filter(|_| is_here) {
                row.not_before = Some(context.now + 5 * AGAIN);
            }
        }
        touched.streams.remove(&key);
        self.withdraw_stream(context, key);
        for leg in touched.legs {
            self.publish_leg(context, leg);
        }
    }

    /// Whether the switch has all of a replica's entries, but for the last.
    pub(super) fn is_complete(&self, context: &Context<'_>, id: ReplicaId) -> bool {
        let Some(row) = self.replicas.get(id) else {
            return false;
        };
        let (Location::Switch(on_switch), Some(source)) = (&row.location, row.replica.source) else {
            return false;
        };
        let (Some(leg), Some(stream)) = (self.legs.get(&row.replica.leg), self.streams.get(&source)) else {
            return false;
        };
        let is_needed = |key: &&Key| !matches!(key.table(), Some(Table::TemplateLayer));
        let keys = on_switch
            .entries
            .keys()
            .chain(leg.entries.keys())
            .chain(stream.entries.keys());
        let are_written = keys.filter(is_needed).all(|key| context.writer.is_written(key));
        let is_there = |fanout: Fanout| match stream.held.is_empty() {
            true => context.writer.is_written(&Key::Group(fanout.group)),
            false => self.groups.is_written(context, fanout.group),
        };
        let has_group = stream.fanouts.is_some_and(|fanouts| fanouts.iter().all(is_there));
        are_written && !leg.entries.is_empty() && has_group
    }
}

/// The port and the rid of a leg that receives.
fn copy(config: &P4Config, row: &LegRow) -> Option<(u16, u16)> {
    let (_, remote) = fit::nominated(&row.leg)?;
    Some((config.next_hop(remote.ip())?.port, row.rid?))
}

/// Holds a group for each layer. Those of upper layers continue the group that their packets were
/// copied to before.
fn hold(
    groups: &mut Groups,
    context: &mut Context<'_>,
    before: &[u16],
    is_layered: bool,
    members: &[Members; 3],
) -> Option<StreamFanout> {
    let everybody = &members[0];
    let all = groups.hold(context, before.first().copied(), everybody)?;
    let mut of = |layer: usize| {
        let before = before.get(layer).filter(|_| is_layered);
        // Egress drops the copies of a layer that nobody gets.
        let of_layer = Some(&members[layer]).filter(|members| !members.is_empty());
        groups.hold(
            context,
            before.copied().or(Some(all.group)),
            of_layer.unwrap_or(everybody),
        )
    };
    let upper = [of(1), of(2)];
    match upper {
        [Some(second), Some(third)] => Some(StreamFanout {
            all,
            upper: [second, third],
        }),
        _ => {
            let held = upper.into_iter().flatten().chain([all]);
            held.for_each(|fanout| groups.release(context, fanout.group));
            None
        }
    }
}
