//! Pairs of addresses, and the numbers by which the kernel knows the legs at them.
//!
//! The kernel finds a packet's stream by a number and the SSRC, and the number by the addresses.
//! Legs that share a pair have one number together, since no two of their streams have the same
//! SSRC.

use std::collections::{BTreeSet, HashMap, VecDeque};

use dataplane::{Leg, LegId, Path};

/// The owner of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Leg(LegId),
    /// The legs that share this pair.
    Pair(Path),
}

impl Owner {
    fn of(id: LegId, leg: &Leg) -> Self {
        match (leg.shared, leg.paths.first()) {
            (Some(_), Some(pair)) => Owner::Pair(*pair),
            _ => Owner::Leg(id),
        }
    }
}

/// The numbers of all legs, and the pairs whose packets the kernel looks at.
#[derive(Debug)]
pub(super) struct Pairs {
    /// No number was given from this one on.
    next: u32,
    free: VecDeque<u32>,
    /// The number of each owner, and its legs.
    numbers: HashMap<Owner, (u32, BTreeSet<LegId>)>,
    /// The legs of each pair that the kernel has.
    legs: HashMap<Path, BTreeSet<LegId>>,
    /// Legs with a pair for which the kernel has no room.
    unlisted: BTreeSet<LegId>,
}

impl Pairs {
    /// None. Numbers below this one are in use by others.
    pub(super) fn new(next: u32) -> Self {
        Pairs {
            next,
            free: VecDeque::new(),
            numbers: HashMap::new(),
            legs: HashMap::new(),
            unlisted: BTreeSet::new(),
        }
    }

    /// The number of a leg, which is given one if it has none.
    pub(super) fn number(&mut self, id: LegId, leg: &Leg) -> u32 {
        let owner = Owner::of(id, leg);
        let (free, next) = (&mut self.free, &mut self.next);
        let (number, legs) = self.numbers.entry(owner).or_insert_with(|| {
            let number = free.pop_front().unwrap_or_else(|| {
                let number = *next;
                *next = next.wrapping_add(1);
                number
            });
            (number, BTreeSet::new())
        });
        legs.insert(id);
        *number
    }

    /// Gives up the number of a leg that is gone.
    pub(super) fn forget(&mut self, id: LegId, leg: &Leg) {
        let owner = Owner::of(id, leg);
        self.unlisted.remove(&id);
        let Some((number, legs)) = self.numbers.get_mut(&owner) else {
            return;
        };
        legs.remove(&id);
        if legs.is_empty() {
            self.free.push_back(*number);
            self.numbers.remove(&owner);
        }
    }

    /// Adds a leg to those of a pair that the kernel has.
    pub(super) fn add(&mut self, pair: Path, id: LegId) {
        self.legs.entry(pair).or_default().insert(id);
    }

    /// Removes a leg from those of a pair: true if it was the last one.
    pub(super) fn remove(&mut self, pair: &Path, id: LegId) -> bool {
        let Some(legs) = self.legs.get_mut(pair) else {
            return false;
        };
        let is_last = legs.remove(&id) && legs.is_empty();
        if is_last {
            self.legs.remove(pair);
        }
        is_last
    }

    /// Says whether the kernel has all pairs of a leg that it is to have.
    pub(super) fn set_listed(&mut self, id: LegId, is_listed: bool) {
        match is_listed {
            true => self.unlisted.remove(&id),
            false => self.unlisted.insert(id),
        };
    }

    pub(super) fn is_listed(&self, id: LegId) -> bool {
        !self.unlisted.contains(&id)
    }

    /// Legs with a pair for which there was no room.
    pub(super) fn unlisted(&self) -> Vec<LegId> {
        self.unlisted.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use dataplane::Protection;
    use wire::{ExtensionMap, Ssrc};

    use super::*;

    fn leg(port: u16, shared: Option<u32>) -> Leg {
        let path = Path {
            local: ([192, 0, 2, 1], 5_000).into(),
            remote: ([192, 0, 2, 2], port).into(),
        };
        Leg {
            paths: vec![path],
            shared: shared.map(Ssrc),
            protection: Protection::Clear,
            extensions_in: ExtensionMap::default(),
            extensions_out: ExtensionMap::default(),
        }
    }

    #[test]
    fn legs_of_one_pair_have_one_number_until_the_last_one_ends() {
        let mut pairs = Pairs::new(7);
        let (one, other, alone) = (leg(1, Some(1)), leg(1, Some(2)), leg(2, None));
        assert_eq!(pairs.number(LegId(1), &one), 7);
        assert_eq!(pairs.number(LegId(2), &other), 7);
        assert_eq!(pairs.number(LegId(3), &alone), 8);
        pairs.forget(LegId(1), &one);
        assert_eq!(pairs.number(LegId(2), &other), 7);
        // The number of a leg that is written again is that of its pair.
        assert_eq!(pairs.number(LegId(1), &leg(3, Some(1))), 9);
        pairs.forget(LegId(2), &other);
        assert_eq!(pairs.number(LegId(4), &leg(4, None)), 7);
    }

    #[test]
    fn a_pair_is_there_as_long_as_one_of_its_legs() {
        let mut pairs = Pairs::new(0);
        let shared = leg(1, Some(1)).paths[0];
        pairs.add(shared, LegId(1));
        pairs.add(shared, LegId(2));
        pairs.add(shared, LegId(2));
        assert!(!pairs.remove(&shared, LegId(3)));
        assert!(!pairs.remove(&shared, LegId(1)));
        assert!(pairs.remove(&shared, LegId(2)));
        assert!(!pairs.remove(&shared, LegId(2)));
    }
}
