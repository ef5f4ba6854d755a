//! A stream of more receivers than the kernel has room for: who waits is the base's, and moves in
//! when somebody leaves.

use std::time::Instant;

use conformance::text::parse;
use conformance::vector::run;

use crate::device::{Cable, NewCable, on_cable};

/// How many copies of one stream there may be.
const ROOM: u64 = 192;
const WAITING: u64 = 3;

/// Everybody, by numbers whose addresses are of one family.
fn peers() -> Vec<u64> {
    (4..)
        .filter(|peer| peer % 4 != 3)
        .take((ROOM + WAITING) as usize)
        .collect()
}

/// A packet, and what of it those get who are there.
fn send(text: &mut String, after: u64, what: &str, there: &[u64]) {
    let (sequence, number, timestamp) = (65_530 + after, 100 + after, 3_000 * after);
    let sequence = sequence % 65_536;
    *text += &format!("send p1 rtp ssrc 0x11 pt 96 seq {sequence} ts {timestamp} vp8 {what}\n");
    for peer in there {
        *text += &format!("expect p{peer} rtp ssrc {} seq {number} ts {timestamp}\n", 0x100 + peer);
    }
}

fn vector() -> String {
    let peers = peers();
    let mut text = "# Who waits for room moves in without losing a packet or a number.

leg     alice from p1
stream  alice:0x11 video types 96=VP8
"
    .to_owned();
    for peer in &peers {
        text += &format!("leg l{peer} from p{peer}\n");
        text += &format!(
            "replica r{peer} to l{peer} ssrc {} first 100 from alice:0x11 types 96>102\n",
            0x100 + peer
        );
    }
    send(&mut text, 0, "key", &peers);
    send(&mut text, 1, "delta", &peers);
    // The first to come are the kernel's.
    let (gone, there) = peers.split_at(WAITING as usize);
    for peer in gone {
        text += &format!("remove replica r{peer}\n");
    }
    send(&mut text, 2, "delta", there);
    // It is looked for room once a second.
    text += "wait 1200ms\n";
    for after in 3..6 {
        send(&mut text, after, "delta", there);
    }
    // A late packet gets the number that was left free for it.
    send(&mut text, 7, "delta", there);
    send(&mut text, 6, "delta", there);
    text
}

fn move_in(cable: NewCable) {
    on_cable(cable, |cable| {
        let (vector, names) = parse("full", &vector()).unwrap_or_else(|problem| panic!("{problem}"));
        let start = Instant::now();
        run(&vector, &names, &mut *cable.device(false, start), start).unwrap_or_else(|failure| panic!("{failure}"));
        let (came, copied) = (cable.came.get(), cable.copied.get());
        println!("{came} replicas came from the base, {copied} copies in the kernel");
        assert_eq!(came, WAITING);
        // Two packets to a full table, one and the one during which they move to those that stayed,
        // and the rest to all.
        let stayed = ROOM - WAITING;
        assert_eq!(copied, 2 * ROOM + 2 * stayed + 4 * ROOM);
    });
}

#[test]
fn a_replica_that_waits_for_room_moves_in_as_one_stream() {
    move_in(Cable::new);
}

#[test]
fn a_replica_that_waits_for_room_in_the_driver_moves_in_as_one_stream() {
    move_in(Cable::of_drivers);
}
