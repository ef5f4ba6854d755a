//! What time alone makes necessary.

use livekit_protocol::DisconnectReason;
use livekit_protocol::leave_request::Action;

use super::Room;
use crate::Counter;
use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::{NEGOTIATION_TIMEOUT, RESUME_TIMEOUT, SILENCE_TIMEOUT};
use crate::participant::Link;

/// What a deadline that has passed means for a participant.
enum Overdue {
    Removal(DisconnectReason),
    Restart(DisconnectReason),
}

impl Room {
    pub(crate) fn wake_participant(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        self.acts(key);
        match self.overdue(ctx, key) {
            Some(Overdue::Removal(reason)) => return self.remove(ctx, key, reason),
            Some(Overdue::Restart(reason)) => return self.dismiss(ctx, key, reason, Action::Reconnect),
            None => {}
        }
        self.answer_first_offer_if_due(ctx, key);
        self.refresh_token_if_due(ctx, key);
        self.update_audience_as_asked(ctx, key);
        self.review_demands(key);
        self.touched.insert(key);
    }

    fn overdue(&self, ctx: &mut Context<'_>, key: ParticipantKey) -> Option<Overdue> {
        let participant = self.participants.get(&key)?;
        if participant
            .deadlines
            .connect
            .is_some_and(|deadline| deadline <= ctx.now)
        {
            ctx.count(Counter::NeverConnected);
            return Some(Overdue::Restart(DisconnectReason::JoinFailure));
        }
        let pending = participant.subscriber.as_ref().and_then(|peer| peer.offering.pending);
        match participant.signal.link {
            Link::Attached(_) if pending.is_some_and(|pending| pending.since + NEGOTIATION_TIMEOUT <= ctx.now) => {
                Some(Overdue::Restart(DisconnectReason::StateMismatch))
            }
            Link::Detached { since } => {
                let silent = participant
                    .silent_since
                    .is_some_and(|silent| silent + SILENCE_TIMEOUT <= ctx.now);
                let gone = silent && since + SILENCE_TIMEOUT <= ctx.now;
                let long_gone = since + RESUME_TIMEOUT <= ctx.now;
                (gone || long_gone).then_some(Overdue::Removal(DisconnectReason::SignalClose))
            }
            Link::Attached(_) => {
                let goodbye = participant.deadlines.goodbye;
                goodbye
                    .is_some_and(|deadline| deadline <= ctx.now)
                    .then_some(Overdue::Restart(DisconnectReason::ConnectionTimeout))
            }
        }
    }

    /// The signalling connection is gone. Whose media never flowed is gone as well; everybody else may come back.
    pub(crate) fn detach(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let place = self.place(key);
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        participant.signal.link = Link::Detached { since: ctx.now };
        if !participant.has_connected() {
            return self.remove(ctx, key, DisconnectReason::SignalClose);
        }
        ctx.wake(SILENCE_TIMEOUT, Timer::Participant(place));
        ctx.wake(RESUME_TIMEOUT, Timer::Participant(place));
    }

    pub(crate) fn wake(&mut self, ctx: &mut Context<'_>) {
        self.notice_silence(ctx);
        self.tell_population_if_due(ctx);
        self.tick_if_due(ctx);
    }

    /// Whether the room has been empty for as long as rooms may be.
    pub(crate) fn is_over(&self, ctx: &Context<'_>) -> bool {
        self.empty_since
            .is_some_and(|since| since + ctx.core.config.empty_timeout <= ctx.now)
    }
}
