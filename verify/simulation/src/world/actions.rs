//! Actions of participants, and faults.

use std::time::Duration;

use dataplane::Path;
use livekit::Inbox;
use livekit::{Frame, Input};
use livekit_protocol::signal_request;
use rand::Rng;

use super::{Connection, NODE_CERTIFICATE, ScheduledEvent, World};
use crate::checks::SourceState;
use crate::history::{Action, Device, How};
use crate::node::{LOSSY, Node, RELIABLE};
use crate::person::{Request, identity};
use crate::session::{Effect, Phase, Session, TICK, track_source};
use crate::{Violation, machine};

/// How long the node needs at most to find a connection broken that nobody closed.
const BREAK_NOTICED_MAX: Duration = Duration::from_secs(3);

impl World<'_> {
    pub(super) fn step(&mut self, index: usize) -> Result<(), Violation> {
        let (person, action) = (self.history.steps[index].person, self.history.steps[index].action);
        self.note(|| format!("person {person}: {action:?}"));
        if let Action::Join(how) = action {
            return self.join(person, how, Vec::new());
        }
        if let Action::ReplaceController = action {
            return self.replace_controller();
        }
        if let Action::CutTrunks(time) = action {
            self.trunks_cut_until = self.now + time;
            return Ok(());
        }
        if let Action::ReplaceMachine(pick) = action {
            let machine = pick as usize % self.history.machines;
            let done = self
                .node
                .replace_machine(self.now, self.clock, self.history, &NODE_CERTIFICATE, machine);
            return self.carry_out(done);
        }
        let Some(session) = self.current[person] else {
            return Ok(());
        };
        let mut effects = Vec::new();
        match action {
            Action::Publish(device) => self.publish(session, device, &mut effects),
            Action::Vanish => return self.vanish(session),
            Action::LoseSignal => return self.lose_signal(session),
            Action::StartOver => return self.start_over(person, session),
            Action::Rebind => self.rebind(session),
            Action::SayRubbish(pick) => return self.say_rubbish(session, pick),
            Action::SendRubbish(pick) => self.send_rubbish(session, pick),
            Action::Say { reliable, to } => self.speak(session, reliable, to),
            action => self.ask(session, action, &mut effects),
        }
        self.effects(session, effects)
    }

    /// The effects of a client's message.
    fn ask(&mut self, session: usize, action: Action, out: &mut Vec<Effect>) {
        let (now, client) = (self.now, &mut self.sessions[session]);
        match action {
            Action::AskKeyFrames => client.ask_key_frames(out),
            _ if client.phase != Phase::In => {}
            Action::Leave => client.leave(out),
            Action::Unpublish(pick) => client.unpublish(now, pick, out),
            Action::Mute(pick, muted) => client.mute(pick, muted, out),
            Action::Subscribe(pick, subscribe) => client.subscribe(pick, subscribe, out),
            Action::Settings(pick, wish) => client.set(pick, wish, out),
            Action::Permit(pick, allow) => client.permit(pick, allow, out),
            Action::Rename(pick) => client.rename(pick, out),
            Action::Simulate(pick) => client.simulate(pick, out),
            _ => {}
        }
    }

    fn join(&mut self, person: usize, how: How, devices: Vec<(Device, bool)>) -> Result<(), Violation> {
        let index = self.sessions.len();
        let addresses = [0, 1].map(|peer| ([198, 51, 100, index as u8], 1_000 * (peer + 1)).into());
        let seed = self.history.seed.wrapping_mul(1_000).wrapping_add(index as u64);
        let mut session = Session::new(self.now, person, how, addresses, self.certificate.clone(), seed);
        let offer = session.first_offer(self.now);
        self.sessions.push(session);
        self.permissions
            .add_session(identity(person), self.people[person].clone(), how.auto_subscribe);
        // A second client with the same name: the first is told to leave, and the person uses the
        // second from now on.
        self.current[person] = Some(index);
        let mut effects = Vec::new();
        for (device, muted) in devices {
            self.publish(index, device, &mut effects);
            self.sessions[index].sources.last_mut().expect("just published").muted = muted;
        }
        let grants = &self.people[person];
        let request = Request {
            person,
            grants,
            how,
            resume: None,
            offer,
        };
        self.queue.put(self.now + TICK, ScheduledEvent::Tick(index));
        self.summary.clients += 1;
        self.open(index, request)
    }

    /// Opens a signalling connection for a client.
    fn open(&mut self, session: usize, request: Request<'_>) -> Result<(), Violation> {
        let resumes = request.resume.is_some();
        let admission = request
            .admit(&Node::keys(), self.wall.unix(self.now))
            .expect("the request is in order");
        if self.node.check_admission(self.now, &admission).is_err() {
            self.sessions[session].phase = Phase::Over;
            return Ok(());
        }
        let connection = controller::ConnectionId(self.connections.len() as u64 + 1);
        let (node_hears_at, client_hears_at) = (self.now, self.now);
        self.connections.insert(
            connection,
            Connection {
                session,
                node_hears_at,
                client_hears_at,
                broken: false,
                shut: false,
                resumes,
                answered: false,
                inbox: Inbox::new(self.now),
            },
        );
        let client = &mut self.sessions[session];
        (client.connection, client.asked_at) = (Some(connection), self.now);
        self.note(|| format!("client {session} opens connection {connection}"));
        let machine = self.rng.random_range(0..self.history.machines);
        self.node.choose_machine(self.now, machine);
        let done = self.node.input(
            self.now,
            Input::Open {
                connection,
                admission: Box::new(admission),
            },
        );
        self.carry_out(done)
    }

    fn publish(&mut self, session: usize, device: Device, out: &mut Vec<Effect>) {
        let client = &mut self.sessions[session];
        if client.is_over() || client.sources.len() >= 4 {
            return;
        }
        let allowed = self.people[client.person].may_publish(track_source(device));
        let id = self.permissions.add_source(SourceState {
            session,
            allowed,
            over: false,
            sids: Vec::new(),
        });
        client.publish(self.now, id, device, out);
    }

    /// Leaves without a message.
    fn vanish(&mut self, session: usize) -> Result<(), Violation> {
        self.sessions[session].phase = Phase::Over;
        self.forget(session);
        if let Some(connection) = self.sessions[session].connection.take() {
            self.break_off(connection, BREAK_NOTICED_MAX);
        }
        Ok(())
    }

    /// The controller dies, and all connections with it.
    fn replace_controller(&mut self) -> Result<(), Violation> {
        let open = self.connections.iter_mut();
        let open = open.filter(|(connection, _)| !self.closed.contains(connection));
        let mut lost = Vec::new();
        for (connection, state) in open {
            state.broken = true;
            lost.push(*connection);
        }
        for connection in lost {
            self.closed.insert(connection);
            let at = self.now + self.rng.random_range(Duration::ZERO..Duration::from_millis(500));
            self.queue.put(at, ScheduledEvent::ClientLoses(connection));
        }
        // Those that go on are said again.
        self.rooms = 0;
        self.summary.takeovers += 1;
        let done = self.node.replace_controller(self.now);
        self.carry_out(done)
    }

    /// The connection breaks; both ends find out, each in its own time.
    pub(super) fn lose_signal(&mut self, session: usize) -> Result<(), Violation> {
        let Some(connection) = self.sessions[session].connection else {
            return Ok(());
        };
        self.break_off(connection, BREAK_NOTICED_MAX);
        let at = self.now + self.rng.random_range(Duration::ZERO..Duration::from_millis(500));
        self.queue.put(at, ScheduledEvent::ClientLoses(connection));
        Ok(())
    }

    pub(super) fn break_off(&mut self, connection: controller::ConnectionId, noticed_within: Duration) {
        let Some(state) = self.connections.get_mut(&connection).filter(|state| !state.broken) else {
            return;
        };
        state.broken = true;
        let at = self.now + self.rng.random_range(Duration::ZERO..=noticed_within);
        self.queue.put(at, ScheduledEvent::NodeLoses(connection));
    }

    /// The client gives up and its person returns as a new one.
    fn start_over(&mut self, person: usize, session: usize) -> Result<(), Violation> {
        self.vanish(session)?;
        self.current[person] = Some(session);
        self.queue
            .put(self.now + Duration::from_millis(100), ScheduledEvent::Return(person));
        Ok(())
    }

    /// A person returns as a new client and publishes its sources again.
    pub(super) fn come_back(&mut self, person: usize) -> Result<(), Violation> {
        let Some(before) = self.current[person]
            .map(|session| &self.sessions[session])
            .filter(|session| session.is_over())
        else {
            return Ok(());
        };
        let devices = before
            .sources
            .iter()
            .map(|source| (source.device, source.muted))
            .collect();
        let how = before.how;
        self.join(person, how, devices)
    }

    /// A client resumes on a new connection.
    pub(super) fn resume(&mut self, session: usize) -> Result<(), Violation> {
        let client = &mut self.sessions[session];
        if client.phase != Phase::Resuming {
            return Ok(());
        }
        let (person, how, sid) = (client.person, client.how, client.sid.clone());
        let Some(sid) = sid else {
            client.phase = Phase::Over;
            self.queue.put(self.now, ScheduledEvent::Return(person));
            return Ok(());
        };
        self.summary.resumed += 1;
        let grants = &self.people[person];
        self.open(
            session,
            Request {
                person,
                grants,
                how,
                resume: Some(&sid),
                offer: None,
            },
        )
    }

    fn rebind(&mut self, session: usize) {
        self.sessions[session].rebind();
        self.note_addresses(session);
    }

    fn say_rubbish(&mut self, session: usize, pick: u32) -> Result<(), Violation> {
        let Some(connection) = self.sessions[session].connection else {
            return Ok(());
        };
        let frame = match pick % 4 {
            0 => Frame::Text("{\"offer\": [".into()),
            1 => Frame::Text("{\"somethingNew\": {}}".into()),
            2 => Frame::Binary(pick.to_be_bytes().repeat(9).into()),
            _ => Frame::Binary(Vec::new().into()),
        };
        self.say(connection, frame, None, Vec::new());
        Ok(())
    }

    fn send_rubbish(&mut self, session: usize, pick: u32) {
        let mut bytes: Vec<u8> = (0..pick % 90).map(|_| self.rng.random()).collect();
        // Something of everything: STUN, DTLS, RTP and RTCP by the first bytes.
        let starts: [&[u8]; 5] = [&[0, 1], &[22, 0xfe, 0xfd], &[0x80, 96], &[0x81, 205], &[0xff]];
        let start = starts[pick as usize % starts.len()];
        bytes.splice(..start.len().min(bytes.len()), start.iter().copied());
        let Some(remote) = self.sessions[session].address(0) else {
            return;
        };
        self.queue.put(
            self.now,
            ScheduledEvent::ToNode(
                Path {
                    local: machine::address(self.machine_of(session)),
                    remote,
                },
                bytes,
            ),
        );
    }

    /// Sends a message on a data channel. Without encryption this is its only transport.
    fn speak(&mut self, session: usize, reliable: bool, to: Option<u32>) {
        let client = &self.sessions[session];
        let Some(ufrag) = client
            .data_ufrag()
            .filter(|_| !self.history.dtls && client.phase == Phase::In)
            .map(str::to_owned)
        else {
            return;
        };
        self.messages += 1;
        let (payload, to) = client.message(self.messages, reliable, to);
        self.permissions.message_said(self.messages, session, to, reliable);
        let label = if reliable { RELIABLE } else { LOSSY };
        let at = self.now + self.faults.delay_min;
        self.queue
            .put(at, ScheduledEvent::Message(session, ufrag, label, payload));
    }

    /// Messages of a client that is over may still arrive; it sends no more.
    pub(super) fn forget(&mut self, session: usize) {
        let person = self.sessions[session].person;
        if self.current[person] == Some(session) {
            self.current[person] = None;
        }
    }

    pub(super) fn say_goodbye(&mut self, session: usize) -> Result<(), Violation> {
        if self.sessions[session].phase != Phase::In || self.rng.random() {
            return self.vanish(session);
        }
        let mut effects = Vec::new();
        self.sessions[session].leave(&mut effects);
        self.effects(session, effects)
    }

    pub(super) fn note_addresses(&mut self, session: usize) {
        for peer in [0, 1] {
            if let Some(address) = self.sessions[session].address(peer) {
                self.owners.insert(address, (session, peer));
            }
        }
    }

    pub(super) fn frame(&self, session: usize, message: &signal_request::Message) -> Frame {
        use prost::Message as _;
        let request = livekit_protocol::SignalRequest {
            message: Some(message.clone()),
        };
        if self.sessions[session].how.json {
            Frame::Text(
                serde_json::to_string(&request)
                    .expect("messages have a JSON form")
                    .into(),
            )
        } else {
            Frame::Binary(request.encode_to_vec().into())
        }
    }
}
