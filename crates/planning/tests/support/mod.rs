//! A replication engine that checks what it is told, and copies packets as a Tofino does.

use std::collections::{BTreeMap, BTreeSet};

use planning::{Device, MeetingId, Node, NodeId, Place, ReplicaId, ReplicationEngine, Route, Source, TreeId};

pub(crate) struct Engine {
    device: Device,
    pub(crate) trees: BTreeMap<TreeId, BTreeMap<ReplicaId, Node>>,
    pub(crate) nodes: BTreeSet<NodeId>,
    pub(crate) routes: BTreeMap<Source, Route>,
    /// Copies that must be made at every moment.
    pub(crate) wanted: BTreeMap<Source, Vec<(MeetingId, Place)>>,
}

impl Engine {
    pub(crate) fn new(device: &Device) -> Self {
        let (trees, nodes, routes, wanted) = Default::default();
        Self {
            device: device.clone(),
            trees,
            nodes,
            routes,
            wanted,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.trees.is_empty() && self.nodes.is_empty() && self.routes.is_empty()
    }

    /// The receivers of the copies of a packet, one for each copy.
    pub(crate) fn copies(&self, source: Source) -> Vec<(MeetingId, Place)> {
        match self.routes.get(&source) {
            None => Vec::new(),
            Some(Route::Unicast(receiver)) => vec![(source.meeting, *receiver)],
            Some(Route::Tree { tree, exclude, own }) => {
                let nodes = self.trees[tree].values();
                let copied = nodes.filter(|node| Some(node.exclusion) != *exclude && node.replica != *own);
                copied.map(|node| (node.meeting, node.receiver)).collect()
            }
        }
    }

    /// No packet of the source reaches another meeting, or a receiver twice, or its sender.
    fn check(&self, source: Source) {
        let copies = self.copies(source);
        assert!(
            copies
                .iter()
                .all(|(meeting, place)| *meeting == source.meeting && *place != source.sender)
        );
        assert_eq!(copies.iter().collect::<BTreeSet<_>>().len(), copies.len());
    }

    fn check_wanted(&self) {
        for (source, wanted) in &self.wanted {
            let copies = self.copies(*source);
            assert!(
                wanted.iter().all(|copy| copies.contains(copy)),
                "{source:?} lacks copies"
            );
        }
    }
}

impl ReplicationEngine for Engine {
    fn create_tree(&mut self, tree: TreeId) {
        assert!((1..=self.device.trees).contains(&tree.0));
        assert!(self.trees.insert(tree, BTreeMap::new()).is_none());
        assert!(self.trees.len() <= self.device.trees as usize);
    }

    fn remove_tree(&mut self, tree: TreeId) {
        assert!(self.trees.remove(&tree).is_some_and(|nodes| nodes.is_empty()));
    }

    fn create_node(&mut self, node: &Node) {
        assert!((1..=self.device.nodes).contains(&node.id.0));
        assert!(node.replica.0 < self.device.replica_ids);
        assert!(self.nodes.insert(node.id));
        let tree = self.trees.get_mut(&node.tree).expect("the tree of a node");
        assert!(tree.insert(node.replica, *node).is_none());
        let routed = self
            .routes
            .iter()
            .filter(|(_, route)| matches!(route, Route::Tree { tree, .. } if *tree == node.tree));
        routed.for_each(|(source, _)| self.check(*source));
    }

    fn remove_node(&mut self, node: &Node) {
        assert!(self.nodes.remove(&node.id));
        let tree = self.trees.get_mut(&node.tree);
        assert_eq!(tree.and_then(|tree| tree.remove(&node.replica)), Some(*node));
        self.check_wanted();
    }

    fn set_route(&mut self, source: Source, route: Option<Route>) {
        match route {
            Some(route) => {
                self.routes.insert(source, route);
                self.check(source);
            }
            None => assert!(self.routes.remove(&source).is_some()),
        }
        self.check_wanted();
    }
}
