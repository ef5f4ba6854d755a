//! Calls that pass through as they are.

use std::net::SocketAddr;
use std::time::Duration;

use dataplane::{Accept, Cover, Egress, Ingress, Path};
use southbound::relay::{self, Entry, Hop, Keys, Observation, Order, Refusal};
use southbound::{Command, Fingerprint, Notice};
use wire::rtcp::{ReportBlock, SenderInfo, delay_units, write_receiver_report, write_sender_report};
use wire::{NtpTime, RtpTimestamp, Ssrc};

use super::world::*;
use crate::Counter;

/// Our ports: one facing a browser (or whoever is more than a phone), one facing a phone, and where the phone is.
const FACING_PEER: &str = "192.0.2.1:30000";
const FACING_PHONE: &str = "192.0.2.1:30002";
const PHONE: &str = "198.51.100.7:6000";
const PEER: &str = "198.51.100.1:1000";

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn path(local: &str, remote: &str) -> Path {
    Path {
        local: at(local),
        remote: at(remote),
    }
}

fn rtp(ssrc: u32, sequence: u16) -> Vec<u8> {
    let mut bytes = vec![0x80, 0];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(ssrc.to_be_bytes());
    bytes.extend([0x55; 160]);
    bytes
}

fn hop(from: &str, to: &str, seals: Keys) -> Option<Hop> {
    Some(Hop {
        from: at(from),
        to: at(to),
        seals,
        tos: None,
    })
}

/// What a phone sends goes to the peer.
fn from_phone(seals: Keys) -> Entry {
    Entry {
        at: at(FACING_PHONE),
        accept: relay::Accept::Only(at(PHONE)),
        opens: Keys::Clear,
        rtp: hop(FACING_PEER, PEER, seals.clone()),
        rtcp: hop(FACING_PEER, PEER, seals),
        checks: None,
        clock_rate: Some(8_000),
    }
}

/// What the peer sends goes to the phone.
fn from_peer(opens: Keys) -> Entry {
    Entry {
        at: at(FACING_PEER),
        accept: relay::Accept::Learn {
            within: None,
            window: 0,
        },
        opens,
        rtp: hop(FACING_PHONE, PHONE, Keys::Clear),
        rtcp: hop(FACING_PHONE, PHONE, Keys::Clear),
        checks: None,
        clock_rate: Some(8_000),
    }
}

impl World {
    fn order(&mut self, order: Order) {
        self.command(Command::Relay(order));
    }

    fn open_both(&mut self) {
        for port in [FACING_PEER, FACING_PHONE] {
            self.order(Order::Open(at(port)));
        }
        assert_eq!(
            self.take_observations(),
            [FACING_PEER, FACING_PHONE].map(|port| Observation::Opened { at: at(port) })
        );
    }

    fn install(&mut self, entry: Entry) {
        self.order(Order::Install(Box::new(entry)));
    }

    /// A packet arrives; what leaves.
    fn pass(&mut self, path: Path, bytes: &[u8]) -> Vec<Egress> {
        let mut out = Vec::new();
        self.model.packet(self.now, Ingress { path, bytes }, &mut out);
        self.settle();
        out
    }

    fn take_observations(&mut self) -> Vec<Observation> {
        let notices = self.take_notices().into_iter();
        let observations = notices.filter_map(|notice| match notice {
            Notice::Relay(observation) => Some(observation),
            _ => None,
        });
        observations.collect()
    }

    /// A peer with a certificate of its own at the port that faces it; `role` is ours.
    fn peer_at_port(&mut self, role: southbound::DtlsRole) -> (usize, Fingerprint) {
        let mut peer = Peer::new(0, role, self.now);
        peer.path = path(FACING_PEER, PEER);
        let fingerprint = peer.description(role).fingerprints[0].clone();
        self.peers.push(peer);
        (self.peers.len() - 1, fingerprint)
    }

    fn close_ports(&mut self) {
        for port in [FACING_PEER, FACING_PHONE] {
            self.order(Order::Close(at(port)));
        }
        assert!(self.model.is_empty() && self.agent.is_idle());
        assert!(self.agent.poll_timeout().is_none(), "nothing is left to do");
    }

    /// The keys of both directions are in the entries, and they are the peer's.
    fn keys_are_in(&self, peer: usize) -> bool {
        let [facing_peer, facing_phone] = [FACING_PEER, FACING_PHONE].map(|port| self.model.relay(at(port)).unwrap());
        let seals = &facing_phone.rtp.as_ref().expect("it goes on").seals;
        let (Some((material, _)), Cover::Srtp(opens), Cover::Srtp(seals)) =
            (&self.peers[peer].keys, &facing_peer.opens, seals)
        else {
            return false;
        };
        let has = |key: &[u8]| material.windows(key.len()).any(|window| window == key);
        has(opens.key()) && has(seals.key()) && opens != seals
    }
}

fn dtls(fingerprint: &Fingerprint, active: bool) -> Keys {
    Keys::Dtls {
        fingerprint: fingerprint.clone(),
        active,
    }
}

#[test]
fn a_port_that_cannot_be_had_is_refused() {
    let mut world = World::new();
    world.model.taken.insert(at(FACING_PEER));
    world.order(Order::Open(at(FACING_PEER)));
    let why = Refusal::Taken;
    assert_eq!(
        world.take_observations(),
        [Observation::Refused {
            at: at(FACING_PEER),
            why
        }]
    );
    world.install(from_peer(Keys::Clear));
    assert_eq!(world.count(Counter::RelayDangling), 1);
    world.order(Order::Close(at(FACING_PEER)));
    assert!(world.agent.is_idle());
}

#[test]
fn a_call_between_phones_is_two_entries_and_a_look_at_where_they_are() {
    let mut world = World::new();
    world.open_both();
    world.install(from_peer(Keys::Clear));
    world.install(from_phone(Keys::Clear));
    let out = world.pass(path(FACING_PEER, "203.0.113.9:31000"), &rtp(1, 1));
    assert_eq!((out.len(), out[0].path), (1, path(FACING_PHONE, PHONE)));
    let source = Observation::Source {
        at: at(FACING_PEER),
        from: at("203.0.113.9:31000"),
    };
    assert_eq!(world.take_observations(), [source]);
    assert_eq!(
        world.pass(path(FACING_PHONE, PHONE), &rtp(2, 1))[0].path,
        path(FACING_PEER, PEER)
    );

    world.order(Order::Report(at(FACING_PEER)));
    let told = world.take_observations();
    assert!(
        matches!(&told[..], [Observation::Traffic { traffic, last: Some(_), .. }] if traffic.packets == 1 && traffic.bytes == 172),
        "{told:?}"
    );
    world.order(Order::Silence(at(FACING_PEER)));
    assert!(world.pass(path(FACING_PEER, PEER), &rtp(1, 2)).is_empty());
    world.close_ports();
    assert!(world.take_observations().is_empty(), "the last word is nobody's");
}

#[test]
fn a_browser_proves_where_and_who_it_is_before_its_media_passes() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(southbound::DtlsRole::Server);
    let checks = Some((world.peers[peer].theirs.clone(), Some(world.peers[peer].ours.clone())));
    world.open_both();
    world.install(Entry {
        checks,
        ..from_peer(dtls(&fingerprint, false))
    });
    world.install(from_phone(dtls(&fingerprint, false)));
    assert!(
        world.pass(path(FACING_PEER, PEER), &rtp(1, 1)).is_empty(),
        "nobody is known"
    );
    let hop = |world: &World| world.model.relay(at(FACING_PHONE)).unwrap().rtp.clone();
    assert_eq!(hop(&world), None, "nothing is sent to who has not proved itself");

    world.check(peer, true);
    assert_eq!(world.peers[peer].stun.len(), 1, "its check is answered");
    let source = Observation::Source {
        at: at(FACING_PEER),
        from: at(PEER),
    };
    assert_eq!(world.take_observations(), [source]);
    assert_eq!(hop(&world).unwrap().seals, Cover::Pending);
    assert_eq!(
        world.model.relay(at(FACING_PEER)).unwrap().accept,
        Accept::Only(at(PEER))
    );

    world.start_dtls(peer);
    world.advance(10);
    assert!(world.keys_are_in(peer));
    assert_eq!(world.pass(path(FACING_PEER, PEER), &rtp(1, 1)).len(), 1);
    assert_eq!(world.pass(path(FACING_PHONE, PHONE), &rtp(2, 1)).len(), 1);

    // An order that says the same again, as of a re-INVITE, changes nothing.
    let before = world.model.relay(at(FACING_PEER)).cloned();
    let checks = Some((world.peers[peer].theirs.clone(), Some(world.peers[peer].ours.clone())));
    world.install(Entry {
        checks,
        ..from_peer(dtls(&fingerprint, false))
    });
    assert_eq!(world.model.relay(at(FACING_PEER)).cloned(), before);

    // A browser that is gone is not sent to for ever.
    world.advance(31_000);
    assert_eq!(hop(&world), None);
    world.check(peer, false);
    assert!(world.keys_are_in(peer));
    world.close_ports();
    assert!(world.peers[peer].goodbye);
}

#[test]
fn handshakes_of_two_browsers_with_each_other_pass_between_their_proven_addresses() {
    let mut world = World::new();
    let (first, _) = world.peer_at_port(southbound::DtlsRole::Server);
    let mut other = Peer::new(1, southbound::DtlsRole::Client, world.now);
    other.path = path(FACING_PHONE, PHONE);
    world.peers.push(other);
    let checks = |world: &World, peer: usize| Some((world.peers[peer].theirs.clone(), None));
    world.open_both();
    world.install(Entry {
        checks: checks(&world, first),
        clock_rate: None,
        ..from_peer(Keys::Clear)
    });
    world.install(Entry {
        checks: checks(&world, 1),
        clock_rate: None,
        ..from_phone(Keys::Clear)
    });
    world.start_dtls(first);
    assert_eq!(world.peers[1].keys, None, "nobody has proved to be there");
    world.check(first, true);
    world.check(1, true);
    world.advance(3_000);
    let keys = |peer: usize| world.peers[peer].keys.as_ref().map(|(material, _)| material.clone());
    assert!(
        keys(0).is_some() && keys(0) == keys(1),
        "they share what we do not know"
    );
    assert_eq!(world.pass(path(FACING_PEER, PEER), &rtp(1, 1)).len(), 1);
}

#[test]
fn checks_with_a_wrong_password_are_not_answered() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(southbound::DtlsRole::Server);
    let checks = Some((credentials("somebody else"), None));
    world.open_both();
    world.install(Entry {
        checks,
        ..from_peer(dtls(&fingerprint, false))
    });
    world.check(peer, true);
    assert!(world.peers[peer].stun.is_empty() && world.take_observations().is_empty());
    assert_eq!(world.count(Counter::CheckUnknownUfrag), 1);
}

#[test]
fn we_start_the_handshake_where_the_phone_waits_for_it() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(southbound::DtlsRole::Client);
    world.open_both();
    world.install(from_peer(dtls(&fingerprint, true)));
    assert_eq!(world.peers[peer].keys, None, "nobody has said where it is");
    world.install(from_phone(dtls(&fingerprint, true)));
    world.advance(50);
    assert!(world.keys_are_in(peer));
}

#[test]
fn a_handshake_stays_with_its_roles_and_other_roles_begin_another() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(southbound::DtlsRole::Client);
    world.open_both();
    world.install(from_peer(dtls(&fingerprint, true)));
    world.install(from_phone(dtls(&fingerprint, true)));
    world.advance(50);
    world.install(from_peer(dtls(&fingerprint, true)));
    assert!(world.keys_are_in(peer), "nothing has changed");
    world.install(from_peer(dtls(&fingerprint, false)));
    assert!(!world.keys_are_in(peer), "the peer is to begin now");
}

#[test]
fn keys_need_the_promised_certificate() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(southbound::DtlsRole::Server);
    let mut other = fingerprint.clone();
    other.digest[0] ^= 1;
    world.open_both();
    world.install(from_phone(dtls(&other, false)));
    world.install(from_peer(dtls(&other, false)));
    world.start_dtls(peer);
    world.advance(10);
    assert!(!world.keys_are_in(peer));
    assert_eq!(world.count(Counter::FingerprintMismatch), 1);
    assert!(world.pass(path(FACING_PEER, PEER), &rtp(1, 1)).is_empty());

    world.peers.clear();
    let (peer, fingerprint) = world.peer_at_port(southbound::DtlsRole::Server);
    world.install(from_phone(dtls(&fingerprint, false)));
    world.install(from_peer(dtls(&fingerprint, false)));
    world.start_dtls(peer);
    world.advance(10);
    assert!(world.keys_are_in(peer));
}

#[test]
fn party_reports_are_told_for_each_leg_and_end_to_end() {
    let mut world = World::new();
    world.open_both();
    world.install(from_peer(Keys::Clear));
    world.install(from_phone(Keys::Clear));
    let report = |ntp: u64| {
        let info = SenderInfo {
            ntp: NtpTime(ntp << 16),
            rtp: RtpTimestamp(0),
            packets: 1,
            octets: 160,
        };
        let mut bytes = Vec::new();
        write_sender_report(&mut bytes, Ssrc(ntp as u32), &info, &[]);
        bytes
    };
    let answer = |to: u32| {
        let block = ReportBlock {
            ssrc: Ssrc(to),
            fraction_lost: 26,
            cumulative_lost: 5,
            highest_sequence: 50,
            jitter: 160,
            last_sender_report: to,
            delay_since_last_sender_report: delay_units(Duration::from_millis(100)),
        };
        let mut bytes = Vec::new();
        write_receiver_report(&mut bytes, Ssrc(99), &[block]);
        bytes
    };
    let (peer, phone) = (path(FACING_PEER, PEER), path(FACING_PHONE, PHONE));
    assert_eq!(world.pass(peer, &report(1)).len(), 1, "it passes as well");
    world.pass(phone, &report(2));
    world.advance(130);
    world.pass(phone, &answer(1));
    world.advance(10);
    world.pass(peer, &answer(2));
    let told: Vec<_> = world
        .take_observations()
        .into_iter()
        .filter_map(|observation| match observation {
            Observation::Quality { at, ssrc, report } => Some((at, ssrc, report)),
            _ => None,
        })
        .collect();
    let [(of_peer, 1, first), (of_phone, 2, second)] = &told[..] else {
        panic!("two reports: {told:?}")
    };
    assert_eq!((*of_peer, *of_phone), (at(FACING_PEER), at(FACING_PHONE)));
    assert_eq!(first.jitter, Duration::from_millis(20));
    assert!((first.loss - 0.1).abs() < 0.01);
    let about = |time: Option<Duration>, millis| {
        time.is_some_and(|time| time.abs_diff(Duration::from_millis(millis)) < Duration::from_millis(1))
    };
    assert!(
        about(first.round_trip_leg, 30) && first.round_trip.is_none(),
        "{first:?}"
    );
    assert!(
        about(second.round_trip_leg, 40) && about(second.round_trip, 70),
        "{second:?}"
    );
}

/// What an earlier process has done at a port is done there from its first entry on, so that nothing that goes on without us is interrupted.
#[test]
fn a_port_that_goes_on_has_its_entry_from_the_beginning() {
    let mut world = World::new();
    world.open_both();
    for entry in [from_peer(Keys::Clear), from_phone(Keys::Clear)] {
        world.install(entry);
    }
    let before = [FACING_PEER, FACING_PHONE].map(|port| world.model.relay(at(port)).unwrap().clone());
    let mut next = World::new();
    for (entry, before) in [from_peer(Keys::Clear), from_phone(Keys::Clear)]
        .into_iter()
        .zip(&before)
    {
        let port = entry.at;
        next.order(Order::Resume(Box::new(entry)));
        assert_eq!(next.take_observations(), [Observation::Opened { at: port }]);
        assert_eq!(next.model.relay(port), Some(before));
    }
    let out = next.pass(path(FACING_PEER, PEER), &rtp(1, 1));
    assert_eq!((out.len(), out[0].path), (1, path(FACING_PHONE, PHONE)));
    next.take_observations();
    next.close_ports();

    let mut elsewhere = World::new();
    elsewhere.model.taken.insert(at(FACING_PEER));
    elsewhere.order(Order::Resume(Box::new(from_peer(Keys::Clear))));
    assert!(matches!(
        elsewhere.take_observations()[..],
        [Observation::Refused { .. }]
    ));
    elsewhere.order(Order::Close(at(FACING_PEER)));
    assert!(elsewhere.agent.is_idle());
}
