//! The surroundings of a front end while it is called.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use ::livekit::Ledger;
use controller::{AdminRequest, AdminRequestId, ConnectionId, Controller, Input, WallClock};

use super::outbox::{Outbox, ToSocket};
use super::sockets::Sockets;
use crate::metrics::Metrics;

/// The number of a front end.
pub(super) type FrontEndId = usize;

/// Something of a front end that media nodes keep with a room, for the controller after this one.
#[derive(Debug)]
pub(crate) struct Keepsake {
    /// The name of the room, as its clients say it.
    pub room: String,
    /// Its name, which no other front end uses.
    pub part: String,
    /// The content; `None` if it is over.
    pub content: Option<Vec<u8>>,
}

/// The common state of front ends: the owners of connections and requests, and inputs that wait.
pub(super) struct Shared {
    owners: HashMap<ConnectionId, FrontEndId>,
    connections: u64,
    askers: HashMap<AdminRequestId, FrontEndId>,
    admin_requests: u64,
    inputs: VecDeque<Input>,
    /// Whether nodes keep anything.
    pub(super) keeps: bool,
    keepsakes: VecDeque<Keepsake>,
    sockets: Sockets,
    pub(super) metrics: Metrics,
}

/// Everything that a front end may use while it is called.
pub(crate) struct Context<'a> {
    /// Now.
    pub now: Instant,
    /// Now, as people write it.
    pub wall: WallClock,
    /// The rooms, to look at.
    pub rooms: &'a Controller,
    pub(super) front_end: FrontEndId,
    pub(super) shared: &'a mut Shared,
}

impl Shared {
    /// Nobody is connected. All messages are on this ledger.
    pub(super) fn new(ledger: Ledger, metrics: Metrics) -> Self {
        Self {
            owners: HashMap::new(),
            connections: 0,
            askers: HashMap::new(),
            admin_requests: 0,
            inputs: VecDeque::new(),
            keeps: false,
            keepsakes: VecDeque::new(),
            sockets: Sockets::new(ledger, metrics.clone()),
            metrics,
        }
    }

    /// The front end of a connection.
    pub(super) fn owner(&self, connection: ConnectionId) -> Option<FrontEndId> {
        self.owners.get(&connection).copied()
    }

    /// The front end that made a request. Each is answered once.
    pub(super) fn take_asker(&mut self, request_id: AdminRequestId) -> Option<FrontEndId> {
        self.askers.remove(&request_id)
    }

    /// The next part that nodes are to keep.
    pub(super) fn next_keepsake(&mut self) -> Option<Keepsake> {
        self.keepsakes.pop_front()
    }

    pub(super) fn has_inputs(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// The next input for the controller.
    pub(super) fn next_input(&mut self) -> Option<Input> {
        let input = self.inputs.pop_front()?;
        if let Input::Ended { connection } = &input {
            self.owners.remove(connection);
        }
        Some(input)
    }
}

impl Context<'_> {
    /// A connection of a new peer. The controller learns of it by what is passed to it.
    pub(crate) fn connect(&mut self) -> ConnectionId {
        self.shared.connections += 1;
        let connection = ConnectionId(self.shared.connections);
        self.shared.owners.insert(connection, self.front_end);
        connection
    }

    /// Forgets a connection that the controller does not know. One that it knows is forgotten with
    /// [`Input::Ended`].
    pub(crate) fn disconnect(&mut self, connection: ConnectionId) {
        self.shared.owners.remove(&connection);
    }

    /// Passes an input to the controller, after those before it.
    pub(crate) fn input(&mut self, input: Input) {
        self.shared.inputs.push_back(input);
    }

    /// Asks the controller for something as an administrator does.
    pub(crate) fn administer(&mut self, request: AdminRequest) -> AdminRequestId {
        self.shared.admin_requests += 1;
        let request_id = AdminRequestId(self.shared.admin_requests);
        self.shared.askers.insert(request_id, self.front_end);
        self.input(Input::Admin { request_id, request });
        request_id
    }

    /// The messages of a connection go into this queue from now on.
    pub(crate) fn open_socket(&mut self, connection: ConnectionId, outbox: Outbox) {
        self.shared.sockets.insert(connection, outbox);
    }

    /// The socket of a connection is gone.
    pub(crate) fn close_socket(&mut self, connection: ConnectionId) {
        self.shared.sockets.remove(connection);
    }

    /// Appends an order to the queue of a connection's socket.
    pub(crate) fn tell(&mut self, connection: ConnectionId, what: ToSocket) {
        self.shared.sockets.tell(connection, what);
    }

    /// Whether another controller may go on with the rooms.
    pub(crate) fn has_successors(&self) -> bool {
        self.shared.keeps
    }

    /// Has the nodes of a room keep this for the next controller, or forget it. Without other
    /// controllers nothing is kept.
    pub(crate) fn keep(&mut self, keepsake: Keepsake) {
        if self.shared.keeps {
            self.shared.keepsakes.push_back(keepsake);
        }
    }

    /// The measurements.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }
}
