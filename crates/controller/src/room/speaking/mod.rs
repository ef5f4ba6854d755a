//! Speakers of a room: levels, the voices that are heard, and the order of speakers.

mod levels;
mod loudest;
mod order;
mod speakers;
mod voices;

use std::collections::BTreeMap;

use allocation::Loudest;
use southbound::TrackId;

use self::levels::Speakers;
use self::loudest::Voices;
use self::order::SpeakerOrder;
use crate::ids::ParticipantKey;

/// The state of a room that is about its speakers.
#[derive(Debug)]
pub(in crate::room) struct Speaking {
    speakers: Speakers,
    order: SpeakerOrder,
    /// The rank that the agent was told of each video track of a speaker.
    ranks: BTreeMap<TrackId, u8>,
    /// The microphones that are heard; `None` when all are.
    voices: Option<Voices>,
}

impl Speaking {
    pub(in crate::room) fn new(loudest: Option<Loudest>) -> Self {
        Self {
            speakers: Speakers::default(),
            order: SpeakerOrder::default(),
            ranks: BTreeMap::new(),
            voices: loudest.map(Voices::new),
        }
    }

    /// Whether anything changes when nobody is heard.
    fn is_anybody_heard(&self) -> bool {
        self.speakers.anybody() || !self.ranks.is_empty()
    }

    pub(in crate::room) fn forget(&mut self, participant: ParticipantKey) {
        self.speakers.forget(participant);
        self.order.forget(participant);
    }
}
