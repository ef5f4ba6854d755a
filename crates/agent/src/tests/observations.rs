//! Tests of observations for timelines.

use operator::observation::{Direction, PathProtocol, SwitchCause};
use southbound::{DownlinkEstimate, Notice, Observation, SentLayer, SubscriptionId};
use wire::Ssrc;
use wire::rtcp::ReportBlock;

use super::adapting::{call, seconds};
use super::world::*;
use crate::Counter;
use crate::limits::OBSERVATIONS_PER_SECOND_MAX;

fn take(world: &mut World) -> Vec<Observation> {
    let observation = |notice| match notice {
        Notice::Observation(observation) => Some(observation),
        _ => None,
    };
    world.take_notices().into_iter().filter_map(observation).collect()
}

#[test]
fn each_layer_switch_is_reported_with_the_layers_before_and_after() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    seconds(&mut world, &mut camera, &mut downlink, 6);
    downlink.link.rate = 800_000;
    seconds(&mut world, &mut camera, &mut downlink, 6);
    let switches = take(&mut world)
        .into_iter()
        .filter_map(|observation| match observation {
            Observation::LayerSwitch {
                subscription,
                from,
                to,
                cause,
            } => Some((subscription, from, to, cause)),
            _ => None,
        });
    let switches: Vec<_> = switches.collect();
    assert_eq!(switches[0].1, None);
    for pair in switches.windows(2) {
        assert_eq!(pair[0].2, pair[1].1.unwrap_or(pair[0].2), "{switches:?}");
        assert_ne!(pair[1].1, Some(pair[1].2), "{switches:?}");
    }
    assert!(
        switches
            .iter()
            .all(|(subscription, ..)| *subscription == SubscriptionId(500))
    );
    let cause = |from: Option<SentLayer>| match from {
        None => SwitchCause::Start,
        Some(_) => SwitchCause::Downlink,
    };
    assert!(
        switches.iter().all(|(_, from, _, said)| *said == Some(cause(*from))),
        "{switches:?}"
    );
    let mut encodings = switches.iter().map(|(_, _, to, _)| to.encoding);
    assert_eq!(encodings.clone().max(), Some(2), "{switches:?}");
    assert_eq!(encodings.next_back(), Some(1), "{switches:?}");
    world.close_all();
}

#[test]
fn probes_are_reported_and_few_in_a_second() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    let transport = world.peers[downlink.peer].transport;
    let mut reported = 0;
    for _ in 0..15 {
        seconds(&mut world, &mut camera, &mut downlink, 1);
        let probes = take(&mut world)
            .into_iter()
            .filter_map(|observation| match observation {
                Observation::Probe { transport, rate, bytes } => Some((transport, rate, bytes)),
                _ => None,
            });
        let probes: Vec<_> = probes.collect();
        assert!(probes.len() <= 2 * OBSERVATIONS_PER_SECOND_MAX as usize, "{probes:?}");
        let is_probe = |probe: &(_, u64, u32)| probe.0 == transport && probe.1 > 0 && probe.2 > 0;
        assert!(probes.iter().all(is_probe), "{probes:?}");
        reported += probes.len() as u64;
    }
    assert!(reported > 0);
    assert_eq!(
        reported + world.count(Counter::ObservationLost),
        world.count(Counter::ProbeSent)
    );
    world.close_all();
}

#[test]
fn losses_are_reported_once_in_each_round_of_reports() {
    let mut world = World::new();
    let (publisher, receiver) = (world.connected_peer(), world.connected_peer());
    let track = world.publish_video(publisher, &[]);
    world.subscribe(receiver, track, 500, BEST);
    for (round, lost) in [(1, 25), (2, 50), (3, 50)] {
        let block = ReportBlock {
            ssrc: Ssrc(500),
            highest_sequence: round * 100,
            cumulative_lost: lost,
            ..ReportBlock::default()
        };
        let mut compound = Vec::new();
        wire::rtcp::write_receiver_report(&mut compound, Ssrc(1), &[block]);
        let path = world.peers[receiver].path;
        world.deliver(path, compound);
        // A round of reports ends between two of these.
        world.live(2_000);
    }
    let loss = Observation::Loss {
        transport: world.peers[receiver].transport,
        direction: Direction::Downlink,
        expected: 100,
        lost: 25,
    };
    let mut losses = take(&mut world);
    losses.retain(|observation| matches!(observation, Observation::Loss { .. }));
    assert_eq!(losses, [loss]);
    world.close_all();
}

#[test]
fn estimates_are_reported_when_they_change_and_now_and_then() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    let transport = world.peers[downlink.peer].transport;
    let estimates = |world: &mut World| -> Vec<DownlinkEstimate> {
        let estimate = |observation| match observation {
            Observation::Estimate {
                transport: of,
                estimate,
            } => (of == transport).then_some(estimate),
            _ => None,
        };
        take(world).into_iter().filter_map(estimate).collect()
    };
    seconds(&mut world, &mut camera, &mut downlink, 10);
    estimates(&mut world);
    seconds(&mut world, &mut camera, &mut downlink, 30);
    let steady = estimates(&mut world);
    assert!((2..=30).contains(&steady.len()), "{steady:?}");
    downlink.link.rate = 400_000;
    seconds(&mut world, &mut camera, &mut downlink, 10);
    let fallen = estimates(&mut world);
    let last = fallen.last().expect("a fall is reported");
    assert!(last.target < 800_000 && last.allocated < last.wanted, "{fallen:?}");
    assert!(fallen.len() <= 11, "one in each round of reports: {fallen:?}");
    world.close_all();
}

#[test]
fn the_address_of_a_peer_is_reported_once() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.live(3_000);
    let path = world.peers[peer].path;
    let transport = world.peers[peer].transport;
    let mut paths = take(&mut world);
    paths.retain(|observation| matches!(observation, Observation::Path { .. }));
    let remote = path.remote;
    let protocol = PathProtocol::Udp;
    let reported = Observation::Path {
        transport,
        remote,
        protocol,
    };
    assert_eq!(paths, [reported]);
    world.close_all();
}

#[test]
fn a_request_for_a_key_frame_is_reported_and_so_is_the_one_to_the_publisher() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    seconds(&mut world, &mut camera, &mut downlink, 6);
    take(&mut world);
    world.send_rtcp(downlink.peer, |writer| _ = writer.pli(Ssrc(500)));
    seconds(&mut world, &mut camera, &mut downlink, 1);
    let seen = take(&mut world);
    let subscription = SubscriptionId(500);
    assert!(
        seen.contains(&Observation::KeyFrameRequest { subscription }),
        "{seen:?}"
    );
    let is_query = |seen: &Observation| matches!(seen, Observation::KeyFrameQuery { attempt: 1, .. });
    assert!(seen.iter().any(is_query), "{seen:?}");
    world.close_all();
}
