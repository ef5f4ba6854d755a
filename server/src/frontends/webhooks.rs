//! Receivers of webhooks: events of rooms are put into their queue.
//!
//! Among other controllers, the nodes of a room keep each event until the receivers have it, and it
//! is sent once they keep it. So the next controller sends those that were left, under the same
//! ids.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use controller::RoomEvent;
use livekit::webhook::{self, Message};
use tokio::sync::mpsc;

use super::{Context, FrontEnd, Keepsake, RequestHandler, Requests, Restored};

/// The first letters of the parts of events. The rest is a number, so that they are in their order.
const PART: &str = "webhook ";

/// A request for the front end.
pub(crate) enum Request {
    /// Whether there are receivers.
    SetWanted(bool),
    /// The receivers are done with an event of a room, by the name of its part.
    Done(String, String),
}

/// A word for the task of the receivers.
#[derive(Debug)]
pub(crate) enum ToReceivers {
    /// An event that is kept nowhere.
    Event(Box<RoomEvent>),
    /// An event that nodes keep.
    Saved(Box<SavedEvent>),
    /// Another controller sends the events of this room.
    Released(String),
}

/// An event that nodes keep.
#[derive(Debug)]
pub(crate) struct SavedEvent {
    /// The message of the event.
    pub message: Message,
    /// The time since the event.
    pub age: Duration,
    /// The name of its part.
    pub part: String,
}

/// The handle on the front end.
#[derive(Clone)]
pub(crate) struct Handle(Requests<Request>);

impl Handle {
    /// On the front end with this queue.
    pub(super) fn new(requests: Requests<Request>) -> Self {
        Self(requests)
    }

    /// Has events of rooms sent to receivers from now on, or no longer.
    pub(crate) async fn set_wanted(&self, wanted: bool) {
        let _ = self.0.send(Request::SetWanted(wanted)).await;
    }

    /// The receivers are done with an event, which nodes need not keep.
    pub(crate) async fn done(&self, room: String, part: String) {
        let _ = self.0.send(Request::Done(room, part)).await;
    }
}

/// The front end.
pub(super) struct Webhooks {
    queue: mpsc::Sender<ToReceivers>,
    wanted: bool,
    /// Rooms with events that nodes keep.
    rooms: BTreeMap<String, Room>,
}

/// The events of a room that nodes keep.
#[derive(Default)]
struct Room {
    /// The number of the next one.
    next: u64,
    /// The number of those that receivers are not done with.
    kept: usize,
    /// Those that wait until they are kept.
    held: VecDeque<SavedEvent>,
}

impl Webhooks {
    /// With the receivers' queue. Nobody wants events yet.
    pub(super) fn new(queue: mpsc::Sender<ToReceivers>) -> Self {
        Self {
            queue,
            wanted: false,
            rooms: BTreeMap::new(),
        }
    }

    /// Hands an event to the receivers, for which rooms do not wait.
    fn hand_over(&mut self, kept: SavedEvent, ctx: &mut Context<'_>) {
        let (room, part) = (kept.message.room.clone(), kept.part.clone());
        if self.queue.try_send(ToReceivers::Saved(Box::new(kept))).is_err() {
            ctx.metrics().webhook(webhook::Counter::QueueFull);
            self.done(room, part, ctx);
        }
    }

    fn done(&mut self, room: String, part: String, ctx: &mut Context<'_>) {
        if let Some(known) = self.rooms.get_mut(&room) {
            known.kept = known.kept.saturating_sub(1);
            if known.kept == 0 {
                self.rooms.remove(&room);
            }
            let content = None;
            ctx.keep(Keepsake { room, part, content });
        }
    }
}

impl FrontEnd for Webhooks {
    fn room_event(&mut self, event: &RoomEvent, ctx: &mut Context<'_>) {
        if !self.wanted {
            return;
        }
        let event = Box::new(event.clone());
        if !ctx.has_successors() {
            // Rooms do not wait for the receivers of their events.
            if self.queue.try_send(ToReceivers::Event(event)).is_err() {
                ctx.metrics().webhook(webhook::Counter::QueueFull);
            }
            return;
        }
        let message = Message::new(*event);
        let room = self.rooms.entry(message.room.clone()).or_default();
        let part = format!("{PART}{:020}", room.next);
        ctx.keep(Keepsake {
            room: message.room.clone(),
            part: part.clone(),
            content: Some(message.save()),
        });
        room.next += 1;
        room.kept += 1;
        let age = Duration::ZERO;
        room.held.push_back(SavedEvent { message, age, part });
    }

    fn restored(&mut self, keepsake: &Restored, ctx: &mut Context<'_>) {
        let Some(number) = keepsake.part.strip_prefix(PART) else {
            return;
        };
        let (room, part) = (keepsake.room.clone(), keepsake.part.clone());
        let known = self.rooms.entry(room.clone()).or_default();
        known.kept += 1;
        match (number.parse::<u64>(), Message::restore(&keepsake.content)) {
            (Ok(number), Some(message)) if self.wanted && message.room == room => {
                known.next = known.next.max(number.saturating_add(1));
                let age = ctx.wall.unix.saturating_sub(message.at);
                self.hand_over(SavedEvent { message, age, part }, ctx);
            }
            _ => self.done(room, part, ctx),
        }
    }

    fn saved(&mut self, room: &str, ctx: &mut Context<'_>) {
        let held = self.rooms.get_mut(room).map(|room| std::mem::take(&mut room.held));
        for kept in held.into_iter().flatten() {
            self.hand_over(kept, ctx);
        }
    }

    fn room_released(&mut self, room: &str, _: &mut Context<'_>) {
        if self.rooms.remove(room).is_some() {
            // An error means that receivers may get an event of the room twice.
            let _ = self.queue.try_send(ToReceivers::Released(room.to_owned()));
        }
    }
}

impl RequestHandler for Webhooks {
    type Request = Request;

    fn request(&mut self, request: Request, ctx: &mut Context<'_>) {
        match request {
            Request::SetWanted(wanted) => self.wanted = wanted,
            Request::Done(room, part) => self.done(room, part, ctx),
        }
    }
}
