//! The pool of slots.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The slots of one holder under pressure, for each one that is free. One holder alone leaves a
/// ninth of all slots.
pub const WEIGHT: usize = 8;

/// How many slots there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In all.
    pub all: usize,
    /// Of one holder.
    pub per_holder: usize,
    /// Of those, pending.
    pub pending_per_holder: usize,
    /// How long a pending slot is kept in any case.
    pub pending_min: Duration,
}

impl Limits {
    /// Without fixed numbers for one holder.
    pub const fn shared(all: usize, pending_min: Duration) -> Self {
        Limits {
            all,
            per_holder: usize::MAX,
            pending_per_holder: usize::MAX,
            pending_min,
        }
    }
}

/// Why there is no slot, or no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Full {
    /// The holder has its share.
    Holder,
    /// All slots are taken.
    All,
}

/// The number of a slot. None is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(u64);

/// A slot that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The slot.
    pub slot: SlotId,
    /// The slots that were evicted for it, and why. They are free already.
    pub evicted: Vec<(SlotId, Full)>,
}

/// Slots, and who holds them.
#[derive(Clone, Debug)]
pub struct SlotPool<H> {
    limits: Limits,
    slots: BTreeMap<SlotId, Slot<H>>,
    holders: BTreeMap<H, Share>,
    /// Holders of pending slots by the number of these; of equal ones the one with the oldest slot
    /// is last.
    by_pending: BTreeSet<(usize, Reverse<SlotId>, H)>,
    /// Pending slots without a holder.
    unheld: BTreeSet<SlotId>,
    given: u64,
}

#[derive(Clone, Debug)]
struct Slot<H> {
    holders: Vec<H>,
    since: Instant,
    is_pending: bool,
}

/// The slots of one holder.
#[derive(Clone, Debug, Default)]
struct Share {
    all: usize,
    pending: BTreeSet<SlotId>,
}

impl<H: Clone + Ord> SlotPool<H> {
    /// None of them is taken.
    pub fn new(limits: Limits) -> Self {
        SlotPool {
            limits,
            slots: BTreeMap::new(),
            holders: BTreeMap::new(),
            by_pending: BTreeSet::new(),
            unheld: BTreeSet::new(),
            given: 0,
        }
    }

    /// Goes by other limits from now on. Slots that are taken stay so.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The number of slots that are taken.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no slot is taken.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether a slot is taken.
    pub fn contains(&self, slot: SlotId) -> bool {
        self.slots.contains_key(&slot)
    }

    /// Takes a slot, which is pending. One without holders counts for no share.
    ///
    /// Errors: there is none, and none that could be evicted. Nothing has changed then.
    pub fn enter(&mut self, now: Instant, mut holders: Vec<H>) -> Result<Entry, Full> {
        holders.sort_unstable();
        holders.dedup();
        let mut evicted: Vec<(SlotId, Full)> = Vec::new();
        for holder in &holders {
            self.make_room_of(now, holder, &mut evicted)?;
        }
        if self.slots.len() - evicted.len() >= self.limits.all {
            let victim = self.largest_victim(now).ok_or(Full::All)?;
            evicted.push((victim, Full::All));
        }
        for (victim, _) in &evicted {
            self.leave(*victim);
        }
        Ok(Entry {
            slot: self.add(now, holders),
            evicted,
        })
    }

    /// The client has done what it came for: the slot is not evicted from now on. False when it was
    /// evicted before.
    pub fn settle(&mut self, slot: SlotId) -> bool {
        let Some(found) = self.slots.get_mut(&slot) else {
            return false;
        };
        if std::mem::take(&mut found.is_pending) {
            let holders = found.holders.clone();
            self.no_longer_pending(slot, &holders);
        }
        true
    }

    /// Gives a slot back. One that was evicted is not there any more.
    pub fn leave(&mut self, slot: SlotId) {
        let Some(Slot {
            holders, is_pending, ..
        }) = self.slots.remove(&slot)
        else {
            return;
        };
        if is_pending {
            self.no_longer_pending(slot, &holders);
        }
        for holder in holders {
            if let Some(share) = self.holders.get_mut(&holder) {
                share.all -= 1;
                if share.all == 0 {
                    self.holders.remove(&holder);
                }
            }
        }
    }

    /// Evicts the pending slot whose turn it is, as where the system has no more of something else.
    /// `None` when there is none that is old enough.
    pub fn evict(&mut self, now: Instant) -> Option<SlotId> {
        let victim = self.largest_victim(now)?;
        self.leave(victim);
        Some(victim)
    }

    /// Finds a slot to evict, if a holder has its share.
    fn make_room_of(&self, now: Instant, holder: &H, evicted: &mut Vec<(SlotId, Full)>) -> Result<(), Full> {
        let Some(share) = self.holders.get(holder) else {
            return Ok(());
        };
        let limits = &self.limits;
        let own = || share.pending.first().copied().filter(|slot| self.is_old(now, *slot));
        let victim = if share.all >= limits.per_holder || share.pending.len() >= limits.pending_per_holder {
            own()
        } else if share.all >= WEIGHT.saturating_mul(limits.all.saturating_sub(self.slots.len())) {
            self.larger_victim(now, share.all).or_else(own)
        } else {
            return Ok(());
        };
        let victim = victim.ok_or(Full::Holder)?;
        if !evicted.iter().any(|(slot, _)| *slot == victim) {
            evicted.push((victim, Full::Holder));
        }
        Ok(())
    }

    /// The oldest pending slot of the holder with the most of them, if that has at least `all`
    /// slots.
    fn larger_victim(&self, now: Instant, all: usize) -> Option<SlotId> {
        let (_, Reverse(oldest), holder) = self.by_pending.last()?;
        let is_larger = self.holders.get(holder).is_some_and(|share| share.all >= all);
        (is_larger && self.is_old(now, *oldest)).then_some(*oldest)
    }

    /// The same of any holder.
    fn largest_victim(&self, now: Instant) -> Option<SlotId> {
        let held = self.by_pending.last().map(|(count, oldest, _)| (*count, *oldest));
        let unheld = self.unheld.first().map(|oldest| (1, Reverse(*oldest)));
        let (_, Reverse(victim)) = held.max(unheld)?;
        self.is_old(now, victim).then_some(victim)
    }

    fn is_old(&self, now: Instant, slot: SlotId) -> bool {
        let since = self.slots.get(&slot).map(|found| found.since);
        since.is_some_and(|since| now.saturating_duration_since(since) >= self.limits.pending_min)
    }

    fn add(&mut self, now: Instant, holders: Vec<H>) -> SlotId {
        self.given += 1;
        let slot = SlotId(self.given);
        if holders.is_empty() {
            self.unheld.insert(slot);
        }
        for holder in &holders {
            self.change_pending(holder, |share| {
                share.all += 1;
                share.pending.insert(slot);
            });
        }
        let taken = Slot {
            holders,
            since: now,
            is_pending: true,
        };
        self.slots.insert(slot, taken);
        slot
    }

    fn no_longer_pending(&mut self, slot: SlotId, holders: &[H]) {
        self.unheld.remove(&slot);
        for holder in holders {
            self.change_pending(holder, |share| {
                share.pending.remove(&slot);
            });
        }
    }

    /// Changes a share, and the place of its holder in the order of pending slots.
    fn change_pending(&mut self, holder: &H, change: impl FnOnce(&mut Share)) {
        let share = self.holders.entry(holder.clone()).or_default();
        if let Some(oldest) = share.pending.first() {
            let before = (share.pending.len(), Reverse(*oldest), holder.clone());
            self.by_pending.remove(&before);
        }
        change(share);
        if let Some(oldest) = share.pending.first() {
            let after = (share.pending.len(), Reverse(*oldest), holder.clone());
            self.by_pending.insert(after);
        }
    }
}

#[cfg(test)]
mod tests;
