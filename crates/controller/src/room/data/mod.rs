//! Messages between participants.

mod blobs;
mod calls;
mod endpoints;
mod labels;
mod links;
mod pass_on;
mod routes;
mod tracks;

use calls::Calls;
use endpoints::Endpoints;

pub(in crate::room) use blobs::{get_blob, store_blob};
pub(in crate::room) use labels::channel;
pub use labels::{DATA_TRACK, LOSSY, RELIABLE};
pub(in crate::room) use pass_on::send_early;
use tracks::DataTracks;

use slots::Account;
use southbound::{Command, Linked, MessageId, NodeId, TransportId};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::own_data::DataState;
use crate::room::roster::Roster;
use crate::{AdminError, AdminRequestId, DataMessage, PerformRpc};

/// The messages of a room: calls that wait for an answer, data tracks, and packets that are kept.
#[derive(Debug)]
pub(in crate::room) struct Data {
    pub(in crate::room) calls: Calls,
    pub(in crate::room) tracks: DataTracks,
    pub(in crate::room) endpoints: Endpoints,
    /// Of the packets that are kept beyond the shares of participants.
    account: Account,
}

/// A message that arrived at a node.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    /// The agent's name for it.
    pub(crate) message: MessageId,
    /// The number of the endpoints up to which the node has passed it on.
    pub(crate) passed_on: Option<u64>,
    /// The endpoints of other nodes that it was sent to over links.
    pub(crate) linked: Linked,
}

/// The messages of a room with everybody that they may be for.
pub(crate) struct Messages<'a> {
    data: &'a mut Data,
    roster: &'a mut Roster,
}

impl Messages<'_> {
    /// A participant that has left sent a message before.
    pub(crate) fn take_last(
        self,
        ctx: &mut Context<'_>,
        transport: TransportId,
        data: Option<Box<DataMessage>>,
        arrived: &Arrived,
    ) {
        let Messages { data: messages, roster } = self;
        pass_on::take_last(ctx, (&messages.endpoints, roster), transport, data, arrived);
    }

    /// A node is told that what came from another one has been passed on.
    pub(crate) fn tell_source(self, ctx: &mut Context<'_>, node: NodeId, source: Command) {
        self.data.endpoints.tell_source(ctx, node, source);
    }

    /// Somebody gets a message that it has missed, of a sender on another node.
    pub(crate) fn send_missed(self, ctx: &mut Context<'_>, sender: (NodeId, &str), to: TransportId, missed: Command) {
        self.data.endpoints.send_missed(ctx, sender, to, missed);
    }

    /// An administrator sends a message.
    pub(crate) fn send(self, ctx: &mut Context<'_>, message: &DataMessage) {
        pass_on::send(ctx, self.roster, message);
    }

    /// Calls a method of a participant. The answer comes later.
    ///
    /// Errors: the call was not made.
    pub(crate) fn call(
        self,
        ctx: &mut Context<'_>,
        to: ParticipantKey,
        request_id: AdminRequestId,
        request: PerformRpc,
    ) -> Result<(), AdminError> {
        self.data.calls.call(ctx, self.roster, to, request_id, request)
    }
}

impl Data {
    /// Those of a room, with its participants.
    pub(in crate::room) fn messages<'a>(&'a mut self, roster: &'a mut Roster) -> Messages<'a> {
        Messages { data: self, roster }
    }

    /// Of a room with this account.
    pub(in crate::room) fn new(account: Account) -> Self {
        Self {
            calls: Calls::default(),
            tracks: DataTracks::default(),
            endpoints: Endpoints::default(),
            account,
        }
    }

    /// Tells nodes which messages they pass on by themselves.
    pub(in crate::room) fn settle(&mut self, ctx: &mut Context<'_>, roster: &mut Roster) {
        self.endpoints.settle(ctx, roster, &mut self.tracks);
    }

    /// The packets of a new participant.
    pub(in crate::room) fn state(&self) -> DataState {
        DataState::new(&self.account)
    }
}
