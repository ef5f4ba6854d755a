//! The path to one receiver: a bottleneck, a queue that drops the excess, and the receiver's
//! reports.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use wire::rtcp::{ArrivalTicks, TransportFeedbackWriter};
use wire::{RtpPacket, Ssrc, Unwrapper};

const REPORT: Duration = Duration::from_millis(50);
const COMPOUND_MAX: usize = 1_200;

/// The path, with the packets on it.
#[derive(Debug)]
pub struct Link {
    /// Its capacity. Shape: bits per second.
    pub rate: u64,
    /// One way, without queue.
    pub delay: Duration,
    /// The longest wait in the queue.
    pub queue: Duration,
    /// Burst that passes at once after a time of lower rate, as through the kernel's token bucket.
    /// Shape: bytes.
    pub bucket: u32,
    /// Packets that found the queue full.
    pub dropped: u64,
    /// Which header extension has the transport-wide number.
    number: u8,
    start: Instant,
    /// When the queue will be empty and the bucket full again: before the present by the full part
    /// of the bucket.
    free_at: Instant,
    numbers: Unwrapper,
    travelling: VecDeque<(Instant, u64)>,
    arrived: BTreeMap<u64, Instant>,
    next: Option<u64>,
    writer: TransportFeedbackWriter,
    report_at: Instant,
}

impl Link {
    /// One of 20 ms, with a queue of 300 ms and no bucket. `number` is the header extension that
    /// has the transport-wide number.
    pub fn new(rate: u64, number: u8, start: Instant) -> Self {
        Link {
            rate,
            delay: Duration::from_millis(20),
            queue: Duration::from_millis(300),
            bucket: 0,
            dropped: 0,
            number,
            start,
            free_at: start,
            numbers: Unwrapper::default(),
            travelling: VecDeque::new(),
            arrived: BTreeMap::new(),
            next: None,
            writer: TransportFeedbackWriter::new(Ssrc(1), Ssrc(2)),
            report_at: start,
        }
    }

    /// Sends a packet to the receiver. Returns its arrival time, if it arrives.
    pub fn take(&mut self, now: Instant, packet: RtpPacket<'_>, size: usize) -> Option<Instant> {
        let number = packet
            .extension(self.number)
            .and_then(wire::extension::parse_transport_sequence)
            .map(|number| self.numbers.extend(number));
        let arrival = self.pass(now, size);
        match (arrival, number) {
            (Some(at), Some(number)) => self.travelling.push_back((at, number)),
            (Some(_), None) => {}
            (None, _) => self.dropped += 1,
        }
        arrival
    }

    fn pass(&mut self, now: Instant, bytes: usize) -> Option<Instant> {
        let time = |bytes: u64| Duration::from_micros(bytes * 8_000_000 / self.rate);
        let bucket = time(u64::from(self.bucket));
        let begins = self.free_at.max(now.checked_sub(bucket).unwrap_or(now));
        if begins.saturating_duration_since(now) > self.queue {
            return None;
        }
        self.free_at = begins + time(bytes as u64);
        Some(self.free_at.max(now) + self.delay)
    }

    /// When the next report is due.
    pub fn next_report(&self) -> Instant {
        self.report_at
    }

    /// The reports that are due. A report takes as long back as a packet takes there.
    pub fn report(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        if now < self.report_at {
            return;
        }
        self.report_at = now + REPORT;
        let known = |at: Instant| at + self.delay <= now;
        while let Some((at, number)) = self.travelling.pop_front_if(|(at, _)| known(*at)) {
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
