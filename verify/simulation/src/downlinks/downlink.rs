//! The way to one receiver: a bottleneck whose rate changes, a queue that drops what is too much, and what the receiver reports.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use wire::rtcp::{ArrivalTicks, TransportFeedbackWriter};
use wire::{RtpPacket, Ssrc, Unwrapper};

const REPORT: Duration = Duration::from_millis(50);
const COMPOUND_MAX: usize = 1_200;
pub(super) const NUMBER_EXTENSION: u8 = 4;

/// What a way is like.
#[derive(Clone, Debug)]
pub struct Way {
    /// What it carries from each time on. Shape: bits per second.
    pub rates: Vec<(Duration, u64)>,
    /// One way, without queue.
    pub delay: Duration,
    /// The longest wait in the queue.
    pub queue: Duration,
    /// What passes at once after a while of less, as through the kernel's token bucket. Shape: bytes.
    pub bucket: u32,
}

impl Way {
    /// What it carries at a time.
    pub fn rate(&self, at: Duration) -> u64 {
        let past = self.rates.iter().rev().find(|(from, _)| *from <= at);
        past.map_or(self.rates[0].1, |(_, rate)| *rate)
    }
}

/// The way, with what is on it.
pub(super) struct Downlink {
    pub(super) way: Way,
    start: Instant,
    /// When the queue will be empty and the bucket full again: behind the present by the part of the bucket that is full.
    free_at: Instant,
    frames: BTreeMap<u32, Frames>,
    pub(super) dropped: u64,
    numbers: Unwrapper,
    travelling: VecDeque<(Instant, u64)>,
    arrived: BTreeMap<u64, Instant>,
    next: Option<u64>,
    writer: TransportFeedbackWriter,
    report_at: Instant,
    /// Bytes sent in each second.
    pub(super) sent: Vec<u64>,
    /// When sound was sent last, and the longest time without any.
    sound: BTreeMap<u32, Instant>,
    pub(super) longest_silence: Duration,
}

impl Downlink {
    pub(super) fn new(way: Way, start: Instant) -> Self {
        Downlink {
            way,
            start,
            free_at: start,
            frames: BTreeMap::new(),
            dropped: 0,
            numbers: Unwrapper::default(),
            travelling: VecDeque::new(),
            arrived: BTreeMap::new(),
            next: None,
            writer: TransportFeedbackWriter::new(Ssrc(1), Ssrc(2)),
            report_at: start,
            sent: Vec::new(),
            sound: BTreeMap::new(),
            longest_silence: Duration::ZERO,
        }
    }

    /// A packet leaves towards the receiver.
    pub(super) fn take(&mut self, now: Instant, bytes: &[u8], sound: bool) {
        let Ok(packet) = RtpPacket::parse(bytes) else { return };
        let second = (now - self.start).as_secs() as usize;
        self.sent.resize(self.sent.len().max(second + 1), 0);
        self.sent[second] += bytes.len() as u64;
        if sound && let Some(before) = self.sound.insert(packet.ssrc().0, now) {
            self.longest_silence = self.longest_silence.max(now - before);
        }
        let number = packet
            .extension(NUMBER_EXTENSION)
            .and_then(wire::extension::parse_transport_sequence);
        let Some(number) = number else { return };
        let number = self.numbers.extend(number);
        let arrival = self.pass(now, bytes.len());
        match arrival {
            Some(at) => self.travelling.push_back((at, number)),
            None => self.dropped += 1,
        }
        if !sound {
            let frames = self.frames.entry(packet.ssrc().0).or_default();
            frames.packet(packet.timestamp().0, packet.marker(), arrival);
        }
    }

    /// When a packet arrives, if it does.
    fn pass(&mut self, now: Instant, bytes: usize) -> Option<Instant> {
        let rate = self.way.rate(now - self.start);
        let time = |bytes: u64| Duration::from_micros(bytes * 8_000_000 / rate);
        let bucket = time(u64::from(self.way.bucket));
        let begins = self.free_at.max(now.checked_sub(bucket).unwrap_or(now));
        if begins.saturating_duration_since(now) > self.way.queue {
            return None;
        }
        self.free_at = begins + time(bytes as u64);
        Some(self.free_at.max(now) + self.way.delay)
    }

    /// When each whole frame of a stream had arrived.
    pub(super) fn frames(&self, ssrc: u32) -> Vec<Duration> {
        let whole = self.frames.get(&ssrc).map(|frames| &frames.whole[..]);
        whole.unwrap_or_default().iter().map(|at| *at - self.start).collect()
    }

    pub(super) fn next(&self) -> Instant {
        self.report_at
    }

    /// The reports that are due.
    pub(super) fn report(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        if now < self.report_at {
            return;
        }
        self.report_at = now + REPORT;
        // A report takes as long back as a packet takes there.
        while let Some((at, number)) = self
            .travelling
            .front()
            .copied()
            .filter(|(at, _)| *at + self.way.delay <= now)
        {
            self.travelling.pop_front();
            self.arrived.insert(number, at);
        }
        let (Some((first, _)), Some((last, _))) = (self.arrived.first_key_value(), self.arrived.last_key_value())
        else {
            return;
        };
        let (first, last) = (self.next.unwrap_or(*first), *last);
        let ticks = |at: &Instant| ArrivalTicks::from_epoch(*at - self.start);
        let said: Vec<_> = (first..=last)
            .map(|number| (number as u16, self.arrived.get(&number).map(ticks)))
            .collect();
        self.next = Some(last + 1);
        self.arrived.clear();
        let mut rest = &said[..];
        while !rest.is_empty() {
            let mut datagram = Vec::new();
            rest = self.writer.write_next(rest, COMPOUND_MAX, &mut datagram);
            out.push(datagram);
        }
    }
}

/// The frames of one stream.
#[derive(Default)]
struct Frames {
    timestamp: Option<u32>,
    is_broken: bool,
    whole: Vec<Instant>,
}

impl Frames {
    fn packet(&mut self, timestamp: u32, marker: bool, arrival: Option<Instant>) {
        if self.timestamp.replace(timestamp) != Some(timestamp) {
            self.is_broken = false;
        }
        self.is_broken |= arrival.is_none();
        if let (true, false, Some(at)) = (marker, self.is_broken, arrival) {
            self.whole.push(at);
        }
    }
}
