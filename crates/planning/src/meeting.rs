use std::collections::BTreeMap;

use crate::limits::PARTICIPANTS_MAX;
use crate::quality::{Quality, Rates};

/// The number of a participant within its meeting, kept until it leaves. It is below
/// [`PARTICIPANTS_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place(pub u16);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Participant {
    /// A sender's rates.
    rates: Option<Rates>,
    /// The quality from every sender without an entry in `by_sender`.
    quality: Quality,
    by_sender: BTreeMap<Place, Quality>,
}

/// The participants of a meeting, their rates, and the quality that each gets from each sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meeting {
    participants: BTreeMap<Place, Participant>,
}

impl Meeting {
    /// A meeting whose first `senders` participants send at [`Rates::SCALLOP`], and in which all
    /// get the same quality. Counts are capped at [`PARTICIPANTS_MAX`].
    pub fn uniform(participants: u16, senders: u16, quality: Quality) -> Self {
        let mut meeting = Self::default();
        for at in 0..participants.min(PARTICIPANTS_MAX) {
            let rates = (at < senders).then_some(Rates::SCALLOP);
            meeting.participants.insert(
                Place(at),
                Participant {
                    rates,
                    quality,
                    ..Participant::default()
                },
            );
        }
        meeting
    }

    /// Adds a participant at the lowest free place, a sender if it has rates. A full meeting gives
    /// `None`.
    pub fn join(&mut self, rates: Option<Rates>, quality: Quality) -> Option<Place> {
        let place = (0..PARTICIPANTS_MAX)
            .map(Place)
            .find(|place| !self.participants.contains_key(place))?;
        self.participants.insert(
            place,
            Participant {
                rates,
                quality,
                ..Participant::default()
            },
        );
        Some(place)
    }

    /// Removes a participant. An unknown one gives `false`.
    pub fn leave(&mut self, place: Place) -> bool {
        for other in self.participants.values_mut() {
            other.by_sender.remove(&place);
        }
        self.participants.remove(&place).is_some()
    }

    /// Makes a participant a sender at these rates, or with `None` a mere receiver.
    pub fn set_rates(&mut self, place: Place, rates: Option<Rates>) -> bool {
        self.participants
            .get_mut(&place)
            .map(|participant| participant.rates = rates)
            .is_some()
    }

    /// Sets the quality that a receiver gets from all senders, in place of all earlier settings.
    pub fn set_quality(&mut self, receiver: Place, quality: Quality) -> bool {
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return false;
        };
        participant.quality = quality;
        participant.by_sender.clear();
        true
    }

    /// Sets the quality that a receiver gets from one sender.
    pub fn set_quality_from(&mut self, sender: Place, receiver: Place, quality: Quality) -> bool {
        if sender == receiver || !self.participants.contains_key(&sender) {
            return false;
        }
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return false;
        };
        participant.by_sender.insert(sender, quality);
        true
    }

    /// Everybody's places, in order.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.participants.keys().copied()
    }

    /// Whether the place is taken.
    pub fn contains(&self, place: Place) -> bool {
        self.participants.contains_key(&place)
    }

    /// The number of participants.
    pub fn len(&self) -> usize {
        self.participants.len()
    }

    /// Whether nobody is in the meeting.
    pub fn is_empty(&self) -> bool {
        self.participants.is_empty()
    }

    /// The senders' places, in order.
    pub fn senders(&self) -> impl Iterator<Item = Place> + '_ {
        self.participants
            .iter()
            .filter(|(_, participant)| participant.rates.is_some())
            .map(|(place, _)| *place)
    }

    /// The receivers of a sender: everybody else.
    pub fn receivers(&self, sender: Place) -> impl Iterator<Item = Place> + '_ {
        self.places().filter(move |place| *place != sender)
    }

    /// The quality that a receiver gets from a sender.
    pub fn quality(&self, sender: Place, receiver: Place) -> Quality {
        let of = |participant: &Participant| *participant.by_sender.get(&sender).unwrap_or(&participant.quality);
        self.participants.get(&receiver).map_or(Quality::Low, of)
    }

    /// The quality that a sender sends: the highest that a receiver gets, or the lowest if it has
    /// no receivers (Scallop section 5.2).
    pub fn sent(&self, sender: Place) -> Quality {
        self.receivers(sender)
            .map(|receiver| self.quality(sender, receiver))
            .max()
            .unwrap_or(Quality::Low)
    }

    /// The highest quality that a receiver gets from any sender.
    pub fn level(&self, receiver: Place) -> Quality {
        let senders = self.senders().filter(|sender| *sender != receiver);
        senders
            .map(|sender| self.quality(sender, receiver))
            .max()
            .unwrap_or(Quality::Low)
    }

    /// Bits a second through the device: each sender's stream, and each copy of it.
    pub fn bandwidth(&self) -> u64 {
        let senders = self
            .participants
            .iter()
            .filter_map(|(place, it)| Some((*place, it.rates?)));
        let of = |(sender, rates): (Place, Rates)| {
            let copies = self
                .receivers(sender)
                .map(|receiver| rates.of(self.quality(sender, receiver)));
            rates
                .of(self.sent(sender))
                .saturating_add(copies.fold(0, u64::saturating_add))
        };
        senders.map(of).fold(0, u64::saturating_add)
    }
}
