//! Table entries as a browser's call makes them.

use std::net::{Ipv4Addr, SocketAddr};

use dataplane::{
    Leg, LegId, MasterKey, Path, Protection, Replica, ReplicaFormat, Rewriting, SrtpProfile, Stream, StreamFormat,
    StreamKey,
};
use wire::codec::Layer;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, PayloadType, Ssrc};

/// Header-extension ids on every leg, both ways.
pub(crate) const TRANSPORT_SEQUENCE: u8 = 3;
pub(crate) const ABS_SEND_TIME: u8 = 4;

const PROFILE: SrtpProfile = SrtpProfile::AeadAes128Gcm;
const OUR_PORT: u16 = 7882;
const THEIR_PORT: u16 = 40_000;
/// The first of them.
const THEIR_ADDRESSES: u32 = 0x0b00_0000;

/// Both keys of a leg, as seen by the device: the peer's sending key, and its receiving key.
pub(crate) fn keys(leg: LegId) -> (MasterKey, MasterKey) {
    let key = |side: u8| {
        let mut bytes = [side; 16];
        bytes[..4].copy_from_slice(&leg.0.to_be_bytes());
        let salt = &[side; 14][..PROFILE.salt_len()];
        MasterKey::new(PROFILE, &bytes, salt).expect("the lengths are the profile's")
    };
    (key(1), key(2))
}

/// Every leg has an address of its own.
pub(crate) fn path(leg: LegId) -> Path {
    let remote = Ipv4Addr::from(THEIR_ADDRESSES + leg.0);
    Path {
        local: SocketAddr::from(([10, 0, 0, 1], OUR_PORT)),
        remote: SocketAddr::from((remote, THEIR_PORT)),
    }
}

/// The leg of this address.
pub(crate) fn leg_at(path: &Path) -> Option<LegId> {
    match path.remote {
        SocketAddr::V4(remote) => remote.ip().to_bits().checked_sub(THEIR_ADDRESSES).map(LegId),
        SocketAddr::V6(_) => None,
    }
}

/// The header extensions negotiated with everybody, in both directions.
pub(crate) fn extensions() -> ExtensionMap {
    let mut extensions = ExtensionMap::default();
    for (kind, number) in [
        (ExtensionKind::TransportSequence, TRANSPORT_SEQUENCE),
        (ExtensionKind::AbsSendTime, ABS_SEND_TIME),
    ] {
        extensions.insert(kind, number).expect("the ids are different");
    }
    extensions
}

pub(crate) fn leg(id: LegId) -> Leg {
    let (ingress, egress) = keys(id);
    Leg {
        paths: vec![path(id)],
        shared: None,
        protection: Protection::Srtp { ingress, egress },
        extensions_in: extensions(),
        extensions_out: extensions(),
    }
}

pub(crate) fn payload_type(kind: MediaKind) -> PayloadType {
    let number = match kind {
        MediaKind::Video => 96,
        MediaKind::Audio => 111,
    };
    PayloadType::new(number).expect("it is below 128")
}

pub(crate) fn rtx_type(kind: MediaKind) -> Option<PayloadType> {
    match kind {
        MediaKind::Video => PayloadType::new(97),
        MediaKind::Audio => None,
    }
}

pub(crate) fn stream(kind: MediaKind) -> Stream {
    let codec = match kind {
        MediaKind::Video => Codec::Vp8,
        MediaKind::Audio => Codec::Opus,
    };
    Stream {
        kind,
        formats: vec![StreamFormat {
            payload_type: payload_type(kind),
            codec,
            rtx: rtx_type(kind),
        }],
        rtx: None,
        mid: None,
        reference: None,
    }
}

/// The replica of a stream for a leg. `ssrc` is even; retransmissions have the next higher one.
pub(crate) fn replica(to: LegId, ssrc: u32, source: StreamKey, kind: MediaKind) -> Replica {
    Replica {
        leg: to,
        ssrc: Ssrc(ssrc),
        first_sequence: 100,
        rtx: rtx_type(kind).map(|_| (Ssrc(ssrc + 1), 200)),
        formats: vec![ReplicaFormat {
            source: payload_type(kind),
            payload_type: payload_type(kind),
            rtx: rtx_type(kind),
            primary_only: false,
        }],
        mid: None,
        playout_delay: None,
        source: Some(source),
        target: Layer::HIGHEST,
        fallback_spatial: None,
        rewriting: Rewriting::Exact,
        paused: false,
    }
}
