//! Session descriptions in and out.

use operator::Observation;
use southbound::{Command, SubscriptionId};
use wire::MediaKind;
use wire::sdp::SessionDescription;

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::FIRST_OFFER_WAIT;
use crate::negotiation::{Answered, Change, NegotiationError};
use crate::participant::Participant;
use crate::room::moving::resend_moved;
use crate::room::publishing::claim;
use crate::room::roster::Roster;
use crate::room::subscribing::{Subscribers, place_subscriptions};
use crate::room::updates::Updates;
use crate::room::{Room, moving, timeline};
use crate::subscription::SubscriptionState;
use crate::{Counter, Description, EndAction, EndReason, Event, LocalDescription, Notification, PeerMode};

impl Room {
    /// A client offers: on its only peer connection, or on the one it publishes on.
    pub(in crate::room) fn take_offer(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, offer: Description) {
        let id = offer.id;
        let taken = without_flaws(ctx, &self.roster, key, offer);
        if let Err(error) = taken.and_then(|offer| self.try_offer(ctx, key, &offer, id)) {
            self.give_up(ctx, key, &error);
        }
    }

    fn try_offer(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        offer: &SessionDescription,
        id: u32,
    ) -> Result<(), NegotiationError> {
        let left = moving::relocate_by(self, ctx, key, offer);
        let Some(node) = self.roster.node_of(ctx, key) else {
            return Ok(());
        };
        open_publisher(ctx, &mut self.roster, key);
        let Some(participant) = self.roster.get_mut(key) else {
            return Ok(());
        };
        let (may_publish, mode) = (participant.authorization.permission.publish, participant.media.mode);
        let Some(peer) = participant.media.publisher.as_mut() else {
            return Ok(());
        };
        let known = peer.sections.len();
        let changes = peer.take_offer(offer, &node, may_publish)?;
        let added = &peer.sections[known..];
        let count = |kind| {
            added
                .iter()
                .filter(|section| section.media_kind() == Some(kind))
                .count()
        };
        let (audios, videos) = (count(MediaKind::Audio), count(MediaKind::Video));
        let requested = participant.media.requested;
        participant.media.requested = requested.and_then(|requested| requested.without(audios, videos));
        for change in changes {
            match change {
                Change::Ended(track) => self.unpublish(ctx, key, track),
                Change::Restarted => restart_publisher(ctx, &mut self.roster, key),
                Change::Unplaced(id) => withdraw(ctx, &mut self.roster, key, id),
            }
        }
        claim(&mut self.roster, key);
        let placed = if mode == PeerMode::Single {
            place_subscriptions(&mut self.roster, key, false)
        } else {
            Vec::new()
        };
        let Some(participant) = self.roster.get_mut(key) else {
            return Ok(());
        };
        let Some(peer) = participant.media.publisher.as_mut() else {
            return Ok(());
        };
        let answer = peer.answer(&node);
        let answer = LocalDescription {
            id,
            sdp: answer.to_string(),
            tracks: peer.mid_to_track_id().collect(),
        };
        if let Some(command) = peer.connect() {
            ctx.command(participant.media.node, command);
        }
        let arrivals = peer.sections.iter();
        let arrivals = arrivals.filter_map(|section| Some((section.mid, section.uplink()?.track)));
        let arrivals: Vec<_> = arrivals.collect();
        self.updates.tell_publishers_first(ctx, &self.roster, key);
        self.roster[key].notify(ctx, Notification::Answer(answer));
        for (mid, track) in arrivals {
            self.arrive(ctx, key, mid, track);
        }
        if let Some(left) = left {
            self.speaking.moved(ctx, &self.roster, key, left);
        }
        if mode == PeerMode::Single {
            resend_moved(ctx, &mut self.roster, key);
        }
        for subscription in placed {
            self.subscribers.activate(ctx, &mut self.roster, key, subscription);
        }
        self.subscribers
            .review_decoders(ctx, &mut self.roster, &self.updates, key);
        self.subscribers.negotiate(key);
        Ok(())
    }

    /// A description that cannot be used leaves no common state to go on from, so the client has to
    /// start over.
    pub(in crate::room) fn give_up(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, error: &NegotiationError) {
        ctx.count(Counter::BadDescription);
        if let Some(connection) = self.roster.get(key).and_then(Participant::connection) {
            ctx.event(Event::Misbehaved {
                connection,
                what: error.to_string(),
            });
        }
        self.dismiss(ctx, key, EndReason::StateMismatch, EndAction::Reconnect);
    }
}

impl Subscribers {
    /// A client answers the offer on the peer connection it receives on.
    ///
    /// Errors: the answer cannot be used.
    pub(in crate::room) fn take_answer(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        key: ParticipantKey,
        answer: Description,
    ) -> Result<(), NegotiationError> {
        let peer = roster.get(key).and_then(|found| found.media.subscriber.as_ref());
        // Clients from before offers had numbers answer with 0.
        let expected = |pending: u32| answer.id == 0 || answer.id == pending;
        let pending = peer.and_then(|peer| peer.offering.pending);
        if !pending.is_some_and(|pending| expected(pending.id)) {
            ctx.count(Counter::StaleDescription);
            return Ok(());
        }
        let read = without_flaws(ctx, roster, key, answer)?;
        let receiving = roster.get_mut(key);
        let Some(peer) = receiving.and_then(|found| found.media.subscriber.as_mut()) else {
            return Ok(());
        };
        let answered = peer.take_answer(&read)?;
        if let Some(command) = peer.connect() {
            roster.command(ctx, key, command);
        }
        resend_moved(ctx, roster, key);
        for subscription in answered {
            match subscription {
                Answered::Taken(id) => self.activate(ctx, roster, key, id),
                Answered::Refused(id) => self.refuse_subscription(ctx, roster, key, id),
            }
        }
        self.review_decoders(ctx, roster, updates, key);
        let peer = roster.get(key).and_then(|found| found.media.subscriber.as_ref());
        if peer.is_some_and(|peer| peer.offering.needed) {
            self.negotiate(key);
        }
        Ok(())
    }
}

/// Keeps the offer that came with joining until the client can take its answer, and returns it if
/// that is now.
pub(in crate::room) fn keep_first_offer(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    key: ParticipantKey,
    offer: Description,
) -> Option<Description> {
    let participant_ref = roster.participant_ref(key);
    let found = roster.get_mut(key);
    let Some(participant) = found.filter(|found| found.client.traits.applies_offer_after_greeting) else {
        return Some(offer);
    };
    let until = ctx.wake(FIRST_OFFER_WAIT, Timer::Participant(participant_ref));
    participant.media.keep_first_offer(offer, until);
    None
}

/// The client has restarted ICE on the connection it publishes on.
fn restart_publisher(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
    let Some(peer) = roster.get_mut(key).and_then(|found| found.media.publisher.as_mut()) else {
        return;
    };
    peer.restart(&mut ctx.core.random);
    let open = peer.open();
    if let Some(participant) = roster.get(key) {
        timeline::observe(ctx, participant, Observation::Restart);
    }
    roster.command(ctx, key, open);
}

/// A subscription has lost its media section, and waits for another.
fn withdraw(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey, id: SubscriptionId) {
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    let Some(subscription) = participant.subscriptions.get_mut(id) else {
        return;
    };
    let before = std::mem::replace(&mut subscription.state, SubscriptionState::Waiting);
    if let SubscriptionState::Active(..) = before {
        ctx.command(participant.media.node, Command::Unsubscribe { subscription: id });
    }
}

/// The content of a client's description. Lines that had to be left out are counted and logged.
fn without_flaws(
    ctx: &mut Context<'_>,
    roster: &Roster,
    key: ParticipantKey,
    description: Description,
) -> Result<SessionDescription, NegotiationError> {
    let (description, left_out) = description.read?;
    if left_out.lines > 0 {
        ctx.count(Counter::LinesLeftOut);
    }
    if left_out.sections > 0 {
        ctx.count(Counter::SectionsLeftOut);
    }
    let connection = roster.get(key).and_then(Participant::connection);
    if let Some(connection) = connection.filter(|_| !left_out.is_empty()) {
        let what = left_out.to_string();
        ctx.event(Event::Misbehaved { connection, what });
    }
    Ok(description)
}

fn open_publisher(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
    let participant_ref = roster.participant_ref(key);
    let Some(participant) = roster.get_mut(key).filter(|found| found.media.publisher.is_none()) else {
        return;
    };
    let transport = ctx.core.ids.transport();
    // The client opens the data channels here, and uses them both ways when there is no other
    // connection.
    let peer = participant.client.peer(transport, &mut ctx.core.random, Vec::new());
    ctx.core.index.transports.insert(transport, participant_ref);
    ctx.command(participant.media.node, peer.open());
    participant.media.publisher = Some(peer);
    participant.limit_downlink(ctx);
    crate::room::data::send_early(ctx, participant);
    roster.note_change(key);
}
