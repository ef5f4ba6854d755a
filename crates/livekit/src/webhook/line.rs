//! The messages that wait for one receiver.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slots::WEIGHT;

use super::{Counter, DeliveryId, Lost, Message, Outcome, Output, Receiver};
use crate::limits::{WEBHOOK_ATTEMPTS_MAX, WEBHOOK_BYTES_MAX, WEBHOOK_MESSAGES_MAX};

/// How long the first repetition waits. Each further one waits twice as long.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// The longest wait for a repetition, even if the receiver asks for a longer one.
const RETRY_MAX: Duration = Duration::from_secs(30);

/// The messages that wait for one receiver.
#[derive(Debug)]
pub(super) struct Line {
    receiver: Receiver,
    /// Rooms with messages, by their names. Each is ready, waits or has an attempt in progress.
    rooms: BTreeMap<String, Room>,
    /// Rooms whose first message may be sent, the one that has waited longest first.
    ready: VecDeque<String>,
    /// Rooms that wait for a repetition, and until when.
    waiting: BTreeSet<(Instant, String)>,
    /// The number of messages in all rooms.
    len: usize,
    /// The bytes of their bodies.
    bytes: usize,
    /// The number of attempts in progress.
    attempts: usize,
}

#[derive(Debug, Default)]
struct Room {
    /// Messages with the time at which they came. One that is being sent stays in front.
    messages: VecDeque<(Instant, Arc<Message>)>,
    attempt: Option<DeliveryId>,
    /// Attempts that failed since the last one that did not.
    failures: u32,
}

impl Line {
    pub(super) fn new(receiver: Receiver) -> Self {
        Self {
            receiver,
            rooms: BTreeMap::new(),
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            len: 0,
            bytes: 0,
            attempts: 0,
        }
    }

    pub(super) fn with_key(mut self, key: &str) -> Self {
        self.receiver.key = key.to_owned();
        self
    }

    pub(super) fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.first().map(|(until, _)| *until)
    }

    pub(super) fn push(&mut self, came: Instant, message: &Arc<Message>, depth_max: usize, out: &mut Vec<Output>) {
        let room = self.rooms.get(&message.room);
        let depth = room.map_or(0, |room| room.messages.len());
        let bytes: usize = room.map_or(0, |room| room.messages.iter().map(|(_, other)| other.body.len()).sum());
        // A room leaves some to others.
        let free = [
            WEBHOOK_MESSAGES_MAX.saturating_sub(self.len),
            WEBHOOK_BYTES_MAX.saturating_sub(self.bytes),
        ];
        let is_full =
            depth >= depth_max.min(WEIGHT * free[0]) || bytes >= WEIGHT * free[1] || message.body.len() > free[1];
        if is_full {
            return self.lose(message.clone(), Counter::QueueFull, out);
        }
        self.len += 1;
        self.bytes += message.body.len();
        let room = self.rooms.entry(message.room.clone()).or_default();
        room.messages.push_back((came, message.clone()));
        if depth == 0 {
            self.ready.push_back(message.room.clone());
        }
    }

    /// Makes the rooms ready whose wait is over.
    pub(super) fn wake(&mut self, now: Instant) {
        while self.waiting.first().is_some_and(|(until, _)| *until <= now) {
            let due = self.waiting.pop_first();
            self.ready.extend(due.map(|(_, name)| name));
        }
    }

    /// The next message to send, in an attempt of this name.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        id: DeliveryId,
        age_max: Duration,
        out: &mut Vec<Output>,
    ) -> Option<Arc<Message>> {
        while self.attempts < WEBHOOK_ATTEMPTS_MAX {
            let name = self.ready.pop_front()?;
            self.drop_old(&name, now, age_max, out);
            let Some(room) = self.rooms.get_mut(&name) else {
                continue;
            };
            // A room that was forgotten and is back may be listed twice.
            if room.attempt.is_some() {
                continue;
            }
            if let Some((_, message)) = room.messages.front() {
                room.attempt = Some(id);
                self.attempts += 1;
                return Some(message.clone());
            }
        }
        None
    }

    pub(super) fn finish(&mut self, now: Instant, name: &str, id: DeliveryId, outcome: Outcome, out: &mut Vec<Output>) {
        // The receiver may have been removed and added again since.
        let Some(room) = self.rooms.get_mut(name).filter(|room| room.attempt == Some(id)) else {
            return;
        };
        room.attempt = None;
        self.attempts -= 1;
        if let Some(wait) = wait_of(outcome, room.failures) {
            room.failures += 1;
            out.push(Output::Count(Counter::Failed));
            self.waiting.insert((now + wait, name.to_owned()));
            return;
        }
        room.failures = 0;
        let sent = self.take_first(name);
        match (is_success(outcome), sent) {
            (false, Some(message)) => self.lose(message, Counter::Refused, out),
            (_, sent) => {
                out.push(Output::Count(Counter::Delivered));
                out.extend(sent.map(Output::Done));
            }
        }
        if self.rooms.contains_key(name) {
            self.ready.push_back(name.to_owned());
        }
    }

    /// Drops the messages of a room but one that is being sent.
    pub(super) fn forget_room(&mut self, name: &str) {
        let Some(room) = self.rooms.get_mut(name) else {
            return;
        };
        let stays = usize::from(room.attempt.is_some());
        let dropped: Vec<_> = room.messages.drain(stays.min(room.messages.len())..).collect();
        if room.messages.is_empty() {
            self.rooms.remove(name);
        }
        self.len -= dropped.len();
        self.bytes -= dropped.iter().map(|(_, message)| message.body.len()).sum::<usize>();
    }

    /// Gives all messages up.
    pub(super) fn abandon(mut self, out: &mut Vec<Output>) {
        for room in std::mem::take(&mut self.rooms).into_values() {
            for (_, message) in room.messages {
                self.lose(message, Counter::ReceiverRemoved, out);
            }
        }
    }

    fn drop_old(&mut self, name: &str, now: Instant, age_max: Duration, out: &mut Vec<Output>) {
        let came = |line: &Self| Some(line.rooms.get(name)?.messages.front()?.0);
        while came(self).is_some_and(|came| now.saturating_duration_since(came) > age_max) {
            if let Some(message) = self.take_first(name) {
                self.lose(message, Counter::TooOld, out);
            }
        }
    }

    /// Takes the first message of a room, and forgets a room without further messages.
    fn take_first(&mut self, name: &str) -> Option<Arc<Message>> {
        let room = self.rooms.get_mut(name)?;
        let first = room.messages.pop_front();
        if room.messages.is_empty() {
            self.rooms.remove(name);
        }
        let (_, message) = first?;
        self.len -= 1;
        self.bytes -= message.body.len();
        Some(message)
    }

    fn lose(&self, message: Arc<Message>, why: Counter, out: &mut Vec<Output>) {
        out.push(Output::Count(why));
        out.push(Output::Done(message.clone()));
        out.push(Output::Lost(Lost {
            url: self.receiver.url.clone(),
            message,
            why,
        }));
    }
}

fn is_success(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Answered { status: 200..=299, .. })
}

/// How long a message waits for its next attempt; `None` if there is none. Only answers that are
/// about this moment lead to another attempt: 408, 429, and 5xx except 501.
fn wait_of(outcome: Outcome, failures: u32) -> Option<Duration> {
    let asked = match outcome {
        Outcome::Answered { status: 501, .. } => return None,
        Outcome::Answered {
            status: 408 | 429 | 500..=599,
            retry_after,
        } => retry_after,
        Outcome::Answered { .. } => return None,
        Outcome::Failed => None,
    };
    let doubled = RETRY_FIRST.saturating_mul(1 << failures.min(16));
    Some(asked.unwrap_or(doubled).clamp(RETRY_FIRST, RETRY_MAX))
}
