//! One trunk: its two ends, its keys and its numbers.

use std::net::SocketAddr;

use environment::Random;
use southbound::{Command, DirectKeys, Node, NodeId, OpenDirect, TransportId, TransportQuality};
use wire::srtp::{MasterKey, SrtpProfile};
use wire::{ExtensionKind, ExtensionMap, Ssrc};

use super::route::Ends;
use crate::context::Context;
use crate::ids::Ssrcs;

const PROFILE: SrtpProfile = SrtpProfile::AeadAes256Gcm;
/// Encodings that one trunk carries in its life in each direction, one after the other. Nodes take
/// twice as many, each with retransmissions.
const STREAMS_MAX: u32 = 4_096;
/// Bytes of a key and of its salt (RFC 7714 section 12).
pub(super) const KEY_LEN: usize = 32;
pub(super) const SALT_LEN: usize = 12;

/// Two nodes, whichever is named first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::room) struct NodePair(NodeId, NodeId);

impl NodePair {
    pub(super) fn of(one: NodeId, other: NodeId) -> Self {
        Self(one.min(other), one.max(other))
    }

    pub(super) fn nodes(self) -> [NodeId; 2] {
        [self.0, self.1]
    }

    pub(super) fn has(self, node: NodeId) -> bool {
        self.nodes().contains(&node)
    }

    /// How many of the two take trunks without keys.
    pub(super) fn clear_nodes(self, ctx: &Context<'_>) -> usize {
        let nodes = self.nodes().into_iter().filter_map(|node| ctx.core.nodes.get(node));
        nodes.filter(|node| node.clear_trunks).count()
    }
}

/// A trunk between two nodes.
pub(super) struct Trunk {
    pub(super) ends: [TrunkEnd; 2],
    /// It has no keys: the operators of both nodes protect the network between them otherwise.
    pub(super) is_clear: bool,
}

/// The end of a trunk at one node.
pub(crate) struct TrunkEnd {
    pub(super) node: NodeId,
    pub(super) transport: TransportId,
    pub(super) address: SocketAddr,
    /// The SSRCs of what it sends.
    pub(super) ssrcs: Ssrcs,
    /// The encodings that were given SSRCs.
    pub(super) streams: u32,
    /// The SSRC of the RTCP it sends.
    pub(super) rtcp_ssrc: Ssrc,
    /// Protects what it sends.
    pub(super) key: TrunkKey,
    /// Packets of the other end arrive.
    pub(crate) is_connected: bool,
    /// How it does, by its last measurement.
    pub(crate) quality: TransportQuality,
}

/// A key with its salt.
#[derive(Clone, Copy)]
pub(super) struct TrunkKey {
    pub(super) key: [u8; KEY_LEN],
    pub(super) salt: [u8; SALT_LEN],
}

impl Trunk {
    /// A new trunk; `None` if the nodes have no addresses of one family.
    pub(super) fn new(ctx: &mut Context<'_>, pair: NodePair) -> Option<Self> {
        let [one, other] = pair.nodes();
        let random = &mut ctx.core.random;
        let nodes = &ctx.core.nodes;
        let (one_address, other_address) = addresses(random, nodes.get(one)?, nodes.get(other)?)?;
        let ends = [(one, one_address), (other, other_address)];
        let is_clear = pair.clear_nodes(ctx) == 2;
        Some(Self {
            is_clear,
            ends: ends.map(|(node, address)| {
                let transport = ctx.core.ids.transport();
                let random = &mut ctx.core.random;
                let mut ssrcs = Ssrcs::new(random);
                TrunkEnd {
                    node,
                    transport,
                    address,
                    rtcp_ssrc: ssrcs.next(),
                    ssrcs,
                    streams: 0,
                    key: TrunkKey {
                        key: random.bytes(),
                        salt: random.bytes(),
                    },
                    is_connected: false,
                    quality: TransportQuality::default(),
                }
            }),
        })
    }

    /// The end at a node, and the other one.
    pub(super) fn ends(&self, node: NodeId) -> (&TrunkEnd, &TrunkEnd) {
        let [one, other] = &self.ends;
        if one.node == node { (one, other) } else { (other, one) }
    }

    /// The ends of what a node sends over it.
    pub(super) fn ends_from(&self, node: NodeId) -> Ends {
        let (near, far) = self.ends(node);
        Ends {
            near: near.transport,
            far: far.transport,
            is_clear: self.is_clear,
        }
    }

    pub(super) fn end_mut(&mut self, node: NodeId) -> &mut TrunkEnd {
        let [one, other] = &mut self.ends;
        if one.node == node { one } else { other }
    }

    pub(super) fn has(&self, transport: TransportId) -> bool {
        self.ends.iter().any(|end| end.transport == transport)
    }

    /// Whether another trunk is to take its place, since a node takes only so many SSRCs on one.
    pub(super) fn is_worn(&self) -> bool {
        self.ends.iter().any(|end| end.streams >= STREAMS_MAX)
    }

    /// Opens its end at a node.
    pub(super) fn open(&self, node: NodeId) -> Command {
        let (near, far) = self.ends(node);
        Command::OpenDirect(Box::new(OpenDirect {
            transport: near.transport,
            local: near.address,
            remote: far.address,
            keys: (!self.is_clear).then(|| DirectKeys {
                ingress: far.key.master(),
                egress: near.key.master(),
            }),
            extensions_in: extensions(),
            extensions_out: extensions(),
            rtcp_ssrc_in: far.rtcp_ssrc,
            rtcp_ssrc_out: near.rtcp_ssrc,
        }))
    }
}

impl TrunkKey {
    fn master(&self) -> MasterKey {
        MasterKey::new(PROFILE, &self.key, &self.salt).expect("lengths are the profile's")
    }
}

/// All extensions that are forwarded, and the number that a bandwidth estimate needs. The one-byte
/// form has ids enough for them.
fn extensions() -> ExtensionMap {
    let forwarded = ExtensionKind::ALL.into_iter().filter(|kind| !kind.is_of_transport());
    let mut map = ExtensionMap::default();
    for (kind, id) in forwarded.chain([ExtensionKind::TransportSequence]).zip(1..) {
        map.insert(kind, id).expect("each has an id of its own");
    }
    map
}

/// An address of each node, both of one family: of the node's best one any port, since each port
/// may have a processor of its own.
fn addresses(random: &mut Random, one: &Node, other: &Node) -> Option<(SocketAddr, SocketAddr)> {
    let families = [SocketAddr::is_ipv4, SocketAddr::is_ipv6];
    families.into_iter().find_map(|is_of_family| {
        let mut any_port = |node: &Node| {
            let best = node.addresses.iter().copied().find(is_of_family)?.ip();
            let ports: Vec<_> = node.addresses.iter().copied().filter(|at| at.ip() == best).collect();
            let chosen = random.u64().checked_rem(ports.len() as u64)?;
            ports.get(chosen as usize).copied()
        };
        Some((any_port(one)?, any_port(other)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_forwarded_extension_has_an_id_of_the_one_byte_form() {
        let map = extensions();
        assert!(map.iter().all(|(_, id)| id <= 14));
        assert_eq!(map.iter().count(), 12);
        assert!(map.id(ExtensionKind::TransportSequence).is_some());
        assert!(map.id(ExtensionKind::Mid).is_none());
    }
}
