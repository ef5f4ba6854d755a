//! Delivers packets and messages in both directions, and checks them on the way.

use std::time::Duration;

use controller::{ConnectionId, Event};
use dataplane::Path;
use livekit::{Frame, Input};
use livekit_protocol::signal_response::Message;
use livekit_protocol::{SignalResponse, signal_request};
use rand::Rng;
use wire::PacketKind;

use super::{Connection, ScheduledEvent, Way, World};
use crate::node::Done;
use crate::session::{Effect, Phase, TICK};
use crate::{Invariant, Violation, machine};

impl World<'_> {
    pub(super) fn tick(&mut self, session: usize) -> Result<(), Violation> {
        if self.sessions[session].is_over() {
            return Ok(());
        }
        self.queue.put(self.now + TICK, ScheduledEvent::Tick(session));
        let mut effects = Vec::new();
        self.sessions[session].tick(self.now, &self.clock, &mut effects);
        self.effects(session, effects)
    }

    /// Executes a client's effects.
    pub(super) fn effects(&mut self, session: usize, effects: Vec<Effect>) -> Result<(), Violation> {
        self.note_addresses(session);
        for effect in effects {
            match effect {
                Effect::Say(message, over) => {
                    let Some(connection) = self.sessions[session].connection else {
                        continue;
                    };
                    let frame = self.frame(session, &message);
                    self.say(connection, frame, Some(message), over);
                }
                Effect::Probe(source, encoding, number) => self.ledger.probe(source, encoding, number),
                Effect::Send(peer, bytes) => self.send(session, peer, bytes),
                Effect::Resume => self.lose_signal(session)?,
                Effect::Over { rejoin } => self.client_over(session, rejoin),
            }
        }
        Ok(())
    }

    fn client_over(&mut self, session: usize, rejoin: bool) {
        let client = &mut self.sessions[session];
        client.phase = Phase::Over;
        let (person, connection) = (client.person, client.connection.take());
        if rejoin && self.current[person] == Some(session) {
            self.queue
                .put(self.now + Duration::from_millis(300), ScheduledEvent::Return(person));
        } else {
            self.forget(session);
        }
        // Its last messages still arrive; then it closes.
        if let Some(state) = connection.and_then(|connection| self.connections.get(&connection)) {
            self.queue.put(
                state.node_hears_at,
                ScheduledEvent::NodeLoses(connection.expect("just looked up")),
            );
        }
    }

    /// A client sends a datagram.
    fn send(&mut self, session: usize, peer: usize, mut bytes: Vec<u8>) {
        let Some(remote) = self.sessions[session].address(peer) else {
            return;
        };
        let path = Path {
            local: machine::address(self.machine_of(session)),
            remote,
        };
        self.corrupt(&mut bytes);
        let last = self.links.entry((remote, Way::Up)).or_insert(self.start);
        for at in self.faults.carry(self.now, last, &mut self.rng) {
            self.queue.put(at, ScheduledEvent::ToNode(path, bytes.clone()));
        }
    }

    /// The media node of a client.
    pub(super) fn machine_of(&self, session: usize) -> usize {
        self.node.machine_of(self.sessions[session].remote_ufrags())
    }

    pub(super) fn corrupt(&mut self, bytes: &mut [u8]) {
        let is_checked = wire::classify(bytes) == PacketKind::Stun;
        if is_checked && self.rng.random_bool(self.faults.packet_corruption_probability) {
            let position = self.rng.random_range(0..bytes.len());
            bytes[position] ^= 1 << self.rng.random_range(0..8);
        }
    }

    pub(super) fn arrive_at_node(&mut self, path: Path, bytes: &[u8]) -> Result<(), Violation> {
        self.summary.received += 1;
        let done = self.node.datagram(self.now, path, bytes);
        self.carry_out(done)
    }

    /// A datagram finds its client, unless the client has moved.
    pub(super) fn arrive_at_client(&mut self, address: std::net::SocketAddr, bytes: &[u8]) -> Result<(), Violation> {
        let Some((session, peer)) = self.owners.get(&address).copied() else {
            return Ok(());
        };
        let client = &mut self.sessions[session];
        if client.address(peer) != Some(address) || client.is_over() {
            return Ok(());
        }
        let mut effects = Vec::new();
        let received = client.receive(self.now, peer, bytes, &self.clock, &mut effects);
        if let Some(received) = received
            && let Some(sid) = received.sid
            && self.permissions.source_of(&sid) != Some(received.stamp.source)
        {
            let what = format!(
                "client {session} receives source {} on an SSRC that stands for {sid}",
                received.stamp.source
            );
            return Err(Violation::new(Invariant::Description, what));
        }
        self.effects(session, effects)
    }

    /// A client sends a message. Sometimes the connection breaks at it.
    pub(super) fn say(
        &mut self,
        connection: ConnectionId,
        frame: Frame,
        message: Option<Box<signal_request::Message>>,
        over: Vec<u32>,
    ) {
        let breaks = self.rng.random_bool(self.faults.signal_break_probability);
        let delay = self.rng.random_range(Duration::ZERO..=self.faults.signal_delay_max);
        let Some(state) = self.connections.get_mut(&connection).filter(|state| !state.broken) else {
            return;
        };
        let session = state.session;
        if breaks {
            let _ = self.lose_signal(session);
            return;
        }
        state.node_hears_at = state.node_hears_at.max(self.now + delay);
        let at = state.node_hears_at;
        self.queue
            .put(at, ScheduledEvent::Heard(connection, frame, message, over));
    }

    /// The node receives a client's message.
    pub(super) fn heard(
        &mut self,
        connection: ConnectionId,
        frame: Frame,
        message: Option<&signal_request::Message>,
        over: &[u32],
    ) -> Result<(), Violation> {
        let open = |state: &&Connection| !state.broken && !state.shut && !self.closed.contains(&connection);
        let Some(state) = self.connections.get(&connection).filter(open) else {
            return Ok(());
        };
        let session = state.session;
        self.note(|| {
            format!(
                "client {session} says {}",
                message.map_or_else(|| "rubbish".to_owned(), |message| summary(&format!("{message:?}")))
            )
        });
        if let Some(message) = message.filter(|_| self.permissions.is_present(session)) {
            self.permissions.heard(session, message, over);
        }
        let state = self.connections.get_mut(&connection).expect("it was found above");
        let message = Box::new(state.inbox.read(self.now, &frame));
        let done = self.node.input(self.now, Input::Message { connection, message });
        self.carry_out(done)
    }

    pub(super) fn node_loses(&mut self, connection: ConnectionId) -> Result<(), Violation> {
        if !self.closed.insert(connection) {
            return Ok(());
        }
        self.note(|| format!("connection {connection} is found broken"));
        let done = self.node.input(self.now, Input::Closed { connection });
        self.carry_out(done)
    }

    pub(super) fn client_loses(&mut self, connection: ConnectionId) -> Result<(), Violation> {
        let session = self.connections[&connection].session;
        let client = &mut self.sessions[session];
        if client.connection != Some(connection) || client.is_over() {
            return Ok(());
        }
        (client.connection, client.phase) = (None, Phase::Resuming);
        let at = self.now + self.rng.random_range(Duration::ZERO..Duration::from_millis(1_200));
        self.queue.put(at, ScheduledEvent::Resume(session));
        Ok(())
    }

    /// A client receives the node's message.
    pub(super) fn told(&mut self, connection: ConnectionId, message: Message) -> Result<(), Violation> {
        let Some(state) = self.connections.get(&connection).filter(|state| !state.broken) else {
            return Ok(());
        };
        let session = state.session;
        let client = &mut self.sessions[session];
        if client.connection != Some(connection) || client.is_over() {
            return Ok(());
        }
        let mut effects = Vec::new();
        client.hear(self.now, message, &mut effects);
        self.effects(session, effects)
    }

    /// A message arrives on a data channel.
    pub(super) fn message(
        &mut self,
        session: usize,
        ufrag: &str,
        label: &str,
        payload: Vec<u8>,
    ) -> Result<(), Violation> {
        if !self.permissions.is_present(session) {
            return Ok(());
        }
        match self.node.message(self.now, ufrag, label, payload) {
            Some(done) => self.carry_out(done),
            None => Ok(()),
        }
    }

    /// Executes the node's effects, and checks all of them.
    pub(super) fn carry_out(&mut self, done: Vec<Done>) -> Result<(), Violation> {
        let mut departed = Vec::new();
        for done in done {
            match done {
                Done::Send(connection, frame) => self.node_says(connection, &frame)?,
                Done::Close(connection, code) => self.node_closes(connection, code),
                Done::Event(event) => departed.extend(self.node_reports(&event)?),
                Done::Depart(machine, egress) => self.depart(machine, egress)?,
                Done::Message(ufrag, payload) => self.message_departs(&ufrag, &payload)?,
            }
        }
        if let Some(violation) = self.node.take_refused() {
            return Err(violation);
        }
        for session in departed {
            let owners = &self.owners;
            if self
                .node
                .any_path(|path| owners.get(&path.remote).is_some_and(|owner| owner.0 == session))
            {
                return Err(Violation::new(
                    Invariant::Tables,
                    format!("client {session} is gone and has a leg"),
                ));
            }
        }
        Ok(())
    }

    fn node_says(&mut self, connection: ConnectionId, frame: &Frame) -> Result<(), Violation> {
        use prost::Message as _;
        let response = match frame {
            Frame::Text(text) => serde_json::from_slice(text).ok(),
            frame => SignalResponse::decode(frame.to_bytes()).ok(),
        };
        let Some(message) = response.and_then(|response| response.message) else {
            return Err(Violation::new(
                Invariant::Description,
                "the node sends a malformed message",
            ));
        };
        let delay = self.rng.random_range(Duration::ZERO..=self.faults.signal_delay_max);
        let Some(state) = self.connections.get_mut(&connection) else {
            return Ok(());
        };
        let (session, first, resumes) = (state.session, !state.answered, state.resumes);
        state.answered = true;
        if first {
            self.check_first_answer(session, resumes, &message)?;
        }
        self.note(|| format!("client {session} is told {}", summary(&format!("{message:?}"))));
        self.permissions.said(session, &message);
        let Some(state) = self.connections.get_mut(&connection).filter(|state| !state.broken) else {
            return Ok(());
        };
        state.client_hears_at = state.client_hears_at.max(self.now + delay);
        let at = state.client_hears_at;
        self.queue.put(at, ScheduledEvent::Told(connection, Box::new(message)));
        Ok(())
    }

    /// A client that joins gets a confirmation; one that returns while it is still present may
    /// resume.
    fn check_first_answer(&self, session: usize, resumes: bool, message: &Message) -> Result<(), Violation> {
        let right = match message {
            Message::Join(_) => !resumes,
            Message::Reconnect(_) => resumes,
            Message::Leave(_) => !resumes || !self.permissions.is_present(session),
            _ => false,
        };
        match right {
            true => Ok(()),
            false => Err(Violation::new(
                Invariant::Liveness,
                format!("client {session} is first told {message:?} (resuming: {resumes})"),
            )),
        }
    }

    fn node_closes(&mut self, connection: ConnectionId, code: u16) {
        self.note(|| format!("connection {connection} is closed with {code}"));
        let Some(state) = self.connections.get_mut(&connection) else {
            return;
        };
        state.shut = true;
        let at = state.client_hears_at;
        self.queue.put(self.now, ScheduledEvent::NodeLoses(connection));
        // A client that was not told to leave returns.
        self.queue
            .put(at.max(self.now), ScheduledEvent::ClientLoses(connection));
    }

    /// Records an event of the node; returns the client that is gone.
    fn node_reports(&mut self, event: &Event) -> Result<Option<usize>, Violation> {
        self.note(|| format!("{event:?}"));
        match event {
            Event::Joined { connection, .. } => {
                let session = self.connections[connection].session;
                self.permissions.joined(session)?;
            }
            Event::Left { room, identity, .. } => {
                let left = self.permissions.left(room, identity);
                return Ok(left);
            }
            Event::RoomStarted { .. } => self.rooms += 1,
            Event::RoomFinished { .. } => self.rooms -= 1,
            _ => {}
        }
        Ok(None)
    }
}

/// The beginning of a message, without the common prefix of session descriptions.
fn summary(text: &str) -> String {
    text.replace("v=0\\r\\n", "").chars().take(160).collect()
}
