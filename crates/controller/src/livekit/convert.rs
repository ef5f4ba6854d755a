//! The protocol's words for what tokens say.

use access::{KindDetail, ParticipantKind, Permission, TrackSource};
use livekit_protocol::participant_info;
use livekit_protocol::{self as proto, ParticipantPermission};

/// The source of a track.
pub(crate) fn source(source: proto::TrackSource) -> TrackSource {
    match source {
        proto::TrackSource::Unknown => TrackSource::Unknown,
        proto::TrackSource::Camera => TrackSource::Camera,
        proto::TrackSource::Microphone => TrackSource::Microphone,
        proto::TrackSource::ScreenShare => TrackSource::ScreenShare,
        proto::TrackSource::ScreenShareAudio => TrackSource::ScreenShareAudio,
    }
}

/// The number of a source.
pub(crate) fn source_number(source: TrackSource) -> i32 {
    let source = match source {
        TrackSource::Unknown => proto::TrackSource::Unknown,
        TrackSource::Camera => proto::TrackSource::Camera,
        TrackSource::Microphone => proto::TrackSource::Microphone,
        TrackSource::ScreenShare => proto::TrackSource::ScreenShare,
        TrackSource::ScreenShareAudio => proto::TrackSource::ScreenShareAudio,
    };
    source.into()
}

/// The number of a kind of participant.
pub(crate) fn kind_number(kind: ParticipantKind) -> i32 {
    use participant_info::Kind;
    let kind = match kind {
        ParticipantKind::Standard => Kind::Standard,
        ParticipantKind::Ingress => Kind::Ingress,
        ParticipantKind::Egress => Kind::Egress,
        ParticipantKind::Sip => Kind::Sip,
        ParticipantKind::Agent => Kind::Agent,
        ParticipantKind::Connector => Kind::Connector,
        ParticipantKind::Bridge => Kind::Bridge,
    };
    kind.into()
}

/// The number of a detail of a kind.
pub(crate) fn kind_detail_number(detail: KindDetail) -> i32 {
    use participant_info::KindDetail as Detail;
    let detail = match detail {
        KindDetail::CloudAgent => Detail::CloudAgent,
        KindDetail::Forwarded => Detail::Forwarded,
        KindDetail::ConnectorWhatsapp => Detail::ConnectorWhatsapp,
        KindDetail::ConnectorTwilio => Detail::ConnectorTwilio,
        KindDetail::BridgeRtsp => Detail::BridgeRtsp,
        KindDetail::Simulation => Detail::Simulation,
    };
    detail.into()
}

/// What a participant may do.
pub(crate) fn permission(permission: &Permission) -> ParticipantPermission {
    let sources = permission.sources.iter().flatten();
    ParticipantPermission {
        can_subscribe: permission.subscribe,
        can_publish: permission.publish,
        can_publish_data: permission.publish_data,
        can_publish_sources: sources.map(|source| source_number(*source)).collect(),
        hidden: permission.hidden,
        recorder: permission.recorder,
        can_update_metadata: permission.update_metadata,
        agent: permission.agent,
        can_subscribe_metrics: permission.subscribe_metrics,
        can_manage_agent_session: permission.manage_agent_session,
    }
}
