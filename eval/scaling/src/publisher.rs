//! A publisher: a camera of 2 Mbit/s and a microphone.

use backend_udp::srtp::{Sealer, rtp_overhead};
use dataplane::{LegId, SrtpProfile, StreamKey};
use wire::{MediaKind, RtpPacket, Ssrc};

use crate::entries::{ABS_SEND_TIME, TRANSPORT_SEQUENCE, keys, payload_type};

/// Packets of one frame: 30 frames a second are 2 Mbit/s.
pub(crate) const PACKETS_PER_PICTURE: usize = 7;
const PICTURE_PACKET: usize = 1_180;
const SOUND_PACKET: usize = 120;

/// A participant's camera and microphone.
pub(crate) struct Publisher {
    pub(crate) leg: LegId,
    /// `None` for a publisher without encryption.
    sealer: Option<Sealer>,
    /// Frames from one key frame to the next.
    key_interval: u16,
    pictures: u16,
    /// How many packets it has sent of each kind.
    video: u64,
    audio: u64,
}

/// The stream that a leg publishes of one kind.
pub(crate) fn stream_key(leg: LegId, kind: MediaKind) -> StreamKey {
    let ssrc = match kind {
        MediaKind::Video => Ssrc(0x11),
        MediaKind::Audio => Ssrc(0x22),
    };
    StreamKey { leg, ssrc }
}

impl Publisher {
    /// A publisher whose first frame is its only key frame.
    pub(crate) fn new(leg: LegId) -> Self {
        Publisher {
            leg,
            sealer: Some(Sealer::new(&keys(leg).0)),
            key_interval: u16::MAX,
            pictures: 0,
            video: 100,
            audio: 100,
        }
    }

    /// A publisher without encryption and with a key frame every second: it ignores requests.
    pub(crate) fn in_clear(leg: LegId) -> Self {
        Publisher {
            sealer: None,
            key_interval: 30,
            ..Publisher::new(leg)
        }
    }

    /// The next packets of a stream: those of a video frame, or one of audio.
    pub(crate) fn next(&mut self, kind: MediaKind) -> Vec<Vec<u8>> {
        match kind {
            MediaKind::Video => self.picture(),
            MediaKind::Audio => vec![self.sound()],
        }
    }

    /// The packets of the next video frame.
    fn picture(&mut self) -> Vec<Vec<u8>> {
        let [high, low] = self.pictures.to_be_bytes();
        let is_key = self.pictures.is_multiple_of(self.key_interval);
        let packets = (0..PACKETS_PER_PICTURE).map(|part| {
            let mut payload = vec![0x80 | u8::from(part == 0) << 4, 0x80, 0x80 | high & 0x7f, low];
            payload.push(u8::from(!is_key));
            payload.resize(PICTURE_PACKET, part as u8);
            (payload, part + 1 == PACKETS_PER_PICTURE)
        });
        let payloads: Vec<(Vec<u8>, bool)> = packets.collect();
        let timestamp = u32::from(self.pictures) * 3_000;
        self.pictures = self.pictures.wrapping_add(1);
        let mut sealed = Vec::with_capacity(payloads.len());
        for (payload, is_last) in payloads {
            self.video += 1;
            sealed.push(self.packet(MediaKind::Video, self.video, timestamp, is_last, &payload));
        }
        sealed
    }

    fn sound(&mut self) -> Vec<u8> {
        self.audio += 1;
        self.packet(
            MediaKind::Audio,
            self.audio,
            self.audio as u32 * 960,
            false,
            &[7; SOUND_PACKET],
        )
    }

    /// A packet with the extensions a browser sends, sealed if it is to be.
    fn packet(&mut self, kind: MediaKind, number: u64, timestamp: u32, marker: bool, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x90, u8::from(marker) << 7 | payload_type(kind).get()];
        packet.extend((number as u16).to_be_bytes());
        packet.extend(timestamp.to_be_bytes());
        packet.extend(stream_key(self.leg, kind).ssrc.0.to_be_bytes());
        packet.extend([0xbe, 0xde, 0, 2]);
        packet.extend([ABS_SEND_TIME << 4 | 2, 1, 2, 3]);
        let [high, low] = ((self.video + self.audio) as u16).to_be_bytes();
        packet.extend([TRANSPORT_SEQUENCE << 4 | 1, high, low, 0]);
        packet.extend(payload);
        let Some(sealer) = &mut self.sealer else {
            return packet;
        };
        let clear = packet.len();
        let header = RtpPacket::parse(&packet).expect("it is a packet").header_len();
        packet.resize(clear + rtp_overhead(SrtpProfile::AeadAes128Gcm), 0);
        let sealed = sealer.seal_rtp(&mut packet, clear, header, number);
        packet.truncate(sealed);
        packet
    }
}
