//! What a shard tells the agent: a bounded ring of small notes, and buffers that come back.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{
    Arrival, Counter, Departure, LegId, Path, PuntKind, RelayTraffic, ReplicaId, ReplicaSnapshot, ReplicaStatistics,
    StreamKey, StreamStatistics,
};
use rtrb::{Consumer, Producer, RingBuffer};
use wire::PayloadType;
use wire::codec::Layer;

use super::counters::CounterPage;
use super::leg::Description;
use super::loan::take_back;
use crate::wakeup::Wakeup;

/// How many notes may wait for the agent: more than a second of a busy shard.
const NOTES_MAX: usize = 32_768;
/// How many punted datagrams of addresses that are no leg's may wait. They have a ring of their
/// own: a flood of STUN must not crowd out anybody's RTCP.
const STRANGERS_MAX: usize = 1_024;
/// How many punted datagrams of legs may be on their way.
const LENT_MAX: usize = 4_096;
/// Of both, this part is not for reports, nor for RTCP: who cannot prove itself in time for what
/// others report would lose its transport.
const RESERVED: usize = 4;
/// How long a receiver's report, which says when it came, may wait before the agent is woken for
/// it.
pub(crate) const REPORT_PATIENCE: Duration = Duration::from_millis(20);
/// The same of a packet that came in its turn: it fills reports, which leave twenty times a second
/// and wait for as long at least.
const ARRIVAL_PATIENCE: Duration = Duration::from_millis(25);
/// Of one behind a gap, or out of one: what is missing is asked for by it.
const GAP_PATIENCE: Duration = Duration::from_millis(10);
/// Of packets that left: until somebody reports on them nothing is decided by that, and who does so
/// reports twenty times a second. And of what was asked for and is read at a time of its own.
const LONG_PATIENCE: Duration = Duration::from_millis(50);
/// How many packets that left one note tells of: a whole run, most often.
const DEPARTED_MAX: usize = 12;

/// One thing to tell. Small, so that the ring is; what is rare or large is behind a pointer.
#[derive(Debug)]
pub(crate) enum Note {
    Punt(Arc<Punted>),
    UnknownStream(Box<(LegId, PayloadType, Description)>),
    Arrival(LegId, Arrival),
    Departed(Departed),
    /// Where a replica comes from, the highest layer it gets, and whether it waits for a key frame.
    Selected(ReplicaId, (StreamKey, Layer, bool)),
    /// Where a replica stands that this shard is to let go, if that can be said, and its leg's next
    /// transport-wide number.
    Released(Box<(ReplicaId, Option<ReplicaSnapshot>, u16)>),
    Stream(Box<(StreamKey, StreamStatistics)>),
    Replica(Box<(ReplicaId, ReplicaStatistics)>),
    /// A relay learns from this source.
    RelaySource(Box<Path>),
    RelayTraffic(Box<(SocketAddr, RelayTraffic, Option<Instant>)>),
}

const _: () = assert!(size_of::<Note>() <= 64, "tens of thousands of notes wait in each ring");

/// Packets that left together on one leg, their transport-wide numbers without a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed {
    pub(crate) leg: LegId,
    at: Instant,
    probe: Option<u32>,
    first: u16,
    count: u8,
    sizes: [u16; DEPARTED_MAX],
}

impl Departed {
    fn new(leg: LegId, first: &Departure) -> Self {
        let mut sizes = [0; DEPARTED_MAX];
        sizes[0] = first.size;
        Departed {
            leg,
            at: first.at,
            probe: first.probe,
            first: first.transport_sequence,
            count: 1,
            sizes,
        }
    }

    /// Adds a packet, if it can be told in the same note.
    fn takes(&mut self, next: &Departure) -> bool {
        let number = self.first.wrapping_add(self.count.into());
        let is_alike = (number, self.at, self.probe) == (next.transport_sequence, next.at, next.probe);
        let takes = is_alike && usize::from(self.count) < DEPARTED_MAX;
        if takes {
            self.sizes[usize::from(self.count)] = next.size;
            self.count += 1;
        }
        takes
    }

    /// One packet after the other.
    pub(crate) fn each(&self) -> impl ExactSizeIterator<Item = Departure> {
        let sizes = self.sizes.into_iter().take(self.count.into()).enumerate();
        let (at, first, probe) = (self.at, self.first, self.probe);
        sizes.map(move |(index, size)| Departure {
            at,
            transport_sequence: first.wrapping_add(index as u16),
            size,
            probe,
        })
    }
}

/// A punted datagram, on loan to the agent's thread.
#[derive(Clone, Debug)]
pub(crate) struct Punted {
    pub(crate) kind: PuntKind,
    pub(crate) at: Instant,
    pub(crate) path: Path,
    pub(crate) leg: Option<LegId>,
    pub(crate) bytes: Vec<u8>,
}

/// The agent's end.
#[derive(Debug)]
pub(crate) struct NoteReader {
    pub(crate) notes: Consumer<Note>,
    pub(crate) strangers: Consumer<Note>,
}

/// The shard's end.
pub(crate) struct Notes {
    notes: Producer<Note>,
    lent: Loans,
    strangers: Producer<Note>,
    lent_to_strangers: Loans,
    agent: Arc<Wakeup>,
    /// When the agent must be woken for what it was not told to hurry for.
    due: Option<Instant>,
    urgent: bool,
}

impl Notes {
    pub(crate) fn new(agent: Arc<Wakeup>) -> (Self, NoteReader) {
        let (notes, notes_reader) = RingBuffer::new(NOTES_MAX);
        let (strangers, strangers_reader) = RingBuffer::new(STRANGERS_MAX);
        let this = Notes {
            notes,
            lent: Loans::with_limit(LENT_MAX),
            strangers,
            lent_to_strangers: Loans::with_limit(STRANGERS_MAX),
            agent,
            due: None,
            urgent: false,
        };
        let reader = NoteReader {
            notes: notes_reader,
            strangers: strangers_reader,
        };
        (this, reader)
    }

    /// Hands a copy of a datagram to the agent; false, and counted, when there is no room for it.
    pub(crate) fn punt(&mut self, counters: &CounterPage, punted: &PuntedRef<'_>) -> bool {
        let (ring, loans) = match punted.leg {
            Some(_) => (&mut self.notes, &mut self.lent),
            None => (&mut self.strangers, &mut self.lent_to_strangers),
        };
        let pushed = match ring.slots() <= reserved(punted.kind, ring.buffer().capacity()) {
            true => false,
            false => loans
                .lend(punted)
                .is_some_and(|loan| ring.push(Note::Punt(loan)).is_ok()),
        };
        match pushed {
            true if punted.may_wait => self.wait(punted.at + REPORT_PATIENCE),
            true => self.urgent = true,
            false => counters.count(Counter::PuntQueueFull),
        }
        pushed
    }

    /// Tells something the agent acts on; false, and counted, when there is no room for it.
    pub(crate) fn tell(&mut self, counters: &CounterPage, note: Note) -> bool {
        self.urgent = true;
        self.push(counters, note)
    }

    /// Mentions what the agent has asked for.
    pub(crate) fn answer(&mut self, counters: &CounterPage, now: Instant, note: Note) {
        self.mention_by(counters, now + LONG_PATIENCE, note);
    }

    /// Mentions a packet that came, which is routine if it came in its turn.
    pub(crate) fn arrived(
        &mut self,
        counters: &CounterPage,
        now: Instant,
        leg: LegId,
        arrival: Arrival,
        is_routine: bool,
    ) {
        let patience = if is_routine { ARRIVAL_PATIENCE } else { GAP_PATIENCE };
        self.mention_by(counters, now + patience, Note::Arrival(leg, arrival));
    }

    fn mention_by(&mut self, counters: &CounterPage, until: Instant, note: Note) {
        self.wait(until);
        match self.notes.slots() <= NOTES_MAX / RESERVED {
            true => counters.count(Counter::PuntQueueFull),
            false => drop(self.push(counters, note)),
        }
    }

    /// Mentions packets that left on a leg.
    pub(crate) fn departed(&mut self, counters: &CounterPage, leg: LegId, departures: &[Departure]) {
        let Some((first, rest)) = departures.split_first() else {
            return;
        };
        let mut departed = Departed::new(leg, first);
        for departure in rest {
            if !departed.takes(departure) {
                let full = std::mem::replace(&mut departed, Departed::new(leg, departure));
                self.mention_by(counters, full.at + LONG_PATIENCE, Note::Departed(full));
            }
        }
        self.mention_by(counters, departed.at + LONG_PATIENCE, Note::Departed(departed));
    }

    fn wait(&mut self, until: Instant) {
        self.due = Some(self.due.map_or(until, |due| due.min(until)));
    }

    fn push(&mut self, counters: &CounterPage, note: Note) -> bool {
        let pushed = self.notes.push(note).is_ok();
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
        // What waited may have been read meanwhile, because the agent was awake for something else.
        if std::mem::take(&mut self.urgent) || is_due && self.has_unread() {
            self.agent.wake();
        }
    }

    fn has_unread(&self) -> bool {
        self.notes.slots() < NOTES_MAX || self.strangers.slots() < STRANGERS_MAX
    }

    /// When [`settle`](Self::settle) must be called even if nothing happens.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }
}

/// How much of what may wait is not for this kind. Data channels are DTLS: who sends data as fast
/// as it can must not keep anybody from proving that it is there.
fn reserved(kind: PuntKind, of: usize) -> usize {
    match kind {
        PuntKind::Stun => 0,
        PuntKind::Dtls => of / RESERVED / 2,
        PuntKind::Rtcp => of / RESERVED,
    }
}

/// Buffers that go to the agent's thread and come back, oldest first, because a ring keeps its
/// order.
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

    /// A copy in the oldest buffer, if that came back, else in a new one as long as there may be
    /// more.
    fn lend(&mut self, punted: &PuntedRef<'_>) -> Option<Arc<Punted>> {
        let limit = self.limit - reserved(punted.kind, self.limit);
        let loan = match take_back(&mut self.lent) {
            Some(mut loan) => {
                punted.write(Arc::get_mut(&mut loan).expect("nobody else has it"));
                loan
            }
            None if self.lent.len() < limit => Arc::new(punted.to_owned()),
            None => return None,
        };
        self.lent.push_back(loan.clone());
        Some(loan)
    }
}

/// A datagram to punt, where it was received.
pub(crate) struct PuntedRef<'a> {
    pub(crate) kind: PuntKind,
    pub(crate) at: Instant,
    pub(crate) path: Path,
    pub(crate) leg: Option<LegId>,
    pub(crate) bytes: &'a [u8],
    /// Whether the agent need not be woken for it at once.
    pub(crate) may_wait: bool,
}

impl PuntedRef<'_> {
    fn to_owned(&self) -> Punted {
        Punted {
            kind: self.kind,
            at: self.at,
            path: self.path,
            leg: self.leg,
            bytes: self.bytes.to_vec(),
        }
    }

    fn write(&self, into: &mut Punted) {
        into.bytes.clear();
        into.bytes.extend_from_slice(self.bytes);
        (into.kind, into.at, into.path, into.leg) = (self.kind, self.at, self.path, self.leg);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use wire::Ssrc;

    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test needs some instant")]
    fn reports_and_data_leave_room_for_who_proves_itself() {
        let now = Instant::now();
        let (mut notes, _reader) = Notes::new(Arc::new(Wakeup::new(|| {})));
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
        let reports = (0..2 * LENT_MAX).filter(|_| notes.punt(&counters, &punted(PuntKind::Rtcp)));
        assert_eq!(reports.count(), LENT_MAX - LENT_MAX / RESERVED);
        let data = (0..2 * LENT_MAX).filter(|_| notes.punt(&counters, &punted(PuntKind::Dtls)));
        assert_eq!(data.count(), LENT_MAX / RESERVED / 2);
        assert!(notes.punt(&counters, &punted(PuntKind::Stun)));
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test needs some instant")]
    fn what_comes_behind_a_gap_is_told_of_sooner_and_nobody_is_rung_for_what_was_read() {
        let now = Instant::now();
        let rings = Arc::new(AtomicUsize::new(0));
        let counted = rings.clone();
        let wakeup = Arc::new(Wakeup::new(move || _ = counted.fetch_add(1, Ordering::Relaxed)));
        let (mut notes, mut reader) = Notes::new(wakeup.clone());
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
        for (is_routine, patience) in [(true, ARRIVAL_PATIENCE), (false, GAP_PATIENCE)] {
            notes.arrived(&counters, now, LegId(1), arrival, is_routine);
            assert_eq!(notes.due(), Some(now + patience));
        }
        wakeup.arm();
        notes.settle(now + GAP_PATIENCE / 2);
        assert_eq!(rings.load(Ordering::Relaxed), 0);
        notes.settle(now + GAP_PATIENCE);
        assert_eq!((rings.load(Ordering::Relaxed), notes.due()), (1, None));

        notes.arrived(&counters, now, LegId(1), arrival, false);
        while reader.notes.pop().is_ok() {}
        wakeup.arm();
        notes.settle(now + GAP_PATIENCE);
        assert_eq!((rings.load(Ordering::Relaxed), notes.due()), (1, None), "it was read");
    }
}
