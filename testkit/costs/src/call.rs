//! A small call: one camera, and those who watch it.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Instant;

use backend_udp::srtp::{Sealer, rtp_overhead};
use dataplane::{
    Clock, Leg, LegId, MasterKey, Path, Protection, Replica, ReplicaFormat, ReplicaId, Rewriting, SrtpProfile, Stream,
    StreamFormat, StreamKey, Update,
};
use wire::codec::Layer;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, NtpTime, PayloadType, Ssrc};

use crate::Scene;

/// The stream everybody watches.
pub const STREAM: StreamKey = StreamKey {
    leg: LegId(0),
    ssrc: Ssrc(1),
};

/// Bytes of a packet.
pub const PACKET: usize = 1_200;

const HEADER: usize = 12;
const PROFILE: SrtpProfile = SrtpProfile::AeadAes128Gcm;

/// A clock that starts here.
pub fn clock() -> Clock {
    Clock {
        origin: Instant::now(),
        ntp: NtpTime(3_900_000_000 << 32),
    }
}

/// The entries of the camera's leg and its stream.
pub fn publish(near: SocketAddr, camera: SocketAddr, protection: Protection) -> [Update; 2] {
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
    [
        Update::SetLeg(LegId(0), leg(near, camera, protection)),
        Update::SetStream(STREAM, stream),
    ]
}

/// The entries of receiver `number`, from 1 on.
pub fn watch(number: u32, near: SocketAddr, receiver: SocketAddr, protection: Protection) -> [Update; 2] {
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
    [
        Update::SetLeg(LegId(number), leg(near, receiver, protection)),
        Update::SetReplica(ReplicaId(number), replica),
    ]
}

fn key(seed: u32) -> MasterKey {
    MasterKey::new(PROFILE, &[seed as u8; 16], &[seed as u8; 12]).expect("of these lengths")
}

/// Keys of a leg.
pub fn srtp(seed: u32) -> Protection {
    Protection::Srtp {
        ingress: key(2 * seed),
        egress: key(2 * seed + 1),
    }
}

/// A key frame in one packet of VP8, `len` bytes long, filled with its number.
pub fn packet(sequence: u16, len: usize) -> Vec<u8> {
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
        shared: None,
        protection,
        extensions_in: extensions,
        extensions_out: extensions,
    }
}

/// A camera and its receivers on a scene.
pub(crate) struct Call {
    camera: UdpSocket,
    receivers: Vec<SocketAddr>,
    _sockets: Vec<UdpSocket>,
    is_encrypted: bool,
}

/// The sending camera.
pub(crate) struct Camera<'a> {
    socket: &'a UdpSocket,
    near: SocketAddr,
    sealer: Option<Sealer>,
    sequence: u16,
}

impl Call {
    pub(crate) fn new(scene: &Scene, receivers: u32, is_encrypted: bool) -> Self {
        let (receivers, sockets) = scene.receivers(receivers);
        Self {
            camera: scene.client(),
            receivers,
            _sockets: sockets,
            is_encrypted,
        }
    }

    /// The entries for a data plane at this address.
    pub(crate) fn updates(&self, near: SocketAddr) -> impl Iterator<Item = Update> {
        let protection = move |seed| match self.is_encrypted {
            true => srtp(seed),
            false => Protection::Clear,
        };
        let camera = self.camera.local_addr().expect("it is bound");
        let watching = self.receivers.iter().zip(1..);
        let watching = watching.flat_map(move |(receiver, number)| watch(number, near, *receiver, protection(number)));
        publish(near, camera, protection(0)).into_iter().chain(watching)
    }

    pub(crate) fn camera(&self, near: SocketAddr) -> Camera<'_> {
        Camera {
            socket: &self.camera,
            near,
            sealer: self.is_encrypted.then(|| Sealer::new(&key(0))),
            sequence: 0,
        }
    }
}

impl Camera<'_> {
    /// Sends the next packet.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        let mut packet = packet(self.sequence, PACKET);
        if let Some(sealer) = &mut self.sealer {
            packet.resize(PACKET + rtp_overhead(PROFILE), 0);
            let sealed = sealer.seal_rtp(&mut packet, PACKET, HEADER, self.sequence.into());
            packet.truncate(sealed);
        }
        self.sequence += 1;
        self.socket.send_to(&packet, self.near).map(drop)
    }
}
