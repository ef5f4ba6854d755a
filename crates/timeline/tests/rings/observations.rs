//! Any observation.

use std::net::{IpAddr, SocketAddr};

use operator::observation::{Direction, LeaveReason, PathProtocol, SwitchCause, TrackSource, TransportState};
use operator::receivers::{Limit, MediaKind, Target, Usage};
use operator::{Observation, TimelineTrack};
use proptest::prelude::*;
use proptest::sample::select;

/// Any observation. `u16::MAX` and layer 255 stand for "unknown" and "no limit".
pub(crate) fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![plain(), of_media(), of_transports()]
}

/// Any track, with names that fit and such that do not.
pub(crate) fn track() -> impl Strategy<Value = TimelineTrack> {
    let kind = select(vec![MediaKind::Audio, MediaKind::Video]);
    let source = select(vec![
        TrackSource::Unknown,
        TrackSource::Camera,
        TrackSource::Microphone,
        TrackSource::ScreenShare,
        TrackSource::ScreenShareAudio,
    ]);
    ("TR_[a-z]{1,40}", any::<String>(), kind, source).prop_map(|(id, peer, kind, source)| TimelineTrack {
        id,
        peer,
        kind,
        source,
    })
}

fn plain() -> impl Strategy<Value = Observation> {
    let reasons = select(vec![
        LeaveReason::ClientInitiated,
        LeaveReason::DuplicateIdentity,
        LeaveReason::ServerShutdown,
        LeaveReason::ParticipantRemoved,
        LeaveReason::RoomDeleted,
        LeaveReason::StateMismatch,
        LeaveReason::JoinFailure,
        LeaveReason::Migration,
        LeaveReason::SignalClose,
        LeaveReason::ConnectionTimeout,
        LeaveReason::MediaFailure,
    ]);
    let fixed = select(vec![
        Observation::Join,
        Observation::Reconnect,
        Observation::Detach,
        Observation::Publish,
        Observation::Unpublish,
        Observation::Subscribe,
        Observation::Unsubscribe,
        Observation::KeyFrameRequest,
        Observation::Restart,
        Observation::Move,
        Observation::Refusal,
    ]);
    let permission = any::<(bool, bool, bool)>().prop_map(|(publish, subscribe, data)| Observation::Permission {
        publish,
        subscribe,
        data,
    });
    prop_oneof![
        fixed,
        permission,
        reasons.prop_map(|reason| Observation::Leave { reason }),
        any::<bool>().prop_map(|muted| Observation::Mute { muted }),
        any::<bool>().prop_map(|paused| Observation::Pause { paused }),
        any::<u8>().prop_map(|encodings| Observation::Arrival { encodings }),
        any::<u16>().prop_map(|attempt| Observation::KeyFrameQuery { attempt }),
    ]
}

fn of_media() -> impl Strategy<Value = Observation> {
    let limit = select(vec![
        Limit::Start,
        Limit::Delay,
        Limit::Loss,
        Limit::Remb,
        Limit::Silence,
    ]);
    let usage = select(vec![Usage::Normal, Usage::Over, Usage::Under]);
    let rates = any::<(u32, u32, u32)>();
    let rest = (any::<u16>(), proptest::option::of(0..u16::MAX), any::<u16>());
    let estimate = (rates, limit, usage, rest).prop_map(|(rates, limit, usage, rest)| Observation::Estimate {
        target_bps: rates.0,
        allocated_bps: rates.1,
        wanted_bps: rates.2,
        limit,
        usage,
        loss_permille: rest.0,
        round_trip_ms: rest.1,
        queue_ms: rest.2,
    });
    let cause = select(vec![
        SwitchCause::Start,
        SwitchCause::Downlink,
        SwitchCause::Request,
        SwitchCause::Publisher,
    ]);
    let switch = (proptest::option::of(target()), target(), cause);
    prop_oneof![
        estimate,
        switch.prop_map(|(from, to, cause)| Observation::LayerSwitch { from, to, cause }),
        any::<(u32, u32)>().prop_map(|(rate_bps, bytes)| Observation::Probe { rate_bps, bytes }),
        (direction(), any::<u32>(), any::<u32>()).prop_map(|(direction, expected, lost)| Observation::Loss {
            direction,
            expected,
            lost,
        }),
    ]
}

fn of_transports() -> impl Strategy<Value = Observation> {
    let state = select(vec![
        TransportState::Connected,
        TransportState::Disconnected,
        TransportState::NeverConnected,
        TransportState::ConsentExpired,
        TransportState::Handshake,
        TransportState::Fingerprint,
        TransportState::Peer,
    ]);
    let protocol = select(vec![PathProtocol::Udp, PathProtocol::Tcp]);
    prop_oneof![
        (direction(), state).prop_map(|(direction, state)| Observation::Transport { direction, state }),
        (any::<IpAddr>(), any::<u16>(), protocol).prop_map(|(ip, port, protocol)| Observation::Path {
            remote: SocketAddr::new(ip, port),
            protocol,
        }),
    ]
}

fn direction() -> impl Strategy<Value = Direction> {
    select(vec![Direction::Uplink, Direction::Downlink])
}

fn target() -> impl Strategy<Value = Target> {
    let layer = || proptest::option::of(0..u8::MAX);
    (any::<u8>(), layer(), layer()).prop_map(|(encoding, spatial, temporal)| Target {
        encoding,
        spatial,
        temporal,
    })
}
