//! Tracks on their way out: who gets which, and on which media section.

pub(in crate::room) mod deliver;
mod denials;
mod pauses;
mod subscribe;

use std::collections::BTreeSet;

use southbound::TrackId;

pub(in crate::room) use self::deliver::place_subscriptions;
pub(in crate::room) use self::denials::forget_denials;
pub(in crate::room) use self::pauses::{send_pauses, take_pause};
use crate::ids::ParticipantKey;
use crate::room::trunking::Trunking;

/// Changes for receivers of tracks in the input that is handled, each carried out once.
#[derive(Default)]
pub(in crate::room) struct Subscribers {
    /// The way of tracks to receivers at other nodes.
    pub(in crate::room) trunking: Trunking,
    /// Participants whose subscriptions changed.
    negotiations: BTreeSet<ParticipantKey>,
    /// Tracks of which more or less may be wanted since.
    demands: BTreeSet<TrackId>,
    /// The participant that the input comes from.
    actor: Option<ParticipantKey>,
    /// The participant that comes back and is still to hear how the others are now.
    returning: Option<ParticipantKey>,
}

impl Subscribers {
    /// A participant's connection is to be brought to what its subscriptions need.
    pub(in crate::room) fn negotiate(&mut self, key: ParticipantKey) {
        self.negotiations.insert(key);
    }

    /// More or less of a track may be wanted.
    pub(in crate::room) fn demand(&mut self, track: TrackId) {
        self.demands.insert(track);
        self.trunking.note(track);
    }

    pub(in crate::room) fn forget(&mut self, key: ParticipantKey) {
        self.negotiations.remove(&key);
    }

    /// The participant that comes back is told of permissions once it has heard of the others.
    pub(in crate::room) fn set_returning(&mut self, returning: Option<ParticipantKey>) {
        self.returning = returning;
    }

    pub(in crate::room) fn next_negotiation(&mut self) -> Option<ParticipantKey> {
        self.negotiations.pop_first()
    }

    pub(in crate::room) fn next_demand(&mut self) -> Option<TrackId> {
        self.demands.pop_first()
    }

    /// The participant that this input is about, or comes from, is served at once even in a large
    /// room.
    pub(in crate::room) fn acts(&mut self, key: ParticipantKey) {
        self.actor = Some(key);
    }

    /// Ends an input. Returns the changes that may wait in a large room, those for others than the
    /// participant that acted.
    pub(in crate::room) fn postponed(&mut self, is_large: bool) -> (BTreeSet<ParticipantKey>, BTreeSet<TrackId>) {
        let actor = self.actor.take();
        if !is_large {
            return Default::default();
        }
        let own = actor.filter(|actor| self.negotiations.remove(actor));
        let negotiations = std::mem::replace(&mut self.negotiations, own.into_iter().collect());
        (negotiations, std::mem::take(&mut self.demands))
    }
}
