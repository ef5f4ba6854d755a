//! Counts of the TURN server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dataplane::statistics::Kind;
use dataplane::{Family, Sample, Statistics};

/// Events of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnEvent {
    /// A client was given an allocation.
    Allocated,
    /// A client was refused, or closed without an allocation, because there are too many.
    Full,
    /// An allocation ended for another one, because there are too many.
    Evicted,
    /// A request had no answer, because its address had too many without a proof.
    Limited,
    /// A client was refused an allocation because its user has too many.
    Quota,
    /// The system had no port for an allocation.
    NoPort,
    /// A client was closed because it did not take what it was sent.
    Slow,
}

const EVENTS: [(TurnEvent, &str); 7] = [
    (TurnEvent::Allocated, "allocated"),
    (TurnEvent::Full, "full"),
    (TurnEvent::Evicted, "evicted"),
    (TurnEvent::Limited, "limited"),
    (TurnEvent::Quota, "quota"),
    (TurnEvent::NoPort, "no_port"),
    (TurnEvent::Slow, "slow"),
];

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    events: [AtomicU64; EVENTS.len()],
    allocations: AtomicU64,
}

/// One allocation, as long as it is there.
pub(super) struct Counted(Arc<Counts>);

impl Counts {
    pub(super) fn add(&self, event: TurnEvent) {
        self.events[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an allocation until the result is dropped.
    pub(super) fn allocated(self: &Arc<Self>) -> Counted {
        self.add(TurnEvent::Allocated);
        self.allocations.fetch_add(1, Ordering::Relaxed);
        Counted(self.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.allocations.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads the counts.
#[derive(Clone, Debug)]
pub(crate) struct TurnStatistics(pub(super) Arc<Counts>);

impl Statistics for TurnStatistics {
    fn families(&self) -> Vec<Family> {
        let of = |event: TurnEvent| self.0.events[event as usize].load(Ordering::Relaxed);
        let counts = EVENTS.iter().map(|(event, name)| (*name, of(*event)));
        vec![
            Family {
                name: "turn_allocations",
                kind: Kind::Gauge,
                help: "Allocations of the TURN server",
                samples: vec![Sample {
                    labels: Vec::new(),
                    value: self.0.allocations.load(Ordering::Relaxed),
                }],
            },
            Family::by_reason("turn_events", "Clients of the TURN server, by reason", counts),
        ]
    }
}
