//! Names nobody can guess or use twice, from one seed.

use environment::Random;
use southbound::{ControllerId, SubscriptionId, TrackId, TransportId};
use wire::Ssrc;

/// A room, inside the controller. Its name may come back after it is gone; this does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RoomKey(u64);

/// A participant, inside the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ParticipantKey(u64);

/// A participant in its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ParticipantRef {
    pub(crate) room: RoomKey,
    pub(crate) participant: ParticipantKey,
}

/// A session id for descriptions, which by RFC 8829 must fit 63 bits.
pub(crate) fn session_id(random: &mut Random) -> u64 {
    random.u64() >> 1
}

/// SSRCs for one transport, each once: adding an odd number visits all 32-bit numbers before any
/// comes back, so "never again" needs no memory.
#[derive(Clone, Debug)]
pub(crate) struct Ssrcs {
    next: u32,
}

impl Ssrcs {
    const STRIDE: u32 = 0x9e37_79b9;

    pub(crate) fn new(random: &mut Random) -> Self {
        Self { next: random.u32() }
    }

    /// Those after this one.
    pub(crate) fn after(last: u32) -> Self {
        Self { next: last }
    }

    /// Those after so many further ones, which somebody else may have used.
    pub(crate) fn far_after(last: u32, skipped: u32) -> Self {
        Self::after(last.wrapping_add(Self::STRIDE.wrapping_mul(skipped)))
    }

    /// The last of them.
    pub(crate) fn last(&self) -> u32 {
        self.next
    }

    pub(crate) fn next(&mut self) -> Ssrc {
        self.next = self.next.wrapping_add(Self::STRIDE);
        // 0 is legal but looks like "none" in too many tools.
        if self.next == 0 {
            self.next = Self::STRIDE;
        }
        Ssrc(self.next)
    }
}

/// Counts out the names that are only looked up, never guessed.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    controller: ControllerId,
    last: u64,
    port_indices: usize,
}

impl Ids {
    /// Those that nodes get are told from other controllers' by this controller's id.
    pub(crate) fn new(controller: ControllerId) -> Self {
        Self {
            controller,
            ..Self::default()
        }
    }

    pub(crate) fn room(&mut self) -> RoomKey {
        RoomKey(self.next())
    }

    pub(crate) fn participant(&mut self) -> ParticipantKey {
        ParticipantKey(self.next())
    }

    pub(crate) fn transport(&mut self) -> TransportId {
        TransportId::new(self.controller, self.next())
    }

    /// The index of a participant's port: 0 for the first participant, and one more for each next
    /// one.
    pub(crate) fn port_index(&mut self) -> usize {
        let index = self.port_indices;
        self.port_indices = index.wrapping_add(1);
        index
    }

    pub(crate) fn track(&mut self) -> TrackId {
        TrackId::new(self.controller, self.next())
    }

    pub(crate) fn subscription(&mut self) -> SubscriptionId {
        SubscriptionId::new(self.controller, self.next())
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_names() {
        let draw = || {
            let mut random = Random::new([7; 32]);
            (random.sid("PA_"), random.credentials(), Ssrcs::new(&mut random).next())
        };
        assert_eq!(draw(), draw());
        assert!(draw().0.starts_with("PA_") && draw().0.len() == 15);
    }

    #[test]
    fn an_ssrc_does_not_come_back() {
        let mut ssrcs = Ssrcs::new(&mut Random::new([7; 32]));
        let mut seen: Vec<_> = (0..100_000).map(|_| ssrcs.next().0).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 100_000);
        assert!(!seen.contains(&0));
    }
}
