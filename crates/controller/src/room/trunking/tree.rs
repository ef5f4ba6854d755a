//! The way of a track from node to node: a tree with the publisher's node as its root. Pure.

use std::collections::{BTreeMap, BTreeSet};

use southbound::NodeId;

/// Nodes that one node sends a track to. Beyond it, nodes pass the track on.
pub(super) const FANOUT_MAX: usize = 8;

/// The most trunks that a packet crosses.
pub(super) const DEPTH_MAX: usize = 3;

/// The node that each node gets a track from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tree {
    /// In an order in which each node comes after the one it gets the track from.
    links: Vec<Link>,
}

/// A node and the one it gets a track from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
}

impl Tree {
    /// The tree that reaches these nodes. Nodes stay where they were as far as that is possible;
    /// others are put as near to the root as there is room. The root sends to more if no node has
    /// room at this depth.
    pub(super) fn grow(root: NodeId, wanting: &BTreeSet<NodeId>, before: &BTreeMap<NodeId, NodeId>) -> Self {
        let mut depths = BTreeMap::from([(root, 0)]);
        let mut children: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut links = Vec::with_capacity(wanting.len());
        let mut add = |from: NodeId, to: NodeId, depths: &mut BTreeMap<NodeId, usize>| {
            let depth = depths[&from] + 1;
            depths.insert(to, depth);
            links.push(Link { from, to });
        };
        // Each round keeps the nodes behind those that the last one kept.
        let mut left: BTreeSet<NodeId> = wanting.iter().copied().filter(|node| *node != root).collect();
        for _ in 0..DEPTH_MAX {
            let is_kept = |node: &NodeId| before.get(node).is_some_and(|from| depths.contains_key(from));
            let kept: Vec<NodeId> = left.iter().copied().filter(is_kept).collect();
            for node in kept {
                let from = before[&node];
                let sent = children.entry(from).or_default();
                if *sent < FANOUT_MAX && depths[&from] < DEPTH_MAX {
                    *sent += 1;
                    left.remove(&node);
                    add(from, node, &mut depths);
                }
            }
        }
        for node in left {
            let has_room = |(from, depth): &(&NodeId, &usize)| {
                **depth < DEPTH_MAX && children.get(*from).is_none_or(|sent| *sent < FANOUT_MAX)
            };
            let nearest = depths.iter().filter(has_room).min_by_key(|(_, depth)| **depth);
            let from = nearest.map_or(root, |(from, _)| *from);
            *children.entry(from).or_default() += 1;
            add(from, node, &mut depths);
        }
        Self { links }
    }

    /// All links, each after the one that its `from` is reached by.
    pub(super) fn links(&self) -> impl DoubleEndedIterator<Item = Link> {
        self.links.iter().copied()
    }

    pub(super) fn reaches(&self, node: NodeId) -> bool {
        self.links.iter().any(|link| link.to == node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: NodeId = NodeId(0);

    fn nodes(ids: impl IntoIterator<Item = u64>) -> BTreeSet<NodeId> {
        ids.into_iter().map(NodeId).collect()
    }

    fn parents(tree: &Tree) -> BTreeMap<NodeId, NodeId> {
        tree.links().map(|link| (link.to, link.from)).collect()
    }

    fn depth(parents: &BTreeMap<NodeId, NodeId>, node: NodeId) -> usize {
        let ways = std::iter::successors(Some(node), |node| parents.get(node).copied());
        ways.count() - 1
    }

    #[test]
    fn few_nodes_get_a_track_from_its_own() {
        let tree = Tree::grow(ROOT, &nodes(1..=8), &BTreeMap::new());
        assert!(tree.links().all(|link| link.from == ROOT));
        assert_eq!(tree.links().count(), 8);
    }

    #[test]
    fn more_nodes_pass_it_on() {
        let tree = Tree::grow(ROOT, &nodes(1..=100), &BTreeMap::new());
        let parents = parents(&tree);
        assert_eq!(parents.len(), 100);
        let deepest = parents.keys().map(|node| depth(&parents, *node)).max();
        assert_eq!(deepest, Some(3));
        for from in parents.values() {
            let children = parents.values().filter(|other| *other == from).count();
            assert!(children <= FANOUT_MAX, "{from:?} sends to {children}");
        }
    }

    #[test]
    fn beyond_the_depth_the_root_sends_to_more() {
        let tree = Tree::grow(ROOT, &nodes(1..=1_000), &BTreeMap::new());
        let parents = parents(&tree);
        assert_eq!(parents.len(), 1_000);
        assert!(parents.keys().all(|node| depth(&parents, *node) <= DEPTH_MAX));
    }

    #[test]
    fn a_node_that_leaves_moves_only_those_behind_it() {
        let before = parents(&Tree::grow(ROOT, &nodes(1..=40), &BTreeMap::new()));
        let gone = NodeId(1);
        let behind = |node: &NodeId| before.get(node) == Some(&gone);
        assert!(before.keys().any(behind));
        let wanting: BTreeSet<_> = before.keys().copied().filter(|node| *node != gone).collect();
        let after = parents(&Tree::grow(ROOT, &wanting, &before));
        assert_eq!(after.len(), 39);
        for (node, from) in &after {
            assert!(behind(node) || before[node] == *from, "{node:?} has moved");
        }
    }

    #[test]
    fn a_loop_of_before_does_not_last() {
        let before = BTreeMap::from([(NodeId(1), NodeId(2)), (NodeId(2), NodeId(1)), (NodeId(3), NodeId(3))]);
        let tree = Tree::grow(ROOT, &nodes(0..=3), &before);
        assert!(tree.links().all(|link| link.from == ROOT));
        assert_eq!(tree.links().count(), 3);
    }

    #[test]
    fn each_node_comes_after_the_one_it_gets_the_track_from() {
        let tree = Tree::grow(ROOT, &nodes(1..=60), &BTreeMap::new());
        let mut reached = nodes([0]);
        for link in tree.links() {
            assert!(reached.contains(&link.from));
            reached.insert(link.to);
        }
    }
}
