//! The state machine itself: it finds whose business an input is and passes it on.

mod administration;
mod admission;
mod downlinks;
mod notices;
mod overview;
mod placement;
mod quotas;
mod settings;
mod takeover;
mod trunks;

pub use administration::room_with_participants;
pub use admission::JoinError;
pub use downlinks::{Downlink, Subscribed};
pub use overview::{Selection, participant_page, room_page};
pub use placement::Placement;
pub use takeover::Takeover;
pub use trunks::trunks;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use environment::Random;

use crate::context::{Context, Core, Index, Timer, Timers};
use crate::ids::{Ids, ParticipantRef, RoomKey};
use crate::limits::{DATA_KEPT_MAX, STORED_MAX};
use crate::negotiation::Described;
use crate::nodes::Nodes;
use crate::quota::Usage;
use crate::room::Room;
use crate::room::data::Arrived;
use crate::{
    Config, ConnectionId, Counter, EndAction, EndCause, EndReason, Event, Input, Join, Notification, Output, Request,
    Resume, RoomChange, WallClock,
};

/// Rooms and everybody in them.
pub struct Controller {
    core: Core,
    rooms: BTreeMap<RoomKey, Room>,
    by_name: BTreeMap<String, RoomKey>,
    connections: BTreeMap<ConnectionId, Connection>,
    /// The rooms that may have changed since they were last saved; `None` while nobody saves them.
    unsaved: Option<BTreeSet<RoomKey>>,
    /// Descriptions that participants of other controllers' rooms share.
    described: Described,
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

/// A connection that has joined. The participant may be gone, or have another connection.
#[derive(Debug)]
struct Connection {
    participant_ref: ParticipantRef,
}

impl Controller {
    /// `seed` is all the randomness there will be: production takes it from the operating system, a
    /// test from its name.
    pub fn new(config: Config, clock: WallClock, seed: [u8; 32]) -> Self {
        let core = Core {
            ids: Ids::new(config.controller),
            config,
            clock,
            random: Random::new(seed),
            index: Index::default(),
            timers: Timers::default(),
            usage: Usage::default(),
            storage: slots::Storage::new(STORED_MAX),
            data_storage: slots::Storage::new(DATA_KEPT_MAX),
            nodes: Nodes::default(),
            is_draining: false,
        };
        Self {
            core,
            rooms: BTreeMap::new(),
            by_name: BTreeMap::new(),
            connections: BTreeMap::new(),
            unsaved: None,
            described: Described::default(),
        }
    }

    /// Takes one input; what there is to do about it is appended to `out`.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Join { connection, join } => self.join(now, connection, *join, out),
            Input::Resume { connection, resume } => self.resume(now, connection, *resume, out),
            Input::Attach { connection, room, sid } => self.takeover().attach(now, connection, &room, &sid, out),
            Input::Request { connection, request } => self.request(now, connection, *request, out),
            Input::Ended { connection } => self.ended(now, connection, out),
            Input::Data {
                transport,
                message,
                passed_on,
                linked,
                data,
            } => {
                let arrived = Arrived {
                    message,
                    passed_on,
                    linked,
                };
                self.data(now, transport, arrived, data, out);
            }
            Input::Admin { request_id, request } => {
                if let Some(reply) = self.administer(now, request_id, request, out) {
                    out.push(Output::Reply { request_id, reply });
                }
            }
            Input::Notice { node, notice } => self.notice(now, node, notice, out),
            Input::NodeLost { node } => self.node_lost(now, node, out),
        }
        self.share_bitrates(now, out);
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; `None` when nothing is
    /// under way.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.core.timers.first()
    }

    /// Does what has become due.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Output>) {
        while let Some(timer) = self.core.timers.pop_due(now) {
            match timer {
                Timer::Participant(participant_ref) => {
                    self.in_room(now, participant_ref.room, out, |room, ctx| {
                        room.wake_participant(ctx, participant_ref.participant)
                    });
                }
                Timer::Node(node) => self.placement().leave(now, node, out),
                Timer::Room(key) => {
                    if self.in_room(now, key, out, Room::wake) == Some(true) {
                        self.remove_deserted(now, key, out);
                    }
                }
            }
        }
        self.share_bitrates(now, out);
    }

    /// How much there is.
    pub fn population(&self) -> Population {
        let mut population = Population {
            rooms: self.rooms.len(),
            ..Population::default()
        };
        for participant in self.rooms.values().flat_map(|room| room.roster().all()) {
            population.participants += 1;
            population.publications += participant.publications.tracks.len();
            population.subscriptions += participant.subscriptions.len();
        }
        population
    }

    fn join(&mut self, now: Instant, connection: ConnectionId, join: Join, out: &mut Vec<Output>) {
        let name = &join.claims.video.room;
        // The rooms may have changed since the front end asked.
        let checked = self.check_texts(now, &join.claims, &join.metadata, &join.attributes);
        if let Err(error) = checked {
            return refuse(connection, error, out);
        }
        self.make_room(now, &join.claims, out);
        let node = match self
            .placement()
            .place(name, join.claims.identity(), join.region.as_deref())
        {
            Ok(node) => node,
            Err(why) => return refuse(connection, JoinError::NoMediaNode(why), out),
        };
        let is_new = !self.by_name.contains_key(name);
        let key = self.room_named(now, &join.claims.iss, name, out);
        let joined = self.in_room(now, key, out, |room, ctx| {
            if is_new {
                room.set_up(ctx, join.room.clone());
                room.emit(ctx, || Some(RoomChange::Started(join.room.agents.clone())));
            }
            room.join(ctx, connection, node, join)
        });
        if let Some(participant) = joined {
            let participant_ref = ParticipantRef { room: key, participant };
            self.connections.insert(connection, Connection { participant_ref });
        }
    }

    fn resume(&mut self, now: Instant, connection: ConnectionId, resume: Resume, out: &mut Vec<Output>) {
        let key = self.by_name.get(&resume.claims.video.room).copied();
        let found = key.and_then(|key| Some((key, self.rooms.get(&key)?.roster().returning(&resume)?)));
        let Some((key, participant)) = found else {
            return turn_away(connection, EndReason::StateMismatch, EndAction::Reconnect, out);
        };
        let participant_ref = ParticipantRef { room: key, participant };
        self.connections.insert(connection, Connection { participant_ref });
        self.in_room(now, key, out, |room, ctx| {
            room.resume(ctx, participant, connection, resume)
        });
    }

    fn request(&mut self, now: Instant, connection: ConnectionId, request: Request, out: &mut Vec<Output>) {
        let Some(known) = self.connections.get(&connection) else {
            return out.push(Output::Count(Counter::UnknownConnection));
        };
        let participant_ref = known.participant_ref;
        let handled = self.in_room(now, participant_ref.room, out, |room, ctx| {
            let found = room.roster().get(participant_ref.participant);
            if found.and_then(|participant| participant.connection()) != Some(connection) {
                return ctx.count(Counter::UnknownConnection);
            }
            room.request(ctx, participant_ref.participant, request);
        });
        if handled.is_none() {
            out.push(Output::Count(Counter::UnknownConnection));
        }
    }

    fn ended(&mut self, now: Instant, connection: ConnectionId, out: &mut Vec<Output>) {
        let Some(Connection { participant_ref, .. }) = self.connections.remove(&connection) else {
            return;
        };
        self.in_room(now, participant_ref.room, out, |room, ctx| {
            let current = room
                .roster()
                .get(participant_ref.participant)
                .and_then(|participant| participant.connection());
            // One that was replaced, or whose participant was put out, has nothing to end.
            if current == Some(connection) {
                room.detach(ctx, participant_ref.participant);
            }
        });
    }

    /// Lets a room do something that may change what is saved of it, and what follows from it.
    fn in_room<T>(
        &mut self,
        now: Instant,
        key: RoomKey,
        out: &mut Vec<Output>,
        act: impl FnOnce(&mut Room, &mut Context<'_>) -> T,
    ) -> Option<T> {
        if let Some(unsaved) = &mut self.unsaved {
            unsaved.insert(key);
        }
        self.with_room(now, key, out, act)
    }

    /// Lets a room do something and, once it is done, what follows from it.
    fn with_room<T>(
        &mut self,
        now: Instant,
        key: RoomKey,
        out: &mut Vec<Output>,
        act: impl FnOnce(&mut Room, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let room = self.rooms.get_mut(&key)?;
        let mut ctx = Context {
            now,
            room: room.profile().shared_name(),
            core: &mut self.core,
            out,
        };
        let result = act(room, &mut ctx);
        room.settle(&mut ctx);
        if self.unsaved.is_none() {
            room.roster_mut().forget_changes();
        }
        Some(result)
    }

    fn named(&self, room: &str) -> Option<&Room> {
        self.by_name.get(room).and_then(|key| self.rooms.get(key))
    }

    fn room_named(&mut self, now: Instant, api_key: &str, name: &str, out: &mut Vec<Output>) -> RoomKey {
        if let Some(key) = self.by_name.get(name) {
            return *key;
        }
        let mut ctx = Context {
            now,
            room: name.into(),
            core: &mut self.core,
            out,
        };
        let room = Room::new(&mut ctx, api_key);
        ctx.core.usage.room_created(api_key);
        ctx.event(Event::RoomStarted { room: name.to_owned() });
        let key = room.roster().room();
        self.by_name.insert(name.to_owned(), key);
        self.rooms.insert(key, room);
        key
    }

    fn remove_deserted(&mut self, now: Instant, key: RoomKey, out: &mut Vec<Output>) {
        // Agents and recorders may be left in it.
        self.in_room(now, key, out, |room, ctx| room.close(ctx, EndReason::RoomDeleted));
        self.forget_room(now, key, out);
    }

    fn forget_room(&mut self, now: Instant, key: RoomKey, out: &mut Vec<Output>) {
        self.in_room(now, key, out, |room, ctx| room.emit(ctx, || Some(RoomChange::Finished)));
        if let Some(room) = self.rooms.remove(&key) {
            self.by_name.remove(room.profile().name());
            self.core.usage.room_removed(room.profile().api_key());
            out.push(Output::Event(Event::RoomFinished {
                room: room.profile().name().to_owned(),
            }));
        }
    }
}

fn refuse(connection: ConnectionId, error: JoinError, out: &mut Vec<Output>) {
    if let JoinError::NoMediaNode(_) = error {
        out.push(Output::Count(Counter::NoMediaNode));
    }
    turn_away(connection, EndReason::JoinFailure, EndAction::Disconnect, out);
}

fn turn_away(connection: ConnectionId, reason: EndReason, action: EndAction, out: &mut Vec<Output>) {
    out.push(Output::Notify {
        connection,
        notification: Notification::Ended { reason, action },
    });
    out.push(Output::End {
        connection,
        cause: EndCause::Session(reason),
    });
}
