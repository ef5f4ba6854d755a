//! Tests of devices with fewer capabilities: they are not asked for more, and the controller is
//! told of them.

use std::net::SocketAddr;

use dataplane::{Capabilities, Clock, DataPlane, LegId, Protection, Rewriting, RewritingModes};
use southbound::relay::{Accept, Entry, Hop, Keys, Refusal, RelayCommand, RelayNotice};
use southbound::{CloseReason, Command, DtlsRole, Notice, TransportId};
use virtual_device::Plane;
use wire::srtp::{MasterKey, SrtpProfile};
use wire::{ExtensionForms, ExtensionKind, NtpTime};

use super::world::*;
use crate::counters::Counter;
use crate::{Agent, Certificate, Config};

const ONE_BYTE: ExtensionForms = ExtensionForms {
    one_byte: true,
    two_byte: false,
};

/// A world with clear RTP whose device has other capabilities than the model.
fn world_with(change: impl FnOnce(&mut Capabilities)) -> World {
    let mut world = World::with(|config| config.clear_rtp = true);
    let mut capabilities = world.model.capabilities();
    change(&mut capabilities);
    world.model = world.model.with_capabilities(capabilities);
    world
}

/// Refusals since the last call.
fn refusals(world: &mut World) -> Vec<(TransportId, String)> {
    let refusal = |notice| match notice {
        Notice::Refused { transport, why } => Some((transport, why)),
        _ => None,
    };
    world.take_notices().into_iter().filter_map(refusal).collect()
}

#[test]
fn a_device_without_srtp_never_gets_keys() {
    let mut world = world_with(|capabilities| capabilities.srtp = false);
    let clear = world.clear_peer();
    assert_eq!(world.protection(1), Protection::Clear);
    world.take_notices();
    for role in [DtlsRole::Server, DtlsRole::Client] {
        let secure = world.add_peer(role, Vec::new());
        world.check(secure, true);
        world.start_dtls(secure);
        world.advance(1_000);
        let transport = world.peers[secure].transport;
        let notices = world.take_notices();
        assert!(notices.contains(&Notice::Refused {
            transport,
            why: "the data plane has no SRTP".into(),
        }));
        assert!(notices.contains(&Notice::Closed {
            transport,
            reason: CloseReason::Handshake,
        }));
    }
    assert_eq!(world.count(Counter::SrtpRefused), 2);
    assert_eq!(world.model.leg(LegId(1)).unwrap().protection, Protection::Clear);
    assert_eq!(world.model.leg(LegId(2)), None);
    let track = world.publish_audio(clear);
    world.send(clear, audio(1, 20));
    assert!(
        world.take_notices().contains(&Notice::TrackStarted { track }),
        "clear media flows"
    );
}

#[test]
fn a_full_table_says_which_one_it_is() {
    let mut world = world_with(|capabilities| (capabilities.streams_max, capabilities.replicas_max) = (1, 1));
    let publisher = world.clear_peer();
    let receivers = [world.clear_peer(), world.clear_peer()];
    let second = world.peers[receivers[1]].transport;
    let from = world.peers[publisher].transport;
    let track = world.publish_audio(publisher);
    refusals(&mut world);
    world.publish_video(publisher, &[]);
    world.send(publisher, video(11, 1, KEY));
    world.advance(10);
    let streams = (from, String::from("the data plane holds all the streams it can"));
    assert!(refusals(&mut world).contains(&streams));
    assert!(world.count(Counter::StreamsFull) > 0);
    world.subscribe(receivers[0], track, 100, BEST);
    assert_eq!(refusals(&mut world), []);
    world.subscribe(receivers[1], track, 200, BEST);
    let replicas = (second, String::from("the data plane holds all the replicas it can"));
    assert!(refusals(&mut world).contains(&replicas));
    assert!(world.count(Counter::ReplicasFull) > 0);
    assert_eq!(
        world.count(Counter::WriteRefused),
        0,
        "nothing is written that does not fit"
    );
}

#[test]
fn a_relay_with_keys_is_refused_on_a_device_without_srtp() {
    let mut world = world_with(|capabilities| capabilities.srtp = false);
    let ports: [SocketAddr; 2] = [30_000, 30_002].map(|port| ([192, 0, 2, 1], port).into());
    let key = MasterKey::new(SrtpProfile::AeadAes128Gcm, &[1; 16], &[2; 12]).expect("of these lengths");
    let entry = |ingress: Keys, egress: Keys| Entry {
        at: ports[0],
        accept: Accept::Only(([198, 51, 100, 1], 1_000).into()),
        ingress_protection: ingress,
        rtp: Some(Hop {
            from: ports[1],
            to: ([198, 51, 100, 7], 6_000).into(),
            egress_protection: egress,
            tos: None,
        }),
        rtcp: None,
        checks: None,
        clock_rate: None,
    };
    let srtp = || Keys::Srtp(key.clone());
    let dtls = || Keys::Dtls {
        fingerprint: Certificate::generate().unwrap().fingerprint(),
        active: true,
        association: 0,
    };
    let relay = |world: &mut World, command| world.command(Command::Relay(command));
    for at in ports {
        relay(&mut world, RelayCommand::Open(at));
    }
    relay(
        &mut world,
        RelayCommand::Install(Box::new(entry(Keys::Clear, Keys::Clear))),
    );
    assert!(world.model.relay(ports[0]).unwrap().rtp.is_some());
    world.take_notices();
    let refused = [Notice::Relay(RelayNotice::Refused {
        at: ports[0],
        why: Refusal::NoSrtp,
    })];
    for refusable in [
        entry(srtp(), Keys::Clear),
        entry(Keys::Clear, srtp()),
        entry(dtls(), Keys::Clear),
    ] {
        relay(&mut world, RelayCommand::Install(Box::new(refusable)));
        assert_eq!(world.take_notices(), refused);
        let written = world.model.relay(ports[0]).unwrap();
        assert!(
            written.rtp.is_none() && written.ingress_protection.key().is_none(),
            "{written:?}"
        );
    }
    relay(&mut world, RelayCommand::Close(ports[0]));
    relay(&mut world, RelayCommand::Resume(Box::new(entry(srtp(), srtp()))));
    let opened = Notice::Relay(RelayNotice::Opened { at: ports[0] });
    assert_eq!(world.take_notices(), [&[opened][..], &refused].concat());
    assert!(world.model.relay(ports[0]).unwrap().ingress_protection.key().is_none());
    assert_eq!(world.count(Counter::SrtpRefused), 4);
}

#[test]
fn header_extensions_that_a_device_cannot_carry_are_not_in_its_legs() {
    for (forms, are_there) in [(ONE_BYTE, [true, false]), (ExtensionForms::ALL, [true, true])] {
        let mut world = world_with(|capabilities| capabilities.extensions = forms);
        let peer = world.clear_peer();
        let mut remote = world.peers[peer].description(DtlsRole::Server);
        remote.fingerprints.clear();
        remote.extensions_out.insert(ExtensionKind::AbsCaptureTime, 14).unwrap();
        remote.extensions_out.insert(ExtensionKind::PlayoutDelay, 15).unwrap();
        let transport = world.peers[peer].transport;
        world.command(Command::Connect { transport, remote });
        let written = world.model.leg(LegId(1)).unwrap().extensions_out;
        let kinds = [ExtensionKind::AbsCaptureTime, ExtensionKind::PlayoutDelay];
        assert_eq!(kinds.map(|kind| written.id(kind).is_some()), are_there);
    }
}

#[test]
fn a_replica_is_numbered_as_the_device_can() {
    let only_low_memory = RewritingModes {
        exact: false,
        low_memory: true,
        low_retransmission: false,
    };
    let mut world = world_with(|capabilities| capabilities.rewriting = only_low_memory);
    let (publisher, receiver) = (world.clear_peer(), world.clear_peer());
    let track = world.publish_audio(publisher);
    world.subscribe(receiver, track, 100, BEST);
    assert_eq!(world.model.replica_with(100).unwrap().rewriting, Rewriting::LowMemory);
    assert_eq!(
        RewritingModes::ALL.nearest(Rewriting::LowRetransmission),
        Rewriting::LowRetransmission
    );
}

#[test]
fn the_node_says_what_its_device_can_do() {
    let now = World::new().now;
    let clock = Clock {
        origin: now,
        ntp: NtpTime(3_900_000_000 << 32),
    };
    let config = Config::new(vec![([192, 0, 2, 1], 7882).into()], Certificate::generate().unwrap());
    let mut agent = Agent::new(config, clock, 1);
    let mut device = Plane::new(clock).with_capabilities(Capabilities {
        srtp: false,
        copies: true,
        extensions: ONE_BYTE,
        streams_max: 7,
        ..Capabilities::ALL
    });
    let mut notices = Vec::new();
    agent.handle_timeout(now, &mut device, &mut notices);
    let [Notice::Node(node)] = &notices[..] else {
        panic!("{notices:?}")
    };
    let told = southbound::Capabilities {
        srtp: false,
        copies: true,
        extensions: ONE_BYTE,
        streams_max: 7,
        transports_max: crate::limits::TRANSPORTS_MAX as u64,
        ..southbound::Capabilities::ALL
    };
    assert_eq!(node.capabilities, told);
}
