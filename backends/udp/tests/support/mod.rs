//! A small call to test with: who sends what to whom.
#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

pub(crate) mod layers;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use backend_udp::srtp::{Opener, Sealer, rtp_overhead};
use dataplane::{
    Clock, DataPlane, Event, Leg, LegId, MasterKey, Path, Protection, Replica, ReplicaFormat, ReplicaId, Rewriting,
    SrtpProfile, Stream, StreamFormat, StreamKey, Update,
};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};
use wire::codec::Layer;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, NtpTime, PayloadType, RtpPacket, Ssrc};

pub(crate) const VIDEO_TYPE: u8 = 96;
pub(crate) const VIDEO_RTX_TYPE: u8 = 97;
pub(crate) const AUDIO_TYPE: u8 = 111;
/// The beginning of a VP8 key frame.
pub(crate) const KEY_FRAME: u8 = 0x00;
/// The beginning of another VP8 frame.
pub(crate) const DELTA_FRAME: u8 = 0x01;

pub(crate) fn clock() -> Clock {
    Clock {
        origin: Instant::now(),
        ntp: NtpTime(3_900_000_000 << 32),
    }
}

/// A socket with room for packets that are read some time after they arrive: the default holds 92
/// of 1,000 bytes.
pub(crate) fn peer_socket(ip: &str) -> UdpSocket {
    const BUFFER: usize = 4 << 20;
    let socket = UdpSocket::bind((ip, 0)).unwrap();
    set_socket_recv_buffer_size_force(&socket, BUFFER)
        .or_else(|_| set_socket_recv_buffer_size(&socket, BUFFER))
        .unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

pub(crate) fn payload_type(number: u8) -> PayloadType {
    PayloadType::new(number).unwrap()
}

pub(crate) fn path(local: &str, remote: &str) -> Path {
    Path {
        local: local.parse().unwrap(),
        remote: remote.parse().unwrap(),
    }
}

pub(crate) fn key(profile: SrtpProfile, seed: u8) -> MasterKey {
    MasterKey::new(
        profile,
        &vec![seed; profile.key_len()],
        &vec![!seed; profile.salt_len()],
    )
    .unwrap()
}

/// The keys of a leg, seen from the device: `seed` names the leg.
pub(crate) fn srtp(profile: SrtpProfile, seed: u8) -> Protection {
    Protection::Srtp {
        ingress: key(profile, 2 * seed),
        egress: key(profile, 2 * seed + 1),
    }
}

pub(crate) fn leg(path: Path, protection: Protection) -> Leg {
    let mut extensions = ExtensionMap::default();
    extensions.insert(ExtensionKind::TransportSequence, 3).unwrap();
    extensions.insert(ExtensionKind::AbsSendTime, 4).unwrap();
    Leg {
        paths: vec![path],
        shared: None,
        protection,
        extensions_in: extensions,
        extensions_out: extensions,
    }
}

pub(crate) fn video() -> Stream {
    Stream {
        kind: MediaKind::Video,
        formats: vec![StreamFormat {
            payload_type: payload_type(VIDEO_TYPE),
            codec: Codec::Vp8,
            rtx: Some(payload_type(VIDEO_RTX_TYPE)),
        }],
        rtx: None,
        mid: None,
        reference: None,
    }
}

pub(crate) fn audio() -> Stream {
    Stream {
        kind: MediaKind::Audio,
        formats: vec![StreamFormat {
            payload_type: payload_type(AUDIO_TYPE),
            codec: Codec::Opus,
            rtx: None,
        }],
        rtx: None,
        mid: None,
        reference: None,
    }
}

pub(crate) fn stream_key(leg: u32, ssrc: u32) -> StreamKey {
    StreamKey {
        leg: LegId(leg),
        ssrc: Ssrc(ssrc),
    }
}

/// A replica of any of our streams, with retransmissions on the SSRC behind its own.
pub(crate) fn replica(to: u32, ssrc: u32, source: StreamKey) -> Replica {
    let video = payload_type(VIDEO_TYPE);
    let audio = payload_type(AUDIO_TYPE);
    let format = |payload_type, rtx| ReplicaFormat {
        source: payload_type,
        payload_type,
        rtx,
        primary_only: false,
    };
    Replica {
        leg: LegId(to),
        ssrc: Ssrc(ssrc),
        first_sequence: 100,
        rtx: Some((Ssrc(ssrc + 1), 200)),
        formats: vec![format(video, Some(payload_type(VIDEO_RTX_TYPE))), format(audio, None)],
        mid: None,
        playout_delay: None,
        source: Some(source),
        target: Layer::HIGHEST,
        fallback_spatial: None,
        rewriting: Rewriting::Exact,
        paused: false,
    }
}

pub(crate) fn set_leg(plane: &mut impl DataPlane, id: u32, path: Path, protection: Protection) {
    let update = Update::SetLeg(LegId(id), leg(path, protection));
    plane.write(Instant::now(), update).unwrap();
}

pub(crate) fn set_stream(plane: &mut impl DataPlane, key: StreamKey, stream: Stream) {
    plane.write(Instant::now(), Update::SetStream(key, stream)).unwrap();
}

pub(crate) fn set_replica(plane: &mut impl DataPlane, id: u32, replica: Replica) {
    let update = Update::SetReplica(ReplicaId(id), replica);
    plane.write(Instant::now(), update).unwrap();
}

/// A clear RTP packet.
pub(crate) fn rtp(ssrc: u32, payload_type: u8, sequence: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x80, payload_type];
    packet.extend(sequence.to_be_bytes());
    packet.extend((u32::from(sequence) * 3_000).to_be_bytes());
    packet.extend(ssrc.to_be_bytes());
    packet.extend(payload);
    packet
}

/// A clear VP8 packet of `len` payload bytes that is the first of its frame.
pub(crate) fn vp8(ssrc: u32, sequence: u16, frame: u8, len: usize) -> Vec<u8> {
    let mut payload = vec![0x10, frame];
    payload.resize(len.max(2), sequence as u8);
    rtp(ssrc, VIDEO_TYPE, sequence, &payload)
}

/// The far end of a leg: seals what it sends, opens what it receives.
pub(crate) struct Peer {
    profile: SrtpProfile,
    sealer: Sealer,
    opener: Opener,
}

impl Peer {
    /// The peer of a leg with [`srtp`] keys.
    pub(crate) fn new(profile: SrtpProfile, seed: u8) -> Self {
        Peer {
            profile,
            sealer: Sealer::new(&key(profile, 2 * seed)),
            opener: Opener::new(&key(profile, 2 * seed + 1)),
        }
    }

    pub(crate) fn seal(&mut self, clear: &[u8]) -> Vec<u8> {
        let view = RtpPacket::parse(clear).unwrap();
        let mut packet = clear.to_vec();
        packet.resize(clear.len() + rtp_overhead(self.profile), 0);
        let index = u64::from(view.sequence().0);
        let sealed = self.sealer.seal_rtp(&mut packet, clear.len(), view.header_len(), index);
        packet.truncate(sealed);
        packet
    }

    pub(crate) fn open(&mut self, sealed: &[u8]) -> Vec<u8> {
        let header = RtpPacket::parse_protected(sealed).unwrap().header_len();
        let mut packet = sealed.to_vec();
        let opened = self
            .opener
            .open_rtp(&mut packet, header)
            .expect("a packet for us opens");
        packet.truncate(opened.len);
        packet
    }
}

/// Waits, within a bound, until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !is_so() {
        assert!(Instant::now() < deadline, "not within five seconds: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Everything the device has to tell.
pub(crate) fn events(plane: &mut impl DataPlane) -> Vec<Event> {
    std::iter::from_fn(|| plane.poll()).collect()
}
