//! The endpoints that nodes have been told, by which they pass on messages of their participants
//! without this controller.

use std::collections::{BTreeMap, BTreeSet};

use southbound::{Command, DistantEndpoint, Linked, MessageEndpoint, NodeId, TransportId};

use super::Arrived;
use super::links::NodeLinks;
use super::routes::{Routes, TrackPlaces};
use super::tracks::DataTracks;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::own_data::{EndpointPlace, message_rights};
use crate::participant::Participant;
use crate::room::roster::Roster;

/// The numbers that a new owner leaves out. The owner before it may have given them to endpoints
/// that were not saved.
const NUMBERS_SKIPPED: u64 = 1 << 16;

/// The endpoints of a room that its nodes have.
#[derive(Debug, Default)]
pub(in crate::room) struct Endpoints {
    told: BTreeMap<ParticipantKey, NodeEndpoint>,
    nodes: BTreeMap<NodeId, AtNode>,
    /// The data tracks that nodes have.
    routes: Routes,
    last_number: u64,
    links: NodeLinks,
}

#[derive(Debug)]
struct NodeEndpoint {
    node: NodeId,
    endpoint: MessageEndpoint,
}

#[derive(Debug, Default)]
struct AtNode {
    endpoints: usize,
    /// Whether it was told that there is somebody elsewhere.
    elsewhere: Option<bool>,
}

impl Endpoints {
    /// Leaves out the numbers that an owner before this one may have given.
    pub(in crate::room) fn restore<'a>(&mut self, places: impl Iterator<Item = &'a EndpointPlace>) {
        let last = places.map(|place| place.number).max();
        self.last_number = last.map_or(0, |last| last.saturating_add(NUMBERS_SKIPPED));
    }

    /// Whether the node of a message's sender has passed it on to a participant.
    pub(super) fn has(&self, participant: &Participant, arrived: &Arrived) -> bool {
        let told = self.told.get(&participant.key);
        let Linked { nodes, failed } = &arrived.linked;
        if let Some(failed) = failed {
            let misses = |told: &NodeEndpoint| told.node == failed.node && told.endpoint.number <= failed.number;
            return !told.is_some_and(misses);
        }
        let Some(told) = told else { return false };
        let upto = match told.node == arrived.message.node {
            true => arrived.passed_on,
            false => nodes.iter().find(|(node, _)| *node == told.node).map(|(_, upto)| *upto),
        };
        upto.is_some_and(|upto| told.endpoint.number <= upto)
    }

    /// A node takes nothing more from a link that has failed this message: it gets the message
    /// from here.
    pub(super) fn end_series(&self, ctx: &mut Context<'_>, arrived: &Arrived) {
        if let Some(failed) = arrived.linked.failed {
            let source = Command::SetSource {
                node: arrived.message.node,
                series: failed.series,
                number: 0,
            };
            self.tell_source(ctx, failed.node, source);
        }
    }

    /// A node is told that what came from another one has been passed on.
    pub(super) fn tell_source(&self, ctx: &mut Context<'_>, node: NodeId, source: Command) {
        if self.nodes.contains_key(&node) {
            ctx.command(node, source);
        }
    }

    /// Sends somebody a message that it has missed, if its sender is at the node that has said so.
    pub(super) fn send_missed(&self, ctx: &mut Context<'_>, sender: (NodeId, &str), to: TransportId, missed: Command) {
        let (node, sid) = sender;
        let mut told = self.told.values();
        let is_sender = |told: &NodeEndpoint| told.node == node && *told.endpoint.sid == *sid;
        let receiver = self.told.values().find(|told| told.endpoint.transport == to);
        if let Some(receiver) = receiver.filter(|_| told.any(is_sender)) {
            ctx.command(receiver.node, missed);
        }
    }

    /// Whether messages go from one node to another without this controller.
    pub(super) fn is_linked(&self, from: Option<NodeId>, to: Option<NodeId>) -> bool {
        from.zip(to).is_some_and(|pair| self.links.has(pair))
    }

    /// The nodes whose messages go to a node without this controller.
    pub(super) fn linked_to(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.links.sources(node)
    }

    /// The node at which a participant has an endpoint.
    pub(super) fn node_of(&self, key: ParticipantKey) -> Option<NodeId> {
        self.told.get(&key).map(|told| told.node)
    }

    /// Tells nodes what has changed.
    pub(in crate::room) fn settle(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, tracks: &mut DataTracks) {
        let changed = roster.take_changed();
        let mut changed_tracks = tracks.take_changed();
        if changed.is_empty() && changed_tracks.is_empty() {
            return;
        }
        let mut changed_endpoints = Vec::new();
        for key in changed {
            let before = self.told.get(&key).map(|told| told.endpoint.transport);
            if self.review(ctx, roster, key) {
                changed_endpoints.push((key, before));
                let own = roster.get(key).map(|participant| &participant.data.tracks);
                let published = own
                    .iter()
                    .flat_map(|own| own.published.values())
                    .map(|(handle, _)| handle);
                let received = own.iter().flat_map(|own| own.received());
                changed_tracks.extend(published.chain(received).copied());
            }
        }
        self.nodes.retain(|_, at| at.endpoints > 0);
        if !changed_endpoints.is_empty() && self.review_links(ctx, &changed_endpoints) {
            changed_tracks.extend(tracks.handles());
        }
        for handle in changed_tracks {
            self.review_track(ctx, roster, tracks, handle);
        }
        self.review_elsewhere(ctx, roster);
    }

    /// Tells nodes what has changed about participants on other nodes. Returns whether there are
    /// links between other nodes than before.
    fn review_links(&mut self, ctx: &mut Context<'_>, changed: &[(ParticipantKey, Option<TransportId>)]) -> bool {
        let with_links = self.nodes.keys().filter(|node| ctx.core.nodes.has_links(**node));
        let with_links: BTreeSet<_> = with_links.copied().collect();
        let is_other = !self.links.are_between(&with_links);
        let added = self.links.set_nodes(ctx, &with_links);
        for (key, before) in changed {
            let now = self.told.get(key).map(NodeEndpoint::distant);
            self.links.change(ctx, *before, now);
        }
        for node in added {
            let all = self.told.values().map(NodeEndpoint::distant);
            self.links.tell_all(ctx, node, all);
        }
        let numbers = self.told.values().map(|told| (told.node, told.endpoint.number));
        self.links.review_reaches(ctx, numbers);
        is_other
    }

    /// Returns whether the endpoint of a participant is another one.
    fn review(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) -> bool {
        let participant = roster.get_mut(key);
        let wanted = participant.and_then(|participant| wanted(ctx, participant, &mut self.last_number));
        let told = self.told.get(&key);
        let is_same = match (&wanted, told) {
            (Some((node, endpoint)), Some(told)) => *node == told.node && *endpoint == told.endpoint,
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return false;
        }
        let before = self.told.remove(&key);
        if let Some(told) = &before {
            self.nodes.entry(told.node).or_default().endpoints -= 1;
            let transport = told.endpoint.transport;
            let is_replaced = wanted
                .as_ref()
                .is_some_and(|(node, endpoint)| *node == told.node && endpoint.transport == transport);
            if !is_replaced {
                ctx.command(told.node, Command::RemoveEndpoint { transport });
            }
        }
        if let Some((node, endpoint)) = wanted {
            ctx.command(node, Command::SetEndpoint(Box::new(endpoint.clone())));
            self.nodes.entry(node).or_default().endpoints += 1;
            self.told.insert(key, NodeEndpoint { node, endpoint });
        }
        true
    }

    fn review_track(&mut self, ctx: &mut Context<'_>, roster: &Roster, tracks: &DataTracks, sent_as: u16) {
        let places = self.track_places(ctx, roster, tracks, sent_as);
        self.routes.set(ctx, sent_as, places);
    }

    fn track_places(
        &self,
        ctx: &Context<'_>,
        roster: &Roster,
        tracks: &DataTracks,
        sent_as: u16,
    ) -> Option<TrackPlaces> {
        let (publisher, receivers) = tracks.route(sent_as)?;
        let NodeEndpoint { node, endpoint } = self.told.get(&publisher)?;
        let published = &roster.get(publisher)?.data.tracks.published;
        let (handle, _) = published.iter().find(|(_, (handle, _))| *handle == sent_as)?;
        let mut places = TrackPlaces::new(*node, (endpoint, *handle), sent_as);
        for receiver in receivers {
            match self.told.get(receiver) {
                Some(told) if told.node == *node || self.links_tracks(ctx, (*node, told.node)) => {
                    places.add(told.node, told.endpoint.transport);
                }
                _ => places.set_elsewhere(),
            }
        }
        Some(places)
    }

    /// Whether packets of data tracks go from one node to another over a link.
    fn links_tracks(&self, ctx: &Context<'_>, (from, to): (NodeId, NodeId)) -> bool {
        let nodes = &ctx.core.nodes;
        self.links.has((from, to)) && nodes.links_tracks(from) && nodes.links_tracks(to)
    }

    fn review_elsewhere(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        for (node, at) in &mut self.nodes {
            let elsewhere = roster.len() > at.endpoints + self.links.known_at(*node);
            if at.elsewhere != Some(elsewhere) {
                at.elsewhere = Some(elsewhere);
                ctx.command(*node, Command::SetElsewhere { elsewhere });
            }
        }
    }

    /// Tells a node again what it should have.
    pub(in crate::room) fn repeat(&self, ctx: &mut Context<'_>, node: NodeId) {
        for told in self.told.values().filter(|told| told.node == node) {
            ctx.command(node, Command::SetEndpoint(Box::new(told.endpoint.clone())));
        }
        self.links.repeat(ctx, node);
        self.routes.repeat(ctx, node);
        let elsewhere = self.nodes.get(&node).and_then(|at| at.elsewhere);
        if let Some(elsewhere) = elsewhere {
            ctx.command(node, Command::SetElsewhere { elsewhere });
        }
    }
}

impl NodeEndpoint {
    /// The endpoint, as other nodes know it.
    fn distant(&self) -> DistantEndpoint {
        DistantEndpoint {
            node: self.node,
            transport: self.endpoint.transport,
            identity: self.endpoint.identity.clone(),
            sid: self.endpoint.sid.clone(),
            number: self.endpoint.number,
        }
    }
}

/// The endpoint that a participant should have.
fn wanted(
    ctx: &Context<'_>,
    participant: &mut Participant,
    last_number: &mut u64,
) -> Option<(NodeId, MessageEndpoint)> {
    let node = participant.media.node;
    if !ctx.core.nodes.passes_messages_on(node) {
        return None;
    }
    let transport = participant.media.downlink()?.transport;
    let publisher = participant.media.publisher.as_ref();
    let uplink = publisher
        .map(|peer| peer.transport)
        .filter(|uplink| *uplink != transport);
    let place = &mut participant.data.endpoint;
    if TransportId(place.transport) != transport || place.number == 0 {
        *last_number += 1;
        *place = EndpointPlace {
            transport: transport.0,
            number: *last_number,
        };
    }
    let endpoint = MessageEndpoint {
        transport,
        uplink,
        identity: participant.profile.identity.as_str().into(),
        sid: participant.profile.sid.as_str().into(),
        rights: message_rights(&participant.authorization.permission),
        // The node counts on from here.
        last_sequence: participant.data.packets.last_sequence,
        number: participant.data.endpoint.number,
    };
    Some((node, endpoint))
}
