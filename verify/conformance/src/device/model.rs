//! The model, with just enough SRTP before it to read packets from the wire.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use backend_udp::srtp::{OpenError, Opener, rtp_overhead};
use dataplane::{
    Clock, Counter, Counters, DataPlane, Egress, Event, Ingress, Inject, LegId, MasterKey, Model, Path, Protection,
    RelayTraffic, Update, Verdict, WriteError,
};
use wire::{PacketKind, RtpPacket};

use super::{Datagram, Device, STARTED_AT};
use crate::coverage::Plane;
use crate::leg_table::LegTable;

/// [`Model`] as a device: decrypts arriving packets, sends unencrypted ones, and reports sizes as
/// on the wire.
pub struct ModelDevice {
    model: Model,
    legs: LegTable,
    openers: BTreeMap<LegId, (MasterKey, Opener)>,
    relay_openers: BTreeMap<SocketAddr, (MasterKey, Opener)>,
    /// Traffic of relays that the model did not see.
    unseen: BTreeMap<SocketAddr, RelayTraffic>,
    /// Datagrams dropped before the model saw them.
    dropped: Counters,
    sent: Vec<Datagram>,
    events: VecDeque<Event>,
}

impl ModelDevice {
    /// An empty device.
    pub fn new(origin: Instant) -> Self {
        ModelDevice {
            model: Model::new(Clock {
                origin,
                ntp: STARTED_AT,
            }),
            legs: LegTable::default(),
            openers: BTreeMap::new(),
            relay_openers: BTreeMap::new(),
            unseen: BTreeMap::new(),
            dropped: Counters::default(),
            sent: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// The decrypted bytes of a packet, or the reason that there are none.
    fn open(&mut self, path: Path, bytes: &[u8]) -> Result<Vec<u8>, Counter> {
        let mut opened = bytes.to_vec();
        let opener = match self.model.relay_key(Ingress { path, bytes }) {
            Some(_) => self.relay_openers.get_mut(&path.local),
            None => {
                let leg = self.legs.of_arrival(path, bytes);
                leg.and_then(|leg| self.openers.get_mut(&leg))
            }
        };
        let Some((_, opener)) = opener else {
            return Ok(opened);
        };
        if bytes.len() > dataplane::limits::DATAGRAM_MAX {
            return Ok(opened);
        }
        let len = match wire::classify(bytes) {
            PacketKind::Rtp => {
                let header = RtpPacket::parse_protected(bytes).map_err(|_| Counter::Malformed)?;
                opener
                    .open_rtp(&mut opened, header.header_len())
                    .map(|opened| opened.len)
            }
            PacketKind::Rtcp => opener.open_rtcp(&mut opened),
            _ => Ok(opened.len()),
        };
        opened.truncate(len.map_err(counter_of)?);
        Ok(opened)
    }

    fn remember_keys(&mut self, update: &Update) {
        match update {
            Update::SetLeg(id, leg) => match &leg.protection {
                Protection::Srtp { ingress, .. } => {
                    if self.openers.get(id).is_none_or(|(key, _)| key != ingress) {
                        self.openers.insert(*id, (ingress.clone(), Opener::new(ingress)));
                    }
                }
                _ => drop(self.openers.remove(id)),
            },
            Update::RemoveLeg(id) => drop(self.openers.remove(id)),
            Update::SetRelay(at, relay) => match relay.ingress_protection.key() {
                None => drop(self.relay_openers.remove(at)),
                Some(key) => {
                    let last = self.relay_openers.get(at);
                    if last.is_none_or(|(old, _)| old != key) {
                        let mut opener = Opener::new(key);
                        last.into_iter().for_each(|(_, last)| opener.follow(last));
                        self.relay_openers.insert(*at, (key.clone(), opener));
                    }
                }
            },
            Update::RemoveRelay(at) => drop(self.relay_openers.remove(at)),
            _ => {}
        }
    }

    fn collect(&mut self, egress: Vec<Egress>) {
        self.sent.extend(egress.into_iter().map(|egress| Datagram {
            path: egress.path,
            bytes: egress.bytes,
        }));
        while let Some(mut event) = self.model.poll() {
            self.grow(&mut event);
            self.events.push_back(event);
        }
    }

    /// Adds the overhead of protection to the sizes in an event.
    fn grow(&self, event: &mut Event) {
        let overhead = |leg| self.legs.profile(leg).map_or(0, rtp_overhead);
        match event {
            Event::Arrivals { leg, arrivals } => {
                arrivals
                    .iter_mut()
                    .for_each(|arrival| arrival.size += overhead(*leg) as u16);
            }
            Event::Departures { leg, departures } => {
                departures
                    .iter_mut()
                    .for_each(|departure| departure.size += overhead(*leg) as u16);
            }
            Event::RelayTraffic { at, traffic, .. } => {
                if let Some(unseen) = self.unseen.get(at) {
                    traffic.bytes += unseen.bytes;
                    traffic.dropped += unseen.dropped;
                }
            }
            Event::Stream(key, statistics) => statistics.octets += statistics.packets * overhead(key.leg) as u64,
            _ => {}
        }
    }
}

fn counter_of(error: OpenError) -> Counter {
    match error {
        OpenError::Malformed => Counter::Malformed,
        OpenError::Authentication => Counter::Unauthenticated,
        OpenError::Replayed => Counter::Duplicate,
        OpenError::TooOld => Counter::TooLate,
        OpenError::TooManyStreams => Counter::UnknownStream,
    }
}

impl Device for ModelDevice {
    fn name(&self) -> String {
        "model".into()
    }

    fn plane(&self) -> Plane {
        Plane::Model
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.model.write(now, update.clone())?;
        self.legs.apply(&update);
        self.remember_keys(&update);
        // Packets that waited for keys, and the last counts of a relay that is removed.
        let egress = self.model.take_injected();
        self.collect(egress);
        if let Update::RemoveRelay(at) = &update {
            self.unseen.remove(at);
        }
        Ok(())
    }

    fn forwards_rtcp(&self) -> bool {
        true
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        if let Inject::Receive { at, path, bytes } = what {
            return self.packet(at, path, bytes);
        }
        self.model.inject(now, what);
        let egress = self.model.take_injected();
        self.collect(egress);
    }

    fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) {
        match self.open(path, bytes) {
            Ok(clear) => {
                let mut egress = Vec::new();
                let verdict = self.model.packet(now, Ingress { path, bytes: &clear }, &mut egress);
                if verdict == Verdict::Forward && self.relay_openers.contains_key(&path.local) {
                    self.unseen.entry(path.local).or_default().bytes += (bytes.len() - clear.len()) as u64;
                }
                self.collect(egress);
            }
            Err(reason) => {
                self.dropped.count(Counter::Received);
                self.dropped.count(reason);
                if self.model.relay_key(Ingress { path, bytes }).is_some() {
                    self.unseen.entry(path.local).or_default().dropped += 1;
                }
            }
        }
    }

    fn sent(&mut self) -> Vec<Datagram> {
        std::mem::take(&mut self.sent)
    }

    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.model.counters();
        counters.add(&self.dropped);
        counters
    }

    fn egress_protection(&self) -> bool {
        false
    }
}
