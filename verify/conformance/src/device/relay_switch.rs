//! A P4 switch whose relays are in one family, in front of a base without sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{Counter, Counters, Event, Inject, Update, WriteError};

use super::relay_paths::{LastPackets, RelayPaths};
use super::switch::{Ports, SwitchDevice};
use super::{Datagram, Device, Family};
use crate::coverage::Plane;

/// The networks of relays and of parties in IPv6: the switch has routes to them.
const NETWORKS: [[u16; 6]; 2] = [[0x2001, 0xdb8, 0, 0, 0, 0], [0x2001, 0xdb8, 2, 0, 0, 0]];

/// The octet of services of packets that arrive.
const ARRIVING_TOS: u8 = 0x2d;

/// A switch with a base, for histories of relays. Packets are to leave it with the services of
/// their relay.
pub struct RelaySwitch<S> {
    device: SwitchDevice<S>,
    paths: RelayPaths,
    passed: LastPackets,
    /// The relays that there are, with the services of their RTP.
    tos: BTreeMap<SocketAddr, u8>,
    /// Relays of which the switch has sent packets: it does not tell their SSRCs.
    by_switch: BTreeSet<SocketAddr>,
}

impl<S: Ports> RelaySwitch<S> {
    /// Relays of this family on a device.
    pub fn new(device: SwitchDevice<S>, family: Family) -> Self {
        RelaySwitch {
            device,
            paths: RelayPaths::new(family, NETWORKS),
            passed: LastPackets::default(),
            tos: BTreeMap::new(),
            by_switch: BTreeSet::new(),
        }
    }

    fn relayed(&mut self) -> u64 {
        self.device.counters()[Counter::Relayed]
    }
}

impl<S: Ports> Device for RelaySwitch<S> {
    fn name(&self) -> String {
        format!(
            "{}, relays over IPv{}",
            self.device.name(),
            if self.paths.is_v6() { 6 } else { 4 }
        )
    }

    fn plane(&self) -> Plane {
        Plane::Switch
    }

    fn write(&mut self, now: Instant, mut update: Update) -> Result<(), WriteError> {
        self.paths.translate(&mut update);
        let written = self.device.write(now, update.clone());
        match update {
            Update::SetRelay(at, relay) if written.is_ok() => {
                let tos = relay.rtp.and_then(|hop| hop.tos).unwrap_or(0);
                if self.tos.insert(at, tos).is_none() {
                    self.passed.forget(at);
                    self.by_switch.remove(&at);
                }
            }
            Update::RemoveRelay(at) => {
                self.tos.remove(&at);
                // The last report of a relay waits until its counters have been read.
                self.device.counters();
            }
            _ => {}
        }
        written
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        match what {
            Inject::ReportRelay { at } => {
                let at = self.paths.relay(at);
                self.device.inject(now, Inject::ReportRelay { at });
            }
            Inject::Receive { at, path, bytes } => {
                let path = self.paths.path(path);
                let before = self.relayed();
                self.device.inject(now, Inject::Receive { at, path, bytes });
                if self.relayed() > before {
                    self.passed.passed(path.local, now, bytes);
                }
            }
            Inject::Datagram { path, bytes } => {
                let path = self.paths.path(path);
                self.device.inject(now, Inject::Datagram { path, bytes });
            }
            _ => self.device.inject(now, what),
        }
    }

    fn packet(&mut self, now: Instant, path: dataplane::Path, bytes: &[u8]) {
        let path = self.paths.path(path);
        let before = self.relayed();
        let tos = self.tos.get(&path.local).copied().unwrap_or(0);
        self.device.set_tos(ARRIVING_TOS, tos);
        let (copies, _) = self.device.copies();
        self.device.packet(now, path, bytes);
        if self.device.copies().0 > copies {
            self.by_switch.insert(path.local);
        }
        if self.relayed() > before {
            self.passed.passed(path.local, now, bytes);
        }
    }

    fn sent(&mut self) -> Vec<Datagram> {
        let sent = self.device.sent().into_iter();
        sent.map(|datagram| Datagram {
            path: self.paths.path_back(datagram.path),
            bytes: datagram.bytes,
        })
        .collect()
    }

    fn poll(&mut self) -> Option<Event> {
        let mut event = self.device.poll()?;
        if let Event::RelayTraffic { at, traffic, .. } = &mut event
            && self.by_switch.contains(at)
        {
            traffic.ssrc = self.passed.ssrc(*at);
        }
        self.passed.translate(&self.paths, &mut event);
        Some(event)
    }

    fn counters(&mut self) -> Counters {
        self.device.counters()
    }
}
