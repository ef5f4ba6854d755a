//! Values that have one name in the protocol and one in the controller.

use access::{KindDetail, ParticipantKind, Permission, TrackSource};
use controller::{
    AudioFeature, BackupCodecPolicy, ClientCapability, ConnectionQuality, Encryption, EndAction, EndReason, LayerMode,
    PacketTrailerFeature, ParticipantState, RefusalReason, SubscriptionError, VideoQuality,
};
use livekit_protocol as proto;
use livekit_protocol::ParticipantPermission;
use livekit_protocol::client_info::Capability as ProtoCapability;
use livekit_protocol::encryption::Type as ProtoEncryption;
use livekit_protocol::leave_request::Action as ProtoAction;
use livekit_protocol::participant_info::{Kind as ProtoKind, KindDetail as ProtoDetail, State as ProtoState};
use livekit_protocol::request_response::Reason as ProtoReason;
use livekit_protocol::video_layer::Mode as ProtoMode;

/// A value that the protocol has a number for.
pub(crate) trait Numbered: Sized {
    /// The number.
    fn number(self) -> i32;

    /// The value of a number; `None` for a number without a value here.
    fn of_number(number: i32) -> Option<Self>;
}

macro_rules! numbered {
    ($($own:ident = $proto:ty { $($ours:ident = $theirs:ident),+ $(,)? })+) => {$(
        impl Numbered for $own {
            fn number(self) -> i32 {
                let value = match self {
                    $($own::$ours => <$proto>::$theirs,)+
                };
                value.into()
            }

            fn of_number(number: i32) -> Option<Self> {
                let value = <$proto>::try_from(number).ok()?;
                let pairs = [$((<$proto>::$theirs, $own::$ours)),+];
                pairs.into_iter().find_map(|(theirs, ours)| (theirs == value).then_some(ours))
            }
        }
    )+};
}

numbered! {
    TrackSource = proto::TrackSource {
        Unknown = Unknown,
        Camera = Camera,
        Microphone = Microphone,
        ScreenShare = ScreenShare,
        ScreenShareAudio = ScreenShareAudio,
    }
    ParticipantKind = ProtoKind {
        Standard = Standard,
        Ingress = Ingress,
        Egress = Egress,
        Sip = Sip,
        Agent = Agent,
        Connector = Connector,
        Bridge = Bridge,
    }
    KindDetail = ProtoDetail {
        CloudAgent = CloudAgent,
        Forwarded = Forwarded,
        ConnectorWhatsapp = ConnectorWhatsapp,
        ConnectorTwilio = ConnectorTwilio,
        BridgeRtsp = BridgeRtsp,
        Simulation = Simulation,
    }
    ParticipantState = ProtoState {
        Joining = Joining,
        Joined = Joined,
        Active = Active,
        Disconnected = Disconnected,
    }
    ClientCapability = ProtoCapability {
        Unused = CapUnused,
        PacketTrailer = CapPacketTrailer,
        CompressionDeflateRaw = CapCompressionDeflateRaw,
    }
    ConnectionQuality = proto::ConnectionQuality {
        Poor = Poor,
        Good = Good,
        Excellent = Excellent,
    }
    VideoQuality = proto::VideoQuality {
        Low = Low,
        Medium = Medium,
        High = High,
        Off = Off,
    }
    Encryption = ProtoEncryption {
        None = None,
        Gcm = Gcm,
        Custom = Custom,
    }
    AudioFeature = proto::AudioTrackFeature {
        Stereo = TfStereo,
        NoDtx = TfNoDtx,
        AutoGainControl = TfAutoGainControl,
        EchoCancellation = TfEchoCancellation,
        NoiseSuppression = TfNoiseSuppression,
        EnhancedNoiseCancellation = TfEnhancedNoiseCancellation,
        PreconnectBuffer = TfPreconnectBuffer,
    }
    BackupCodecPolicy = proto::BackupCodecPolicy {
        PreferRegression = PreferRegression,
        Simulcast = Simulcast,
        Regression = Regression,
    }
    PacketTrailerFeature = proto::PacketTrailerFeature {
        UserTimestamp = PtfUserTimestamp,
        FrameId = PtfFrameId,
        UserData = PtfUserData,
    }
    LayerMode = ProtoMode {
        Unused = Unused,
        OneSpatialLayerPerStream = OneSpatialLayerPerStream,
        MultipleSpatialLayersPerStream = MultipleSpatialLayersPerStream,
        OneSpatialLayerPerStreamIncompleteRtcpSr = OneSpatialLayerPerStreamIncompleteRtcpSr,
    }
    SubscriptionError = proto::SubscriptionError {
        CodecUnsupported = SeCodecUnsupported,
        TrackNotFound = SeTrackNotfound,
    }
    RefusalReason = ProtoReason {
        NotFound = NotFound,
        NotAllowed = NotAllowed,
        LimitExceeded = LimitExceeded,
        UnsupportedType = UnsupportedType,
        InvalidRequest = InvalidRequest,
        InvalidHandle = InvalidHandle,
        InvalidName = InvalidName,
        DuplicateHandle = DuplicateHandle,
        DuplicateName = DuplicateName,
    }
    EndReason = proto::DisconnectReason {
        ClientInitiated = ClientInitiated,
        DuplicateIdentity = DuplicateIdentity,
        ServerShutdown = ServerShutdown,
        ParticipantRemoved = ParticipantRemoved,
        RoomDeleted = RoomDeleted,
        StateMismatch = StateMismatch,
        JoinFailure = JoinFailure,
        Migration = Migration,
        SignalClose = SignalClose,
        ConnectionTimeout = ConnectionTimeout,
        MediaFailure = MediaFailure,
    }
    EndAction = ProtoAction {
        Disconnect = Disconnect,
        Resume = Resume,
        Reconnect = Reconnect,
    }
}

/// The numbers of values.
pub(crate) fn numbers<T: Numbered>(values: Vec<T>) -> Vec<i32> {
    values.into_iter().map(T::number).collect()
}

/// The value of a number, or the default for a number without one.
pub(crate) fn value<T: Numbered + Default>(number: i32) -> T {
    T::of_number(number).unwrap_or_default()
}

/// The values of numbers; those without one are left out.
pub(crate) fn values<T: Numbered>(numbers: Vec<i32>) -> Vec<T> {
    numbers.into_iter().filter_map(T::of_number).collect()
}

/// The permission of a participant.
pub(crate) fn permission(permission: Permission) -> ParticipantPermission {
    ParticipantPermission {
        can_subscribe: permission.subscribe,
        can_publish: permission.publish,
        can_publish_data: permission.publish_data,
        can_publish_sources: numbers(permission.sources.unwrap_or_default()),
        hidden: permission.hidden,
        recorder: permission.recorder,
        can_update_metadata: permission.update_metadata,
        agent: permission.agent,
        can_subscribe_metrics: permission.subscribe_metrics,
        can_manage_agent_session: permission.manage_agent_session,
    }
}
