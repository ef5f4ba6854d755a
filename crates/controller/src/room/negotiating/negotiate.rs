//! Session descriptions in and out.

use southbound::Command;
use wire::MediaKind;
use wire::sdp::SessionDescription;

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::FIRST_OFFER_WAIT;
use crate::negotiation::{Answered, Change, NegotiationError, Peer};
use crate::participant::{Asked, FirstOffer, Participant};
use crate::room::publishing::claim;
use crate::room::roster::Roster;
use crate::room::{Room, subscribing};
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

    /// The offer that came with joining. It is answered when the client can take the answer: at
    /// once, or once it shows by a message that it has got so far.
    pub(in crate::room) fn take_first_offer(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, offer: Description) {
        let participant_ref = self.roster.participant_ref(key);
        let found = self.roster.get_mut(key);
        let Some(participant) = found.filter(|found| found.traits.applies_offer_after_greeting) else {
            return self.take_offer(ctx, key, offer);
        };
        let until = ctx.wake(FIRST_OFFER_WAIT, Timer::Participant(participant_ref));
        participant.first_offer = Some(FirstOffer { offer, until });
    }

    /// Answers the offer that came with joining, if that has not been done.
    pub(in crate::room) fn answer_first_offer(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let found = self.roster.get_mut(key);
        if let Some(first) = found.and_then(|found| found.first_offer.take()) {
            self.take_offer(ctx, key, first.offer);
        }
    }

    pub(in crate::room) fn answer_first_offer_if_due(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let first = self.roster.get(key).and_then(|found| found.first_offer.as_ref());
        if first.is_some_and(|first| first.until <= ctx.now) {
            self.answer_first_offer(ctx, key);
        }
    }

    fn try_offer(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        offer: &SessionDescription,
        id: u32,
    ) -> Result<(), NegotiationError> {
        let Some(node) = self.roster.node_of(ctx, key) else {
            return Ok(());
        };
        open_publisher(ctx, &mut self.roster, key);
        let Some(participant) = self.roster.get_mut(key) else {
            return Ok(());
        };
        let (may_publish, mode) = (participant.permission.publish, participant.mode);
        let Some(peer) = participant.publisher.as_mut() else {
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
        participant.asked = still_asked(participant.asked, count(MediaKind::Audio), count(MediaKind::Video));
        for change in changes {
            self.apply(ctx, key, change);
        }
        claim(&mut self.roster, key);
        let placed = if mode == PeerMode::Single {
            subscribing::place_subscriptions(&mut self.roster, key, false)
        } else {
            Vec::new()
        };
        let Some(participant) = self.roster.get_mut(key) else {
            return Ok(());
        };
        let Some(peer) = participant.publisher.as_mut() else {
            return Ok(());
        };
        let answer = peer.answer(&node);
        let answer = LocalDescription {
            id,
            sdp: answer.to_string(),
            tracks: peer.mid_to_track_id().collect(),
        };
        if let Some(command) = peer.connect() {
            ctx.command(participant.node, command);
        }
        let arrivals = peer.sections.iter();
        let arrivals = arrivals.filter_map(|section| Some((section.mid, section.uplink()?.track)));
        let arrivals: Vec<_> = arrivals.collect();
        self.updates.tell_publishers_first(ctx, &self.roster, key);
        self.roster[key].notify(ctx, Notification::Answer(answer));
        for (mid, track) in arrivals {
            self.arrive(ctx, key, mid, track);
        }
        for subscription in placed {
            self.subscribers.activate(ctx, &mut self.roster, key, subscription);
        }
        self.subscribers
            .review_decoders(ctx, &mut self.roster, &self.updates, key);
        self.subscribers.negotiate(key);
        Ok(())
    }

    fn apply(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, change: Change) {
        match change {
            Change::Ended(track) => self.unpublish(ctx, key, track),
            Change::Restarted => {
                let Some(peer) = self.roster.get_mut(key).and_then(|found| found.publisher.as_mut()) else {
                    return;
                };
                peer.restart(&mut ctx.core.random);
                let open = peer.open();
                self.roster.command(ctx, key, open);
            }
            Change::Unplaced(id) => {
                let Some(participant) = self.roster.get_mut(key) else {
                    return;
                };
                let Some(subscription) = participant.subscriptions.get_mut(id) else {
                    return;
                };
                if let SubscriptionState::Active(..) =
                    std::mem::replace(&mut subscription.state, SubscriptionState::Waiting)
                {
                    ctx.command(participant.node, Command::Unsubscribe { subscription: id });
                }
            }
        }
    }

    /// A client answers the offer on the peer connection it receives on.
    pub(in crate::room) fn take_answer(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, answer: Description) {
        let Some(peer) = self.roster.get(key).and_then(|found| found.subscriber.as_ref()) else {
            return ctx.count(Counter::StaleDescription);
        };
        // Clients from before offers had numbers answer with 0.
        let expected = |pending: u32| answer.id == 0 || answer.id == pending;
        if !peer.offering.pending.is_some_and(|pending| expected(pending.id)) {
            return ctx.count(Counter::StaleDescription);
        }
        let read = match without_flaws(ctx, &self.roster, key, answer) {
            Ok(read) => read,
            Err(error) => return self.give_up(ctx, key, &error),
        };
        let receiving = self.roster.get_mut(key);
        let Some(peer) = receiving.and_then(|found| found.subscriber.as_mut()) else {
            return;
        };
        let answered = match peer.take_answer(&read) {
            Ok(answered) => answered,
            Err(error) => return self.give_up(ctx, key, &error),
        };
        if let Some(command) = peer.connect() {
            self.roster.command(ctx, key, command);
        }
        for subscription in answered {
            match subscription {
                Answered::Taken(id) => self.subscribers.activate(ctx, &mut self.roster, key, id),
                Answered::Refused(id) => self.subscribers.refuse_subscription(ctx, &mut self.roster, key, id),
            }
        }
        self.subscribers
            .review_decoders(ctx, &mut self.roster, &self.updates, key);
        if self
            .roster
            .get(key)
            .is_some_and(|found| found.subscriber.as_ref().is_some_and(|peer| peer.offering.needed))
        {
            self.subscribers.negotiate(key);
        }
    }

    /// A description that cannot be used leaves no common state to go on from, so the client has to
    /// start over.
    fn give_up(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, error: &NegotiationError) {
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
    let Some(participant) = roster.get_mut(key).filter(|found| found.publisher.is_none()) else {
        return;
    };
    let transport = ctx.core.ids.transport();
    // The client opens the data channels here, and uses them both ways when there is no other
    // connection.
    let peer = Peer::new(
        transport,
        &mut ctx.core.random,
        Vec::new(),
        participant.traits.disabled_codecs,
        participant.protocol,
        participant.port_index,
    );
    ctx.core.index.transports.insert(transport, participant_ref);
    ctx.command(participant.node, peer.open());
    participant.publisher = Some(peer);
    participant.limit_downlink(ctx);
    crate::room::data::send_early(ctx, participant);
}

/// The media sections that a client has yet to add, after an offer that added this many. Any offer
/// is an answer to being asked for none.
fn still_asked(asked: Option<Asked>, audios: usize, videos: usize) -> Option<Asked> {
    let asked = asked?;
    let left = Asked {
        audios: asked.audios.saturating_sub(audios),
        videos: asked.videos.saturating_sub(videos),
        ..asked
    };
    (left.audios + left.videos > 0).then_some(left)
}
