//! Front ends: the protocols by which peers reach the controller.
//!
//! Each makes the controller's inputs of what its peers say, and says to its peers what the
//! controller tells them. None knows another, and none holds the controller: it may look at the
//! rooms, and everything else goes through a [`Context`]. [`FrontEnds`] knows whose each connection
//! and each request is.

pub(crate) mod administration;
pub(crate) mod agents;
pub(crate) mod audit;
mod context;
pub(crate) mod events;
pub(crate) mod livekit;
pub(crate) mod outbox;
mod readers;
mod registry;
mod sockets;
#[cfg(test)]
mod tests;
pub(crate) mod webhooks;
pub(crate) mod whip;

use std::time::Instant;

use access::ApiKeys;
use controller::{AdminError, AdminReply, AdminRequestId, ConnectionId, EndCause, Notification, RoomEvent, WallClock};
use tokio::sync::mpsc;

pub(crate) use self::context::{Context, Keepsake};
use self::readers::Readers;
pub(crate) use self::registry::{CallContext, FrontEndRequest, FrontEnds, Requests};
use crate::metrics::Metrics;

/// The answer to an administrator.
pub(crate) type AdminAnswer = Result<AdminReply, AdminError>;

/// Something of a front end that media nodes have kept with a room.
#[derive(Debug)]
pub(crate) struct Restored {
    /// The name of the room, as its clients say it.
    pub room: String,
    /// The name of the part.
    pub part: String,
    /// The content, as it was kept.
    pub content: Vec<u8>,
}

/// One front end. Each of these has a default: it takes no notice.
pub(crate) trait FrontEnd: Send {
    /// The controller tells connections of this front end something.
    fn notify(&mut self, _connections: &[ConnectionId], _notification: Notification, _ctx: &mut Context<'_>) {}

    /// The controller ends a connection, after what was told on it before.
    fn end(&mut self, _connection: ConnectionId, _cause: EndCause, _ctx: &mut Context<'_>) {}

    /// The controller answers a request that this front end made as an administrator.
    fn reply(&mut self, _request_id: AdminRequestId, _reply: AdminAnswer, _ctx: &mut Context<'_>) {}

    /// Something happened to a room.
    fn room_event(&mut self, _event: &RoomEvent, _ctx: &mut Context<'_>) {}

    /// Another controller goes on with a room.
    fn room_released(&mut self, _room: &str, _ctx: &mut Context<'_>) {}

    /// This controller goes on with a room, and its nodes have kept this of one of the front ends.
    fn restored(&mut self, _keepsake: &Restored, _ctx: &mut Context<'_>) {}

    /// The nodes of a room were sent everything that is to be kept of it.
    fn saved(&mut self, _room: &str, _ctx: &mut Context<'_>) {}

    /// The controller has handled all inputs, and everything that came of them was told.
    fn handled(&mut self, _ctx: &mut Context<'_>) {}

    /// When this front end wants to be called again.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does what has become due.
    fn handle_timeout(&mut self, _ctx: &mut Context<'_>) {}
}

/// A front end that takes requests: of its peers, and of those who configure it.
pub(crate) trait RequestHandler: FrontEnd + 'static {
    /// A request.
    type Request: Send + 'static;

    /// Takes a request.
    fn request(&mut self, request: Self::Request, ctx: &mut Context<'_>);
}

/// The handles on all front ends of the program.
#[derive(Clone)]
pub(crate) struct Handles {
    /// Clients of LiveKit's protocol.
    pub livekit: livekit::Handle,
    /// WHIP and WHEP.
    pub whip: whip::Handle,
    /// Workers of agents.
    pub agents: agents::Handle,
    /// The server API.
    pub administration: administration::Handle,
    /// Receivers of webhooks.
    pub webhooks: webhooks::Handle,
}

/// The settings of the front ends.
pub(crate) struct Settings {
    /// Pings of LiveKit's protocol.
    pub pings: ::livekit::Pings,
    /// Sessions of WHIP and WHEP.
    pub sessions: slots::Limits,
    /// The keys of workers' tokens.
    pub keys: ApiKeys,
    /// The time.
    pub wall: WallClock,
    /// Of the ids of jobs.
    pub seed: u64,
    /// The queue of events for the receivers of webhooks.
    pub room_events: mpsc::Sender<webhooks::ToReceivers>,
}

/// All front ends of the program, and the handles on them.
pub(crate) fn all(settings: Settings, metrics: Metrics) -> (FrontEnds, Handles) {
    let livekit = ::livekit::Front::new(settings.pings);
    let mut workers = ::livekit::agents::Workers::new(settings.keys, settings.wall, settings.seed);
    workers.set_ledger(livekit.ledger());
    let mut front_ends = FrontEnds::new(livekit.ledger(), metrics);
    let readers = Readers::default();
    let handles = Handles {
        livekit: livekit::Handle::new(front_ends.add(livekit::LiveKit::new(livekit)), readers.clone()),
        whip: whip::Handle::new(front_ends.add(whip::Whip::new(settings.sessions)), readers.clone()),
        agents: agents::Handle::new(front_ends.add(agents::Agents::new(workers)), readers),
        administration: administration::Handle::new(front_ends.add(administration::Administration::default())),
        webhooks: webhooks::Handle::new(front_ends.add(webhooks::Webhooks::new(settings.room_events))),
    };
    (front_ends, handles)
}
