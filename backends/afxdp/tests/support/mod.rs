//! A small call over a cable: one camera, and those who watch it.
#![allow(dead_code, reason = "every user has its own part")]
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

use backend_afxdp::{AfxdpConfig, AfxdpError, AfxdpPlane};
use backend_udp::UdpConfig;
use dataplane::{
    Clock, DataPlane, Leg, LegId, MasterKey, Path, Protection, Replica, ReplicaFormat, ReplicaId, Rewriting,
    SrtpProfile, Stream, StreamFormat, StreamKey, Update,
};
use veth::Pair;
use wire::codec::Layer;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, NtpTime, PayloadType, Ssrc};

/// The stream everybody watches.
pub(crate) const STREAM: StreamKey = StreamKey {
    leg: LegId(0),
    ssrc: Ssrc(1),
};

pub(crate) fn clock() -> Clock {
    Clock {
        origin: Instant::now(),
        ntp: NtpTime(3_900_000_000 << 32),
    }
}

/// Sockets at the near end.
pub(crate) fn udp(pair: &Pair, workers: usize) -> UdpConfig {
    UdpConfig {
        addresses: [IpAddr::from(pair.near.v4), pair.near.v6.into()]
            .map(|address| SocketAddr::new(address, 0))
            .to_vec(),
        workers,
        ..UdpConfig::default()
    }
}

/// Rings and sockets at the near end.
pub(crate) fn rings(pair: &Pair, workers: usize) -> Result<AfxdpPlane, AfxdpError> {
    rings_beside(pair, udp(pair, workers))
}

/// Rings at the near end, beside these sockets.
pub(crate) fn rings_beside(pair: &Pair, udp: UdpConfig) -> Result<AfxdpPlane, AfxdpError> {
    let config = AfxdpConfig {
        udp,
        interfaces: vec![pair.near.interface.to_owned()],
    };
    pair.near.run(|| AfxdpPlane::start(config, clock(), Arc::new(|| {})))
}

/// A socket at the far end.
pub(crate) fn far_socket(pair: &Pair, address: IpAddr) -> UdpSocket {
    pair.far
        .run(|| UdpSocket::bind((address, 0)).expect("the far end has ports"))
}

/// The camera's leg and its stream.
pub(crate) fn publish(plane: &mut dyn DataPlane, near: SocketAddr, camera: SocketAddr) {
    write(plane, Update::SetLeg(LegId(0), leg(near, camera, Protection::Clear)));
    let stream = Stream {
        kind: MediaKind::Video,
        formats: vec![StreamFormat {
            payload_type: payload_type(),
            codec: Codec::Vp8,
            rtx: None,
        }],
        rtx: None,
        mid: None,
        reference: None,
    };
    write(plane, Update::SetStream(STREAM, stream));
}

/// Leg and replica of receiver `number`, from 1 on.
pub(crate) fn watch(
    plane: &mut dyn DataPlane,
    number: u32,
    near: SocketAddr,
    receiver: SocketAddr,
    protection: Protection,
) {
    write(plane, Update::SetLeg(LegId(number), leg(near, receiver, protection)));
    let replica = Replica {
        leg: LegId(number),
        ssrc: Ssrc(7),
        first_sequence: 100,
        rtx: None,
        formats: vec![ReplicaFormat {
            source: payload_type(),
            payload_type: payload_type(),
            rtx: None,
            primary_only: false,
        }],
        mid: None,
        playout_delay: None,
        source: Some(STREAM),
        target: Layer::HIGHEST,
        fallback_spatial: None,
        rewriting: Rewriting::Exact,
        paused: false,
    };
    write(plane, Update::SetReplica(ReplicaId(number), replica));
}

pub(crate) fn srtp(seed: u32) -> Protection {
    let key = |seed: u32| {
        MasterKey::new(SrtpProfile::AeadAes128Gcm, &[seed as u8; 16], &[seed as u8; 12]).expect("of these lengths")
    };
    Protection::Srtp {
        ingress: key(2 * seed),
        egress: key(2 * seed + 1),
    }
}

/// A key frame in one packet of VP8, `len` bytes long, filled with its number.
pub(crate) fn packet(sequence: u16, len: usize) -> Vec<u8> {
    let mut packet = vec![0x80, 96];
    packet.extend(sequence.to_be_bytes());
    packet.extend((u32::from(sequence) * 3_000).to_be_bytes());
    packet.extend(STREAM.ssrc.0.to_be_bytes());
    packet.extend([0x10, 0]);
    packet.resize(len, sequence as u8);
    packet
}

fn payload_type() -> PayloadType {
    PayloadType::new(96).expect("below 128")
}

fn leg(local: SocketAddr, remote: SocketAddr, protection: Protection) -> Leg {
    let mut extensions = ExtensionMap::default();
    extensions
        .insert(ExtensionKind::TransportSequence, 3)
        .expect("a free id");
    Leg {
        paths: vec![Path { local, remote }],
        protection,
        extensions_in: extensions,
        extensions_out: extensions,
    }
}

fn write(plane: &mut dyn DataPlane, update: Update) {
    plane.write(Instant::now(), update).expect("there is room");
}
