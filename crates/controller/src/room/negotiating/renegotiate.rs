//! Getting a description exchanged when something has changed on our side.

use wire::MediaKind;

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::{ASK_AGAIN, NEGOTIATION_TIMEOUT};
use crate::negotiation::{PeerState, Section};
use crate::participant::RequestedSections;
use crate::room::roster::Roster;
use crate::room::subscribing::place_subscriptions;
use crate::room::updates::Updates;
use crate::{LocalDescription, Notification, PeerMode};

/// Brings a participant's peer connection to what its subscriptions need.
pub(in crate::room) fn renegotiate(ctx: &mut Context<'_>, roster: &mut Roster, updates: &Updates, key: ParticipantKey) {
    match roster.get(key).map(|participant| participant.media.mode) {
        Some(PeerMode::Single) => ask_for_sections(ctx, roster, key),
        Some(PeerMode::Dual) => offer(ctx, roster, updates, key),
        None => {}
    }
}

/// We may not offer, so the client is asked to, with as many new sections as are missing.
fn ask_for_sections(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
    let participant_ref = roster.participant_ref(key);
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    let Some(peer) = participant
        .media
        .publisher
        .as_ref()
        .filter(|peer| !peer.sections.is_empty())
    else {
        return;
    };
    let missing = |kind| {
        let waiting = participant
            .subscriptions
            .waiting()
            .filter(|found| found.kind == kind)
            .count();
        let free = peer.sections.iter().filter(|section| section.is_free_for(kind)).count();
        (waiting, waiting.saturating_sub(free))
    };
    let ((waiting_audios, audios), (waiting_videos, videos)) = (missing(MediaKind::Audio), missing(MediaKind::Video));
    let releasing = peer.sections.iter().any(Section::is_releasing);
    if waiting_audios + waiting_videos == 0 && !releasing {
        return;
    }
    let asked = participant
        .media
        .requested
        .filter(|asked| ctx.now < asked.at + ASK_AGAIN);
    let already = asked.map_or((0, 0), |asked| (asked.audios, asked.videos));
    let (more_audios, more_videos) = (audios.saturating_sub(already.0), videos.saturating_sub(already.1));
    if asked.is_some() && more_audios + more_videos == 0 {
        return;
    }
    participant.media.requested = Some(RequestedSections {
        at: ctx.now,
        audios: already.0 + more_audios,
        videos: already.1 + more_videos,
    });
    ctx.wake(ASK_AGAIN, Timer::Participant(participant_ref));
    let needed = Notification::SectionsNeeded {
        audios: more_audios as u32,
        videos: more_videos as u32,
    };
    participant.notify(ctx, needed);
}

/// Offers what has changed, unless an offer is out: then it goes into the next.
fn offer(ctx: &mut Context<'_>, roster: &mut Roster, updates: &Updates, key: ParticipantKey) {
    let Some(node) = roster.node_of(ctx, key) else {
        return;
    };
    let participant_ref = roster.participant_ref(key);
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    let waiting = participant.subscriptions.waiting().next().is_some();
    let Some(peer) = participant.media.subscriber.as_mut() else {
        return;
    };
    let releasing = peer.sections.iter().any(Section::is_untold);
    peer.offering.needed |= waiting || releasing;
    if !peer.offering.needed || peer.offering.pending.is_some() {
        return;
    }
    place_subscriptions(roster, key, true);
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    let Some(peer) = participant.media.subscriber.as_mut() else {
        return;
    };
    let (id, offer) = peer.offer(ctx.now, &node);
    let offer = LocalDescription {
        id,
        sdp: offer.to_string(),
        tracks: peer.mid_to_track_id().collect(),
    };
    updates.tell_publishers_first(ctx, roster, key);
    roster[key].notify(ctx, Notification::Offer(offer));
    let timeout = NEGOTIATION_TIMEOUT + roster[key].reading_time();
    ctx.wake(timeout, Timer::Participant(participant_ref));
}

/// New ICE credentials for the connection we offer, after its client came back.
pub(in crate::room) fn restart_subscriber(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    let Some(peer) = participant.media.subscriber.as_mut() else {
        return;
    };
    if peer.state != PeerState::New {
        peer.restart(&mut ctx.core.random);
        let open = peer.open();
        ctx.command(participant.media.node, open);
    }
    // The answer to an offer that was out may be lost; the new offer says all of it again.
    peer.offering.pending = None;
    peer.offering.needed = true;
}
