//! Receivers that join, leave and change layers while packets flow: the others get each packet
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use backend_p4::Replication;
use dataplane::{Answer, LegId, Replica, ReplicaId, ReplicaOffload, ReplicaSnapshot, Update, WriteId};
use wire::Ssrc;
use wire::codec::Layer;

use crate::bench::{Driver, HOST, Switch, datagram, frame, rtp};
use crate::rooms::{PUBLISHER, key_frame, leg, offer, offer_room, plain, released, replica, video};

/// The publisher sends a packet of sound and one of video in each tick.
const PACE: Duration = Duration::from_millis(8);

/// How many ticks there are while receivers change.
const TICKS: u16 = 320;

/// The longest time until all staying receivers are on the switch, in ticks.
const BEGIN_MAX: u16 = 1_500;

/// A change every so many ticks, and a key frame.
const CHANGE_EVERY: u16 = 5;
const KEY_FRAME_EVERY: u16 = 16;

/// A run in which the machine was too busy for the lease is repeated.
const ATTEMPTS_MAX: usize = 3;

/// Video packets have the number of their tick and this.
const VIDEO: u16 = 10_000;

/// Receivers from the beginning to the end. The video of the last changes its layers.
const STAYING: [u32; 3] = [2, 3, 4];
const CHANGING: u32 = 4;

/// Receivers that join and leave.
const PASSING: [u32; 4] = [5, 6, 7, 8];

/// A packet as a receiver gets it: its tick and its number.
type Copy = (u16, u16);

struct Room<'a> {
    switch: &'a Switch,
    driver: Driver,
    start: Instant,
    tick: u16,
    /// The number of the newest replica.
    newest: u32,
    /// Those that there are.
    replicas: BTreeMap<u32, Replica>,
    /// Copies by SSRC, which names one replica for ever.
    copies: BTreeMap<u32, Vec<Copy>>,
    /// The remote addresses to which copies of an SSRC went.
    remotes: BTreeMap<u32, BTreeSet<String>>,
    /// Packets that reached the host, by tick.
    passed: Vec<u16>,
    /// The switch was without a lease for a while, as on a machine that is busy with other things.
    is_lost: bool,
}

fn remote(leg: u32) -> String {
    match leg {
        2 => "10.0.3.5:4002".to_owned(),
        3 => "10.0.3.5:4003".to_owned(),
        4 => "10.0.2.5:4004".to_owned(),
        leg => format!("10.0.{}.6:{}", 2 + leg % 2, 4_000 + leg),
    }
}

impl<'a> Room<'a> {
    fn new(switch: &'a Switch, at: SocketAddr, replication: Replication) -> Self {
        let mut driver = Driver::start(at, replication);
        driver.wait_until_connected();
        offer_room(&mut driver);
        for id in PASSING {
            let update = Update::SetLeg(LegId(id), leg(&remote(id)));
            driver.rooms.offer(Instant::now(), &update).unwrap();
        }
        Room {
            switch,
            driver,
            start: Instant::now(),
            tick: 0,
            newest: 0,
            replicas: BTreeMap::new(),
            copies: BTreeMap::new(),
            remotes: BTreeMap::new(),
            passed: Vec::new(),
            is_lost: false,
        }
    }

    /// A receiver joins, with sound and video.
    fn join(&mut self, leg: u32) {
        for (source, payload) in [(10, 111), (11, 98)] {
            self.newest += 1;
            let entry = Replica {
                ssrc: Ssrc(1_000 + self.newest),
                ..replica(leg, source, payload)
            };
            self.replicas.insert(self.newest, entry.clone());
            offer(&mut self.driver, self.newest, entry);
        }
    }

    fn leave(&mut self, leg: u32) {
        for id in self.of(leg) {
            self.replicas.remove(&id);
            let update = Update::RemoveReplica(ReplicaId(id));
            self.driver.rooms.offer(Instant::now(), &update).unwrap();
        }
    }

    /// The highest frame rate that a receiver gets, if it is there.
    fn set_target(&mut self, leg: u32, temporal: u8) {
        for id in self.of(leg) {
            let entry = self.replicas.get_mut(&id).unwrap();
            entry.target = Layer { spatial: 0, temporal };
            let update = Update::SetReplica(ReplicaId(id), entry.clone());
            // One that is still on its way is pending.
            let _ = self.driver.rooms.offer(Instant::now(), &update);
        }
    }

    fn of(&self, leg: u32) -> Vec<u32> {
        let its = self.replicas.iter().filter(|(_, entry)| entry.leg == LegId(leg));
        its.map(|(id, _)| *id).collect()
    }

    /// The SSRC of a receiver's sound or video.
    fn ssrc(&self, leg: u32, source: u32) -> u32 {
        let is_it = |entry: &&Replica| {
            entry.leg == LegId(leg) && entry.source.is_some_and(|source_of| source_of.ssrc == Ssrc(source))
        };
        self.replicas.values().find(is_it).unwrap().ssrc.0
    }

    /// Waits until it is time, sends a packet of each stream, and answers the driver.
    fn tick(&mut self) {
        self.tick += 1;
        let due = self.start + PACE * u32::from(self.tick);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let local = format!("{HOST}:7882");
        let descriptor = match self.tick % KEY_FRAME_EVERY {
            0 => key_frame(self.tick),
            // Of L1T3: the lowest frame rate, and what is between.
            _ => plain(self.tick, [1, 3, 2, 4][usize::from(self.tick % 4)]),
        };
        for media in [rtp(111, self.tick, 10), video(VIDEO + self.tick, &descriptor)] {
            self.switch.send(2, &frame(PUBLISHER, &local, &media));
        }
        while let Some(candidate) = self.driver.rooms.next_candidate() {
            let from = match candidate.at_key_frame {
                true => ReplicaSnapshot {
                    next: 70,
                    ..ReplicaSnapshot::default()
                },
                false => released(self.tick, 70),
            };
            let write = WriteId(u64::from(candidate.replica.0));
            let answer = self.driver.rooms.take_over(write, candidate.replica, Some(from), 0);
            assert_eq!(answer, Answer::Pending);
        }
        while let Some(written) = self.driver.rooms.next_written() {
            let is_there = self.replicas.contains_key(&(written.write.0 as u32));
            self.is_lost |= is_there && written.outcome.is_err();
        }
        self.is_lost |= self.driver.rooms.next_returned().is_some();
        while self.driver.rooms.poll().is_some() {}
    }

    /// Sends until the switch sends all replicas, and until the next key frame.
    fn begin(&mut self) {
        let is_sent = |room: &Self| room.replicas.keys().all(|id| room.driver.rooms.sends(ReplicaId(*id)));
        while !is_sent(self) && !self.is_lost {
            assert!(self.tick < BEGIN_MAX, "the switch does not send all");
            self.tick();
        }
        while self.tick % KEY_FRAME_EVERY != KEY_FRAME_EVERY - 1 {
            self.tick();
        }
    }

    /// Collects what the switch has sent.
    fn collect(&mut self) {
        for (port, frame) in self.switch.frames() {
            let (from, to, payload) = datagram(&frame);
            let number = |at: usize, len: usize| {
                payload[at..at + len]
                    .iter()
                    .fold(0, |all, byte| all << 8 | u32::from(*byte))
            };
            // Timestamps name the source's packets, and stay as they are.
            let tick = (number(4, 4) / 960) as u16;
            let tick = if tick > VIDEO { tick - VIDEO } else { tick };
            if port == 1 {
                assert_eq!(from, PUBLISHER);
                self.passed.push(tick);
                continue;
            }
            let ssrc = number(8, 4);
            self.copies.entry(ssrc).or_default().push((tick, number(2, 2) as u16));
            self.remotes.entry(ssrc).or_default().insert(to);
        }
    }

    /// The copies of a replica from a tick on, in the order of ticks.
    fn copies(&self, ssrc: u32, first: u16) -> Vec<Copy> {
        let all = self.copies.get(&ssrc).into_iter().flatten().copied();
        let mut copies: Vec<Copy> = all.filter(|(tick, _)| *tick >= first).collect();
        copies.sort_unstable();
        copies
    }
}

#[test]
fn receivers_that_stay_get_each_packet_once_while_others_join_and_leave() {
    for replication in [Replication::Multicast, Replication::Recirculation, Replication::Tree] {
        Switch::each(|switch, at| {
            let mut attempts = (0..ATTEMPTS_MAX).map(|_| changing(switch, at, replication));
            assert!(
                attempts.any(|is_valid| is_valid),
                "{replication:?}: no lease for long enough"
            );
        });
    }
}

/// Returns whether the switch had a lease all the while.
fn changing(switch: &Switch, at: SocketAddr, replication: Replication) -> bool {
    switch.frames();
    let mut room = Room::new(switch, at, replication);
    STAYING.into_iter().for_each(|leg| room.join(leg));
    room.begin();
    let first = room.tick + 1;
    let mut joins = 0;
    for change in 0..TICKS / CHANGE_EVERY {
        let passing = |join: usize| PASSING[join % PASSING.len()];
        match change % 5 {
            0 | 2 => {
                room.join(passing(joins));
                joins += 1;
            }
            1 => room.set_target(CHANGING, 0),
            3 => room.set_target(CHANGING, 7),
            _ => (joins - 2..joins).for_each(|join| room.leave(passing(join))),
        }
        (0..CHANGE_EVERY).for_each(|_| room.tick());
    }
    let last = room.tick;
    if room.is_lost {
        return false;
    }
    thread::sleep(Duration::from_millis(200));
    room.collect();
    let context = format!("{replication:?}");
    let passing = room.copies.len() - 2 * STAYING.len();
    eprintln!("{context}: {last} ticks, {passing} replicas came and went");

    let mut passed = room.passed.clone();
    passed.retain(|tick| *tick >= first);
    passed.sort_unstable();
    let twice: Vec<u16> = (first..=last).flat_map(|tick| [tick, tick]).collect();
    assert_eq!(
        passed, twice,
        "{context}: the host gets each packet of both streams once"
    );

    for leg in STAYING {
        for source in [10, 11] {
            let ssrc = room.ssrc(leg, source);
            let copies = room.copies(ssrc, first);
            let ticks: Vec<u16> = copies.iter().map(|(tick, _)| *tick).collect();
            if (leg, source) == (CHANGING, 11) {
                let mut lowest = (first..=last).filter(|tick| tick % 4 == 0);
                assert!(lowest.all(|tick| ticks.contains(&tick)), "{context}: {ticks:?}");
                assert!(
                    ticks.len() < usize::from(last - first),
                    "{context}: it gets fewer frames for a while"
                );
                // Numbers of frames that were left out may stay out.
                let is_next = |pair: &[Copy]| {
                    let (ticks, numbers) = (pair[1].0 - pair[0].0, pair[1].1.wrapping_sub(pair[0].1));
                    ticks > 0 && (1..=ticks).contains(&numbers)
                };
                assert!(copies.windows(2).all(is_next), "{context}: {copies:?}");
            } else {
                let expected: Vec<Copy> = (first..=last).zip(copies[0].1..).collect();
                let missing: Vec<&Copy> = expected.iter().filter(|copy| !copies.contains(copy)).collect();
                let odd: Vec<&Copy> = copies.iter().filter(|copy| !expected.contains(copy)).collect();
                assert!(
                    copies == expected,
                    "{context}: leg {leg}, source {source}: missing {missing:?}, odd {odd:?}"
                );
            }
            let remotes: Vec<&String> = room.remotes[&ssrc].iter().collect();
            assert_eq!(remotes, [&remote(leg)], "{context}");
        }
    }
    assert!(
        passing >= 4,
        "{context}: only {passing} replicas of passing receivers began"
    );
    true
}
