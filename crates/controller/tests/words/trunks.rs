//! One controller, and a room on several nodes.

mod carrying;
mod clear;
mod failing;
mod moving;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use controller::{
    Config, ConnectionId, Counter, Event, Input, Join, MuteTrack, NodeStanding, Notification, Output, PeerMode,
    Request, TrackInfo, TrackSettings,
};
use southbound::{
    CloseReason, Command, ControllerId, Node, NodeId, Notice, OpenDirect, Publication, Subscription, SubscriptionId,
    TrackId, TransportId,
};
use wire::Ssrc;

use crate::world::{World, joining, keys, node};

const NODES: [NodeId; 3] = [NodeId(1), NodeId(2), NodeId(3)];

/// That of a node that takes newcomers, or is full.
fn room_for(newcomers: bool) -> NodeStanding {
    NodeStanding {
        load: u32::from(!newcomers),
        capacity: if newcomers { u32::MAX } else { 1 },
        ..NodeStanding::default()
    }
}

/// The tables of a node, as its agent keeps them.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tables {
    transports: BTreeSet<TransportId>,
    trunks: BTreeMap<TransportId, OpenDirect>,
    publications: BTreeMap<TrackId, Publication>,
    subscriptions: BTreeMap<SubscriptionId, Subscription>,
}

impl Tables {
    fn command(&mut self, command: &Command) {
        match command {
            Command::Open(open) => drop(self.transports.insert(open.transport)),
            Command::OpenDirect(open) => drop(self.trunks.insert(open.transport, (**open).clone())),
            Command::Close { transport } => {
                self.transports.remove(transport);
                self.trunks.remove(transport);
                let over = |publication: &Publication| publication.transport == *transport;
                let gone: Vec<_> = self
                    .publications
                    .values()
                    .filter(|it| over(it))
                    .map(|it| it.track)
                    .collect();
                gone.into_iter().for_each(|track| self.unpublish(track));
                self.subscriptions
                    .retain(|_, subscription| subscription.transport != *transport);
            }
            Command::Publish(publication) => drop(self.publications.insert(publication.track, publication.clone())),
            Command::Unpublish { track } => self.unpublish(*track),
            Command::Subscribe(subscription) => {
                let had = self
                    .subscriptions
                    .insert(subscription.subscription, subscription.clone());
                let is_same = |had: Subscription| {
                    (had.transport, had.track, had.ssrc) == {
                        (subscription.transport, subscription.track, subscription.ssrc)
                    }
                };
                assert!(had.is_none_or(is_same), "a subscription keeps its numbers");
            }
            Command::Unsubscribe { subscription } => drop(self.subscriptions.remove(subscription)),
            _ => {}
        }
    }

    fn unpublish(&mut self, track: TrackId) {
        self.publications.remove(&track);
        self.subscriptions.retain(|_, subscription| subscription.track != track);
    }
}

/// Nodes of one room, and everything that they were told.
struct Cluster {
    world: World,
    tables: BTreeMap<NodeId, Tables>,
    /// The SSRCs that a transport of a node was ever given.
    ssrcs: BTreeMap<(NodeId, TransportId, Ssrc), SubscriptionId>,
    commanded: Vec<(NodeId, Command)>,
    /// The reasons of what was not done as configured.
    reasons: Vec<String>,
    /// Trunks that are sealed although one of their nodes takes one in clear.
    mixed: usize,
}

impl Cluster {
    fn new() -> Self {
        Self::with_clear(&[])
    }

    /// With nodes that take trunks without keys.
    fn with_clear(clear: &[NodeId]) -> Self {
        let mut cluster = Self {
            world: World::new(),
            tables: NODES.map(|node| (node, Tables::default())).into(),
            ssrcs: BTreeMap::new(),
            commanded: Vec::new(),
            reasons: Vec::new(),
            mixed: 0,
        };
        for id in NODES {
            let clear_trunks = clear.contains(&id);
            let node = Node {
                clear_trunks,
                ..node(id)
            };
            cluster.world.notice(id, Notice::Node(node));
        }
        cluster
    }

    /// Somebody joins on a node, with a microphone, and answers what is offered.
    fn join(&mut self, at: NodeId, identity: &str) -> (ConnectionId, TrackInfo) {
        self.join_with(at, joining(identity))
    }

    fn join_with(&mut self, at: NodeId, join: Join) -> (ConnectionId, TrackInfo) {
        for id in NODES {
            self.world
                .controller
                .placement()
                .set_standing(self.world.now, id, room_for(id == at));
        }
        let connection = self.world.join_with(join);
        self.note();
        let track = self.world.publish(connection);
        self.note();
        (connection, track)
    }

    /// Everybody answers what is offered, until nothing is.
    fn answer(&mut self, connections: impl IntoIterator<Item = ConnectionId> + Clone) {
        // One offer may wait for the answer to another one.
        for connection in connections.clone().into_iter().chain(connections) {
            self.world.answer(connection);
            self.note();
        }
    }

    fn input(&mut self, input: Input) {
        self.world.handle(input);
        self.note();
    }

    fn notice(&mut self, node: NodeId, notice: Notice) {
        self.input(Input::Notice { node, notice });
    }

    /// Takes note of the commands of the last input.
    fn note(&mut self) {
        for output in &self.world.out {
            let (node, command) = match output {
                Output::Command { node, command, .. } => (node, command),
                Output::Event(Event::Refused { why }) => {
                    self.reasons.push(why.clone());
                    continue;
                }
                Output::Count(Counter::TrunkMixed) => {
                    self.mixed += 1;
                    continue;
                }
                _ => continue,
            };
            if let Command::Subscribe(subscription) = command {
                let key = (*node, subscription.transport, subscription.ssrc);
                let first = self.ssrcs.entry(key).or_insert(subscription.subscription);
                assert_eq!(
                    *first, subscription.subscription,
                    "an SSRC of a transport has one subscription"
                );
            }
            if let Some(tables) = self.tables.get_mut(node) {
                tables.command(command);
            }
            self.commanded.push((*node, command.clone()));
        }
    }

    fn trunk(&self, at: NodeId, to: NodeId) -> Option<&OpenDirect> {
        let address = node(to).addresses[0];
        self.tables[&at].trunks.values().find(|trunk| trunk.remote == address)
    }

    fn trunks(&self) -> usize {
        self.tables.values().map(|tables| tables.trunks.len()).sum()
    }

    /// Panics unless each subscription has its track at its node, each stream of a trunk has its
    /// other end, and both ends of trunks agree.
    fn check(&self) {
        for (at, tables) in &self.tables {
            for subscription in tables.subscriptions.values() {
                let publication = tables.publications.get(&subscription.track);
                assert!(publication.is_some(), "{at:?} has no track for {subscription:?}");
            }
            for trunk in tables.trunks.values() {
                let to = NODES
                    .into_iter()
                    .find(|id| node(*id).addresses[0] == trunk.remote)
                    .unwrap();
                let other = self.trunk(to, *at).expect("a trunk has two ends");
                match (&trunk.keys, &other.keys) {
                    (Some(ours), Some(theirs)) => {
                        assert_eq!((&ours.ingress, &ours.egress), (&theirs.egress, &theirs.ingress));
                        assert_ne!(ours.ingress, ours.egress);
                    }
                    (None, None) => {}
                    _ => panic!("one end is in clear, and the other is not"),
                }
                assert_eq!(
                    (trunk.rtcp_ssrc_in, trunk.rtcp_ssrc_out),
                    (other.rtcp_ssrc_out, other.rtcp_ssrc_in)
                );
                let sent = tables
                    .subscriptions
                    .values()
                    .filter(|it| it.transport == trunk.transport);
                let sent: BTreeSet<_> = sent.map(|it| (it.track, it.ssrc, it.rtx)).collect();
                let arriving = self.tables[&to].publications.values();
                let arriving = arriving.filter(|it| it.transport == other.transport).flat_map(|it| {
                    let encodings = it.encodings.iter();
                    encodings.map(|encoding| (it.track, encoding.ssrc.unwrap(), encoding.rtx))
                });
                assert_eq!(sent, arriving.collect(), "from {at:?} to {to:?}");
            }
        }
    }

    /// The subscription of somebody at a node to a track.
    fn received(&self, at: NodeId, track: TrackId) -> Vec<SubscriptionId> {
        let tables = &self.tables[&at];
        let by_people = tables
            .subscriptions
            .values()
            .filter(|it| tables.transports.contains(&it.transport));
        by_people
            .filter(|it| it.track == track)
            .map(|it| it.subscription)
            .collect()
    }

    /// The id of the only track that is published at a node by people there.
    fn published(&self, at: NodeId) -> TrackId {
        let tables = &self.tables[&at];
        let by_people = tables
            .publications
            .values()
            .filter(|it| tables.transports.contains(&it.transport));
        let tracks: Vec<_> = by_people.map(|it| it.track).collect();
        assert_eq!(tracks.len(), 1);
        tracks[0]
    }

    /// Ada at the first node and Bob at the second hear each other.
    fn of_two() -> (Self, ConnectionId, ConnectionId) {
        let mut cluster = Self::new();
        let (ada, _) = cluster.join(NODES[0], "ada");
        let (bob, _) = cluster.join(NODES[1], "bob");
        cluster.answer([ada, bob]);
        cluster.check();
        (cluster, ada, bob)
    }
}
