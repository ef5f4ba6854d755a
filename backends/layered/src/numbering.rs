//! Legs whose packets the offload stamps with sending times and transport-wide numbers.
//!
//! Two sides cannot count one leg's packets, so the base's packets to such a leg carry neither. Its
//! receiver reports only on packets with numbers. Packets of the base beside them are not part of
//! the estimate, which makes it lower.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::{Leg, LegId, Update};
use wire::{ExtensionKind, ExtensionMap};

/// Every leg, and whether the offload stamps its packets.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    legs: BTreeMap<LegId, Leg>,
    by_offload: BTreeSet<LegId>,
    /// Of those, the ones the offload has not taken yet: it is to begin where the base stopped.
    lent: BTreeSet<LegId>,
}

impl Numbering {
    /// The base's form of an update.
    pub(crate) fn for_base(&self, update: Update) -> Update {
        match update {
            Update::SetLeg(id, leg) if self.by_offload.contains(&id) => Update::SetLeg(id, bare(&leg)),
            update => update,
        }
    }

    /// Remembers what has been written.
    pub(crate) fn keep(&mut self, update: &Update) {
        if let Update::SetLeg(id, leg) = update {
            self.legs.insert(*id, leg.clone());
        }
    }

    pub(crate) fn forget(&mut self, update: &Update) {
        if let Update::RemoveLeg(id) = update {
            self.legs.remove(id);
            self.by_offload.remove(id);
            self.lent.remove(id);
        }
    }

    /// The offload stamps a leg's packets from now on: what the base is to have of the leg.
    pub(crate) fn take_over(&mut self, id: LegId) -> Option<Update> {
        let leg = self.legs.get(&id)?;
        self.by_offload.insert(id);
        self.lent.remove(&id);
        Some(Update::SetLeg(id, bare(leg)))
    }

    /// Until it is decided which side stamps a leg's packets, none does. Returns the leg's entry
    /// for the base, if the base stamps them so far.
    pub(crate) fn lend(&mut self, id: LegId) -> Option<Update> {
        let leg = self.legs.get(&id)?;
        let bare = bare(leg);
        if bare == *leg || !self.by_offload.insert(id) {
            return None;
        }
        self.lent.insert(id);
        Some(Update::SetLeg(id, bare))
    }

    /// The base continues to stamp them, if the offload has not begun to.
    pub(crate) fn give_back(&mut self, id: LegId) -> Option<Update> {
        if !self.lent.remove(&id) {
            return None;
        }
        self.by_offload.remove(&id);
        Some(Update::SetLeg(id, self.legs.get(&id)?.clone()))
    }
}

/// A leg whose packets carry no stamps.
fn bare(leg: &Leg) -> Leg {
    let mut extensions_out = ExtensionMap::default();
    let is_stamp = |kind| matches!(kind, ExtensionKind::AbsSendTime | ExtensionKind::TransportSequence);
    for (kind, id) in leg.extensions_out.iter().filter(|(kind, _)| !is_stamp(*kind)) {
        extensions_out
            .insert(kind, id)
            .expect("a subset of valid extensions is valid");
    }
    Leg {
        extensions_out,
        ..leg.clone()
    }
}

#[cfg(test)]
mod tests {
    use dataplane::Protection;

    use super::*;

    fn leg(kinds: &[ExtensionKind]) -> Leg {
        let mut extensions_out = ExtensionMap::default();
        for (id, kind) in (1..).zip(kinds) {
            extensions_out.insert(*kind, id).unwrap();
        }
        Leg {
            paths: Vec::new(),
            shared: None,
            protection: Protection::Clear,
            extensions_in: ExtensionMap::default(),
            extensions_out,
        }
    }

    #[test]
    fn the_base_stamps_legs_that_the_offload_does_not() {
        let (full, plain) = (
            leg(&[ExtensionKind::Mid, ExtensionKind::TransportSequence]),
            leg(&[ExtensionKind::Mid]),
        );
        let mut numbering = Numbering::default();
        let written = Update::SetLeg(LegId(1), full);
        assert_eq!(numbering.for_base(written.clone()), written);
        numbering.keep(&written);
        let told = Update::SetLeg(LegId(1), plain);
        assert_eq!(numbering.take_over(LegId(1)), Some(told.clone()));
        assert_eq!(numbering.for_base(written.clone()), told);
        numbering.forget(&Update::RemoveLeg(LegId(1)));
        assert_eq!(numbering.for_base(written.clone()), written);
        assert_eq!(numbering.take_over(LegId(1)), None);
    }
}
