//! The elements written into each copy, and the log, over a cable between sockets, whose checksums
//! are incomplete when packets arrive.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use dataplane::{Event, LegId, Protection, Replica, ReplicaId, ReplicaOffload, Update};
use wire::extension::parse_transport_sequence;
use wire::{ExtensionKind, ExtensionMap, Mid, RtpPacket};

use crate::cable::{Room, leg, replica, with_families};

const LISTENERS: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(3);

fn extensions(kinds: &[(ExtensionKind, u8)]) -> ExtensionMap {
    let mut map = ExtensionMap::default();
    for (kind, id) in kinds {
        map.insert(*kind, *id).unwrap();
    }
    map
}

/// A room whose speaker numbers his packets and says how loud he is, and whose listeners want mids
/// and numbers.
fn stamped(room: &mut Room<'_>) {
    use ExtensionKind::{AbsSendTime, AudioLevel, Mid as MidKind, TransportSequence};
    let speaker = room.speaker.local_addr().unwrap();
    let mut from = leg(room.near, speaker, Protection::Clear);
    from.extensions_in = extensions(&[(AudioLevel, 1), (TransportSequence, 3)]);
    room.offer(Update::SetLeg(LegId(0), from));
    for number in 1..=LISTENERS {
        let listener = room.listeners[number as usize - 1].local_addr().unwrap();
        let mut to = leg(room.near, listener, Protection::Clear);
        to.extensions_out = extensions(&[(MidKind, 9), (AbsSendTime, 2), (TransportSequence, number as u8 + 4)]);
        room.offer(Update::SetLeg(LegId(number), to));
        let mid = Mid::new(&"m".repeat(number as usize)).unwrap();
        let replica = Replica {
            mid: Some(mid),
            ..replica(number)
        };
        room.offer(Update::SetReplica(ReplicaId(number), replica));
    }
}

/// A packet with a header extension of its own, or without.
fn spoken(sequence: u16, extended: bool) -> Vec<u8> {
    let plain = crate::cable::packet(sequence, 300);
    match extended {
        false => plain,
        true => {
            let elements = [0x10, 0x9e, 0x31, 0x0b, sequence as u8, 0, 0, 0];
            let mut packet = [&plain[..12], &[0xbe, 0xde, 0, 2], &elements, &plain[12..]].concat();
            packet[0] |= 0x10;
            packet
        }
    }
}

#[test]
fn each_copy_has_its_receivers_mid_and_number_and_all_of_it_is_logged() {
    with_families(|pair, like| {
        let mut room = Room::new(pair, like, false, LISTENERS);
        stamped(&mut room);
        let (rang, ringing) = mpsc::channel();
        let wake = move || {
            let _ = rang.send(());
        };
        room.fanout.wake_with(std::sync::Arc::new(wake)).unwrap();
        let mut next = BTreeMap::new();
        let since = Instant::now();
        for sequence in 3..23 {
            room.say(&spoken(sequence, sequence % 2 == 1));
            for (number, listener) in (1..).zip(&room.listeners) {
                let mut buffer = [0; 2_000];
                let len = listener.recv(&mut buffer).expect("it arrives");
                let packet = RtpPacket::parse(&buffer[..len]).expect("it can be read");
                assert_eq!(packet.extension(9), Some(&b"mmmm"[..number as usize]));
                assert_eq!(packet.extension(2).map(<[u8]>::len), Some(3));
                let counted = packet.extension(number as u8 + 4).and_then(parse_transport_sequence);
                let next = next.entry(number).or_insert(counted.expect("it has one"));
                assert_eq!(counted, Some(*next), "of {number}");
                *next += 1;
                assert_eq!(packet.extension(1), None, "the level is not for them");
                assert_eq!(packet.payload(), &crate::cable::packet(sequence, 300)[12..]);
            }
        }
        ringing.recv_timeout(PATIENCE).expect("there is a log to be read");
        check_log(&mut room, &next, since);
    });
}

/// `next` says which number each listener's next packet has; all were sent `since`.
fn check_log(room: &mut Room<'_>, next: &BTreeMap<u32, u16>, since: Instant) {
    let (mut arrived, mut left) = (Vec::new(), BTreeMap::<u32, Vec<u16>>::new());
    let mut events = 0;
    let before = Instant::now();
    let is_told = |at: Instant| (since..=before).contains(&at);
    while let Some(event) = room.fanout.poll() {
        events += 1;
        match event {
            Event::Arrivals { leg, arrivals } => {
                assert_eq!(leg, LegId(0));
                arrived.extend(arrivals);
            }
            Event::Departures { leg, departures } => {
                assert!(departures.iter().all(|one| is_told(one.at) && one.size > 300));
                let numbers = departures.iter().map(|one| one.transport_sequence);
                left.entry(leg.0).or_default().extend(numbers);
            }
            _ => {}
        }
    }
    for arrival in &arrived[arrived.len() - 20..] {
        assert!(is_told(arrival.at));
        let says = arrival.sequence % 2 == 1;
        assert_eq!(arrival.audio_level, says.then_some((30, true)));
        assert_eq!(arrival.transport_sequence, says.then_some(0x0b00 | arrival.sequence));
        assert_eq!(arrival.size, if says { 312 } else { 300 });
    }
    for (number, next) in next {
        let all: Vec<u16> = (0..*next).collect();
        assert_eq!(left[number], all, "every number that was used is in the log");
    }
    assert!(events < 30, "they come together");
}

/// There is no padding here: what leaves next leaves several times, each time with a number of its
/// own.
#[test]
fn a_probe_sends_more_to_one_and_nothing_to_others() {
    with_families(|pair, like| {
        let mut room = Room::new(pair, like, false, LISTENERS);
        stamped(&mut room);
        room.say(&spoken(3, false));
        room.listeners.iter().for_each(drain_one);
        assert!(room.fanout.probe(LegId(1), 7, 10_000_000, 3_000, 5));
        for sequence in 4..6 {
            room.say(&spoken(sequence, false));
        }
        let sent_to = |number: usize, count: usize| {
            let mut buffer = [0; 2_000];
            let mut numbers = (0..count).map(|_| {
                let len = room.listeners[number - 1].recv(&mut buffer).expect("it arrives");
                let packet = RtpPacket::parse(&buffer[..len]).expect("it can be read");
                let value = packet.extension(number as u8 + 4).and_then(parse_transport_sequence);
                (packet.sequence().0, value.expect("it has one"))
            });
            let first = numbers.next().expect("one at least");
            let rest: Vec<_> = numbers.collect();
            (first, rest)
        };
        // 3,000 bytes in packets of 320.
        let ((sequence, first), rest) = sent_to(1, 11);
        for (count, (again, number)) in (1..).zip(&rest) {
            assert_eq!(*number, first + count);
            assert_eq!(*again, if count < 10 { sequence } else { sequence + 1 });
        }
        assert_eq!(sent_to(2, 2).1.len(), 1);
        let mut probed = Vec::new();
        while let Some(event) = room.fanout.poll() {
            if let Event::Departures { leg, departures } = event {
                let marked = departures.iter().filter(|one| one.probe == Some(7));
                probed.extend(marked.map(|_| leg));
            }
        }
        assert_eq!(probed, [LegId(1); 10]);
    });
}

#[test]
fn a_slow_probe_is_spread_over_several_packets() {
    with_families(|pair, like| {
        let mut room = Room::new(pair, like, false, LISTENERS);
        stamped(&mut room);
        room.say(&spoken(3, false));
        room.listeners.iter().for_each(drain_one);
        assert!(room.fanout.probe(LegId(1), 7, 400_000, 3_000, 5));
        // At 50 bytes a millisecond, and 20 milliseconds ahead: four packets of 320 bytes, and then
        // the rest.
        let mut probed = Vec::new();
        for sequence in 4..7 {
            room.say(&spoken(sequence, false));
            std::thread::sleep(Duration::from_millis(60));
            let events = std::iter::from_fn(|| room.fanout.poll());
            let marked = events.flat_map(|event| match event {
                Event::Departures { departures, .. } => departures,
                _ => Vec::new(),
            });
            probed.push(marked.filter(|one| one.probe == Some(7)).count());
        }
        assert_eq!(probed, [4, 6, 0]);
    });
}

fn drain_one(listener: &UdpSocket) {
    listener.recv(&mut [0; 2_000]).expect("it arrives");
}
