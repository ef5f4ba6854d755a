//! Bursts that find out what a path carries.

use dataplane::{Counter, DataPlane, Departure, Inject, LegId, Update};
use wire::Ssrc;

use crate::call::*;
use crate::support::*;

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
fn a_probe_ends_when_its_padding_replica_is_removed() {
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

fn probe(probe: u32, rate: u64, bytes: u32, packets: u32) -> Inject<'static> {
    Inject::Probe {
        leg: LegId(1),
        probe,
        rate,
        bytes,
        packets,
    }
}
