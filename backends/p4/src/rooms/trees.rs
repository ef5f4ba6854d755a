//! The multicast trees of meetings, as the allocator has them: each is a group of the switch.
//!
//! A node is a copy with the rid of its leg, and its branch above that. Two branches share a tree,
//! and the packets of one name the exclusion id of the other (`program/egress.p4`).
//!
//! A tree changes in place. A copy that is added is there before an entry depends on it, by the
//! order of writes. A copy that is not needed any more stays until all entries are written and for
//! [`LINGER`] after that, because packets may still match an entry from before. No receiver gets
//! anything twice or anything wrong by it, since egress drops copies without a `replica` entry.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use dataplane::LegId;
use planning::{Meeting, MeetingId, Node, NodeId, Place, ReplicationEngine, Route, Source, TreeId};

use super::groups::Fanout;
use crate::context::Context;
use crate::entry::{Key, Value};

/// A leg's rid is below this, and the branch of a node is above it.
pub(super) const RIDS: u32 = 1 << 15;

/// A copy that no entry needs stays for so long.
const LINGER: Duration = Duration::from_millis(100);

/// A copy of a group: its port and its number.
type Copied = (u16, u16);

/// All trees, and the routes of packets into them.
#[derive(Debug, Default)]
pub(super) struct Trees {
    rows: BTreeMap<TreeId, Tree>,
    routes: BTreeMap<Source, Route>,
    /// The owner of each place of a meeting.
    owners: BTreeMap<(MeetingId, Place), LegId>,
    by_owner: BTreeMap<LegId, BTreeSet<TreeId>>,
    /// Trees that are to be written.
    changed: BTreeSet<TreeId>,
    /// Owners whose packets have another route.
    rerouted: BTreeSet<LegId>,
}

#[derive(Debug)]
struct Tree {
    nodes: BTreeMap<NodeId, (LegId, u16)>,
    leaving: BTreeMap<Copied, Leaving>,
}

/// How far a copy that is not needed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    /// Entries may still depend on it.
    Needed,
    /// None does since then.
    Since(Instant),
    /// Its removal is being written.
    Over,
}

impl Trees {
    /// A place of a meeting is taken.
    pub(super) fn seat(&mut self, meeting: MeetingId, place: Place, owner: LegId) {
        self.owners.insert((meeting, place), owner);
    }

    /// The places of a meeting that are not in this are free.
    pub(super) fn retain(&mut self, id: MeetingId, meeting: Option<&Meeting>) {
        let places = self.owners.range((id, Place(0))..=(id, Place(u16::MAX)));
        let is_free = |place: &Place| meeting.is_none_or(|meeting| !meeting.contains(*place));
        let free: Vec<_> = places
            .map(|(key, _)| *key)
            .filter(|(_, place)| is_free(place))
            .collect();
        for key in free {
            self.owners.remove(&key);
        }
    }

    /// Everybody in a meeting.
    pub(super) fn members(&self, id: MeetingId) -> BTreeSet<LegId> {
        let places = self.owners.range((id, Place(0))..=(id, Place(u16::MAX)));
        places.map(|(_, leg)| *leg).collect()
    }

    /// The copies of an owner may have changed.
    pub(super) fn touch(&mut self, owner: LegId) {
        self.changed.extend(self.by_owner.get(&owner).into_iter().flatten());
    }

    /// The route of a sender's layer, from 0, if it is a tree.
    pub(super) fn fanout(&self, meeting: MeetingId, sender: Place, layer: u8) -> Option<Fanout> {
        let source = Source { meeting, sender, layer };
        match self.routes.get(&source)? {
            Route::Tree { tree, exclude, .. } => Some(Fanout {
                group: tree.0 as u16,
                branches: 0,
                exclude: exclude.map_or(0, |id| id.0),
            }),
            Route::Unicast(_) => None,
        }
    }

    /// Owners of nodes of a tree.
    pub(super) fn owners(&self, number: u16) -> BTreeSet<LegId> {
        let tree = self.rows.get(&TreeId(number.into()));
        tree.into_iter()
            .flat_map(|tree| tree.nodes.values())
            .map(|(owner, _)| *owner)
            .collect()
    }

    /// The owners whose packets got another route since the last call.
    pub(super) fn take_rerouted(&mut self) -> BTreeSet<LegId> {
        std::mem::take(&mut self.rerouted)
    }

    /// Writes trees that have changed, with the copy of each owner: its port and rid.
    pub(super) fn write(&mut self, context: &mut Context<'_>, copy: impl Fn(LegId) -> Option<Copied>) {
        for id in std::mem::take(&mut self.changed) {
            let key = Key::Group(id.0 as u16);
            let Some(tree) = self.rows.get_mut(&id) else {
                context.writer.unwant(&key);
                continue;
            };
            let node = |(owner, branch): &(LegId, u16)| {
                let (port, rid) = copy(*owner)?;
                Some((port, rid | branch << 15))
            };
            let mut copies: BTreeSet<Copied> = tree.nodes.values().filter_map(node).collect();
            let numbers: BTreeSet<u16> = copies.iter().map(|(_, number)| *number).collect();
            let there = context.writer.copies(&key);
            // A leg that moved to another port would get two.
            let may_stay = |(_, number): &Copied| !numbers.contains(number);
            tree.leaving
                .retain(|copied, _| there.contains(copied) && may_stay(copied));
            for copied in there.into_iter().filter(may_stay) {
                tree.leaving.entry(copied).or_insert(Leaving::Needed);
            }
            copies.extend(tree.staying());
            context.writer.want(key, Value::Copies(copies));
        }
    }

    /// Removes copies that were left over.
    pub(super) fn tick(&mut self, context: &mut Context<'_>) {
        let is_written = context.writer.has_written();
        let rows = self.rows.iter_mut().filter(|(_, tree)| !tree.leaving.is_empty());
        for (id, tree) in rows {
            for leaving in tree.leaving.values_mut() {
                *leaving = leaving.after(context.now, is_written);
            }
            if tree.leaving.values().any(|leaving| *leaving == Leaving::Over) {
                self.changed.insert(*id);
            }
        }
    }
}

impl Tree {
    /// Copies that are not needed and stay for now.
    fn staying(&self) -> impl Iterator<Item = Copied> + '_ {
        let stays = self.leaving.iter().filter(|(_, leaving)| **leaving != Leaving::Over);
        stays.map(|(copied, _)| *copied)
    }
}

impl Leaving {
    fn after(self, now: Instant, is_written: bool) -> Leaving {
        match self {
            Leaving::Needed if is_written => Leaving::Since(now),
            Leaving::Since(then) if now.saturating_duration_since(then) >= LINGER => Leaving::Over,
            same => same,
        }
    }
}

impl ReplicationEngine for Trees {
    fn create_tree(&mut self, tree: TreeId) {
        let row = Tree {
            nodes: BTreeMap::new(),
            leaving: BTreeMap::new(),
        };
        self.rows.insert(tree, row);
        self.changed.insert(tree);
    }

    fn remove_tree(&mut self, tree: TreeId) {
        self.rows.remove(&tree);
        self.changed.insert(tree);
    }

    fn create_node(&mut self, node: &Node) {
        let owner = self.owners.get(&(node.meeting, node.receiver)).copied();
        let (Some(owner), Some(tree)) = (owner, self.rows.get_mut(&node.tree)) else {
            return;
        };
        let branch = u16::from(node.exclusion.0 == 2);
        tree.nodes.insert(node.id, (owner, branch));
        self.by_owner.entry(owner).or_default().insert(node.tree);
        self.changed.insert(node.tree);
    }

    fn remove_node(&mut self, node: &Node) {
        let Some(tree) = self.rows.get_mut(&node.tree) else {
            return;
        };
        let Some((owner, _)) = tree.nodes.remove(&node.id) else {
            return;
        };
        self.changed.insert(node.tree);
        let is_last = tree.nodes.values().all(|(other, _)| *other != owner);
        if let Some(trees) = self.by_owner.get_mut(&owner).filter(|_| is_last) {
            trees.remove(&node.tree);
            if trees.is_empty() {
                self.by_owner.remove(&owner);
            }
        }
    }

    fn set_route(&mut self, source: Source, route: Option<Route>) {
        match route {
            Some(route) => self.routes.insert(source, route),
            None => self.routes.remove(&source),
        };
        self.rerouted.extend(self.owners.get(&(source.meeting, source.sender)));
    }
}

#[cfg(test)]
impl Trees {
    /// The owners of the nodes that a way's packets are copied to.
    pub(super) fn reached(&self, fanout: Fanout) -> Vec<LegId> {
        let tree = &self.rows[&TreeId(fanout.group.into())];
        let nodes: BTreeSet<_> = tree.nodes.values().collect();
        let nodes = nodes
            .into_iter()
            .filter(|(_, branch)| *branch + 1 != u16::from(fanout.exclude));
        nodes.map(|(owner, _)| *owner).collect()
    }
}
