//! Streams with three temporal layers, and orders in which their packets arrive.

use proptest::prelude::*;
use rewriting::{Cadence, FramePacket};

/// A stream, and the frames that a replica gets of it: decided for each frame when it, or a newer
/// one, is first seen.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    frames: Vec<Frame>,
    /// Index of the frame of each packet.
    frame_of: Vec<usize>,
    first_number: u64,
    first_frame: u16,
    cadence: Cadence,
    /// Whether the replica gets the frame, for frames that are decided.
    decided: Vec<bool>,
    newest: Option<usize>,
    /// Packets left out that arrived in order.
    closed: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    first: usize,
    packets: usize,
    key: bool,
    /// Frames since the last key frame.
    position: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    packet: usize,
    change: Option<Cadence>,
}

impl Stream {
    fn new(sizes: &[(usize, bool)], first_number: u64, first_frame: u16, cadence: Cadence) -> Self {
        let (mut frames, mut frame_of, mut position) = (Vec::new(), Vec::new(), 0);
        for (index, (packets, key)) in sizes.iter().enumerate() {
            let key = *key || index == 0;
            position = if key { 0 } else { position + 1 };
            frames.push(Frame {
                first: frame_of.len(),
                packets: *packets,
                key,
                position,
            });
            frame_of.extend(std::iter::repeat_n(index, *packets));
        }
        Stream {
            closed: vec![false; frame_of.len()],
            frames,
            frame_of,
            first_number,
            first_frame,
            cadence,
            decided: Vec::new(),
            newest: None,
        }
    }

    pub(crate) fn cadence(&self) -> Cadence {
        self.cadence
    }

    pub(crate) fn first(&self) -> FramePacket {
        self.packet(0, true)
    }

    /// The cadence that applies from now on, and from which frame: the first not decided yet.
    pub(crate) fn change(&mut self, arrival: &Arrival) -> Option<(Cadence, u16)> {
        self.cadence = arrival.change.filter(|_| !self.decided.is_empty())?;
        Some((self.cadence, self.first_frame.wrapping_add(self.decided.len() as u16)))
    }

    pub(crate) fn arrive(&mut self, arrival: &Arrival) -> FramePacket {
        let frame = self.frame_of[arrival.packet];
        for undecided in self.decided.len()..=frame {
            self.decided.push(self.gets(undecided));
        }
        let forwarded = self.decided[frame];
        if self.newest.is_none_or(|newest| arrival.packet > newest) {
            self.newest = Some(arrival.packet);
            self.closed[arrival.packet] = !forwarded;
        }
        self.packet(arrival.packet, forwarded)
    }

    /// How many packets strictly between two numbers the replica should get.
    pub(crate) fn needed_between(&self, older: u64, newer: u64) -> u64 {
        self.count_between(older, newer, |packet| self.decided[self.frame_of[packet]])
    }

    pub(crate) fn left_out_of_order_between(&self, older: u64, newer: u64) -> u64 {
        self.count_between(older, newer, |packet| {
            !self.decided[self.frame_of[packet]] && !self.closed[packet]
        })
    }

    fn count_between(&self, older: u64, newer: u64, counts: impl Fn(usize) -> bool) -> u64 {
        let index = |number: u64| (number - self.first_number) as usize;
        (index(older) + 1..index(newer))
            .filter(|packet| counts(*packet))
            .count() as u64
    }

    fn gets(&self, frame: usize) -> bool {
        self.frames[frame]
            .position
            .is_multiple_of(usize::from(self.cadence.period()))
    }

    fn packet(&self, packet: usize, forwarded: bool) -> FramePacket {
        let index = self.frame_of[packet];
        let frame = self.frames[index];
        FramePacket {
            number: self.first_number + packet as u64,
            frame: self.first_frame.wrapping_add(index as u16),
            start_of_frame: packet == frame.first,
            end_of_frame: packet + 1 == frame.first + frame.packets,
            key_frame: frame.key,
            forwarded,
        }
    }
}

fn cadence() -> impl Strategy<Value = Cadence> {
    prop_oneof![Just(Cadence::Every), Just(Cadence::Second), Just(Cadence::Fourth)]
}

fn streams(key: f64) -> impl Strategy<Value = Stream> {
    let sizes = prop::collection::vec((1usize..6, prop::bool::weighted(key)), 1..60);
    (sizes, 0u64..200_000, 0u16..=u16::MAX, cadence())
        .prop_map(|(sizes, number, frame, cadence)| Stream::new(&sizes, number, frame, cadence))
}

/// Arrival of a packet: never, in order, some packets late, or twice.
fn fates() -> impl Strategy<Value = Vec<(Vec<usize>, Option<Cadence>)>> {
    let lateness = prop_oneof![
        6 => Just(vec![0]),
        2 => Just(vec![]),
        1 => (1usize..6).prop_map(|late| vec![late]),
        1 => (1usize..60).prop_map(|late| vec![late]),
        1 => (1usize..20).prop_map(|late| vec![0, late]),
    ];
    prop::collection::vec((lateness, prop::option::weighted(0.03, cadence())), 300)
}

/// Any stream and any arrival, but that the first packet arrives first.
pub(crate) fn any() -> impl Strategy<Value = (Stream, Vec<Arrival>)> {
    (
        prop_oneof![Just(0.0), Just(0.05), Just(0.4)].prop_flat_map(streams),
        fates(),
    )
        .prop_map(|(stream, fates)| {
            let mut arrivals: Vec<(usize, Arrival)> = vec![(
                0,
                Arrival {
                    packet: 0,
                    change: None,
                },
            )];
            for (packet, (lateness, change)) in fates.iter().enumerate().take(stream.frame_of.len()) {
                arrivals.extend(lateness.iter().map(|late| {
                    let arrival = Arrival {
                        packet,
                        change: *change,
                    };
                    (packet + late, arrival)
                }));
            }
            arrivals.sort_by_key(|(at, _)| *at);
            (stream, arrivals.into_iter().map(|(_, arrival)| arrival).collect())
        })
}

/// There is no key frame but the first, all packets arrive in order, and the cadence does not
/// change.
pub(crate) fn clean() -> impl Strategy<Value = (Stream, Vec<Arrival>)> {
    streams(0.0).prop_map(|stream| {
        let arrivals = (0..stream.frame_of.len())
            .map(|packet| Arrival { packet, change: None })
            .collect();
        (stream, arrivals)
    })
}
