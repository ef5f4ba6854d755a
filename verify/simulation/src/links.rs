//! Links between media nodes: late, broken and failed.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use agent::fence::LinkOutput;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use southbound::{LinkMessage, NodeId};

use crate::machine::Machine;

/// The greatest delay of something on a link.
const DELAY_MAX: Duration = Duration::from_millis(150);
/// The greatest pause before a link is made, or made again.
const PAUSE_MAX: Duration = Duration::from_millis(900);
/// How likely a link breaks when something arrives.
const BREAK_PROBABILITY: f64 = 0.1;
/// How likely a link that is broken is given up.
const FAIL_PROBABILITY: f64 = 0.4;

/// The connections of links.
pub(crate) struct Wires {
    rng: StdRng,
    wires: Vec<Wire>,
    is_healed: bool,
}

/// The connection of the link from one node to another, or the attempt to make it.
struct Wire {
    from: NodeId,
    to: NodeId,
    is_made: bool,
    /// When it is made next, if it is not.
    next: Instant,
    /// Messages on it, each with its time of arrival and the node that has sent it.
    on_way: VecDeque<(Instant, NodeId, LinkOutput)>,
}

impl Wires {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: StdRng::seed_from_u64(seed),
            wires: Vec::new(),
            is_healed: false,
        }
    }

    /// No link breaks from now on.
    pub(crate) fn heal(&mut self) {
        self.is_healed = true;
    }

    /// When something arrives, or a link is to be made.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.wires.iter().filter_map(Wire::due).min()
    }

    /// A node sends something over links.
    pub(crate) fn send(&mut self, now: Instant, by: NodeId, outputs: Vec<LinkOutput>) {
        for output in outputs {
            let (from, to) = match &output {
                LinkOutput::Send(to, _) | LinkOutput::Reset(to) => (by, *to),
                LinkOutput::Reply(from, _) | LinkOutput::Cut(from) => (*from, by),
            };
            let delay = self.rng.random_range(Duration::ZERO..=DELAY_MAX);
            let mut wires = self.wires.iter_mut();
            if let Some(wire) = wires.find(|wire| (wire.from, wire.to) == (from, to) && wire.is_made) {
                // They keep their order.
                let last = wire.on_way.back().map_or(now, |(at, ..)| *at);
                wire.on_way.push_back((last.max(now + delay), by, output));
            }
        }
    }

    /// Keeps the links that nodes want, and no others. Returns those that end.
    pub(crate) fn follow(&mut self, now: Instant, machines: &[Machine]) -> Vec<WireEvent> {
        let is_there = |node: NodeId| machines.iter().any(|machine| machine.agent.node_id() == node);
        let wanted = machines.iter().flat_map(|machine| {
            let from = machine.agent.node_id();
            let to = machine.wanted_links().into_iter();
            to.filter(|to| is_there(*to)).map(move |to| (from, to))
        });
        let wanted: Vec<_> = wanted.collect();
        let unwanted = self
            .wires
            .extract_if(.., |wire| !wanted.contains(&(wire.from, wire.to)));
        let ended = unwanted.map(|Wire { from, to, .. }| WireEvent::Broken { from, to, fails: true });
        let ended = ended.collect();
        for (from, to) in wanted {
            if !self.wires.iter().any(|wire| (wire.from, wire.to) == (from, to)) {
                let pause = self.rng.random_range(Duration::ZERO..=PAUSE_MAX);
                self.wires.push(Wire {
                    from,
                    to,
                    is_made: false,
                    next: now + pause,
                    on_way: VecDeque::new(),
                });
            }
        }
        ended
    }

    /// The next thing that happens by now.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<WireEvent> {
        let place = self
            .wires
            .iter()
            .position(|wire| wire.due().is_some_and(|due| due <= now))?;
        let breaks = self.rng.random_bool(BREAK_PROBABILITY) && !self.is_healed;
        let fails = self.rng.random_bool(FAIL_PROBABILITY);
        let pause = self.rng.random_range(Duration::ZERO..=PAUSE_MAX);
        let wire = &mut self.wires[place];
        let (from, to) = (wire.from, wire.to);
        if !wire.is_made {
            wire.is_made = true;
            return Some(WireEvent::Connected { from, to });
        }
        let (_, by, output) = wire.on_way.pop_front()?;
        if breaks || matches!(output, LinkOutput::Reset(_) | LinkOutput::Cut(_)) {
            wire.on_way.clear();
            (wire.is_made, wire.next) = (false, now + pause);
            return Some(WireEvent::Broken { from, to, fails });
        }
        let at = if by == from { to } else { from };
        Some(WireEvent::Arrived { at, by, output })
    }
}

impl Wire {
    fn due(&self) -> Option<Instant> {
        match self.is_made {
            true => self.on_way.front().map(|(at, ..)| *at),
            false => Some(self.next),
        }
    }
}

/// One thing that happens to a link.
pub(crate) enum WireEvent {
    /// The link is connected.
    Connected { from: NodeId, to: NodeId },
    /// It breaks, and perhaps is given up.
    Broken { from: NodeId, to: NodeId, fails: bool },
    /// Something that a node has sent arrives at another.
    Arrived { at: NodeId, by: NodeId, output: LinkOutput },
}

impl WireEvent {
    /// Tells the fences of the nodes. Returns the nodes, each with what follows.
    pub(crate) fn tell(self, machines: &mut [Machine]) -> Vec<(usize, agent::fence::Output)> {
        let mut outputs = Vec::new();
        let mut tell = |node: NodeId, take: &dyn Fn(&mut agent::fence::Fence, &mut agent::fence::Output)| {
            let place = machines.iter().position(|machine| machine.agent.node_id() == node);
            if let Some(place) = place
                && let Some(fence) = machines[place].fence()
            {
                let mut out = agent::fence::Output::default();
                take(fence, &mut out);
                outputs.push((place, out));
            }
        };
        match self {
            Self::Connected { from, to } => tell(from, &|fence, out| _ = fence.link_connected(to, out)),
            Self::Broken { from, to, fails } => {
                tell(to, &|fence, _| fence.origin_disconnected(from));
                tell(from, &|fence, out| {
                    fence.link_disconnected(to, out);
                    if fails {
                        fence.fail_link(to, out);
                    }
                });
            }
            Self::Arrived { at, by, output } => tell(at, &|fence, out| match &output {
                LinkOutput::Send(_, LinkMessage::Hello(hello)) => _ = fence.origin_connected(hello, out),
                LinkOutput::Send(_, LinkMessage::Message(linked)) => fence.take_linked(by, linked, out),
                LinkOutput::Reply(_, reply) => fence.link_replied(by, reply.clone(), out),
                LinkOutput::Reset(_) | LinkOutput::Cut(_) => {}
            }),
        }
        outputs
    }
}
