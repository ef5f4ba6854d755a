//! Rooms of a controller that dies, and of the one that goes on with them.

use std::time::{Duration, Instant};

use cluster::Input;
use nix::time::{ClockId, clock_gettime};
use southbound::NodeId;

use crate::client::Offers;
use crate::machine::{Machine, Outside};

/// As many as keep each below the transports that a node may have.
const NODES: u64 = 4;

/// The numbers of both controllers.
const FIRST: u32 = 1;
const SECOND: u32 = 2;

/// The call, and both controllers.
pub(crate) struct World {
    rooms: usize,
    people: usize,
    outside: Outside,
    first: Machine,
    second: Option<Machine>,
    filled: String,
}

/// The time of a clock on the wall, and that in which this thread had a processor.
struct Stopwatch(Instant, Duration);

impl Stopwatch {
    fn start() -> Self {
        Self(Instant::now(), busy())
    }

    fn read(&self) -> String {
        let (wall, busy) = (self.0.elapsed().as_secs_f64(), (busy() - self.1).as_secs_f64());
        format!("{wall:.2} s, {busy:.2} s of it on a processor")
    }
}

fn busy() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

impl World {
    /// A controller with these rooms, each of these people.
    pub(crate) fn new(rooms: usize, people: usize) -> Self {
        let watch = Stopwatch::start();
        let mut outside = Outside {
            nodes: (1..=NODES).map(|node| (NodeId(node), Default::default())).collect(),
            ..Outside::default()
        };
        let mut first = Machine::new(FIRST, &mut outside);
        let offers = Offers::new(people);
        for room in 0..rooms {
            first.fill(&mut outside, &format!("room-{room:05}"), people, &offers);
        }
        first.save_all(&mut outside);
        let population = first.rooms.population();
        assert_eq!((population.rooms, population.participants), (rooms, rooms * people));
        Self {
            rooms,
            people,
            outside,
            first,
            second: None,
            filled: watch.read(),
        }
    }

    /// The size of what there is.
    pub(crate) fn filled(&self) -> String {
        let population = self.first.rooms.population();
        let bytes: usize = self.outside.nodes.values().map(|node| node.part_bytes()).sum();
        let commands: usize = self.outside.nodes.values().map(|node| node.commands).sum();
        format!(
            "{} rooms of {}: {} tracks, {} subscriptions, made in {}\n\
             snapshots: {:.1} MB, {} bytes for a room, {} for a participant; {} commands before",
            self.rooms,
            self.people,
            population.publications,
            population.subscriptions,
            self.filled,
            bytes as f64 / 1e6,
            bytes / self.rooms,
            bytes / (self.rooms * self.people),
            commands
        )
    }

    /// The first controller is dead, and a client of one room has noticed.
    pub(crate) fn adopt(&mut self) -> String {
        let before = self.first.rooms.population();
        let mut second = Machine::new(SECOND, &mut self.outside);
        second.meet(&mut self.outside, FIRST);
        for node in self.outside.nodes.values_mut() {
            node.forget_counts();
        }
        self.outside.store.requests = 0;
        let (begun, watch) = (Instant::now(), Stopwatch::start());
        while second.adopted < self.rooms {
            let address = format!("{FIRST}:1");
            second.input(&mut self.outside, Input::Suspect { address });
        }
        let text = watch.read();
        assert_eq!(second.rooms.population(), before);
        assert_eq!(second.adopted, self.rooms);
        let last = second.last.map_or(0.0, |last| (last - begun).as_secs_f64());
        let nodes = || self.outside.nodes.values();
        let commands: usize = nodes().map(|node| node.commands).sum();
        let messages: usize = nodes().map(|node| node.messages).sum();
        let text = format!(
            "adoption: {text}; the last room is served after {last:.2} s\n\
             that is {:.0} µs for a room; {} requests to the store, {messages} messages to nodes, {commands} of \
             them commands",
            last * 1e6 / self.rooms as f64,
            self.outside.store.requests
        );
        self.second = Some(second);
        text
    }

    /// The parts that are saved again after the adoption.
    pub(crate) fn saved(&mut self) -> String {
        for node in self.outside.nodes.values_mut() {
            node.forget_counts();
        }
        let second = self.second.as_mut().expect("the rooms were adopted");
        let watch = Stopwatch::start();
        second.save_all(&mut self.outside);
        let saved: usize = self.outside.nodes.values().map(|node| node.saved).sum();
        let bytes: usize = self.outside.nodes.values().map(|node| node.saved_bytes).sum();
        format!("saved afterwards: {saved} parts, {bytes} bytes; {}", watch.read())
    }

    /// A node is connected again, with nothing changed.
    pub(crate) fn reconnect(&mut self) -> String {
        for node in self.outside.nodes.values_mut() {
            node.forget_counts();
        }
        let second = self.second.as_mut().expect("the rooms were adopted");
        let watch = Stopwatch::start();
        for node in 1..=NODES {
            second.reconnect(&mut self.outside, NodeId(node));
        }
        let text = watch.read();
        let messages: usize = self.outside.nodes.values().map(|node| node.messages).sum();
        format!("all nodes connect again: {messages} messages to them; {text}")
    }
}
