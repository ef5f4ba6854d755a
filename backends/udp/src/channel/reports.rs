//! Reports of a worker to the agent: a bounded ring of small values, and buffers that are returned.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{Arrival, Counter, Departure, LegId, PuntKind};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::channel::{CounterPage, Departed, Punted, PuntedRef, Report, take_back};
use crate::wakeup::Wakeup;

/// How many reports may wait for the agent: more than a second of a busy shard.
const REPORTS_MAX: usize = 32_768;
/// How many punted datagrams of unknown addresses may wait. They have a ring of their own: a flood
/// of STUN must not crowd out the RTCP of legs.
const UNMATCHED_MAX: usize = 1_024;
/// How many punted datagrams of legs may be on their way.
const LENT_MAX: usize = 4_096;
/// One in so many places of both is reserved for STUN: a peer whose consent check is lost among the
/// RTCP of others would lose its transport.
const RESERVED: usize = 4;
/// How long a receiver's feedback, which has an arrival time of its own, may wait before the agent
/// is woken for it.
pub(crate) const FEEDBACK_DELAY: Duration = Duration::from_millis(20);
/// The same for a packet that arrived in order: it is part of feedback that is sent twenty times a
/// second.
const ARRIVAL_DELAY: Duration = Duration::from_millis(25);
/// The same for a packet after a gap, or in one: a NACK depends on it.
const GAP_DELAY: Duration = Duration::from_millis(10);
/// The same for sent packets, which matter when feedback on them arrives, twenty times a second,
/// and for statistics that the agent has requested.
const DEPARTURE_DELAY: Duration = Duration::from_millis(50);

/// The agent's end.
#[derive(Debug)]
pub(crate) struct ReportReader {
    pub(crate) reports: Consumer<Report>,
    pub(crate) unmatched: Consumer<Report>,
}

/// The shard's end.
pub(crate) struct Reports {
    reports: Producer<Report>,
    lent: Loans,
    unmatched: Producer<Report>,
    lent_unmatched: Loans,
    agent: Arc<Wakeup>,
    /// When the agent must be woken for reports that are not urgent.
    due: Option<Instant>,
    urgent: bool,
}

impl Reports {
    pub(crate) fn new(agent: Arc<Wakeup>) -> (Self, ReportReader) {
        let (reports, reports_reader) = RingBuffer::new(REPORTS_MAX);
        let (unmatched, unmatched_reader) = RingBuffer::new(UNMATCHED_MAX);
        let this = Reports {
            reports,
            lent: Loans::with_limit(LENT_MAX),
            unmatched,
            lent_unmatched: Loans::with_limit(UNMATCHED_MAX),
            agent,
            due: None,
            urgent: false,
        };
        let reader = ReportReader {
            reports: reports_reader,
            unmatched: unmatched_reader,
        };
        (this, reader)
    }

    /// Hands a copy of a datagram to the agent; false, and counted, when there is no room for it.
    pub(crate) fn punt(&mut self, counters: &CounterPage, punted: &PuntedRef<'_>) -> bool {
        let (ring, loans) = match punted.leg {
            Some(_) => (&mut self.reports, &mut self.lent),
            None => (&mut self.unmatched, &mut self.lent_unmatched),
        };
        let pushed = match ring.slots() <= reserved(punted.kind, ring.buffer().capacity()) {
            true => false,
            false => loans
                .lend(punted)
                .is_some_and(|loan| ring.push(Report::Punt(loan)).is_ok()),
        };
        match pushed {
            true if punted.may_wait => self.wake_by(punted.at + FEEDBACK_DELAY),
            true => self.urgent = true,
            false => counters.count(Counter::PuntQueueFull),
        }
        pushed
    }

    /// Sends a report that the agent acts on; false, and counted, when there is no room for it.
    pub(crate) fn send(&mut self, counters: &CounterPage, report: Report) -> bool {
        self.urgent = true;
        self.push(counters, report)
    }

    /// Sends a report that the agent has requested, without urgency.
    pub(crate) fn send_later(&mut self, counters: &CounterPage, now: Instant, report: Report) {
        self.send_by(counters, now + DEPARTURE_DELAY, report);
    }

    /// Reports a received packet, which is routine if it arrived in order.
    pub(crate) fn arrived(
        &mut self,
        counters: &CounterPage,
        now: Instant,
        leg: LegId,
        arrival: Arrival,
        is_routine: bool,
    ) {
        let delay = if is_routine { ARRIVAL_DELAY } else { GAP_DELAY };
        self.send_by(counters, now + delay, Report::Arrival(leg, arrival));
    }

    fn send_by(&mut self, counters: &CounterPage, until: Instant, report: Report) {
        self.wake_by(until);
        match self.reports.slots() <= REPORTS_MAX / RESERVED {
            true => counters.count(Counter::PuntQueueFull),
            false => drop(self.push(counters, report)),
        }
    }

    /// Reports sent packets of a leg.
    pub(crate) fn departed(&mut self, counters: &CounterPage, leg: LegId, departures: &[Departure]) {
        let Some((first, rest)) = departures.split_first() else {
            return;
        };
        let mut departed = Departed::new(leg, first);
        for departure in rest {
            if !departed.takes(departure) {
                let full = std::mem::replace(&mut departed, Departed::new(leg, departure));
                self.send_by(counters, full.at + DEPARTURE_DELAY, Report::Departed(full));
            }
        }
        self.send_by(counters, departed.at + DEPARTURE_DELAY, Report::Departed(departed));
    }

    fn wake_by(&mut self, until: Instant) {
        self.due = Some(self.due.map_or(until, |due| due.min(until)));
    }

    fn push(&mut self, counters: &CounterPage, report: Report) -> bool {
        let pushed = self.reports.push(report).is_ok();
        if !pushed {
            counters.count(Counter::PuntQueueFull);
        }
        pushed
    }

    /// Ends a batch: wakes the agent if it is time.
    pub(crate) fn settle(&mut self, now: Instant) {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            self.due = None;
        }
        // The agent may have read the reports while it was awake for something else.
        if std::mem::take(&mut self.urgent) || is_due && self.has_unread() {
            self.agent.wake();
        }
    }

    fn has_unread(&self) -> bool {
        self.reports.slots() < REPORTS_MAX || self.unmatched.slots() < UNMATCHED_MAX
    }

    /// When [`settle`](Self::settle) must be called even if nothing happens.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }
}

/// How many places are reserved for kinds more urgent than this one. Data channels are DTLS: a peer
/// that sends data as fast as it can must not crowd out the consent checks of others.
fn reserved(kind: PuntKind, of: usize) -> usize {
    match kind {
        PuntKind::Stun => 0,
        PuntKind::Dtls => of / RESERVED / 2,
        PuntKind::Rtcp | PuntKind::Protected => of / RESERVED,
    }
}

/// Buffers that are passed to the agent's thread and returned, oldest first, because a ring keeps
/// its order.
struct Loans {
    lent: VecDeque<Arc<Punted>>,
    limit: usize,
}

impl Loans {
    fn with_limit(limit: usize) -> Self {
        Loans {
            lent: VecDeque::new(),
            limit,
        }
    }

    /// A copy in the oldest buffer, if that was returned, else in a new one as long as there may be
    /// more.
    fn lend(&mut self, punted: &PuntedRef<'_>) -> Option<Arc<Punted>> {
        let limit = self.limit - reserved(punted.kind, self.limit);
        let loan = match take_back(&mut self.lent) {
            Some(mut loan) => {
                punted.write(Arc::get_mut(&mut loan).expect("no other thread has it"));
                loan
            }
            None if self.lent.len() < limit => Arc::new(punted.to_owned()),
            None => return None,
        };
        self.lent.push_back(loan.clone());
        Some(loan)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use dataplane::Path;
    use wire::Ssrc;

    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test needs some instant")]
    fn rtcp_and_data_leave_room_for_stun() {
        let now = Instant::now();
        let (mut reports, _reader) = Reports::new(Arc::new(Wakeup::new(|| {})));
        let counters = CounterPage::new();
        let punted = |kind| PuntedRef {
            kind,
            at: now,
            path: Path {
                local: "127.0.0.1:1".parse().unwrap(),
                remote: "127.0.0.1:2".parse().unwrap(),
            },
            leg: Some(LegId(1)),
            bytes: b"datagram",
            may_wait: false,
        };
        let rtcp = (0..2 * LENT_MAX).filter(|_| reports.punt(&counters, &punted(PuntKind::Rtcp)));
        assert_eq!(rtcp.count(), LENT_MAX - LENT_MAX / RESERVED);
        let data = (0..2 * LENT_MAX).filter(|_| reports.punt(&counters, &punted(PuntKind::Dtls)));
        assert_eq!(data.count(), LENT_MAX / RESERVED / 2);
        assert!(reports.punt(&counters, &punted(PuntKind::Stun)));
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test needs some instant")]
    fn packets_after_a_gap_are_reported_sooner_and_read_reports_wake_no_thread() {
        let now = Instant::now();
        let rings = Arc::new(AtomicUsize::new(0));
        let counted = rings.clone();
        let wakeup = Arc::new(Wakeup::new(move || _ = counted.fetch_add(1, Ordering::Relaxed)));
        let (mut reports, mut reader) = Reports::new(wakeup.clone());
        let counters = CounterPage::new();
        let arrival = Arrival {
            at: now,
            ssrc: Ssrc(11),
            sequence: 1,
            recovered: false,
            transport_sequence: None,
            size: 100,
            audio_level: None,
            layer: None,
            ends_frame: true,
            needed_above: true,
        };
        for (is_routine, delay) in [(true, ARRIVAL_DELAY), (false, GAP_DELAY)] {
            reports.arrived(&counters, now, LegId(1), arrival, is_routine);
            assert_eq!(reports.due(), Some(now + delay));
        }
        wakeup.arm();
        reports.settle(now + GAP_DELAY / 2);
        assert_eq!(rings.load(Ordering::Relaxed), 0);
        reports.settle(now + GAP_DELAY);
        assert_eq!((rings.load(Ordering::Relaxed), reports.due()), (1, None));

        reports.arrived(&counters, now, LegId(1), arrival, false);
        while reader.reports.pop().is_ok() {}
        wakeup.arm();
        reports.settle(now + GAP_DELAY);
        assert_eq!((rings.load(Ordering::Relaxed), reports.due()), (1, None), "it was read");
    }
}
