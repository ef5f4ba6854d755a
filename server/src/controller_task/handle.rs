//! The sockets' handle on the controller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use access::{ApiKeys, RoomNames};
use controller::{AdminRequest, ConnectionId, Downlink, Quotas};
use livekit::agents::AgentRequest;
use livekit::{Admission, Frame, Inbox, Refusal};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{AdminAnswer, ControllerRequest};
use crate::clients::outbox::{Ends, Told, outbox};
use crate::os::clock;

/// The longest frame that is read at once, without waiting for a place among
/// [`DESCRIPTIONS_MAX`](super::DESCRIPTIONS_MAX), in bytes.
const SHORT_FRAME: usize = 1024;

/// The sockets' handle on the controller.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(super) requests: mpsc::Sender<ControllerRequest>,
    /// Places for descriptions.
    pub(super) descriptions: Arc<Semaphore>,
    /// The number of tasks that may read at a time: half of the processors, so that the others are
    /// there for the controller however much is to be read.
    pub(super) readers: Arc<Semaphore>,
    /// Nobody may join any more.
    pub(super) is_draining: Arc<AtomicBool>,
}

impl Handle {
    /// Whether this participant could join now.
    pub(crate) async fn check_admission(&self, admission: &Admission) -> Result<(), Refusal> {
        let (answer, answered) = oneshot::channel();
        let gone = || Refusal {
            status: 503,
            text: "the server is shutting down".to_owned(),
        };
        self.requests
            .send(ControllerRequest::Check(Box::new(admission.clone()), answer))
            .await
            .map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    /// A new connection: its id, and the queue of its messages.
    pub(crate) async fn open(&self, mut admission: Box<Admission>) -> Option<(ConnectionId, Told, Ends)> {
        let (outbox, told, ends) = outbox();
        let (answer, answered) = oneshot::channel();
        let place = match admission.offer {
            Some(_) => {
                let place = self.descriptions.clone().acquire_owned().await.ok()?;
                let _reader = self.readers.acquire().await.ok()?;
                admission.read_offer();
                Some(place)
            }
            None => None,
        };
        let ask = ControllerRequest::Open(admission, outbox, answer, place);
        self.requests.send(ask).await.ok()?;
        Some((answered.await.ok()?, told, ends))
    }

    /// A message arrived. It is read here, on the task of its connection.
    pub(crate) async fn message(&self, connection: ConnectionId, inbox: &mut Inbox, frame: Frame) {
        let (place, reader) = match frame.len() > SHORT_FRAME {
            true => (
                self.descriptions.clone().acquire_owned().await.ok(),
                self.readers.acquire().await.ok(),
            ),
            false => (None, None),
        };
        let received = Box::new(inbox.read(clock::now(), &frame));
        drop((frame, reader));
        let place = place.filter(|_| received.is_description());
        // An error means that the controller has ended, and nobody needs the message.
        let _ = self
            .requests
            .send(ControllerRequest::Message(connection, received, place))
            .await;
    }

    /// A connection ended.
    pub(crate) async fn closed(&self, connection: ConnectionId) {
        let _ = self.requests.send(ControllerRequest::Closed(connection)).await;
    }

    /// The answer to an administrator's request; `None` if the server is shutting down. `agents`
    /// are for a room that the request creates.
    pub(crate) async fn administer(&self, request: AdminRequest, agents: Vec<AgentRequest>) -> Option<AdminAnswer> {
        let (answer, answered) = oneshot::channel();
        let ask = ControllerRequest::Administer(Box::new(request), agents, answer);
        self.requests.send(ask).await.ok()?;
        answered.await.ok()
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

    /// Has refreshed tokens signed with these keys from now on.
    pub(crate) async fn set_keys(&self, keys: ApiKeys) {
        let _ = self.requests.send(ControllerRequest::SetKeys(keys)).await;
    }

    /// Limits API keys like this from now on.
    pub(crate) async fn set_quotas(&self, quotas: Quotas) {
        let _ = self.requests.send(ControllerRequest::SetQuotas(quotas)).await;
    }

    /// Takes so many sessions of WHIP and WHEP from now on.
    pub(crate) async fn set_session_limits(&self, limits: slots::Limits) {
        let _ = self.requests.send(ControllerRequest::SetSessionLimits(limits)).await;
    }

    /// Has events of rooms sent to receivers of webhooks from now on, or no longer.
    pub(crate) async fn set_webhooks(&self, wanted: bool) {
        let _ = self.requests.send(ControllerRequest::SetWebhooks(wanted)).await;
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
