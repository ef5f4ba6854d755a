//! Meetings of legs, which the allocator packs into multicast trees.
//!
//! The data plane knows no rooms. Legs that get streams of each other from the switch are one
//! meeting; a stream between two meetings makes them one. The allocator moves a meeting between
//! its designs and trees: one tree for all packets (NRA), one for each temporal layer (RA-R), or
//! one for each layer of each sender (RA-SR). If a layer has no room of its own, all packets are
//! copied for everybody, and egress leaves out what is outside a target.
//!
//! Source: Scallop section 6.2.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use dataplane::{LegId, StreamKey};
use planning::{Allocator, Design, Device, Meeting, MeetingId, Place, Quality, Rates, Refusal, Resource, Rewriter};
use wire::Ssrc;

use super::groups::{StreamFanout, TREES};
use super::trees::Trees;
use crate::context::Context;

/// After the switch had no room for the trees of layers, a meeting has none for so long.
const PLAIN: Duration = Duration::from_secs(30);

/// The receivers of a stream, each with the layers that are copied for it. `None` stands for a
/// stream that names no layers.
pub(super) type Followers = BTreeMap<LegId, Option<Quality>>;

/// All meetings of the switch.
#[derive(Debug)]
pub(super) struct Meetings {
    allocator: Allocator,
    pub(super) trees: Trees,
    seats: BTreeMap<LegId, Seat>,
    streams: BTreeMap<StreamKey, Followers>,
    received: BTreeMap<LegId, BTreeSet<StreamKey>>,
    /// Meetings without trees of layers, and until when.
    plain: BTreeMap<MeetingId, Instant>,
    next: u64,
}

/// The place of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seat {
    meeting: MeetingId,
    place: Place,
    /// Its place as a receiver of its own streams.
    echo: Option<Place>,
}

/// The engine of a switch. Its replicas are counted by the switch itself, and its registers by
/// [`Slots`](crate::slots::Slots).
fn engine() -> Device {
    Device {
        trees: TREES,
        nodes: 1 << 24,
        replica_ids: 1 << 16,
        exclusion_ids: 1,
        meetings_per_tree: 2,
        cells_per_stage: u64::MAX,
        stages_s_lm: 1,
        stages_s_lr: 1,
        bandwidth: u64::MAX,
        rewriter: Some(Rewriter::SLm),
    }
}

impl Default for Meetings {
    fn default() -> Self {
        Meetings::new(engine())
    }
}

impl Meetings {
    /// None, in the trees of an engine.
    pub(super) fn new(engine: Device) -> Self {
        Meetings {
            allocator: Allocator::new(engine),
            trees: Trees::default(),
            seats: BTreeMap::new(),
            streams: BTreeMap::new(),
            received: BTreeMap::new(),
            plain: BTreeMap::new(),
            next: 0,
        }
    }

    /// A stream has these receivers from now on.
    ///
    /// Errors: there is no room, and nothing has changed. Fewer receivers always have room.
    pub(super) fn follow(&mut self, now: Instant, key: StreamKey, followers: Followers) -> Result<(), Refusal> {
        let before = self.streams.get(&key).cloned().unwrap_or_default();
        if before == followers {
            return Ok(());
        }
        let mut concerned: BTreeSet<LegId> = before.keys().chain(followers.keys()).copied().collect();
        concerned.insert(key.leg);
        self.note(key, followers);
        let outcome = self.seat(now, &concerned);
        if outcome.is_err() {
            self.note(key, before);
        }
        outcome
    }

    /// The ways of a stream's packets, unless it has no tree.
    pub(super) fn fanouts(&self, key: StreamKey) -> Option<StreamFanout> {
        let seat = self.seats.get(&key.leg)?;
        let of = |layer| self.trees.fanout(seat.meeting, seat.place, layer);
        Some(StreamFanout {
            all: of(0)?,
            upper: [of(1)?, of(2)?],
        })
    }

    /// The streams of legs whose packets have another way since the last call.
    pub(super) fn take_rerouted(&mut self) -> Vec<StreamKey> {
        let legs = self.trees.take_rerouted();
        legs.into_iter().flat_map(|leg| self.sent_by(leg)).collect()
    }

    /// Has the meetings in a tree do without trees of layers, because the switch has no room.
    /// False if none of them has any.
    pub(super) fn simplify(&mut self, now: Instant, legs: impl IntoIterator<Item = LegId>) -> bool {
        let meetings = legs.into_iter().filter_map(|leg| Some(self.seats.get(&leg)?.meeting));
        let meetings: BTreeSet<MeetingId> = meetings.collect();
        let is_layered = |id: &MeetingId| self.allocator.design(*id) > Some(Design::Nra);
        let layered: Vec<MeetingId> = meetings.into_iter().filter(is_layered).collect();
        for id in &layered {
            self.plain.insert(*id, now + PLAIN);
            let members = self.members(*id);
            // The allocator holds the branch that remains.
            let _ = self.seat(now, &members);
        }
        !layered.is_empty()
    }

    /// Does what is due.
    pub(super) fn tick(&mut self, context: &mut Context<'_>) {
        self.trees.tick(context);
        let is_over = |until: &&Instant| **until <= context.now;
        let over = self.plain.iter().filter(|(_, until)| is_over(until));
        for id in over.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.plain.remove(&id);
            let members = self.members(id);
            let _ = self.seat(context.now, &members);
        }
    }

    fn note(&mut self, key: StreamKey, followers: Followers) {
        for leg in self.streams.remove(&key).unwrap_or_default().into_keys() {
            if let Some(received) = self.received.get_mut(&leg) {
                received.remove(&key);
                if received.is_empty() {
                    self.received.remove(&leg);
                }
            }
        }
        for leg in followers.keys() {
            self.received.entry(*leg).or_default().insert(key);
        }
        if !followers.is_empty() {
            self.streams.insert(key, followers);
        }
    }

    fn members(&self, id: MeetingId) -> BTreeSet<LegId> {
        self.trees.members(id)
    }

    fn sent_by(&self, leg: LegId) -> impl Iterator<Item = StreamKey> + '_ {
        let of = |ssrc| StreamKey { leg, ssrc: Ssrc(ssrc) };
        self.streams.range(of(0)..=of(u32::MAX)).map(|(key, _)| *key)
    }

    /// Seats these legs by the streams that they send and get, all in one meeting.
    fn seat(&mut self, now: Instant, concerned: &BTreeSet<LegId>) -> Result<(), Refusal> {
        let held = concerned.iter().filter_map(|leg| Some(self.seats.get(leg)?.meeting));
        let held: BTreeSet<MeetingId> = held.collect();
        let size = |id: &MeetingId| self.allocator.meeting(*id).map_or(0, Meeting::len);
        let id = held.iter().copied().max_by_key(size).unwrap_or(MeetingId(self.next));
        let moved = held.iter().filter(|other| **other != id);
        let mut legs: BTreeSet<LegId> = moved.flat_map(|other| self.members(*other)).collect();
        legs.extend(concerned);

        let full = Refusal {
            resource: Resource::ReplicaIds,
        };
        let mut meeting = self.allocator.meeting(id).cloned().unwrap_or_default();
        let seats = self.seats_in(id, &legs, &mut meeting).ok_or(full)?;
        for (leg, seat) in &seats {
            self.tune(&mut meeting, now, *leg, *seat, &seats);
        }
        for (leg, seat) in &seats {
            self.trees.seat(id, seat.place, *leg);
            seat.echo.iter().for_each(|echo| self.trees.seat(id, *echo, *leg));
        }
        if let Err(refusal) = self.place(id, meeting) {
            self.trees.retain(id, self.allocator.meeting(id));
            return Err(refusal);
        }
        self.next += u64::from(id.0 == self.next);
        for other in held.into_iter().filter(|other| *other != id) {
            // An empty meeting always has room.
            let _ = self.place(other, Meeting::default());
            self.plain.remove(&other);
            self.trees.retain(other, None);
        }
        self.trees.retain(id, self.allocator.meeting(id));
        if self.allocator.meeting(id).is_none() {
            self.plain.remove(&id);
        }
        for leg in &legs {
            self.seats.remove(leg);
        }
        self.seats.extend(seats);
        Ok(())
    }

    /// The seats of legs that send or get something. The others leave. `None` if the meeting is
    /// full.
    fn seats_in(&self, id: MeetingId, legs: &BTreeSet<LegId>, meeting: &mut Meeting) -> Option<BTreeMap<LegId, Seat>> {
        let mut seats = BTreeMap::new();
        let mut free = Vec::new();
        for leg in legs {
            let before = self.seats.get(leg).filter(|seat| seat.meeting == id);
            let (place, echo) = (before.map(|seat| seat.place), before.and_then(|seat| seat.echo));
            let sends = self.sent_by(*leg).next().is_some();
            let is_linked = sends || self.received.contains_key(leg);
            let hears_itself = self.sent_by(*leg).any(|key| self.streams[&key].contains_key(leg));
            let mut take = |held: Option<Place>, is_needed: bool| match (held, is_needed) {
                (None, true) => meeting.join(None, Quality::High).map(Some),
                (Some(held), false) => {
                    free.push(held);
                    Some(None)
                }
                (held, _) => Some(held),
            };
            let (place, echo) = (take(place, is_linked)?, take(echo, hears_itself)?);
            if let Some(place) = place {
                meeting.set_rates(place, sends.then_some(Rates::SCALLOP));
                let seat = Seat {
                    meeting: id,
                    place,
                    echo,
                };
                seats.insert(*leg, seat);
            }
        }
        // A place that is taken before and after is the same leg's, so they are free only now.
        for place in free {
            meeting.leave(place);
        }
        Some(seats)
    }

    /// Sets the layers that a leg gets of each sender.
    fn tune(&self, meeting: &mut Meeting, now: Instant, leg: LegId, seat: Seat, seats: &BTreeMap<LegId, Seat>) {
        let is_plain = self.plain.get(&seat.meeting).is_some_and(|until| *until > now);
        let mut wanted: BTreeMap<Place, Quality> = BTreeMap::new();
        let received = self.received.get(&leg).into_iter().flatten();
        for key in received.filter(|key| key.leg != leg && !is_plain) {
            let sender = seats.get(&key.leg).or_else(|| self.seats.get(&key.leg));
            let quality = self
                .streams
                .get(key)
                .and_then(|followers| followers.get(&leg).copied()?);
            if let (Some(sender), Some(quality)) = (sender, quality) {
                let of_all = wanted.entry(sender.place).or_insert(quality);
                *of_all = quality.max(*of_all);
            }
        }
        // Of senders without layers it gets all, whatever is said here.
        let highest = wanted.values().copied().max().unwrap_or(Quality::High);
        meeting.set_quality(seat.place, highest);
        for (sender, quality) in wanted.into_iter().filter(|(_, quality)| *quality != highest) {
            meeting.set_quality_from(sender, seat.place, quality);
        }
    }

    /// Places a meeting, without trees of layers if there is no room for them.
    fn place(&mut self, id: MeetingId, meeting: Meeting) -> Result<(), Refusal> {
        if self.allocator.meeting(id) == Some(&meeting) {
            return Ok(());
        }
        let mut plain = meeting.clone();
        let placed = self.allocator.set(id, meeting, &mut self.trees).or_else(|_| {
            let places: Vec<Place> = plain.places().collect();
            for place in places {
                plain.set_quality(place, Quality::High);
            }
            self.allocator.set(id, plain, &mut self.trees)
        });
        placed.map(drop)
    }
}

#[cfg(test)]
mod tests;
