//! The model, watched; with probes at their own rate, which the model itself sends at once, and the media that leaves meanwhile as part of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use dataplane::{
    Capabilities, Clock, Counters, DataPlane, Egress, Event, Ingress, Inject, LegId, Model, Replica, ReplicaId, Update,
    WriteError,
};

/// What one packet of the model's padding takes. Shape: bytes of UDP payload.
const PADDING: u32 = 275;

pub(super) struct Plane {
    model: Model,
    probes: VecDeque<Probing>,
    /// Every entry of a replica that was written, and when.
    pub(super) written: Vec<(Instant, ReplicaId, Replica)>,
}

/// A burst under way.
struct Probing {
    due: Instant,
    leg: LegId,
    probe: u32,
    rate: u64,
    packets: u32,
}

impl Plane {
    pub(super) fn new(clock: Clock) -> Self {
        Plane {
            model: Model::new(clock),
            probes: VecDeque::new(),
            written: Vec::new(),
        }
    }

    /// A datagram arrives. What leaves because of it is appended to `out`.
    pub(super) fn packet(&mut self, now: Instant, ingress: Ingress<'_>, out: &mut Vec<Egress>) {
        self.model.packet(now, ingress, out);
    }

    pub(super) fn take_injected(&mut self) -> Vec<Egress> {
        self.model.take_injected()
    }

    /// When the next packet of a burst is due.
    pub(super) fn next_probe(&self) -> Option<Instant> {
        self.probes.iter().map(|probing| probing.due).min()
    }

    /// Sends what is due of bursts.
    pub(super) fn send_probes(&mut self, now: Instant) {
        for probing in &mut self.probes {
            while probing.due <= now && probing.packets > 0 {
                let one = Inject::Probe {
                    leg: probing.leg,
                    probe: probing.probe,
                    rate: probing.rate,
                    bytes: 0,
                    packets: 1,
                };
                self.model.inject(now, one);
                probing.due = now + Duration::from_micros(u64::from(PADDING) * 8_000_000 / probing.rate.max(1));
                probing.packets -= 1;
            }
        }
        self.probes.retain(|probing| probing.packets > 0);
    }
}

impl DataPlane for Plane {
    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        if let Update::SetReplica(id, replica) = &update {
            self.written.push((now, *id, replica.clone()));
        }
        self.model.write(now, update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        match what {
            Inject::Probe {
                leg,
                probe,
                rate,
                bytes,
                packets,
            } => self.probes.push_back(Probing {
                due: now,
                leg,
                probe,
                rate,
                packets: packets.max(bytes.div_ceil(PADDING)),
            }),
            what => self.model.inject(now, what),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        let mut event = self.model.poll();
        if let Some(Event::Departures { leg, departures }) = &mut event
            && let Some(probing) = self.probes.iter().find(|probing| probing.leg == *leg)
        {
            for departure in departures {
                departure.probe = departure.probe.or(Some(probing.probe));
            }
        }
        event
    }

    fn counters(&mut self) -> Counters {
        self.model.counters()
    }
}
