use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{MeetingId, Node, ReplicationEngine, Route, Source, TreeId};
use crate::meeting::Place;

/// The copies of a group: the port and the instance of each (P4Runtime section 9.5.1).
pub type Copies = BTreeSet<(u16, u16)>;

/// The multicast groups of a switch, as P4Runtime has them: whole, and without exclusion ids.
pub trait MulticastGroups {
    /// Creates a group, or replaces its copies.
    fn set_group(&mut self, group: u16, copies: &Copies);
    /// Removes a group.
    fn remove_group(&mut self, group: u16);
}

/// Makes a replication engine of multicast groups.
///
/// A tree is a group. A group has no exclusion ids, so the device of the allocator has none either
/// and each tree has one branch. The own copy of a sender is dropped by the receiver's entry, or by
/// the lack of one.
#[derive(Debug)]
pub struct GroupEngine<G, C> {
    groups: G,
    copy: C,
    trees: BTreeMap<TreeId, Copies>,
    routes: BTreeMap<Source, Route>,
}

impl<G: MulticastGroups, C: Fn(MeetingId, Place) -> (u16, u16)> GroupEngine<G, C> {
    /// Groups without any tree. `copy` gives the port and the instance of a receiver.
    pub fn new(groups: G, copy: C) -> Self {
        Self {
            groups,
            copy,
            trees: BTreeMap::new(),
            routes: BTreeMap::new(),
        }
    }

    /// The groups.
    pub fn groups(&self) -> &G {
        &self.groups
    }

    /// The treatment of each source's packets, for the table that gives them their group.
    pub fn routes(&self) -> &BTreeMap<Source, Route> {
        &self.routes
    }

    fn change(&mut self, tree: TreeId, change: impl FnOnce(&mut Copies)) {
        let copies = self.trees.entry(tree).or_default();
        change(copies);
        self.groups.set_group(number(tree), copies);
    }
}

/// The number of a tree's group. P4Runtime's groups have 32 bits, and switches' 16.
fn number(tree: TreeId) -> u16 {
    tree.0
        .try_into()
        .expect("a device with groups has at most 65,535 trees")
}

impl<G: MulticastGroups, C: Fn(MeetingId, Place) -> (u16, u16)> ReplicationEngine for GroupEngine<G, C> {
    fn create_tree(&mut self, tree: TreeId) {
        self.change(tree, |_| {});
    }

    fn remove_tree(&mut self, tree: TreeId) {
        self.trees.remove(&tree);
        self.groups.remove_group(number(tree));
    }

    fn create_node(&mut self, node: &Node) {
        let copy = (self.copy)(node.meeting, node.receiver);
        self.change(node.tree, |copies| {
            copies.insert(copy);
        });
    }

    fn remove_node(&mut self, node: &Node) {
        let copy = (self.copy)(node.meeting, node.receiver);
        self.change(node.tree, |copies| {
            copies.remove(&copy);
        });
    }

    fn set_route(&mut self, source: Source, route: Option<Route>) {
        match route {
            Some(route) => self.routes.insert(source, route),
            None => self.routes.remove(&source),
        };
    }
}
