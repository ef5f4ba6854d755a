//! What leaves on a leg with a pace, in which order and when.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use backend_udp::InlinePlane;
use dataplane::{
    Counter, DataPlane, Departure, Egress, Event, Ingress, Inject, LegId, Model, Path, Protection, ReplicaId,
    SrtpProfile, Update, Verdict,
};
use proptest::prelude::*;
use support::*;
use wire::{RtpPacket, Ssrc};

const VIDEO: u32 = 0x11;
const AUDIO: u32 = 0x22;
const SIZE: usize = 1_000;
const PROFILE: SrtpProfile = SrtpProfile::AeadAes128Gcm;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn publisher() -> Path {
    path("10.0.0.1:7882", "10.0.1.1:1")
}

fn receiver(number: u32) -> Path {
    path("10.0.0.1:7882", &format!("10.0.2.{number}:2"))
}

/// What one receiver saw of a packet.
#[derive(Clone, Debug)]
struct Got {
    at: Instant,
    leg: LegId,
    ssrc: Ssrc,
    sequence: u16,
    transport: u16,
    payload: Vec<u8>,
    len: usize,
    clear: Vec<u8>,
}

/// A call whose receivers open what they get. Leg 0 sends to leg 1, which has a pace, and to leg 2, which has none.
struct Call {
    plane: InlinePlane,
    peers: HashMap<LegId, Peer>,
    start: Instant,
    now: Instant,
    got: Vec<Got>,
    video: u16,
    audio: u16,
}

impl Call {
    fn new(shards: usize, pace: u64) -> Self {
        let now = Instant::now();
        let mut plane = InlinePlane::new(shards, clock());
        set_leg(&mut plane, 0, publisher(), Protection::Clear);
        set_stream(&mut plane, stream_key(0, VIDEO), video());
        set_stream(&mut plane, stream_key(0, AUDIO), audio());
        let mut peers = HashMap::new();
        for number in 1..=2 {
            set_leg(&mut plane, number, receiver(number), srtp(PROFILE, number as u8));
            peers.insert(LegId(number), Peer::new(PROFILE, number as u8));
            set_replica(&mut plane, number, replica(number, 1_000, stream_key(0, VIDEO)));
            set_replica(&mut plane, 10 + number, replica(number, 2_000, stream_key(0, AUDIO)));
        }
        let mut call = Call {
            plane,
            peers,
            start: now,
            now,
            got: Vec::new(),
            video: 0,
            audio: 0,
        };
        call.write(Update::SetPace(LegId(1), Some(pace)));
        call
    }

    fn write(&mut self, update: Update) {
        self.plane.write(self.now, update).unwrap();
        self.take();
    }

    fn send_video(&mut self, frame: u8) {
        self.video += 1;
        let packet = vp8(VIDEO, self.video, frame, SIZE);
        assert_eq!(self.plane.packet(self.now, 0, publisher(), &packet), Verdict::Forward);
        self.take();
    }

    fn send_audio(&mut self) {
        self.audio += 1;
        let packet = rtp(AUDIO, AUDIO_TYPE, self.audio, b"sound");
        self.plane.packet(self.now, 0, publisher(), &packet);
        self.take();
    }

    /// Takes everything away from leg 1 that it could be sent.
    fn remove_replicas(&mut self) {
        self.write(Update::RemoveReplica(ReplicaId(1)));
        self.write(Update::RemoveReplica(ReplicaId(11)));
    }

    fn inject(&mut self, what: Inject<'_>) {
        self.plane.inject(self.now, what);
        self.take();
    }

    /// Runs until `end`, waking up at the millisecond behind the time asked for, as a thread does.
    fn run_until(&mut self, end: Duration) {
        let end = self.start + end;
        while let Some(due) = self.plane.due().filter(|due| *due < end) {
            let late = due.saturating_duration_since(self.now).as_nanos().div_ceil(1_000_000);
            assert!(late > 0, "it spins");
            self.now += ms(late as u64);
            self.plane.advance(self.now);
            self.take();
        }
        self.now = self.now.max(end);
    }

    fn take(&mut self) {
        for egress in self.plane.take_sent() {
            let leg = egress.leg.unwrap();
            let opened = self.peers.get_mut(&leg).unwrap().open(&egress.bytes);
            let view = RtpPacket::parse(&opened).unwrap();
            let transport = view.extension(3).unwrap();
            self.got.push(Got {
                at: self.now,
                leg,
                ssrc: view.ssrc(),
                sequence: view.sequence().0,
                transport: u16::from_be_bytes([transport[0], transport[1]]),
                payload: view.payload().to_vec(),
                len: egress.bytes.len(),
                clear: opened,
            });
        }
    }

    /// What the receiver with the pace got.
    fn paced(&self) -> Vec<Got> {
        let got = self.got.iter().filter(|got| got.leg == LegId(1));
        got.cloned().collect()
    }

    fn departures(&mut self) -> Vec<Departure> {
        let events = events(&mut self.plane).into_iter();
        let departures = events.filter_map(|event| match event {
            Event::Departures {
                leg: LegId(1),
                departures,
            } => Some(departures),
            _ => None,
        });
        departures.flatten().collect()
    }

    fn sequences(&self, ssrc: u32) -> Vec<u16> {
        let got = self.paced().into_iter().filter(|got| got.ssrc == Ssrc(ssrc));
        got.map(|got| got.sequence).collect()
    }
}

#[test]
fn a_key_frame_leaves_at_the_pace_and_nobody_else_waits() {
    for shards in 1..=3 {
        let mut call = Call::new(shards, 1_000_000);
        (0..40).for_each(|_| call.send_video(KEY_FRAME));
        let unpaced = call.got.iter().filter(|got| got.leg == LegId(2)).count();
        assert_eq!(unpaced, 40);
        call.run_until(ms(1_000));
        let paced = call.paced();
        assert_eq!(paced.len(), 40);
        let bits: usize = paced.iter().map(|got| got.len * 8).sum();
        let took = (paced[39].at - paced[0].at).as_secs_f64();
        let rate = bits as f64 / took;
        assert!((1_000_000.0..1_050_000.0).contains(&rate), "{rate} bit/s");
        assert_eq!(call.sequences(1_000), (100..140).collect::<Vec<_>>());
    }
}

#[test]
fn departures_say_when_a_packet_left_and_their_numbers_have_no_gap() {
    let mut call = Call::new(2, 500_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    for step in 0..10 {
        call.run_until(ms(step * 20));
        call.send_audio();
    }
    call.run_until(ms(1_000));
    let (paced, departures) = (call.paced(), call.departures());
    assert_eq!((paced.len(), departures.len()), (20, 20));
    for (number, (got, departure)) in paced.iter().zip(&departures).enumerate() {
        assert_eq!(
            (got.transport, departure.transport_sequence),
            (number as u16, number as u16)
        );
        assert_eq!((got.at, got.len), (departure.at, usize::from(departure.size)));
        assert_eq!(departure.probe, None);
    }
}

#[test]
fn audio_overtakes_and_so_does_what_was_asked_for_again() {
    let mut call = Call::new(1, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.inject(Inject::Resend {
        replica: ReplicaId(1),
        sequences: &[100],
    });
    call.send_audio();
    call.run_until(ms(700));
    let ssrcs: Vec<u32> = call.paced().iter().map(|got| got.ssrc.0).collect();
    assert_eq!(ssrcs[..5], [1_000, 2_000, 1_001, 1_000, 1_000]);
    assert_eq!(ssrcs.len(), 12);
    let resent = &call.paced()[2];
    assert_eq!(
        (resent.sequence, &resent.payload[..2]),
        (200, &100_u16.to_be_bytes()[..])
    );
    assert_eq!(call.plane.counters()[Counter::Resent], 1);
}

#[test]
fn what_waits_goes_with_its_replica_and_nothing_else_does() {
    let mut call = Call::new(1, 200_000);
    set_replica(&mut call.plane, 3, replica(1, 3_000, stream_key(0, VIDEO)));
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.inject(Inject::Resend {
        replica: ReplicaId(1),
        sequences: &[100, 101],
    });
    call.write(Update::RemoveReplica(ReplicaId(1)));
    // It takes the place in the tables of the one that is gone.
    set_replica(&mut call.plane, 4, replica(1, 4_000, stream_key(0, VIDEO)));
    (0..2).for_each(|_| call.send_video(KEY_FRAME));
    call.run_until(ms(1_500));
    assert_eq!(call.sequences(1_000), [100]);
    assert_eq!(call.sequences(1_001), [0; 0]);
    assert_eq!(call.sequences(3_000), (100..112).collect::<Vec<_>>());
    assert_eq!(call.sequences(4_000), [100, 101]);
}

#[test]
fn what_waits_outlives_its_source() {
    let mut call = Call::new(2, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.write(Update::RemoveStream(stream_key(0, VIDEO)));
    set_stream(&mut call.plane, stream_key(0, VIDEO), video());
    set_replica(&mut call.plane, 1, replica(1, 1_000, stream_key(0, VIDEO)));
    call.video = 700;
    (0..3).for_each(|_| call.send_video(KEY_FRAME));
    call.run_until(ms(1_500));
    assert_eq!(call.sequences(1_000), (100..113).collect::<Vec<_>>());
}

#[test]
fn a_leg_that_goes_takes_everything_with_it() {
    let mut call = Call::new(1, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.write(Update::RemoveLeg(LegId(1)));
    call.run_until(ms(1_000));
    assert_eq!(call.paced().len(), 1);
    call.plane.advance(call.now);
    assert!(call.plane.due().is_none_or(|due| due > call.now));
}

#[test]
fn without_a_pace_nothing_waits_any_more() {
    let mut call = Call::new(1, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    assert_eq!(call.paced().len(), 1);
    call.write(Update::SetPace(LegId(1), None));
    assert_eq!(call.sequences(1_000), (100..110).collect::<Vec<_>>());
}

#[test]
fn a_leg_that_loses_its_keys_loses_what_waits() {
    let mut call = Call::new(1, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.write(Update::SetLeg(LegId(1), leg(receiver(1), Protection::Pending)));
    call.run_until(ms(1_000));
    assert_eq!(call.paced().len(), 1);
    assert_eq!(call.plane.counters()[Counter::NotReady], 9);
}

#[test]
fn too_much_is_dropped_and_counted() {
    let mut call = Call::new(1, 200_000);
    let packets = pacing::limits::BYTES_MAX / SIZE + 100;
    for _ in 0..packets {
        call.video += 1;
        let packet = vp8(VIDEO, call.video, KEY_FRAME, SIZE);
        call.plane.packet(call.now, 0, publisher(), &packet);
    }
    call.take();
    call.run_until(ms(1_000));
    let dropped = call.plane.counters()[Counter::PaceQueueFull] as usize;
    assert!(dropped > 100, "{dropped}");
    assert_eq!(call.paced().len() + dropped, packets);
    assert!(call.now - call.start >= ms(500));
    let last = call.paced().last().unwrap().at;
    assert!(last - call.start <= ms(501), "{:?}", last - call.start);
}

#[test]
fn a_probe_is_media_and_padding_at_its_own_rate() {
    let mut call = Call::new(2, 300_000);
    (0..4).for_each(|_| call.send_video(KEY_FRAME));
    call.inject(probe(7, 2_000_000, 10_000, 5));
    call.run_until(ms(20));
    call.send_audio();
    call.run_until(ms(1_000));
    let departures = call.departures();
    let probed: Vec<&Departure> = departures
        .iter()
        .filter(|departure| departure.probe == Some(7))
        .collect();
    let bytes: usize = probed.iter().map(|departure| usize::from(departure.size)).sum();
    assert!((10_000..10_300).contains(&bytes), "{bytes}");
    let took = (probed.last().unwrap().at - probed[0].at).as_secs_f64();
    let rate = (bytes as f64) * 8.0 / took;
    assert!((1_950_000.0..2_150_000.0).contains(&rate), "{rate} bit/s");
    let media = probed.iter().filter(|departure| usize::from(departure.size) > SIZE);
    assert_eq!(media.count(), 3);
    let padding = call.paced().into_iter().filter(|got| got.ssrc == Ssrc(1_001));
    let sequences: Vec<u16> = padding
        .inspect(|got| assert!(got.payload.is_empty()))
        .map(|got| got.sequence)
        .collect();
    assert_eq!(sequences, (200..200 + sequences.len() as u16).collect::<Vec<_>>());
    assert_eq!(call.plane.counters()[Counter::Probed], sequences.len() as u64);
    let numbers = departures.iter().map(|departure| departure.transport_sequence);
    assert!(numbers.eq(0..departures.len() as u16));
}

#[test]
fn a_leg_without_a_pace_sends_a_probe_at_once() {
    let mut call = Call::new(1, 300_000);
    call.write(Update::SetPace(LegId(1), None));
    call.send_video(KEY_FRAME);
    call.inject(probe(3, 1_000_000, 1_000, 10));
    let probes: Vec<Option<u32>> = call.departures().iter().map(|departure| departure.probe).collect();
    assert_eq!(probes[0], None);
    assert_eq!(probes[1..], [Some(3); 10]);
    call.inject(probe(4, 1_000_000, u32::MAX, 0));
    assert_eq!(call.plane.counters()[Counter::Probed], 10 + 256);
}

#[test]
fn a_leg_that_has_nothing_to_pad_with_sends_no_probe() {
    let mut call = Call::new(1, 300_000);
    call.remove_replicas();
    call.inject(probe(1, 1_000_000, 10_000, 10));
    call.write(Update::SetPace(LegId(1), None));
    call.inject(probe(2, 1_000_000, 10_000, 10));
    call.run_until(ms(100));
    assert!(call.paced().is_empty());
    let counters = call.plane.counters();
    assert_eq!((counters[Counter::Probed], counters[Counter::NoRetransmission]), (0, 2));
}

#[test]
fn a_probe_ends_when_the_replica_it_pads_with_goes() {
    let mut call = Call::new(1, 300_000);
    call.send_video(KEY_FRAME);
    call.inject(probe(1, 1_000_000, 20_000, 10));
    call.run_until(ms(50));
    call.remove_replicas();
    call.run_until(ms(500));
    let counters = call.plane.counters();
    assert_eq!(counters[Counter::NoRetransmission], 1);
    assert!(
        (10..30).contains(&counters[Counter::Probed]),
        "{}",
        counters[Counter::Probed]
    );
}

/// What a receiver can tell packets by, whenever they come: of retransmissions what they repeat, since their own numbers are given when they leave.
fn told_apart(clear: &[u8]) -> (Ssrc, u16, u32, Vec<u8>) {
    let view = RtpPacket::parse(clear).unwrap();
    let repeats = view.ssrc().0 % 2 == 1 && !view.payload().is_empty();
    let number = match repeats {
        true => u16::from_be_bytes([view.payload()[0], view.payload()[1]]),
        false => view.sequence().0,
    };
    (view.ssrc(), number, view.timestamp().0, view.payload().to_vec())
}

/// The model and a device with a pace, with the same entries and the same packets.
struct Compared {
    model: Model,
    call: Call,
    of_model: Vec<Egress>,
}

impl Compared {
    fn new(shards: usize) -> Self {
        let mut model = Model::new(clock());
        set_leg(&mut model, 0, publisher(), Protection::Clear);
        set_stream(&mut model, stream_key(0, VIDEO), video());
        set_stream(&mut model, stream_key(0, AUDIO), audio());
        for number in 1..=2 {
            set_leg(&mut model, number, receiver(number), Protection::Clear);
            set_replica(&mut model, number, replica(number, 1_000, stream_key(0, VIDEO)));
            set_replica(&mut model, 10 + number, replica(number, 2_000, stream_key(0, AUDIO)));
        }
        Compared {
            model,
            call: Call::new(shards, 500_000),
            of_model: Vec::new(),
        }
    }

    fn packet(&mut self, bytes: &[u8]) {
        let now = self.call.now;
        let path = publisher();
        let verdict = self.model.packet(now, Ingress { path, bytes }, &mut self.of_model);
        assert_eq!(self.call.plane.packet(now, 0, path, bytes), verdict);
        self.call.take();
    }

    fn write(&mut self, update: Update) {
        self.model.write(self.call.now, update.clone()).unwrap();
        self.call.write(update);
    }

    /// A leg with a pace has sent all it had to by now.
    fn check(&mut self) {
        self.of_model.extend(self.model.take_injected());
        let of_model = self.of_model.iter().filter(|egress| egress.leg == Some(LegId(1)));
        let mut expected: Vec<_> = of_model.map(|egress| told_apart(&egress.bytes)).collect();
        let mut got: Vec<_> = self.call.paced().iter().map(|got| told_apart(&got.clear)).collect();
        // Among those of one SSRC the order counts.
        expected.sort_by_key(|packet| packet.0);
        got.sort_by_key(|packet| packet.0);
        assert_eq!(got, expected);
        let (model, device) = (self.model.counters(), self.call.plane.counters());
        for counter in Counter::ALL {
            assert_eq!(device[*counter], model[*counter], "{}", counter.name());
        }
    }
}

proptest! {
    /// With a pace the same packets leave as without, later; each SSRC's in the same order.
    #[test]
    fn a_device_with_a_pace_sends_what_the_model_sends(
        shards in 1usize..4,
        steps in prop::collection::vec((0u8..16, any::<u16>()), 1..150),
    ) {
        let mut compared = Compared::new(shards);
        for (what, value) in steps {
            match what {
                0..=7 => {
                    compared.call.video += 1 + u16::from(value % 16 == 0);
                    let frame = if value % 3 == 0 { KEY_FRAME } else { DELTA_FRAME };
                    compared.packet(&vp8(VIDEO, compared.call.video, frame, 200 + usize::from(value % 1_000)));
                }
                8..=9 => {
                    compared.call.audio += 1;
                    compared.packet(&rtp(AUDIO, AUDIO_TYPE, compared.call.audio, b"sound"));
                }
                10 => {
                    let sequences = [100 + value % 50, 100 + value % 30];
                    let resend = Inject::Resend { replica: ReplicaId(1), sequences: &sequences };
                    compared.model.inject(compared.call.now, resend);
                    compared.call.inject(resend);
                }
                11 => {
                    let pace = 100_000 + 20 * u64::from(value);
                    let pace = Some(pace).filter(|_| value % 8 != 0);
                    compared.write(Update::SetPace(LegId(1), pace));
                }
                12 => {
                    let mut entry = replica(1, 1_000, stream_key(0, VIDEO));
                    entry.paused = value % 2 == 0;
                    compared.write(Update::SetReplica(ReplicaId(1), entry));
                }
                _ => {
                    let end = compared.call.now - compared.call.start + Duration::from_micros(u64::from(value));
                    compared.call.run_until(end);
                }
            }
        }
        let end = compared.call.now - compared.call.start + ms(600);
        compared.call.run_until(end);
        compared.check();
    }
}

fn probe(probe: u32, rate: u64, bytes: u32, packets: u32) -> Inject<'static> {
    Inject::Probe {
        leg: LegId(1),
        probe,
        rate,
        bytes,
        packets,
    }
}
