//! The path to one receiver with its changing rate, and the results.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use virtual_device::Link;
use wire::rtcp::RtcpWriter;
use wire::{RtpPacket, SequenceNumber, Ssrc};

/// Interval and number of requests for the same packet, as of browsers that do not know the round
/// trip.
const ASK_EVERY: Duration = Duration::from_millis(100);
const ASK_TIMES: u32 = 10;

pub(super) const NUMBER_EXTENSION: u8 = 4;

/// Settings of a path.
#[derive(Clone, Debug)]
pub struct Way {
    /// Capacity from each time on. Shape: bits per second.
    pub rates: Vec<(Duration, u64)>,
    /// One way, without queue.
    pub delay: Duration,
    /// The longest wait in the queue.
    pub queue: Duration,
    /// Burst allowed after a while of less, as by the kernel's token bucket. Shape: bytes.
    pub bucket: u32,
}

impl Way {
    /// Capacity at a time.
    pub fn rate(&self, at: Duration) -> u64 {
        let past = self.rates.iter().rev().find(|(from, _)| *from <= at);
        past.map_or(self.rates[0].1, |(_, rate)| *rate)
    }
}

/// The path, with the packets on it.
pub(super) struct Downlink {
    way: Way,
    pub(super) link: Link,
    start: Instant,
    /// The frames of each stream, by their time.
    frames: BTreeMap<u32, BTreeMap<u32, Frame>>,
    /// Lost video packets, by stream and number.
    lost: BTreeMap<(u32, u16), Lost>,
    /// Packets that were sent again.
    pub(super) sent_again: u64,
    /// Bytes sent in each second.
    pub(super) sent: Vec<u64>,
    /// When audio was sent last, and the longest time without any.
    sound: BTreeMap<u32, Instant>,
    pub(super) longest_silence: Duration,
}

impl Downlink {
    pub(super) fn new(way: Way, start: Instant) -> Self {
        let mut link = Link::new(way.rate(Duration::ZERO), NUMBER_EXTENSION, start);
        (link.delay, link.queue, link.bucket) = (way.delay, way.queue, way.bucket);
        Downlink {
            way,
            link,
            start,
            frames: BTreeMap::new(),
            lost: BTreeMap::new(),
            sent_again: 0,
            sent: Vec::new(),
            sound: BTreeMap::new(),
            longest_silence: Duration::ZERO,
        }
    }

    /// Sends a packet to the receiver.
    pub(super) fn take(&mut self, now: Instant, bytes: &[u8], sound: bool) {
        let Ok(packet) = RtpPacket::parse(bytes) else { return };
        let second = (now - self.start).as_secs() as usize;
        self.sent.resize(self.sent.len().max(second + 1), 0);
        self.sent[second] += bytes.len() as u64;
        if sound && let Some(before) = self.sound.insert(packet.ssrc().0, now) {
            self.longest_silence = self.longest_silence.max(now - before);
        }
        self.link.rate = self.way.rate(now - self.start);
        let arrival = self.link.take(now, packet, bytes.len());
        if !sound {
            self.picture(now, packet, arrival);
        }
    }

    /// A video packet, or its repetition: those are sent in a stream of their own, the next one
    /// (RFC 4588).
    fn picture(&mut self, now: Instant, packet: RtpPacket<'_>, arrival: Option<Instant>) {
        let ssrc = packet.ssrc().0;
        let original = match packet.payload() {
            [high, low, ..] if !ssrc.is_multiple_of(2) => {
                self.sent_again += 1;
                (ssrc - 1, u16::from_be_bytes([*high, *low]))
            }
            _ => (ssrc, packet.sequence().0),
        };
        let frames = self.frames.entry(original.0).or_default();
        let frame = frames.entry(packet.timestamp().0).or_default();
        let is_new = original.0 == ssrc;
        frame.ended |= is_new && packet.marker();
        match arrival {
            Some(at) => {
                frame.arrived = frame.arrived.max(Some(at));
                frame.missing -= u32::from(self.lost.remove(&original).is_some());
            }
            None if is_new => {
                frame.missing += 1;
                // The next packet reveals it, after the packets in the queue.
                let ask_at = now + self.link.queue + self.link.delay;
                self.lost.insert(original, Lost { ask_at, asked: 0 });
            }
            None => {}
        }
    }

    /// When it asks for packets again, if it does.
    pub(super) fn next_request(&self) -> Option<Instant> {
        self.lost.values().map(|lost| lost.ask_at).min()
    }

    /// Requests for retransmission that are due by now.
    pub(super) fn requests(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        let mut by_stream: BTreeMap<u32, Vec<SequenceNumber>> = BTreeMap::new();
        for ((ssrc, sequence), lost) in self.lost.iter_mut().filter(|(_, lost)| lost.ask_at <= now) {
            lost.ask_at += ASK_EVERY;
            lost.asked += 1;
            by_stream.entry(*ssrc).or_default().push(SequenceNumber(*sequence));
        }
        self.lost.retain(|_, lost| lost.asked < ASK_TIMES);
        for (ssrc, sequences) in by_stream {
            let mut compound = Vec::new();
            _ = RtcpWriter::receiver_report(&mut compound, Ssrc(1), "receiver", &[]).nack(Ssrc(ssrc), sequences);
            out.push(compound);
        }
    }

    /// When each whole frame of a stream had arrived.
    pub(super) fn frames(&self, ssrc: u32) -> Vec<Duration> {
        let frames = self.frames.get(&ssrc).into_iter().flat_map(BTreeMap::values);
        let whole = frames.filter(|frame| frame.ended && frame.missing == 0);
        let mut whole: Vec<Duration> = whole.filter_map(|frame| Some(frame.arrived? - self.start)).collect();
        whole.sort();
        whole
    }
}

/// One frame, as far as it was sent.
#[derive(Default)]
struct Frame {
    missing: u32,
    ended: bool,
    /// The last of its packets.
    arrived: Option<Instant>,
}

/// A packet that has to be sent again.
struct Lost {
    ask_at: Instant,
    asked: u32,
}
