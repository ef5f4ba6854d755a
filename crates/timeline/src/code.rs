//! Enums as one byte each.

use operator::observation::{Direction, LeaveReason, PathProtocol, SwitchCause, TrackSource, TransportState};
use operator::receivers::{Limit, MediaKind, Usage};

/// An enum whose values have a byte each. The bytes are of this process only.
pub(crate) trait Code: Copy {
    /// The byte of a value.
    fn code(self) -> u8;

    /// The value of a byte.
    fn from_code(code: u8) -> Option<Self>;
}

macro_rules! codes {
    ($($name:ident { $($variant:ident),* })*) => {
        $(impl Code for $name {
            fn code(self) -> u8 {
                match self {
                    $($name::$variant => $name::$variant as u8),*
                }
            }

            fn from_code(code: u8) -> Option<Self> {
                let all = [$($name::$variant),*];
                all.into_iter().find(|value| value.code() == code)
            }
        })*
    };
}

codes! {
    Limit { Start, Delay, Loss, Remb, Silence }
    Usage { Normal, Over, Under }
    MediaKind { Audio, Video }
    TrackSource { Unknown, Camera, Microphone, ScreenShare, ScreenShareAudio }
    Direction { Uplink, Downlink }
    PathProtocol { Udp, Tcp }
    SwitchCause { Start, Downlink, Request, Publisher }
    TransportState { Connected, Disconnected, NeverConnected, ConsentExpired, Handshake, Fingerprint, Peer }
    LeaveReason {
        ClientInitiated, DuplicateIdentity, ServerShutdown, ParticipantRemoved, RoomDeleted, StateMismatch, JoinFailure,
        Migration, SignalClose, ConnectionTimeout, MediaFailure
    }
}
