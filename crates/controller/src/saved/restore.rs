//! From the saved form to a participant.

use std::time::Instant;

use southbound::{NodeId, SubscriptionId, TrackId};

use super::{RestoreError, SavedBackup, SavedParticipant, SavedSubscription, SavedTrack};
use crate::ids::ParticipantKey;
use crate::limits::{SUBSCRIPTIONS_MAX, TRACKS_MAX};
use crate::negotiation::{Described, Peer, SavedPeer, Section};
use crate::own_data::OwnData;
use crate::participant::{
    Authorization, Client, Media, OwnPublications, Participant, Profile, Signalling, StoredBytes,
};
use crate::quality::QualityState;
use crate::subscription::{Subscription, Subscriptions};
use crate::track::demand::LastSent;
use crate::track::{Backup, Track, Version};

impl Participant {
    /// The participant that was saved, without a signalling connection. `publisher_of` finds who
    /// publishes a track. `described` has the descriptions that were read before.
    ///
    /// Errors: any [`RestoreError`].
    pub(crate) fn restore(
        now: Instant,
        key: ParticipantKey,
        saved: SavedParticipant,
        publisher_of: impl Fn(TrackId) -> ParticipantKey,
        described: &mut Described,
    ) -> Result<Self, RestoreError> {
        let most = saved.subscriptions.len().max(saved.denied.len());
        if saved.tracks.len() > TRACKS_MAX || most > SUBSCRIPTIONS_MAX {
            return Err(RestoreError::TooLong);
        }
        let mut profile = Profile::new(saved.sid, saved.identity, saved.name, saved.joined).at_version(saved.version);
        (profile.metadata, profile.attributes, profile.state) = (saved.metadata, saved.attributes, saved.state);
        let client = Client {
            traits: saved.traits,
            protocol: saved.protocol,
            port_index: saved.port_index,
        };
        let mut media = Media::new(NodeId(saved.node), saved.mode);
        media.publisher = peer(&client, saved.publisher, described)?;
        media.subscriber = peer(&client, saved.subscriber, described)?;
        let mut publications = OwnPublications::with_permissions(
            saved.track_permissions,
            saved.track_permissions_stated,
            saved.postponed_track_permissions,
        );
        publications.has_published = saved.has_published;
        for track in saved.tracks {
            let track = track.restore(media.publisher.as_ref())?;
            publications.tracks.insert(track.id, track);
        }
        let mut subscriptions = Subscriptions::new(saved.auto_subscribe);
        for (track_sid, wanted) in saved.wishes {
            subscriptions.wish(track_sid, wanted);
        }
        for track in saved.denied {
            subscriptions.deny(TrackId(track));
        }
        for subscription in saved.subscriptions {
            let track = TrackId(subscription.track);
            subscriptions.insert(subscription.restore(publisher_of(track)));
        }
        let mut data = OwnData::new(false);
        data.tracks = saved.data_tracks;
        data.packets.last_sequence = saved.last_sequence;
        data.endpoint = saved.endpoint;
        if !data.blobs.restore(saved.blobs) {
            return Err(RestoreError::TooLong);
        }
        let mut authorization = Authorization::new(now, saved.claims);
        (authorization.permission, authorization.api_key) = (saved.permission, saved.api_key);
        Ok(Self {
            key,
            profile,
            authorization,
            client,
            signalling: Signalling::detached(now),
            media,
            publications,
            subscriptions,
            data,
            quality: QualityState::default(),
            storage: StoredBytes::default(),
        })
    }
}

fn peer(client: &Client, saved: Option<SavedPeer>, described: &mut Described) -> Result<Option<Peer>, RestoreError> {
    let (disabled, protocol) = (client.traits.disabled_codecs, client.protocol);
    let restore = |saved| Peer::restore(saved, disabled, protocol, client.port_index, described);
    match saved.map(restore) {
        Some(None) => Err(RestoreError::Description),
        Some(peer) => Ok(peer),
        None => Ok(None),
    }
}

impl SavedTrack {
    fn restore(self, publisher: Option<&Peer>) -> Result<Track, RestoreError> {
        let backup = self.backup.as_ref().filter(|backup| backup.has_arrived);
        let arrived = [
            self.has_arrived.then_some((Version::Primary, self.id)),
            backup.map(|backup| (Version::Backup, backup.id)),
        ];
        let mut track = Track {
            id: TrackId(self.id),
            kind: self.info.kind,
            info: self.info,
            cid: self.cid,
            media: None,
            backup: self.backup.map(SavedBackup::restore),
            subscribed: self.subscribed,
            demand: LastSent {
                demand: self.demand,
                falls_at: None,
            },
        };
        let info = track.info.clone();
        for (version, id) in arrived.into_iter().flatten() {
            let carries = |section: &&Section| is_on(section, TrackId(id));
            let found = publisher.and_then(|peer| Some((peer.transport, peer.sections.iter().find(carries)?)));
            let Some((transport, section)) = found else {
                let track_sid = info.sid;
                return Err(RestoreError::NoSection { track_sid });
            };
            track.arrive(version, transport, section);
        }
        // Others were told of it in these words, whatever its media says now.
        track.info = info;
        Ok(track)
    }
}

fn is_on(section: &Section, track: TrackId) -> bool {
    section.media_kind().is_some() && section.uplink().is_some_and(|uplink| uplink.track == track)
}

impl SavedBackup {
    fn restore(self) -> Backup {
        Backup {
            id: TrackId(self.id),
            codec: self.codec,
            cid: self.cid,
            media: None,
        }
    }
}

impl SavedSubscription {
    fn restore(self, publisher: ParticipantKey) -> Subscription {
        Subscription {
            id: SubscriptionId(self.id),
            track: TrackId(self.track),
            publisher,
            kind: self.kind,
            settings: self.settings,
            state: self.state,
            paused: self.paused,
        }
    }
}
