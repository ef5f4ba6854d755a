//! The data tracks that nodes have been told, at the node of their publisher and at those of
//! receivers.

use std::collections::BTreeMap;
use std::sync::Arc;

use southbound::{Command, DataTrackRoute, DistantTrack, MessageEndpoint, NodeId, TransportId};

use crate::context::Context;

/// All data tracks that nodes have, by the handles that receivers know.
#[derive(Debug, Default)]
pub(super) struct Routes(BTreeMap<u16, TrackPlaces>);

/// One data track at all nodes that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrackPlaces {
    node: NodeId,
    route: DataTrackRoute,
    /// At the nodes that its packets go to over links.
    distant: BTreeMap<NodeId, DistantTrack>,
    /// The id of its publisher's stay.
    sender: Arc<str>,
}

impl TrackPlaces {
    /// A track without receivers, at the node and the endpoint of its publisher.
    pub(super) fn new(node: NodeId, (sender, handle): (&MessageEndpoint, u16), sent_as: u16) -> Self {
        let route = DataTrackRoute {
            endpoint: sender.transport,
            handle,
            sent_as,
            receivers: Vec::new(),
            elsewhere: false,
            nodes: Vec::new(),
        };
        Self {
            node,
            route,
            distant: BTreeMap::new(),
            sender: sender.sid.clone(),
        }
    }

    /// Adds a receiver at the same node, or at one behind a link.
    pub(super) fn add(&mut self, node: NodeId, receiver: TransportId) {
        if node == self.node {
            return self.route.receivers.push(receiver);
        }
        let distant = self.distant.entry(node).or_insert_with(|| {
            self.route.nodes.push(node);
            DistantTrack {
                sender: self.sender.clone(),
                handle: self.route.sent_as,
                receivers: Vec::new(),
            }
        });
        distant.receivers.push(receiver);
    }

    /// The controller serves some of its receivers.
    pub(super) fn set_elsewhere(&mut self) {
        self.route.elsewhere = true;
    }

    /// Whether it is the same track at the node of its publisher.
    fn is_named_as(&self, other: &Self) -> bool {
        let name = |places: &Self| (places.node, places.route.endpoint, places.route.handle);
        name(self) == name(other)
    }
}

impl Routes {
    /// Tells nodes what has changed about a track.
    pub(super) fn set(&mut self, ctx: &mut Context<'_>, sent_as: u16, wanted: Option<TrackPlaces>) {
        let told = self.0.remove(&sent_as);
        if let Some(told) = &told {
            if !wanted.as_ref().is_some_and(|wanted| wanted.is_named_as(told)) {
                let (endpoint, handle) = (told.route.endpoint, told.route.handle);
                ctx.command(told.node, Command::RemoveDataTrack { endpoint, handle });
            }
            let is_wanted = |node| wanted.as_ref().is_some_and(|wanted| wanted.distant.contains_key(node));
            for node in told.distant.keys().filter(|node| !is_wanted(node)) {
                ctx.command(*node, Command::RemoveDistantTrack { handle: sent_as });
            }
        }
        let Some(wanted) = wanted else { return };
        // Its receivers are known before packets come.
        for (node, track) in &wanted.distant {
            if told.as_ref().and_then(|told| told.distant.get(node)) != Some(track) {
                ctx.command(*node, Command::SetDistantTrack(Box::new(track.clone())));
            }
        }
        let is_same = |told: &TrackPlaces| told.node == wanted.node && told.route == wanted.route;
        if !told.as_ref().is_some_and(is_same) {
            ctx.command(wanted.node, Command::SetDataTrack(Box::new(wanted.route.clone())));
        }
        self.0.insert(sent_as, wanted);
    }

    /// Tells a node again what it should know.
    pub(super) fn repeat(&self, ctx: &mut Context<'_>, node: NodeId) {
        for places in self.0.values() {
            if places.node == node {
                ctx.command(node, Command::SetDataTrack(Box::new(places.route.clone())));
            }
            if let Some(track) = places.distant.get(&node) {
                ctx.command(node, Command::SetDistantTrack(Box::new(track.clone())));
            }
        }
    }
}
