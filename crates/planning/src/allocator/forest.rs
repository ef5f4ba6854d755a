use std::collections::BTreeSet;

use crate::engine::{NodeId, ReplicationEngine, TreeId};

/// A branch of a tree: a tree and a number from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot {
    pub(super) tree: TreeId,
    pub(super) branch: u8,
}

/// The trees, branches and nodes in use. The caller keeps to the device's limits.
#[derive(Debug)]
pub(super) struct Forest {
    branches_per_tree: u8,
    /// Of each tree that was ever created, by its id less one: the branches in use.
    used: Vec<u8>,
    free_trees: Vec<TreeId>,
    /// Free branches of trees that have another in use.
    open: BTreeSet<Slot>,
    nodes: u32,
    free_nodes: Vec<NodeId>,
}

impl Forest {
    /// No tree, no node.
    pub(super) fn new(branches_per_tree: u32) -> Self {
        let branches_per_tree = branches_per_tree as u8;
        Self {
            branches_per_tree,
            used: Vec::new(),
            free_trees: Vec::new(),
            open: BTreeSet::new(),
            nodes: 0,
            free_nodes: Vec::new(),
        }
    }

    /// Takes a branch, of a tree in use if one has a free branch.
    pub(super) fn take_branch(&mut self, engine: &mut impl ReplicationEngine) -> Slot {
        if let Some(slot) = self.open.pop_first() {
            self.used[slot.tree.0 as usize - 1] += 1;
            return slot;
        }
        let tree = self.free_trees.pop().unwrap_or_else(|| {
            self.used.push(0);
            TreeId(self.used.len() as u32)
        });
        engine.create_tree(tree);
        self.used[tree.0 as usize - 1] = 1;
        self.open
            .extend((1..self.branches_per_tree).map(|branch| Slot { tree, branch }));
        Slot { tree, branch: 0 }
    }

    /// Gives a branch without nodes back, and its tree if no other branch is in use.
    pub(super) fn release_branch(&mut self, slot: Slot, engine: &mut impl ReplicationEngine) {
        let used = &mut self.used[slot.tree.0 as usize - 1];
        *used -= 1;
        if *used > 0 {
            self.open.insert(slot);
            return;
        }
        for branch in 0..self.branches_per_tree {
            self.open.remove(&Slot { branch, ..slot });
        }
        self.free_trees.push(slot.tree);
        engine.remove_tree(slot.tree);
    }

    /// Takes the number of a node.
    pub(super) fn take_node(&mut self) -> NodeId {
        self.free_nodes.pop().unwrap_or_else(|| {
            self.nodes += 1;
            NodeId(self.nodes)
        })
    }

    /// Gives the number of a node back.
    pub(super) fn release_node(&mut self, node: NodeId) {
        self.free_nodes.push(node);
    }

    /// Nodes in use.
    pub(super) fn nodes_used(&self) -> usize {
        self.nodes as usize - self.free_nodes.len()
    }
}
