//! Groups of legs that packets are copied to.
//!
//! A group is a set of legs, whichever stream it is of: the streams of a room in which everybody
//! gets everything share one, because the sender is among the members and gets no copy for want of
//! a `replica` entry. A group never changes. Another set is another group, which is complete before
//! a stream uses it.

use std::collections::{BTreeMap, BTreeSet};

use planning::MulticastGroups;

use super::{Entries, replace};
use crate::Replication;
use crate::desk::Desk;
use crate::entry::{Key, Table, Value};
use crate::slots::Slots;

/// Legs, by port and rid.
pub(super) type Members = BTreeSet<(u16, u16)>;

/// All groups.
#[derive(Debug)]
pub(super) struct Groups {
    rows: BTreeMap<Members, Group>,
    by_number: BTreeMap<u16, Members>,
    numbers: Slots,
}

#[derive(Debug)]
struct Group {
    number: u16,
    branches: u16,
    users: usize,
    entries: Entries,
}

impl Default for Groups {
    fn default() -> Self {
        Groups {
            rows: BTreeMap::new(),
            by_number: BTreeMap::new(),
            numbers: Slots::new(1, 1 << 16),
        }
    }
}

impl Groups {
    /// The number and the branches of the group of these legs, which one more stream uses. `None`
    /// if there is no number for it.
    pub(super) fn hold(&mut self, desk: &mut Desk<'_>, members: &Members) -> Option<(u16, u16)> {
        if !self.rows.contains_key(members) {
            let number = self.numbers.take()?;
            let mut group = Group {
                number,
                branches: branches(desk.config.replication, members),
                users: 0,
                entries: Entries::new(),
            };
            let entries = &mut group.entries;
            Writer { desk, entries }.set_group(number, members);
            self.rows.insert(members.clone(), group);
            self.by_number.insert(number, members.clone());
        }
        let group = self.rows.get_mut(members)?;
        group.users += 1;
        Some((group.number, group.branches))
    }

    /// A stream no longer uses the group of these legs.
    pub(super) fn release(&mut self, desk: &mut Desk<'_>, members: &Members) {
        let Some(group) = self.rows.get_mut(members) else {
            return;
        };
        group.users -= 1;
        if group.users == 0 {
            let (number, entries) = (group.number, &mut group.entries);
            Writer { desk, entries }.remove_group(number);
            self.rows.remove(members);
            self.by_number.remove(&number);
            self.numbers.give_back(number, keys(number, members));
        }
    }

    /// Whether the switch has all of a group.
    pub(super) fn is_written(&self, desk: &Desk<'_>, members: &Members) -> bool {
        let group = self.rows.get(members);
        group.is_some_and(|group| group.entries.keys().all(|key| desk.book.is_written(key)))
    }

    /// The legs of a group.
    pub(super) fn members(&self, number: u16) -> Option<&Members> {
        self.by_number.get(&number)
    }

    pub(super) fn tick(&mut self, desk: &Desk<'_>) {
        self.numbers.tick(desk.now, desk.book);
    }
}

/// Writes one group into the book.
struct Writer<'a, 'b> {
    desk: &'a mut Desk<'b>,
    entries: &'a mut Entries,
}

impl MulticastGroups for Writer<'_, '_> {
    fn set_group(&mut self, group: u16, copies: &Members) {
        let new = entries(self.desk.config.replication, group, copies);
        replace(self.desk, self.entries, new);
    }

    fn remove_group(&mut self, _: u16) {
        replace(self.desk, self.entries, Entries::new());
    }
}

/// The branches of a group: the number of members for recirculation, the depth of the tree, 1 for a
/// single member of the multicast engine and otherwise 0.
fn branches(replication: Replication, members: &Members) -> u16 {
    let count = members.len() as u16;
    match replication {
        Replication::Multicast => u16::from(count == 1),
        Replication::Recirculation => count,
        Replication::Tree => count.max(1).next_power_of_two().trailing_zeros() as u16,
    }
}

/// The entries of a group.
fn entries(replication: Replication, number: u16, members: &Members) -> Entries {
    if replication == Replication::Multicast && members.len() != 1 {
        let copies = Value::Copies(members.clone());
        return Entries::from([(Key::Group(number), copies)]);
    }
    let participants = members.iter().zip(0_u128..).map(|((port, rid), position)| {
        let data = Value::Data(vec![(*rid).into(), (*port).into()]);
        (participant(number, position), data)
    });
    participants.collect()
}

/// All entries that a group of these legs may have.
fn keys(number: u16, members: &Members) -> Vec<Key> {
    let participants = (0..members.len() as u128).map(|position| participant(number, position));
    participants.chain([Key::Group(number)]).collect()
}

fn participant(number: u16, position: u128) -> Key {
    Key::Entry(Table::Participant, vec![number.into(), position])
}

#[cfg(test)]
mod tests {
    use planning::{Allocator, Device, GroupEngine, Meeting, MeetingId, Place, Quality};

    use super::*;

    #[test]
    fn each_mode_has_its_form_of_a_group() {
        let members = |count: u16| -> Members { (1..=count).map(|rid| (2, rid)).collect() };
        let form = |replication, count| {
            let members = members(count);
            let (branches, entries) = (branches(replication, &members), entries(replication, 7, &members));
            let groups = entries.keys().filter(|key| matches!(key, Key::Group(_))).count();
            (branches, groups, entries.len() - groups)
        };
        assert_eq!(form(Replication::Multicast, 1), (1, 0, 1), "two parties need no group");
        assert_eq!(form(Replication::Multicast, 3), (0, 1, 0));
        assert_eq!(form(Replication::Recirculation, 3), (3, 0, 3));
        assert_eq!(form(Replication::Tree, 1), (0, 0, 1));
        assert_eq!(form(Replication::Tree, 2), (1, 0, 2));
        assert_eq!(form(Replication::Tree, 5), (3, 0, 5));
        assert_eq!(form(Replication::Tree, 8), (3, 0, 8));
    }

    /// The entries of all groups, as the planner's allocator has them written.
    #[derive(Default)]
    struct Written(BTreeMap<u16, Entries>);

    impl MulticastGroups for Written {
        fn set_group(&mut self, group: u16, copies: &Members) {
            self.0.insert(group, entries(Replication::Multicast, group, copies));
        }

        fn remove_group(&mut self, group: u16) {
            assert!(self.0.remove(&group).is_some());
        }
    }

    #[test]
    fn the_allocator_of_the_planner_writes_groups_of_this_form() {
        let device = Device {
            trees: 65_535,
            exclusion_ids: 0,
            ..Device::tofino2()
        };
        let room = MeetingId(1);
        let mut allocator = Allocator::new(device);
        let mut engine = GroupEngine::new(Written::default(), |_, place: Place| (2, 10 + place.0));
        let meeting = Meeting::uniform(4, 4, Quality::High);
        assert!(allocator.set(room, meeting.clone(), &mut engine).is_ok());
        let everybody = Value::Copies((10..14).map(|rid| (2, rid)).collect());
        let whole = [(1, Entries::from([(Key::Group(1), everybody)]))];
        assert_eq!(engine.groups().0, BTreeMap::from(whole));
        let lowered = allocator.set_quality(room, Place(3), Quality::Low, &mut engine);
        assert_eq!(lowered, Ok(true));
        let copies = engine.groups().0.values().flat_map(Entries::values);
        let sizes = copies.map(|copies| match copies {
            Value::Copies(copies) => copies.len(),
            Value::Data(_) | Value::Foreign => 0,
        });
        assert_eq!(sizes.collect::<Vec<_>>(), [4, 3, 3], "one group for each layer");
        assert!(allocator.set(room, Meeting::default(), &mut engine).is_ok());
        assert!(engine.groups().0.is_empty() && engine.routes().is_empty());
    }
}
