//! Data channels end to end.

use super::world::*;
use crate::Counter;
use crate::channels::Channels;
use southbound::{Channel, Command, DtlsRole, Notice, TransportId};

const TRANSPORT: TransportId = TransportId(1);

fn channel(label: &str, lossy: bool) -> Channel {
    Channel {
        label: label.into(),
        ordered: !lossy,
        retransmits_max: lossy.then_some(0),
    }
}

fn world_with(role: DtlsRole, ours: Vec<Channel>, theirs: Vec<Channel>) -> World {
    let mut world = World::new();
    let peer = world.add_peer(role, ours);
    let their_role = if role == DtlsRole::Server {
        DtlsRole::Client
    } else {
        DtlsRole::Server
    };
    world.peers[peer].channels = Some(Channels::new(their_role, 5000, theirs, world.now));
    world.check(peer, true);
    world.start_dtls(peer);
    let now = world.now;
    world.peers[peer].with_channels(now, |channels, effects| channels.handle_timeout(now, effects));
    world.advance(2_000);
    world
}

fn send(world: &mut World, label: &str, payload: &[u8]) {
    world.command(Command::Send {
        transport: TRANSPORT,
        label: label.into(),
        payload: payload.into(),
    });
}

#[test]
fn both_sides_open_channels_and_messages_pass_in_both_directions() {
    for role in [DtlsRole::Server, DtlsRole::Client] {
        let mut world = world_with(role, vec![channel("_lossy", true)], vec![channel("_reliable", false)]);
        let notices = world.take_notices();
        for label in ["_lossy", "_reliable"] {
            let opened = Notice::ChannelOpened {
                transport: TRANSPORT,
                label: label.into(),
            };
            assert!(notices.contains(&opened), "{role:?} {label} {notices:?}");
            assert!(world.peers[0].opened.iter().any(|opened| &**opened == label));
        }
        let large = vec![7; 60_000];
        send(&mut world, "_reliable", &large);
        send(&mut world, "_lossy", b"");
        let now = world.now;
        world.peers[0].with_channels(now, |channels, effects| channels.send(now, "_lossy", b"hello", effects));
        world.live(2_000);
        let labels: Vec<_> = world.peers[0]
            .received
            .iter()
            .map(|(label, payload)| (&**label, payload.len()))
            .collect();
        assert!(
            labels.contains(&("_reliable", 60_000)) && labels.contains(&("_lossy", 0)),
            "{labels:?}"
        );
        let hello = Notice::Received {
            transport: TRANSPORT,
            label: "_lossy".into(),
            payload: b"hello"[..].into(),
        };
        assert!(world.take_notices().contains(&hello));
        world.close_all();
    }
}

#[test]
fn what_cannot_be_sent_is_counted() {
    let mut world = world_with(DtlsRole::Server, vec![channel("_reliable", false)], Vec::new());
    send(&mut world, "nowhere", b"x");
    send(&mut world, "_reliable", &vec![0; crate::limits::MESSAGE_MAX + 1]);
    assert_eq!(
        (
            world.count(Counter::ChannelNotOpen),
            world.count(Counter::MessageOversized)
        ),
        (1, 1)
    );
}

#[test]
fn a_peer_that_does_not_read_loses_what_may_be_lost_and_then_itself() {
    let mut world = world_with(
        DtlsRole::Server,
        vec![channel("_lossy", true), channel("_reliable", false)],
        Vec::new(),
    );
    world.take_notices();
    world.peers[0].deaf = true;
    let message = vec![0; 60_000];
    for _ in 0..10 {
        send(&mut world, "_lossy", &message);
    }
    assert!(world.count(Counter::ChannelCongested) >= 7);
    for _ in 0..200 {
        send(&mut world, "_reliable", &message);
    }
    assert_eq!(world.count(Counter::ChannelOverflow), 1);
    assert!(
        world
            .take_notices()
            .iter()
            .any(|notice| matches!(notice, Notice::Closed { .. }))
    );
    world.close_all();
}

#[test]
fn a_flood_of_messages_is_cut_to_its_rate() {
    let mut world = world_with(DtlsRole::Server, Vec::new(), vec![channel("_reliable", false)]);
    world.take_notices();
    let now = world.now;
    for _ in 0..3_000 {
        world.peers[0].with_channels(now, |channels, effects| channels.send(now, "_reliable", b"x", effects));
        world.settle();
    }
    let received = world
        .take_notices()
        .iter()
        .filter(|notice| matches!(notice, Notice::Received { .. }))
        .count();
    assert!(
        received <= crate::limits::MESSAGES_PER_SECOND_MAX as usize,
        "{received}"
    );
    assert!(world.count(Counter::MessageFlood) > 0);
}

#[test]
fn sctp_that_is_none_costs_nothing() {
    let mut world = world_with(DtlsRole::Server, Vec::new(), Vec::new());
    let now = world.now;
    world.peers[0].run_channels(vec![
        crate::channels::Effect::Send(vec![0; 40]),
        crate::channels::Effect::Send(vec![1]),
    ]);
    world.peers[0].with_channels(now, |_, _| {});
    world.settle();
    assert_eq!(world.count(Counter::SctpMalformed), 2);
    world.close_all();
}
