//! Inputs and outputs of a [`Cluster`](crate::Cluster).

use std::sync::Arc;
use std::time::Instant;

use southbound::{ControllerId, Epoch, NodeId, Refusal, RoomMessage, RoomState};

/// A request to the store. Its answer bears the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Somebody wants a room served. Answered by [`Output::Opened`], [`Output::Elsewhere`],
    /// [`Output::Absent`] or [`Output::Unavailable`], once for all that ask meanwhile.
    Open {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// A room that nobody has is claimed as well.
        creates: bool,
        /// The controller at this address has just said that it does not serve the room. Nodes may
        /// name it still, where the store has no record. Shape: `host:port`.
        denied_by: Option<String>,
    },
    /// Another controller is to go on with a room: nothing more is said of it to its nodes.
    Release {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
    },
    /// A room is over.
    End {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
    },
    /// A controller's address refuses connections, so its process is gone. Not said of one that
    /// only does not answer.
    Suspect {
        /// The address that refuses. Shape: `host:port`.
        address: String,
    },
    /// The store answers a request of this controller.
    Store {
        /// The request that is answered.
        request: RequestId,
        /// The answer to it.
        answer: StoreAnswer,
    },
    /// The records of controllers and media nodes, as the store's watch reports them.
    Member(MemberChange),
    /// A media node said something, or its connection changed.
    Node {
        /// The node that this is about.
        node: NodeId,
        /// The event of the node.
        event: NodeEvent,
    },
}

/// A change of the members' records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberChange {
    /// A record was written.
    Put {
        /// The key of the record.
        key: String,
        /// The record as bytes.
        value: Vec<u8>,
    },
    /// A record is gone.
    Deleted {
        /// The key of the record.
        key: String,
    },
    /// Changes may have been missed. Everything that there is follows, and then
    /// [`Complete`](Self::Complete).
    Reset,
    /// Everything that there is has been told.
    Complete,
}

/// An event of a media node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeEvent {
    /// The node is connected.
    Connected {
        /// All of its rooms.
        rooms: Vec<RoomState>,
    },
    /// Another controller has claimed or ended rooms at the node.
    Rooms {
        /// The rooms as they are now.
        rooms: Vec<RoomState>,
    },
    /// A part of a room's snapshot, after a claim and before [`Claimed`](Self::Claimed).
    Saved {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The epoch of the claim.
        epoch: Epoch,
        /// The part as it was saved.
        part: Part,
    },
    /// The node has said all of a room that was claimed.
    Claimed {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The epoch of the claim.
        epoch: Epoch,
    },
    /// The node refuses this controller's messages about a room.
    Refused {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The epoch of the refused message.
        epoch: Epoch,
        /// The reason that is given.
        refusal: Refusal,
    },
    /// The connection is lost.
    Lost,
}

/// A part of a room's snapshot, which the node cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name of the part.
    pub name: Arc<str>,
    /// The content, which is sealed.
    pub blob: Arc<[u8]>,
}

/// A value of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    /// The record as bytes.
    pub value: Vec<u8>,
    /// The store's number of its last change.
    pub revision: u64,
}

/// A request to the store. Everything that is written is bound to this controller's lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreOperation {
    /// Grants a new lease to this controller.
    GrantLease,
    /// Keeps the lease for another of its terms.
    KeepAlive,
    /// Reads a record, whoever wrote it.
    Read {
        /// The key of the record.
        key: String,
    },
    /// Writes a record where there is none.
    Claim {
        /// The key of the record.
        key: String,
        /// The record as bytes.
        value: Vec<u8>,
    },
    /// Writes a record in place of one revision of it.
    Swap {
        /// The key of the record.
        key: String,
        /// The revision to replace.
        revision: u64,
        /// The record as bytes.
        value: Vec<u8>,
    },
    /// Removes a record if it has this revision. Needs no answer.
    Delete {
        /// The key of the record.
        key: String,
        /// The revision to remove.
        revision: u64,
    },
}

/// An answer of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAnswer {
    /// The lease is granted or kept.
    Done,
    /// The record that was read; `None` if there is none.
    Entry(Option<StoredValue>),
    /// The record is written.
    Won {
        /// The revision of the record.
        revision: u64,
    },
    /// There is another record, or another revision of it.
    Taken(StoredValue),
    /// There is no record to replace.
    Gone,
    /// The lease is over, and what was bound to it is gone.
    LeaseLost,
    /// The store could not be reached in time. It may have done what was asked.
    Failed,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Ask the store for something.
    Store {
        /// The name of the request.
        request: RequestId,
        /// The operation that is asked for.
        operation: StoreOperation,
    },
    /// Connect to a media node.
    Connect {
        /// The node that this is about.
        node: NodeId,
        /// The address of the node. Shape: `host:port`.
        address: String,
    },
    /// A media node has no record any more. Its connection is not made again once it is lost; a
    /// store that forgets a record does not end the calls of a node that is there.
    Disconnect {
        /// The node that this is about.
        node: NodeId,
    },
    /// Send a message to a media node.
    ToNode {
        /// The node that this is about.
        node: NodeId,
        /// The message with its number.
        message: RoomMessage,
    },
    /// This controller owns the room. If there are parts, it restores the room from them, says
    /// everything of it to `nodes`, and then [`Complete`](southbound::RoomContent::Complete).
    Opened {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The epoch in which it owns it.
        epoch: Epoch,
        /// The parts of its snapshot, in the order of the names, each with the node that had it.
        parts: Vec<(NodeId, Part)>,
        /// The nodes that have something of the room.
        nodes: Vec<NodeId>,
        /// The owner that its nodes obeyed before; `None` for a room that they did not have.
        former: Option<Holder>,
        /// When this controller began to claim it.
        begun: Instant,
    },
    /// Another controller owns the room.
    Elsewhere {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The owner of the room.
        owner: ControllerId,
        /// The owner's address. Shape: `host:port`.
        address: String,
    },
    /// Nobody has the room, and it was not to be created.
    Absent {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
    },
    /// The room cannot be served now.
    Unavailable {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The reason that is given.
        reason: UnavailableReason,
    },
    /// The room is another controller's now: it is to be dropped without a command, and its clients
    /// connect anew.
    Lost {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The epoch in which this controller owned it.
        epoch: Epoch,
        /// The owner that has it now.
        winner: Holder,
        /// The reason that is given.
        reason: LostReason,
    },
    /// A node may not have followed: everything of the room is to be said to it again, and then
    /// [`Complete`](southbound::RoomContent::Complete).
    Resync {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The node that this is about.
        node: NodeId,
    },
    /// A node has a part of the snapshot of a room that this controller owns already. It is to be
    /// saved anew or forgotten.
    KeptPart {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The node that this is about.
        node: NodeId,
        /// The part as it was saved.
        part: Part,
    },
    /// Something to log and count.
    Event(Event),
}

/// A controller that has a room, in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The owner; `None` if only its epoch is known.
    pub controller: Option<ControllerId>,
    /// The epoch in which it owns the room.
    pub epoch: Epoch,
}

/// Why a room cannot be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnavailableReason {
    /// The store cannot be reached, or has not confirmed the lease of this controller.
    Store,
    /// The room's record cannot be read.
    Record,
    /// Others claimed the room at the same time, again and again.
    Contended,
    /// This controller has as many rooms as it takes.
    Full,
}

/// Why a room is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostReason {
    /// A node obeys another owner.
    Fenced,
    /// The store names another owner, with a later epoch.
    Record,
}

/// Something worth a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The lease is over, since the store was not reached or has forgotten it.
    LeaseLost,
    /// A record of a member cannot be read.
    UnreadableMember {
        /// The key of the record.
        key: String,
    },
    /// There are more members than are looked at.
    TooManyMembers,
    /// A node did not let this controller adopt a room, since it obeys another one.
    ClaimRefused {
        /// The node that this is about.
        node: NodeId,
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The epoch of the claim.
        epoch: Epoch,
        /// The epoch that the node has seen.
        held: Epoch,
    },
    /// A node did not say in time what it has of a room.
    Late {
        /// The node that this is about.
        node: NodeId,
        /// The name of the room, as its clients say it.
        room: Arc<str>,
    },
    /// Parts of a room are dropped, since there are too many bytes of them.
    PartsDropped {
        /// The name of the room, as its clients say it.
        room: Arc<str>,
    },
    /// A node does not keep a part of a room's snapshot. Its participant joins anew if the room
    /// gets another owner.
    PartRefused {
        /// The node that this is about.
        node: NodeId,
        /// The name of the room, as its clients say it.
        room: Arc<str>,
        /// The reason that is given.
        refusal: Refusal,
    },
    /// A node takes no more rooms.
    NodeFull {
        /// The node that this is about.
        node: NodeId,
        /// The name of the room, as its clients say it.
        room: Arc<str>,
    },
}
