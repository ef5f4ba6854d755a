//! The participants of a room on other nodes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use southbound::{DistantEndpoint, DistantTrack, LinkedMessage, NodeId, SignedMessage, TransportId};

use super::links::outgoing::Outgoing;
use crate::limits::{DISTANT_DEPARTED_MAX, DISTANT_ENDPOINTS_MAX, DISTANT_TRACKS_MAX};

/// All of them, and the numbers up to which messages are sent to their nodes.
#[derive(Debug, Default)]
pub(super) struct Distant {
    all: BTreeMap<TransportId, Entry>,
    by_identity: BTreeMap<Arc<str>, TransportId>,
    by_sid: BTreeMap<Arc<str>, TransportId>,
    reaches: BTreeMap<NodeId, Reach>,
    /// The data tracks whose packets come over links, by the handles that receivers know.
    tracks: BTreeMap<u16, TrackEntry>,
    /// Those who left last, by the ids of their stays.
    departed: VecDeque<(Arc<str>, NodeId)>,
    /// Counts claims of the room, as belongings do.
    claim: u64,
}

#[derive(Debug)]
struct Entry {
    endpoint: DistantEndpoint,
    claim: u64,
}

#[derive(Debug)]
struct TrackEntry {
    track: DistantTrack,
    claim: u64,
}

#[derive(Clone, Copy, Debug)]
struct Reach {
    number: u64,
    claim: u64,
}

/// The nodes that one sender's messages go to over links now, each with its number.
pub(super) type Reached = BTreeMap<NodeId, u64>;

impl Distant {
    /// Everything is going to be said again.
    pub(super) fn begin(&mut self) {
        self.claim += 1;
    }

    /// Returns false if there are as many as there may be.
    pub(super) fn set(&mut self, endpoint: DistantEndpoint) -> bool {
        let transport = endpoint.transport;
        if self.all.len() >= DISTANT_ENDPOINTS_MAX && !self.all.contains_key(&transport) {
            return false;
        }
        self.take(transport);
        self.by_identity.insert(endpoint.identity.clone(), transport);
        self.by_sid.insert(endpoint.sid.clone(), transport);
        let claim = self.claim;
        self.all.insert(transport, Entry { endpoint, claim });
        true
    }

    pub(super) fn remove(&mut self, transport: TransportId) {
        if let Some(endpoint) = self.take(transport) {
            if self.departed.len() >= DISTANT_DEPARTED_MAX {
                self.departed.pop_front();
            }
            self.departed.push_back((endpoint.sid, endpoint.node));
        }
    }

    fn take(&mut self, transport: TransportId) -> Option<DistantEndpoint> {
        let endpoint = self.all.remove(&transport)?.endpoint;
        for (names, name) in [
            (&mut self.by_identity, &endpoint.identity),
            (&mut self.by_sid, &endpoint.sid),
        ] {
            if names.get(name) == Some(&transport) {
                names.remove(name);
            }
        }
        Some(endpoint)
    }

    /// Sets a data track whose packets come over a link. Returns false if there are as many as may
    /// be.
    pub(super) fn set_track(&mut self, track: DistantTrack) -> bool {
        let handle = track.handle;
        if self.tracks.len() >= DISTANT_TRACKS_MAX && !self.tracks.contains_key(&handle) {
            return false;
        }
        let claim = self.claim;
        self.tracks.insert(handle, TrackEntry { track, claim });
        true
    }

    pub(super) fn remove_track(&mut self, handle: u16) {
        self.tracks.remove(&handle);
    }

    /// The receivers of a packet that came over a link; `None` unless its sender publishes the
    /// track.
    pub(super) fn track_receivers(&self, linked: &LinkedMessage) -> Option<&[TransportId]> {
        let track = &self.tracks.get(&linked.track?)?.track;
        (track.sender == linked.sender).then_some(&track.receivers)
    }

    /// Sets the number up to which messages are sent to a node. Returns whether there was one.
    pub(super) fn set_reach(&mut self, node: NodeId, number: u64) -> bool {
        let claim = self.claim;
        let before = match number {
            0 => self.reaches.remove(&node),
            number => self.reaches.insert(node, Reach { number, claim }),
        };
        before.is_some()
    }

    /// The number up to which messages are sent to a node.
    pub(super) fn reach(&self, node: NodeId) -> Option<u64> {
        self.reaches.get(&node).map(|reach| reach.number)
    }

    /// Ends what was not said since the last claim. Returns the nodes that nothing is sent to any
    /// more.
    pub(super) fn end_unsaid(&mut self) -> Vec<NodeId> {
        let claim = self.claim;
        let unsaid = self.all.iter().filter(|(_, entry)| entry.claim < claim);
        for transport in unsaid.map(|(transport, _)| *transport).collect::<Vec<_>>() {
            self.remove(transport);
        }
        self.tracks.retain(|_, entry| entry.claim >= claim);
        let unsaid = self.reaches.extract_if(.., |_, reach| reach.claim < claim);
        unsaid.map(|(node, _)| node).collect()
    }

    /// Ends everything. Returns the nodes that nothing is sent to any more.
    pub(super) fn clear(&mut self) -> Vec<NodeId> {
        let claim = self.claim;
        let before = std::mem::take(self);
        self.claim = claim;
        before.reaches.into_keys().collect()
    }

    /// The nodes that the messages of a sender with this number go to over links.
    pub(super) fn reached(&self, sender: u64, links: &Outgoing) -> Reached {
        let open = self.reaches.iter().filter(|(node, reach)| {
            let is_known_there = sender <= reach.number;
            is_known_there && links.series(**node).is_some()
        });
        open.map(|(node, reach)| (*node, reach.number)).collect()
    }

    /// The nodes that have receivers of a message.
    pub(super) fn nodes_for(&self, message: &SignedMessage, reached: &Reached) -> Vec<(NodeId, u64)> {
        let named = |(node, _): &(NodeId, u64)| match message.is_for_all() {
            true => self.all.values().any(|entry| entry.endpoint.node == *node),
            false => self.named(message).any(|endpoint| endpoint.node == *node),
        };
        let reached = reached.iter().map(|(node, number)| (*node, *number));
        reached.filter(named).collect()
    }

    fn named(&self, message: &SignedMessage) -> impl Iterator<Item = &DistantEndpoint> {
        let by_identity = message.identities.iter().map(|name| self.by_identity.get(&**name));
        let by_sid = message.sids.iter().map(|sid| self.by_sid.get(&**sid));
        let named = by_identity.chain(by_sid).flatten();
        named.filter_map(|transport| Some(&self.all.get(transport)?.endpoint))
    }

    /// Whether messages for somebody go over a link.
    pub(super) fn reaches_identity(&self, identity: &str, reached: &Reached) -> bool {
        let transport = self.by_identity.get(identity);
        transport.is_some_and(|transport| self.is_reached(*transport, reached))
    }

    /// The same of somebody by the id of the stay.
    pub(super) fn reaches_sid(&self, sid: &str, reached: &Reached) -> bool {
        let transport = self.by_sid.get(sid);
        transport.is_some_and(|transport| self.is_reached(*transport, reached))
    }

    /// Whether messages for all of them go over links.
    pub(super) fn reaches_all(&self, reached: &Reached) -> bool {
        self.all.keys().all(|transport| self.is_reached(*transport, reached))
    }

    fn is_reached(&self, transport: TransportId, reached: &Reached) -> bool {
        let endpoint = self.all.get(&transport).map(|entry| &entry.endpoint);
        endpoint.is_some_and(|endpoint| {
            let number = reached.get(&endpoint.node);
            number.is_some_and(|number| endpoint.number <= *number)
        })
    }

    pub(super) fn get(&self, transport: TransportId) -> Option<&DistantEndpoint> {
        self.all.get(&transport).map(|entry| &entry.endpoint)
    }

    /// Whether somebody is on a node, or has just left it.
    pub(super) fn is_on(&self, sid: &str, node: NodeId) -> bool {
        let transport = self.by_sid.get(sid);
        let entry = transport.and_then(|transport| self.all.get(transport));
        let mut departed = self.departed.iter();
        entry.is_some_and(|entry| entry.endpoint.node == node)
            || departed.any(|(departed, at)| **departed == *sid && *at == node)
    }
}
