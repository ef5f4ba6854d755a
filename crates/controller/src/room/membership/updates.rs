//! Telling participants about each other.

use std::time::Duration;

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::participant::Participant;
use crate::room::Room;
use crate::{Notification, ParticipantSnapshot};

/// How long a change of numbers may wait for others.
const CENSUS_DELAY: Duration = Duration::from_secs(1);
/// The same in a large room, where they change all the time and matter less.
const CENSUS_DELAY_LARGE: Duration = Duration::from_secs(5);

impl Room {
    /// Tells everybody else how a participant is now.
    pub(in crate::room) fn announce(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let visible = ctx.core.config.visible;
        let Some(participant) = self.changed(key).filter(|found| found.is_visible(visible)) else {
            return;
        };
        let identity = participant.identity.clone();
        if self.is_told_later(ctx, &identity) {
            return self.tell_later(ctx, key);
        }
        let info = self.participants[&key].snapshot();
        self.charge_news(ctx, &identity, info.told_len());
        self.broadcast_update(ctx, vec![info], Some(key));
    }

    /// Tells everybody how a participant is now, itself too and at once: it asked for the change
    /// and waits for it.
    pub(in crate::room) fn announce_to_all(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        self.announce(ctx, key);
        if let Some(participant) = self.participants.get(&key) {
            participant.notify(ctx, Notification::Participants(vec![participant.snapshot()]));
        }
    }

    fn changed(&mut self, key: ParticipantKey) -> Option<&Participant> {
        let participant = self.participants.get_mut(&key)?;
        participant.version += 1;
        participant.weigh();
        Some(participant)
    }

    pub(in crate::room) fn broadcast_update(
        &self,
        ctx: &mut Context<'_>,
        infos: Vec<ParticipantSnapshot>,
        except: Option<ParticipantKey>,
    ) {
        let others = self.participants.values().filter(|found| Some(found.key) != except);
        self.notify_many(ctx, others, Notification::Participants(infos));
    }

    /// Somebody came or went. Everybody is told how many there are, once for all who come or go
    /// about the same time.
    pub(in crate::room) fn population_changed(&mut self, ctx: &mut Context<'_>) {
        if self.membership.census.is_none() {
            let delay = if self.is_large() {
                CENSUS_DELAY_LARGE
            } else {
                CENSUS_DELAY
            };
            self.membership.census = Some(ctx.wake(delay, Timer::Room(self.key)));
        }
    }

    pub(in crate::room) fn tell_population_if_due(&mut self, ctx: &mut Context<'_>) {
        if self.membership.census.is_none_or(|due| ctx.now < due) {
            return;
        }
        self.tell_population(ctx);
    }

    /// Tells everybody about the room now.
    pub(crate) fn tell_population(&mut self, ctx: &mut Context<'_>) {
        self.membership.census = None;
        self.notify_many(ctx, self.participants.values(), Notification::Room(self.info()));
    }

    /// Tells one participant about the room.
    pub(in crate::room) fn send_room(&self, ctx: &mut Context<'_>, key: ParticipantKey) {
        if let Some(participant) = self.participants.get(&key) {
            participant.notify(ctx, Notification::Room(self.info()));
        }
    }
}
