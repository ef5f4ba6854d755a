//! Deadlines and timers of a room.

use operator::Observation;

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::{NEGOTIATION_TIMEOUT, RESUME_TIMEOUT, SILENCE_TIMEOUT};
use crate::participant::{Link, Relocation};
use crate::room::membership::metadata::refresh_token_if_due;
use crate::room::publishing::falling_demands;
use crate::room::roster::Roster;
use crate::room::{Room, moving, timeline};
use crate::{Counter, EndAction, EndReason};

/// The consequence of a deadline that has passed.
enum Overdue {
    Removal(EndReason),
    Restart(EndReason),
}

impl Room {
    pub(crate) fn wake_participant(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        self.subscribers.acts(key);
        match overdue(ctx, &self.roster, key) {
            Some(Overdue::Removal(reason)) => return self.remove(ctx, key, reason),
            Some(Overdue::Restart(reason)) => return self.dismiss(ctx, key, reason, EndAction::Reconnect),
            None => {}
        }
        moving::call_back(self, ctx, key);
        let found = self.roster.get_mut(key);
        if let Some(offer) = found.and_then(|found| found.media.take_overdue_first_offer(ctx.now)) {
            self.take_offer(ctx, key, offer);
        }
        refresh_token_if_due(ctx, &mut self.roster, key);
        let found = self.roster.get_mut(key);
        if let Some(request) = found.and_then(|found| found.publications.take_postponed_permissions()) {
            self.update_track_permissions(ctx, key, request);
        }
        for track in falling_demands(&self.roster, key) {
            self.subscribers.demand(track);
        }
        self.subscribers.negotiate(key);
    }

    /// The signalling connection is gone. A participant whose media never flowed is gone as well;
    /// others may come back.
    pub(crate) fn detach(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let participant_ref = self.roster.participant_ref(key);
        let Some(participant) = self.roster.get_mut(key) else {
            return;
        };
        participant.signalling.detach(ctx.now);
        timeline::observe(ctx, participant, Observation::Detach);
        if !participant.media.has_connected() {
            return self.remove(ctx, key, EndReason::SignalClose);
        }
        ctx.wake(SILENCE_TIMEOUT, Timer::Participant(participant_ref));
        ctx.wake(RESUME_TIMEOUT, Timer::Participant(participant_ref));
    }

    /// Does what the room's timer is for. Returns whether the room has been empty for as long as
    /// rooms may be.
    pub(crate) fn wake(&mut self, ctx: &mut Context<'_>) -> bool {
        self.data.calls.give_up(ctx);
        self.speaking.notice_silence(ctx, &self.roster);
        if self.updates.is_census_due(ctx.now) {
            self.updates.tell_population(ctx, &self.roster, self.info());
        }
        if let Some(tick) = self.updates.tick_if_due(ctx, &self.roster) {
            self.subscribers.carry_out(ctx, &mut self.roster, &self.updates, tick);
        }
        self.lifetime.is_over(ctx.now)
    }
}

fn overdue(ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey) -> Option<Overdue> {
    let participant = roster.get(key)?;
    if participant
        .signalling
        .deadlines
        .connect
        .is_some_and(|deadline| deadline <= ctx.now)
    {
        ctx.count(Counter::NeverConnected);
        return Some(Overdue::Restart(EndReason::JoinFailure));
    }
    let relocation = participant.media.relocation.as_ref();
    let until = relocation.and_then(Relocation::until);
    if until.is_some_and(|until| until <= ctx.now) {
        return Some(Overdue::Restart(EndReason::Migration));
    }
    let pending = participant
        .media
        .subscriber
        .as_ref()
        .and_then(|peer| peer.offering.pending);
    let timeout = NEGOTIATION_TIMEOUT + participant.reading_time();
    match participant.signalling.link() {
        Link::Attached(_) if pending.is_some_and(|pending| pending.since + timeout <= ctx.now) => {
            Some(Overdue::Restart(EndReason::StateMismatch))
        }
        Link::Detached { since } => {
            let silent = participant
                .media
                .silent_since
                .is_some_and(|silent| silent + SILENCE_TIMEOUT <= ctx.now);
            let gone = silent && since + SILENCE_TIMEOUT <= ctx.now;
            let long_gone = since + RESUME_TIMEOUT <= ctx.now;
            (gone || long_gone).then_some(Overdue::Removal(EndReason::SignalClose))
        }
        Link::Attached(_) => {
            let goodbye = participant.signalling.deadlines.goodbye;
            goodbye
                .is_some_and(|deadline| deadline <= ctx.now)
                .then_some(Overdue::Restart(EndReason::ConnectionTimeout))
        }
    }
}
