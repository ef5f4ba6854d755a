//! A camera that sends VP8 in three encodings of three temporal layers each.

use std::time::{Duration, Instant};

use wire::rtcp::RtcpPacket;

/// SSRC of the smallest encoding; the others follow.
pub(crate) const SSRC: u32 = 10;
/// Bit rate of each encoding. Shape: bits per second.
const RATES: [usize; 3] = [150_000, 500_000, 1_500_000];
const FRAMES_PER_SECOND: u64 = 30;
/// The temporal layers of frames, and the size of each layer's relative to the average.
const PATTERN: [u8; 4] = [0, 2, 1, 2];
const SHARES: [f64; 3] = [1.4, 0.82, 0.89];
const KEY_FRAME: f64 = 4.0;
const PACKET_MAX: usize = 1_100;
/// Time that an encoder takes to answer a request for a key frame.
const ANSWER: Duration = Duration::from_millis(20);
/// Bytes of the payload descriptor. Source: RFC 7741 section 4.2.
pub(crate) const DESCRIPTOR: usize = 6;

pub(crate) struct Camera {
    pub(crate) next_frame: Instant,
    /// Requests for key frames, with the encoding.
    pub(crate) requests: Vec<(Instant, usize)>,
    frames: u32,
    sequences: [u16; 3],
    asked: [Option<Instant>; 3],
}

impl Camera {
    pub(crate) fn new(now: Instant) -> Self {
        Camera {
            next_frame: now,
            requests: Vec::new(),
            frames: 0,
            sequences: [0; 3],
            asked: [Some(now); 3],
        }
    }

    pub(crate) fn receive(&mut self, now: Instant, compound: &[u8]) {
        for packet in RtcpPacket::compound(compound).flatten() {
            let RtcpPacket::Pli(pli) = packet else { continue };
            let encoding = pli.media.0.wrapping_sub(SSRC) as usize;
            if let Some(asked) = self.asked.get_mut(encoding) {
                self.requests.push((now, encoding));
                asked.get_or_insert(now + ANSWER);
            }
        }
    }

    /// The packets of the next frames.
    pub(crate) fn send(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        while self.next_frame <= now {
            self.next_frame += Duration::from_micros(1_000_000 / FRAMES_PER_SECOND);
            self.frames += 1;
            for encoding in 0..RATES.len() {
                self.frame(now, encoding, &mut packets);
            }
        }
        packets
    }

    fn frame(&mut self, now: Instant, encoding: usize, out: &mut Vec<Vec<u8>>) {
        let is_key = self.asked[encoding].take_if(|at| *at <= now).is_some();
        let temporal = match is_key {
            true => 0,
            false => PATTERN[self.frames as usize % PATTERN.len()],
        };
        let factor = if is_key {
            KEY_FRAME
        } else {
            SHARES[usize::from(temporal)]
        };
        let size = (RATES[encoding] as f64 / FRAMES_PER_SECOND as f64 / 8.0 * factor) as usize;
        let packets = size.div_ceil(PACKET_MAX);
        for packet in 0..packets {
            let mut payload = self.descriptor(temporal, packet == 0);
            payload.extend([u8::from(!is_key), encoding as u8]);
            payload.resize((size / packets).max(payload.len()), 0);
            out.push(self.packet(encoding, packet + 1 == packets, &payload));
        }
    }

    fn descriptor(&self, temporal: u8, starts: bool) -> Vec<u8> {
        let picture = 0x8000 | (self.frames as u16 & 0x7fff);
        let base = (self.frames / PATTERN.len() as u32) as u8;
        let [high, low] = picture.to_be_bytes();
        vec![
            0x80 | u8::from(starts) << 4,
            0xe0,
            high,
            low,
            base,
            temporal << 6 | 0x20,
        ]
    }

    fn packet(&mut self, encoding: usize, marker: bool, payload: &[u8]) -> Vec<u8> {
        self.sequences[encoding] = self.sequences[encoding].wrapping_add(1);
        let mut packet = vec![0x80, 96 | u8::from(marker) << 7];
        packet.extend(self.sequences[encoding].to_be_bytes());
        packet.extend((self.frames * (90_000 / FRAMES_PER_SECOND as u32)).to_be_bytes());
        packet.extend((SSRC + encoding as u32).to_be_bytes());
        packet.extend(payload);
        packet
    }
}
