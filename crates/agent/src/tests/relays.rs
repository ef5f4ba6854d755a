//! Calls that pass through as they are.

mod ice;
mod renewal;

use std::net::SocketAddr;
use std::time::Duration;

use dataplane::{Accept, Egress, Ingress, Path, RelayProtection};
use southbound::relay::{self, Entry, Hop, Keys, Refusal, RelayCommand, RelayNotice};
use southbound::{Command, Fingerprint, Notice};
use wire::rtcp::{ReportBlock, SenderInfo, delay_units, write_receiver_report, write_sender_report};
use wire::{NtpTime, RtpTimestamp, Ssrc};

use super::world::*;
use crate::Counter;

/// Our ports: one facing a browser or another party with ICE or DTLS, one facing a phone.
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

fn hop(from: &str, to: &str, egress_protection: Keys) -> Option<Hop> {
    Some(Hop {
        from: at(from),
        to: at(to),
        egress_protection,
        tos: None,
    })
}

/// The entry that forwards a phone's packets to the peer.
fn from_phone(egress_protection: Keys) -> Entry {
    Entry {
        at: at(FACING_PHONE),
        accept: relay::Accept::Only(at(PHONE)),
        ingress_protection: Keys::Clear,
        rtp: hop(FACING_PEER, PEER, egress_protection.clone()),
        rtcp: hop(FACING_PEER, PEER, egress_protection),
        checks: None,
        clock_rate: Some(8_000),
    }
}

/// The entry that forwards the peer's packets to the phone.
fn from_peer(ingress_protection: Keys) -> Entry {
    Entry {
        at: at(FACING_PEER),
        accept: relay::Accept::Learn {
            within: None,
            window: 0,
            rtp_only: false,
        },
        ingress_protection,
        rtp: hop(FACING_PHONE, PHONE, Keys::Clear),
        rtcp: hop(FACING_PHONE, PHONE, Keys::Clear),
        checks: None,
        clock_rate: Some(8_000),
    }
}

impl World {
    fn relay(&mut self, command: RelayCommand) {
        self.command(Command::Relay(command));
    }

    fn open_both(&mut self) {
        for port in [FACING_PEER, FACING_PHONE] {
            self.relay(RelayCommand::Open(at(port)));
        }
        assert_eq!(
            self.take_relay_notices(),
            [FACING_PEER, FACING_PHONE].map(|port| RelayNotice::Opened { at: at(port) })
        );
    }

    fn install(&mut self, entry: Entry) {
        self.relay(RelayCommand::Install(Box::new(entry)));
    }

    /// Delivers a packet; returns the packets sent.
    fn pass(&mut self, path: Path, bytes: &[u8]) -> Vec<Egress> {
        let mut out = Vec::new();
        self.model.packet(self.now, Ingress { path, bytes }, &mut out);
        self.settle();
        out
    }

    fn take_relay_notices(&mut self) -> Vec<RelayNotice> {
        let notices = self.take_notices().into_iter();
        let notices = notices.filter_map(|notice| match notice {
            Notice::Relay(notice) => Some(notice),
            _ => None,
        });
        notices.collect()
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
            self.relay(RelayCommand::Close(at(port)));
        }
        assert!(self.model.is_empty() && self.agent.is_idle());
        assert!(self.agent.poll_timeout().is_none(), "nothing is left to do");
    }

    /// The keys of both directions are in the entries, and they are the peer's.
    fn keys_are_in(&self, peer: usize) -> bool {
        let [facing_peer, facing_phone] = [FACING_PEER, FACING_PHONE].map(|port| self.model.relay(at(port)).unwrap());
        let egress_protection = &facing_phone.rtp.as_ref().expect("it goes on").egress_protection;
        let (Some((material, _)), RelayProtection::Srtp(ingress_protection), RelayProtection::Srtp(egress_protection)) = (
            &self.peers[peer].keys,
            &facing_peer.ingress_protection,
            egress_protection,
        ) else {
            return false;
        };
        let has = |key: &[u8]| material.windows(key.len()).any(|window| window == key);
        has(ingress_protection.key()) && has(egress_protection.key()) && ingress_protection != egress_protection
    }
}

fn dtls(fingerprint: &Fingerprint, active: bool) -> Keys {
    renewal::association(fingerprint, active, 0)
}

#[test]
fn a_port_that_cannot_be_had_is_refused() {
    let mut world = World::new();
    world.model.taken.insert(at(FACING_PEER));
    world.relay(RelayCommand::Open(at(FACING_PEER)));
    let why = Refusal::Taken;
    assert_eq!(
        world.take_relay_notices(),
        [RelayNotice::Refused {
            at: at(FACING_PEER),
            why
        }]
    );
    world.install(from_peer(Keys::Clear));
    assert_eq!(world.count(Counter::RelayDangling), 1);
    world.relay(RelayCommand::Close(at(FACING_PEER)));
    assert!(world.agent.is_idle());
}

#[test]
fn a_call_between_phones_is_two_entries_with_learned_addresses() {
    let mut world = World::new();
    world.open_both();
    world.install(from_peer(Keys::Clear));
    world.install(from_phone(Keys::Clear));
    let out = world.pass(path(FACING_PEER, "203.0.113.9:31000"), &rtp(1, 1));
    assert_eq!((out.len(), out[0].path), (1, path(FACING_PHONE, PHONE)));
    let source = RelayNotice::Source {
        at: at(FACING_PEER),
        from: at("203.0.113.9:31000"),
    };
    assert_eq!(world.take_relay_notices(), [source]);
    assert_eq!(
        world.pass(path(FACING_PHONE, PHONE), &rtp(2, 1))[0].path,
        path(FACING_PEER, PEER)
    );

    world.relay(RelayCommand::Report(at(FACING_PEER)));
    let told = world.take_relay_notices();
    assert!(
        matches!(&told[..], [RelayNotice::Traffic { traffic, idle: Some(_), .. }] if traffic.packets == 1 && traffic.bytes == 172),
        "{told:?}"
    );
    world.relay(RelayCommand::Silence(at(FACING_PEER)));
    assert!(world.pass(path(FACING_PEER, PEER), &rtp(1, 2)).is_empty());
    world.close_ports();
    assert!(world.take_relay_notices().is_empty(), "the last word is nobody's");
}

#[test]
fn a_browser_proves_its_address_and_identity_before_its_media_passes() {
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
    assert_eq!(hop(&world), None, "nothing is sent to a party without proof");

    world.check(peer, true);
    assert_eq!(world.peers[peer].stun.len(), 1, "its check is answered");
    let source = RelayNotice::Source {
        at: at(FACING_PEER),
        from: at(PEER),
    };
    assert_eq!(world.take_relay_notices(), [source]);
    assert_eq!(hop(&world).unwrap().egress_protection, RelayProtection::Pending);
    assert_eq!(
        world.model.relay(at(FACING_PEER)).unwrap().accept,
        Accept::Only(at(PEER))
    );

    world.start_dtls(peer);
    world.advance(10);
    assert!(world.keys_are_in(peer));
    assert_eq!(world.pass(path(FACING_PEER, PEER), &rtp(1, 1)).len(), 1);
    assert_eq!(world.pass(path(FACING_PHONE, PHONE), &rtp(2, 1)).len(), 1);

    // A repeated order, as of a re-INVITE, changes nothing.
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
    let checks = |world: &World, peer: usize| {
        let Peer { ours, theirs, .. } = &world.peers[peer];
        Some((theirs.clone(), Some(ours.clone())))
    };
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
        "they share keys that we do not know"
    );
    assert_eq!(world.pass(path(FACING_PEER, PEER), &rtp(1, 1)).len(), 1);
}

#[test]
fn we_start_the_handshake_if_the_phone_waits_for_it() {
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
        .take_relay_notices()
        .into_iter()
        .filter_map(|notice| match notice {
            RelayNotice::Quality { at, ssrc, report } => Some((at, ssrc, report)),
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

/// A port of an earlier process is opened with the entry it had, so that a call that continues
/// without us is not interrupted.
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
        next.relay(RelayCommand::Resume(Box::new(entry)));
        assert_eq!(next.take_relay_notices(), [RelayNotice::Opened { at: port }]);
        assert_eq!(next.model.relay(port), Some(before));
    }
    let out = next.pass(path(FACING_PEER, PEER), &rtp(1, 1));
    assert_eq!((out.len(), out[0].path), (1, path(FACING_PHONE, PHONE)));
    next.take_relay_notices();
    next.close_ports();

    let mut elsewhere = World::new();
    elsewhere.model.taken.insert(at(FACING_PEER));
    elsewhere.relay(RelayCommand::Resume(Box::new(from_peer(Keys::Clear))));
    assert!(matches!(
        elsewhere.take_relay_notices()[..],
        [RelayNotice::Refused { .. }]
    ));
    elsewhere.relay(RelayCommand::Close(at(FACING_PEER)));
    assert!(elsewhere.agent.is_idle());
}
