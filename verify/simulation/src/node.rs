//! The nodes: the real controller and the real agents over watched models, joined as the program
//! joins them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use access::ApiKeys;
use controller::{ConnectionId, Controller, Event, JoinError, NodeStanding, WallClock};
use dataplane::{Clock, DataPlane, Egress, Path};
use livekit::{Admission, Frame, Front, Input, Output};
use southbound::{Command, ControllerId, Linked, MessageId, NodeId, Notice, TransportId};

use crate::links::Wires;
use crate::machine::{Machine, machine_at};
use crate::{History, Violation, person};

/// Labels of the data channels of the protocol.
pub(crate) const RELIABLE: &str = "_reliable";
pub(crate) const LOSSY: &str = "_lossy";

/// One of the controllers, the first of which is number 0.
pub(crate) fn controller(wall: WallClock, seed: u64, number: u32) -> Controller {
    let mut long = [0; 32];
    long[..8].copy_from_slice(&seed.to_be_bytes());
    long[8..12].copy_from_slice(&number.to_be_bytes());
    let config = controller::Config {
        controller: ControllerId::new(number),
        ..controller::Config::new(person::keys())
    };
    Controller::new(config, wall, long)
}

/// Outputs of the node.
pub(crate) enum Done {
    /// Sends on a signalling connection.
    Send(ConnectionId, Frame),
    /// Closes a signalling connection.
    Close(ConnectionId, u16),
    /// Reports an event of the controller.
    Event(Event),
    /// Sends a datagram from a media node.
    Depart(usize, Egress),
    /// Sends a message on a data channel; only unencrypted, where it has no transport.
    Message(String, Arc<[u8]>),
}

pub(crate) struct Node {
    pub(crate) controller: Controller,
    pub(crate) front: Front,
    pub(crate) machines: Vec<Machine>,
    pub(crate) wires: Wires,
    /// Whether transports have DTLS.
    dtls: bool,
    pub(crate) wall: WallClock,
    pub(crate) seed: u64,
    /// The controllers that there were.
    pub(crate) controllers: u32,
    /// The media nodes that were started.
    pub(crate) starts: usize,
    /// The last word of each media node about itself.
    pub(crate) announced: Vec<(NodeId, Notice)>,
    /// In clear the node's data channels are short-circuited: transports by user fragment, and
    /// which are connected.
    ufrags: BTreeMap<String, (usize, TransportId)>,
    connected: BTreeSet<TransportId>,
    /// The messages that have arrived on data channels.
    messages: u64,
}

impl Node {
    pub(crate) fn new(clock: Clock, wall: WallClock, history: &History, certificate: &agent::Certificate) -> Self {
        let History { dtls, seed, .. } = *history;
        let start = |machine, starts| Machine::start(clock, history, certificate.clone(), machine, starts);
        let machines = (0..history.machines).map(|machine| start(machine, machine));
        Self {
            controller: controller(wall, seed, 0),
            front: Front::default(),
            machines: machines.collect(),
            wires: Wires::new(seed),
            dtls,
            wall,
            seed,
            controllers: 1,
            starts: history.machines,
            announced: Vec::new(),
            ufrags: BTreeMap::new(),
            connected: BTreeSet::new(),
            messages: 0,
        }
    }

    pub(crate) fn keys() -> ApiKeys {
        person::keys()
    }

    pub(crate) fn check_admission(&self, now: Instant, admission: &Admission) -> Result<(), JoinError> {
        admission.check(&self.controller, now)
    }

    /// When something is due by itself.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let agents = self.machines.iter().filter_map(|machine| machine.agent.poll_timeout());
        let others = self
            .controller
            .poll_timeout()
            .into_iter()
            .chain(self.wires.poll_timeout());
        agents.chain(others).min()
    }

    /// The media node of a client, by the user fragments that it was told.
    pub(crate) fn machine_of<'a>(&self, mut ufrags: impl Iterator<Item = &'a str>) -> usize {
        let told = ufrags.find_map(|ufrag| self.ufrags.get(ufrag));
        told.map_or(0, |(machine, _)| *machine)
    }

    /// Has a media node take the next participant: the others are full.
    pub(crate) fn choose_machine(&mut self, now: Instant, chosen: usize) {
        for (index, machine) in self.machines.iter().enumerate() {
            let (load, capacity) = if index == chosen { (0, u32::MAX) } else { (1, 1) };
            let standing = NodeStanding {
                load,
                capacity,
                passes_messages_on: machine.passes_messages_on(),
                has_links: machine.has_links(),
                links_tracks: machine.links_tracks(),
                takes_moves: machine.takes_moves(),
                ..NodeStanding::default()
            };
            self.controller
                .placement()
                .set_standing(now, machine.agent.node_id(), standing);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Vec<Done> {
        let (mut outputs, mut notices) = (Vec::new(), Vec::new());
        for (index, machine) in self.machines.iter_mut().enumerate() {
            if machine.agent.poll_timeout().is_some_and(|at| at <= now) {
                let mut of_machine = Vec::new();
                machine.agent.handle_timeout(now, &mut machine.plane, &mut of_machine);
                notices.extend(of_machine.into_iter().map(|notice| (index, notice)));
            }
        }
        if self.controller.poll_timeout().is_some_and(|at| at <= now) {
            self.controller.handle_timeout(now, &mut outputs);
        }
        let mut done = Vec::new();
        self.settle(now, outputs.into(), notices, &mut done);
        self.carry_links(now, &mut done);
        done
    }

    pub(crate) fn input(&mut self, now: Instant, input: Input) -> Vec<Done> {
        let (mut outputs, mut done) = (VecDeque::new(), Vec::new());
        let mut out = Vec::new();
        self.front.handle(input, &mut out);
        self.collect(now, out, &mut outputs, &mut done);
        self.settle(now, outputs, Vec::new(), &mut done);
        done
    }

    pub(crate) fn notice(&mut self, now: Instant, machine: usize, notice: Notice) -> Vec<controller::Output> {
        let mut outputs = Vec::new();
        let node = self.machines[machine].agent.node_id();
        if let Notice::Node(_) = notice {
            self.announced.push((node, notice.clone()));
        }
        self.controller
            .handle(now, livekit::notice_input(node, notice), &mut outputs);
        outputs
    }

    pub(crate) fn datagram(&mut self, now: Instant, path: Path, bytes: &[u8]) -> Vec<Done> {
        let Some(machine) = machine_at(path.local, self.machines.len()) else {
            return Vec::new();
        };
        let egress = self.machines[machine].plane.packet(now, path, bytes);
        let mut done = egress.into_iter().map(|egress| Done::Depart(machine, egress)).collect();
        self.settle(now, VecDeque::new(), Vec::new(), &mut done);
        done
    }

    /// A message arrives on the data channel of the transport with this user fragment; `None` if it
    /// is not connected.
    pub(crate) fn message(&mut self, now: Instant, ufrag: &str, label: &str, payload: Vec<u8>) -> Option<Vec<Done>> {
        let (machine, transport) = *self
            .ufrags
            .get(ufrag)
            .filter(|(_, transport)| self.connected.contains(transport))?;
        self.messages += 1;
        let notice = Notice::MessageReceived {
            transport,
            label: label.into(),
            payload: payload.into(),
            message: MessageId {
                node: self.machines[machine].agent.node_id(),
                number: self.messages,
            },
            reliable: label == RELIABLE,
            passed_on: None,
            linked: Linked::default(),
        };
        let (mut notices, mut done) = (Vec::new(), Vec::new());
        let outputs = self.hear(now, machine, notice, &mut notices, &mut done);
        self.settle(now, outputs.into(), notices, &mut done);
        Some(done)
    }

    /// Everything agents and models have counted.
    pub(crate) fn counters(&mut self) -> String {
        let mut counted = Vec::new();
        for (index, machine) in self.machines.iter_mut().enumerate() {
            let agent = machine.agent.counters();
            let agent = agent.iter().map(|(counter, count)| (counter.name(), count));
            let plane = machine.plane.counters();
            let plane = plane.iter().map(|(counter, count)| (counter.name(), count));
            let all = agent.chain(plane).filter(|(_, count)| *count > 0);
            counted.extend(all.map(|(name, count)| format!("{index} {name} {count}")));
        }
        counted.join(", ")
    }

    /// Whether the agents remember nobody.
    pub(crate) fn is_idle(&self) -> bool {
        self.machines.iter().all(|machine| machine.agent.is_idle())
    }

    /// How many legs, streams and replicas there are.
    pub(crate) fn table_sizes(&self) -> (usize, usize, usize) {
        let sizes = self.machines.iter().map(|machine| machine.plane.len());
        sizes.fold((0, 0, 0), |all, one| (all.0 + one.0, all.1 + one.1, all.2 + one.2))
    }

    /// A write that is not allowed.
    pub(crate) fn take_refused(&mut self) -> Option<Violation> {
        self.machines
            .iter_mut()
            .find_map(|machine| machine.plane.take_refused())
    }

    /// Whether any leg has a path with this property.
    pub(crate) fn any_path(&self, is_theirs: impl Fn(&Path) -> bool) -> bool {
        self.machines.iter().any(|machine| machine.plane.any_path(&is_theirs))
    }

    /// Passes messages between the parts until there are none.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        mut outputs: VecDeque<controller::Output>,
        mut notices: Vec<(usize, Notice)>,
        done: &mut Vec<Done>,
    ) {
        loop {
            for (index, machine) in self.machines.iter_mut().enumerate() {
                let injected = machine.plane.take_injected().into_iter();
                done.extend(injected.map(|egress| Done::Depart(index, egress)));
            }
            if let Some(output) = outputs.pop_front() {
                let mut out = Vec::new();
                let other = self.front.output(output, &mut out);
                self.collect(now, out, &mut outputs, done);
                match other {
                    Some(controller::Output::Command { node, room, command }) => {
                        outputs.extend(self.say(now, node, room, command, &mut notices, done));
                    }
                    Some(controller::Output::Data {
                        node,
                        room,
                        to,
                        message,
                        data,
                    }) => {
                        let command = livekit::data_command(to, message, data);
                        outputs.extend(self.say(now, node, Some(room), command, &mut notices, done));
                    }
                    Some(controller::Output::Event(event)) => done.push(Done::Event(event)),
                    _ => {}
                }
            } else if !notices.is_empty() {
                for (machine, notice) in std::mem::take(&mut notices) {
                    for notice in self.with_channels(notice) {
                        outputs.extend(self.hear(now, machine, notice, &mut notices, done));
                    }
                }
            } else if !self.advance_machines(now, &mut notices) {
                let ended = self.follow_links(now);
                if ended.is_empty() {
                    return;
                }
                for (machine, out) in ended {
                    outputs.extend(self.pass_fence(now, machine, out, &mut notices, done));
                }
            }
        }
    }

    /// Lets each media node do one thing. Returns whether any had something to do.
    fn advance_machines(&mut self, now: Instant, notices: &mut Vec<(usize, Notice)>) -> bool {
        let mut is_busy = false;
        for (index, machine) in self.machines.iter_mut().enumerate() {
            let mut of_machine = Vec::new();
            let Machine { agent, plane, .. } = machine;
            is_busy |= match plane.poll() {
                Some(event) => {
                    agent.event(now, event, plane, &mut of_machine);
                    true
                }
                None => agent.compute_handshakes(now, plane, &mut of_machine),
            };
            notices.extend(of_machine.into_iter().map(|notice| (index, notice)));
        }
        is_busy
    }

    /// Does what the front end asks for.
    fn collect(
        &mut self,
        now: Instant,
        out: Vec<Output>,
        outputs: &mut VecDeque<controller::Output>,
        done: &mut Vec<Done>,
    ) {
        for output in out {
            match output {
                Output::Input(input) => {
                    let mut more = Vec::new();
                    self.controller.handle(now, input, &mut more);
                    outputs.extend(more);
                }
                Output::Send { connection, frame } => done.push(Done::Send(connection, frame)),
                Output::Close { connection, code, .. } => done.push(Done::Close(connection, code)),
                Output::Event(event) => done.push(Done::Event(event)),
                Output::Count(_) => {}
            }
        }
    }

    /// A command passes to the agent of a node.
    pub(crate) fn command(
        &mut self,
        now: Instant,
        node: NodeId,
        mut command: Command,
        notices: &mut Vec<(usize, Notice)>,
        done: &mut Vec<Done>,
    ) {
        let index = self.machines.iter().position(|machine| machine.agent.node_id() == node);
        let Some(index) = index else { return };
        match &mut command {
            Command::Open(open) => drop(self.ufrags.insert(open.local.ufrag.clone(), (index, open.transport))),
            // A peer without a fingerprint gets clear RTP.
            Command::Connect { remote, .. } if !self.dtls => remote.fingerprints.clear(),
            Command::Close { transport } => drop(self.connected.remove(transport)),
            Command::Send { to, payload, .. } if !self.dtls => {
                let to = |owner: &TransportId| to.contains(owner) && self.connected.contains(owner);
                let ufrags = self.ufrags.iter().filter(|(_, (_, owner))| to(owner));
                done.extend(ufrags.map(|(ufrag, _)| Done::Message(ufrag.clone(), payload.clone())));
            }
            _ => {}
        }
        let Machine { agent, plane, .. } = &mut self.machines[index];
        let mut of_machine = Vec::new();
        agent.command(now, command, plane, &mut of_machine);
        notices.extend(of_machine.into_iter().map(|notice| (index, notice)));
    }

    /// In clear there is no SCTP; its channels are as good as open when the transport is.
    fn with_channels(&mut self, notice: Notice) -> Vec<Notice> {
        match notice {
            Notice::Connected { transport, .. } if self.connected.insert(transport) && !self.dtls => {
                let opened = [RELIABLE, LOSSY].map(|label| Notice::ChannelOpened {
                    transport,
                    label: label.into(),
                });
                std::iter::once(notice).chain(opened).collect()
            }
            Notice::Closed { transport, .. } => {
                self.connected.remove(&transport);
                vec![notice]
            }
            notice => vec![notice],
        }
    }
}
