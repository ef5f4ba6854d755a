//! Enums that have the same variants on both sides.

use operator::observation::{Direction, PathProtocol, SwitchCause};
use operator::receivers::{Limit, Usage};
use southbound::relay::Refusal;
use southbound::{ChannelEnd, CloseReason, DtlsRole, HashFunction, TrackSource};
use wire::srtp::SrtpProfile;
use wire::{Codec, ExtensionKind, MediaKind};

use crate::{Error, v1};

/// An enum whose messages have it as a number.
pub(crate) trait Numbered: Copy {
    /// The number in messages.
    fn number(self) -> i32;

    /// The value of a number.
    ///
    /// Errors: [`Error::UnknownValue`], with the field's name.
    fn from_number(field: &'static str, number: i32) -> Result<Self, Error>;
}

macro_rules! numbered {
    ($value:ident: $($name:ident = $message:ident),+ $(,)?) => {
        impl Numbered for $value {
            fn number(self) -> i32 {
                match self {
                    $($value::$name => v1::$value::$message.into(),)+
                }
            }

            fn from_number(field: &'static str, value: i32) -> Result<Self, Error> {
                match v1::$value::try_from(value) {
                    $(Ok(v1::$value::$message) => Ok($value::$name),)+
                    Ok(v1::$value::Unspecified) | Err(_) => Err(Error::UnknownValue { field, value }),
                }
            }
        }
    };
    ($value:ident: $($name:ident),+ $(,)?) => {
        numbered! { $value: $($name = $name),+ }
    };
}

numbered! { ChannelEnd: Peer, TooSlow }
numbered! { CloseReason: NeverConnected, ConsentExpired, Handshake, Fingerprint, Peer }
numbered! { Codec: Opus, Red, Pcmu, Pcma, Vp8, Vp9, H264, Av1, H265 }
numbered! { Direction: Uplink, Downlink }
numbered! { DtlsRole: Server, Client }
numbered! { HashFunction: Sha1, Sha224, Sha256, Sha384, Sha512 }
numbered! { Limit: Start, Delay, Loss, Remb, Silence }
numbered! { MediaKind: Audio, Video }
numbered! { PathProtocol: Udp, Tcp }
numbered! { Refusal: Taken, Full, NoSrtp }
numbered! { SwitchCause: Start, Downlink, Request, Publisher }
numbered! { TrackSource: Camera, Screen }
numbered! { Usage: Normal, Over, Under }
numbered! {
    ExtensionKind: Mid, Rid, RepairedRid, AudioLevel, AbsSendTime, TransportSequence, AbsCaptureTime,
    DependencyDescriptor, PlayoutDelay, VideoOrientation, VideoContentType, VideoTiming, ColorSpace,
    TimestampOffset, FrameMarking, VideoLayersAllocation,
}
numbered! {
    SrtpProfile: AeadAes128Gcm = AeadAes128Gcm, AeadAes256Gcm = AeadAes256Gcm,
    AesCm128HmacSha1_80 = AesCm128HmacSha180, AesCm128HmacSha1_32 = AesCm128HmacSha132,
    AesCm192HmacSha1_80 = AesCm192HmacSha180, AesCm192HmacSha1_32 = AesCm192HmacSha132,
    AesCm256HmacSha1_80 = AesCm256HmacSha180, AesCm256HmacSha1_32 = AesCm256HmacSha132,
    F8_128HmacSha1_80 = F8128HmacSha180, F8_128HmacSha1_32 = F8128HmacSha132,
    NullHmacSha1_80 = NullHmacSha180, NullHmacSha1_32 = NullHmacSha132,
}
