//! Replicas that move to the switch, change there, and leave it.

use dataplane::Reason;

use super::*;
use crate::table_writer::GROUP_REST;

#[test]
fn sound_moves_with_its_numbers() {
    let mut bench = Bench::new();
    bench.legs(2);
    bench.stream(key(1, 10), opus());
    assert!(
        bench.switch.of(Table::Sender).is_empty(),
        "nobody gets it from the switch"
    );
    bench.moved(5, replica(2, 50, key(1, 10), AUDIO), false);

    let ip = |text: &str| crate::address::bits(text.parse().unwrap());
    let (publisher, host, receiver) = (ip("10.0.3.5"), ip("10.0.1.9"), ip("10.0.2.5"));
    let sender = bench.switch.of(Table::Sender);
    let [number, group, branches, _, described, _] = sender[0].1[..] else {
        panic!()
    };
    assert_eq!(sender[0].0, [publisher, 4_001, host, 7_882, 10]);
    assert_eq!((branches, described), (1, 0), "two parties need no tree");
    assert_eq!(bench.switch.of(Table::Participant), [(&[group, 0][..], &[1, 2][..])]);
    assert_eq!(bench.switch.of(Table::Format)[0].0, [number, AUDIO.into()]);
    let receivers = bench.switch.of(Table::Receiver);
    assert_eq!(receivers[0].0, [1, 2]);
    assert_eq!(
        receivers[0].1[..],
        [0x0200_0000_0002, 0x0200_0001_0002, host, 7_882, receiver, 4_002]
    );
    let index = 0;
    assert_eq!(bench.switch.of(Table::PayloadType), [(&[index, 111][..], &[112][..])]);
    let ids = 2 << (4 * 2) | u128::from(DESCRIPTOR) << (4 * DESCRIPTOR);
    let mid = u128::from(b'7');
    let expected = [index, 7, 50, 0, 1_000, 70, 5, 3, 0, 3, 7, 1, 1, mid, 3, ids];
    assert_eq!(bench.send(5), expected);
    let last = bench.switch.log.last().unwrap();
    assert_eq!(
        last.1.table(),
        Some(Table::Replica),
        "nothing is sent before all is there"
    );
}

#[test]
fn a_described_stream_begins_at_a_key_frame_once_its_structure_is_known() {
    let mut bench = Bench::new();
    bench.legs(2);
    bench.stream(key(1, 11), av1());
    assert_eq!(bench.set(6, replica(2, 60, key(1, 11), VIDEO)), Err(Refused::Pending));
    assert_eq!(bench.candidate(), None, "its layers are not known");
    bench.structure(key(1, 11), L1T3);
    // Spatial, temporal, top, up, enters, above, key frame, back, chain.
    let layers = bench.switch.of(Table::TemplateLayer);
    let layers: Vec<&[u128]> = layers.iter().map(|(_, data)| *data).collect();
    assert_eq!(layers.len(), 5);
    assert_eq!(layers[0], [0, 0, 2, 2, 1, 0, 1, 0, 0]);
    assert_eq!(layers[1][..3], [0, 0, 2]);
    assert_eq!(layers[4][..3], [0, 2, 2]);
    assert_eq!((layers[2][7..]), [2, 0], "two frames back, and the chain of all");
    assert!(
        layers[1..].iter().all(|layer| layer[6] == 0),
        "the others refer to frames"
    );
    bench.structure(key(1, 11), L1T3);
    assert_eq!(bench.candidate(), Some((6, true)));

    let from = ReplicaSnapshot {
        next: 70,
        ..ReplicaSnapshot::default()
    };
    assert_eq!(bench.take_over(6, Some(from)), Answer::Pending);
    let [_, _, _, start, _, next, _, _, method, ..] = bench.send(6)[..] else {
        panic!()
    };
    assert_eq!((start, next, method), (1, 70, 1));

    // A new structure is added, and the one before stays.
    let moved = L1T3.replacen("8000018002", "85000180a2", 1);
    assert_eq!(bench.switch.of(Table::TemplateLayer).len(), 5);
    bench.structure(key(1, 11), &moved);
    assert!(bench.switch.of(Table::TemplateLayer).len() > 5);
}

#[test]
fn a_stream_that_shows_no_structure_is_a_candidate_after_a_while_and_returns() {
    let mut bench = Bench::new();
    bench.legs(2);
    bench.stream(key(1, 11), stream(MediaKind::Video, VIDEO, Codec::H264));
    assert_eq!(bench.set(6, replica(2, 60, key(1, 11), VIDEO)), Err(Refused::Pending));
    bench.pass(STRUCTURE_MAX);
    assert_eq!(bench.candidate(), Some((6, true)));
    bench.take_over(6, Some(ReplicaSnapshot::default()));
    bench.pass(START_MAX);
    assert_eq!(bench.returned(), [6], "nothing it could begin with has arrived");
    bench.pass(LATER + 2 * STRUCTURE_MAX);
    assert_eq!(bench.candidate(), None, "it shows none");
    bench.structure(key(1, 11), L1T3);
    assert_eq!(bench.candidate(), Some((6, true)));
}

#[test]
fn a_target_is_one_write() {
    let mut bench = Bench::new();
    bench.legs(2);
    bench.stream(key(1, 11), av1());
    let entry = replica(2, 60, key(1, 11), VIDEO);
    bench.moved(6, entry.clone(), true);
    let before = bench.send(6);
    let writes = bench.switch.log.len();
    let target = Layer {
        spatial: 0,
        temporal: 1,
    };
    assert_eq!(bench.set(6, Replica { target, ..entry }), Ok(()));
    assert_eq!(bench.switch.log.len(), writes + 1);
    let after = bench.send(6);
    assert_eq!(after[9..11], [0, 1]);
    assert_eq!(
        (&after[..9], &after[11..]),
        (&before[..9], &before[11..]),
        "its state is not begun anew"
    );
}

#[test]
fn another_source_or_a_pause_gives_it_back_after_all_used_numbers() {
    for paused in [false, true] {
        let mut bench = Bench::new();
        bench.legs(2);
        bench.stream(key(1, 11), av1());
        bench.stream(key(1, 12), av1());
        let entry = replica(2, 60, key(1, 11), VIDEO);
        bench.moved(6, entry.clone(), true);
        let changed = match paused {
            true => Replica { paused, ..entry },
            false => Replica {
                source: Some(key(1, 12)),
                ..entry
            },
        };
        let why = if paused {
            Refused::Unsupported(Reason::NoMedia)
        } else {
            Refused::Pending
        };
        assert_eq!(bench.set(6, changed), Err(why));
        assert!(!bench.sends(6) && bench.switch.of(Table::Replica).is_empty());
        let snapshot = bench.rooms(|rooms, _| rooms.snapshot(ReplicaId(6))).unwrap();
        assert_eq!((snapshot.source, snapshot.next), (None, 70 + numbers::SLACK));
        assert_eq!(bench.returned(), [0; 0], "the base knows by the refusal");
        if !paused {
            bench.structure(key(1, 12), L1T3);
            assert_eq!(bench.candidate(), Some((6, true)));
            bench.take_over(6, Some(ReplicaSnapshot::default()));
            let [index, epoch, ..] = bench.send(6)[..] else {
                panic!()
            };
            assert_eq!((index, epoch), (1, 7), "the first index rests");
        }
    }
}

#[test]
fn streams_of_a_room_share_a_group_that_is_never_changed() {
    let mut bench = Bench::new();
    bench.legs(4);
    for publisher in 1..=4 {
        bench.stream(key(publisher, 10), opus());
    }
    let mut id = 0;
    for receiver in 1..=4 {
        for publisher in (1..=4).filter(|publisher| *publisher != receiver) {
            id += 1;
            bench.moved(id, replica(receiver, 100 + id, key(publisher, 10), AUDIO), false);
        }
    }
    // Earlier groups rest before they are deleted.
    bench.pass(2 * GROUP_REST);
    let groups = bench.switch.groups();
    assert_eq!(
        groups.values().collect::<Vec<_>>(),
        [&vec![2, 4, 1, 3]],
        "one group of all, by port"
    );
    let group = u128::from(*groups.keys().next().unwrap());
    assert!(bench.switch.of(Table::Sender).iter().all(|(_, data)| data[1] == group));
    assert!(bench.switch.of(Table::Participant).is_empty());

    bench.switch.log.clear();
    bench.rooms(|rooms, context| rooms.remove_leg(context, LegId(4)));
    bench.switch.work(&mut bench.core);
    assert!(
        !bench
            .switch
            .log
            .iter()
            .any(|(op, key)| *op == Op::Modify && matches!(key, Key::Group(_)))
    );
    bench.pass(2 * GROUP_REST);
    assert_eq!(bench.switch.groups().len(), 1);
    assert_eq!(bench.switch.of(Table::Replica).len(), 6);
    for leg in 1..=3 {
        bench.rooms(|rooms, context| rooms.remove_leg(context, LegId(leg)));
    }
    bench.pass(2 * GROUP_REST);
    let left = bench
        .switch
        .entries
        .keys()
        .filter(|key| !matches!(key, Key::Session(_) | Key::Entry(Table::Nexthop, _)));
    assert_eq!(left.count(), 0, "{:?}", bench.switch.entries);
}

#[test]
fn a_receiver_that_moves_to_another_port_is_in_another_group() {
    let mut bench = Bench::new();
    bench.legs(3);
    bench.stream(key(1, 10), opus());
    bench.moved(1, replica(2, 50, key(1, 10), AUDIO), false);
    bench.moved(2, replica(3, 50, key(1, 10), AUDIO), false);
    let mut moved = leg(2);
    moved.paths[0].remote = "10.0.3.77:1".parse().unwrap();
    bench
        .rooms(|rooms, context| rooms.set_leg(context, LegId(2), moved))
        .unwrap();
    bench.pass(2 * GROUP_REST);
    assert!(bench.sends(1) && bench.sends(2));
    let ports = bench.switch.entries.iter().find_map(|(key, value)| match (key, value) {
        (Key::Group(_), Value::Copies(copies)) => Some(copies.iter().map(|(port, _)| *port).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(ports, Some(vec![3, 3]));
}

#[test]
fn each_replica_that_the_switch_cannot_send_has_a_reason() {
    type Change = fn(&mut Leg, &mut Stream, &mut Leg, &mut Replica);
    let cases: [(Change, Reason); 14] = [
        (
            |from, _, _, _| from.paths[0].remote = "[2001:db8:2::5]:9".parse().unwrap(),
            Reason::Families,
        ),
        (|_, stream, _, _| stream.rtx = Some(Ssrc(99)), Reason::Retransmissions),
        (
            |_, _, _, replica| replica.rtx = Some((Ssrc(99), 1)),
            Reason::Retransmissions,
        ),
        (|_, stream, _, _| stream.formats[0].codec = Codec::H265, Reason::Codec),
        (|_, _, _, replica| replica.formats[0].primary_only = true, Reason::Codec),
        (|_, _, _, replica| replica.fallback_spatial = Some(0), Reason::Codec),
        (
            |from, stream, _, replica| {
                from.extensions_in = ExtensionMap::default();
                stream.formats[0].codec = Codec::Vp8;
                replica.target.temporal = 1;
            },
            Reason::Codec,
        ),
        (
            |_, _, to, _| to.extensions_out.insert(ExtensionKind::TransportSequence, 5).unwrap(),
            Reason::Extensions,
        ),
        (|_, _, _, replica| replica.mid = Mid::new("long"), Reason::Extensions),
        (
            |from, _, to, _| {
                from.extensions_in.insert(ExtensionKind::VideoOrientation, 9).unwrap();
                to.extensions_out.insert(ExtensionKind::VideoOrientation, 15).unwrap();
            },
            Reason::Extensions,
        ),
        (
            |from, _, to, _| {
                from.extensions_in.insert(ExtensionKind::VideoOrientation, 16).unwrap();
                to.extensions_out.insert(ExtensionKind::VideoOrientation, 9).unwrap();
            },
            Reason::Extensions,
        ),
        (
            |_, _, to, _| {
                to.extensions_out = ExtensionMap::default();
                to.extensions_out.insert(ExtensionKind::AbsSendTime, 15).unwrap();
            },
            Reason::Extensions,
        ),
        (
            |_, _, to, _| to.paths[0].local = "10.0.2.9:7882".parse().unwrap(),
            Reason::Addresses,
        ),
        (|_, _, _, replica| replica.source = None, Reason::NoMedia),
    ];
    for (place, (change, reason)) in cases.into_iter().enumerate() {
        let mut bench = Bench::new();
        let (mut from, mut to, mut stream) = (leg(1), leg(2), av1());
        let mut entry = replica(2, 60, key(1, 11), VIDEO);
        change(&mut from, &mut stream, &mut to, &mut entry);
        let _ = bench.rooms(|rooms, context| rooms.set_leg(context, LegId(1), from));
        let _ = bench.rooms(|rooms, context| rooms.set_leg(context, LegId(2), to));
        let _ = bench.rooms(|rooms, context| rooms.set_stream(context, key(1, 11), stream));
        assert_eq!(bench.set(6, entry), Err(Refused::Unsupported(reason)), "case {place}");
        assert!(bench.switch.of(Table::Sender).is_empty());
    }
}

#[test]
fn a_base_that_cannot_release_it_is_asked_again_later() {
    let mut bench = Bench::new();
    bench.legs(2);
    bench.stream(key(1, 10), opus());
    bench.set(5, replica(2, 50, key(1, 10), AUDIO)).unwrap_err();
    assert_eq!(bench.candidate(), Some((5, false)));
    let companion = Refused::Unsupported(Reason::Companion);
    assert_eq!(bench.take_over(5, None), Answer::Refused(companion));
    assert_eq!(bench.candidate(), None);
    bench.pass(AGAIN);
    assert_eq!(bench.candidate(), Some((5, false)));
    // Another replica of the same stream to the same leg is not told apart by the switch.
    assert_eq!(bench.set(6, replica(2, 51, key(1, 10), AUDIO)), Err(companion));
}

#[test]
fn vp8_whose_picture_ids_were_changed_stays_in_the_base() {
    let one = stream(MediaKind::Video, VIDEO, Codec::Vp8);
    let mut several = stream(MediaKind::Video, VIDEO + 1, Codec::H264);
    several.formats.extend(one.formats.clone());
    for stream in [one, several] {
        stays_with_changed_picture_ids(stream);
    }
}

fn stays_with_changed_picture_ids(stream: Stream) {
    let mut bench = Bench::new();
    let mut from = leg(1);
    from.extensions_in = ExtensionMap::default();
    bench.legs(2);
    bench
        .rooms(|rooms, context| rooms.set_leg(context, LegId(1), from))
        .unwrap();
    bench.stream(key(1, 11), stream);
    bench.set(6, replica(2, 60, key(1, 11), VIDEO)).unwrap_err();
    assert_eq!(bench.candidate(), Some((6, false)));
    let from = ReplicaSnapshot {
        source: Some(key(1, 11)),
        picture_offset: 1,
        ..ReplicaSnapshot::default()
    };
    assert_eq!(
        bench.take_over(6, Some(from)),
        Answer::Refused(Refused::Unsupported(Reason::Codec))
    );
}
