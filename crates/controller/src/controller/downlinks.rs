//! Downlinks of participants, for monitoring: the agent knows how a transport does, and no names.

use std::collections::BTreeMap;

use southbound::{SubscriptionId, TransportId};

use super::Controller;
use crate::participant::Participant;
use crate::room::Room;
use crate::subscription::Subscription;

/// One participant's downlink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Downlink {
    /// The transport it receives on.
    pub transport: TransportId,
    /// The room's name.
    pub room: String,
    /// The identity.
    pub identity: String,
    /// Its subscriptions.
    pub subscriptions: BTreeMap<SubscriptionId, Subscribed>,
}

/// A track that somebody is subscribed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribed {
    /// The track's id, as clients know it.
    pub track: String,
    /// The identity of its publisher.
    pub publisher: String,
    /// The name of its source in small letters.
    pub source: String,
}

impl Controller {
    /// A participant's downlink, once there is one.
    pub fn downlink(&self, room: &str, identity: &str) -> Option<Downlink> {
        let participant_ref = self.find(room, identity)?;
        let room = self.rooms.get(&participant_ref.room)?;
        downlink(room, room.roster().get(participant_ref.participant)?)
    }

    /// Everybody's downlinks: in one room, or in all.
    pub fn downlinks<'a>(&'a self, room: Option<&'a str>) -> impl Iterator<Item = Downlink> + 'a {
        let rooms = self
            .rooms
            .values()
            .filter(move |found| room.is_none_or(|name| found.profile().name() == name));
        rooms.flat_map(|room| room.roster().all().filter_map(|it| downlink(room, it)))
    }
}

fn downlink(room: &Room, participant: &Participant) -> Option<Downlink> {
    let subscriptions = participant.subscriptions.iter();
    Some(Downlink {
        transport: participant.media.downlink()?.transport,
        room: room.profile().name().to_owned(),
        identity: participant.profile.identity.clone(),
        subscriptions: subscriptions
            .filter_map(|subscription| Some((subscription.id, subscribed(room, subscription)?)))
            .collect(),
    })
}

fn subscribed(room: &Room, subscription: &Subscription) -> Option<Subscribed> {
    let publisher = room.roster().get(subscription.publisher)?;
    let track = publisher.publications.tracks.get(&subscription.track)?;
    Some(Subscribed {
        track: track.sid().to_owned(),
        publisher: publisher.profile.identity.clone(),
        source: track.info.source.name().to_owned(),
    })
}
