//! The media node of the calls.

use std::net::SocketAddr;

use southbound::{Capabilities, Fingerprint, HashFunction, MessageId, Node, NodeId, Notice};

use crate::world::World;

/// The one node.
pub(crate) const NODE: NodeId = NodeId(1);

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
        clear_trunks: false,
        capabilities: Capabilities {
            copies,
            ..Capabilities::ALL
        },
    }
}

/// The same at these UDP ports.
pub(crate) fn node_at(ports: &[u16]) -> Node {
    let hosts = node(false, false).addresses;
    let at_ports = |host: SocketAddr| ports.iter().map(move |port| SocketAddr::new(host.ip(), *port));
    Node {
        addresses: hosts.into_iter().flat_map(at_ports).collect(),
        ..node(false, false)
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
