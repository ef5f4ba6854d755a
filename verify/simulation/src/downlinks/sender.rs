//! A camera in three sizes and a microphone.

use std::time::{Duration, Instant};

use wire::Ssrc;
use wire::rtcp::RtcpPacket;

/// Shape: bits per second.
pub(super) const RATES: [u64; 3] = [150_000, 500_000, 1_500_000];
const FRAMES: u64 = 30;
const PACKET_MAX: usize = 1_100;
const SOUND: Duration = Duration::from_millis(20);
const SOUND_BYTES: usize = 80;

/// One publisher's media.
pub(super) struct Sender {
    /// Of the smallest picture; the larger ones and the sound follow.
    pub(super) ssrc: Ssrc,
    next_frame: Instant,
    next_sound: Instant,
    frames: u32,
    sequences: [u16; 4],
    asked: [bool; 3],
    key_factor: usize,
}

impl Sender {
    pub(super) fn new(ssrc: Ssrc, key_factor: usize, now: Instant) -> Self {
        Sender {
            ssrc,
            next_frame: now,
            next_sound: now,
            frames: 0,
            sequences: [0; 4],
            asked: [true; 3],
            key_factor,
        }
    }

    /// RTCP came.
    pub(super) fn receive_rtcp(&mut self, compound: &[u8]) {
        for packet in RtcpPacket::compound(compound).flatten() {
            if let RtcpPacket::Pli(pli) = packet
                && let Some(asked) = self.asked.get_mut(pli.media.0.wrapping_sub(self.ssrc.0) as usize)
            {
                *asked = true;
            }
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.next_frame.min(self.next_sound)
    }

    /// What is due.
    pub(super) fn send(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        while self.next_sound <= now {
            self.next_sound += SOUND;
            let timestamp = u32::from(self.sequences[3]) * 960;
            let packet = self.packet(3, 111, timestamp, true, &[0; SOUND_BYTES]);
            out.push(packet);
        }
        while self.next_frame <= now {
            self.next_frame += Duration::from_micros(1_000_000 / FRAMES);
            self.frames += 1;
            for encoding in 0..RATES.len() {
                self.frame(encoding, out);
            }
        }
    }

    fn frame(&mut self, encoding: usize, out: &mut Vec<Vec<u8>>) {
        let is_key = std::mem::take(&mut self.asked[encoding]) || self.key_factor == 1;
        let size = (RATES[encoding] / FRAMES / 8) as usize * if is_key { self.key_factor } else { 1 };
        let packets = size.div_ceil(PACKET_MAX);
        for packet in 0..packets {
            // A VP8 descriptor that says whether a frame starts, and the bit of the payload that says what kind.
            let mut payload = vec![if packet == 0 { 0x10 } else { 0 }, u8::from(!is_key), 0, 0];
            payload.resize(size / packets, 0);
            let packet = self.packet(encoding, 96, self.frames * 3_000, packet + 1 == packets, &payload);
            out.push(packet);
        }
    }

    fn packet(&mut self, stream: usize, payload_type: u8, timestamp: u32, marker: bool, payload: &[u8]) -> Vec<u8> {
        self.sequences[stream] = self.sequences[stream].wrapping_add(1);
        let mut packet = vec![0x80, payload_type | if marker { 0x80 } else { 0 }];
        packet.extend(self.sequences[stream].to_be_bytes());
        packet.extend(timestamp.to_be_bytes());
        packet.extend((self.ssrc.0 + stream as u32).to_be_bytes());
        packet.extend(payload);
        packet
    }
}
