//! The log of arrived packets and sent copies that the program writes for the agent.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

use dataplane::{Arrival, Departure, Event, LegId};
use wire::Ssrc;
use wire::codec::Layer;
use wire::extension::AudioLevel;

use super::table::EntryTable;
use crate::clock::Monotonic;
use crate::layout::fanout::{FANOUT_PROBED, FanoutLog};

/// The most packets of one batch. Each leg gets one event a batch.
const BATCH_MAX: usize = 128;

/// The length of a packet's record, which the records of its copies follow.
const PACKET_LEN: usize = size_of::<FanoutLog>();

/// Events out of the log.
#[derive(Debug, Default)]
pub(super) struct Log {
    ready: VecDeque<Event>,
    bytes: Vec<u8>,
    /// The newest probe of each leg.
    probes: HashMap<LegId, u32>,
}

#[derive(Default)]
struct Batch {
    arrivals: BTreeMap<LegId, Vec<Arrival>>,
    departures: BTreeMap<LegId, Vec<Departure>>,
}

impl Log {
    /// Packets that are marked after this call are part of this probe.
    pub(super) fn probes(&mut self, leg: LegId, probe: u32) {
        self.probes.insert(leg, probe);
    }

    pub(super) fn forget(&mut self, leg: LegId) {
        self.probes.remove(&leg);
    }

    pub(super) fn next(&mut self, table: &mut EntryTable, clock: &Monotonic) -> Option<Event> {
        if self.ready.is_empty() {
            let mut batch = Batch::default();
            for _ in 0..BATCH_MAX {
                if !table.kernel.next_log(&mut self.bytes) {
                    break;
                }
                batch.read(&self.bytes, table, clock, &self.probes);
            }
            let arrivals = batch.arrivals.into_iter();
            let departures = batch.departures.into_iter();
            self.ready
                .extend(arrivals.map(|(leg, arrivals)| Event::Arrivals { leg, arrivals }));
            self.ready
                .extend(departures.map(|(leg, departures)| Event::Departures { leg, departures }));
        }
        self.ready.pop_front()
    }
}

impl Batch {
    /// Reads one packet's record. Records of streams and legs that no longer exist are ignored.
    fn read(&mut self, bytes: &[u8], table: &EntryTable, clock: &Monotonic, probes: &HashMap<LegId, u32>) {
        let Some((packet, copies)) = bytes.split_first_chunk::<PACKET_LEN>() else {
            return;
        };
        let packet = packet_of(packet);
        let at = clock.instant(packet.at);
        if packet.arrived != 0
            && let Some(stream) = table.stream_of(packet.stream)
        {
            let arrivals = self.arrivals.entry(stream.leg).or_default();
            arrivals.push(arrival(&packet, stream.ssrc, at));
        }
        for copy in copies.as_chunks::<4>().0 {
            let [place, number] = [[copy[0], copy[1]], [copy[2], copy[3]]].map(u16::from_ne_bytes);
            let is_probe = u32::from(place) & FANOUT_PROBED != 0;
            let Some(leg) = table.counts.leg(u32::from(place) & !FANOUT_PROBED) else {
                continue;
            };
            self.departures.entry(leg).or_default().push(Departure {
                at,
                transport_sequence: number,
                size: packet.departed_size,
                probe: probes.get(&leg).copied().filter(|_| is_probe),
            });
        }
    }
}

fn arrival(packet: &FanoutLog, ssrc: Ssrc, at: Instant) -> Arrival {
    let level = AudioLevel::parse(&[packet.level]).filter(|_| packet.has_level != 0);
    let layer = Layer {
        spatial: packet.spatial,
        temporal: packet.temporal,
    };
    Arrival {
        at,
        ssrc,
        sequence: packet.sequence,
        recovered: packet.again != 0,
        transport_sequence: (packet.has_number != 0).then_some(packet.transport_number),
        size: packet.size,
        audio_level: level.map(|level| (level.level, level.voice)),
        layer: (packet.has_layer != 0).then_some(layer),
        ends_frame: packet.ends_frame != 0,
        needed_above: packet.needed_above != 0,
    }
}

/// The kernel's bytes as what they are.
fn packet_of(bytes: &[u8; PACKET_LEN]) -> FanoutLog {
    let word = |at: usize| u32::from_ne_bytes(*bytes[at..].first_chunk().expect("within the packet"));
    let half = |at: usize| u16::from_ne_bytes(*bytes[at..].first_chunk().expect("within the packet"));
    FanoutLog {
        at: u64::from_ne_bytes(*bytes.first_chunk().expect("within the packet")),
        stream: word(8),
        departures: half(12),
        sequence: half(14),
        transport_number: half(16),
        size: half(18),
        departed_size: half(20),
        level: bytes[22],
        spatial: bytes[23],
        temporal: bytes[24],
        ends_frame: bytes[25],
        needed_above: bytes[26],
        arrived: bytes[27],
        has_level: bytes[28],
        has_number: bytes[29],
        has_layer: bytes[30],
        again: bytes[31],
    }
}
