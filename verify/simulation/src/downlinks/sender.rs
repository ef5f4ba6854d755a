//! A camera in three sizes and a microphone.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use wire::Ssrc;
use wire::rtcp::RtcpPacket;

use super::Film;

/// The temporal layers of frames, and the size of each layer's relative to the average, as
/// Chromium's VP8 encoder makes them.
const PATTERN: [u8; 4] = [0, 2, 1, 2];
const SHARES: [f64; 3] = [1.4, 0.82, 0.89];
/// How much of a scene is left in the next frame.
const SCENE: f64 = 0.8;
const PACKET_MAX: usize = 1_100;
const SOUND: Duration = Duration::from_millis(20);
const SOUND_BYTES: usize = 80;

/// One publisher's media.
pub(super) struct Sender {
    /// Of the smallest size; the larger ones and the audio follow.
    pub(super) ssrc: Ssrc,
    next_frame: Instant,
    next_sound: Instant,
    frames: u32,
    sequences: [u16; 4],
    /// Since when a key frame is wanted.
    asked: [Option<Instant>; 3],
    film: Film,
    key_factor: usize,
    scenes: [f64; 3],
    rng: StdRng,
}

impl Sender {
    pub(super) fn new(ssrc: Ssrc, film: Film, key_factor: usize, now: Instant) -> Self {
        Sender {
            ssrc,
            next_frame: now,
            next_sound: now,
            frames: 0,
            sequences: [0; 4],
            asked: [Some(now); 3],
            film,
            key_factor,
            scenes: [0.0; 3],
            rng: StdRng::seed_from_u64(film.seed << 32 | u64::from(ssrc.0)),
        }
    }

    /// RTCP arrived.
    pub(super) fn receive_rtcp(&mut self, now: Instant, compound: &[u8]) {
        for packet in RtcpPacket::compound(compound).flatten() {
            if let RtcpPacket::Pli(pli) = packet
                && let Some(asked) = self.asked.get_mut(pli.media.0.wrapping_sub(self.ssrc.0) as usize)
            {
                asked.get_or_insert(now + self.film.answer);
            }
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.next_frame.min(self.next_sound)
    }

    /// Packets that are due.
    pub(super) fn send(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        while self.next_sound <= now {
            self.next_sound += SOUND;
            let timestamp = u32::from(self.sequences[3]) * 960;
            let packet = self.packet(3, 111, timestamp, true, &[0; SOUND_BYTES]);
            out.push(packet);
        }
        while self.next_frame <= now {
            self.next_frame += Duration::from_micros(1_000_000 / self.film.frames);
            self.frames += 1;
            for encoding in 0..self.film.rates.len() {
                self.frame(now, encoding, out);
            }
        }
    }

    fn frame(&mut self, now: Instant, encoding: usize, out: &mut Vec<Vec<u8>>) {
        let is_due = self.asked[encoding].take_if(|at| *at <= now).is_some();
        let is_key = is_due || self.key_factor == 1;
        let temporal = match self.film.layered {
            true if !is_key => PATTERN[self.frames as usize % PATTERN.len()],
            _ => 0,
        };
        let average = (self.film.rates[encoding] / self.film.frames / 8) as f64;
        let size = match is_key {
            true => average * self.key_factor as f64,
            false => average * self.share(temporal) * self.weight(encoding),
        } as usize;
        let packets = size.div_ceil(PACKET_MAX).max(1);
        for packet in 0..packets {
            let mut payload = self.descriptor(temporal, packet == 0);
            // One bit of a frame's first byte marks key frames.
            payload.push(u8::from(!is_key));
            payload.resize((size / packets).max(payload.len()), 0);
            let timestamp = self.frames * (90_000 / self.film.frames as u32);
            let packet = self.packet(encoding, 96, timestamp, packet + 1 == packets, &payload);
            out.push(packet);
        }
    }

    /// How large frames of a layer are beside the average.
    fn share(&self, temporal: u8) -> f64 {
        if self.film.layered {
            SHARES[usize::from(temporal)]
        } else {
            1.0
        }
    }

    /// Relative amount of motion: it varies, and no two frames are alike.
    fn weight(&mut self, encoding: usize) -> f64 {
        let uneven = self.film.uneven;
        let (slow, quick) = (self.rng.random_range(-1.0..=1.0), self.rng.random_range(-1.0..=1.0));
        let scene = &mut self.scenes[encoding];
        *scene = SCENE * *scene + (1.0 - SCENE * SCENE).sqrt() * uneven * slow;
        (1.0 + *scene + uneven * quick).max(0.1)
    }

    /// A VP8 payload descriptor. Source: RFC 7741 section 4.2.
    fn descriptor(&self, temporal: u8, starts: bool) -> Vec<u8> {
        let start = if starts { 0x10 } else { 0 };
        if !self.film.layered {
            return vec![start];
        }
        let picture = 0x8000 | (self.frames as u16 & 0x7fff);
        let base = (self.frames / PATTERN.len() as u32) as u8;
        let [high, low] = picture.to_be_bytes();
        vec![0x80 | start, 0xe0, high, low, base, temporal << 6 | 0x20]
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
