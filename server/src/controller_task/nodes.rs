//! The media nodes that a controller commands: the one in its process, or those of a cluster.

use std::sync::Arc;
use std::time::Instant;

use controller::{Controller, Event, Input, Output};
use southbound::{Command, NodeId, Notice};

use crate::cluster::coordinator::{self, Coordinator, KeepsakeNews};
use crate::frontends::Keepsake;
use crate::media::node_link::NodeLink;

/// The media nodes that a controller commands.
pub(crate) enum Nodes {
    /// The one in this process.
    Own(NodeLink<Notice>),
    /// Those that other controllers command as well.
    Shared(Box<Coordinator>),
}

/// One thing that happened there.
pub(super) enum NodesEvent {
    Own(Notice),
    Shared(coordinator::Event),
}

impl Nodes {
    pub(super) fn are_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Whether rooms can be served.
    pub(super) fn are_ready(&self, now: Instant) -> bool {
        match self {
            Self::Own(_) => true,
            Self::Shared(coordinator) => coordinator.is_ready(now),
        }
    }

    /// The cluster with at most this number of rooms, if there is one.
    pub(super) fn overview(&self, now: Instant, rooms: &Controller, rooms_max: usize) -> Option<operator::Cluster> {
        match self {
            Self::Own(_) => None,
            Self::Shared(coordinator) => Some(coordinator.overview(now, rooms, rooms_max)),
        }
    }

    /// The next event. Nothing is lost if this is given up.
    pub(super) async fn next(&mut self) -> Option<NodesEvent> {
        match self {
            Self::Own(link) => link.next().await.map(NodesEvent::Own),
            Self::Shared(coordinator) => coordinator.next().await.map(NodesEvent::Shared),
        }
    }

    /// Takes an event. Returns what the controller is to be told.
    pub(super) fn take(
        &mut self,
        now: Instant,
        event: NodesEvent,
        rooms: &mut Controller,
        out: &mut Vec<Output>,
    ) -> Option<Input> {
        match (self, event) {
            (Self::Own(link), NodesEvent::Own(notice)) => Some(livekit::notice_input(link.id(), notice)),
            (Self::Shared(coordinator), NodesEvent::Shared(event)) => coordinator.take(now, event, rooms, out),
            _ => None,
        }
    }

    /// Hands a command over. One for the own node waits while that has as many as it takes; one for
    /// others waits for [`flush`](Self::flush).
    pub(super) async fn command(&mut self, node: NodeId, room: Option<Arc<str>>, command: Command) {
        match self {
            Self::Own(link) => link.send([command]).await,
            Self::Shared(coordinator) => coordinator.command(node, room, command),
        }
    }

    /// Sends what was handed over, waiting while a node has as much as it takes.
    pub(super) async fn flush(&mut self) {
        if let Self::Shared(coordinator) = self {
            coordinator.flush().await;
        }
    }

    /// Whether the controller may be told. Appends the refusal otherwise.
    pub(super) fn admit(&self, input: &Input, out: &mut Vec<Output>) -> bool {
        match self {
            Self::Own(_) => true,
            Self::Shared(coordinator) => coordinator.admit(input, out),
        }
    }

    /// Notes which rooms there are.
    pub(super) fn note(&mut self, now: Instant, event: &Event) {
        match (self, event) {
            (Self::Shared(coordinator), Event::RoomStarted { room }) => coordinator.room_started(room),
            (Self::Shared(coordinator), Event::RoomFinished { room }) => coordinator.room_finished(now, room),
            _ => {}
        }
    }

    /// The controller has handled something.
    pub(super) fn settled(&mut self, now: Instant, rooms: &mut Controller) {
        if let Self::Shared(coordinator) = self {
            coordinator.settled(now, rooms);
        }
    }

    /// Has the nodes of a room keep something for the next controller.
    pub(super) fn keep(&mut self, now: Instant, keepsake: Keepsake) {
        if let Self::Shared(coordinator) = self {
            coordinator.keep(now, keepsake);
        }
    }

    /// News about parts of front ends, in their order.
    pub(super) fn take_kept(&mut self) -> Vec<KeepsakeNews> {
        match self {
            Self::Own(_) => Vec::new(),
            Self::Shared(coordinator) => coordinator.take_kept(),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Own(_) => None,
            Self::Shared(coordinator) => coordinator.poll_timeout(),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, rooms: &mut Controller, out: &mut Vec<Output>) {
        if let Self::Shared(coordinator) = self {
            coordinator.handle_timeout(now, rooms, out);
        }
    }

    /// Takes no new room from now on.
    pub(super) fn drain(&mut self) {
        if let Self::Shared(coordinator) = self {
            coordinator.drain();
        }
    }

    /// Ends all rooms, or leaves them to other controllers.
    pub(super) async fn shut_down(&mut self, now: Instant, rooms: &mut Controller, out: &mut Vec<Output>) {
        match self {
            Self::Own(_) => rooms.shut_down(now, out),
            Self::Shared(coordinator) => coordinator.leave(now, rooms, out).await,
        }
    }
}
