//! The elements that are written into each copy because of its receiver and its sending time: the
//! room for them, and the side that assigns transport-wide numbers.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Instant;

use dataplane::{Leg, LegId, Replica};
use wire::ExtensionKind;

use super::slots::Slots;
use crate::layout::fanout::{FANOUT_LEGS, FANOUT_MID_WORDS, MidElement, ReplicaEntry, StreamEntry};

/// The highest header extension id, and the longest value, of the one-byte form (RFC 8285 section
/// 4.2).
const ONE_BYTE_MAX: u8 = 14;

/// Elements that depend on the sending time, and so are written where the packet is sent.
const STAMPS: [ExtensionKind; 2] = [ExtensionKind::AbsSendTime, ExtensionKind::TransportSequence];

/// Whether packets to a leg carry when they were sent, or their number among all.
pub(super) fn are_wanted(leg: &Leg) -> bool {
    STAMPS.iter().any(|kind| leg.extensions_out.id(*kind).is_some())
}

/// Has a replica's copies stamped as its leg wants, counting at `place`.
pub(super) fn of_replica(entry: &mut ReplicaEntry, replica: &Replica, leg: &Leg, place: Option<u32>) {
    let id = |kind| leg.extensions_out.id(kind);
    entry.leg = place.unwrap_or(0);
    entry.time_id = place.and(id(ExtensionKind::AbsSendTime)).unwrap_or(0);
    entry.number_id = place.and(id(ExtensionKind::TransportSequence)).unwrap_or(0);
    if let Some((id, mid)) = id(ExtensionKind::Mid).zip(replica.mid) {
        let len = mid.as_bytes().len() as u8;
        let one_byte = id << 4 | (len - 1);
        entry.mids = [
            element(&[&[one_byte], mid.as_bytes()].concat()),
            element(&[&[id, len], mid.as_bytes()].concat()),
        ];
    }
}

/// Makes room in a stream's copies for what one of its replicas writes.
pub(super) fn make_room(stream: &mut StreamEntry, replica: &Replica, leg: &Leg) {
    let id = |kind| leg.extensions_out.id(kind);
    let mid = id(ExtensionKind::Mid).zip(replica.mid);
    let [time, number] = STAMPS.map(id);
    if let Some((_, mid)) = mid {
        for (form, words) in stream.mid_words.iter_mut().enumerate() {
            let len = 1 + form + mid.as_bytes().len();
            *words = (*words).max(len.div_ceil(4) as u8);
        }
    }
    stream.timed |= u8::from(time.is_some());
    stream.numbered |= u8::from(number.is_some());
    let mut ids = mid.map(|(id, _)| id).into_iter().chain(time).chain(number);
    stream.two_byte |= u8::from(ids.any(needs_two_bytes));
}

/// Whether an id only fits the two-byte form.
pub(super) fn needs_two_bytes(id: u8) -> bool {
    id > ONE_BYTE_MAX
}

fn element(bytes: &[u8]) -> MidElement {
    let mut words = [[0; 4]; FANOUT_MID_WORDS as usize];
    words.as_flattened_mut()[..bytes.len()].copy_from_slice(bytes);
    MidElement {
        words: words.map(u32::from_ne_bytes),
    }
}

/// The assignment of transport-wide numbers to legs that have them. One side counts for a leg as
/// long as the leg exists: two sides would use numbers twice.
#[derive(Debug)]
pub(super) struct Counts {
    free: Slots,
    places: BTreeMap<LegId, u32>,
    legs: HashMap<u32, LegId>,
    /// Legs that the base counts for.
    elsewhere: BTreeSet<LegId>,
    /// Legs that are newly counted here and not yet reported.
    new: VecDeque<LegId>,
}

impl Counts {
    /// `used` are places of an earlier process.
    pub(super) fn new(used: &BTreeSet<u32>) -> Self {
        Counts {
            free: Slots::new(FANOUT_LEGS, used),
            places: BTreeMap::new(),
            legs: HashMap::new(),
            elsewhere: BTreeSet::new(),
            new: VecDeque::new(),
        }
    }

    /// The slot of a leg's transport-wide numbers, if they are assigned here.
    pub(super) fn place(&self, id: LegId) -> Option<u32> {
        self.places.get(&id).copied()
    }

    /// The leg whose numbers are in a slot.
    pub(super) fn leg(&self, place: u32) -> Option<LegId> {
        self.legs.get(&place).copied()
    }

    /// Whether the base counts for a leg.
    pub(super) fn is_elsewhere(&self, id: LegId) -> bool {
        self.elsewhere.contains(&id)
    }

    /// Has a leg's packets counted here. Returns the slot, if that is new. `Err` where there is no
    /// slot.
    pub(super) fn take(&mut self, now: Instant, id: LegId) -> Result<Option<u32>, ()> {
        if self.places.contains_key(&id) {
            return Ok(None);
        }
        let place = self.free.take(now).ok_or(())?;
        self.places.insert(id, place);
        self.legs.insert(place, id);
        self.new.push_back(id);
        Ok(Some(place))
    }

    /// The base has stopped counting a leg's packets, so that it can be done here.
    pub(super) fn is_free(&mut self, id: LegId) {
        self.elsewhere.remove(&id);
    }

    /// The base may have sent something to a leg: it counts from then on, unless it was told not
    /// to.
    pub(super) fn leave(&mut self, id: LegId) {
        if !self.places.contains_key(&id) {
            self.elsewhere.insert(id);
        }
    }

    pub(super) fn next_new(&mut self) -> Option<LegId> {
        self.new.pop_front()
    }

    pub(super) fn remove(&mut self, now: Instant, id: LegId) {
        self.elsewhere.remove(&id);
        self.new.retain(|new| *new != id);
        if let Some(place) = self.places.remove(&id) {
            self.legs.remove(&place);
            self.free.give_up(place, now);
        }
    }

    /// Places of an earlier process that are free now.
    pub(super) fn free(&mut self, now: Instant, places: BTreeSet<u32>) {
        places.into_iter().for_each(|place| self.free.give_up(place, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_numbers_a_leg_for_its_whole_life() {
        let now = Instant::now();
        let mut counts = Counts::new(&BTreeSet::from([0]));
        counts.leave(LegId(7));
        assert!(counts.is_elsewhere(LegId(7)));
        assert_eq!(counts.take(now, LegId(8)), Ok(Some(1)));
        assert_eq!(counts.take(now, LegId(8)), Ok(None));
        counts.leave(LegId(8));
        assert!(!counts.is_elsewhere(LegId(8)));
        assert_eq!((counts.place(LegId(8)), counts.leg(1)), (Some(1), Some(LegId(8))));
        assert_eq!((counts.next_new(), counts.next_new()), (Some(LegId(8)), None));
        counts.remove(now, LegId(8));
        counts.remove(now, LegId(7));
        assert_eq!((counts.place(LegId(8)), counts.leg(1)), (None, None));
        assert!(!counts.is_elsewhere(LegId(7)));
    }
}
