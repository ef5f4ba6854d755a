//! The names that tokens have for kinds of participants and for sources of tracks.

use serde::{Deserialize, Serialize};

/// The kind of a participant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParticipantKind {
    /// A person, or a program like one.
    #[default]
    Standard,
    /// It brings media of another protocol in.
    Ingress,
    /// It records the room or sends it elsewhere.
    Egress,
    /// A telephone.
    Sip,
    /// A program that takes part in the conversation.
    Agent,
    /// A call of another service.
    Connector,
    /// A device on another network.
    Bridge,
}

impl ParticipantKind {
    /// The kind of a name, in either case; `None` for a name that is not known.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "standard" => Self::Standard,
            "ingress" => Self::Ingress,
            "egress" => Self::Egress,
            "sip" => Self::Sip,
            "agent" => Self::Agent,
            "connector" => Self::Connector,
            "bridge" => Self::Bridge,
            _ => return None,
        })
    }
}

/// Details of a participant's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindDetail {
    /// An agent that runs in a cloud.
    CloudAgent,
    /// It was forwarded from another room.
    Forwarded,
    /// A call of WhatsApp.
    ConnectorWhatsapp,
    /// A call of Twilio.
    ConnectorTwilio,
    /// A camera that speaks RTSP.
    BridgeRtsp,
    /// A simulated participant.
    Simulation,
}

impl KindDetail {
    /// The detail of a name, in either case; `None` for a name that is not known.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "cloud_agent" => Self::CloudAgent,
            "forwarded" => Self::Forwarded,
            "connector_whatsapp" => Self::ConnectorWhatsapp,
            "connector_twilio" => Self::ConnectorTwilio,
            "bridge_rtsp" => Self::BridgeRtsp,
            "simulation" => Self::Simulation,
            _ => return None,
        })
    }
}

/// The source of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TrackSource {
    /// Not said.
    #[default]
    Unknown,
    /// A camera.
    Camera,
    /// A microphone.
    Microphone,
    /// A screen.
    ScreenShare,
    /// The sound of a screen.
    ScreenShareAudio,
}

impl TrackSource {
    /// Its name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Camera => "camera",
            Self::Microphone => "microphone",
            Self::ScreenShare => "screen_share",
            Self::ScreenShareAudio => "screen_share_audio",
        }
    }

    /// The source of a name, in either case; `None` for a name that is not known.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "unknown" => Self::Unknown,
            "camera" => Self::Camera,
            "microphone" => Self::Microphone,
            "screen_share" => Self::ScreenShare,
            "screen_share_audio" => Self::ScreenShareAudio,
            _ => return None,
        })
    }
}
