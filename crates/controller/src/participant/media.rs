//! The peer connections of a participant.

use std::time::Instant;

use southbound::{Channel, Command, NodeId, TransportId};

use crate::context::Context;
use crate::negotiation::{Peer, PeerState};
use crate::participant::Relocation;
use crate::{Description, PeerMode};

/// The peer connections of a participant.
pub(crate) struct Media {
    /// The media node of its transports.
    pub(crate) node: NodeId,
    pub(crate) mode: PeerMode,
    /// The peer connection it publishes on, and in [`PeerMode::Single`] receives on.
    pub(crate) publisher: Option<Peer>,
    /// The peer connection it receives on in [`PeerMode::Dual`].
    pub(crate) subscriber: Option<Peer>,
    /// The offer it joined with, until it can take an answer.
    first_offer: Option<FirstOffer>,
    /// Media sections it was asked to add.
    pub(crate) requested: Option<RequestedSections>,
    /// When one of its transports fell silent; `None` while none is.
    pub(crate) silent_since: Option<Instant>,
    /// The rate that a test asked its downlink to be held to. Shape: bits per second.
    pub(crate) simulated_limit: Option<u64>,
    /// Its way to another node, while it is on it.
    pub(crate) relocation: Option<Relocation>,
    /// The data channels that its client has opened, as it said when it came back last.
    pub(crate) channels: Vec<Channel>,
}

/// The offer a client joined with, and when to answer it at the latest.
#[derive(Clone, Debug, PartialEq)]
struct FirstOffer {
    offer: Description,
    until: Instant,
}

/// Media sections a client was asked to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestedSections {
    pub(crate) at: Instant,
    pub(crate) audios: usize,
    pub(crate) videos: usize,
}

impl RequestedSections {
    /// The sections that a client has yet to add, after an offer that added this many. Every offer
    /// answers a request for none.
    pub(crate) fn without(self, audios: usize, videos: usize) -> Option<Self> {
        let left = Self {
            audios: self.audios.saturating_sub(audios),
            videos: self.videos.saturating_sub(videos),
            ..self
        };
        (left.audios + left.videos > 0).then_some(left)
    }
}

impl Media {
    pub(crate) fn new(node: NodeId, mode: PeerMode) -> Self {
        Self {
            node,
            mode,
            publisher: None,
            subscriber: None,
            first_offer: None,
            requested: None,
            silent_since: None,
            simulated_limit: None,
            relocation: None,
            channels: Vec::new(),
        }
    }

    /// Whether it is on a node, or on its way there.
    pub(crate) fn needs(&self, node: NodeId) -> bool {
        self.node == node || self.target() == Some(node)
    }

    /// The node that it is on its way to.
    pub(crate) fn target(&self) -> Option<NodeId> {
        self.relocation.as_ref().and_then(Relocation::target)
    }

    /// The peer connection it receives on.
    pub(crate) fn downlink(&self) -> Option<&Peer> {
        match self.mode {
            PeerMode::Single => self.publisher.as_ref(),
            PeerMode::Dual => self.subscriber.as_ref(),
        }
    }

    /// The peer connection it receives on.
    pub(crate) fn downlink_mut(&mut self) -> Option<&mut Peer> {
        match self.mode {
            PeerMode::Single => self.publisher.as_mut(),
            PeerMode::Dual => self.subscriber.as_mut(),
        }
    }

    pub(crate) fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.publisher.iter().chain(&self.subscriber)
    }

    pub(crate) fn peer_mut(&mut self, transport: TransportId) -> Option<&mut Peer> {
        let mut peers = self.publisher.iter_mut().chain(&mut self.subscriber);
        peers.find(|peer| peer.transport == transport)
    }

    /// Whether media has ever flowed on the connection the client waits for.
    pub(crate) fn has_connected(&self) -> bool {
        self.downlink().is_some_and(|peer| peer.state != PeerState::New)
    }

    /// Keeps the offer it joined with until it can take an answer, and no longer than this.
    pub(crate) fn keep_first_offer(&mut self, offer: Description, until: Instant) {
        self.first_offer = Some(FirstOffer { offer, until });
    }

    /// The offer it joined with, if it has not been answered.
    pub(crate) fn take_first_offer(&mut self) -> Option<Description> {
        self.first_offer.take().map(|first| first.offer)
    }

    /// The same once it has waited for long enough.
    pub(crate) fn take_overdue_first_offer(&mut self, now: Instant) -> Option<Description> {
        let is_due = self.first_offer.as_ref().is_some_and(|first| first.until <= now);
        is_due.then(|| self.take_first_offer()).flatten()
    }

    /// Tells the agent the limit of the downlink, if that is another one than before. `share` is
    /// what the quota of its API key leaves it.
    pub(crate) fn limit_downlink(&mut self, ctx: &mut Context<'_>, share: Option<u64>) {
        let limit = [share, self.simulated_limit].into_iter().flatten().min();
        let Some(peer) = self.downlink_mut().filter(|peer| peer.downlink_limit != limit) else {
            return;
        };
        peer.downlink_limit = limit;
        let transport = peer.transport;
        ctx.command(self.node, Command::SetDownlinkLimit { transport, limit });
    }
}
