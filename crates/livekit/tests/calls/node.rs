//! The media node of the calls.

use southbound::{Capabilities, Fingerprint, HashFunction, MessageId, Node, NodeId, Notice};

use crate::world::World;

/// The one node.
const NODE: NodeId = NodeId(1);

/// The name of a message that arrived there.
pub(crate) fn message_id(number: u64) -> MessageId {
    MessageId { node: NODE, number }
}

/// The node, as it describes itself.
pub(crate) fn node(clear_rtp: bool, copies: bool) -> Node {
    Node {
        node: NODE,
        addresses: vec!["192.0.2.1:7882".parse().unwrap(), "[2001:db8::1]:7882".parse().unwrap()],
        tcp_addresses: vec!["192.0.2.1:7881".parse().unwrap()],
        fingerprint: Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![0xab; 32],
        },
        clear_rtp,
        capabilities: Capabilities {
            copies,
            ..Capabilities::ALL
        },
    }
}

impl World {
    /// A world with this node.
    pub(crate) fn with_node(node: Node) -> Self {
        let mut world = Self::new();
        world.notice(Notice::Node(node));
        world
    }
}
