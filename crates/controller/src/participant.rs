//! One person, or program, in a room.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use livekit_protocol::client_info::Sdk;
use livekit_protocol::participant_info::State;
use livekit_protocol::{ClientInfo, ParticipantInfo, SubscriptionPermission, signal_response};
use southbound::TrackId;

use crate::client_rules::Disabled;
use crate::context::Context;
use crate::data::DataState;
use crate::ids::ParticipantKey;
use crate::livekit::convert;
use crate::livekit::frame::Outgoing;
use crate::livekit::{Admission, Description, PeerMode};
use crate::negotiation::{Peer, PeerState};
use crate::quality::QualityState;
use crate::subscription::Subscriptions;
use crate::track::Track;
use crate::{ConnectionId, Output, Visible};
use access::{Claims, Permission};

/// One person, or program, in a room.
pub(crate) struct Participant {
    pub(crate) key: ParticipantKey,
    pub(crate) sid: String,
    pub(crate) identity: String,
    pub(crate) name: String,
    pub(crate) metadata: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) permission: Permission,
    /// A track of its own has arrived since it joined.
    pub(crate) published: bool,
    /// The claims it joined or resumed with, from which refreshed tokens are made.
    pub(crate) claims: Claims,
    pub(crate) client: ClientInfo,
    /// Codecs its device handles badly.
    pub(crate) disabled: Disabled,
    /// The offer it joined with, until it can take an answer.
    pub(crate) first_offer: Option<FirstOffer>,
    pub(crate) mode: PeerMode,
    pub(crate) auto_subscribe: bool,
    pub(crate) state: State,
    /// Rises with every change others are told of.
    pub(crate) version: u32,
    /// Since 1970-01-01 UTC.
    pub(crate) joined: Duration,
    pub(crate) signal: Signal,
    /// The peer connection it publishes on, and in [`PeerMode::Single`] receives on.
    pub(crate) publisher: Option<Peer>,
    /// The peer connection it receives on in [`PeerMode::Dual`].
    pub(crate) subscriber: Option<Peer>,
    pub(crate) tracks: BTreeMap<TrackId, Track>,
    pub(crate) subscriptions: Subscriptions,
    /// Tracks it asked for, or asked not to have, by the track's id.
    pub(crate) wishes: BTreeMap<String, bool>,
    /// Who may receive its tracks.
    pub(crate) audience: Audience,
    /// The participants that may receive them once it is announced.
    pub(crate) audience_asked: Option<SubscriptionPermission>,
    pub(crate) data: DataState,
    pub(crate) quality: QualityState,
    /// Media sections it was asked to add.
    pub(crate) asked: Option<Asked>,
    pub(crate) deadlines: Deadlines,
    /// When one of its transports fell silent; `None` while none is.
    pub(crate) silent_since: Option<Instant>,
    /// What a test asked to go wrong when it comes back.
    pub(crate) sabotage: Option<Sabotage>,
}

/// The offer a client joined with, and when to answer it at the latest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FirstOffer {
    pub(crate) offer: Description,
    pub(crate) until: Instant,
}

/// The signalling connection of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) link: Link,
    /// It speaks JSON.
    pub(crate) json: bool,
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

/// Who may receive a participant's tracks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Audience {
    #[default]
    Everybody,
    /// These, by identity: all tracks, or the ones listed by id.
    Only(BTreeMap<String, Option<BTreeSet<String>>>),
}

impl Audience {
    pub(crate) fn admits(&self, identity: &str, track_sid: &str) -> bool {
        match self {
            Self::Everybody => true,
            Self::Only(list) => match list.get(identity) {
                Some(Some(tracks)) => tracks.contains(track_sid),
                Some(None) => true,
                None => false,
            },
        }
    }
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

/// What a test asked to go wrong when the participant comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// The connection breaks after the first messages.
    Disconnect,
    /// The connection breaks before any message.
    DisconnectSilently,
}

impl Participant {
    pub(crate) fn new(ctx: &mut Context<'_>, connection: ConnectionId, admission: Admission) -> Self {
        let Admission {
            claims,
            mode,
            client,
            settings,
            attributes,
            metadata,
            ..
        } = admission;
        Self {
            key: ctx.core.ids.participant(),
            sid: ctx.core.random.sid("PA_"),
            identity: claims.identity().to_owned(),
            name: claims.name.clone(),
            metadata,
            attributes,
            permission: Permission::of(&claims),
            published: false,
            claims,
            disabled: Disabled::of(&client),
            first_offer: None,
            client,
            mode,
            auto_subscribe: settings.auto_subscribe,
            state: State::Joining,
            version: 0,
            joined: ctx.unix(),
            signal: Signal {
                link: Link::Attached(connection),
                json: false,
            },
            publisher: None,
            subscriber: None,
            tracks: BTreeMap::new(),
            subscriptions: Subscriptions::default(),
            wishes: BTreeMap::new(),
            audience: Audience::Everybody,
            audience_asked: None,
            data: DataState::default(),
            quality: QualityState::default(),
            asked: None,
            deadlines: Deadlines {
                connect: None,
                goodbye: None,
                refresh: ctx.now,
            },
            silent_since: None,
            sabotage: None,
        }
    }

    pub(crate) fn info(&self) -> ParticipantInfo {
        let arrived = self.tracks.values().filter(|track| track.arrival.is_some());
        ParticipantInfo {
            sid: self.sid.clone(),
            identity: self.identity.clone(),
            state: self.state.into(),
            tracks: arrived.map(|track| track.info.clone()).collect(),
            metadata: self.metadata.clone(),
            joined_at: self.joined.as_secs() as i64,
            joined_at_ms: self.joined.as_millis() as i64,
            name: self.name.clone(),
            version: self.version,
            permission: Some(convert::permission(&self.permission)),
            is_publisher: self.permission.publish && self.published,
            kind: convert::kind_number(self.claims.participant_kind()),
            kind_details: self.kind_details(),
            attributes: self.attributes.clone().into_iter().collect(),
            client_protocol: self.client.client_protocol,
            capabilities: self.client.capabilities.clone(),
            ..ParticipantInfo::default()
        }
    }

    /// Whether others are told that it is there.
    pub(crate) fn is_visible(&self, visible: Visible) -> bool {
        !self.permission.hidden && (visible == Visible::Everybody || self.published)
    }

    fn kind_details(&self) -> Vec<i32> {
        self.claims
            .known_kind_details()
            .map(convert::kind_detail_number)
            .collect()
    }

    /// Whether it lets another have a track of its own. Who records the room gets what there is.
    pub(crate) fn admits(&self, other: &Participant, track_sid: &str) -> bool {
        other.permission.recorder || self.audience.admits(&other.identity, track_sid)
    }

    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        match self.signal.link {
            Link::Attached(connection) => Some(connection),
            Link::Detached { .. } => None,
        }
    }

    /// Sends a message, if there is a connection. One that comes back is told everything anew.
    pub(crate) fn send(&self, ctx: &mut Context<'_>, message: signal_response::Message) {
        self.send_outgoing(ctx, &Outgoing::new(message));
    }

    /// Sends a message that others get too.
    pub(crate) fn send_outgoing(&self, ctx: &mut Context<'_>, message: &Outgoing) {
        if let Some(connection) = self.connection() {
            ctx.out.push(Output::Send {
                connection,
                frame: message.frame(self.signal.json),
            });
        }
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
        self.tracks.values().filter(|track| track.arrival.is_none()).count()
    }

    pub(crate) fn protocol(&self) -> i32 {
        self.client.protocol
    }

    /// Firefox makes up track ids of its own and cannot tell two tracks of one stream apart.
    pub(crate) fn is_firefox(&self) -> bool {
        let names = ["firefox", "firefox mobile"];
        names.iter().any(|name| self.client.browser.eq_ignore_ascii_case(name))
    }

    /// Whether it tells its application of a track only when packets of it come, whatever descriptions say.
    pub(crate) fn learns_by_packets(&self) -> bool {
        self.client.sdk() == Sdk::Go
    }

    /// Whether it reads what follows the greeting before it has applied the offer it joined with. An answer it reads by then is lost to it, and with that
    /// its connection. Others keep the offer and apply it when the answer comes.
    pub(crate) fn applies_offer_after_greeting(&self) -> bool {
        self.client.sdk() == Sdk::Go
    }
}
