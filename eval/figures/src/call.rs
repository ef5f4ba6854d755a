//! One replica of a stream: a lossy uplink, a rewriter, and a receiver that asks for every missing
//! packet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rewriting::{Cadence, FramePacket, Rewriter};

use crate::loss::{Loss, Pattern};
use crate::source::SourcePacket;

/// The conditions of the call.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// The pattern of uplink losses.
    pub pattern: Pattern,
    /// Share of the packets that the uplink loses, retransmissions too.
    pub loss: f64,
    /// Share of the packets that arrive 2 to 20 ms late.
    pub reordered: f64,
    /// From a receiver's request to the retransmission at the rewriter, in microseconds.
    pub round_trip_us: u64,
    /// The temporal cadence that the replica gets.
    pub cadence: Cadence,
}

/// A browser gives up on a packet after this many requests.
const REQUESTS_MAX: u8 = 10;

/// Counts of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets of the stream, including those left out.
    pub source: u64,
    /// Packets the replica should get.
    pub needed: u64,
    /// Packets it got.
    pub forwarded: u64,
    /// Numbers reserved that no needed packet will take: type-2 errors. Each is asked for once.
    pub spare: u64,
    /// Numbers missing where a needed packet was: type-1 errors.
    pub masked: u64,
    /// Retransmissions of packets that had not arrived: any rewriter needs these.
    pub repairs: u64,
    /// Retransmissions of packets that had arrived and were dropped, because the rewriter no longer
    /// knew their numbers.
    pub again: u64,
}

impl Tally {
    /// Retransmissions that an all-knowing rewriter would not have caused, per packet forwarded.
    pub fn overhead(&self) -> f64 {
        (self.spare + self.again) as f64 / self.forwarded as f64
    }

    /// Those for type-2 errors alone.
    pub fn type_two(&self) -> f64 {
        self.spare as f64 / self.forwarded as f64
    }

    /// As [`overhead`](Self::overhead), but per packet of the stream.
    pub fn overhead_of_source(&self) -> f64 {
        (self.spare + self.again) as f64 / self.source as f64
    }

    /// Type-2 errors per packet of the stream.
    pub fn type_two_of_source(&self) -> f64 {
        self.spare as f64 / self.source as f64
    }

    /// Share of the needed packets that never got through.
    pub fn missed(&self) -> f64 {
        1.0 - self.forwarded as f64 / self.needed as f64
    }
}

/// Plays `stream` through a rewriter. One seed gives one history of losses, the same for each
/// rewriter.
pub fn play<R: Rewriter>(stream: &[SourcePacket], conditions: Conditions, seed: u64) -> Tally {
    let mut call = Call {
        stream,
        conditions,
        random: StdRng::seed_from_u64(!seed),
        retransmissions: Loss::new(conditions.pattern, conditions.loss),
        events: arrivals(stream, conditions, seed),
        packets: vec![Packet::default(); stream.len()],
        highest: None,
        tally: Tally::default(),
    };
    call.tally.source = stream.len() as u64;
    call.tally.needed = stream
        .iter()
        .filter(|packet| packet.in_cadence(conditions.cadence))
        .count() as u64;
    let mut rewriter = R::start(&call.packet(0), 0, conditions.cadence);
    while let Some(Reverse((now_us, event))) = call.events.pop() {
        match event {
            Event::Arrive(index) => {
                if let Some(number) = rewriter.rewrite(&call.packet(index)) {
                    call.forward(now_us, index, number);
                }
                call.packets[index].arrived = true;
            }
            Event::Ask(index) => call.ask(now_us, index),
        }
    }
    call.tally
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet reaches the rewriter.
    Arrive(usize),
    /// The receiver asks for it, if it still has to.
    Ask(usize),
}

type Events = BinaryHeap<Reverse<(u64, Event)>>;

#[derive(Clone, Copy, Debug, Default)]
struct Packet {
    arrived: bool,
    delivered: bool,
    requests: u8,
}

struct Call<'a> {
    stream: &'a [SourcePacket],
    conditions: Conditions,
    random: StdRng,
    retransmissions: Loss,
    events: Events,
    packets: Vec<Packet>,
    /// The newest packet the receiver has, and its number.
    highest: Option<(usize, u16)>,
    tally: Tally,
}

/// First transmissions that arrive. The very first packet does: a replica begins with the first one
/// it gets.
fn arrivals(stream: &[SourcePacket], conditions: Conditions, seed: u64) -> Events {
    let mut random = StdRng::seed_from_u64(seed);
    let mut loss = Loss::new(conditions.pattern, conditions.loss);
    let mut events = Events::new();
    for (index, packet) in stream.iter().enumerate() {
        let lost = loss.next(&mut random);
        let late_us = match random.random_bool(conditions.reordered) {
            true => random.random_range(2_000..20_000),
            false => 0,
        };
        match (index, lost) {
            (0, _) => events.push(Reverse((packet.at_us, Event::Arrive(index)))),
            (_, false) => events.push(Reverse((packet.at_us + late_us, Event::Arrive(index)))),
            (_, true) => {}
        }
    }
    events
}

impl Call<'_> {
    fn packet(&self, index: usize) -> FramePacket {
        let packet = &self.stream[index];
        FramePacket {
            number: index as u64,
            frame: packet.frame,
            start_of_frame: packet.start_of_frame,
            end_of_frame: packet.end_of_frame,
            key_frame: packet.position == 0,
            forwarded: self.needs(index),
        }
    }

    fn needs(&self, index: usize) -> bool {
        self.stream[index].in_cadence(self.conditions.cadence)
    }

    /// The receiver gets a packet, and asks for every number that is missing now.
    fn forward(&mut self, now_us: u64, index: usize, number: u16) {
        if std::mem::replace(&mut self.packets[index].delivered, true) {
            return;
        }
        self.tally.forwarded += 1;
        let Some((highest, highest_number)) = self.highest.replace((index, number)) else {
            return;
        };
        if index < highest {
            self.highest = Some((highest, highest_number));
            return;
        }
        let missing: Vec<usize> = (highest + 1..index).filter(|between| self.needs(*between)).collect();
        let room = i64::from(number.wrapping_sub(highest_number) as i16) - 1 - missing.len() as i64;
        self.tally.spare += room.max(0) as u64;
        self.tally.masked += (-room).max(0) as u64;
        missing.into_iter().for_each(|index| self.ask(now_us, index));
    }

    fn ask(&mut self, now_us: u64, index: usize) {
        let packet = &mut self.packets[index];
        if packet.delivered || packet.requests == REQUESTS_MAX {
            return;
        }
        packet.requests += 1;
        match packet.arrived {
            true => self.tally.again += 1,
            false => self.tally.repairs += 1,
        }
        let back_us = now_us + self.conditions.round_trip_us;
        if !self.retransmissions.next(&mut self.random) {
            self.events.push(Reverse((back_us, Event::Arrive(index))));
        }
        self.events.push(Reverse((back_us + 1, Event::Ask(index))));
    }
}
