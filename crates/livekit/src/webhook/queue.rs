//! Which message is sent to which receiver, and when.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::ApiKeys;

use super::Message;
use super::line::Line;

/// The settings of the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The receivers, each of another URL. Each gets every message.
    pub receivers: Vec<Receiver>,
    /// The names of the events that are sent; empty for all but `exclude`.
    pub include: Vec<String>,
    /// The names of the events that are not sent, unless `include` names any.
    pub exclude: Vec<String>,
    /// How old a message may be when an attempt begins.
    pub age_max: Duration,
    /// The most messages of one room that wait for a receiver.
    pub depth_max: usize,
}

/// A receiver of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Its address, `http:` or `https:`.
    pub url: String,
    /// The API key that signs for it.
    pub key: String,
}

/// The name of one attempt. None is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeliveryId(pub u64);

/// One attempt to deliver a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its name. Its outcome bears the same.
    pub id: DeliveryId,
    /// The receiver.
    pub receiver: Receiver,
    /// The message.
    pub message: Arc<Message>,
}

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver answered.
    Answered {
        /// The status of HTTP.
        status: u16,
        /// How long the receiver asks to be left alone (`Retry-After`).
        retry_after: Option<Duration>,
    },
    /// There was no answer.
    Failed,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send a message, and report the outcome within a bounded time.
    Send(Delivery),
    /// Something to count.
    Count(Counter),
    /// Log that a message is not delivered. It has been counted.
    Lost(Lost),
    /// A receiver is done with a message: it has it, or does not get it.
    Done(Arc<Message>),
}

/// A message that is not delivered to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The receiver's address.
    pub url: String,
    /// The message.
    pub message: Arc<Message>,
    /// Why.
    pub why: Counter,
}

counting::counters! {
    /// Counters of deliveries.
    pub enum Counter {
        /// A message that its receiver has taken.
        Delivered = "delivered",
        /// An attempt without an answer, or with one that asks for another.
        Failed = "failed",
        /// A message that its receiver refused. It is not sent again.
        Refused = "refused",
        /// A message that was dropped because it waited too long.
        TooOld = "too_old",
        /// A message that was dropped because too many were waiting.
        QueueFull = "queue_full",
        /// A message that was dropped because its receiver is configured no longer.
        ReceiverRemoved = "receiver_removed",
    }
}

/// The messages that wait for their receivers.
///
/// Messages of one room reach a receiver one at a time, in order. Rooms and receivers do not wait
/// for each other, except that one receiver has a bounded number of attempts at a time. Reaching a
/// bound drops the newest message and counts it.
#[derive(Debug, Default)]
pub struct Queue {
    settings: Settings,
    /// By the receivers' URLs.
    lines: BTreeMap<String, Line>,
    /// Attempts in progress: the receiver's URL and the room's name.
    attempts: BTreeMap<DeliveryId, (String, String)>,
    deliveries: u64,
    /// The keys, whose receivers are told of their rooms only.
    keys: ApiKeys,
}

impl Queue {
    /// Sets the receivers and the bounds from now on. Messages for receivers that stay are kept.
    pub fn configure(&mut self, settings: Settings, out: &mut Vec<Output>) {
        let mut old = std::mem::take(&mut self.lines);
        for receiver in &settings.receivers {
            let line = match old.remove(&receiver.url) {
                Some(line) => line.with_key(&receiver.key),
                None => Line::new(receiver.clone()),
            };
            self.lines.insert(receiver.url.clone(), line);
        }
        for line in old.into_values() {
            line.abandon(out);
        }
        self.settings = settings;
    }

    /// Tells receivers of the rooms of their keys from now on.
    pub fn set_keys(&mut self, keys: ApiKeys) {
        self.keys = keys;
    }

    /// Takes a message of this age for all receivers. Returns for how many it is; each says
    /// [`Output::Done`] once.
    pub fn push(&mut self, now: Instant, age: Duration, message: Message, out: &mut Vec<Output>) -> usize {
        if !self.is_wanted(message.event) {
            return 0;
        }
        let came = now.checked_sub(age).unwrap_or(now);
        let message = Arc::new(message);
        let keys = &self.keys;
        let told = |line: &&mut Line| keys.rooms(&line.receiver().key).admits(&message.room);
        let mut lines = 0;
        for line in self.lines.values_mut().filter(told) {
            line.push(came, &message, self.settings.depth_max, out);
            lines += 1;
        }
        self.begin(now, out);
        lines
    }

    /// Drops the messages of a room, which somebody else sends. Those that are being sent stay.
    pub fn forget_room(&mut self, room: &str) {
        for line in self.lines.values_mut() {
            line.forget_room(room);
        }
    }

    /// Takes the outcome of an attempt. Every attempt has one.
    pub fn finish(&mut self, now: Instant, id: DeliveryId, outcome: Outcome, out: &mut Vec<Output>) {
        if let Some((url, room)) = self.attempts.remove(&id)
            && let Some(line) = self.lines.get_mut(&url)
        {
            line.finish(now, &room, id, outcome, out);
        }
        self.begin(now, out);
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; `None` while no message
    /// waits for another attempt.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.lines.values().filter_map(Line::poll_timeout).min()
    }

    /// Begins the attempts that have become due.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Output>) {
        for line in self.lines.values_mut() {
            line.wake(now);
        }
        self.begin(now, out);
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.lines.values().all(Line::is_empty)
    }

    fn is_wanted(&self, event: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == event);
        match self.settings.include.is_empty() {
            true => !is_in(&self.settings.exclude),
            false => is_in(&self.settings.include),
        }
    }

    fn begin(&mut self, now: Instant, out: &mut Vec<Output>) {
        for (url, line) in &mut self.lines {
            loop {
                let id = DeliveryId(self.deliveries);
                let Some(message) = line.begin(now, id, self.settings.age_max, out) else {
                    break;
                };
                self.deliveries += 1;
                self.attempts.insert(id, (url.clone(), message.room.clone()));
                out.push(Output::Send(Delivery {
                    id,
                    receiver: line.receiver().clone(),
                    message,
                }));
            }
        }
    }
}
