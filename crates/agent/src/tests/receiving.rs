//! Requests and reports to publishers, and the table entries of their streams.

use super::world::*;
use crate::Counter;
use southbound::{Command, Notice, TrackId};
use std::time::Duration;
use wire::rtcp::RtcpPacket;
use wire::{NtpTime, Ssrc};

#[test]
fn media_that_comes_before_its_publication_is_bound_when_it_is_announced() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.send(
        peer,
        Packet {
            rid: "f",
            ..video(11, 1, KEY)
        },
    );
    assert_eq!((world.count(Counter::StreamUnexplained), world.model.len().1), (1, 0));
    let track = world.publish_video(peer, &["q", "f"]);
    assert_eq!(world.model.len().1, 1);
    world.send(
        peer,
        Packet {
            rid: "f",
            ..video(11, 2, KEY)
        },
    );
    let notices = world.take_notices();
    assert!(notices.contains(&Notice::TrackStarted { track }));
    assert!(notices.contains(&Notice::Encodings { track, active: 0b10 }));
    world.close_all();
}

#[test]
fn retransmissions_are_found_by_their_repaired_rid() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &["q", "f"]);
    world.send(
        peer,
        Packet {
            rid: "f",
            ..video(11, 1, KEY)
        },
    );
    world.send(
        peer,
        Packet {
            payload_type: VP8_RTX,
            repaired_rid: "f",
            ..video(12, 1, &[0, 0])
        },
    );
    let key = dataplane::StreamKey {
        leg: dataplane::LegId(1),
        ssrc: Ssrc(11),
    };
    assert_eq!(world.model.stream(key).unwrap().rtx, Some(Ssrc(12)));
}

/// RFC 8843 section 9.2: the mid counts before what was known of the SSRC.
#[test]
fn an_ssrc_moves_to_the_media_section_that_its_packets_name() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    let sound = world.publish_audio(peer);
    let key = dataplane::StreamKey {
        leg: dataplane::LegId(1),
        ssrc: Ssrc(11),
    };
    let mid = |world: &World| world.model.stream(key).and_then(|stream| stream.mid);
    world.send(peer, video(11, 1, KEY));
    assert_eq!(mid(&world), wire::Mid::new("0"));
    world.send(
        peer,
        Packet {
            mid: "7",
            ..video(11, 2, DELTA)
        },
    );
    assert_eq!(mid(&world), wire::Mid::new("0"), "nothing is known of that section");
    assert_eq!(world.count(Counter::StreamUnexplained), 1);
    world.take_notices();
    for sequence in 3..5 {
        world.send(
            peer,
            Packet {
                ssrc: 11,
                ..audio(sequence, 20)
            },
        );
    }
    assert_eq!(mid(&world), wire::Mid::new("1"));
    assert!(world.take_notices().contains(&Notice::TrackStarted { track: sound }));
    world.send(peer, video(11, 2, DELTA));
    assert_eq!(mid(&world), wire::Mid::new("1"), "a late packet moves nothing");
    world.close_all();
}

#[test]
fn an_encoding_that_stops_is_said_to_have_stopped() {
    let mut world = World::new();
    let peer = world.connected_peer();
    let track = world.publish_video(peer, &["q", "f"]);
    world.send(
        peer,
        Packet {
            rid: "q",
            ..video(11, 1, KEY)
        },
    );
    world.send(
        peer,
        Packet {
            rid: "f",
            ..video(12, 1, KEY)
        },
    );
    world.send(
        peer,
        Packet {
            rid: "q",
            ..video(11, 2, KEY)
        },
    );
    world.send(
        peer,
        Packet {
            rid: "f",
            ..video(12, 2, KEY)
        },
    );
    for sequence in 3..30 {
        world.send(
            peer,
            Packet {
                rid: "q",
                ..video(11, sequence, DELTA)
            },
        );
        world.advance(100);
    }
    let active: Vec<u8> = world
        .take_notices()
        .iter()
        .filter_map(|notice| match notice {
            Notice::Encodings { active, .. } => Some(*active),
            _ => None,
        })
        .collect();
    assert_eq!(active, [0b01, 0b11, 0b01]);
    world.command(Command::Unpublish { track });
    assert_eq!(world.model.len().1, 0);
    world.close_all();
}

#[test]
fn real_losses_are_asked_for_on_schedule_and_only_those() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    world.send(peer, video(11, 1, KEY));
    for sequence in [2, 3, 6, 7] {
        world.send(peer, video(11, sequence, DELTA));
    }
    let asked = |world: &World| {
        let mut asked = Vec::new();
        world.peers[peer].each_rtcp(|at, packet| {
            if let RtcpPacket::Nack(nack) = packet {
                let sequences: Vec<u16> = nack.sequences().map(|sequence| sequence.0).collect();
                asked.push(((at - world.start).as_millis() as u64, sequences));
            }
        });
        asked
    };
    let base = (world.now - world.start).as_millis() as u64;
    world.advance(9);
    assert_eq!(asked(&world), []);
    world.advance(1);
    assert_eq!(asked(&world), [(base + 10, vec![4, 5])]);
    world.send(peer, video(11, 4, DELTA));
    world.advance(100);
    assert_eq!(asked(&world)[1..], [(base + 110, vec![5])]);
    world.live(3_000);
    assert_eq!(world.count(Counter::LossGivenUp), 1);
    assert!(asked(&world).len() <= 11);
}

#[test]
fn a_wide_gap_is_a_key_frame_s_business() {
    let mut world = World::new();
    let peer = world.connected_peer();
    let track = world.publish_video(peer, &[]);
    let receiver = world.connected_peer();
    world.subscribe(receiver, track, 500, BEST);
    world.send(peer, video(11, 1, KEY));
    world.send(peer, video(11, 2, KEY));
    world.advance(1_000);
    let start = world.now;
    world.send(peer, video(11, 900, DELTA));
    world.advance(100);
    assert_eq!(
        (world.count(Counter::NackSent), world.peers[peer].plis(11, start).len()),
        (0, 1)
    );
}

#[test]
fn every_packet_s_arrival_is_reported_to_its_publisher() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    for (index, number) in [65_534_u16, 65_535, 1, 2].into_iter().enumerate() {
        let packet = video(11, 1 + index as u16, KEY);
        world.send(
            peer,
            Packet {
                transport_sequence: Some(number),
                ..packet
            },
        );
        world.advance(10);
    }
    world.advance(50);
    let mut reports = Vec::new();
    world.peers[peer].each_rtcp(|_, packet| {
        if let RtcpPacket::TransportFeedback(feedback) = packet {
            reports.extend(feedback.packets());
        }
    });
    let numbers: Vec<u16> = reports.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [65_534, 65_535, 0, 1, 2]);
    let first = reports[0].1.unwrap();
    let ticks: Vec<_> = reports
        .iter()
        .map(|(_, at)| at.map(|at| at.distance_from(first)))
        .collect();
    assert_eq!(ticks, [Some(0), Some(40), None, Some(80), Some(120)]);
}

#[test]
fn receiver_reports_follow_rfc_3550() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    world.send(peer, video(11, 65_530, KEY));
    for step in 0..20_u16 {
        if step != 5 {
            world.send(peer, video(11, 65_531_u16.wrapping_add(step), DELTA));
        }
    }
    let path = world.peers[peer].path;
    world.deliver(path, sender_report(11, NtpTime(0x1234_5678_9abc_def0), 77));
    world.live(1_500);
    let mut blocks = Vec::new();
    world.peers[peer].each_rtcp(|at, packet| {
        if let RtcpPacket::ReceiverReport(report) = packet {
            blocks.extend(report.blocks.iter().map(|block| (at, block)));
        }
    });
    let (at, block) = blocks[0];
    assert_eq!((block.ssrc, block.cumulative_lost), (Ssrc(11), 1));
    assert_eq!(block.highest_sequence, 1 << 16 | 14);
    // The stream is bound at its first packet, which is not counted: of the 20 after it one is
    // missing.
    assert_eq!(block.fraction_lost, (256 / 20) as u8);
    assert_eq!(block.last_sender_report, 0x5678_9abc);
    let held = Duration::from_micros(u64::from(block.delay_since_last_sender_report) * 1_000_000 / 65_536);
    assert!(held > Duration::ZERO && held <= at - world.start);
}

#[test]
fn audio_is_reported_twice_a_second_and_silence_once() {
    let mut world = World::new();
    let peer = world.connected_peer();
    let track = world.publish_audio(peer);
    world.take_notices();
    for sequence in 0..50 {
        world.send(peer, audio(sequence, if sequence % 2 == 0 { 20 } else { 90 }));
        world.advance(20);
    }
    world.live(3_000);
    let heard: Vec<_> = world
        .take_notices()
        .into_iter()
        .filter_map(|notice| match notice {
            Notice::Audio(heard) => Some(heard),
            _ => None,
        })
        .collect();
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert_eq!((heard[0][0].track, heard[0][0].level), (track, 20));
    assert!((240..=260).contains(&heard[0][0].active.as_millis()), "{heard:?}");
    assert!(heard[2].is_empty());
}

#[test]
fn rtcp_that_is_malformed_or_about_others_is_counted_and_ignored() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    world.send(peer, video(11, 1, KEY));
    world.send_rtcp(peer, |writer| {
        writer.pli(Ssrc(11)).nack(Ssrc(99), [wire::SequenceNumber(1)]);
    });
    let path = world.peers[peer].path;
    world.deliver(path, sender_report(77, NtpTime(1 << 32), 0));
    world.deliver(path, vec![0x81, 206, 0, 9, 0, 0, 0, 0]);
    assert_eq!(
        (world.count(Counter::RtcpNotTheirs), world.count(Counter::RtcpMalformed)),
        (3, 1)
    );
    assert!(world.peers[peer].plis(11, world.start).is_empty());
}

#[test]
fn tracks_of_a_transport_are_bounded() {
    let mut world = World::new();
    let peer = world.connected_peer();
    let transport = world.peers[peer].transport;
    for index in 0..=crate::limits::TRACKS_PER_TRANSPORT_MAX as u64 {
        world.command(Command::Publish(southbound::Publication {
            track: TrackId(1_000 + index),
            transport,
            kind: wire::MediaKind::Video,
            mid: None,
            formats: vec![vp8()],
            encodings: Vec::new(),
            muted: false,
            source: Default::default(),
        }));
    }
    assert_eq!(world.count(Counter::MediaFull), 1);
    assert!(matches!(world.notices.last(), Some(Notice::Refused { .. })));
    world.close_all();
}

impl World {
    /// The peer sends one packet.
    pub(super) fn send(&mut self, peer: usize, packet: Packet<'_>) {
        self.deliver(self.peers[peer].path, packet.bytes());
    }
}
