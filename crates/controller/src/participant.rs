//! One person, or program, in a room.

mod authorization;
mod client;
mod media;
mod profile;
mod publications;
mod relocation;
mod signalling;
mod storage;
mod texts;
mod track_permissions;

use std::time::{Duration, Instant};

use access::{Claims, Permission};
use southbound::{NodeId, TrackId};

pub(crate) use self::authorization::{Authorization, TOKENS};
pub(crate) use self::client::Client;
pub(crate) use self::media::{Media, RequestedSections};
pub(crate) use self::profile::Profile;
pub(crate) use self::publications::OwnPublications;
pub(crate) use self::relocation::Relocation;
pub(crate) use self::signalling::{Link, Signalling, SimulatedFault};
pub(crate) use self::storage::StoredBytes;
pub(crate) use self::texts::texts_len;
pub(crate) use self::track_permissions::TrackPermissions;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::{CONNECT_TIMEOUT, GIVES_WAY_AFTER};
use crate::own_data::OwnData;
use crate::quality::QualityState;
use crate::subscription::Subscriptions;
use crate::{ConnectionId, IceProtocol, Join, Notification, Output, ParticipantInfo, ParticipantSnapshot, Visible};

/// One person, or program, in a room.
pub(crate) struct Participant {
    pub(crate) key: ParticipantKey,
    pub(crate) profile: Profile,
    pub(crate) authorization: Authorization,
    pub(crate) client: Client,
    pub(crate) signalling: Signalling,
    pub(crate) media: Media,
    pub(crate) publications: OwnPublications,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) data: OwnData,
    pub(crate) quality: QualityState,
    pub(crate) storage: StoredBytes,
}

impl Participant {
    /// Its tracks, each with the key of their publisher.
    pub(crate) fn track_keys(&self) -> impl Iterator<Item = (ParticipantKey, TrackId)> {
        self.publications.tracks.keys().map(|track| (self.key, *track))
    }

    pub(crate) fn new(ctx: &mut Context<'_>, connection: ConnectionId, node: NodeId, join: Join) -> Self {
        let Join { claims, traits, .. } = join;
        let (identity, name) = (claims.identity().to_owned(), claims.name.clone());
        let mut profile = Profile::new(ctx.core.random.sid("PA_"), identity, name, ctx.unix());
        (profile.metadata, profile.attributes) = (join.metadata, join.attributes);
        Self {
            key: ctx.core.ids.participant(),
            profile,
            authorization: Authorization::new(ctx.now, claims),
            client: Client {
                traits,
                protocol: IceProtocol::Any,
                port_index: ctx.core.ids.port_index(),
            },
            signalling: Signalling::new(ctx.now, connection),
            media: Media::new(node, join.mode),
            publications: OwnPublications::default(),
            subscriptions: Subscriptions::new(join.auto_subscribe),
            data: OwnData::new(join.auto_subscribe_data),
            quality: QualityState::default(),
            storage: StoredBytes::default(),
        }
    }

    pub(crate) fn info(&self) -> ParticipantInfo {
        let tracks = self.publications.arrived();
        let data_tracks = self.data.tracks.published.values();
        ParticipantInfo {
            sid: self.profile.sid.clone(),
            identity: self.profile.identity.clone(),
            state: self.profile.state,
            tracks: tracks.map(|track| track.info.clone()).collect(),
            data_tracks: data_tracks.map(|(_, info)| info.clone()).collect(),
            metadata: self.profile.metadata.clone(),
            joined: self.profile.joined,
            name: self.profile.name.clone(),
            version: self.profile.version(),
            permission: self.authorization.permission.clone(),
            is_publisher: self.is_publisher(),
            kind: self.authorization.claims.participant_kind(),
            kind_details: self.authorization.claims.known_kind_details().collect(),
            attributes: self.profile.attributes.clone(),
            client_protocol: self.client.traits.client_protocol,
            capabilities: self.client.traits.capabilities.clone(),
            disconnect_reason: None,
        }
    }

    /// How it is now, shared until it changes.
    pub(crate) fn snapshot(&self) -> ParticipantSnapshot {
        self.profile.snapshot(|| self.info())
    }

    /// Whether it is there for others only, as agents and recorders are.
    pub(crate) fn is_dependent(&self) -> bool {
        self.authorization.permission.agent || self.authorization.permission.recorder
    }

    /// Whether it publishes, or has since joining.
    pub(crate) fn is_publisher(&self) -> bool {
        self.authorization.permission.publish && self.publications.has_published
    }

    /// The deadline of its media, if it has not connected for so long that it gives way to others.
    pub(crate) fn idle_since(&self, now: Instant) -> Option<Instant> {
        let last = now + CONNECT_TIMEOUT - GIVES_WAY_AFTER;
        self.signalling.deadlines.connect.filter(|deadline| *deadline <= last)
    }

    /// Whether others are told that it is there.
    pub(crate) fn is_visible(&self, visible: Visible) -> bool {
        !self.authorization.permission.hidden && (visible == Visible::Everybody || self.publications.has_published)
    }

    /// Whether it lets another have a track of its own. A recorder gets every track.
    pub(crate) fn admits(&self, other: &Participant, track_sid: &str) -> bool {
        let permissions = self.publications.permissions();
        other.authorization.permission.recorder || permissions.admits(&other.profile.identity, track_sid)
    }

    /// Takes the claims of another token of its. Name, metadata and attributes stay as they were
    /// set in the call.
    pub(crate) fn take_claims(&mut self, claims: Claims) {
        self.authorization.set_claims(claims);
        // Its kind is of the claims.
        self.profile.forget_snapshot();
    }

    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        self.signalling.connection()
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

    /// Tells the agent the limit of its downlink, if that is another one than before.
    pub(crate) fn limit_downlink(&mut self, ctx: &mut Context<'_>) {
        let share = ctx
            .core
            .usage
            .share(&ctx.core.config.quotas, &self.authorization.api_key);
        self.media.limit_downlink(ctx, share);
    }

    /// How long its client may take beyond the time for an answer, to read what comes before.
    pub(crate) fn reading_time(&self) -> Duration {
        match self.media.has_connected() {
            true => Duration::ZERO,
            false => self.signalling.greeting_time,
        }
    }
}

/// Whether the bearer of a token is there for others only, by its kind or by its grant: rooms do
/// not stay for agents and recorders, and do not count them.
pub(crate) fn is_dependent(claims: &Claims) -> bool {
    let permission = Permission::of(claims);
    permission.agent || permission.recorder
}
