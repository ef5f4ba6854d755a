//! The model behind an offload that is pretended: nothing is lost by trying, and sums are right.

#![expect(clippy::disallowed_methods, reason = "tests start the clock")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dataplane::{
    Accept, Clock, Counter, Counters, DataPlane, Event, Hop, Ingress, Inject, MasterKey, Model, Offload, Path, Reason,
    Refused, Relay, RelayProtection, RelayTraffic, SrtpProfile, Update, Verdict,
};
use layered::{Entry, Layered, Place};
use wire::NtpTime;

/// Takes relays without keys, so many of them.
#[derive(Default)]
struct Pretended {
    room: usize,
    is_gone: bool,
    relays: BTreeSet<SocketAddr>,
    traffic: BTreeMap<SocketAddr, RelayTraffic>,
    last: Option<Instant>,
    counters: Counters,
}

impl Pretended {
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
}

impl Offload for Pretended {
    fn offer(&mut self, _: Instant, update: &Update) -> Result<(), Refused> {
        match update {
            Update::SetRelay(at, relay) => self.set(*at, relay),
            Update::RemoveRelay(at) => {
                self.relays.remove(at);
                Ok(())
            }
            _ => Err(Refused::Unsupported(Reason::Table)),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        None
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
}

struct World {
    plane: Layered<Model, Pretended>,
    now: Instant,
}

fn port(number: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], number))
}

fn party() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], 9))
}

fn relay(from: u16) -> Box<Relay> {
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

fn with_key(from: u16) -> Box<Relay> {
    let key = MasterKey::new(SrtpProfile::AeadAes128Gcm, &[1; 16], &[2; 12]).expect("of these lengths");
    Box::new(Relay {
        ingress_protection: RelayProtection::Srtp(key),
        ..*relay(from)
    })
}

impl World {
    fn new(room: usize) -> Self {
        let now = Instant::now();
        let clock = Clock {
            origin: now,
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let offload = Pretended {
            room,
            ..Pretended::default()
        };
        World {
            plane: Layered::new(Model::new(clock), offload),
            now,
        }
    }

    fn set(&mut self, at: u16, relay: Box<Relay>) {
        self.plane
            .write(self.now, Update::SetRelay(port(at), relay))
            .expect("the model takes it");
    }

    fn remove(&mut self, at: u16) {
        self.plane
            .write(self.now, Update::RemoveRelay(port(at)))
            .expect("it is there");
    }

    /// RTP from the party that is accepted; whether it went on, wherever.
    fn packet(&mut self, at: u16) -> bool {
        let bytes = [&[0x80, 0, 0, 1][..], &[0; 96]].concat();
        self.now += Duration::from_millis(20);
        if self.plane.offload_mut().packet(self.now, port(at), bytes.len()) {
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

    fn place(&self, at: u16) -> Option<Place> {
        let entries = self.plane.places().entries();
        entries
            .into_iter()
            .find(|(entry, _)| *entry == Entry::Relay(port(at)))
            .map(|(_, place)| place)
    }

    /// The next report: packets, bytes, dropped, and when the last one came.
    fn report(&mut self) -> (u64, u64, u64, Option<Instant>) {
        match self.plane.poll() {
            Some(Event::RelayTraffic { traffic, last, .. }) => (traffic.packets, traffic.bytes, traffic.dropped, last),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_refused_runs_in_the_base_and_the_reason_is_counted() {
    let mut world = World::new(2);
    world.set(1, relay(2));
    world.set(2, relay(1));
    world.set(3, relay(1));
    world.set(4, with_key(1));
    world.set(4, with_key(2));
    let full = Place::Base(Refused::Full);
    let srtp = Place::Base(Refused::Unsupported(Reason::Srtp));
    let places = [1, 2, 3, 4].map(|at| world.place(at).expect("it is there"));
    assert_eq!(places, [Place::Offload, Place::Offload, full, srtp]);
    assert_eq!(world.plane.places().offloaded(), 2);
    let refusals = world.plane.places().refusals();
    assert_eq!(refusals, [(Refused::Unsupported(Reason::Srtp), 2), (Refused::Full, 1)]);
    assert!([1, 2, 3].into_iter().all(|at| world.packet(at)));

    // Once there is room, a replacement is taken.
    world.remove(1);
    world.set(3, relay(2));
    assert_eq!((world.place(3), world.place(1)), (Some(Place::Offload), None));
}

#[test]
fn an_offload_that_is_gone_is_not_missed() {
    let mut world = World::new(2);
    world.set(1, relay(1));
    world.plane.offload_mut().is_gone = true;
    world.set(1, relay(1));
    assert_eq!(world.place(1), Some(Place::Base(Refused::Gone)));
    assert!(world.packet(1));
    assert_eq!(world.plane.base_mut().counters()[Counter::Relayed], 1);
}

#[test]
fn reports_and_counters_are_sums() {
    let mut world = World::new(2);
    world.set(1, relay(1));
    world.packet(1);
    world.packet(1);
    // Refused for a while: what was counted there stays counted.
    world.plane.offload_mut().is_gone = true;
    world.set(1, relay(1));
    world.packet(1);
    world.plane.offload_mut().is_gone = false;
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    // A question that nobody answers expects no part of an answer.
    world.plane.inject(world.now, Inject::ReportRelay { at: port(7) });
    assert_eq!(world.report().0, 3);
    assert_eq!(world.plane.poll(), None);
    let counters = world.plane.counters();
    assert_eq!((counters[Counter::Received], counters[Counter::Relayed]), (3, 3));
}

#[test]
fn the_last_word_of_a_relay_is_not_the_first_of_the_next() {
    let mut world = World::new(2);
    world.set(1, relay(1));
    world.packet(1);
    let last = Some(world.now);
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    world.packet(1);
    let very_last = Some(world.now);
    world.remove(1);
    // Nobody has looked yet, and there is another one already.
    world.set(1, relay(1));
    world.packet(1);
    world.packet(1);
    world.packet(1);
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    assert_eq!(world.report(), (1, 100, 0, last));
    assert_eq!(world.report(), (2, 200, 0, very_last));
    assert_eq!(world.report(), (3, 300, 0, Some(world.now)));
}

#[test]
fn what_the_base_refuses_is_not_offered() {
    let mut world = World::new(2);
    let unknown = Update::RemoveRelay(port(1));
    world.plane.write(world.now, unknown).expect_err("it is not there");
    assert!(world.plane.places().entries().is_empty());
    assert_eq!(world.plane.poll(), None);
}
