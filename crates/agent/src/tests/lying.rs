//! Receivers with false reports affect nobody but themselves.

use dataplane::{LegId, Replica, ReplicaId};
use wire::rtcp::{ArrivalTicks, TransportFeedbackWriter};
use wire::{SequenceNumber, Ssrc};

use super::downlink::*;
use super::world::*;
use crate::Counter;
use crate::limits::{KEY_FRAMES_MAX, RESENDS_PER_SECOND_MAX};

/// A camera with an honest receiver of it (leg 2) and one that lies (leg 3), after three seconds.
struct Call {
    world: World,
    camera: Camera,
    honest: Downlink,
    liar: Downlink,
}

impl Call {
    fn new() -> Self {
        let mut world = World::new();
        let publisher = world.connected_peer();
        let track = world.publish_video(publisher, &RIDS);
        let [honest, liar] = [500, 600].map(|ssrc| {
            let receiver = world.reporting_peer();
            world.subscribe(receiver, track, ssrc, BEST);
            Downlink::new(&world, receiver, 4_000_000)
        });
        let mut call = Call {
            world,
            camera: Camera::new(publisher, 11),
            honest,
            liar,
        };
        call.play(3_000);
        call
    }

    fn play(&mut self, millis: u64) {
        let Call {
            world,
            camera,
            honest,
            liar,
        } = self;
        let mut downlinks = [honest, liar];
        play_each(world, std::slice::from_mut(camera), &mut downlinks, millis);
    }

    /// The table entries of the honest receiver.
    fn of_the_honest(&self) -> Vec<(ReplicaId, Replica)> {
        self.world.model.replicas_of(LegId(2))
    }

    /// While the lying receiver lies every 20 ms for two seconds, nothing changes for the honest
    /// one.
    fn lie(&mut self, mut lie: impl FnMut(&mut World, usize)) {
        let before = self.of_the_honest();
        for _ in 0..100 {
            lie(&mut self.world, self.liar.peer);
            self.play(20);
            assert_eq!(self.of_the_honest(), before);
        }
        let honest = self
            .world
            .agent
            .receiver(self.world.peers[self.honest.peer].transport)
            .unwrap();
        assert!(honest.downlink.unwrap().estimate.target > 1_500_000);
    }
}

fn feedback(world: &mut World, peer: usize, packets: impl Iterator<Item = (u16, Option<u32>)>) {
    let packets: Vec<_> = packets.map(|(number, at)| (number, at.map(ArrivalTicks))).collect();
    let mut rest = &packets[..];
    let mut writer = TransportFeedbackWriter::new(Ssrc(1), Ssrc(2));
    while !rest.is_empty() {
        let mut datagram = Vec::new();
        rest = writer.write_next(rest, 1_200, &mut datagram);
        world.deliver(world.peers[peer].path, datagram);
    }
}

#[test]
fn packets_that_were_never_sent_are_counted_and_say_nothing() {
    let mut call = Call::new();
    let before = call
        .world
        .agent
        .receiver(call.world.peers[call.liar.peer].transport)
        .unwrap();
    call.lie(|world, peer| {
        feedback(
            world,
            peer,
            (40_000..40_100).map(|number| (number, Some(u32::from(number)))),
        )
    });
    let after = call
        .world
        .agent
        .receiver(call.world.peers[call.liar.peer].transport)
        .unwrap();
    let (before, after) = (before.downlink.unwrap(), after.downlink.unwrap());
    assert!(after.anomalies.unknown >= 10_000, "{after:?}");
    assert!(
        after.estimate.target >= before.estimate.target / 2,
        "{before:?} {after:?}"
    );
}

#[test]
fn an_estimate_of_nothing_or_of_everything_stays_within_bounds() {
    for (claimed, least, most) in [(0, 50_000, 50_000), (1 << 60, 50_000, 30_000_000)] {
        let mut call = Call::new();
        call.lie(|world, peer| {
            world.send_rtcp(peer, |writer| _ = writer.remb(claimed, &[]));
        });
        let liar = call
            .world
            .agent
            .receiver(call.world.peers[call.liar.peer].transport)
            .unwrap();
        let target = liar.downlink.unwrap().estimate.target;
        assert!((least..=most).contains(&target), "{claimed}: {target}");
    }
}

#[test]
fn retransmissions_are_limited() {
    let mut call = Call::new();
    call.lie(|world, peer| {
        world.send_rtcp(peer, |writer| {
            _ = writer.nack(Ssrc(600), (0..2_000).map(SequenceNumber))
        });
    });
    let count = |counter| call.world.count(counter);
    let answered = count(Counter::NackReceived) - count(Counter::NackThrottled);
    assert!(answered <= 3 * u64::from(RESENDS_PER_SECOND_MAX), "{answered}");
}

#[test]
fn a_flood_of_reports_is_not_even_read() {
    let mut call = Call::new();
    call.lie(|world, peer| feedback(world, peer, (0..20_000).map(|number| (number, None))));
    assert!(call.world.count(Counter::RtcpFlood) > 10);
}

#[test]
fn one_receiver_cannot_make_everybody_pay_for_key_frames() {
    let mut call = Call::new();
    let start = call.world.now;
    call.lie(|world, peer| {
        world.send_rtcp(peer, |writer| _ = writer.pli(Ssrc(600)));
    });
    call.play(8_000);
    let publisher = call.camera.peer;
    let asked: usize = (11..14)
        .map(|ssrc| call.world.peers[publisher].plis(ssrc, start).len())
        .sum();
    assert!(asked <= KEY_FRAMES_MAX as usize, "{asked}");
    let throttled = call.world.count(Counter::KeyFrameThrottled);
    assert!(throttled >= 90, "{throttled}");
}
