//! The state of all workers, dispatches and jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use access::{ApiKeys, Claims};
use controller::{AgentRequest, ConnectionId, WallClock};
use livekit_protocol::server_message::Message;
use livekit_protocol::{JobType, ServerMessage};
use prost::Message as _;
use slots::{SlotPool, Storage};

use super::job::WorkerKind;
use super::jobs::Jobs;
use super::names::{JobKey, Names};
use super::output::{Counter, Event, Output};
use super::room::Room;
use super::shares::{self, Holder};
use super::timers::{Timer, Timers};
use super::worker::Worker;
use crate::frame::{Frame, Ledger};
use crate::limits::DISPATCHES_KEPT_MAX;

/// How long a worker may take to register.
const REGISTER_MAX: Duration = Duration::from_secs(10);

/// How long a job whose worker is lost is kept for it, while its agent is not in the room.
pub(super) const LOST_GRACE: Duration = Duration::from_secs(20);

/// Workers, the dispatches of rooms, and the jobs that bring the two together.
#[derive(Debug)]
pub struct Workers {
    pub(super) clock: WallClock,
    pub(super) keys: ApiKeys,
    pub(super) names: Names,
    pub(super) workers: BTreeMap<ConnectionId, Worker>,
    pub(super) slots: SlotPool<Holder>,
    pub(super) rooms: BTreeMap<String, Room>,
    pub(super) jobs: Jobs,
    pub(super) timers: Timers,
    ledger: Ledger,
    /// Of dispatches.
    pub(super) storage: Storage,
}

impl Workers {
    /// Without workers and rooms. Tokens are signed with `keys`, and names are made of `seed`.
    pub fn new(keys: ApiKeys, clock: WallClock, seed: u64) -> Self {
        Self {
            clock,
            keys,
            names: Names::new(seed),
            workers: BTreeMap::new(),
            slots: SlotPool::new(shares::LIMITS),
            rooms: BTreeMap::new(),
            jobs: Jobs::default(),
            timers: Timers::default(),
            ledger: Ledger::default(),
            storage: Storage::new(DISPATCHES_KEPT_MAX),
        }
    }

    /// Counts the memory of messages to workers here from now on.
    pub fn set_ledger(&mut self, ledger: Ledger) {
        self.ledger = ledger;
    }

    /// Sets the wall clock from now on.
    pub fn set_clock(&mut self, clock: WallClock) {
        self.clock = clock;
    }

    /// Signs tokens with these keys from now on. A worker whose key is not among them is closed
    /// when it takes a job.
    pub fn set_keys(&mut self, keys: ApiKeys) {
        self.keys = keys;
    }

    /// Whether there is a room of this name.
    pub fn has_room(&self, name: &str) -> bool {
        self.rooms.contains_key(name)
    }

    /// A worker's request was upgraded to a WebSocket; these are the claims of its token, and the
    /// address that it comes from.
    pub fn open(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        claims: Claims,
        address: Option<IpAddr>,
        out: &mut Vec<Output>,
    ) {
        let holders = shares::holders(&claims, address, self.keys.len() > 1);
        let Ok(entry) = self.slots.enter(now, holders) else {
            out.push(Output::Count(Counter::TooManyWorkers));
            let (code, reason) = (1013, Counter::TooManyWorkers.name());
            out.push(Output::Close {
                connection,
                code,
                reason,
            });
            return;
        };
        for (evicted, _) in entry.evicted {
            let of_slot = self.workers.iter().find(|(_, worker)| worker.slot == evicted);
            if let Some(other) = of_slot.map(|(other, _)| *other) {
                self.close(now, other, 1013, Counter::TooManyWorkers, out);
            }
        }
        let id = self.names.next("AW_");
        self.workers.insert(connection, Worker::new(id, claims, entry.slot));
        self.timers.insert(now + REGISTER_MAX, Timer::Registration(connection));
    }

    /// A connection ended, whoever ended it.
    pub fn closed(&mut self, now: Instant, connection: ConnectionId, out: &mut Vec<Output>) {
        let Some(worker) = self.workers.remove(&connection) else {
            return;
        };
        self.slots.leave(worker.slot);
        for key in worker.offers {
            self.jobs.queue(key);
        }
        for key in worker.jobs {
            self.keep_for_worker(now, key);
        }
        if let Some(registration) = worker.registration {
            out.push(Output::Event(Event::Lost { worker: worker.id }));
            self.offer_waiting(now, &registration.kind, out);
        }
    }

    /// The worker of a job is lost. It may come back and report the job.
    fn keep_for_worker(&mut self, now: Instant, key: JobKey) {
        let Some(assignment) = self.jobs.assignment_mut(key) else {
            return;
        };
        assignment.worker = None;
        if assignment.sid.is_none() {
            let grace = now + LOST_GRACE;
            let until = assignment.until.map_or(grace, |until| until.min(grace));
            assignment.until = Some(until);
            self.timers.insert(until, Timer::Job(key));
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first()
    }

    /// Does what has become due.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Output>) {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Registration(connection) => {
                    let worker = self.workers.get(&connection);
                    if worker.is_some_and(|worker| worker.registration.is_none()) {
                        self.close(now, connection, 1008, Counter::Unregistered, out);
                    }
                }
                Timer::Job(key) => self.job_due(now, key, out),
                Timer::Restored(room) => self.offer_restored(now, &room, out),
                Timer::Removal(room, identity) => self.removal_due(room, identity, out),
            }
        }
    }

    /// Ends the connection of a worker, for a reason that is counted.
    pub(super) fn close(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        code: u16,
        counter: Counter,
        out: &mut Vec<Output>,
    ) {
        out.push(Output::Count(counter));
        out.push(Output::Close {
            connection,
            code,
            reason: counter.name(),
        });
        self.closed(now, connection, out);
    }

    /// Sends a message in the form that the worker speaks.
    pub(super) fn send(&self, connection: ConnectionId, message: Message, out: &mut Vec<Output>) {
        if let Some(frame) = frame(self, connection, message) {
            out.push(Output::Send { connection, frame });
        }
    }

    /// Another server says something to a worker, by way of this one.
    pub fn relay(&self, connection: ConnectionId, frame: Frame, out: &mut Vec<Output>) {
        if !self.workers.contains_key(&connection) {
            return;
        }
        let bytes = self.ledger.enter(frame.to_bytes().into());
        let frame = match frame {
            Frame::Text(_) => Frame::Text(bytes),
            Frame::Binary(_) | Frame::Parts(_) => Frame::Binary(bytes),
        };
        out.push(Output::Send { connection, frame });
    }

    /// The kinds of registered workers that may have jobs of a type for an agent.
    pub(super) fn kinds_for(&self, agent: &AgentRequest, job_type: JobType) -> BTreeSet<WorkerKind> {
        let registrations = self.workers.values().filter_map(|worker| worker.registration.as_ref());
        let kinds = registrations.map(|registration| &registration.kind);
        kinds.filter(|kind| kind.serves(agent, job_type)).cloned().collect()
    }
}

/// A message in the form that the worker speaks.
pub(super) fn frame(workers: &Workers, connection: ConnectionId, message: Message) -> Option<Frame> {
    let worker = workers.workers.get(&connection)?;
    let message = ServerMessage { message: Some(message) };
    let text = match worker.json {
        true => serde_json::to_vec(&message).ok(),
        false => None,
    };
    Some(match text {
        Some(text) => Frame::Text(workers.ledger.enter(text)),
        None => Frame::Binary(workers.ledger.enter(message.encode_to_vec())),
    })
}
