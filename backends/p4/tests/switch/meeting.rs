//! A meeting of ten beside another one, whose branches share trees: a member's quality changes and
//! the meeting moves between trees while packets flow, and everybody else gets each packet once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use backend_p4::Replication;
use dataplane::{
    Answer, LegId, Replica, ReplicaId, ReplicaOffload, ReplicaSnapshot, Stream, StreamFormat, StreamKey, Update,
    WriteId,
};
use wire::codec::Layer;
use wire::{Codec, MediaKind, PayloadType, Ssrc};

use crate::bench::{Driver, HOST, Switch, datagram, frame};
use crate::rooms::{key_frame, leg, offer, plain, replica, video};

/// The members of both meetings. Everybody sends, and gets all others of the meeting.
const TEN: std::ops::RangeInclusive<u32> = 1..=10;
const THREE: std::ops::RangeInclusive<u32> = 11..=13;

/// The member whose quality changes.
const CHANGING: u32 = 10;

/// Each sender sends a packet of video in each tick.
const PACE: Duration = Duration::from_millis(70);

/// The members of both meetings, who send one after the other.
const MEMBERS: u32 = 13;

/// The longest time until the switch sends everything, in ticks.
const BEGIN_MAX: u16 = 600;

const KEY_FRAME_EVERY: u16 = 16;

/// How long each quality is kept, in ticks. Layers are not copied any more after two seconds.
const TICKS: u16 = 48;

/// A run in which the machine was too busy for the lease is repeated.
const ATTEMPTS_MAX: usize = 3;

/// A packet as a receiver gets it: its tick and its number.
type Copy = (u16, u16);

fn remote(member: u32) -> String {
    format!("10.0.{}.{}:{}", 2 + member % 2, 10 + member, 4_000 + member)
}

fn source(member: u32) -> StreamKey {
    StreamKey {
        leg: LegId(member),
        ssrc: Ssrc(100 + member),
    }
}

/// The replica of a member's video for another one.
fn id(from: u32, to: u32) -> u32 {
    from * 100 + to
}

/// All of a meeting, by sender and receiver.
fn pairs(members: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = (u32, u32)> {
    let all = members
        .clone()
        .flat_map(move |from| members.clone().map(move |to| (from, to)));
    all.filter(|(from, to)| from != to)
}

struct Meetings<'a> {
    switch: &'a Switch,
    driver: Driver,
    start: Instant,
    tick: u16,
    /// The copies that have left the switch for each replica.
    copies: BTreeMap<u32, Vec<Copy>>,
    /// The switch was without a lease for a while, as on a machine that is busy with other things.
    is_lost: bool,
}

impl<'a> Meetings<'a> {
    fn new(switch: &'a Switch, at: SocketAddr) -> Self {
        let mut driver = Driver::start(at, Replication::Multicast);
        driver.wait_until_connected();
        let now = Instant::now();
        for member in TEN.chain(THREE) {
            let set = Update::SetLeg(LegId(member), leg(&remote(member)));
            driver.rooms.offer(now, &set).unwrap();
            let format = StreamFormat {
                payload_type: PayloadType::new(98).unwrap(),
                codec: Codec::Av1,
                rtx: None,
            };
            let stream = Stream {
                kind: MediaKind::Video,
                formats: vec![format],
                rtx: None,
                mid: None,
                reference: None,
            };
            driver
                .rooms
                .offer(now, &Update::SetStream(source(member), stream))
                .unwrap();
        }
        let mut meetings = Meetings {
            switch,
            driver,
            start: Instant::now(),
            tick: 0,
            copies: BTreeMap::new(),
            is_lost: false,
        };
        for (from, to) in pairs(TEN).chain(pairs(THREE)) {
            offer(&mut meetings.driver, id(from, to), entry(from, to, u8::MAX));
        }
        meetings
    }

    /// The changing member gets at most this frame rate of these senders.
    fn set_quality(&mut self, senders: std::ops::RangeInclusive<u32>, temporal: u8) {
        for from in senders.filter(|from| *from != CHANGING) {
            let set = Update::SetReplica(ReplicaId(id(from, CHANGING)), entry(from, CHANGING, temporal));
            self.driver.rooms.offer(Instant::now(), &set).unwrap();
        }
    }

    /// Sends a packet of each sender when it is time, and answers the driver.
    fn tick(&mut self) {
        self.tick += 1;
        let due = self.start + PACE * u32::from(self.tick);
        let descriptor = match self.tick % KEY_FRAME_EVERY {
            0 => key_frame(self.tick),
            // Of L1T3: the lowest frame rate, and what is between.
            _ => plain(self.tick, [1, 3, 2, 4][usize::from(self.tick % 4)]),
        };
        // The queue of a port of BMv2 holds 64 copies. All senders at once would fill it.
        for (place, member) in (0..).zip(TEN.chain(THREE)) {
            let due = due + PACE * place / MEMBERS;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let mut media = video(self.tick, &descriptor);
            media[8..12].copy_from_slice(&source(member).ssrc.0.to_be_bytes());
            let port = 2 + member as u16 % 2;
            self.switch
                .send(port, &frame(&remote(member), &format!("{HOST}:7882"), &media));
        }
        while let Some(candidate) = self.driver.rooms.next_candidate() {
            let from = ReplicaSnapshot {
                next: 70,
                ..ReplicaSnapshot::default()
            };
            let write = WriteId(u64::from(candidate.replica.0));
            let answer = self.driver.rooms.take_over(write, candidate.replica, Some(from), 0);
            assert_eq!(answer, Answer::Pending);
        }
        while let Some(written) = self.driver.rooms.next_written() {
            self.is_lost |= written.outcome.is_err();
        }
        self.is_lost |= self.driver.rooms.next_returned().is_some();
        while self.driver.rooms.poll().is_some() {}
    }

    /// Sends until the switch sends everything, and until the next key frame.
    fn begin(&mut self) {
        let all: Vec<u32> = pairs(TEN).chain(pairs(THREE)).map(|(from, to)| id(from, to)).collect();
        while !all.iter().all(|id| self.driver.rooms.sends(ReplicaId(*id))) && !self.is_lost {
            assert!(self.tick < BEGIN_MAX, "the switch does not send all");
            self.tick();
        }
        while self.tick % KEY_FRAME_EVERY != KEY_FRAME_EVERY - 1 {
            self.tick();
        }
    }

    /// The trees of the switch after a while of this quality.
    fn trees_after(&mut self, ticks: u16) -> u64 {
        (0..ticks).for_each(|_| self.tick());
        // Two sessions of clones.
        self.driver.entries("replication") - 2
    }

    fn collect(&mut self) {
        let owners: BTreeMap<String, u32> = TEN.chain(THREE).map(|member| (remote(member), member)).collect();
        for (port, frame) in self.switch.frames() {
            let (_, to, payload) = datagram(&frame);
            if port == 1 {
                continue;
            }
            let number = |at: usize, len: usize| {
                payload[at..at + len]
                    .iter()
                    .fold(0, |all, byte| all << 8 | u32::from(*byte))
            };
            // Timestamps name the source's packets, and stay as they are.
            let copy = ((number(4, 4) / 960) as u16, number(2, 2) as u16);
            let replica = number(8, 4) - 1_000;
            assert_eq!(owners[&to], replica % 100, "it goes to its receiver");
            self.copies.entry(replica).or_default().push(copy);
        }
    }
}

fn entry(from: u32, to: u32, temporal: u8) -> Replica {
    Replica {
        ssrc: Ssrc(1_000 + id(from, to)),
        source: Some(source(from)),
        target: Layer {
            spatial: u8::MAX,
            temporal,
        },
        ..replica(to, 11, 98)
    }
}

#[test]
fn a_meeting_of_ten_moves_between_trees_and_nobody_loses_a_packet() {
    Switch::each(|switch, at| {
        let mut attempts = (0..ATTEMPTS_MAX).map(|_| moving(switch, at));
        assert!(attempts.any(|is_valid| is_valid), "no lease for long enough");
    });
}

/// Returns whether the switch had a lease all the while.
fn moving(switch: &Switch, at: SocketAddr) -> bool {
    switch.frames();
    let mut meetings = Meetings::new(switch, at);
    let before = meetings.driver.count("pruned");
    meetings.begin();
    let first = meetings.tick + 1;
    let mut trees = vec![meetings.trees_after(16)];
    meetings.set_quality(TEN, 0);
    trees.push(meetings.trees_after(TICKS));
    let lower = meetings.tick;
    meetings.set_quality(1..=1, u8::MAX);
    trees.push(meetings.trees_after(TICKS));
    meetings.set_quality(TEN, u8::MAX);
    trees.push(meetings.trees_after(TICKS));
    let last = meetings.tick;
    let pruned = meetings.driver.count("pruned") - before;
    if meetings.is_lost {
        return false;
    }
    assert_eq!(
        trees,
        [1, 2, 16, 1],
        "two meetings in one tree; three layers and the other meeting; three of each sender; one again"
    );
    assert!(pruned > 0, "each copy is made of the packet's own branch alone");
    thread::sleep(Duration::from_millis(200));
    meetings.collect();
    let mut all = 0;
    for (from, to) in pairs(TEN).chain(pairs(THREE)) {
        let copies = meetings.copies.get(&id(from, to)).into_iter().flatten();
        let mut copies: Vec<Copy> = copies.copied().filter(|(tick, _)| *tick >= first).collect();
        copies.sort_unstable();
        all += copies.len();
        let context = format!("from {from} to {to}");
        if to == CHANGING {
            let ticks: Vec<u16> = copies.iter().map(|(tick, _)| *tick).collect();
            let mut lowest = (first..=last).filter(|tick| tick % 4 == 0);
            assert!(lowest.all(|tick| ticks.contains(&tick)), "{context}: {ticks:?}");
            let fewer = ticks.iter().filter(|tick| (first..=lower).contains(*tick)).count();
            assert!(fewer < usize::from(lower - first - TICKS / 2), "{context}: {ticks:?}");
            let is_next = |pair: &[Copy]| {
                let (ticks, numbers) = (pair[1].0 - pair[0].0, pair[1].1.wrapping_sub(pair[0].1));
                ticks > 0 && (1..=ticks).contains(&numbers)
            };
            assert!(copies.windows(2).all(is_next), "{context}: {copies:?}");
            continue;
        }
        let expected: Vec<Copy> = (first..=last).zip(copies[0].1..).collect();
        let missing: Vec<&Copy> = expected.iter().filter(|copy| !copies.contains(copy)).collect();
        let odd: Vec<&Copy> = copies.iter().filter(|copy| !expected.contains(copy)).collect();
        assert!(copies == expected, "{context}: missing {missing:?}, odd {odd:?}");
    }
    eprintln!("{} ticks, {all} copies, {pruned} of other branches", last + 1 - first);
    true
}
