//! The other end: notes arrivals and reports them, in the bytes a browser would send.

use std::collections::BTreeMap;
use std::time::Duration;

use wire::rtcp::{ArrivalTicks, TransportFeedbackWriter};
use wire::{Ssrc, Unwrapper};

const COMPOUND_MAX: usize = 1200;
/// Time in which an arrival can be reported again.
const MEMORY: Duration = Duration::from_millis(500);

/// One flow's receiver.
pub(crate) struct Receiver {
    interval: Duration,
    next_report: Duration,
    numbers: Unwrapper,
    arrivals: BTreeMap<u64, Duration>,
    /// The lowest number that arrived since the last report.
    first: Option<u64>,
    /// The first number without a report.
    next: Option<u64>,
    writer: TransportFeedbackWriter,
    /// Bytes that arrived. Shape: bytes.
    pub(crate) bytes: u64,
}

impl Receiver {
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            interval,
            next_report: Duration::ZERO,
            numbers: Unwrapper::default(),
            arrivals: BTreeMap::new(),
            first: None,
            next: None,
            writer: TransportFeedbackWriter::new(Ssrc(1), Ssrc(2)),
            bytes: 0,
        }
    }

    pub(crate) fn arrived(&mut self, at: Duration, number: u16, size: u16) {
        let number = self.numbers.extend(number);
        self.arrivals.insert(number, at);
        self.first = Some(self.first.map_or(number, |first| first.min(number)));
        self.bytes += u64::from(size);
    }

    /// The reports due, each a datagram.
    pub(crate) fn report(&mut self, now: Duration, out: &mut Vec<Vec<u8>>) {
        if now < self.next_report {
            return;
        }
        self.next_report = now + self.interval;
        let (Some(first), Some((last, _))) = (self.first.take(), self.arrivals.last_key_value()) else {
            return;
        };
        let from = self.next.map_or(first, |next| next.min(first));
        let said: Vec<_> = (from..=*last)
            .map(|number| {
                (
                    number as u16,
                    self.arrivals.get(&number).map(|at| ArrivalTicks::from_epoch(*at)),
                )
            })
            .collect();
        self.next = Some(last + 1);
        self.arrivals.retain(|_, at| *at + MEMORY > now);
        let mut rest = &said[..];
        while !rest.is_empty() {
            let mut datagram = Vec::new();
            rest = self.writer.write_next(rest, COMPOUND_MAX, &mut datagram);
            out.push(datagram);
        }
    }
}
