//! One person, or program, in a room.

mod track_permissions;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use access::{Claims, Permission};
use southbound::{Command, NodeId, TrackId};

use crate::budget::{Budget, Rate};
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::{CONNECT_TIMEOUT, GIVES_WAY_AFTER};
use crate::negotiation::{Peer, PeerState};
use crate::quality::QualityState;
use crate::room::data::{Blobs, DataState, OwnDataTracks};
use crate::subscription::Subscriptions;
use crate::track::Track;
use crate::{
    ClientTraits, ConnectionId, Description, IceProtocol, Join, Notification, Output, ParticipantInfo,
    ParticipantSnapshot, ParticipantState, PeerMode, UpdateTrackPermissions, Visible,
};

pub(crate) use self::track_permissions::TrackPermissions;

/// New tokens of a participant that changes, at most.
pub(crate) const TOKENS: Rate = Rate {
    per_second: 1,
    burst: 5,
};

/// One person, or program, in a room.
pub(crate) struct Participant {
    pub(crate) key: ParticipantKey,
    pub(crate) sid: String,
    pub(crate) identity: String,
    /// The media node of its transports.
    pub(crate) node: NodeId,
    pub(crate) name: String,
    pub(crate) metadata: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) permission: Permission,
    /// A track of its own has arrived since it joined.
    pub(crate) published: bool,
    /// The API key that it counts for.
    pub(crate) api_key: String,
    /// The claims it joined or resumed with, from which refreshed tokens are made.
    pub(crate) claims: Claims,
    /// Special needs of its client.
    pub(crate) traits: ClientTraits,
    /// The protocol it reaches media by.
    pub(crate) protocol: IceProtocol,
    /// Which of the node's UDP ports it uses, modulo the number of ports.
    pub(crate) port_index: usize,
    /// The offer it joined with, until it can take an answer.
    pub(crate) first_offer: Option<FirstOffer>,
    pub(crate) mode: PeerMode,
    pub(crate) auto_subscribe: bool,
    pub(crate) state: ParticipantState,
    /// Rises with every change others are told of.
    pub(crate) version: u32,
    /// The bytes that the room keeps for it, as of its last change.
    pub(crate) stored: usize,
    /// The part of that beyond its share.
    pub(crate) pooled: slots::Held,
    /// How long it may take to read what it is told of the others.
    pub(crate) greeting_time: Duration,
    /// How others were told of it last.
    pub(crate) snapshot: RefCell<Option<ParticipantSnapshot>>,
    /// Since 1970-01-01 UTC.
    pub(crate) joined: Duration,
    /// Its signalling connection.
    pub(crate) link: Link,
    /// The peer connection it publishes on, and in [`PeerMode::Single`] receives on.
    pub(crate) publisher: Option<Peer>,
    /// The peer connection it receives on in [`PeerMode::Dual`].
    pub(crate) subscriber: Option<Peer>,
    pub(crate) tracks: BTreeMap<TrackId, Track>,
    pub(crate) subscriptions: Subscriptions,
    /// Tracks it asked for, or asked not to have, by the track's id.
    pub(crate) subscription_overrides: BTreeMap<String, bool>,
    /// The receivers that its tracks are for.
    pub(crate) track_permissions: TrackPermissions,
    /// It has stated once which receivers its tracks are for.
    pub(crate) track_permissions_stated: bool,
    /// Tracks of others that it was told it may not have.
    pub(crate) denied: BTreeSet<TrackId>,
    /// The participants that may receive them once it is announced.
    pub(crate) track_permissions_asked: Option<UpdateTrackPermissions>,
    pub(crate) data: DataState,
    /// New tokens after changes.
    pub(crate) token_budget: Budget,
    pub(crate) blobs: Blobs,
    pub(crate) data_tracks: OwnDataTracks,
    pub(crate) quality: QualityState,
    /// Media sections it was asked to add.
    pub(crate) asked: Option<Asked>,
    pub(crate) deadlines: Deadlines,
    /// When one of its transports fell silent; `None` while none is.
    pub(crate) silent_since: Option<Instant>,
    /// The failure that a test asked for when it comes back.
    pub(crate) simulated_fault: Option<SimulatedFault>,
    /// The rate that a test asked its downlink to be held to. Shape: bits per second.
    pub(crate) simulated_limit: Option<u64>,
}

/// The offer a client joined with, and when to answer it at the latest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FirstOffer {
    pub(crate) offer: Description,
    pub(crate) until: Instant,
}

/// Whether there is a signalling connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Attached(ConnectionId),
    Detached { since: Instant },
}

/// Media sections a client was asked to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) at: Instant,
    pub(crate) audios: usize,
    pub(crate) videos: usize,
}

/// When something must have happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadlines {
    /// Media connected.
    pub(crate) connect: Option<Instant>,
    /// Goodbye said, by a client that has closed its transport.
    pub(crate) goodbye: Option<Instant>,
    /// A new token sent.
    pub(crate) refresh: Instant,
}

/// A failure that a test asked for when the participant comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SimulatedFault {
    /// The connection breaks after the first messages.
    Disconnect,
    /// The connection breaks before any message.
    DisconnectSilently,
}

impl Participant {
    pub(crate) fn new(ctx: &mut Context<'_>, connection: ConnectionId, node: NodeId, join: Join) -> Self {
        let Join {
            mut claims,
            mode,
            traits,
            auto_subscribe,
            auto_subscribe_data,
            attributes,
            metadata,
            ..
        } = join;
        Self {
            key: ctx.core.ids.participant(),
            sid: ctx.core.random.sid("PA_"),
            api_key: claims.iss.clone(),
            identity: claims.identity().to_owned(),
            node,
            name: take_texts(&mut claims),
            metadata,
            attributes,
            permission: Permission::of(&claims),
            published: false,
            claims,
            traits,
            protocol: IceProtocol::Any,
            port_index: ctx.core.ids.port_index(),
            first_offer: None,
            mode,
            auto_subscribe,
            state: ParticipantState::Joining,
            version: 0,
            stored: 0,
            pooled: slots::Held::default(),
            greeting_time: Duration::ZERO,
            snapshot: RefCell::default(),
            joined: ctx.unix(),
            link: Link::Attached(connection),
            publisher: None,
            subscriber: None,
            tracks: BTreeMap::new(),
            subscriptions: Subscriptions::default(),
            subscription_overrides: BTreeMap::new(),
            track_permissions: TrackPermissions::Everybody,
            track_permissions_stated: false,
            denied: BTreeSet::new(),
            track_permissions_asked: None,
            data: DataState::default(),
            token_budget: Budget::new(ctx.now, TOKENS),
            blobs: Blobs::default(),
            data_tracks: OwnDataTracks::new(auto_subscribe_data),
            quality: QualityState::default(),
            asked: None,
            deadlines: Deadlines {
                connect: None,
                goodbye: None,
                refresh: ctx.now,
            },
            silent_since: None,
            simulated_fault: None,
            simulated_limit: None,
        }
    }

    pub(crate) fn info(&self) -> ParticipantInfo {
        let arrived = self.tracks.values().filter(|track| track.media.is_some());
        let data_tracks = self.data_tracks.published.values();
        ParticipantInfo {
            sid: self.sid.clone(),
            identity: self.identity.clone(),
            state: self.state,
            tracks: arrived.map(|track| track.info.clone()).collect(),
            data_tracks: data_tracks.map(|(_, info)| info.clone()).collect(),
            metadata: self.metadata.clone(),
            joined: self.joined,
            name: self.name.clone(),
            version: self.version,
            permission: self.permission.clone(),
            is_publisher: self.is_publisher(),
            kind: self.claims.participant_kind(),
            kind_details: self.claims.known_kind_details().collect(),
            attributes: self.attributes.clone(),
            client_protocol: self.traits.client_protocol,
            capabilities: self.traits.capabilities.clone(),
            disconnect_reason: None,
        }
    }

    /// How it is now, shared until it changes.
    pub(crate) fn snapshot(&self) -> ParticipantSnapshot {
        let mut known = self.snapshot.borrow_mut();
        if let Some(snapshot) = known.as_ref().filter(|known| known.version == self.version) {
            debug_assert_eq!(**snapshot, self.info(), "a change without another version");
            return snapshot.clone();
        }
        known.insert(self.info().into()).clone()
    }

    /// Whether it is there for others only, as agents and recorders are.
    pub(crate) fn is_dependent(&self) -> bool {
        self.permission.agent || self.permission.recorder
    }

    /// Whether it publishes, or has since joining.
    pub(crate) fn is_publisher(&self) -> bool {
        self.permission.publish && self.published
    }

    /// The deadline of its media, if it has not connected for so long that it gives way to others.
    pub(crate) fn idle_since(&self, now: Instant) -> Option<Instant> {
        let last = now + CONNECT_TIMEOUT - GIVES_WAY_AFTER;
        self.deadlines.connect.filter(|deadline| *deadline <= last)
    }

    /// Whether others are told that it is there.
    pub(crate) fn is_visible(&self, visible: Visible) -> bool {
        !self.permission.hidden && (visible == Visible::Everybody || self.published)
    }

    /// Whether it lets another have a track of its own. A recorder gets every track.
    pub(crate) fn admits(&self, other: &Participant, track_sid: &str) -> bool {
        other.permission.recorder || self.track_permissions.admits(&other.identity, track_sid)
    }

    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        match self.link {
            Link::Attached(connection) => Some(connection),
            Link::Detached { .. } => None,
        }
    }

    /// Tells the participant something, if there is a connection. One that comes back is told
    /// everything anew.
    pub(crate) fn notify(&self, ctx: &mut Context<'_>, notification: Notification) {
        if let Some(connection) = self.connection() {
            ctx.out.push(Output::Notify {
                connection,
                notification,
            });
        }
    }

    /// Takes the claims of another token of its. Name, metadata and attributes stay as they were
    /// set in the call.
    pub(crate) fn take_claims(&mut self, mut claims: Claims) {
        take_texts(&mut claims);
        self.claims = claims;
        // Its kind is of the claims, and others may be told of it without another change.
        drop(self.snapshot.take());
    }

    /// The permissions for its tracks that it stated before the others could hear of it again.
    pub(crate) fn take_postponed_permissions(&mut self) -> Option<UpdateTrackPermissions> {
        self.track_permissions_asked.take()
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

    pub(crate) fn peers_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.publisher.iter_mut().chain(&mut self.subscriber)
    }

    /// Tells the agent the limit of its downlink, if that is another one than before.
    pub(crate) fn limit_downlink(&mut self, ctx: &mut Context<'_>) {
        let share = ctx.core.usage.share(&ctx.core.config.quotas, &self.api_key);
        let limit = [share, self.simulated_limit].into_iter().flatten().min();
        let Some(peer) = self.downlink_mut().filter(|peer| peer.downlink_limit != limit) else {
            return;
        };
        peer.downlink_limit = limit;
        let transport = peer.transport;
        ctx.command(self.node, Command::SetDownlinkLimit { transport, limit });
    }

    /// How long its client may take beyond the time for an answer, to read what comes before.
    pub(crate) fn reading_time(&self) -> Duration {
        match self.has_connected() {
            true => Duration::ZERO,
            false => self.greeting_time,
        }
    }

    /// Whether media has ever flowed on the connection the client waits for.
    pub(crate) fn has_connected(&self) -> bool {
        self.downlink().is_some_and(|peer| peer.state != PeerState::New)
    }

    pub(crate) fn track_by_sid(&self, sid: &str) -> Option<&Track> {
        self.tracks.values().find(|track| track.sid() == sid)
    }

    pub(crate) fn track_by_sid_mut(&mut self, sid: &str) -> Option<&mut Track> {
        self.tracks.values_mut().find(|track| track.info.sid == sid)
    }

    pub(crate) fn announced(&self) -> usize {
        self.tracks.values().filter(|track| track.media.is_none()).count()
    }
}

/// Takes what may change out of the claims, which are kept: nobody would read a second copy of it.
/// Returns the name.
fn take_texts(claims: &mut Claims) -> String {
    (claims.metadata, claims.attributes) = Default::default();
    std::mem::take(&mut claims.name)
}

/// Whether the bearer of a token is there for others only, by its kind or by its grant: rooms do
/// not stay for agents and recorders, and do not count them.
pub(crate) fn is_dependent(claims: &Claims) -> bool {
    let permission = Permission::of(claims);
    permission.agent || permission.recorder
}
