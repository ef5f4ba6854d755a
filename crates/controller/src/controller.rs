//! The state machine itself: it finds whose business an input is and passes it on.

mod administration;
mod downlinks;

pub use downlinks::{Downlink, Subscribed};

use std::collections::BTreeMap;
use std::time::Instant;

use livekit_protocol::DisconnectReason;
use livekit_protocol::leave_request::Action;
use southbound::{AudioActivity, Command, Notice, TransportId};

use crate::connection::Connection;
use crate::context::{Context, Core, Index, Place, Timer, Timers};
use crate::ids::{Ids, ParticipantKey, Random, RoomKey};
use crate::limits::ROOMS_MAX;
use crate::livekit::frame::Outgoing;
use crate::livekit::{Admission, Received, Refusal, Unusable};
use crate::room::{Room, leave};
use crate::{Config, ConnectionId, Counter, Event, Input, Output, WallClock};
use access::ApiKeys;

/// Rooms and everybody in them.
pub struct Controller {
    core: Core,
    rooms: BTreeMap<RoomKey, Room>,
    by_name: BTreeMap<String, RoomKey>,
    connections: BTreeMap<ConnectionId, Connection>,
}

/// How much there is, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Population {
    /// Rooms, empty ones included.
    pub rooms: usize,
    /// Participants in all rooms.
    pub participants: usize,
    /// Tracks that arrive or may.
    pub publications: usize,
    /// Tracks that somebody gets or waits for.
    pub subscriptions: usize,
}

impl Controller {
    /// `seed` is all the randomness there will be: production takes it from the operating system, a test from its name.
    pub fn new(config: Config, clock: WallClock, seed: [u8; 32]) -> Self {
        let core = Core {
            config,
            clock,
            random: Random::new(seed),
            ids: Ids::default(),
            index: Index::default(),
            timers: Timers::default(),
            node: None,
        };
        Self {
            core,
            rooms: BTreeMap::new(),
            by_name: BTreeMap::new(),
            connections: BTreeMap::new(),
        }
    }

    /// Sets the wall clock from now on: the system's clock may be corrected while the program runs.
    pub fn set_clock(&mut self, clock: WallClock) {
        self.core.clock = clock;
    }

    /// Whether an admitted participant could join as the rooms are now. To be asked before the WebSocket is upgraded, and for the
    /// validating routes, which exist because browsers do not show a page the answer to a refused upgrade.
    ///
    /// Errors: 404 when the room does not exist and is not created by joining, 503 when there is no room for it.
    pub fn vet(&self, admission: &Admission) -> Result<(), Refusal> {
        if self.core.node.is_none() {
            return Err(Refusal::new(503, "no media node is ready"));
        }
        let Some(room) = self.by_name.get(admission.room()).and_then(|key| self.rooms.get(key)) else {
            return match (self.core.config.auto_create, self.rooms.len() < ROOMS_MAX) {
                (false, _) => Err(Refusal::new(404, "requested room does not exist")),
                (true, false) => Err(Refusal::new(503, "this server has as many rooms as it takes")),
                (true, true) => Ok(()),
            };
        };
        let known = room
            .participants
            .values()
            .any(|participant| participant.identity == admission.identity());
        if !known && room.participants.len() >= self.core.config.participants_max {
            return Err(Refusal::new(503, "the room is full"));
        }
        Ok(())
    }

    /// Signs refreshed tokens with these keys from now on. Participants stay, whoever admitted them.
    pub fn set_keys(&mut self, keys: ApiKeys) {
        self.core.config.keys = keys;
    }

    /// Takes one input; what there is to do about it is appended to `out`.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Open { connection, admission } => self.open(now, connection, *admission, out),
            Input::Message { connection, message } => self.message(now, connection, *message, out),
            Input::Closed { connection } => self.closed(now, connection, out),
            Input::Notice(notice) => self.notice(now, notice, out),
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; `None` when nothing is under way.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.core.timers.first()
    }

    /// Does what has become due.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Output>) {
        while let Some(timer) = self.core.timers.pop_due(now) {
            match timer {
                Timer::Participant(place) => {
                    self.in_room(now, place.room, out, |room, ctx| {
                        room.wake_participant(ctx, place.participant)
                    });
                }
                Timer::Room(key) => {
                    self.in_room(now, key, out, Room::wake);
                    self.remove_if_over(now, key, out);
                }
            }
        }
    }

    /// How much there is.
    pub fn population(&self) -> Population {
        let mut population = Population {
            rooms: self.rooms.len(),
            ..Population::default()
        };
        for participant in self.rooms.values().flat_map(|room| room.participants.values()) {
            population.participants += 1;
            population.publications += participant.tracks.len();
            population.subscriptions += participant.subscriptions.len();
        }
        population
    }

    fn open(&mut self, now: Instant, connection: ConnectionId, admission: Admission, out: &mut Vec<Output>) {
        if admission.resume.is_some() {
            return self.open_again(now, connection, admission, out);
        }
        // The rooms may have changed since the request was vetted.
        if self.vet(&admission).is_err() {
            return self.turn_away(connection, DisconnectReason::JoinFailure, Action::Disconnect, out);
        }
        let key = self.room_named(now, admission.room(), out);
        let joined = self.in_room(now, key, out, |room, ctx| room.join(ctx, connection, admission));
        if let Some(participant) = joined {
            self.attach(connection, key, participant);
        }
    }

    fn open_again(&mut self, now: Instant, connection: ConnectionId, admission: Admission, out: &mut Vec<Output>) {
        let key = self.by_name.get(admission.room()).copied();
        let found = key.and_then(|key| Some((key, self.rooms.get(&key)?.returning(&admission)?)));
        let Some((key, participant)) = found else {
            return self.turn_away(connection, DisconnectReason::StateMismatch, Action::Reconnect, out);
        };
        self.attach(connection, key, participant);
        self.in_room(now, key, out, |room, ctx| {
            room.resume(ctx, participant, connection, admission)
        });
    }

    fn attach(&mut self, connection: ConnectionId, room: RoomKey, participant: ParticipantKey) {
        let place = Place { room, participant };
        self.connections.insert(connection, Connection { place });
    }

    fn turn_away(&mut self, connection: ConnectionId, reason: DisconnectReason, action: Action, out: &mut Vec<Output>) {
        let frame = Outgoing::new(leave(reason, action)).frame(false);
        out.push(Output::Send { connection, frame });
        out.push(Output::Close {
            connection,
            code: 1000,
            reason: reason.as_str_name(),
        });
    }

    fn message(&mut self, now: Instant, connection: ConnectionId, received: Received, out: &mut Vec<Output>) {
        let Some(known) = self.connections.get(&connection) else {
            return out.push(Output::Count(Counter::UnknownConnection));
        };
        let place = known.place;
        let message = match received.message {
            Ok(message) => message,
            Err(why) => return self.hang_up(now, connection, why, out),
        };
        let handled = self.in_room(now, place.room, out, |room, ctx| {
            let current = room
                .participants
                .get_mut(&place.participant)
                .filter(|found| found.connection() == Some(connection));
            let Some(participant) = current else {
                return ctx.count(Counter::UnknownConnection);
            };
            participant.signal.json = received.json;
            if let Some(message) = message {
                room.message(ctx, place.participant, message);
            }
        });
        if handled.is_none() {
            out.push(Output::Count(Counter::UnknownConnection));
        }
    }

    /// Ends a connection whose client does not keep to the protocol. It may come back and do better: only its signalling is lost.
    fn hang_up(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        Unusable { code, counter, what }: Unusable,
        out: &mut Vec<Output>,
    ) {
        out.push(Output::Count(counter));
        out.push(Output::Event(Event::Misbehaved { connection, what }));
        out.push(Output::Close {
            connection,
            code,
            reason: counter.name(),
        });
        self.closed(now, connection, out);
    }

    fn closed(&mut self, now: Instant, connection: ConnectionId, out: &mut Vec<Output>) {
        let Some(Connection { place, .. }) = self.connections.remove(&connection) else {
            return;
        };
        self.in_room(now, place.room, out, |room, ctx| {
            let current = room
                .participants
                .get(&place.participant)
                .and_then(|participant| participant.connection());
            // One that was replaced, or whose participant was put out, has nothing to end.
            if current == Some(connection) {
                room.detach(ctx, place.participant);
            }
        });
    }

    fn notice(&mut self, now: Instant, notice: Notice, out: &mut Vec<Output>) {
        match notice {
            Notice::Node(node) => self.core.node = Some(node),
            Notice::Audio(activities) => self.audio(now, activities, out),
            Notice::Refused { why, .. } => out.push(Output::Event(Event::Refused { why })),
            // Of calls that somebody else controls.
            Notice::Relay(_) => {}
            Notice::Received { message, .. } => {
                self.about_somebody(now, notice, out);
                out.push(Output::Command(Command::Handled { message }));
            }
            notice => self.about_somebody(now, notice, out),
        }
    }

    fn about_somebody(&mut self, now: Instant, notice: Notice, out: &mut Vec<Output>) {
        let Some(place) = self.subject(&notice) else {
            return out.push(Output::Count(Counter::StaleNotice));
        };
        self.in_room(now, place.room, out, |room, ctx| {
            room.notice(ctx, place.participant, notice)
        });
    }

    /// Whom a notice is about.
    fn subject(&self, notice: &Notice) -> Option<Place> {
        let of_transport = |transport: &TransportId| self.core.index.transports.get(transport).copied();
        match notice {
            Notice::Connected { transport, .. }
            | Notice::Disconnected { transport }
            | Notice::Closed { transport, .. }
            | Notice::ChannelOpened { transport, .. }
            | Notice::ChannelClosed { transport, .. }
            | Notice::Received { transport, .. }
            | Notice::Quality { transport, .. } => of_transport(transport),
            Notice::Started { track } | Notice::Encodings { track, .. } => self.core.index.tracks.get(track).copied(),
            Notice::Delivered { subscription } | Notice::Paused { subscription, .. } => {
                self.core.index.subscriptions.get(subscription).copied()
            }
            Notice::Node(_) | Notice::Audio(_) | Notice::Refused { .. } | Notice::Relay(_) => None,
        }
    }

    fn audio(&mut self, now: Instant, activities: Vec<AudioActivity>, out: &mut Vec<Output>) {
        let mut heard: BTreeMap<RoomKey, Vec<(ParticipantKey, AudioActivity)>> = BTreeMap::new();
        for activity in activities {
            if let Some(place) = self.core.index.tracks.get(&activity.track) {
                heard.entry(place.room).or_default().push((place.participant, activity));
            }
        }
        for (key, heard) in heard {
            self.in_room(now, key, out, |room, ctx| room.take_audio(ctx, heard.into_iter()));
        }
    }

    /// Lets a room do something and, once it is done, what follows from it.
    fn in_room<T>(
        &mut self,
        now: Instant,
        key: RoomKey,
        out: &mut Vec<Output>,
        act: impl FnOnce(&mut Room, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let room = self.rooms.get_mut(&key)?;
        let mut ctx = Context {
            now,
            core: &mut self.core,
            out,
        };
        let result = act(room, &mut ctx);
        room.settle(&mut ctx);
        Some(result)
    }

    fn room_named(&mut self, now: Instant, name: &str, out: &mut Vec<Output>) -> RoomKey {
        if let Some(key) = self.by_name.get(name) {
            return *key;
        }
        let mut ctx = Context {
            now,
            core: &mut self.core,
            out,
        };
        let room = Room::new(&mut ctx, name.to_owned());
        ctx.event(Event::RoomStarted { room: name.to_owned() });
        let key = room.key;
        self.by_name.insert(name.to_owned(), key);
        self.rooms.insert(key, room);
        key
    }

    fn remove_if_over(&mut self, now: Instant, key: RoomKey, out: &mut Vec<Output>) {
        if self.in_room(now, key, out, |room, ctx| room.is_over(ctx)) == Some(true) {
            self.forget_room(key, out);
        }
    }

    fn forget_room(&mut self, key: RoomKey, out: &mut Vec<Output>) {
        if let Some(room) = self.rooms.remove(&key) {
            self.by_name.remove(&room.name);
            out.push(Output::Event(Event::RoomFinished { room: room.name }));
        }
    }
}
