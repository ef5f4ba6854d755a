//! Groups of legs that packets are copied to, one after the other or, as a group of one, without
//! the multicast engine, whose [trees](super::trees) are others.
//!
//! A group is a set of legs, whichever stream or layer it is of: the streams of a room in which
//! everybody gets everything share one, because the sender is among the members and gets no copy
//! for want of a `replica` entry. A group never changes. Another set is another group, which is
//! complete before a stream uses it.
//!
//! With recirculation and the tree a packet is copied in several passes, each of which finds the
//! stream's group anew, and only position and depth are carried along. A packet may therefore begin
//! with one group and end with the next. So a leg that stays has the same position in the next
//! group of a stream, and a tree never becomes lower while the stream has receivers. A leg that
//! joins gets the first free position.

use std::collections::{BTreeMap, BTreeSet};

use super::{Entries, replace};
use crate::Replication;
use crate::context::Context;
use crate::entry::{Key, Table, Value};
use crate::slots::Slots;

/// Trees of the switch. BMv2 takes groups below 2^15, and 0 is none.
pub(super) const TREES: u32 = (1 << 15) - 1;

/// Legs, by port and rid.
pub(super) type Members = BTreeSet<(u16, u16)>;

/// The way of packets to their receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fanout {
    /// The group, or the tree.
    pub group: u16,
    /// One more than the highest position for recirculation, the depth of the tree of passes, 1 for
    /// a single receiver with the multicast engine, and 0 for a tree of it.
    pub branches: u16,
    /// The exclusion id of the nodes that make no copies, or 0.
    pub exclude: u8,
}

/// The ways of a stream's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamFanout {
    /// Of those that name no layer, and of the lowest one.
    pub all: Fanout,
    /// Of the second temporal layer, and of the layers above it.
    pub upper: [Fanout; 2],
}

impl StreamFanout {
    /// One way for all packets.
    pub(super) fn one(all: Fanout) -> Self {
        StreamFanout { all, upper: [all; 2] }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Fanout> {
        [self.all, self.upper[0], self.upper[1]].into_iter()
    }

    /// Whether layers have ways of their own.
    pub(super) fn is_layered(&self) -> bool {
        *self != StreamFanout::one(self.all)
    }
}

/// All groups.
#[derive(Debug)]
pub(super) struct Groups {
    rows: BTreeMap<u16, Group>,
    by_members: BTreeMap<Members, BTreeSet<u16>>,
    numbers: Slots,
}

#[derive(Debug)]
struct Group {
    members: Members,
    places: Places,
    users: usize,
    entries: Entries,
}

/// The position of each member, by rid.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Places {
    positions: BTreeMap<u16, u16>,
    /// One more than the highest position for recirculation, the depth of the tree, 1 for a single
    /// member of the multicast engine and otherwise 0.
    branches: u16,
}

impl Default for Groups {
    fn default() -> Self {
        Groups {
            rows: BTreeMap::new(),
            by_members: BTreeMap::new(),
            // The lower half is that of trees.
            numbers: Slots::new(TREES as u16 + 1, 1 << 16),
        }
    }
}

impl Groups {
    /// The way to a group of these legs, which one more stream or layer uses. Its packets are
    /// copied to the group `before` until then. `None` if there is no number.
    pub(super) fn hold(&mut self, context: &mut Context<'_>, before: Option<u16>, members: &Members) -> Option<Fanout> {
        let replication = context.config.replication;
        let before = before.and_then(|number| self.rows.get(&number));
        let before = before.map(|group| &group.places);
        let follows = |number: &u16| before.is_none_or(|before| self.rows[number].places.follow(replication, before));
        let mut same = self.by_members.get(members).into_iter().flatten().copied();
        let number = match same.find(follows) {
            Some(number) => number,
            None => {
                let places = Places::new(replication, before, members);
                let number = self.numbers.take()?;
                let new = entries(number, members, &places);
                let mut group = Group {
                    members: members.clone(),
                    places,
                    users: 0,
                    entries: Entries::new(),
                };
                replace(context, &mut group.entries, new);
                self.rows.insert(number, group);
                self.by_members.entry(members.clone()).or_default().insert(number);
                number
            }
        };
        let group = self.rows.get_mut(&number)?;
        group.users += 1;
        Some(Fanout {
            group: number,
            branches: group.places.branches,
            exclude: 0,
        })
    }

    /// A stream no longer uses a group.
    pub(super) fn release(&mut self, context: &mut Context<'_>, number: u16) {
        let Some(group) = self.rows.get_mut(&number) else {
            return;
        };
        group.users -= 1;
        if group.users > 0 {
            return;
        }
        let keys: Vec<Key> = group.entries.keys().cloned().collect();
        replace(context, &mut group.entries, Entries::new());
        if let Some(same) = self.by_members.get_mut(&group.members) {
            same.remove(&number);
            if same.is_empty() {
                self.by_members.remove(&group.members);
            }
        }
        self.rows.remove(&number);
        self.numbers.give_back(number, keys);
    }

    /// Whether the switch has all of a group.
    pub(super) fn is_written(&self, context: &Context<'_>, number: u16) -> bool {
        let group = self.rows.get(&number);
        group.is_some_and(|group| group.entries.keys().all(|key| context.writer.is_written(key)))
    }

    pub(super) fn tick(&mut self, context: &Context<'_>) {
        self.numbers.tick(context.now, context.writer);
    }
}

/// The entries of a group.
fn entries(number: u16, members: &Members, places: &Places) -> Entries {
    let participants = members.iter().map(|(port, rid)| {
        let position = places.positions[rid];
        let key = Key::Entry(Table::Participant, vec![number.into(), position.into()]);
        (key, Value::Data(vec![(*rid).into(), (*port).into()]))
    });
    participants.collect()
}

impl Places {
    /// The positions of these legs after those of an earlier group.
    fn new(replication: Replication, before: Option<&Places>, members: &Members) -> Self {
        let count = members.len() as u16;
        let is_tree = replication == Replication::Tree;
        let depth = match (is_tree, before) {
            (true, Some(before)) => depth(count).max(before.branches),
            (true, None) => depth(count),
            (false, _) => 0,
        };
        let before = before.filter(|_| replication != Replication::Multicast);
        let kept = |rid: &u16| {
            let before = before?;
            let deeper = if is_tree { depth - before.branches } else { 0 };
            Some(before.positions.get(rid)? << deeper)
        };
        let taken: BTreeSet<u16> = members.iter().filter_map(|(_, rid)| kept(rid)).collect();
        let mut free = (0..=u16::MAX).filter(|position| !taken.contains(position));
        let position = |(_, rid): &(u16, u16)| Some((*rid, kept(rid).or_else(|| free.next())?));
        let positions: BTreeMap<u16, u16> = members.iter().filter_map(position).collect();
        let branches = match replication {
            Replication::Multicast => u16::from(count == 1),
            Replication::Recirculation => positions.values().max().map_or(0, |last| last + 1),
            Replication::Tree => depth,
        };
        Places { positions, branches }
    }

    /// Whether a packet may begin with these places of an earlier group and end with this one's:
    /// those that are in both get it once.
    fn follow(&self, replication: Replication, before: &Places) -> bool {
        let deeper = match replication {
            Replication::Multicast => return true,
            Replication::Recirculation => Some(0),
            Replication::Tree => self.branches.checked_sub(before.branches),
        };
        let stays = |deeper: u16| {
            let mut both = self.positions.iter();
            both.all(|(rid, position)| before.positions.get(rid).is_none_or(|at| at << deeper == *position))
        };
        deeper.is_some_and(stays)
    }
}

/// The depth of a tree with so many leaves.
fn depth(leaves: u16) -> u16 {
    leaves.max(1).next_power_of_two().trailing_zeros() as u16
}

#[cfg(test)]
mod tests;
