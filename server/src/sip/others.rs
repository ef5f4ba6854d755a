//! The other machines of the cluster, as the task of calls sees them.

use std::collections::HashMap;

use sip::{PassOutcome, PeerEvent, PeerMessage, RequestId};
use southbound::NodeId;
use tokio::sync::OwnedSemaphorePermit;

use crate::cluster::relays::{ANSWER_LEN_MAX, Link, RelayEvent, Relays};

/// The connections to the others.
pub(super) struct Others {
    relays: Option<Relays>,
    links: HashMap<NodeId, Link>,
}

impl Others {
    /// Those of a cluster, or none.
    pub(super) fn new(relays: Option<Relays>) -> Self {
        let links = HashMap::new();
        Self { relays, links }
    }

    /// The next event. Nothing is lost if this is given up. There is none without a cluster.
    pub(super) async fn next(&mut self) -> RelayEvent {
        let event = match &mut self.relays {
            Some(relays) => relays.events.recv().await,
            None => None,
        };
        match event {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    /// The event for the state machine, and the connection that it came over if it is a message.
    /// `None` if it is about a connection that another one has replaced.
    pub(super) fn take(&mut self, event: RelayEvent) -> Option<(PeerEvent, Option<Link>)> {
        Some(match event {
            RelayEvent::Known(peers) => (PeerEvent::Known(peers), None),
            RelayEvent::Unreached(peer) => (PeerEvent::Unreached(peer), None),
            RelayEvent::Joined(peer, link) => {
                // The tasks of two connections are not in the order of their numbers.
                if self.links.get(&peer).is_some_and(|later| later.id > link.id) {
                    return None;
                }
                self.links.insert(peer, link);
                (PeerEvent::Joined(peer), None)
            }
            RelayEvent::Left(peer, id) => {
                self.links.get(&peer).filter(|link| link.id == id)?;
                self.links.remove(&peer);
                (PeerEvent::Left(peer), None)
            }
            RelayEvent::Said(peer, id, message) => {
                let link = self.links.get(&peer).filter(|link| link.id == id)?;
                link.taken();
                (PeerEvent::Said(peer, message), Some(link.clone()))
            }
        })
    }

    /// Tells a machine something, if it is connected.
    pub(super) fn send(&self, peer: NodeId, message: PeerMessage) {
        if let Some(link) = self.links.get(&peer) {
            link.send(message);
        }
    }
}

/// The way back to the machine that has passed a request on. It is told that the request gets no
/// answer when this is dropped.
pub(crate) struct PassedBack {
    link: Link,
    request: RequestId,
    outcome: PassOutcome,
    /// Its place among the requests of that machine.
    _place: OwnedSemaphorePermit,
}

impl PassedBack {
    /// For a request that came over this connection; `None` if the machine has as many as it may
    /// have, which it is told.
    pub(super) fn new(link: Option<Link>, request: RequestId) -> Option<Self> {
        let link = link?;
        let Some(place) = link.place() else {
            let outcome = PassOutcome::Full;
            link.send(PeerMessage::Passed { request, outcome });
            return None;
        };
        Some(Self {
            link,
            request,
            outcome: PassOutcome::Unanswered,
            _place: place,
        })
    }

    /// Tells the machine what became of the request.
    pub(super) fn tell(mut self, outcome: PassOutcome) {
        // No proxy has room for an answer of that length either.
        let is_short = !matches!(&outcome, PassOutcome::Reply(bytes) if bytes.len() > ANSWER_LEN_MAX);
        if is_short {
            self.outcome = outcome;
        }
    }
}

impl Drop for PassedBack {
    fn drop(&mut self) {
        let (request, outcome) = (
            self.request,
            std::mem::replace(&mut self.outcome, PassOutcome::Unanswered),
        );
        self.link.send(PeerMessage::Passed { request, outcome });
    }
}
