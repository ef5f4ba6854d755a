//! A person who watches behind a link with room for everything: asks for what is missing, reports
//! on what arrives, and notes when each picture is whole.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use virtual_device::Link;
use wire::rtcp::RtcpWriter;
use wire::{RtpPacket, SequenceNumber, Ssrc, Unwrapper};

use crate::camera::DESCRIPTOR;
use crate::orders::NUMBER_EXTENSION;

/// SSRCs of what viewers are sent, and of its retransmissions.
pub(crate) const SSRC: u32 = 6_000;
pub(crate) const RTX_SSRC: u32 = 6_001;

/// Time until a missing packet is asked for, and between two requests for it.
const ASK: Duration = Duration::from_millis(60);
/// Interval of looks for missing packets.
const LOOK: Duration = Duration::from_millis(20);

/// Capacity of the way to a viewer. Shape: bits per second.
const CAPACITY: u64 = 20_000_000;

pub(crate) struct Viewer {
    pub(crate) link: Link,
    pub(crate) next_look: Instant,
    /// When each picture was whole and could be decoded, and its encoding.
    pub(crate) pictures: Vec<(Instant, u8)>,
    numbers: Unwrapper,
    /// The next packet to be decoded.
    next: Option<u64>,
    waiting: BTreeMap<u64, Packet>,
    asked: BTreeMap<u64, Instant>,
    /// The numbers that were sent, by SSRC. Tests are too short for one to come again.
    sent: HashSet<(Ssrc, u16)>,
}

struct Packet {
    begins_key: bool,
    marker: bool,
    encoding: u8,
}

impl Viewer {
    pub(crate) fn new(now: Instant) -> Self {
        Viewer {
            link: Link::new(CAPACITY, NUMBER_EXTENSION, now),
            next_look: now,
            pictures: Vec::new(),
            numbers: Unwrapper::default(),
            next: None,
            waiting: BTreeMap::new(),
            asked: BTreeMap::new(),
            sent: HashSet::new(),
        }
    }

    /// A packet is on its way. Returns when it arrives, if it does.
    pub(crate) fn take(&mut self, now: Instant, bytes: &[u8]) -> Option<Instant> {
        let packet = RtpPacket::parse(bytes).expect("the node writes correct RTP");
        let is_new = self.sent.insert((packet.ssrc(), packet.sequence().0));
        assert!(is_new, "a number was used twice");
        self.link.take(now, packet, bytes.len())
    }

    pub(crate) fn receive(&mut self, now: Instant, bytes: &[u8]) {
        let packet = RtpPacket::parse(bytes).expect("the node writes correct RTP");
        let (sequence, payload) = match packet.ssrc().0 {
            SSRC => (packet.sequence(), packet.payload()),
            RTX_SSRC => match wire::rtx::split(packet.payload()) {
                Some(original) => original,
                None => return,
            },
            other => panic!("nobody was told of SSRC {other}"),
        };
        if payload.len() < DESCRIPTOR + 2 {
            return;
        }
        let number = self.numbers.extend(sequence.0);
        if self.next.is_some_and(|next| number < next) {
            return;
        }
        self.asked.remove(&number);
        let packet = Packet {
            begins_key: payload[0] & 0x10 != 0 && payload[DESCRIPTOR] & 1 == 0,
            marker: packet.marker(),
            encoding: payload[DESCRIPTOR + 1],
        };
        if packet.begins_key && self.next.is_none() {
            self.next = Some(number);
        }
        self.waiting.insert(number, packet);
        self.decode(now);
    }

    fn decode(&mut self, now: Instant) {
        self.skip_to_key_frame();
        let Some(next) = &mut self.next else { return };
        while let Some(packet) = self.waiting.remove(next) {
            *next += 1;
            if packet.marker {
                self.pictures.push((now, packet.encoding));
            }
        }
    }

    /// A whole key frame needs nothing before it.
    fn skip_to_key_frame(&mut self) {
        let begins = self.waiting.iter().rev().find(|(_, packet)| packet.begins_key);
        let Some(begin) = begins.map(|(number, _)| *number) else {
            return;
        };
        let mut packets = self.waiting.range(begin..).zip(begin..);
        let whole = packets.find(|((number, packet), expected)| *number != expected || packet.marker);
        if whole.is_some_and(|((number, _), expected)| *number == expected) {
            self.next = Some(begin);
            self.waiting = self.waiting.split_off(&begin);
            self.asked = self.asked.split_off(&begin);
        }
    }

    /// The request for what is missing, if it is time for one.
    pub(crate) fn look(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.next_look = now + LOOK;
        let (next, last) = (self.next?, *self.waiting.last_key_value()?.0);
        let mut missing = Vec::new();
        for number in (next..last).filter(|number| !self.waiting.contains_key(number)) {
            let asked = self.asked.entry(number).or_insert(now);
            if now.saturating_duration_since(*asked) >= ASK {
                *asked = now;
                missing.push(SequenceNumber(number as u16));
            }
        }
        (!missing.is_empty()).then(|| rtcp(|writer| _ = writer.nack(Ssrc(SSRC), missing)))
    }

    /// The longest time without a new picture between two instants.
    pub(crate) fn longest_freeze(&self, from: Instant, to: Instant) -> Duration {
        let times = self.pictures.iter().map(|(at, _)| *at);
        let times = times.filter(|at| (from..to).contains(at)).chain([to]);
        let mut before = from;
        let freeze = |at| at - std::mem::replace(&mut before, at);
        times.map(freeze).max().unwrap_or_default()
    }

    /// How many pictures there were of each encoding between two instants.
    pub(crate) fn pictures_of(&self, from: Instant, to: Instant) -> [usize; 3] {
        let theirs = self.pictures.iter().filter(|(at, _)| (from..to).contains(at));
        theirs.fold([0; 3], |mut counts, (_, encoding)| {
            counts[usize::from(*encoding)] += 1;
            counts
        })
    }

    /// A request for a key frame.
    pub(crate) fn asks_key_frame() -> Vec<u8> {
        rtcp(|writer| _ = writer.pli(Ssrc(SSRC)))
    }
}

fn rtcp(write: impl FnOnce(&mut RtcpWriter<'_>)) -> Vec<u8> {
    let mut compound = Vec::new();
    write(&mut RtcpWriter::receiver_report(&mut compound, Ssrc(1), "viewer", &[]));
    compound
}
