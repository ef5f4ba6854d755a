//! The node: the real controller and the real agent over the watched model, joined as the program
//! joins them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use access::ApiKeys;
use agent::Agent;
use controller::{ConnectionId, Controller, Event, WallClock};
use dataplane::{Clock, DataPlane, Egress, Path};
use livekit::{Admission, Frame, Front, Input, Output, Refusal};
use southbound::{Command, MessageId, Notice, TransportId};

use crate::person;
use crate::plane::Plane;

/// Labels of the data channels of the protocol.
pub(crate) const RELIABLE: &str = "_reliable";
pub(crate) const LOSSY: &str = "_lossy";

/// Address of the node.
pub(crate) fn address() -> SocketAddr {
    ([192, 0, 2, 1], 7882).into()
}

/// Outputs of the node.
pub(crate) enum Done {
    /// Sends on a signalling connection.
    Send(ConnectionId, Frame),
    /// Closes a signalling connection.
    Close(ConnectionId, u16),
    /// Reports an event.
    Event(Event),
    /// Sends a datagram.
    Depart(Egress),
    /// Sends a message on a data channel; only unencrypted, where it has no transport.
    Message(String, Arc<[u8]>),
}

pub(crate) struct Node {
    controller: Controller,
    front: Front,
    agent: Agent,
    pub(crate) plane: Plane,
    /// Whether transports have DTLS.
    dtls: bool,
    /// In clear the node's data channels are short-circuited: transports by user fragment, and
    /// which are connected.
    ufrags: BTreeMap<String, TransportId>,
    connected: BTreeSet<TransportId>,
}

impl Node {
    pub(crate) fn new(clock: Clock, wall: WallClock, dtls: bool, certificate: agent::Certificate, seed: u64) -> Self {
        let mut config = agent::Config::new(vec![address()], certificate);
        config.clear_rtp = !dtls;
        let mut long = [0; 32];
        long[..8].copy_from_slice(&seed.to_be_bytes());
        Self {
            controller: Controller::new(controller::Config::new(person::keys()), wall, long),
            front: Front::default(),
            agent: Agent::new(config, clock, seed),
            plane: Plane::new(clock),
            dtls,
            ufrags: BTreeMap::new(),
            connected: BTreeSet::new(),
        }
    }

    pub(crate) fn keys() -> ApiKeys {
        person::keys()
    }

    pub(crate) fn check_admission(&self, now: Instant, admission: &Admission) -> Result<(), Refusal> {
        admission.check(&self.controller, now)
    }

    /// When something is due by itself.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        [self.controller.poll_timeout(), self.agent.poll_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Vec<Done> {
        let (mut outputs, mut notices) = (Vec::new(), Vec::new());
        if self.agent.poll_timeout().is_some_and(|at| at <= now) {
            self.agent.handle_timeout(now, &mut self.plane, &mut notices);
        }
        if self.controller.poll_timeout().is_some_and(|at| at <= now) {
            self.controller.handle_timeout(now, &mut outputs);
        }
        let mut done = Vec::new();
        self.settle(now, outputs.into(), notices, &mut done);
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

    fn notice(&mut self, now: Instant, notice: Notice) -> Vec<controller::Output> {
        let mut outputs = Vec::new();
        self.controller
            .handle(now, livekit::notice_input(self.agent.node_id(), notice), &mut outputs);
        outputs
    }

    pub(crate) fn datagram(&mut self, now: Instant, path: Path, bytes: &[u8]) -> Vec<Done> {
        let mut done: Vec<Done> = self
            .plane
            .packet(now, path, bytes)
            .into_iter()
            .map(Done::Depart)
            .collect();
        self.settle(now, VecDeque::new(), Vec::new(), &mut done);
        done
    }

    /// A message arrives on the data channel of the transport with this user fragment; `None` if it
    /// is not connected.
    pub(crate) fn message(&mut self, now: Instant, ufrag: &str, label: &str, payload: Vec<u8>) -> Option<Vec<Done>> {
        let transport = *self
            .ufrags
            .get(ufrag)
            .filter(|transport| self.connected.contains(transport))?;
        let notice = Notice::MessageReceived {
            transport,
            label: label.into(),
            payload: payload.into(),
            message: MessageId {
                node: self.agent.node_id(),
                number: 0,
            },
        };
        let (outputs, mut done) = (self.notice(now, notice), Vec::new());
        self.settle(now, outputs.into(), Vec::new(), &mut done);
        Some(done)
    }

    /// Everything agent and model have counted.
    pub(crate) fn counters(&mut self) -> String {
        let mut agent: Vec<_> = self
            .agent
            .counters()
            .iter()
            .map(|(counter, count)| (counter.name(), count))
            .collect();
        agent.extend(
            self.plane
                .counters()
                .iter()
                .map(|(counter, count)| (counter.name(), count)),
        );
        let counted = agent.iter().filter(|(_, count)| *count > 0);
        counted
            .map(|(name, count)| format!("{name} {count}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Whether the agent remembers nobody.
    pub(crate) fn is_idle(&self) -> bool {
        self.agent.is_idle()
    }

    /// Passes messages between the parts until there are none.
    fn settle(
        &mut self,
        now: Instant,
        mut outputs: VecDeque<controller::Output>,
        mut notices: Vec<Notice>,
        done: &mut Vec<Done>,
    ) {
        loop {
            done.extend(self.plane.take_injected().into_iter().map(Done::Depart));
            if let Some(output) = outputs.pop_front() {
                let mut out = Vec::new();
                let other = self.front.output(output, &mut out);
                self.collect(now, out, &mut outputs, done);
                match other {
                    Some(controller::Output::Command { command, .. }) => self.command(now, command, &mut notices, done),
                    Some(controller::Output::Data { to, message, data, .. }) => {
                        let command = livekit::data_command(to, message, data);
                        self.command(now, command, &mut notices, done);
                    }
                    Some(controller::Output::Event(event)) => done.push(Done::Event(event)),
                    _ => {}
                }
            } else if !notices.is_empty() {
                for notice in std::mem::take(&mut notices) {
                    for notice in self.with_channels(notice) {
                        outputs.extend(self.notice(now, notice));
                    }
                }
            } else if let Some(event) = self.plane.poll() {
                self.agent.event(now, event, &mut self.plane, &mut notices);
            } else if !self.agent.compute_handshakes(now, &mut self.plane, &mut notices) {
                return;
            }
        }
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

    fn command(&mut self, now: Instant, mut command: Command, notices: &mut Vec<Notice>, done: &mut Vec<Done>) {
        match &mut command {
            Command::Open(open) => drop(self.ufrags.insert(open.local.ufrag.clone(), open.transport)),
            // A peer without a fingerprint gets clear RTP.
            Command::Connect { remote, .. } if !self.dtls => remote.fingerprints.clear(),
            Command::Close { transport } => drop(self.connected.remove(transport)),
            Command::Send { to, payload, .. } if !self.dtls => {
                let to = |owner: &TransportId| to.contains(owner) && self.connected.contains(owner);
                let ufrags = self.ufrags.iter().filter(|(_, owner)| to(owner));
                done.extend(ufrags.map(|(ufrag, _)| Done::Message(ufrag.clone(), payload.clone())));
            }
            _ => {}
        }
        self.agent.command(now, command, &mut self.plane, notices);
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
