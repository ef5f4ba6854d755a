//! The state machine: it finds whose business an input is and passes it on.

mod claims;
mod nodes;
mod orphans;
mod standing;
mod store;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use southbound::{ControllerId, Epoch, NodeId, RoomContent, RoomMessage};

use crate::io::{Holder, Input, LostReason, Output, RequestId, StoreOperation, UnavailableReason};
use crate::lease::{Lease, LeaseRequest};
use crate::limits::STORE_RETRY;
use crate::members::Members;
use crate::nodes::Nodes;
use crate::record::{ControllerRecord, MediaRecord, RoomRecord};
use crate::rooms::{Ownership, Room};
use orphans::Orphans;
pub use standing::{RoomStanding, Standing};

/// A controller in its cluster.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its id, which no other controller has, not even this one before it started again.
    pub controller: ControllerId,
    /// Its record for the others.
    pub record: ControllerRecord,
    /// The term of its lease. Others notice after this time that its machine is gone.
    pub lease: Duration,
}

/// The rooms of a controller in its cluster.
#[derive(Debug)]
pub struct Cluster {
    config: Config,
    lease: Lease,
    members: Members,
    nodes: Nodes,
    rooms: BTreeMap<Arc<str>, Room>,
    /// Rooms by the times when something is to be done about them. None is taken out before its
    /// time: one that fires for nothing does no harm.
    timers: BTreeSet<(Instant, Arc<str>)>,
    requests: BTreeMap<RequestId, Purpose>,
    last_request: u64,
    registration: Registration,
    orphans: Orphans,
}

/// The records of this controller and its rooms that are to be written.
#[derive(Debug, Default)]
struct Registration {
    /// The controller's own record is to be written.
    is_own_due: bool,
    /// The revision of the controller's own record, as it was last written.
    own: Option<u64>,
    /// Owned rooms whose records are to be written.
    rooms: VecDeque<Arc<str>>,
    /// Records that are being written.
    writing: usize,
    /// The room that was looked at last.
    audited: Option<Arc<str>>,
    /// The store is left alone until then.
    retry: Option<Instant>,
}

/// The purpose of a request to the store.
#[derive(Debug)]
enum Purpose {
    Lease,
    Own,
    Read { room: Arc<str> },
    Claim { room: Arc<str>, epoch: Epoch },
    Rewrite { room: Arc<str> },
    Nothing,
}

impl Cluster {
    /// A controller that begins now, and owns nothing.
    pub fn new(config: Config, now: Instant) -> Self {
        Self {
            lease: Lease::new(now, config.lease),
            config,
            members: Members::default(),
            nodes: Nodes::default(),
            rooms: BTreeMap::new(),
            timers: BTreeSet::new(),
            requests: BTreeMap::new(),
            last_request: 0,
            registration: Registration::default(),
            orphans: Orphans::default(),
        }
    }

    /// Takes one input; what there is to do about it is appended to `out`.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Output>) {
        let (orphans, rooms) = (&self.orphans, &self.rooms);
        let is_busy = orphans.is_under_way(rooms);
        self.members
            .forgive(now, |controller| is_busy && orphans.owners.contains(&controller));
        match input {
            Input::Open {
                room,
                creates,
                denied_by,
            } => self.open(now, room, creates, denied_by, out),
            Input::Release { room } => self.release(&room, out),
            Input::End { room } => self.end(&room, out),
            Input::Suspect { address } => {
                self.members.suspect(now, &address);
                self.look_for_orphans(now);
            }
            Input::Store { request, answer } => self.answered(now, request, answer, out),
            Input::Member(change) => {
                self.members.take(now, change, out);
                if self.members.has_lost_controller() {
                    self.expect_orphans(now);
                }
            }
            Input::Node { node, event } => self.node_event(now, node, event, out),
        }
        self.adopt_orphans(now, out);
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let rooms = self.timers.first().map(|(at, _)| *at);
        let all = [rooms, self.lease.due(), self.registration.retry, self.orphans.due()];
        all.into_iter().flatten().min()
    }

    /// Does what has become due.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Output>) {
        if let Some(request) = self.lease.ask(now) {
            let operation = match request {
                LeaseRequest::Grant => StoreOperation::GrantLease,
                LeaseRequest::KeepAlive => StoreOperation::KeepAlive,
            };
            self.ask(Purpose::Lease, operation, out);
        }
        if self.registration.retry.is_some_and(|at| at <= now) {
            self.registration.retry = None;
            self.write_records(now, out);
        }
        if self.orphans.due().is_some_and(|at| at <= now) {
            self.look_for_orphans(now);
        }
        while self.timers.first().is_some_and(|(at, _)| *at <= now) {
            let Some((at, room)) = self.timers.pop_first() else {
                return;
            };
            if self.rooms.get(&room).and_then(Room::due) == Some(at) {
                self.room_timeout(now, room, out);
            }
        }
        self.adopt_orphans(now, out);
    }

    /// Whether this controller owns a room.
    pub fn owns(&self, room: &str) -> bool {
        matches!(self.rooms.get(room), Some(Room::Owned(_)))
    }

    /// The other controllers that run, with their records.
    pub fn controllers(&self) -> impl Iterator<Item = (ControllerId, &ControllerRecord)> {
        let own = self.config.controller;
        self.members
            .controllers()
            .filter(move |(controller, _)| *controller != own)
    }

    /// The media nodes that the store knows, with their records.
    pub fn media(&self) -> impl Iterator<Item = (NodeId, &MediaRecord)> {
        self.members.media()
    }

    /// Whether rooms can be claimed: the store has confirmed the lease, and all members are known.
    pub fn is_ready(&self, now: Instant) -> bool {
        self.lease.is_held(now) && self.members.is_complete()
    }

    /// The epoch of a room that this controller owns.
    pub fn epoch(&self, room: &str) -> Option<Epoch> {
        match self.rooms.get(room) {
            Some(Room::Owned(ownership)) => Some(ownership.epoch),
            _ => None,
        }
    }

    /// Sends a node a message about a room. A room that was not claimed there is claimed first.
    /// Nothing is sent about a room that this controller does not own.
    pub fn send(&mut self, room: &Arc<str>, node: NodeId, content: RoomContent, out: &mut Vec<Output>) {
        let Some(Room::Owned(ownership)) = self.rooms.get_mut(room) else {
            return;
        };
        if !self.nodes.is_connected(node) {
            return;
        }
        if !ownership.sent.contains_key(&node) {
            self.nodes.note(node, room, self.config.controller, ownership.epoch);
            say(ownership, room, node, RoomContent::Claim, out);
            say(ownership, room, node, RoomContent::Complete, out);
        }
        say(ownership, room, node, content, out);
    }

    /// The room is in a state that has an end.
    fn wait(&mut self, name: Arc<str>, room: Room) {
        self.timers.extend(room.due().map(|at| (at, name.clone())));
        self.rooms.insert(name, room);
    }

    fn ask(&mut self, purpose: Purpose, operation: StoreOperation, out: &mut Vec<Output>) {
        self.last_request += 1;
        let request = RequestId(self.last_request);
        self.requests.insert(request, purpose);
        out.push(Output::Store { request, operation });
    }

    fn room_record(&self, epoch: Epoch) -> Vec<u8> {
        let owner = self.config.controller.number();
        crate::record::write(&RoomRecord { owner, epoch: epoch.0 })
    }

    fn unavailable(&mut self, room: Arc<str>, reason: UnavailableReason, out: &mut Vec<Output>) {
        self.rooms.remove(&room);
        out.push(Output::Unavailable { room, reason });
    }

    /// Another controller owns the room. Its nodes obey that one already.
    fn lose(&mut self, room: Arc<str>, winner: Holder, reason: LostReason, out: &mut Vec<Output>) {
        if let Some(Room::Owned(ownership)) = self.rooms.remove(&room) {
            self.unclaim(&room, ownership.stored, out);
            out.push(Output::Lost {
                room,
                epoch: ownership.epoch,
                winner,
                reason,
            });
        }
    }

    /// Removes the record of a room, if it is still this controller's.
    fn unclaim(&mut self, room: &str, stored: Option<u64>, out: &mut Vec<Output>) {
        if let Some(revision) = stored {
            let key = crate::room_key(room);
            self.ask(Purpose::Nothing, StoreOperation::Delete { key, revision }, out);
        }
    }

    fn retry_later(&mut self, now: Instant) {
        self.registration.retry.get_or_insert(now + STORE_RETRY);
    }
}

fn say(ownership: &mut Ownership, room: &Arc<str>, node: NodeId, content: RoomContent, out: &mut Vec<Output>) {
    let message = RoomMessage {
        room: room.clone(),
        epoch: ownership.epoch,
        revision: ownership.number(node),
        content,
    };
    out.push(Output::ToNode { node, message });
}
