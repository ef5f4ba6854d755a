//! The changes of single participants.

use super::{Allocator, Refusal};
use crate::device::Resource;
use crate::engine::{MeetingId, ReplicationEngine};
use crate::meeting::{Meeting, Place};
use crate::quality::{Quality, Rates};

impl Allocator {
    /// Adds a participant to a meeting, which begins with its first. It is a sender if it has
    /// rates.
    pub fn join(
        &mut self,
        id: MeetingId,
        rates: Option<Rates>,
        quality: Quality,
        engine: &mut impl ReplicationEngine,
    ) -> Result<Place, Refusal> {
        let mut meeting = self.copy(id);
        let place = meeting.join(rates, quality).ok_or(Refusal {
            resource: Resource::ReplicaIds,
        })?;
        self.set(id, meeting, engine).map(|_| place)
    }

    /// Removes a participant, and with the last the meeting. It is never refused; an unknown
    /// participant gives `false`.
    pub fn leave(&mut self, id: MeetingId, place: Place, engine: &mut impl ReplicationEngine) -> bool {
        let mut meeting = self.copy(id);
        meeting.leave(place) && self.set(id, meeting, engine).is_ok()
    }

    /// Makes a participant a sender at these rates, or a mere receiver. An unknown one gives
    /// `false`.
    pub fn set_rates(
        &mut self,
        id: MeetingId,
        place: Place,
        rates: Option<Rates>,
        engine: &mut impl ReplicationEngine,
    ) -> Result<bool, Refusal> {
        self.alter(id, |meeting| meeting.set_rates(place, rates), engine)
    }

    /// Sets the quality that a receiver gets from all senders. An unknown one gives `false`.
    pub fn set_quality(
        &mut self,
        id: MeetingId,
        receiver: Place,
        quality: Quality,
        engine: &mut impl ReplicationEngine,
    ) -> Result<bool, Refusal> {
        self.alter(id, |meeting| meeting.set_quality(receiver, quality), engine)
    }

    /// Sets the quality that a receiver gets from one sender. An unknown one gives `false`.
    pub fn set_quality_from(
        &mut self,
        id: MeetingId,
        (sender, receiver): (Place, Place),
        quality: Quality,
        engine: &mut impl ReplicationEngine,
    ) -> Result<bool, Refusal> {
        self.alter(
            id,
            |meeting| meeting.set_quality_from(sender, receiver, quality),
            engine,
        )
    }

    fn copy(&self, id: MeetingId) -> Meeting {
        self.meeting(id).cloned().unwrap_or_default()
    }

    fn alter(
        &mut self,
        id: MeetingId,
        change: impl FnOnce(&mut Meeting) -> bool,
        engine: &mut impl ReplicationEngine,
    ) -> Result<bool, Refusal> {
        let mut meeting = self.copy(id);
        if !change(&mut meeting) {
            return Ok(false);
        }
        self.set(id, meeting, engine).map(|_| true)
    }
}
