//! Relays of the model behind offloads that are pretended.
#![allow(dead_code, reason = "every user has its own part")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dataplane::{
    Accept, Answer, Clock, Counter, Counters, DataPlane, Event, Hop, Ingress, MasterKey, Model, Offload, Path, Reason,
    Refused, Relay, RelayProtection, RelayTraffic, SrtpProfile, Statistics, Update, Verdict, WriteId, Written,
};
use layered::{Entry, Placed, RelayLayer};
use wire::NtpTime;

/// Takes relays without keys, so many of them.
#[derive(Default)]
pub(crate) struct Pretended {
    pub name: &'static str,
    pub room: usize,
    pub is_gone: bool,
    /// It answers when the test says so.
    pub is_late: bool,
    pub asked: Vec<(WriteId, SocketAddr, Option<Relay>)>,
    pub relays: BTreeSet<SocketAddr>,
    written: VecDeque<Written>,
    traffic: BTreeMap<SocketAddr, RelayTraffic>,
    last: Option<Instant>,
    counters: Counters,
}

impl Pretended {
    pub(crate) fn new(name: &'static str, room: usize) -> Self {
        Pretended {
            name,
            room,
            ..Pretended::default()
        }
    }

    pub(crate) fn late(name: &'static str) -> Self {
        Pretended {
            is_late: true,
            ..Pretended::new(name, 8)
        }
    }

    /// Whether a packet is relayed here.
    fn packet(&mut self, now: Instant, at: SocketAddr, len: usize) -> bool {
        if !self.relays.contains(&at) {
            return false;
        }
        let traffic = self.traffic.entry(at).or_default();
        traffic.packets += 1;
        traffic.bytes += len as u64;
        self.last = Some(now);
        self.counters.count(Counter::Received);
        self.counters.count(Counter::Relayed);
        true
    }

    fn set(&mut self, at: SocketAddr, relay: &Relay) -> Result<(), Refused> {
        self.relays.remove(&at);
        if self.is_gone {
            return Err(Refused::Gone);
        }
        if relay.ingress_protection != RelayProtection::Clear {
            return Err(Refused::Unsupported(Reason::Srtp));
        }
        if self.relays.len() == self.room {
            return Err(Refused::Full);
        }
        self.relays.insert(at);
        Ok(())
    }

    fn carry_out(&mut self, at: SocketAddr, relay: Option<&Relay>) -> Result<(), Refused> {
        match relay {
            Some(relay) => self.set(at, relay),
            None => {
                self.relays.remove(&at);
                Ok(())
            }
        }
    }

    /// Carries out the write at this position of those that wait, and answers it.
    pub(crate) fn settle(&mut self, position: usize) {
        let (write, at, relay) = self.asked.remove(position);
        let outcome = self.carry_out(at, relay.as_ref());
        let traffic = relay.is_none().then(|| self.relay_traffic(at)).flatten();
        self.written.push_back(Written {
            write,
            outcome,
            traffic,
        });
    }

    /// Loses the relay that this write brought.
    pub(crate) fn lose(&mut self, write: WriteId, at: SocketAddr) {
        self.relays.remove(&at);
        self.written.push_back(Written {
            write,
            outcome: Err(Refused::Gone),
            traffic: None,
        });
    }
}

impl Offload for Pretended {
    fn offer(&mut self, _: Instant, write: WriteId, at: SocketAddr, relay: Option<&Relay>) -> Answer {
        if self.is_late {
            self.asked.push((write, at, relay.cloned()));
            return Answer::Pending;
        }
        self.carry_out(at, relay).into()
    }

    fn next_written(&mut self) -> Option<Written> {
        self.written.pop_front()
    }

    fn answers(&self) -> bool {
        !self.is_gone
    }

    fn relay_traffic(&mut self, at: SocketAddr) -> Option<(RelayTraffic, Option<Instant>)> {
        let traffic = *self.traffic.get(&at)?;
        if !self.relays.contains(&at) {
            self.traffic.remove(&at);
        }
        Some((traffic, self.last))
    }

    fn counters(&mut self) -> Counters {
        self.counters.clone()
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

pub(crate) struct World {
    pub plane: RelayLayer<Model, Pretended>,
    pub now: Instant,
}

pub(crate) fn port(number: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], number))
}

pub(crate) fn party() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], 9))
}

pub(crate) fn relay(from: u16) -> Box<Relay> {
    let hop = Hop {
        path: Path {
            local: port(from),
            remote: ([10, 0, 0, 3], 9).into(),
        },
        egress_protection: RelayProtection::Clear,
        tos: None,
    };
    Box::new(Relay {
        accept: Accept::Only(party()),
        ingress_protection: RelayProtection::Clear,
        terminated: false,
        rtp: Some(hop.clone()),
        rtcp: Some(hop),
    })
}

pub(crate) fn with_key(from: u16) -> Box<Relay> {
    let key = MasterKey::new(SrtpProfile::AeadAes128Gcm, &[1; 16], &[2; 12]).expect("of these lengths");
    Box::new(Relay {
        ingress_protection: RelayProtection::Srtp(key),
        ..*relay(from)
    })
}

impl World {
    pub(crate) fn new(room: usize) -> Self {
        Self::with([Pretended::new("kernel", room)])
    }

    pub(crate) fn with<const N: usize>(offloads: [Pretended; N]) -> Self {
        let now = Instant::now();
        let clock = Clock {
            origin: now,
            ntp: NtpTime(3_900_000_000 << 32),
        };
        World {
            plane: RelayLayer::new(Model::new(clock), offloads.into()),
            now,
        }
    }

    pub(crate) fn offload(&mut self, position: usize) -> &mut Pretended {
        &mut self.plane.offloads_mut()[position]
    }

    pub(crate) fn set(&mut self, at: u16, relay: Box<Relay>) {
        self.plane
            .write(self.now, Update::SetRelay(port(at), relay))
            .expect("the model takes it");
    }

    pub(crate) fn remove(&mut self, at: u16) {
        self.plane
            .write(self.now, Update::RemoveRelay(port(at)))
            .expect("it is there");
    }

    /// RTP from the party that is accepted; whether it went on, wherever.
    pub(crate) fn packet(&mut self, at: u16) -> bool {
        let bytes = [&[0x80, 0, 0, 1][..], &[0; 96]].concat();
        self.now += Duration::from_millis(20);
        let now = self.now;
        let offloads = self.plane.offloads_mut();
        if offloads
            .iter_mut()
            .any(|offload| offload.packet(now, port(at), bytes.len()))
        {
            return true;
        }
        let path = Path {
            local: port(at),
            remote: party(),
        };
        let arrival = Ingress { path, bytes: &bytes };
        let verdict = self.plane.base_mut().packet(self.now, arrival, &mut Vec::new());
        verdict == Verdict::Forward
    }

    pub(crate) fn place(&self, at: u16) -> Option<Placed> {
        let entries = self.plane.places().entries();
        entries
            .into_iter()
            .find(|(entry, _)| *entry == Entry::Relay(port(at)))
            .map(|(_, placed)| placed)
    }

    /// The place in words, as operators see it.
    pub(crate) fn words(&self, at: u16) -> String {
        self.place(at)
            .map_or_else(|| "nowhere".to_owned(), |placed| placed.to_string())
    }

    /// The places of all entries, as `weir inspect` tells them.
    pub(crate) fn told(&self) -> Vec<String> {
        let places = self.plane.places().places();
        places
            .iter()
            .flat_map(|place| place.lines())
            .map(|(_, state)| state)
            .collect()
    }

    /// Lets the layer know the time, and handle what is due.
    pub(crate) fn settle(&mut self) {
        self.plane
            .inject(self.now, dataplane::Inject::ReportRelay { at: port(99) });
        while self.plane.poll().is_some() {}
    }

    /// The next report: packets, bytes, dropped, and when the last one came.
    pub(crate) fn report(&mut self) -> (u64, u64, u64, Option<Instant>) {
        match self.plane.poll() {
            Some(Event::RelayTraffic { traffic, last, .. }) => (traffic.packets, traffic.bytes, traffic.dropped, last),
            other => panic!("{other:?}"),
        }
    }
}
