//! Deadlines and timers of a room.

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::{NEGOTIATION_TIMEOUT, RESUME_TIMEOUT, SILENCE_TIMEOUT};
use crate::participant::Link;
use crate::room::Room;
use crate::{Counter, EndAction, EndReason};

/// The consequence of a deadline that has passed.
enum Overdue {
    Removal(EndReason),
    Restart(EndReason),
}

impl Room {
    pub(crate) fn wake_participant(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        self.acts(key);
        match self.overdue(ctx, key) {
            Some(Overdue::Removal(reason)) => return self.remove(ctx, key, reason),
            Some(Overdue::Restart(reason)) => return self.dismiss(ctx, key, reason, EndAction::Reconnect),
            None => {}
        }
        self.answer_first_offer_if_due(ctx, key);
        self.refresh_token_if_due(ctx, key);
        self.update_track_permissions_as_asked(ctx, key);
        self.review_demands(key);
        self.pending.negotiations.insert(key);
    }

    fn overdue(&self, ctx: &mut Context<'_>, key: ParticipantKey) -> Option<Overdue> {
        let participant = self.participants.get(&key)?;
        if participant
            .deadlines
            .connect
            .is_some_and(|deadline| deadline <= ctx.now)
        {
            ctx.count(Counter::NeverConnected);
            return Some(Overdue::Restart(EndReason::JoinFailure));
        }
        let pending = participant.subscriber.as_ref().and_then(|peer| peer.offering.pending);
        let patience = NEGOTIATION_TIMEOUT + participant.reading_time();
        match participant.link {
            Link::Attached(_) if pending.is_some_and(|pending| pending.since + patience <= ctx.now) => {
                Some(Overdue::Restart(EndReason::StateMismatch))
            }
            Link::Detached { since } => {
                let silent = participant
                    .silent_since
                    .is_some_and(|silent| silent + SILENCE_TIMEOUT <= ctx.now);
                let gone = silent && since + SILENCE_TIMEOUT <= ctx.now;
                let long_gone = since + RESUME_TIMEOUT <= ctx.now;
                (gone || long_gone).then_some(Overdue::Removal(EndReason::SignalClose))
            }
            Link::Attached(_) => {
                let goodbye = participant.deadlines.goodbye;
                goodbye
                    .is_some_and(|deadline| deadline <= ctx.now)
                    .then_some(Overdue::Restart(EndReason::ConnectionTimeout))
            }
        }
    }

    /// The signalling connection is gone. A participant whose media never flowed is gone as well;
    /// others may come back.
    pub(crate) fn detach(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let participant_ref = self.participant_ref(key);
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        participant.link = Link::Detached { since: ctx.now };
        if !participant.has_connected() {
            return self.remove(ctx, key, EndReason::SignalClose);
        }
        ctx.wake(SILENCE_TIMEOUT, Timer::Participant(participant_ref));
        ctx.wake(RESUME_TIMEOUT, Timer::Participant(participant_ref));
    }

    pub(crate) fn wake(&mut self, ctx: &mut Context<'_>) {
        self.give_up_calls(ctx);
        self.notice_silence(ctx);
        self.tell_population_if_due(ctx);
        self.tick_if_due(ctx);
    }

    /// Whether the room has been empty for as long as rooms may be.
    pub(crate) fn is_over(&self, ctx: &Context<'_>) -> bool {
        self.empty_since
            .is_some_and(|since| since + self.lifetime.grace() <= ctx.now)
    }
}
