//! Streams that change their SSRCs.

use super::world::*;
use wire::Ssrc;

/// The SSRCs of the streams in the table, and of their retransmissions.
fn bound(world: &World, ssrcs: &[u32]) -> Vec<(u32, Option<u32>)> {
    let leg = dataplane::LegId(1);
    let found = ssrcs.iter().filter_map(|ssrc| {
        let key = dataplane::StreamKey { leg, ssrc: Ssrc(*ssrc) };
        Some((*ssrc, world.model.stream(key)?.rtx.map(|rtx| rtx.0)))
    });
    found.collect()
}

/// A packet that only its payload type tells the track of.
fn nameless(ssrc: u32, sequence: u16) -> Packet<'static> {
    Packet {
        mid: "",
        ..video(ssrc, sequence, KEY)
    }
}

/// RFC 8843 section 9.2.
#[test]
fn a_stream_may_change_its_ssrc_and_change_it_back() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    for (sequence, ssrc) in [11, 12, 11, 12, 13, 11].into_iter().enumerate() {
        world.send(peer, video(ssrc, 100 + sequence as u16, KEY));
        assert_eq!(bound(&world, &[11, 12, 13]), [(ssrc, None)]);
    }
    world.close_all();
}

#[test]
fn an_encoding_and_its_retransmissions_may_change_their_ssrcs_and_change_them_back() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &["q", "f"]);
    for (sequence, (media, repair)) in [(11, 21), (12, 22), (11, 21)].into_iter().enumerate() {
        let sequence = 100 + sequence as u16;
        let rid = "f";
        world.send(
            peer,
            Packet {
                rid,
                ..video(media, sequence, KEY)
            },
        );
        let retransmission = Packet {
            payload_type: VP8_RTX,
            repaired_rid: "f",
            ..video(repair, sequence, &[0, 0])
        };
        world.send(peer, retransmission);
        assert_eq!(bound(&world, &[11, 12]), [(media, Some(repair))]);
    }
    world.close_all();
}

#[test]
fn without_a_mid_a_new_ssrc_waits_until_the_old_one_is_silent() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    for (sequence, (before, after)) in (100..).step_by(2).zip([(11, 12), (12, 11), (11, 13)]) {
        world.send(peer, nameless(before, sequence));
        world.send(peer, nameless(before, sequence + 1));
        assert_eq!(bound(&world, &[11, 12, 13]), [(before, None)]);
        world.send(peer, nameless(after, sequence));
        assert_eq!(
            bound(&world, &[11, 12, 13]),
            [(before, None)],
            "it may be of a track to come"
        );
        world.advance(3_000);
        assert_eq!(bound(&world, &[11, 12, 13]), [(after, None)]);
    }
    world.close_all();
}

#[test]
fn a_goodbye_ends_the_wait_for_silence() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    world.send(peer, nameless(11, 100));
    world.send(peer, nameless(11, 101));
    world.send(peer, nameless(12, 100));
    world.send_rtcp(peer, |writer| _ = writer.bye(&[Ssrc(99)]));
    assert_eq!(
        bound(&world, &[11, 12]),
        [(11, None)],
        "that of another stream says nothing"
    );
    world.send_rtcp(peer, |writer| _ = writer.bye(&[Ssrc(11)]));
    assert_eq!(bound(&world, &[11, 12]), [(12, None)]);
    world.close_all();
}

#[test]
fn without_a_mid_no_stream_takes_the_place_of_one_of_several_tracks() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    world.publish_audio_as(peer, vec![vp8()]);
    world.send(peer, video(11, 100, KEY));
    world.send(
        peer,
        Packet {
            mid: "1",
            ..video(12, 100, KEY)
        },
    );
    world.advance(3_000);
    world.send(peer, nameless(13, 100));
    assert_eq!(bound(&world, &[11, 12, 13]), [(11, None), (12, None)]);
    world.close_all();
}

#[test]
fn streams_that_take_turns_with_each_packet_cost_a_bounded_number_of_writes() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.publish_video(peer, &[]);
    let before = world.model_counters()[dataplane::Counter::PuntedStream];
    for sequence in 0..1_000 {
        world.send(peer, video(11 + u32::from(sequence % 2), 100 + sequence, KEY));
    }
    let told = world.model_counters()[dataplane::Counter::PuntedStream] - before;
    assert!(told < 2 * u64::from(crate::limits::STREAM_CHANGES_MAX), "{told}");
    world.close_all();
}
