//! Data channels end to end.

use super::world::*;
use crate::Counter;
use southbound::{Channel, ChannelEnd, Command, DtlsRole, Linked, MessageId, NodeId, Notice, TransportId};

const TRANSPORT: TransportId = TransportId(1);

pub(super) fn channel(label: &str, lossy: bool) -> Channel {
    Channel {
        label: label.into(),
        ordered: !lossy,
        retransmits_max: lossy.then_some(0),
        stream: None,
    }
}

/// One peer with channels that both sides open. `role` is ours.
fn world_with(role: DtlsRole, ours: Vec<Channel>, theirs: Vec<Channel>) -> World {
    let mut world = World::new();
    world.add_talker(role, ours, theirs);
    world.advance(2_000);
    world
}

fn send(world: &mut World, label: &str, payload: &[u8]) {
    world.command(Command::Send {
        to: vec![TRANSPORT],
        label: label.into(),
        payload: payload.into(),
        reliable: label == "_reliable",
        message: None,
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
        world.peers[0].say(now, "_lossy", b"hello");
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
        let message = MessageId {
            node: NodeId(0),
            number: 1,
        };
        let hello = Notice::MessageReceived {
            transport: TRANSPORT,
            label: "_lossy".into(),
            payload: b"hello"[..].into(),
            message,
            reliable: false,
            passed_on: None,
            linked: Linked::default(),
        };
        assert!(world.take_notices().contains(&hello));
        world.command(Command::MessageHandled { message });
        world.close_all();
    }
}

#[test]
fn messages_for_a_peer_without_a_section_for_data_are_not_counted() {
    let mut world = World::new();
    world.add_talker(DtlsRole::Server, Vec::new(), Vec::new());
    let mut remote = world.peers[0].description(DtlsRole::Server);
    remote.sctp_port = None;
    world.command(Command::Connect {
        transport: TRANSPORT,
        remote: remote.clone(),
    });
    for label in ["_lossy", "_reliable"] {
        send(&mut world, label, b"x");
    }
    assert_eq!(world.count(Counter::ChannelNotOpen), 0);
    remote.sctp_port = Some(5000);
    world.command(Command::Connect {
        transport: TRANSPORT,
        remote,
    });
    send(&mut world, "_lossy", b"x");
    assert_eq!(world.count(Counter::ChannelNotOpen), 1, "it may have channels now");
    world.close_all();
}

#[test]
fn unsent_messages_are_counted() {
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
fn a_peer_that_reads_nothing_loses_lossy_messages_and_then_its_channels() {
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
    world.live(crate::limits::TOO_SLOW.as_millis() as u64 - 1_000);
    assert_eq!(world.count(Counter::ChannelTooSlow), 0);
    world.live(2_000);
    let notices = world.take_notices();
    let closed = notices.iter().filter(|notice| {
        matches!(
            notice,
            Notice::ChannelClosed {
                why: ChannelEnd::TooSlow,
                ..
            }
        )
    });
    assert_eq!((world.count(Counter::ChannelTooSlow), closed.count()), (1, 2));
    assert!(world.count(Counter::MessageUnsent) > 180);
    assert!(
        !notices.iter().any(|notice| matches!(notice, Notice::Closed { .. })),
        "the call goes on"
    );
    world.close_all();
}

#[test]
fn a_peer_that_ends_its_association_has_not_failed() {
    let mut world = world_with(DtlsRole::Server, vec![channel("_reliable", false)], Vec::new());
    world.take_notices();
    let now = world.now;
    world.peers[0].with_channels(now, |channels, effects| channels.abort(ChannelEnd::Peer, effects));
    world.settle();
    let closed = Notice::ChannelClosed {
        transport: TRANSPORT,
        label: "_reliable".into(),
        why: ChannelEnd::Peer,
    };
    assert_eq!(
        (world.take_notices(), world.count(Counter::SctpFailed)),
        (vec![closed], 0)
    );
    send(&mut world, "_reliable", b"x");
    assert_eq!(world.count(Counter::ChannelNotOpen), 1);
    world.close_all();
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

/// An ordinary call counts no failure, and neither do packets that are sent after it is over.
#[test]
fn an_ordinary_call_counts_no_failure() {
    let mut world = World::new();
    let channels = || vec![channel("_reliable", false), channel("_lossy", true)];
    let (ada, bob, cyd) = (
        world.add_talker(DtlsRole::Server, channels(), Vec::new()),
        world.add_talker(DtlsRole::Client, Vec::new(), channels()),
        world.add_talker(DtlsRole::Server, channels(), Vec::new()),
    );
    world.live(3_000);
    for label in ["_reliable", "_lossy"] {
        send(&mut world, label, b"hello");
    }
    world.live(1_000);
    // One ends its association first, as browsers do, one hangs up, and one is put out while it
    // still sends.
    let now = world.now;
    world.peers[ada].with_channels(now, |channels, effects| channels.abort(ChannelEnd::Peer, effects));
    world.settle();
    world.peers[ada].hang_up(now);
    world.peers[bob].hang_up(now);
    let transport = world.peers[cyd].transport;
    world.peers[cyd].say(now, "_reliable", b"too late");
    world.command(Command::Close { transport });
    for peer in [ada, bob, cyd] {
        world.check(peer, false);
    }
    world.peers[cyd].hang_up(now);
    world.settle();
    world.advance(20_000);
    let failures = [
        "failed",
        "unexpected",
        "malformed",
        "refused",
        "full",
        "flood",
        "unknown",
    ];
    let counted: Vec<_> = world
        .agent
        .counters()
        .iter()
        .filter(|(counter, count)| *count > 0 && failures.iter().any(|failure| counter.name().contains(failure)))
        .collect();
    assert_eq!(counted, []);
    assert!(world.count(Counter::CheckLate) >= 3);
}
