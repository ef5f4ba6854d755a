//! Rooms without encryption.

use std::net::SocketAddr;
use std::time::Instant;

use backend_p4::Replication;
use dataplane::{
    Answer, Event, Leg, LegId, Path, Protection, Refused, Replica, ReplicaFormat, ReplicaId, ReplicaOffload,
    ReplicaSnapshot, Rewriting, Stream, StreamFormat, StreamKey, Update, WriteId,
};
use wire::codec::Layer;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, PayloadType, Ssrc};

use crate::bench::{Driver, HOST, Switch, datagram, frame, rtp, until};

pub(crate) const PUBLISHER: &str = "10.0.2.5:4001";
const DESCRIPTOR: u8 = 8;

/// A structure of one spatial and three temporal layers, in the first packet of a key frame.
const L1T3: &str = "800001800214eaa860414d1410208427013f00b3";

pub(crate) fn leg(remote: &str) -> Leg {
    let mut extensions = ExtensionMap::default();
    extensions
        .insert(ExtensionKind::DependencyDescriptor, DESCRIPTOR)
        .unwrap();
    Leg {
        paths: vec![Path {
            local: format!("{HOST}:7882").parse().unwrap(),
            remote: remote.parse().unwrap(),
        }],
        shared: None,
        protection: Protection::Clear,
        extensions_in: extensions,
        extensions_out: extensions,
    }
}

fn payload_type(value: u8) -> PayloadType {
    PayloadType::new(value).unwrap()
}

pub(crate) fn key(ssrc: u32) -> StreamKey {
    StreamKey {
        leg: LegId(1),
        ssrc: Ssrc(ssrc),
    }
}

pub(crate) fn replica(leg: u32, source: u32, payload: u8) -> Replica {
    Replica {
        leg: LegId(leg),
        ssrc: Ssrc(1_000 + leg),
        first_sequence: 70,
        rtx: None,
        formats: vec![ReplicaFormat {
            source: payload_type(payload),
            payload_type: payload_type(payload + 1),
            rtx: None,
            primary_only: false,
        }],
        mid: None,
        playout_delay: None,
        source: Some(key(source)),
        target: Layer::HIGHEST,
        fallback_spatial: None,
        rewriting: Rewriting::LowMemory,
        paused: false,
    }
}

/// A publisher of sound (SSRC 10) and video (11) and three receivers, all refused but for the
/// entries that need no answer.
pub(crate) fn offer_room(driver: &mut Driver) {
    let now = Instant::now();
    for (id, remote) in (1..).zip([PUBLISHER, "10.0.3.5:4002", "10.0.3.5:4003", "10.0.2.5:4004"]) {
        driver
            .rooms
            .offer(now, &Update::SetLeg(LegId(id), leg(remote)))
            .unwrap();
    }
    let streams = [
        (10, MediaKind::Audio, 111, Codec::Opus),
        (11, MediaKind::Video, 98, Codec::Av1),
    ];
    for (ssrc, kind, payload, codec) in streams {
        let format = StreamFormat {
            payload_type: payload_type(payload),
            codec,
            rtx: None,
        };
        let stream = Stream {
            kind,
            formats: vec![format],
            rtx: None,
            mid: None,
            reference: None,
        };
        driver.rooms.offer(now, &Update::SetStream(key(ssrc), stream)).unwrap();
    }
}

pub(crate) fn offer(driver: &mut Driver, id: u32, replica: Replica) {
    let answer = driver
        .rooms
        .offer(Instant::now(), &Update::SetReplica(ReplicaId(id), replica));
    assert!(matches!(answer, Err(Refused::Pending | Refused::Gone)), "{answer:?}");
}

/// The state in which the base releases sound after the packet with this number.
pub(crate) fn released(newest: u16, next: u16) -> ReplicaSnapshot {
    ReplicaSnapshot {
        source: Some(key(10)),
        newest,
        next,
        ..ReplicaSnapshot::default()
    }
}

pub(crate) fn take_over(driver: &mut Driver, id: u32, from: ReplicaSnapshot) {
    let answer = driver
        .rooms
        .take_over(WriteId(u64::from(id)), ReplicaId(id), Some(from), 0);
    assert_eq!(answer, Answer::Pending);
    assert_eq!(driver.taken(), Ok(()));
    assert!(driver.rooms.sends(ReplicaId(id)));
}

/// Copies of a packet of the publisher's for the receivers, of which so many are expected: address,
/// payload type, number, SSRC.
pub(crate) fn copies(switch: &Switch, media: &[u8], expected: usize) -> Vec<(String, u8, u16, u32)> {
    let local = format!("{HOST}:7882");
    let sent = switch.packet(2, &frame(PUBLISHER, &local, media), 1 + expected);
    let mut copies = Vec::new();
    for (port, frame) in sent {
        let (from, to, payload) = datagram(&frame);
        if port == 1 {
            assert_eq!((from, to, &payload[..]), (PUBLISHER.to_owned(), local.clone(), media));
            continue;
        }
        assert_eq!(from, local);
        let number = |at: usize, len: usize| {
            payload[at..at + len]
                .iter()
                .fold(0, |all, byte| all << 8 | u32::from(*byte))
        };
        copies.push((to, payload[1] & 0x7f, number(2, 2) as u16, number(8, 4)));
    }
    copies.sort();
    copies
}

#[test]
fn sound_goes_to_each_receiver_by_every_way_of_replication() {
    for replication in [Replication::Multicast, Replication::Recirculation, Replication::Tree] {
        Switch::each(|switch, at| sound(switch, at, replication));
    }
}

fn sound(switch: &Switch, at: SocketAddr, replication: Replication) {
    let mut driver = Driver::start(at, replication);
    driver.wait_until_connected();
    offer_room(&mut driver);
    let mut expected = Vec::new();
    for (leg, remote) in [(2, "10.0.3.5:4002"), (3, "10.0.3.5:4003"), (4, "10.0.2.5:4004")] {
        offer(&mut driver, leg, replica(leg, 10, 111));
        assert_eq!(driver.candidate().replica, ReplicaId(leg));
        let next = 100 * leg as u16;
        take_over(&mut driver, leg, released(999, next));
        expected.push((remote.to_owned(), 112, next, 1_000 + leg));
        expected.sort();
        let before = 1_000 + leg as u16;
        assert!(
            copies(switch, &rtp(111, 900, 10), 0).is_empty(),
            "it is from before the switch"
        );
        let numbered = copies(switch, &rtp(111, before, 10), expected.len());
        assert_eq!(numbered.len(), expected.len(), "{replication:?}");
        let mine = numbered.iter().find(|(to, ..)| to == remote).unwrap();
        assert_eq!(mine.2, next + (before - 1_000));
    }

    // The numbers are known, and a request for one goes to the publisher by its own.
    let events = until("the numbers are reported", || {
        driver.rooms.nack(Instant::now(), ReplicaId(2), &[203]);
        driver.rooms.poll()
    });
    let expected = Event::NackUpstream {
        stream: key(10),
        sequences: vec![1_003],
    };
    assert_eq!(events, expected);
    let counted = until("the counters are read", || {
        driver
            .rooms
            .replica_statistics(ReplicaId(2))
            .filter(|counted| counted.packets == 3)
    });
    assert_eq!(counted.octets, 3 * 5);
}

#[test]
fn the_numbers_of_a_long_stream_are_known_without_a_change() {
    Switch::each(long_sound);
}

fn long_sound(switch: &Switch, at: SocketAddr) {
    let mut driver = Driver::start(at, Replication::Multicast);
    driver.wait_until_connected();
    offer_room(&mut driver);
    offer(&mut driver, 2, replica(2, 10, 111));
    assert_eq!(driver.candidate().replica, ReplicaId(2));
    take_over(&mut driver, 2, released(999, 200));
    // Beyond the numbers that the first report is good for, with a packet in each 64 of them.
    let newest = (1_000..2_200).step_by(40).inspect(|sequence| {
        let copies = copies(switch, &rtp(111, *sequence, 10), 1);
        assert_eq!(copies.len(), 1, "{sequence}");
    });
    let newest = newest.last().unwrap();
    let asked = until("the newest numbers are reported", || {
        driver.rooms.nack(Instant::now(), ReplicaId(2), &[newest - 800]);
        driver.rooms.poll()
    });
    let expected = Event::NackUpstream {
        stream: key(10),
        sequences: vec![newest],
    };
    assert_eq!(asked, expected);
}

pub(crate) fn video(sequence: u16, descriptor: &[u8]) -> Vec<u8> {
    let mut packet = rtp(98, sequence, 11);
    packet[0] |= 0x10;
    let mut extension = vec![0xbe, 0xde, 0, 0];
    match descriptor.len() {
        len @ 1..=16 => extension.push(DESCRIPTOR << 4 | (len as u8 - 1)),
        len => {
            extension[..2].copy_from_slice(&[0x10, 0]);
            extension.extend([DESCRIPTOR, len as u8]);
        }
    }
    extension.extend(descriptor);
    extension.resize(extension.len().next_multiple_of(4), 0);
    extension[3] = (extension.len() / 4 - 1) as u8;
    packet.splice(12..12, extension);
    packet
}

/// A frame of one packet: its number and its template.
pub(crate) fn plain(frame: u16, template: u8) -> Vec<u8> {
    let [high, low] = frame.to_be_bytes();
    vec![0xc0 | template, high, low]
}

fn structure() -> Vec<u8> {
    key_frame(1)
}

/// A key frame of one packet, with its structure.
pub(crate) fn key_frame(frame: u16) -> Vec<u8> {
    let digits = (0..L1T3.len()).step_by(2);
    let mut bytes: Vec<u8> = digits
        .map(|at| u8::from_str_radix(&L1T3[at..at + 2], 16).unwrap())
        .collect();
    bytes[0] |= 0x40;
    bytes[1..3].copy_from_slice(&frame.to_be_bytes());
    bytes
}

#[test]
fn video_begins_at_a_key_frame_and_its_frame_rate_follows_the_target() {
    Switch::each(in_layers);
}

fn in_layers(switch: &Switch, at: SocketAddr) {
    let mut driver = Driver::start(at, Replication::Multicast);
    driver.wait_until_connected();
    offer_room(&mut driver);
    offer(&mut driver, 2, replica(2, 11, 98));
    // The first key frame tells the layers.
    let candidate = until("the structure has arrived", || {
        assert!(copies(switch, &video(10, &structure()), 0).is_empty());
        driver.rooms.next_candidate()
    });
    assert!(candidate.at_key_frame);
    let from = ReplicaSnapshot {
        next: 70,
        ..ReplicaSnapshot::default()
    };
    take_over(&mut driver, 2, from);
    assert!(
        copies(switch, &video(11, &plain(2, 4)), 0).is_empty(),
        "it waits for a key frame"
    );
    let numbers = |media: Vec<u8>, expected| {
        copies(switch, &media, expected)
            .into_iter()
            .map(|copy| copy.2)
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(video(12, &structure()), 1), [70]);
    let selected = until("the layer is reported", || driver.rooms.poll());
    assert!(
        matches!(
            selected,
            Event::Selected {
                awaits_key_frame: false,
                ..
            }
        ),
        "{selected:?}"
    );
    assert_eq!(numbers(video(13, &plain(2, 4)), 1), [71]);

    let target = Layer {
        spatial: 0,
        temporal: 0,
    };
    let lower = Replica {
        target,
        ..replica(2, 11, 98)
    };
    driver
        .rooms
        .offer(Instant::now(), &Update::SetReplica(ReplicaId(2), lower))
        .unwrap();
    until("the target is written", || {
        let selected = driver.rooms.poll();
        numbers(video(14, &plain(3, 3)), 0);
        let layer = match selected {
            Some(Event::Selected { layer, .. }) => layer,
            _ => return switch_has_target(&driver),
        };
        (layer.temporal == 0).then_some(())
    });
    let higher = video(20, &plain(9, 4));
    assert_eq!(numbers(higher, 0), [0; 0], "only the lowest layer goes out");
}

/// Whether nothing is on its way to the switch: it has had time for that.
fn switch_has_target(driver: &Driver) -> Option<()> {
    std::thread::sleep(std::time::Duration::from_millis(200));
    driver.state().ends_with(": connected").then_some(())
}
