use crate::meeting::Place;

/// A meeting, numbered by the caller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MeetingId(pub u64);

/// A multicast group, from 1: zero is no group on a Tofino and is not allowed in P4Runtime.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TreeId(pub u32);

/// A level-1 node, from 1, unique in the engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// The number of a copy, unique in its tree. Egress finds the receiver by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReplicaId(pub u32);

/// A level-1 exclusion id, from 1: all nodes of one branch of a tree have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExclusionId(pub u8);

/// A level-1 node: one copy for one receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its number.
    pub id: NodeId,
    /// The tree that it belongs to.
    pub tree: TreeId,
    /// Packets that name this id are not copied here.
    pub exclusion: ExclusionId,
    /// The number of its copy.
    pub replica: ReplicaId,
    /// The receiver's meeting.
    pub meeting: MeetingId,
    /// The receiver, whose port the driver knows.
    pub receiver: Place,
}

/// Packets with one treatment in ingress: a layer of a sender's stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source {
    /// The sender's meeting.
    pub meeting: MeetingId,
    /// The sender.
    pub sender: Place,
    /// The layer, from 0.
    pub layer: u8,
}

/// The treatment of a source's packets in ingress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// One copy, without a tree.
    Unicast(Place),
    /// Copies by a tree.
    Tree {
        /// The tree.
        tree: TreeId,
        /// The branch that gets no copies (level-1 pruning). A tree of one branch has none.
        exclude: Option<ExclusionId>,
        /// The sender's own copy, which is not made (level-2 pruning). The tree need not have it.
        own: ReplicaId,
    },
}

/// The driver of a packet-replication engine.
///
/// Calls are in the order in which they must take effect. None can be refused: the allocator stays
/// within the limits of its device. A driver that loses its switch replays its own state.
///
/// Source: Scallop section 6.2, the three steps of configuration.
pub trait ReplicationEngine {
    /// Creates an empty tree.
    fn create_tree(&mut self, tree: TreeId);
    /// Removes a tree without nodes.
    fn remove_tree(&mut self, tree: TreeId);
    /// Creates a node and adds it to its tree.
    fn create_node(&mut self, node: &Node);
    /// Removes a node from its tree and from the engine.
    fn remove_node(&mut self, node: &Node);
    /// Sets or replaces the treatment of a source's packets; `None` drops them.
    fn set_route(&mut self, source: Source, route: Option<Route>);
}
