//! Observations of participants, for the timelines of operators. Nothing is decided by them.

use operator::observation::{Direction, LeaveReason, TimelineTrack, TrackSource, TransportState};
use operator::receivers::{MediaKind, Target};
use operator::{Observation, ParticipantObservation};
use southbound::{CloseReason, DownlinkEstimate, Notice, SentLayer, SubscriptionId, TransportId};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::Participant;
use crate::room::roster::Roster;
use crate::track::Track;
use crate::{EndReason, Output};

/// Outputs an observation of a participant, if those outside want any.
pub(crate) fn observe(ctx: &mut Context<'_>, participant: &Participant, observation: Observation) {
    output(ctx, participant, || None, observation);
}

/// The same, of a track of the participant's own.
pub(crate) fn observe_own(ctx: &mut Context<'_>, publisher: &Participant, track: &Track, observation: Observation) {
    let track = || Some(timeline_track(track, &publisher.profile.identity));
    output(ctx, publisher, track, observation);
}

/// The same, of a track that the participant gets. One that has ended has no name.
pub(crate) fn observe_subscription(
    ctx: &mut Context<'_>,
    roster: &Roster,
    receiver: ParticipantKey,
    subscription: SubscriptionId,
    observation: Observation,
) {
    let Some(participant) = roster.get(receiver) else {
        return;
    };
    let track = || {
        let subscription = participant.subscriptions.get(subscription)?;
        let publisher = roster.get(subscription.publisher)?;
        let track = publisher.publications.tracks.get(&subscription.track)?;
        Some(timeline_track(track, &publisher.profile.identity))
    };
    output(ctx, participant, track, observation);
}

/// Outputs what follows for timelines from a notice about a participant.
pub(crate) fn observe_notice(ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey, notice: &Notice) {
    let Some(participant) = roster.get(key) else {
        return;
    };
    let of_transport = |transport: TransportId, state| Observation::Transport {
        direction: direction_of(participant, transport),
        state,
    };
    match *notice {
        Notice::Connected { transport, .. } => {
            observe(ctx, participant, of_transport(transport, TransportState::Connected));
        }
        Notice::Disconnected { transport } => {
            observe(ctx, participant, of_transport(transport, TransportState::Disconnected));
        }
        Notice::Closed { transport, reason } => observe(ctx, participant, of_transport(transport, closed(reason))),
        Notice::Paused { subscription, paused } => {
            observe_subscription(ctx, roster, key, subscription, Observation::Pause { paused });
        }
        Notice::Encodings { track: id, active } => {
            let mut tracks = participant.publications.tracks.values();
            if let Some(track) = tracks.find(|track| track.version(id).is_some()) {
                observe_own(ctx, participant, track, Observation::Arrival { encodings: active });
            }
        }
        Notice::Refused { .. } => observe(ctx, participant, Observation::Refusal),
        Notice::Observation(seen) => observe_media(ctx, roster, participant, &seen),
        _ => {}
    }
}

fn observe_media(ctx: &mut Context<'_>, roster: &Roster, participant: &Participant, seen: &southbound::Observation) {
    use southbound::Observation as Seen;
    let short = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    match *seen {
        Seen::LayerSwitch {
            subscription,
            from,
            to,
            cause,
        } => {
            let switch = Observation::LayerSwitch {
                from: from.map(target),
                to: target(to),
                // Nodes that say no cause divide downlinks, too.
                cause: cause.unwrap_or(operator::observation::SwitchCause::Downlink),
            };
            observe_subscription(ctx, roster, participant.key, subscription, switch);
        }
        Seen::Probe { rate, bytes, .. } => {
            let rate_bps = short(rate);
            observe(ctx, participant, Observation::Probe { rate_bps, bytes });
        }
        Seen::Loss {
            direction,
            expected,
            lost,
            ..
        } => {
            let loss = Observation::Loss {
                direction,
                expected: short(expected),
                lost: short(lost),
            };
            observe(ctx, participant, loss);
        }
        Seen::Estimate { ref estimate, .. } => observe(ctx, participant, of_estimate(estimate)),
        Seen::KeyFrameRequest { subscription } => {
            observe_subscription(ctx, roster, participant.key, subscription, Observation::KeyFrameRequest);
            tell_publisher_of_request(ctx, roster, participant, subscription);
        }
        Seen::KeyFrameQuery { track: id, attempt } => {
            let attempt = u16::try_from(attempt).unwrap_or(u16::MAX);
            let mut tracks = participant.publications.tracks.values();
            if let Some(track) = tracks.find(|track| track.version(id).is_some()) {
                observe_own(ctx, participant, track, Observation::KeyFrameQuery { attempt });
            }
        }
        Seen::Path { remote, protocol, .. } => observe(ctx, participant, Observation::Path { remote, protocol }),
    }
}

/// The publisher's timeline says who asked for its key frame.
fn tell_publisher_of_request(
    ctx: &mut Context<'_>,
    roster: &Roster,
    receiver: &Participant,
    subscription: SubscriptionId,
) {
    let subscription = receiver.subscriptions.get(subscription);
    let Some(subscription) = subscription else { return };
    let Some(publisher) = roster.get(subscription.publisher) else {
        return;
    };
    let track = publisher.publications.tracks.get(&subscription.track);
    let of_track = || track.map(|track| timeline_track(track, &receiver.profile.identity));
    output(ctx, publisher, of_track, Observation::KeyFrameRequest);
}

fn output(
    ctx: &mut Context<'_>,
    participant: &Participant,
    track: impl FnOnce() -> Option<TimelineTrack>,
    observation: Observation,
) {
    if ctx.core.config.observations {
        ctx.out.push(Output::Observation {
            room: ctx.room.clone(),
            observation: Box::new(ParticipantObservation {
                participant: participant.profile.identity.clone(),
                track: track(),
                observation,
            }),
        });
    }
}

pub(crate) fn timeline_track(track: &Track, peer: &str) -> TimelineTrack {
    TimelineTrack {
        id: track.sid().to_owned(),
        peer: peer.to_owned(),
        kind: match track.kind {
            wire::MediaKind::Audio => MediaKind::Audio,
            wire::MediaKind::Video => MediaKind::Video,
        },
        source: match track.info.source {
            access::TrackSource::Unknown => TrackSource::Unknown,
            access::TrackSource::Camera => TrackSource::Camera,
            access::TrackSource::Microphone => TrackSource::Microphone,
            access::TrackSource::ScreenShare => TrackSource::ScreenShare,
            access::TrackSource::ScreenShareAudio => TrackSource::ScreenShareAudio,
        },
    }
}

/// A participant with one transport for both ways receives on it.
fn direction_of(participant: &Participant, transport: TransportId) -> Direction {
    let downlink = participant.media.downlink();
    match downlink.is_none_or(|peer| peer.transport == transport) {
        true => Direction::Downlink,
        false => Direction::Uplink,
    }
}

fn of_estimate(estimate: &DownlinkEstimate) -> Observation {
    let rate = |rate: u64| u32::try_from(rate).unwrap_or(u32::MAX);
    let time = |time: std::time::Duration| u16::try_from(time.as_millis()).unwrap_or(u16::MAX - 1);
    Observation::Estimate {
        target_bps: rate(estimate.target),
        allocated_bps: rate(estimate.allocated),
        wanted_bps: rate(estimate.wanted),
        limit: estimate.limit,
        usage: estimate.usage,
        loss_permille: (estimate.loss.clamp(0.0, 1.0) * 1000.0).round() as u16,
        round_trip_ms: estimate.round_trip.map(time),
        queue_ms: time(estimate.queue),
    }
}

fn target(sent: SentLayer) -> Target {
    let layer = |layer: u8| (layer != u8::MAX).then_some(layer);
    Target {
        encoding: sent.encoding,
        spatial: layer(sent.layer.spatial),
        temporal: layer(sent.layer.temporal),
    }
}

fn closed(reason: CloseReason) -> TransportState {
    match reason {
        CloseReason::NeverConnected => TransportState::NeverConnected,
        CloseReason::ConsentExpired => TransportState::ConsentExpired,
        CloseReason::Handshake => TransportState::Handshake,
        CloseReason::Fingerprint => TransportState::Fingerprint,
        CloseReason::Peer => TransportState::Peer,
    }
}

/// The end of a session in the operator's words.
pub(crate) fn leave(reason: EndReason) -> Observation {
    let reason = match reason {
        EndReason::ClientInitiated => LeaveReason::ClientInitiated,
        EndReason::DuplicateIdentity => LeaveReason::DuplicateIdentity,
        EndReason::ServerShutdown => LeaveReason::ServerShutdown,
        EndReason::ParticipantRemoved => LeaveReason::ParticipantRemoved,
        EndReason::RoomDeleted => LeaveReason::RoomDeleted,
        EndReason::StateMismatch => LeaveReason::StateMismatch,
        EndReason::JoinFailure => LeaveReason::JoinFailure,
        EndReason::Migration => LeaveReason::Migration,
        EndReason::SignalClose => LeaveReason::SignalClose,
        EndReason::ConnectionTimeout => LeaveReason::ConnectionTimeout,
        EndReason::MediaFailure => LeaveReason::MediaFailure,
    };
    Observation::Leave { reason }
}
