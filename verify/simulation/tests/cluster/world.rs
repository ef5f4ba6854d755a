//! Everything together, in virtual time.

mod actions;
mod checks;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::{
    Input, MediaRecord, MemberChange, NodeEvent, RequestId, StoreAnswer, StoreOperation, media_key, room_key,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use southbound::{ControllerId, NodeId, RoomMessage};

use crate::node::Node;
use crate::process::{Answer, Clock, Effect, LEASE, Process, part_of};
use crate::store::Store;

const CONTROLLERS: usize = 3;
const NODES: usize = 3;
const ROOMS: usize = 4;
/// How long things go wrong, and how long they go well afterwards.
const TROUBLE: Duration = Duration::from_secs(60);
const PEACE: Duration = Duration::from_secs(30);
/// A connection that says nothing for this long is lost.
const KEEP_ALIVE: Duration = Duration::from_secs(3);
/// The store's answers to a request take no longer, or are none.
const STORE_MAX: Duration = Duration::from_secs(2);

/// A rule that is left out, to see that the checks notice it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NodeIgnoresEpochs,
    NodeIgnoresOwners,
    EpochsOfTheStoreOnly,
    SuccessorsIgnored,
    ClaimsUnannounced,
}

/// Something on its way. The number is that of the process or connection that it belongs to.
enum Event {
    ToStore(usize, u64, RequestId, StoreOperation),
    FromStore(usize, u64, RequestId, StoreAnswer),
    ToNode(usize, usize, u64, RoomMessage),
    FromNode(usize, usize, u64, NodeEvent),
    Connect(usize, u64, usize),
    Member(usize, u64, MemberChange),
    Do(usize),
}

/// A connection of a controller and a node.
#[derive(Clone, Copy, Default)]
struct Link {
    /// Another one after each loss; 0 while there is none.
    number: u64,
    is_cut: bool,
    /// Nothing overtakes what was sent before.
    last: [Option<Instant>; 2],
    is_wanted: bool,
}

/// Everything that there is.
pub(crate) struct World {
    rng: StdRng,
    now: Instant,
    start: Instant,
    fault: Option<Fault>,
    store: Store,
    nodes: Vec<Node>,
    processes: Vec<Option<Process>>,
    /// Which start of a process it is.
    starts: Vec<u64>,
    store_cut: Vec<bool>,
    /// Processes whose watch has not told them of the last change.
    untold: Vec<bool>,
    links: BTreeMap<(usize, usize), Link>,
    queue: BTreeMap<(Instant, u64), Event>,
    count: u64,
    rooms: Vec<Arc<str>>,
    is_peace: bool,
}

impl World {
    pub(crate) fn new(seed: u64, fault: Option<Fault>) -> Self {
        let start = Instant::now();
        let mut world = Self {
            rng: StdRng::seed_from_u64(seed),
            now: start,
            start,
            fault,
            store: Store::new(LEASE),
            nodes: (0..NODES).map(|_| Node::new(fault)).collect(),
            processes: (0..CONTROLLERS).map(|_| None).collect(),
            starts: vec![0; CONTROLLERS],
            store_cut: vec![false; CONTROLLERS],
            untold: vec![true; CONTROLLERS],
            links: BTreeMap::new(),
            queue: BTreeMap::new(),
            count: 0,
            rooms: (0..ROOMS).map(|room| format!("room {room}").into()).collect(),
            is_peace: false,
        };
        for node in 0..NODES {
            let record = MediaRecord {
                address: format!("node {node}"),
                ..MediaRecord::default()
            };
            let value = serde_json::to_vec(&record).expect("a record can be written");
            world.store.keep_media(media_key(id(node)), value);
        }
        for process in 0..CONTROLLERS {
            world.start(process);
        }
        world
    }

    /// Runs the whole history.
    ///
    /// Errors: what is wrong.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let mut at = self.now;
        while at < self.start + TROUBLE {
            at += Duration::from_millis(self.rng.random_range(5..400));
            let what = self.rng.random_range(0..100);
            self.push(at, Event::Do(what));
        }
        self.advance(self.start + TROUBLE)?;
        self.make_peace();
        self.advance(self.now + PEACE)?;
        // The first message to a node may show that it has another owner. Then clients come again.
        for _ in 0..2 {
            self.open_everywhere()?;
            for room in self.rooms.clone() {
                (0..NODES).for_each(|node| self.change(&room, node));
            }
        }
        self.open_everywhere()?;
        self.advance(self.now + Duration::from_secs(2))?;
        self.check()?;
        self.succeed()
    }

    fn advance(&mut self, end: Instant) -> Result<(), String> {
        loop {
            let timers = self.processes.iter().enumerate();
            let timers = timers.filter_map(|(at, process)| Some((process.as_ref()?.due()?, at)));
            let timer = timers.min();
            let event = self.queue.keys().next().copied();
            let next = [timer.map(|(due, _)| due), event.map(|(due, _)| due)];
            let Some(next) = next.into_iter().flatten().min().filter(|next| *next <= end) else {
                self.now = end;
                return Ok(());
            };
            self.now = self.now.max(next);
            self.store.expire(self.now);
            match (timer, event) {
                (Some((due, process)), _) if due == next => {
                    let now = self.now;
                    let found = self.processes[process].as_mut().expect("it has a timer");
                    let effects = found.handle_timeout(now);
                    self.effects(process, effects);
                }
                (_, Some(key)) => {
                    let event = self.queue.remove(&key).expect("it is the first");
                    self.event(event)?;
                }
                _ => {}
            }
            self.tell_members();
        }
    }

    fn event(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::ToStore(process, start, request, operation) => {
                let is_open = self.store.is_reachable && !self.store_cut[process];
                let holder = process + CONTROLLERS * self.starts[process] as usize;
                let answer = match is_open && self.starts[process] == start {
                    true => self.store.answer(self.now, holder, operation),
                    false => StoreAnswer::Failed,
                };
                let is_lost = answer == StoreAnswer::Failed || self.rng.random_range(0..50) == 0 && !self.is_peace;
                let (after, answer) = match is_lost {
                    true => (STORE_MAX, StoreAnswer::Failed),
                    false => (self.delay(), answer),
                };
                self.push(self.now + after, Event::FromStore(process, start, request, answer));
            }
            Event::FromStore(process, start, request, answer) => {
                if self.starts[process] == start {
                    self.input(process, Input::Store { request, answer });
                }
            }
            Event::ToNode(process, node, number, message) => {
                let link = self.link(process, node);
                if link.number != number || link.is_cut {
                    return Ok(());
                }
                // A process that has another start has other connections.
                let Some(from) = self.processes[process].as_ref().map(|process| process.id) else {
                    return Ok(());
                };
                for (to, event) in self.nodes[node].take(from, message)? {
                    let mut found = self.processes.iter();
                    let to = found.position(|found| found.as_ref().is_some_and(|found| found.id == to));
                    let Some(to) = to else { continue };
                    let (at, number) = (self.in_order(to, node, 1), self.link(to, node).number);
                    self.push(at, Event::FromNode(to, node, number, event));
                }
            }
            Event::FromNode(process, node, number, event) => {
                let link = self.link(process, node);
                if link.number != number || link.is_cut && event != NodeEvent::Lost {
                    return Ok(());
                }
                let names_successor = matches!(event, NodeEvent::Refused { .. } | NodeEvent::Rooms { .. });
                if event == NodeEvent::Lost {
                    if let Some(found) = &self.processes[process] {
                        self.nodes[node].disconnect(found.id);
                    }
                    self.link(process, node).number = 0;
                    let start = self.starts[process];
                    self.push(
                        self.now + Duration::from_millis(500),
                        Event::Connect(process, start, node),
                    );
                }
                if !(names_successor && self.fault == Some(Fault::SuccessorsIgnored)) {
                    self.input(process, Input::Node { node: id(node), event });
                }
            }
            Event::Connect(process, start, node) => self.connect(process, start, node),
            Event::Member(process, start, change) => {
                if self.starts[process] == start && self.processes[process].is_some() {
                    self.input(process, Input::Member(change));
                }
            }
            Event::Do(_) if self.is_peace => {}
            Event::Do(what) => self.act(what),
        }
        Ok(())
    }

    fn connect(&mut self, process: usize, start: u64, node: usize) {
        let link = *self.link(process, node);
        if self.starts[process] != start || self.processes[process].is_none() || link.number != 0 || !link.is_wanted {
            return;
        }
        if link.is_cut {
            return self.push(self.now + Duration::from_secs(1), Event::Connect(process, start, node));
        }
        self.count += 1;
        let number = self.count;
        self.link(process, node).number = number;
        let rooms = match self.fault {
            Some(Fault::EpochsOfTheStoreOnly) => Vec::new(),
            _ => self.nodes[node].rooms(),
        };
        if let Some(found) = &self.processes[process] {
            self.nodes[node].connect(found.id);
        }
        let at = self.in_order(process, node, 1);
        self.push(
            at,
            Event::FromNode(process, node, number, NodeEvent::Connected { rooms }),
        );
    }

    fn change(&mut self, room: &Arc<str>, node: usize) {
        self.count += 1;
        let value = self.count;
        for process in 0..CONTROLLERS {
            let is_linked = self.link(process, node).number != 0;
            let Some(found) = &mut self.processes[process] else {
                continue;
            };
            let is_running = found.paused.is_none_or(|paused| paused <= self.now);
            if is_running && is_linked && found.cluster.owns(room) {
                let effects = found.change(room, id(node), value);
                self.effects(process, effects);
            }
        }
    }

    fn input(&mut self, process: usize, input: Input) {
        let now = self.now;
        let Some(found) = &mut self.processes[process] else {
            return;
        };
        if let Some(paused) = found.paused.filter(|paused| *paused > now) {
            // It takes the input when it goes on.
            let start = self.starts[process];
            let event = match input {
                Input::Store { request, answer } => Event::FromStore(process, start, request, answer),
                Input::Member(_) => {
                    // Its watch tells it of the state that there is then.
                    self.untold[process] = true;
                    return;
                }
                Input::Node { node, event } => {
                    let node = node.0 as usize;
                    let number = self.link(process, node).number;
                    Event::FromNode(process, node, number, event)
                }
                _ => return,
            };
            return self.push(paused, event);
        }
        let effects = found.handle(now, input);
        self.effects(process, effects);
    }

    fn effects(&mut self, process: usize, effects: Vec<Effect>) {
        let start = self.starts[process];
        for effect in effects {
            match effect {
                Effect::Store(request, operation) => {
                    let at = self.now + self.delay();
                    self.push(at, Event::ToStore(process, start, request, operation));
                }
                Effect::Connect(node) => {
                    self.link(process, node.0 as usize).is_wanted = true;
                    let at = self.now + self.delay();
                    self.push(at, Event::Connect(process, start, node.0 as usize));
                }
                Effect::Disconnect(node) => self.link(process, node.0 as usize).is_wanted = false,
                Effect::ToNode(node, message) => {
                    let node = node.0 as usize;
                    let number = self.link(process, node).number;
                    let at = self.in_order(process, node, 0);
                    self.push(at, Event::ToNode(process, node, number, message));
                }
            }
        }
    }

    /// Tells watchers what there is, if it has changed since they were told.
    fn tell_members(&mut self) {
        if std::mem::take(&mut self.store.changed) {
            self.untold = vec![true; CONTROLLERS];
        }
        for process in 0..CONTROLLERS {
            let paused = self.processes[process].as_ref().and_then(|found| found.paused);
            let is_running = paused.is_none_or(|paused| paused <= self.now);
            if self.untold[process] && is_running && !self.store_cut[process] && self.store.is_reachable {
                self.untold[process] = false;
                self.tell_all(process);
            }
        }
    }

    fn tell_all(&mut self, process: usize) {
        let start = self.starts[process];
        let puts = self.store.members().map(|(key, value)| MemberChange::Put {
            key: key.clone(),
            value: value.clone(),
        });
        let all = [MemberChange::Reset]
            .into_iter()
            .chain(puts)
            .chain([MemberChange::Complete]);
        let all: Vec<_> = all.collect();
        let at = self.now + Duration::from_millis(5);
        for change in all {
            self.push(at, Event::Member(process, start, change));
        }
    }

    fn link(&mut self, process: usize, node: usize) -> &mut Link {
        self.links.entry((process, node)).or_default()
    }

    /// When a message arrives that is sent now on a connection.
    fn in_order(&mut self, process: usize, node: usize, direction: usize) -> Instant {
        let at = self.now + self.delay();
        let last = &mut self.link(process, node).last[direction];
        let at = last.map_or(at, |last| last.max(at));
        *last = Some(at);
        at
    }

    fn delay(&mut self) -> Duration {
        Duration::from_millis(self.rng.random_range(1..30))
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.queue.insert((at, self.count), event);
    }
}

fn id(node: usize) -> NodeId {
    NodeId(node as u64)
}
