//! Tests of the playout delay of receivers with losses.

use std::time::Duration;

use wire::extension::PlayoutDelay;
use wire::rtcp::ReportBlock;
use wire::{RtpPacket, Ssrc};

use super::world::*;
use crate::Counter;

/// A publisher of video and audio, and a receiver of both, as SSRC 500 and 510, that is 50 ms away
/// and asks for some video packets again.
struct Call {
    world: World,
    publisher: usize,
    receiver: usize,
    sequence: u16,
}

impl Call {
    fn new(max: u64) -> Self {
        let mut world = World::with(|config| config.playout_delay_max = Duration::from_millis(max));
        let (publisher, receiver) = (world.connected_peer(), world.connected_peer());
        // So that there is a time 50 ms ago.
        world.advance(100);
        let (video_track, audio_track) = (world.publish_video(publisher, &[]), world.publish_audio(publisher));
        world.subscribe(receiver, video_track, 500, BEST);
        world.subscribe(receiver, audio_track, 510, BEST);
        world.send(publisher, video(11, 1, DELTA));
        world.send(publisher, video(11, 2, KEY));
        Call {
            world,
            publisher,
            receiver,
            sequence: 2,
        }
    }

    /// Plays `seconds` seconds of 100 packets; of each hundred, `lost` are asked for again.
    fn run(&mut self, seconds: u32, lost: u16) {
        for _ in 0..seconds {
            self.report();
            for packet in 0..100 {
                self.sequence += 1;
                self.world.send(self.publisher, video(11, self.sequence, DELTA));
                if packet < lost {
                    self.ask_for_newest(500);
                }
                self.world.live(10);
            }
        }
    }

    fn ask_for_newest(&mut self, ssrc: u32) {
        let of_it = |packet: &&Vec<u8>| RtpPacket::parse(packet).is_ok_and(|packet| packet.ssrc().0 == ssrc);
        let newest = self.world.peers[self.receiver].rtp.iter().rev().find(of_it);
        let sequence = RtpPacket::parse(newest.expect("something was sent"))
            .unwrap()
            .sequence();
        self.world.send_rtcp(self.receiver, |writer| {
            writer.nack(Ssrc(ssrc), [sequence]);
        });
    }

    /// The receiver tells how far away it is.
    fn report(&mut self) {
        let clock = dataplane::Clock {
            origin: self.world.start,
            ntp: wire::NtpTime(3_900_000_000 << 32),
        };
        let sent = self
            .world
            .now
            .checked_sub(Duration::from_millis(50))
            .expect("not at boot");
        let block = ReportBlock {
            ssrc: Ssrc(500),
            last_sender_report: clock.ntp(sent).middle_32(),
            ..ReportBlock::default()
        };
        let mut compound = Vec::new();
        wire::rtcp::write_receiver_report(&mut compound, Ssrc(1), &[block]);
        self.world.deliver(self.world.peers[self.receiver].path, compound);
    }

    /// The number of retransmissions that have arrived.
    fn repairs(&self) -> usize {
        let of_them = |packet: &&Vec<u8>| RtpPacket::parse(packet).is_ok_and(|packet| packet.ssrc().0 == 501);
        self.world.peers[self.receiver].rtp.iter().filter(of_them).count()
    }

    /// The playout delay in the table entry of a replica.
    fn told(&self, ssrc: u32) -> Option<PlayoutDelay> {
        self.world.model.replica_with(ssrc).expect("it is there").playout_delay
    }

    fn shown(&self) -> Duration {
        let transport = self.world.peers[self.receiver].transport;
        let receiver = self.world.agent.receiver(transport);
        receiver.expect("it gets something").playout_delay
    }
}

fn at_least(millis: u64) -> Option<PlayoutDelay> {
    Some(PlayoutDelay::at_least(Duration::from_millis(millis)))
}

#[test]
fn pictures_wait_for_repairs_while_packets_are_lost() {
    let mut call = Call::new(400);
    call.run(5, 0);
    assert_eq!(call.told(500), None);
    call.run(5, 5);
    assert_eq!((call.told(500), call.told(510)), (at_least(150), None));
    assert_eq!(call.shown(), Duration::from_millis(150));
    let track = southbound::TrackId(100);
    call.world.subscribe(call.receiver, track, 520, BEST);
    assert_eq!(call.told(520), at_least(150), "a later subscription has the delay too");
    call.run(14, 0);
    assert_eq!(call.told(500), at_least(150), "for a while");
    call.run(25, 0);
    assert_eq!((call.told(500), call.told(520)), (at_least(0), at_least(0)));
    assert_eq!(call.shown(), Duration::ZERO);
    assert!(call.world.count(Counter::PlayoutDelayChanged) <= 4);
    call.world.close_all();
}

#[test]
fn heavy_loss_sends_each_retransmission_more_than_once() {
    let mut call = Call::new(400);
    let repairs_of_one = |call: &mut Call| {
        call.sequence += 1;
        call.world.send(call.publisher, video(11, call.sequence, DELTA));
        let before = call.repairs();
        let after = |call: &mut Call, millis| {
            call.world.live(millis);
            call.repairs() - before
        };
        call.ask_for_newest(500);
        [after(call, 0), after(call, 25), after(call, 25), after(call, 1_000)]
    };
    call.run(4, 1);
    assert_eq!(repairs_of_one(&mut call), [1, 1, 1, 1]);
    call.run(4, 4);
    assert_eq!(repairs_of_one(&mut call), [1, 2, 2, 2]);
    call.run(4, 15);
    assert_eq!(repairs_of_one(&mut call), [1, 2, 3, 3]);
    call.ask_for_newest(500);
    call.world.close_all();
    call.world.advance(1_000);
}

#[test]
fn an_operator_may_allow_less_or_none() {
    let delay = |max| {
        let mut call = Call::new(max);
        call.run(4, 5);
        call.told(500)
    };
    assert_eq!((delay(100), delay(0)), (at_least(100), None));
}
