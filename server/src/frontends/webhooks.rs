//! Receivers of webhooks: events of rooms are put into their queue.

use controller::RoomEvent;
use livekit::webhook;
use tokio::sync::mpsc;

use super::{Context, FrontEnd, RequestHandler, Requests};

/// Whether there are receivers.
pub(crate) struct SetWanted(bool);

/// The handle on the front end.
#[derive(Clone)]
pub(crate) struct Handle(Requests<SetWanted>);

impl Handle {
    /// On the front end with this queue.
    pub(super) fn new(requests: Requests<SetWanted>) -> Self {
        Self(requests)
    }

    /// Has events of rooms sent to receivers from now on, or no longer.
    pub(crate) async fn set_wanted(&self, wanted: bool) {
        let _ = self.0.send(SetWanted(wanted)).await;
    }
}

/// The front end.
pub(super) struct Webhooks {
    queue: mpsc::Sender<Box<RoomEvent>>,
    wanted: bool,
}

impl Webhooks {
    /// With the receivers' queue. Nobody wants events yet.
    pub(super) fn new(queue: mpsc::Sender<Box<RoomEvent>>) -> Self {
        Self { queue, wanted: false }
    }
}

impl FrontEnd for Webhooks {
    fn room_event(&mut self, event: &RoomEvent, ctx: &mut Context<'_>) {
        // Rooms do not wait for the receivers of their events.
        if self.wanted && self.queue.try_send(Box::new(event.clone())).is_err() {
            ctx.metrics().webhook(webhook::Counter::QueueFull);
        }
    }
}

impl RequestHandler for Webhooks {
    type Request = SetWanted;

    fn request(&mut self, SetWanted(wanted): SetWanted, _: &mut Context<'_>) {
        self.wanted = wanted;
    }
}
