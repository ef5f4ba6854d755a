//! The UDP back end's shards without sockets: the whole packet path, deterministic.

use std::time::Instant;

use backend_udp::InlinePlane;
use dataplane::{Clock, Counters, DataPlane, Event, Inject, Path, Update, WriteError};

use super::{Datagram, Device, STARTED_AT};
use crate::coverage::Plane;

/// [`InlinePlane`] as a device. Datagrams arrive at the shards in turn, so with several of them
/// most must be handed over.
pub struct InlineDevice {
    plane: InlinePlane,
    shards: usize,
    arrivals: usize,
}

impl InlineDevice {
    /// An empty device of `shards` shards.
    pub fn new(shards: usize, origin: Instant) -> Self {
        let clock = Clock {
            origin,
            ntp: STARTED_AT,
        };
        InlineDevice {
            plane: InlinePlane::new(shards, clock),
            shards,
            arrivals: 0,
        }
    }
}

impl Device for InlineDevice {
    fn name(&self) -> String {
        format!("udp without sockets, {} shards", self.shards)
    }

    fn plane(&self) -> Plane {
        Plane::Userspace
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.plane.write(now, update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.plane.inject(now, what);
    }

    fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) {
        self.arrivals += 1;
        self.plane.packet(now, self.arrivals, path, bytes);
    }

    fn sent(&mut self) -> Vec<Datagram> {
        let sent = self.plane.take_sent().into_iter();
        sent.map(|egress| Datagram {
            path: egress.path,
            bytes: egress.bytes,
        })
        .collect()
    }

    fn poll(&mut self) -> Option<Event> {
        self.plane.poll()
    }

    fn counters(&mut self) -> Counters {
        self.plane.counters()
    }
}
