//! Tests of reliable data from one peer to others: nothing is lost when peers are slow, join or
//! leave.

use super::data::channel;
use super::world::*;
use crate::Counter;
use crate::limits::{INBOX_MAX, RECEIVE_BUFFER_MAX, SCTP_BUFFER_MAX, SENDER_WINDOW, TOO_SLOW};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use southbound::{ChannelEnd, Command, DtlsRole, Notice, TransportId};

const LABEL: &str = "_reliable";
/// The most that one sender may have in the agent and at one receiver, including the bytes that the
/// harness' receiver holds.
const BOUND: usize = SENDER_WINDOW + INBOX_MAX + 2 * SCTP_BUFFER_MAX + 2 * RECEIVE_BUFFER_MAX as usize;

/// Peers that send messages to each other, and a controller that passes each one on to all others.
struct Meeting {
    world: World,
    /// Transports whose channel has ended.
    ended: Vec<TransportId>,
    /// Whether the controller does its work.
    awake: bool,
    said: Vec<u32>,
}

impl Meeting {
    fn of(peers: usize) -> Self {
        let mut meeting = Meeting {
            world: World::new(),
            ended: Vec::new(),
            awake: true,
            said: Vec::new(),
        };
        for _ in 0..peers {
            meeting.join();
        }
        meeting.live(2_000);
        meeting
    }

    fn join(&mut self) -> usize {
        self.said.push(0);
        self.world
            .add_talker(DtlsRole::Server, vec![channel(LABEL, false)], Vec::new())
    }

    /// Passes messages on until there are none.
    fn pass(&mut self) {
        while self.awake {
            let notices = self.world.take_notices();
            if notices.is_empty() {
                return;
            }
            notices.into_iter().for_each(|notice| self.notice(notice));
        }
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::MessageReceived {
                transport,
                label,
                payload,
                message,
                ..
            } => {
                let to = self.world.peers.iter().map(|peer| peer.transport);
                self.world.command(Command::Send {
                    to: to.filter(|to| *to != transport).collect(),
                    label,
                    payload,
                    reliable: true,
                    message: Some(message),
                });
                self.world.command(Command::MessageHandled { message });
            }
            Notice::ChannelClosed {
                transport,
                why: ChannelEnd::TooSlow,
                ..
            } => self.ended.push(transport),
            _ => {}
        }
    }

    /// Sends `count` numbered messages of a size.
    fn say(&mut self, from: usize, count: u32, size: usize) {
        let now = self.world.now;
        for _ in 0..count {
            let number = self.said[from];
            self.said[from] += 1;
            let mut payload = vec![from as u8; size.max(5)];
            payload[1..5].copy_from_slice(&number.to_be_bytes());
            self.world.peers[from].say(now, LABEL, &payload);
        }
        self.world.settle();
        self.pass();
    }

    fn live(&mut self, millis: u64) {
        for _ in 0..millis.div_ceil(20) {
            self.world.live(20);
            self.pass();
        }
    }

    fn read(&mut self, peer: usize) {
        let now = self.world.now;
        self.world.peers[peer].read(now);
        self.world.settle();
        self.pass();
    }

    /// The numbers a peer has got from another.
    fn heard(&self, by: usize, from: usize) -> Vec<u32> {
        let received = self.world.peers[by].received.iter();
        received
            .filter(|(_, payload)| usize::from(payload[0]) == from)
            .map(|(_, payload)| u32::from_be_bytes(payload[1..5].try_into().unwrap()))
            .collect()
    }

    fn heard_all(&self, by: usize, from: usize) -> bool {
        self.heard(by, from) == (0..self.said[from]).collect::<Vec<_>>()
    }

    /// Bytes that a sender's SCTP has finished with.
    fn left(&self, from: usize, size: usize) -> usize {
        let channels = self.world.peers[from].channels.as_ref().unwrap();
        self.said[from] as usize * size - channels.unsent()
    }

    fn end(mut self) {
        self.pass();
        self.world.close_all();
    }
}

#[test]
fn a_burst_of_thousands_arrives_in_order() {
    let mut meeting = Meeting::of(3);
    meeting.say(0, 5_000, 100);
    meeting.live(3_000);
    assert!(meeting.heard_all(1, 0) && meeting.heard_all(2, 0));
    meeting.end();
}

#[test]
fn a_slow_receiver_holds_its_sender_and_loses_nothing() {
    let mut meeting = Meeting::of(3);
    meeting.world.peers[1].unreading = true;
    meeting.say(0, 100, 60_000);
    meeting.live(5_000);
    let left = meeting.left(0, 60_000);
    assert!(left < BOUND, "{left} bytes are on their way");
    assert!(meeting.world.count(Counter::SenderHeld) > 0);
    meeting.say(2, 3, 100);
    meeting.live(500);
    assert!(meeting.heard_all(0, 2), "a sender of few messages is not held back");
    meeting.read(1);
    meeting.live(5_000);
    assert!(meeting.heard_all(1, 0) && meeting.heard_all(2, 0) && meeting.heard_all(1, 2));
    assert_eq!(meeting.world.count(Counter::ChannelTooSlow), 0);
    meeting.end();
}

#[test]
fn a_receiver_that_stays_too_slow_loses_its_channel_and_its_sender_goes_on() {
    let mut meeting = Meeting::of(3);
    meeting.world.peers[1].unreading = true;
    meeting.say(0, 20, 60_000);
    meeting.live(5_000);
    // Later, since the sender of this test has the same patience.
    meeting.say(0, 40, 60_000);
    meeting.live(TOO_SLOW.as_millis() as u64 + 1_000);
    assert_eq!(meeting.ended, [TransportId(2)]);
    assert_eq!(meeting.world.peers[1].closed.len(), 1, "the peer is told");
    assert!(meeting.heard_all(2, 0));
    meeting.say(0, 10, 60_000);
    meeting.live(1_000);
    assert!(meeting.heard_all(2, 0));
    meeting.end();
}

#[test]
fn a_sender_goes_on_when_its_slow_receiver_leaves() {
    let mut meeting = Meeting::of(3);
    meeting.world.peers[1].unreading = true;
    meeting.say(0, 60, 60_000);
    meeting.live(1_000);
    assert!(!meeting.heard_all(2, 0));
    let transport = meeting.world.peers[1].transport;
    meeting.world.command(Command::Close { transport });
    meeting.live(3_000);
    assert!(meeting.heard_all(2, 0));
    meeting.end();
}

#[test]
fn messages_arrive_after_their_sender_hung_up() {
    let mut meeting = Meeting::of(2);
    meeting.world.peers[1].unreading = true;
    meeting.say(0, 15, 60_000);
    meeting.live(2_000);
    let now = meeting.world.now;
    assert_eq!(meeting.left(0, 60_000), 15 * 60_000);
    meeting.world.peers[0].hang_up(now);
    meeting.live(100);
    meeting.read(1);
    meeting.live(3_000);
    assert!(meeting.heard_all(1, 0));
    meeting.end();
}

/// As when it says over signalling that it leaves.
#[test]
fn messages_arrive_after_the_controller_closed_their_sender() {
    let mut meeting = Meeting::of(2);
    meeting.world.peers[1].unreading = true;
    meeting.say(0, 15, 60_000);
    meeting.live(2_000);
    assert_eq!(meeting.left(0, 60_000), 15 * 60_000);
    let transport = meeting.world.peers[0].transport;
    meeting.world.command(Command::Close { transport });
    meeting.pass();
    meeting.read(1);
    meeting.live(3_000);
    assert!(meeting.heard_all(1, 0));
    meeting.end();
}

#[test]
fn messages_wait_for_a_channel_that_is_opening() {
    let mut meeting = Meeting::of(1);
    meeting.world.idle_hands = false;
    let peer = meeting.join();
    meeting.say(0, 60, 100);
    meeting.live(500);
    assert!(meeting.heard(peer, 0).is_empty());
    meeting.world.idle_hands = true;
    meeting.live(3_000);
    assert!(meeting.heard_all(peer, 0));
    meeting.end();
}

#[test]
fn a_peer_that_never_opens_a_channel_blocks_nobody_for_long() {
    let mut meeting = Meeting::of(2);
    let silent = meeting.world.add_peer(DtlsRole::Server, Vec::new());
    meeting.world.check(silent, true);
    meeting.said.push(0);
    meeting.say(0, 60, 60_000);
    meeting.live(1_000);
    assert!(!meeting.heard_all(1, 0));
    meeting.live(12_000);
    assert!(meeting.heard_all(1, 0));
    assert!(meeting.world.count(Counter::MessageUnsent) > 0);
    meeting.end();
}

#[test]
fn a_controller_that_is_behind_has_few_messages_to_deal_with() {
    let mut meeting = Meeting::of(2);
    meeting.awake = false;
    meeting.say(0, 3_000, 100);
    meeting.live(1_000);
    let waiting = meeting.world.notices.len();
    assert!((1_000..=1_100).contains(&waiting), "{waiting}");
    meeting.awake = true;
    meeting.pass();
    meeting.live(1_000);
    assert!(meeting.heard_all(1, 0));
    meeting.end();
}

/// Peers send, stop reading, read on, join and leave in any order: a peer that stays gets every
/// message sent since it joined.
#[test]
fn in_no_history_is_anything_lost_or_anybody_stuck() {
    for seed in 0..12 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut meeting = Meeting::of(3);
        let mut gone = Vec::new();
        for _ in 0..30 {
            let peer = rng.random_range(0..meeting.world.peers.len());
            match rng.random_range(0..10) {
                _ if gone.contains(&peer) => {}
                0 => meeting.world.peers[peer].unreading = true,
                1 | 2 => meeting.read(peer),
                3 => meeting.awake = rng.random(),
                4 if gone.is_empty() && rng.random_bool(0.3) => {
                    gone.push(peer);
                    let transport = meeting.world.peers[peer].transport;
                    meeting.world.command(Command::Close { transport });
                }
                5 => meeting.live(rng.random_range(1..1_000)),
                _ => meeting.say(
                    peer,
                    rng.random_range(1..40),
                    [10, 1_000, 60_000][rng.random_range(0..3)],
                ),
            }
        }
        meeting.awake = true;
        meeting.pass();
        for peer in 0..meeting.world.peers.len() {
            meeting.read(peer);
        }
        meeting.live(8_000);
        let there = |peer: &usize| !gone.contains(peer);
        for by in (0..meeting.world.peers.len()).filter(there) {
            for from in (0..meeting.world.peers.len()).filter(|from| *from != by && there(from)) {
                assert!(meeting.heard_all(by, from), "seed {seed}: {by} from {from}");
            }
        }
        meeting.end();
    }
}
