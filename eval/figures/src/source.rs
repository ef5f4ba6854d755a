//! A camera's stream with three temporal layers, as a browser paces it out.

use std::ops::RangeInclusive;

use rand::Rng;
use rand::rngs::StdRng;
use rewriting::Cadence;

const FRAME_INTERVAL_US: u64 = 33_333;
/// Part of a frame that fits into a packet, in octets.
const PACKET_OCTETS: f64 = 1_150.0;
/// How much faster than its rate a browser sends.
const PACING: f64 = 2.5;
/// Frames of one pattern T0 T2 T1 T2, and each one's share of the rate: 40, 20 and 40 % for T0, T1
/// and T2.
const PATTERN: [f64; 4] = [0.4, 0.2, 0.2, 0.2];
const KEY_FRAME_TIMES_T0: f64 = 4.0;
const KEY_FRAME_PROBABILITY: f64 = 1.0 / 300.0;

/// A packet as sent.
#[derive(Clone, Copy, Debug)]
pub struct SourcePacket {
    /// When, in microseconds.
    pub at_us: u64,
    /// Of its frame.
    pub frame: u16,
    /// Frames since the last key frame.
    pub position: u64,
    /// First packet of its frame.
    pub start_of_frame: bool,
    /// Last packet of its frame.
    pub end_of_frame: bool,
}

impl SourcePacket {
    /// Whether a replica with this cadence gets it.
    pub fn in_cadence(&self, cadence: Cadence) -> bool {
        self.position.is_multiple_of(u64::from(cadence.period()))
    }
}

/// A stream of 30 frames a second.
///
/// Frames vary by 40 % around their layer's size. Key frames are sent every 10 s on average, at any
/// place of the pattern, which restarts with them.
pub fn stream(bits_per_second: f64, seconds: u64, random: &mut StdRng) -> Vec<SourcePacket> {
    let octets_per_pattern = bits_per_second / 8.0 * PATTERN.len() as f64 / 30.0;
    let spacing_us = (PACKET_OCTETS * 8.0 / (PACING * bits_per_second) * 1e6) as u64;
    let (mut packets, mut position, mut free_us) = (Vec::new(), 0, 0);
    for frame in 0..seconds * 30 {
        let key = frame == 0 || random.random_bool(KEY_FRAME_PROBABILITY);
        position = if key { 0 } else { position + 1 };
        let usual = octets_per_pattern * PATTERN[(position % 4) as usize] * if key { KEY_FRAME_TIMES_T0 } else { 1.0 };
        let count = (usual * random.random_range(0.6..1.4) / PACKET_OCTETS).ceil() as u64;
        free_us = push(&mut packets, (frame, position, count), free_us, spacing_us);
    }
    packets
}

/// A stream of 30 frames a second, each of `packets` packets, evenly distributed, with one key
/// frame at its beginning.
///
/// Source: the conditions that give the curve of Scallop's Figure 27.
pub fn plain(packets: RangeInclusive<u64>, seconds: u64, random: &mut StdRng) -> Vec<SourcePacket> {
    let spacing_us = FRAME_INTERVAL_US / (2 * packets.end());
    let mut stream = Vec::new();
    for frame in 0..seconds * 30 {
        let count = random.random_range(packets.clone());
        push(&mut stream, (frame, frame, count), 0, spacing_us);
    }
    stream
}

/// Adds the packets of a frame: its number, its position and their count. Returns the time at which
/// the next packet may be sent.
fn push(
    packets: &mut Vec<SourcePacket>,
    (frame, position, count): (u64, u64, u64),
    free_us: u64,
    spacing_us: u64,
) -> u64 {
    let begin_us = free_us.max(frame * FRAME_INTERVAL_US);
    packets.extend((0..count).map(|index| SourcePacket {
        at_us: begin_us + index * spacing_us,
        frame: frame as u16,
        position,
        start_of_frame: index == 0,
        end_of_frame: index + 1 == count,
    }));
    begin_us + count * spacing_us
}
