//! The rooms of this controller among those of the others.
//!
//! A [`Coordinator`] stands between the controller of rooms and the cluster: it does what
//! [`cluster::Cluster`] says with the store and the media nodes, hands rooms over in both
//! directions, and answers where rooms are.

mod admission;
mod handover;
mod history;
mod keepsakes;
mod node_connections;
mod node_events;
mod overview;
mod questions;
mod store_client;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::handover::Snapshots;
use cluster::seal::Sealer;
use cluster::{Cluster, ControllerRecord, Input, MemberChange, Output, RequestId, StoreAnswer};
use controller::{Controller, NodeStanding};
use southbound::{Command, ControllerHello, ControllerId, NodeId, RoomContent, RoomMessage, Versions};
use stores::Store;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::location::Question;
use super::tls::ClusterTls;
use crate::metrics::Metrics;
use history::History;
pub(crate) use keepsakes::KeepsakeNews;
use node_connections::NodeConnections;
pub(crate) use node_connections::NodeUpdate;
use questions::Askers;
use store_client::StoreClient;

/// Events that wait for the controller; then nodes and the store wait.
const EVENTS_MAX: usize = 4_096;

/// Events that are put aside while a node does not take its messages; then they wait as well.
const ASIDE_MAX: usize = 1 << 16;

/// The term of the lease. The records of a controller whose machine vanishes last as long.
const LEASE: Duration = Duration::from_secs(6);

/// How long a node may take no message.
const STUCK_MAX: Duration = Duration::from_secs(2);

/// How long a room may be claimed that nobody creates.
const UNUSED_MAX: Duration = Duration::from_secs(10);

/// A controller in its cluster.
pub(crate) struct Settings {
    /// The id of this controller.
    pub controller: ControllerId,
    /// Its record for the others.
    pub record: ControllerRecord,
    /// The versions of the protocol with media nodes that it speaks.
    pub versions: Versions,
    /// The store that all members share.
    pub store: Arc<dyn Store>,
    /// The certificate by which it reaches nodes.
    pub tls: ClusterTls,
    /// Seals what nodes keep.
    pub sealer: Sealer,
    /// The questions where rooms are.
    pub questions: mpsc::Receiver<Question>,
    /// Counts the rooms that it adopts and loses.
    pub metrics: Metrics,
}

/// One thing that happened in the cluster.
#[derive(Debug)]
pub(crate) enum Event {
    /// The store answers a request.
    Store {
        /// The name of the request.
        request: RequestId,
        /// The answer to it.
        answer: StoreAnswer,
    },
    /// A record of a member changed.
    Member(MemberChange),
    /// Something happened to the connection of a node.
    Node {
        /// The node at the other end.
        node: NodeId,
        /// The number of its connection.
        attempt: u64,
        /// The event of that connection.
        update: NodeUpdate,
    },
    /// Somebody asks where a room is.
    Question(Question),
}

/// The rooms of this controller among those of the others.
pub(crate) struct Coordinator {
    cluster: Cluster,
    store: StoreClient,
    nodes: NodeConnections,
    events: mpsc::Receiver<Event>,
    questions: mpsc::Receiver<Question>,
    /// Events that were taken while a node took no messages.
    aside: VecDeque<Event>,
    /// Messages on their way to nodes.
    outgoing: VecDeque<(NodeId, RoomMessage)>,
    askers: Askers,
    snapshots: Snapshots,
    /// Rooms that are over but for what front ends have to keep.
    ending: BTreeSet<Arc<str>>,
    /// News for front ends about their parts.
    told: Vec<KeepsakeNews>,
    /// Rooms that were claimed and that nobody has created yet.
    unused: BTreeMap<Arc<str>, Instant>,
    controller: ControllerId,
    versions: Versions,
    record: ControllerRecord,
    history: History,
    is_draining: bool,
}

impl Coordinator {
    /// A controller that begins now, and owns nothing.
    pub(crate) fn new(settings: Settings, now: Instant) -> Self {
        let (events, taken) = mpsc::channel(EVENTS_MAX);
        let hello = ControllerHello {
            versions: settings.versions,
            controller: settings.controller,
        };
        let config = cluster::Config {
            controller: settings.controller,
            record: settings.record.clone(),
            lease: LEASE,
        };
        Self {
            cluster: Cluster::new(config, now),
            store: StoreClient::new(settings.store, LEASE, events.clone()),
            nodes: NodeConnections::new(settings.tls, hello, events),
            events: taken,
            questions: settings.questions,
            aside: VecDeque::new(),
            outgoing: VecDeque::new(),
            askers: Askers::default(),
            snapshots: Snapshots::new(settings.sealer),
            ending: BTreeSet::new(),
            told: Vec::new(),
            unused: BTreeMap::new(),
            controller: settings.controller,
            versions: settings.versions,
            record: settings.record,
            history: History::new(settings.metrics),
            is_draining: false,
        }
    }

    /// The next event. Nothing is lost if this is given up.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.aside.pop_front() {
            return Some(event);
        }
        tokio::select! {
            biased;
            event = self.events.recv() => event,
            Some(question) = self.questions.recv() => Some(Event::Question(question)),
        }
    }

    /// Takes an event. Returns what the controller is to be told.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        event: Event,
        rooms: &mut Controller,
        out: &mut Vec<controller::Output>,
    ) -> Option<controller::Input> {
        match event {
            Event::Store { request, answer } => self.input(now, Input::Store { request, answer }, rooms, out),
            Event::Member(change) => {
                self.input(now, Input::Member(change), rooms, out);
                self.note_standings(now, rooms);
            }
            Event::Node { node, attempt, update } => {
                if self.nodes.note(now, node, attempt, &update) {
                    return self.node_update(now, node, update, rooms, out);
                }
            }
            Event::Question(question) => self.question(now, question, rooms, out),
        }
        None
    }

    /// Whether rooms can be claimed.
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        self.cluster.is_ready(now)
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let unused = self.unused.values().min().map(|since| *since + UNUSED_MAX);
        let all = [self.cluster.poll_timeout(), self.snapshots.due(), unused];
        all.into_iter().flatten().min()
    }

    /// Does what has become due.
    pub(crate) fn handle_timeout(&mut self, now: Instant, rooms: &mut Controller, out: &mut Vec<controller::Output>) {
        let mut outputs = Vec::new();
        self.cluster.handle_timeout(now, &mut outputs);
        self.perform(now, outputs, rooms, out);
        if self.snapshots.due().is_some_and(|due| due <= now) {
            self.save_changes(rooms, false);
        }
        let unused = self.unused.iter().filter(|(_, since)| now >= **since + UNUSED_MAX);
        let unused: Vec<_> = unused.map(|(room, _)| room.clone()).collect();
        for room in unused {
            self.unused.remove(&room);
            if !self.snapshots.has_keepsakes(&room) {
                self.input(now, Input::End { room }, rooms, out);
            }
        }
    }

    /// Sends a command for a room to a node.
    pub(crate) fn command(&mut self, node: NodeId, room: Option<Arc<str>>, command: Command) {
        // The node answers for a room that is over.
        if let Some(room) = room {
            self.tell_room(&room, node, RoomContent::Command(command));
        }
    }

    /// The controller has created a room.
    pub(crate) fn room_started(&mut self, room: &str) {
        self.unused.remove(room);
        self.ending.remove(room);
    }

    /// The controller has ended a room. Its nodes are told so when nothing is kept of it any more.
    pub(crate) fn room_finished(&mut self, now: Instant, room: &str) {
        match self.snapshots.has_keepsakes(room) {
            true => drop(self.ending.insert(room.into())),
            false => self.end(now, &room.into()),
        }
    }

    /// The controller has handled something.
    pub(crate) fn settled(&mut self, now: Instant, rooms: &mut Controller) {
        if self.snapshots.due().is_none() && rooms.takeover().has_unsaved() {
            self.snapshots.note_change(now);
        }
    }

    /// Hands messages to the nodes, waiting while one has as many as it takes. The other rooms of
    /// this controller wait as well, so one that takes nothing for a while is connected to again.
    pub(crate) async fn flush(&mut self) {
        while let Some((node, message)) = self.outgoing.pop_front() {
            // A node that is not connected is told everything again when it is.
            let Some(messages) = self.nodes.messages(node) else {
                continue;
            };
            let mut message = Some(message);
            let stuck = tokio::time::Instant::now() + STUCK_MAX;
            while message.is_some() {
                tokio::select! {
                    biased;
                    // An error means that the connection is lost.
                    place = messages.reserve() => if let (Ok(place), Some(message)) = (place, message.take()) {
                        place.send(message);
                    },
                    // Neither waits for the other for ever.
                    Some(event) = self.events.recv(), if self.aside.len() < ASIDE_MAX => self.aside.push_back(event),
                    () = tokio::time::sleep_until(stuck) => {
                        self.nodes.reconnect(node);
                        message = None;
                    }
                }
            }
        }
    }

    /// Takes no new room from now on.
    pub(crate) fn drain(&mut self) {
        self.is_draining = true;
    }

    /// Newcomers are placed by the records of the nodes, and participants leave those that drain.
    fn note_standings(&self, now: Instant, rooms: &mut Controller) {
        for (node, record) in self.cluster.media() {
            let version = self.versions.common(record.versions());
            let standing = NodeStanding {
                load: record.load,
                capacity: record.known_capacity().unwrap_or(u32::MAX),
                draining: record.draining.then(|| Duration::from_secs(record.move_within.into())),
                is_foreign: version.is_none(),
                passes_messages_on: version.is_some_and(|version| version >= Versions::ENDPOINTS),
                has_links: version.is_some_and(|version| version >= Versions::LINKS),
                links_tracks: version.is_some_and(|version| version >= Versions::LINKED_TRACKS),
                takes_moves: version.is_some_and(|version| version >= Versions::MOVES),
                region: record.region.clone(),
            };
            rooms.placement().set_standing(now, node, standing);
        }
    }

    fn input(&mut self, now: Instant, input: Input, rooms: &mut Controller, out: &mut Vec<controller::Output>) {
        let mut outputs = Vec::new();
        self.cluster.handle(now, input, &mut outputs);
        self.perform(now, outputs, rooms, out);
    }

    /// Does what the cluster says. Nothing of it is about a room of the controller.
    fn send(&mut self, outputs: impl IntoIterator<Item = Output>) {
        for output in outputs {
            match output {
                Output::Store { request, operation } => self.store.ask(request, operation),
                Output::ToNode { node, message } => self.outgoing.push_back((node, message)),
                other => debug!(?other, "left alone"),
            }
        }
    }

    /// Does what the cluster says.
    fn perform(
        &mut self,
        now: Instant,
        outputs: Vec<Output>,
        rooms: &mut Controller,
        out: &mut Vec<controller::Output>,
    ) {
        for output in outputs {
            self.history.note(now, &output);
            match output {
                Output::Store { .. } | Output::ToNode { .. } => self.send([output]),
                Output::Connect { node, address } => self.nodes.connect(now, node, address),
                Output::Disconnect { node } => {
                    if self.nodes.retire(node) {
                        let lost = controller::Input::NodeLost { node };
                        rooms.handle(now, lost, out);
                    }
                }
                Output::Opened {
                    room,
                    epoch,
                    parts,
                    nodes,
                    former,
                    begun,
                } => {
                    let is_whole = self.opened(now, &room, &parts, &nodes, rooms, out);
                    self.history.opened(now, (&room, epoch, begun), former, is_whole);
                    self.askers.here(&room);
                }
                Output::Elsewhere { room, address, .. } => self.askers.elsewhere(&room, &address),
                Output::Absent { room } => self.askers.nowhere(&room),
                Output::Unavailable { room, reason } => self.askers.unavailable(&room, reason),
                Output::Lost { room, reason, .. } => {
                    warn!(room = &*room, ?reason, "another controller owns the room");
                    self.snapshots.forget(&room);
                    self.ending.remove(&room);
                    rooms.takeover().release(now, &room, out);
                }
                Output::Resync { room, node } => self.resync(now, &room, node, rooms, out),
                Output::KeptPart { room, node, part } => {
                    if !self.snapshots.has(&room, node, &part.name) {
                        self.tell_room(&room, node, RoomContent::Forget { part: part.name });
                    }
                }
                Output::Event(event) => warn!(?event, "in the cluster"),
            }
        }
    }

    fn tell_room(&mut self, room: &Arc<str>, node: NodeId, content: RoomContent) {
        let mut outputs = Vec::new();
        self.cluster.send(room, node, content, &mut outputs);
        self.send(outputs);
    }
}
