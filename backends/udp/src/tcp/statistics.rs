//! Counts of connections and of what they dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dataplane::statistics::Kind;
use dataplane::{Family, Sample, Statistics};

/// Events of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TcpEvent {
    /// A connection was accepted.
    Accepted,
    /// Closed because there are as many as there may be, or as one address may have: at once, or
    /// for a newer one.
    TooMany,
    /// Closed before its first frame, because it took too long.
    NoFrame,
    /// Closed because a frame was not STUN and it was no leg's.
    NotStun,
    /// Closed because a frame was too long.
    TooLong,
    /// Closed because it was no leg's.
    Unclaimed,
    /// Closed by the other end, or failed.
    Ended,
    /// A datagram was dropped because its receiver took earlier ones too slowly.
    Slow,
}

const EVENTS: [(TcpEvent, &str); 8] = [
    (TcpEvent::Accepted, "accepted"),
    (TcpEvent::TooMany, "too_many"),
    (TcpEvent::NoFrame, "no_frame"),
    (TcpEvent::NotStun, "not_stun"),
    (TcpEvent::TooLong, "too_long"),
    (TcpEvent::Unclaimed, "unclaimed"),
    (TcpEvent::Ended, "ended"),
    (TcpEvent::Slow, "slow"),
];

/// The counts of one port.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    events: [AtomicU64; EVENTS.len()],
    connections: AtomicU64,
}

impl Counts {
    pub(crate) fn add(&self, event: TcpEvent, more: u64) {
        self.events[event as usize].fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn set_connections(&self, count: usize) {
        self.connections.store(count as u64, Ordering::Relaxed);
    }

    /// The count of one kind of event.
    pub(crate) fn of(&self, event: TcpEvent) -> u64 {
        self.events[event as usize].load(Ordering::Relaxed)
    }
}

/// Reads the counts of a TCP port while it is open.
#[derive(Clone, Debug)]
pub(super) struct TcpStatistics(pub(super) Arc<Counts>);

impl Statistics for TcpStatistics {
    fn families(&self) -> Vec<Family> {
        let counts = EVENTS.iter().map(|(event, name)| (*name, self.0.of(*event)));
        vec![
            Family {
                name: "tcp_connections",
                kind: Kind::Gauge,
                help: "Connections of the TCP port for media",
                samples: vec![Sample {
                    labels: Vec::new(),
                    value: self.0.connections.load(Ordering::Relaxed),
                }],
            },
            Family::by_reason(
                "tcp_events",
                "Connections accepted and closed, and datagrams dropped, at the TCP port for media, by reason",
                counts,
            ),
        ]
    }
}
