//! A controller process: its part of the cluster, and a stand-in for its rooms.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::{Cluster, Config, ControllerRecord, Input, Output, StoreOperation};
use southbound::{ControllerId, NodeId, RoomContent, RoomMessage};

/// The term of a controller's lease.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// The parts of a room, by name: each is of one node.
pub(crate) type Snapshot = BTreeMap<Arc<str>, Arc<[u8]>>;

/// A clock that runs too fast or too slow, and begins anywhere.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) start: Instant,
    pub(crate) origin: Instant,
    pub(crate) rate: f64,
}

impl Clock {
    pub(crate) fn local(&self, now: Instant) -> Instant {
        self.origin + now.saturating_duration_since(self.start).mul_f64(self.rate)
    }

    /// A moment later at most: it must not be rounded to before it.
    pub(crate) fn global(&self, local: Instant) -> Instant {
        self.start + Duration::from_micros(1) + local.saturating_duration_since(self.origin).mul_f64(1.0 / self.rate)
    }
}

/// An action of a process on the outside.
pub(crate) enum Effect {
    Store(cluster::RequestId, StoreOperation),
    Connect(NodeId),
    Disconnect(NodeId),
    ToNode(NodeId, RoomMessage),
}

/// The last answer about a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Opened,
    Elsewhere(ControllerId),
    Absent,
    Unavailable,
}

/// A controller process that runs.
pub(crate) struct Process {
    pub(crate) id: ControllerId,
    pub(crate) clock: Clock,
    pub(crate) cluster: Cluster,
    pub(crate) rooms: BTreeMap<Arc<str>, Snapshot>,
    pub(crate) answers: BTreeMap<Arc<str>, Answer>,
    /// It does nothing until then.
    pub(crate) paused: Option<Instant>,
}

impl Process {
    pub(crate) fn new(id: ControllerId, clock: Clock, now: Instant) -> Self {
        let config = Config {
            controller: id,
            record: ControllerRecord {
                name: "controller".to_owned(),
                address: format!("{}:7890", id.number()),
                draining: false,
            },
            lease: LEASE,
        };
        Self {
            id,
            cluster: Cluster::new(config, clock.local(now)),
            clock,
            rooms: BTreeMap::new(),
            answers: BTreeMap::new(),
            paused: None,
        }
    }

    pub(crate) fn handle(&mut self, now: Instant, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        self.cluster.handle(self.clock.local(now), input, &mut out);
        self.effects(out)
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        let due = self.cluster.poll_timeout().map(|due| self.clock.global(due));
        due.map(|due| self.paused.map_or(due, |paused| due.max(paused)))
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Vec<Effect> {
        let mut out = Vec::new();
        self.cluster.handle_timeout(self.clock.local(now), &mut out);
        self.effects(out)
    }

    /// Somebody at a node changes something of a room.
    pub(crate) fn change(&mut self, room: &Arc<str>, node: NodeId, value: u64) -> Vec<Effect> {
        let mut out = Vec::new();
        if let Some(parts) = self.rooms.get_mut(room) {
            let (name, blob) = (part_of(node), Arc::from(value.to_be_bytes()));
            parts.insert(name.clone(), Arc::clone(&blob));
            let part = RoomContent::Save { part: name, blob };
            self.cluster.send(room, node, part, &mut out);
        }
        self.effects(out)
    }

    fn effects(&mut self, outputs: Vec<Output>) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut todo: std::collections::VecDeque<_> = outputs.into();
        while let Some(output) = todo.pop_front() {
            let mut more = Vec::new();
            match output {
                Output::Store { request, operation } => effects.push(Effect::Store(request, operation)),
                Output::Connect { node, .. } => effects.push(Effect::Connect(node)),
                Output::Disconnect { node } => effects.push(Effect::Disconnect(node)),
                Output::ToNode { node, message } => effects.push(Effect::ToNode(node, message)),
                Output::Opened { room, parts, nodes, .. } => {
                    self.answers.insert(room.clone(), Answer::Opened);
                    let known = self.rooms.entry(room.clone()).or_default();
                    known.extend(parts.into_iter().map(|(_, part)| (part.name, part.blob)));
                    for node in nodes {
                        self.cluster.send(&room, node, RoomContent::Complete, &mut more);
                    }
                }
                Output::Elsewhere { room, owner, .. } => drop(self.answers.insert(room, Answer::Elsewhere(owner))),
                Output::Absent { room } => drop(self.answers.insert(room, Answer::Absent)),
                Output::Unavailable { room, .. } => drop(self.answers.insert(room, Answer::Unavailable)),
                Output::Lost { room, .. } => drop(self.rooms.remove(&room)),
                Output::Resync { room, node } => {
                    let name = part_of(node);
                    let found = self.rooms.get(&room).and_then(|parts| parts.get(&name)).cloned();
                    if let Some(blob) = found {
                        let part = RoomContent::Save { part: name, blob };
                        self.cluster.send(&room, node, part, &mut more);
                    }
                    self.cluster.send(&room, node, RoomContent::Complete, &mut more);
                }
                Output::KeptPart { room, node, part } => {
                    let is_known = self
                        .rooms
                        .get(&room)
                        .is_some_and(|parts| parts.contains_key(&part.name));
                    if !is_known {
                        let forget = RoomContent::Forget { part: part.name };
                        self.cluster.send(&room, node, forget, &mut more);
                    }
                }
                Output::Event(_) => {}
            }
            for output in more.into_iter().rev() {
                todo.push_front(output);
            }
        }
        effects
    }
}

pub(crate) fn part_of(node: NodeId) -> Arc<str> {
    format!("at {}", node.0).into()
}
