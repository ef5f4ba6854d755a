//! Tests of transports to known addresses.

use dataplane::{Leg, LegId, MasterKey, Path, Protection, SrtpProfile};
use southbound::{CloseReason, Command, DirectKeys, DtlsRole, Notice, OpenDirect, SubscriptionSettings, TransportId};
use wire::Ssrc;

use super::super::world::*;
use crate::{Counter, NodeAddresses};

const TRUNK: TransportId = TransportId(900);

fn key(seed: u8) -> MasterKey {
    MasterKey::new(SrtpProfile::AeadAes256Gcm, &[seed; 32], &[seed; 12]).unwrap()
}

fn keys(ingress: u8, egress: u8) -> Option<DirectKeys> {
    let (ingress, egress) = (key(ingress), key(egress));
    Some(DirectKeys { ingress, egress })
}

fn order() -> OpenDirect {
    OpenDirect {
        transport: TRUNK,
        local: "192.0.2.1:7882".parse().unwrap(),
        remote: "192.0.2.2:7882".parse().unwrap(),
        rtcp_ssrc_in: Ssrc(0x2001),
        rtcp_ssrc_out: Ssrc(0x2002),
        keys: keys(1, 2),
        extensions_in: extensions(),
        extensions_out: extensions(),
    }
}

fn path() -> Path {
    let OpenDirect { local, remote, .. } = order();
    Path { local, remote }
}

fn open(world: &mut World, order: OpenDirect) {
    world.command(Command::OpenDirect(Box::new(order)));
}

/// An order with a change, at a node that is asked for it.
fn ordered(change: impl FnOnce(&mut OpenDirect)) -> World {
    let mut world = World::new();
    let mut order = order();
    change(&mut order);
    open(&mut world, order);
    world
}

fn entry(world: &World) -> Option<&Leg> {
    world.model.leg(LegId(1))
}

#[test]
fn a_direct_transport_has_a_leg_with_its_address_and_keys_at_once() {
    let mut world = ordered(|_| {});
    let leg = entry(&world).expect("it is there");
    assert_eq!(leg.paths, [path()]);
    let (ingress, egress) = (key(1), key(2));
    assert_eq!(leg.protection, Protection::Srtp { ingress, egress });
    assert_eq!((leg.extensions_in, leg.extensions_out), (extensions(), extensions()));
    world.command(Command::Close { transport: TRUNK });
    world.close_all();
}

#[test]
fn orders_that_cannot_be_are_refused_and_leave_nothing() {
    let refused = |change: fn(&mut OpenDirect)| {
        let mut world = ordered(change);
        let notices = world.take_notices();
        let why = notices.iter().find_map(|notice| match notice {
            Notice::Refused { transport: TRUNK, why } => Some(why.clone()),
            _ => None,
        });
        assert_eq!(world.count(Counter::DirectRefused), 1);
        world.close_all();
        why.expect("it is refused")
    };
    for (change, why) in [
        (
            (|order| order.keys = None) as fn(&mut OpenDirect),
            "it has no keys, and the node takes sealed trunks only",
        ),
        (|order| order.keys = keys(1, 1), "both directions have one key"),
        (
            |order| order.local.set_port(7_883),
            "its own port is no UDP port of the node",
        ),
        (
            |order| order.remote = "[2001:db8::1]:7882".parse().unwrap(),
            "its addresses are of two families",
        ),
        (|order| order.remote.set_port(0), "its peer has no unicast address"),
        (
            |order| order.remote.set_ip([224, 0, 0, 1].into()),
            "its peer has no unicast address",
        ),
        (
            |order| order.remote.set_ip([255, 255, 255, 255].into()),
            "its peer has no unicast address",
        ),
        (|order| order.remote = order.local, "its peer would be the node itself"),
    ] {
        assert_eq!(refused(change), format!("a direct transport is refused: {why}"));
    }
}

#[test]
fn an_order_without_keys_is_taken_where_the_operator_permits_it() {
    let mut world = World::with(|config| config.clear_trunks = true);
    let order = OpenDirect { keys: None, ..order() };
    open(&mut world, order);
    assert_eq!(entry(&world).map(|leg| &leg.protection), Some(&Protection::Clear));
    let announced = world.take_notices().into_iter().find_map(|notice| match notice {
        Notice::Node(node) => Some(node),
        _ => None,
    });
    assert!(announced.is_none_or(|node| node.clear_trunks && !node.clear_rtp));
    world.command(Command::Close { transport: TRUNK });
    world.close_all();
}

#[test]
fn a_direct_transport_keeps_its_keys_and_may_change_its_extensions() {
    let mut world = ordered(|_| {});
    open(&mut world, order());
    let fewer = OpenDirect {
        extensions_out: Default::default(),
        ..order()
    };
    open(&mut world, fewer);
    assert_eq!(entry(&world).unwrap().extensions_out, Default::default());
    assert_eq!(world.count(Counter::DirectRefused), 0);
    let other = OpenDirect {
        keys: keys(1, 3),
        ..order()
    };
    open(&mut world, other);
    assert_eq!(world.count(Counter::DirectRefused), 1);
    world.command(Command::Close { transport: TRUNK });
    world.close_all();
}

#[test]
fn a_key_never_seals_for_two_transports() {
    let mut world = ordered(|_| {});
    let again = |transport| OpenDirect { transport, ..order() };
    world.command(Command::Close { transport: TRUNK });
    open(&mut world, again(TransportId(901)));
    assert_eq!(world.count(Counter::DirectRefused), 1);
    open(
        &mut world,
        OpenDirect {
            keys: keys(1, 3),
            ..again(TransportId(902))
        },
    );
    assert_eq!(world.count(Counter::DirectRefused), 1);
    world.command(Command::Close {
        transport: TransportId(902),
    });
    world.close_all();
}

/// Another trunk of the same two nodes.
fn another() -> OpenDirect {
    OpenDirect {
        transport: TransportId(901),
        rtcp_ssrc_in: Ssrc(0x3001),
        rtcp_ssrc_out: Ssrc(0x3002),
        keys: keys(3, 4),
        ..order()
    }
}

#[test]
fn direct_transports_of_one_pair_of_addresses_have_their_own_ssrcs() {
    let mut world = ordered(|_| {});
    open(&mut world, another());
    assert_eq!(world.count(Counter::DirectRefused), 0);
    for (leg, ssrc) in [(1, 0x2001), (2, 0x3001)] {
        let entry = world.model.leg(LegId(leg)).expect("both are there");
        assert_eq!((&entry.paths[..], entry.shared), (&[path()][..], Some(Ssrc(ssrc))));
    }
    let with_its_ssrc = OpenDirect {
        transport: TransportId(902),
        rtcp_ssrc_in: order().rtcp_ssrc_in,
        keys: keys(5, 6),
        ..another()
    };
    open(&mut world, with_its_ssrc);
    let refused = Notice::Refused {
        transport: TransportId(902),
        why: "a direct transport is refused: another direct transport of its addresses has its SSRC".into(),
    };
    assert!(world.take_notices().contains(&refused));
    // STUN from there stays unexpected until the last of them is closed.
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    world.peers[peer].path = path();
    for (closed, unexpected) in [(TRUNK, 1), (TransportId(901), 2)] {
        world.check(peer, true);
        assert_eq!(world.count(Counter::StunUnexpected), unexpected);
        world.command(Command::Close { transport: closed });
    }
    world.check(peer, true);
    assert_eq!(world.count(Counter::StunUnexpected), 2);
    world.close_all();
}

#[test]
fn a_direct_transport_behind_a_nat_is_ordered_by_its_announced_address() {
    let mut world = World::new();
    let inside = "10.0.0.5:7882".parse().unwrap();
    let World {
        agent, model, notices, ..
    } = &mut world;
    let addresses = NodeAddresses {
        udp: vec![order().local],
        local_ips: [(order().local.ip(), "10.0.0.5".parse().unwrap())].into(),
        ..NodeAddresses::default()
    };
    agent.set_addresses(addresses, model, notices);
    open(&mut world, order());
    let there = Path {
        local: inside,
        ..path()
    };
    assert_eq!(entry(&world).expect("it is there").paths, [there]);
    // It stays there, though the node is announced elsewhere.
    let World {
        agent, model, notices, ..
    } = &mut world;
    let elsewhere = NodeAddresses {
        udp: vec!["203.0.113.9:7882".parse().unwrap()],
        ..NodeAddresses::default()
    };
    agent.set_addresses(elsewhere, model, notices);
    let fewer = OpenDirect {
        extensions_out: Default::default(),
        ..order()
    };
    open(&mut world, fewer);
    assert_eq!(entry(&world).unwrap().paths, [there]);
    assert_eq!(world.count(Counter::DirectRefused), 0);
    world.command(Command::Close { transport: TRUNK });
    world.close_all();
}

#[test]
fn a_peer_at_the_nodes_own_inner_address_is_refused() {
    let mut world = World::new();
    let World {
        agent, model, notices, ..
    } = &mut world;
    let addresses = NodeAddresses {
        udp: vec![order().local],
        local_ips: [(order().local.ip(), order().remote.ip())].into(),
        ..NodeAddresses::default()
    };
    agent.set_addresses(addresses, model, notices);
    open(&mut world, order());
    assert_eq!(world.count(Counter::DirectRefused), 1);
    world.close_all();
}

#[test]
fn a_direct_transport_has_no_ice_and_no_description() {
    let mut world = ordered(|_| {});
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    let remote = world.peers[peer].description(DtlsRole::Server);
    world.command(Command::Connect {
        transport: TRUNK,
        remote,
    });
    let local = credentials("other");
    world.command(Command::Open(southbound::OpenTransport {
        transport: TRUNK,
        local,
        channels: Vec::new(),
    }));
    let taken_name = OpenDirect {
        transport: world.peers[peer].transport,
        keys: keys(3, 4),
        remote: "192.0.2.3:7882".parse().unwrap(),
        ..order()
    };
    open(&mut world, taken_name);
    assert_eq!(world.count(Counter::DirectRefused), 3);
    world.command(Command::Close { transport: TRUNK });
    world.close_all();
}

#[test]
fn a_peer_that_claims_the_address_of_another_node_neither_has_nor_keeps_it() {
    let mut world = World::new();
    let mallory = world.add_peer(DtlsRole::Server, Vec::new());
    world.peers[mallory].absent = true;
    let honest = std::mem::replace(&mut world.peers[mallory].path, path());
    // Before the trunk: the source of a check can be forged.
    world.check(mallory, true);
    open(&mut world, order());
    assert_eq!(world.count(Counter::DirectRefused), 0);
    let leg = world.model.leg(LegId(2)).expect("the leg of the trunk");
    assert_eq!(leg.paths, [path()]);
    // And after it.
    world.check(mallory, true);
    assert_eq!(world.count(Counter::StunUnexpected), 1);
    world.peers[mallory].absent = false;
    world.peers[mallory].path = honest;
    world.check(mallory, true);
    assert_eq!(world.model.leg(LegId(1)).unwrap().paths, [honest]);
    world.command(Command::Close { transport: TRUNK });
    world.close_all();
}

#[test]
fn a_peer_that_never_sends_is_given_up() {
    let mut world = ordered(|_| {});
    world.take_notices();
    world.advance(61_000);
    let closed = Notice::Closed {
        transport: TRUNK,
        reason: CloseReason::NeverConnected,
    };
    assert_eq!(world.take_notices(), [closed]);
    world.close_all();
}

#[test]
fn an_encoding_that_is_sent_exactly_has_no_other_in_its_place() {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &["q", "h", "f"]);
    let receiver = world.connected_peer();
    let exactly = SubscriptionSettings {
        encoding_max: 1,
        encoding_exact: true,
        ..SubscriptionSettings::BEST
    };
    world.subscribe(receiver, track, 500, exactly);
    let send = |world: &mut World, rid: &str, ssrc: u32, sequences: std::ops::Range<u16>| {
        for sequence in sequences {
            let packet = Packet {
                rid,
                ..video(ssrc, sequence, KEY)
            };
            world.send(publisher, packet);
        }
    };
    send(&mut world, "q", 11, 1..4);
    send(&mut world, "f", 13, 1..4);
    assert_eq!(world.peers[receiver].rtp.len(), 0);
    send(&mut world, "h", 12, 1..4);
    assert_ne!(world.peers[receiver].rtp.len(), 0);
    let before = world.peers[receiver].rtp.len();
    world.advance(2_000);
    send(&mut world, "q", 11, 4..8);
    assert_eq!(world.peers[receiver].rtp.len(), before, "the wanted one has stopped");
    world.close_all();
}

#[test]
fn a_trunk_carries_the_tracks_of_a_whole_room() {
    let mut world = ordered(|_| {});
    for index in 0..=crate::limits::TRACKS_PER_TRANSPORT_MAX as u32 {
        world.command(Command::Publish(southbound::Publication {
            track: southbound::TrackId(1_000 + u64::from(index)),
            transport: TRUNK,
            kind: wire::MediaKind::Video,
            mid: None,
            formats: vec![vp8()],
            encodings: (0..3)
                .map(|encoding| southbound::Encoding {
                    rid: None,
                    ssrc: Some(Ssrc(10_000 + 6 * index + 2 * encoding)),
                    rtx: Some(Ssrc(10_001 + 6 * index + 2 * encoding)),
                    width: 0,
                    height: 0,
                    layers: Vec::new(),
                })
                .collect(),
            muted: false,
            source: Default::default(),
        }));
    }
    assert_eq!(
        (world.count(Counter::MediaFull), world.count(Counter::StreamsFull)),
        (0, 0)
    );
    assert!(
        world
            .notices
            .iter()
            .all(|notice| !matches!(notice, Notice::Refused { .. }))
    );
    world.command(Command::Close { transport: TRUNK });
    world.close_all();
}
