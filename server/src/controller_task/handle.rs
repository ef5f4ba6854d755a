//! The handle on the controller, for everything that is no front end's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use access::{ApiKeys, RoomNames};
use controller::{Downlink, PinnedRooms, Quotas, Selection};
use operator::{ParticipantPage, RoomOrder, RoomPage};
use timeline::Recording;
use tokio::sync::{mpsc, oneshot};

use super::ControllerRequest;
use crate::metrics::recorder::RecorderCounts;

/// The handle on the controller.
#[derive(Clone)]
pub(crate) struct Handle {
    requests: mpsc::Sender<ControllerRequest>,
    /// Nobody may join any more.
    is_draining: Arc<AtomicBool>,
}

impl Handle {
    /// On the controller with this queue.
    pub(super) fn new(requests: mpsc::Sender<ControllerRequest>) -> Self {
        Self {
            requests,
            is_draining: Arc::default(),
        }
    }

    /// A participant's downlink, by room and identity.
    pub(crate) async fn downlink(&self, room: String, identity: String) -> Option<Downlink> {
        let (answer, answered) = oneshot::channel();
        self.requests
            .send(ControllerRequest::Downlink(room, identity, answer))
            .await
            .ok()?;
        answered.await.ok()?
    }

    /// At most `max` downlinks, of one room or of all, as far as they are among `rooms`.
    pub(crate) async fn downlinks(&self, room: Option<String>, rooms: RoomNames, max: usize) -> Vec<Downlink> {
        let (answer, answered) = oneshot::channel();
        match self
            .requests
            .send(ControllerRequest::Downlinks(room, rooms, max, answer))
            .await
        {
            Ok(()) => answered.await.unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }

    /// The cluster with at most this number of rooms; `None` without one, or at the end of the
    /// controller.
    pub(crate) async fn cluster(&self, rooms_max: usize) -> Option<operator::Cluster> {
        let (answer, answered) = oneshot::channel();
        let request = ControllerRequest::Cluster(rooms_max, answer);
        self.requests.send(request).await.ok()?;
        answered.await.ok()?
    }

    /// A copy of the timeline of a participant, by room and identity, if there is one.
    pub(crate) async fn recording(&self, room: String, identity: String) -> Option<Recording> {
        let (answer, answered) = oneshot::channel();
        let request = ControllerRequest::Recording(room, identity, answer);
        self.requests.send(request).await.ok()?;
        answered.await.ok()?
    }

    /// The counts of the recorder of timelines; `None` at the end of the controller.
    pub(crate) async fn recorder_counts(&self) -> Option<RecorderCounts> {
        let (answer, answered) = oneshot::channel();
        self.requests
            .send(ControllerRequest::RecorderCounts(answer))
            .await
            .ok()?;
        answered.await.ok()
    }

    /// A page of rooms; `None` at the end of the controller.
    pub(crate) async fn room_page(&self, selection: Selection, order: RoomOrder) -> Option<RoomPage> {
        let (answer, answered) = oneshot::channel();
        let request = ControllerRequest::RoomPage(selection, order, answer);
        self.requests.send(request).await.ok()?;
        answered.await.ok()
    }

    /// A page of participants; `None` at the end of the controller.
    pub(crate) async fn participant_page(&self, selection: Selection) -> Option<ParticipantPage> {
        let (answer, answered) = oneshot::channel();
        let request = ControllerRequest::ParticipantPage(selection, answer);
        self.requests.send(request).await.ok()?;
        answered.await.ok()
    }

    /// Has refreshed tokens signed with these keys from now on.
    pub(crate) async fn set_keys(&self, keys: ApiKeys) {
        let _ = self.requests.send(ControllerRequest::SetKeys(keys)).await;
    }

    /// Limits API keys like this from now on.
    pub(crate) async fn set_quotas(&self, quotas: Quotas) {
        let _ = self.requests.send(ControllerRequest::SetQuotas(quotas)).await;
    }

    /// Has rooms be in these regions from now on.
    pub(crate) async fn set_pinned(&self, pinned: Vec<PinnedRooms>) {
        let _ = self.requests.send(ControllerRequest::SetPinned(pinned)).await;
    }

    /// Whether the controller answers. The caller sets the time limit.
    pub(crate) async fn is_alive(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        self.requests.send(ControllerRequest::Alive(answer)).await.is_ok() && answered.await.is_ok()
    }

    /// Whether somebody could join: a media node has said where it is. The caller sets the time
    /// limit.
    pub(crate) async fn is_ready(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        self.requests.send(ControllerRequest::Ready(answer)).await.is_ok() && answered.await.unwrap_or(false)
    }

    /// Lets nobody join from now on. Participants stay.
    pub(crate) async fn drain(&self) {
        // First: a load balancer learns it even while the controller's queue is full.
        self.is_draining.store(true, Ordering::Release);
        let _ = self.requests.send(ControllerRequest::Drain).await;
    }

    /// Whether nobody may join any more.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// The number of participants in all rooms.
    pub(crate) async fn participants(&self) -> usize {
        self.population().await.1
    }

    /// The number of rooms, and of participants in all of them.
    pub(crate) async fn population(&self) -> (usize, usize) {
        let (answer, answered) = oneshot::channel();
        match self.requests.send(ControllerRequest::Population(answer)).await {
            Ok(()) => answered.await.unwrap_or_default(),
            Err(_) => (0, 0),
        }
    }

    /// Tells every client that the server is shutting down; clients reconnect to its successor.
    pub(crate) async fn shut_down(&self) {
        let (answer, answered) = oneshot::channel();
        if self.requests.send(ControllerRequest::ShutDown(answer)).await.is_ok() {
            let _ = answered.await;
        }
    }
}
