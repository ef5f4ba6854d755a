//! A camera's stream with three temporal layers, as a browser paces it out.

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
        for index in 0..count {
            let at_us = free_us.max(frame * FRAME_INTERVAL_US);
            free_us = at_us + spacing_us;
            packets.push(SourcePacket {
                at_us,
                frame: frame as u16,
                position,
                start_of_frame: index == 0,
                end_of_frame: index + 1 == count,
            });
        }
    }
    packets
}
