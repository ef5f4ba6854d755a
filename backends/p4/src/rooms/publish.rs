//! Writes what the switch is to have of legs and streams.

use std::collections::BTreeSet;

use dataplane::{LegId, Refused, ReplicaId, StreamKey};

use super::groups::Members;
use super::{Entries, Location, Rooms, entries, fit, replace};
use crate::context::Context;
use crate::entry::{Key, Table};

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
            if self.publish_leg(context, leg) {
                // A stream's group may have its sender as a member.
                touched.streams.extend(self.streams.keys().filter(|key| key.leg == leg));
            }
        }
        for key in touched.streams {
            self.publish_stream(context, key);
        }
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
        let Some(from) = self.legs.get(&key.leg) else {
            return;
        };
        let Some(row) = self.streams.get_mut(&key) else { return };
        if members.is_empty() {
            return self.withdraw_stream(context, key);
        }
        if row.number.is_none() {
            row.number = self.numbers.take();
        }
        let Some(number) = row.number else {
            return self.all_leave(context, key);
        };
        self.by_number.insert(number, key);
        // The new group is held before the old one is released, so that they may be one.
        let Some(group) = self.groups.hold(context, row.group, &members) else {
            return self.all_leave(context, key);
        };
        if let Some(before) = row.group.replace(group.0) {
            self.groups.release(context, before);
        }
        let mut new = entries::stream(number, group, key.ssrc.0, &row.stream, &from.leg, &row.templates);
        new.extend(row.replicates_reports.then(|| entries::report(number, group)));
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

    /// The legs that a stream is copied to.
    fn members_of(&self, context: &Context<'_>, key: StreamKey) -> Members {
        let member = |id: LegId| {
            let row = self.legs.get(&id)?;
            let (_, remote) = fit::nominated(&row.leg)?;
            Some((context.config.next_hop(remote.ip())?.port, row.rid?))
        };
        let followers = self.replicas.following(key).into_iter();
        let here = followers.filter(|id| self.on_switch(*id).is_some());
        let here = here.filter_map(|id| self.replicas.get(id));
        let mut members: Members = here.filter_map(|row| member(row.replica.leg)).collect();
        if members.len() > 1 {
            // So that the streams of a room share a group.
            members.extend(member(key.leg));
        }
        members
    }

    /// Removes a stream from the switch.
    fn withdraw_stream(&mut self, context: &mut Context<'_>, key: StreamKey) {
        let Some(row) = self.streams.get_mut(&key) else { return };
        if let Some(group) = row.group.take() {
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
            self.leave(context, id, Refused::Full, &mut touched);
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
        let is_needed = |key: &&Key| !matches!(key.table(), Some(Table::TemplateLayer | Table::Report));
        let keys = on_switch
            .entries
            .keys()
            .chain(leg.entries.keys())
            .chain(stream.entries.keys());
        let are_written = keys.filter(is_needed).all(|key| context.writer.is_written(key));
        let has_group = stream.group.is_some_and(|group| self.groups.is_written(context, group));
        are_written && !leg.entries.is_empty() && has_group
    }
}
