//! From a participant to its saved form.

use southbound::{NodeId, TrackId};

use super::{SavedBackup, SavedParticipant, SavedSubscription, SavedTrack};
use crate::negotiation::Peer;
use crate::participant::Participant;
use crate::subscription::Subscription;
use crate::track::{Backup, Track};

impl Participant {
    /// In a form that another process can go on with.
    pub(crate) fn save(&self) -> SavedParticipant {
        let Self {
            profile,
            authorization,
            client,
            media,
            publications,
            subscriptions,
            data,
            ..
        } = self;
        let NodeId(node) = media.node;
        SavedParticipant {
            sid: profile.sid.clone(),
            identity: profile.identity.clone(),
            name: profile.name.clone(),
            metadata: profile.metadata.clone(),
            attributes: profile.attributes.clone(),
            state: profile.state,
            joined: profile.joined,
            version: profile.version(),
            claims: authorization.claims.clone(),
            permission: authorization.permission.clone(),
            api_key: authorization.api_key.clone(),
            traits: client.traits.clone(),
            protocol: client.protocol,
            port_index: client.port_index,
            node,
            mode: media.mode,
            publisher: media.publisher.as_ref().map(Peer::save),
            subscriber: media.subscriber.as_ref().map(Peer::save),
            tracks: publications.tracks.values().map(SavedTrack::of).collect(),
            has_published: publications.has_published,
            track_permissions: publications.permissions().clone(),
            track_permissions_stated: publications.are_permissions_stated(),
            postponed_track_permissions: publications.postponed_permissions().cloned(),
            auto_subscribe: subscriptions.are_automatic(),
            wishes: subscriptions.wishes().clone(),
            denied: subscriptions.denied().map(|TrackId(id)| id).collect(),
            subscriptions: subscriptions.iter().map(SavedSubscription::of).collect(),
            data_tracks: data.tracks.clone(),
            blobs: data.blobs.all().collect(),
            last_sequence: data.packets.last_sequence,
            endpoint: data.endpoint,
        }
    }
}

impl SavedTrack {
    fn of(track: &Track) -> Self {
        Self {
            id: track.id.0,
            info: track.info.clone(),
            cid: track.cid.clone(),
            has_arrived: track.media.is_some(),
            backup: track.backup.as_ref().map(SavedBackup::of),
            subscribed: track.subscribed,
            demand: track.demand.demand,
        }
    }
}

impl SavedBackup {
    fn of(backup: &Backup) -> Self {
        Self {
            id: backup.id.0,
            codec: backup.codec,
            cid: backup.cid.clone(),
            has_arrived: backup.media.is_some(),
        }
    }
}

impl SavedSubscription {
    fn of(subscription: &Subscription) -> Self {
        Self {
            id: subscription.id.0,
            track: subscription.track.0,
            kind: subscription.kind,
            settings: subscription.settings,
            state: subscription.state,
            paused: subscription.paused,
        }
    }
}
