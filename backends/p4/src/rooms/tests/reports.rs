//! Packets of the switch about replicas.

use super::*;
use crate::counter::Counter;

impl Bench {
    fn report(&mut self, index: u32, epoch: u8, source: u16, sent: u16, layer: u8) {
        let packet = PacketIn {
            reason: 3,
            index,
            epoch,
            source_number: source,
            sent_number: sent,
            frame_number: 40,
            layer,
            frame: frame(&media(sent, 90_000, None)),
            ..PacketIn::default()
        };
        self.core.at(self.now).packet_in(Some(packet));
    }

    fn on_switch(described: bool) -> Self {
        let mut bench = Bench::new();
        bench.legs(2);
        let (key, stream, payload) = match described {
            true => (key(1, 11), av1(), VIDEO),
            false => (key(1, 10), opus(), AUDIO),
        };
        bench.stream(key, stream);
        bench.moved(6, replica(2, 60, key, payload), described);
        bench
    }
}

#[test]
fn the_layer_that_a_receiver_gets_is_an_event() {
    let mut bench = Bench::on_switch(true);
    let selected = |temporal| Event::Selected {
        replica: ReplicaId(6),
        source: key(1, 11),
        layer: Layer { spatial: 0, temporal },
        awaits_key_frame: false,
    };
    bench.report(0, 7, 100, 70, 2);
    assert_eq!(bench.events(), [selected(2)]);
    bench.report(0, 7, 128, 98, 2);
    assert_eq!(bench.events(), []);
    bench.report(0, 7, 140, 105, 1);
    assert_eq!(bench.events(), [selected(1)]);
}

#[test]
fn a_nack_goes_to_the_publisher_by_its_own_numbers() {
    let mut bench = Bench::on_switch(false);
    bench.rooms(|rooms, _| rooms.nack(ReplicaId(6), &[70]));
    assert_eq!(bench.events(), [], "nothing was reported yet");
    bench.report(0, 7, 1_001, 70, 0);
    bench.report(0, 7, 1_088, 157, 0);
    bench.rooms(|rooms, _| rooms.nack(ReplicaId(6), &[80, 81, 60]));
    let expected = Event::NackUpstream {
        stream: key(1, 10),
        sequences: vec![1_011, 1_012],
    };
    assert_eq!(bench.events(), [expected]);
}

#[test]
fn a_replica_that_leaves_continues_after_the_newest_report() {
    let mut bench = Bench::on_switch(true);
    bench.report(0, 7, 100, 500, 2);
    let (now, rooms) = (bench.now, &mut bench.core.rooms);
    let snapshot = rooms
        .on_switch(ReplicaId(6))
        .unwrap()
        .stage
        .began()
        .unwrap()
        .numbers
        .snapshot(now, numbers::SLACK);
    assert_eq!(snapshot.next, 501 + numbers::SLACK);
    assert_eq!(snapshot.frame, Some(40 + numbers::SLACK));
    assert_eq!(
        (snapshot.last.0, snapshot.frame_offset, snapshot.timestamp_offset),
        (90_000, 3, 5)
    );
}

#[test]
fn nonsense_is_counted_and_has_no_effect() {
    let mut bench = Bench::on_switch(true);
    bench.report(0, 6, 100, 500, 2);
    assert_eq!(bench.events(), [], "of an earlier epoch");
    bench.report(63, 7, 100, 500, 2);
    bench.report(40_000, 7, 100, 500, 2);
    let packet = |reason, stream, frame: &[u8]| PacketIn {
        reason,
        stream,
        frame: frame.to_vec(),
        ..PacketIn::default()
    };
    let number = bench.core.rooms.streams[&key(1, 11)].number.unwrap();
    let good = frame(&media(1, 2, Some(&bytes(L1T3))));
    for cut in 0..good.len() - 5 {
        bench.core.packet_in(Some(packet(1, number, &good[..cut])));
    }
    bench.core.packet_in(Some(packet(1, 999, &good)));
    bench.core.packet_in(Some(packet(77, number, &good)));
    bench.core.packet_in(Some(packet(2, 0, &good)));
    bench.core.packet_in(None);
    let counters = &bench.core.counters;
    assert_eq!(counters[Counter::BadReport], 2);
    assert_eq!(counters[Counter::UnknownPacket], 2);
    assert_eq!(counters[Counter::NeighbourIgnored], 1);
    assert!(counters[Counter::BadStructure] > 30);
    assert!(bench.sends(6));
}

#[test]
fn feedback_goes_on_from_leg_to_leg_and_ends_with_either() {
    use dataplane::Reason;

    let mut bench = Bench::on_switch(false);
    let set = |bench: &mut Bench, to: Option<u32>| {
        let answer = bench.rooms(|rooms, context| rooms.set_feedback(context, LegId(2), to.map(LegId)));
        bench.switch.work(&mut bench.core);
        answer
    };
    assert_eq!(set(&mut bench, Some(1)), Ok(()));
    let ip = |text: &str| crate::address::bits(text.parse().unwrap());
    let entries = bench.switch.of(Table::Feedback);
    let host = ip("10.0.1.9");
    assert_eq!(entries[0].0, [ip("10.0.2.5"), 4_002, host, 7_882]);
    assert_eq!(entries[0].1, [host, 7_882, ip("10.0.3.5"), 4_001]);
    let unknown = Refused::Unsupported(Reason::Companion);
    assert_eq!(set(&mut bench, Some(9)), Err(unknown));
    assert!(bench.switch.of(Table::Feedback).is_empty(), "the earlier entry is over");
    assert_eq!(set(&mut bench, Some(1)), Ok(()));
    assert_eq!(set(&mut bench, None), Ok(()));
    assert!(bench.switch.of(Table::Feedback).is_empty());
    assert_eq!(set(&mut bench, Some(1)), Ok(()));
    assert_eq!(bench.switch.of(Table::Feedback).len(), 1);
    bench.rooms(|rooms, context| rooms.remove_leg(context, LegId(1)));
    bench.switch.work(&mut bench.core);
    assert!(bench.switch.of(Table::Feedback).is_empty());
}
