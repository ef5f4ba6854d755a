//! The participants that nodes know on other nodes, and the links that their messages take.

use std::collections::{BTreeMap, BTreeSet};

use southbound::{Command, DistantEndpoint, NodeId, TransportId};

use crate::context::Context;

/// The knowledge of each other that the nodes of a room have been given. Only those with links are
/// told anything.
#[derive(Debug, Default)]
pub(super) struct NodeLinks {
    nodes: BTreeMap<NodeId, BTreeMap<TransportId, DistantEndpoint>>,
    /// The numbers of endpoints up to which one node sends messages to another.
    reaches: BTreeMap<(NodeId, NodeId), u64>,
}

impl NodeLinks {
    /// Whether the nodes of the room are these.
    pub(super) fn are_between(&self, nodes: &BTreeSet<NodeId>) -> bool {
        self.nodes.keys().eq(nodes)
    }

    /// The nodes of the room are these. Returns those that are new.
    pub(super) fn set_nodes(&mut self, ctx: &mut Context<'_>, nodes: &BTreeSet<NodeId>) -> Vec<NodeId> {
        let gone = self.nodes.extract_if(.., |node, _| !nodes.contains(node));
        for (node, known) in gone.collect::<Vec<_>>() {
            for transport in known.into_keys() {
                ctx.command(node, Command::RemoveDistantEndpoint { transport });
            }
        }
        let ended = self
            .reaches
            .extract_if(.., |(from, to), _| !nodes.contains(from) || !nodes.contains(to));
        for ((from, to), _) in ended {
            ctx.command(from, Command::SetReach { node: to, number: 0 });
        }
        let added = nodes.iter().filter(|node| !self.nodes.contains_key(node));
        let added: Vec<_> = added.copied().collect();
        for node in &added {
            self.nodes.insert(*node, BTreeMap::new());
        }
        added
    }

    /// The endpoint of a participant has changed, has begun or has ended.
    pub(super) fn change(&mut self, ctx: &mut Context<'_>, before: Option<TransportId>, now: Option<DistantEndpoint>) {
        let is_known = |endpoint: &DistantEndpoint, nodes: &BTreeMap<_, _>| nodes.contains_key(&endpoint.node);
        let now = now.filter(|now| is_known(now, &self.nodes));
        for (node, known) in &mut self.nodes {
            let now = now.as_ref().filter(|now| now.node != *node);
            if let Some(transport) = before.filter(|before| now.is_none_or(|now| now.transport != *before))
                && known.remove(&transport).is_some()
            {
                ctx.command(*node, Command::RemoveDistantEndpoint { transport });
            }
            if let Some(now) = now {
                tell(ctx, *node, known, now.clone());
            }
        }
    }

    /// A new node is told of everybody.
    pub(super) fn tell_all(&mut self, ctx: &mut Context<'_>, node: NodeId, all: impl Iterator<Item = DistantEndpoint>) {
        let nodes: BTreeSet<_> = self.nodes.keys().copied().collect();
        let Some(known) = self.nodes.get_mut(&node) else {
            return;
        };
        for endpoint in all.filter(|endpoint| endpoint.node != node && nodes.contains(&endpoint.node)) {
            tell(ctx, node, known, endpoint);
        }
    }

    /// Has each node send messages to each other one, from and to the endpoints that both have been
    /// told.
    pub(super) fn review_reaches(&mut self, ctx: &mut Context<'_>, numbers: impl Iterator<Item = (NodeId, u64)>) {
        if self.nodes.len() < 2 {
            return;
        }
        let mut newest: BTreeMap<NodeId, u64> = BTreeMap::new();
        for (node, number) in numbers {
            let newest = newest.entry(node).or_default();
            *newest = number.max(*newest);
        }
        let newest = |node: &NodeId| newest.get(node).copied().unwrap_or(0);
        for from in self.nodes.keys() {
            for to in self.nodes.keys().filter(|to| *to != from) {
                let number = newest(from).max(newest(to));
                let told = self.reaches.entry((*from, *to)).or_default();
                if number > *told {
                    *told = number;
                    ctx.command(*from, Command::SetReach { node: *to, number });
                }
            }
        }
    }

    /// How many participants a node knows on other nodes.
    pub(super) fn known_at(&self, node: NodeId) -> usize {
        self.nodes.get(&node).map_or(0, BTreeMap::len)
    }

    /// Whether messages go from the first node to the second one.
    pub(super) fn has(&self, pair: (NodeId, NodeId)) -> bool {
        self.reaches.contains_key(&pair)
    }

    /// The nodes whose messages go to a node.
    pub(super) fn sources(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let to_it = self.reaches.keys().filter(move |(_, to)| *to == node);
        to_it.map(|(from, _)| *from)
    }

    /// Tells a node again what it should know.
    pub(super) fn repeat(&self, ctx: &mut Context<'_>, node: NodeId) {
        for endpoint in self.nodes.get(&node).into_iter().flat_map(BTreeMap::values) {
            ctx.command(node, Command::SetDistantEndpoint(Box::new(endpoint.clone())));
        }
        for ((_, to), number) in self.reaches.iter().filter(|((from, _), _)| *from == node) {
            let (node_to, number) = (*to, *number);
            ctx.command(node, Command::SetReach { node: node_to, number });
        }
    }
}

fn tell(
    ctx: &mut Context<'_>,
    node: NodeId,
    known: &mut BTreeMap<TransportId, DistantEndpoint>,
    endpoint: DistantEndpoint,
) {
    if known.get(&endpoint.transport) != Some(&endpoint) {
        ctx.command(node, Command::SetDistantEndpoint(Box::new(endpoint.clone())));
        known.insert(endpoint.transport, endpoint);
    }
}
