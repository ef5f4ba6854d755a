//! The rings of all participants, by room and identity.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use operator::{Observation, ParticipantObservation, Timeline};

use crate::limits::RING_LEN;
use crate::ring::Ring;

/// The limits of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long a ring is kept after its participant has left.
    pub keep: Duration,
    /// The most bytes of all rings; 0 records nothing.
    pub memory: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            keep: Duration::from_secs(30 * 60),
            memory: 4_096 * RING_LEN,
        }
    }
}

/// A time, by the monotonic clock and by the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// The time for deadlines.
    pub now: Instant,
    /// For people. Shape: milliseconds since the Unix epoch.
    pub unix_ms: u64,
}

counting::counters! {
    /// Everything the recorder counts.
    pub enum Counter {
        /// Observations that were recorded.
        Recorded = "recorded",
        /// Observations that were overwritten by newer ones of the same participant.
        Overwritten = "overwritten",
        /// Observations of participants without a ring: all rings are of participants who are
        /// there.
        Unrecorded = "unrecorded",
        /// Rings of participants who had left that were given up early, for others.
        Evicted = "evicted",
    }
}

/// The rings of all participants.
///
/// A participant who comes back under the same identity goes on with its ring. At the limit of
/// memory the ring of the participant who left first is given up, and without one the newcomer has
/// no ring.
#[derive(Debug)]
pub struct Recorder {
    config: Config,
    rooms: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Seat>>,
    rings: usize,
    /// Those who left, in this order. Some have come back, or left again later.
    leavers: VecDeque<Leaver>,
    counters: Counters,
}

/// A copy of a participant's ring, which may be read on another thread.
#[derive(Clone, Debug)]
pub struct Recording {
    room: String,
    participant: String,
    has_left: bool,
    ring: Ring,
}

impl Recording {
    /// The observations since a time, in milliseconds since the Unix epoch.
    pub fn timeline(&self, since_ms: u64) -> Timeline {
        Timeline {
            room: self.room.clone(),
            participant: self.participant.clone(),
            has_left: self.has_left,
            overwritten: self.ring.overwritten(),
            entries: self.ring.entries(since_ms).collect(),
        }
    }
}

#[derive(Debug)]
struct Seat {
    ring: Ring,
    left: Option<Instant>,
}

#[derive(Debug)]
struct Leaver {
    room: Arc<str>,
    identity: Arc<str>,
    left: Instant,
}

impl Recorder {
    /// A recorder without rings.
    pub fn new(config: Config) -> Self {
        Recorder {
            config,
            rooms: BTreeMap::new(),
            rings: 0,
            leavers: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Whether it can record anything.
    pub fn is_on(&self) -> bool {
        self.config.memory >= RING_LEN
    }

    /// Records an observation of a participant.
    pub fn record(&mut self, at: Timestamp, room: &Arc<str>, of: &ParticipantObservation) {
        self.expire(at.now);
        let is_known = self.seat(room, &of.participant).is_some();
        if !is_known && !self.make_room() {
            self.counters[Counter::Unrecorded] += 1;
            return;
        }
        let seats = self.rooms.entry(room.clone()).or_default();
        if !is_known {
            let seat = Seat {
                ring: Ring::default(),
                left: None,
            };
            seats.insert(of.participant.as_str().into(), seat);
            self.rings += 1;
        }
        let Some(seat) = seats.get_mut(of.participant.as_str()) else {
            return;
        };
        self.counters[Counter::Recorded] += 1;
        let overwrites = seat.ring.record(at.unix_ms, of.track.as_ref(), of.observation);
        self.counters[Counter::Overwritten] += u64::from(overwrites);
        match of.observation {
            Observation::Leave { .. } => self.leave(at.now, room, &of.participant),
            _ => seat.left = None,
        }
    }

    /// A room is over, or another controller goes on with it: its participants are there no longer.
    pub fn end_room(&mut self, now: Instant, room: &str) {
        let Some((room, seats)) = self.rooms.get_key_value(room) else {
            return;
        };
        let present = seats.iter().filter(|(_, seat)| seat.left.is_none());
        let identities: Vec<Arc<str>> = present.map(|(identity, _)| identity.clone()).collect();
        let room = room.clone();
        for identity in identities {
            self.leave(now, &room, &identity);
        }
    }

    /// A copy of the ring of a participant, if there is one.
    pub fn recording(&self, room: &str, identity: &str) -> Option<Recording> {
        let seat = self.seat(room, identity)?;
        Some(Recording {
            room: room.to_owned(),
            participant: identity.to_owned(),
            has_left: seat.left.is_some(),
            ring: seat.ring.clone(),
        })
    }

    /// When [`expire`](Self::expire) is to be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.leavers.front().map(|first| first.left + self.config.keep)
    }

    /// Gives up the rings whose time is over.
    pub fn expire(&mut self, now: Instant) {
        while let Some(first) = self.leavers.front()
            && now.saturating_duration_since(first.left) >= self.config.keep
        {
            self.give_up_first();
        }
    }

    /// The number of rings.
    pub fn rings(&self) -> usize {
        self.rings
    }

    /// The bytes of all rings.
    pub fn memory(&self) -> usize {
        self.rings * RING_LEN
    }

    /// The counts so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn seat(&self, room: &str, identity: &str) -> Option<&Seat> {
        self.rooms.get(room)?.get(identity)
    }

    fn leave(&mut self, now: Instant, room: &Arc<str>, identity: &str) {
        let seats = self.rooms.get_mut(room);
        let Some((identity, seat)) = seats.and_then(|seats| {
            let identity = seats.get_key_value(identity)?.0.clone();
            let seat = seats.get_mut(&identity)?;
            Some((identity, seat))
        }) else {
            return;
        };
        seat.left = Some(now);
        self.leavers.push_back(Leaver {
            room: room.clone(),
            identity,
            left: now,
        });
        // A participant that leaves and comes back many times has one ring and many entries.
        if self.leavers.len() > 2 * self.rings.max(16) {
            let rooms = &self.rooms;
            self.leavers.retain(|leaver| {
                let seat = rooms.get(&leaver.room).and_then(|seats| seats.get(&leaver.identity));
                seat.is_some_and(|seat| seat.left == Some(leaver.left))
            });
        }
    }

    /// Makes room for one more ring. Returns whether there is.
    fn make_room(&mut self) -> bool {
        let max = self.config.memory / RING_LEN;
        while self.rings >= max {
            if self.leavers.is_empty() {
                return false;
            }
            if self.give_up_first() {
                self.counters[Counter::Evicted] += 1;
            }
        }
        true
    }

    /// Gives up the ring of the one who left first, unless that one has come back or left again.
    fn give_up_first(&mut self) -> bool {
        let Some(leaver) = self.leavers.pop_front() else {
            return false;
        };
        let Some(seats) = self.rooms.get_mut(&leaver.room) else {
            return false;
        };
        let is_over = seats
            .get(&leaver.identity)
            .is_some_and(|seat| seat.left == Some(leaver.left));
        if is_over {
            seats.remove(&leaver.identity);
            self.rings -= 1;
        }
        if seats.is_empty() {
            self.rooms.remove(&leaver.room);
        }
        is_over
    }
}
