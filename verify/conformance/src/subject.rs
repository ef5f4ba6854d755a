//! A device with its peers: takes steps, and returns the observations of each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use backend_udp::srtp::OpenError;
use dataplane::{Counters, Event, Inject, Path, WriteError};

use crate::event::{flatten, order};
use crate::peers::Opened;
use crate::rtp::hex;
use crate::text::print_datagram;
use crate::{Datagram, Device, Peers, Send, Step};

/// The effects of one step on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The answer to a write.
    pub written: Result<(), WriteError>,
    /// Datagrams of each peer, in order, as it reads them.
    pub got: BTreeMap<Path, Vec<Result<Opened, OpenError>>>,
    /// Events to the agent, one for each packet, sorted by their subject.
    pub events: Vec<Event>,
    /// All counters so far.
    pub counters: Counters,
}

/// A device, its peers and their clock.
pub struct Subject {
    /// The device.
    pub device: Box<dyn Device>,
    peers: Peers,
    now: Instant,
}

impl Subject {
    /// A fresh device whose clock shows `start`.
    pub fn new(device: Box<dyn Device>, start: Instant) -> Self {
        Subject {
            device,
            peers: Peers::default(),
            now: start,
        }
    }

    /// Executes one step and collects its effects.
    pub fn step(&mut self, step: &Step) -> Observation {
        let mut written = Ok(());
        match step {
            Step::Wait(time) => self.wait(*time),
            Step::Write(update) => {
                written = self.device.write(self.now, update.clone());
                if written.is_ok() {
                    self.peers.apply(update);
                }
            }
            Step::Send(send) => {
                let bytes = self.peers.on_the_wire(send);
                self.device.packet(self.now, send.path, &bytes);
            }
            Step::Receive(send) => {
                let (at, path) = (self.now, send.path);
                let bytes = &self.peers.on_the_wire(send);
                self.device.inject(self.now, Inject::Receive { at, path, bytes });
            }
            Step::Inject(injection) => self.device.inject(self.now, injection.as_inject()),
        }
        self.observe(written)
    }

    /// Delivers datagrams together, and collects the effects of all of them.
    pub fn burst<'a>(&mut self, sends: impl Iterator<Item = &'a Send>) -> Observation {
        let sealed = sends.map(|send| Datagram {
            path: send.path,
            bytes: self.peers.on_the_wire(send),
        });
        let datagrams: Vec<Datagram> = sealed.collect();
        self.device.burst(self.now, &datagrams);
        self.observe(Ok(()))
    }

    /// Collects later effects, of a device that takes its time.
    pub fn look_again(&mut self, mut observation: Observation) -> Observation {
        let more = self.observe(observation.written);
        for (path, got) in more.got {
            observation.got.entry(path).or_default().extend(got);
        }
        self.in_order_of_legs(&mut observation.got);
        observation.events.extend(more.events);
        observation.events.sort_by_key(order);
        observation.counters = more.counters;
        observation
    }

    fn wait(&mut self, time: Duration) {
        if !self.device.keeps_virtual_time() {
            std::thread::sleep(time);
        }
        self.now += time;
    }

    /// Only the order within a leg is the contract's, also where legs share a path.
    fn in_order_of_legs(&self, got: &mut BTreeMap<Path, Got>) {
        for (path, got) in got {
            let leg = |bytes: &[u8]| self.peers.legs.of_departure(*path, bytes);
            got.sort_by_key(|opened| opened.as_ref().ok().map(|opened| leg(&opened.bytes)));
        }
    }

    fn observe(&mut self, written: Result<(), WriteError>) -> Observation {
        let mut got: BTreeMap<Path, Vec<_>> = BTreeMap::new();
        let sent = self.device.sent();
        let opened = match self.device.egress_protection() {
            true => self.peers.open_together(&sent),
            false => sent
                .iter()
                .map(|datagram| Ok(Opened::in_clear(&datagram.bytes)))
                .collect(),
        };
        for (datagram, opened) in sent.iter().zip(opened) {
            got.entry(datagram.path).or_default().push(opened);
        }
        self.in_order_of_legs(&mut got);
        let mut events: Vec<Event> = std::iter::from_fn(|| self.device.poll()).flat_map(flatten).collect();
        events.sort_by_key(order);
        Observation {
            written,
            got,
            events,
            counters: self.device.counters(),
        }
    }
}

impl Observation {
    /// The first thing that is not the same in `other`, in words; `None` when all is. How a
    /// datagram was sealed is not compared.
    pub fn difference(&self, other: &Observation) -> Option<String> {
        if self.written != other.written {
            return Some(format!("the write gave {:?}, not {:?}", other.written, self.written));
        }
        let paths = self.got.keys().chain(other.got.keys());
        paths
            .filter_map(|path| difference_on_path(*path, self.got.get(path), other.got.get(path)))
            .next()
            .or_else(|| self.difference_in_events(other))
            .or_else(|| self.difference_in_counters(other))
    }

    fn difference_in_events(&self, other: &Observation) -> Option<String> {
        if self.events == other.events {
            return None;
        }
        let both = self.events.iter().map(Some).chain(std::iter::repeat(None));
        let both = both.zip(other.events.iter().map(Some).chain(std::iter::repeat(None)));
        let first = both
            .take(self.events.len().max(other.events.len()))
            .find(|(mine, theirs)| mine != theirs);
        first.map(|(mine, theirs)| format!("it said     {theirs:?}\nand not     {mine:?}"))
    }

    fn difference_in_counters(&self, other: &Observation) -> Option<String> {
        let mut text = String::new();
        for (counter, count) in self
            .counters
            .iter()
            .filter(|(counter, count)| other.counters[*counter] != *count)
        {
            let _ = writeln!(text, "{} is {}, not {count}", counter.name(), other.counters[counter]);
        }
        Some(text).filter(|text| !text.is_empty())
    }
}

type Got = Vec<Result<Opened, OpenError>>;

fn difference_on_path(path: Path, expected: Option<&Got>, got: Option<&Got>) -> Option<String> {
    let (expected, got) = (
        expected.map_or(&[][..], Vec::as_slice),
        got.map_or(&[][..], Vec::as_slice),
    );
    let longest = expected.len().max(got.len());
    let bytes = |list: &[Result<Opened, OpenError>], at: usize| match list.get(at) {
        Some(Ok(opened)) => Some(Ok(opened.bytes.clone())),
        Some(Err(error)) => Some(Err(*error)),
        None => None,
    };
    let at = (0..longest).find(|at| bytes(expected, *at) != bytes(got, *at))?;
    let show = |bytes: Option<Result<Vec<u8>, OpenError>>| match bytes {
        Some(Ok(bytes)) => format!("{}\n            {}", print_datagram(&bytes), hex(&bytes)),
        Some(Err(error)) => format!("something that does not open: {error:?}"),
        None => "nothing".into(),
    };
    Some(format!(
        "datagram {} to {} is\n            {}\nand not     {}",
        at + 1,
        path.remote,
        show(bytes(got, at)),
        show(bytes(expected, at))
    ))
}
