//! DATA chunks of a peer that the library is not given.
//!
//! The library keeps unread data in lists that it walks at each arrival. It limits bytes and not
//! pieces: half a million pieces of one byte would keep the agent busy for minutes. So pieces far
//! after the first missing one are dropped, and the peer repeats them. A peer with too many pieces
//! of incomplete messages loses its association. Honest peers split messages into pieces as long as
//! packets.

use crate::limits::{DATA_AHEAD_MAX, FRAGMENTS_MAX};

use super::packets::{DATA, chunks};

const BEGINS_AND_ENDS: u8 = 3;

/// The pieces that have arrived on one association.
#[derive(Default)]
pub(super) struct Guard {
    /// The last TSN before the first missing one, as acknowledged last.
    cumulative: Option<u32>,
    /// Pieces of messages of several that arrived and were not read, at most.
    fragments: usize,
}

/// The outcome for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Fine,
    /// Its DATA is left out.
    Ahead,
    /// The association ends.
    Fragments,
}

impl Guard {
    pub(super) fn look(&mut self, packet: &[u8]) -> Finding {
        for (at, kind, len) in chunks(packet) {
            if kind != DATA || len < 16 {
                continue;
            }
            let tsn = u32::from_be_bytes(packet[at + 4..at + 8].try_into().expect("it is four bytes"));
            let ahead = self
                .cumulative
                .map_or(0, |cumulative| tsn.wrapping_sub(cumulative) as i32);
            if ahead > DATA_AHEAD_MAX {
                return Finding::Ahead;
            }
            self.fragments += usize::from(packet[at + 1] & BEGINS_AND_ENDS != BEGINS_AND_ENDS);
        }
        match self.fragments > FRAGMENTS_MAX {
            true => Finding::Fragments,
            false => Finding::Fine,
        }
    }

    /// Everything up to this is acknowledged; `is_empty` if the library has no unread data. Then
    /// duplicates are no longer counted.
    pub(super) fn acknowledged(&mut self, cumulative: u32, is_empty: bool) {
        self.cumulative = Some(cumulative);
        if is_empty {
            self.fragments = 0;
        }
    }

    /// A message of `pieces` pieces was read.
    pub(super) fn read(&mut self, pieces: usize) {
        if pieces > 1 {
            self.fragments = self.fragments.saturating_sub(pieces);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(flags: u8, tsn: u32) -> Vec<u8> {
        let mut packet = vec![0; 12];
        packet.extend([DATA, flags, 0, 17]);
        packet.extend(tsn.to_be_bytes());
        packet.extend([0; 12]);
        packet
    }

    #[test]
    fn data_far_ahead_is_left_out_across_a_wrap() {
        let mut guard = Guard::default();
        assert_eq!(guard.look(&data(3, 7)), Finding::Fine);
        guard.acknowledged(u32::MAX - 5, true);
        let ahead = DATA_AHEAD_MAX as u32;
        assert_eq!(guard.look(&data(3, ahead - 6)), Finding::Fine);
        assert_eq!(guard.look(&data(3, ahead - 5)), Finding::Ahead);
        assert_eq!(guard.look(&data(3, u32::MAX - 100)), Finding::Fine, "it comes again");
    }

    #[test]
    fn pieces_that_are_read_are_not_counted() {
        let mut guard = Guard::default();
        for _ in 0..FRAGMENTS_MAX {
            assert_eq!(guard.look(&data(0, 1)), Finding::Fine);
            assert_eq!(guard.look(&data(1, 1)), Finding::Fine);
            guard.read(2);
        }
        for _ in 0..FRAGMENTS_MAX {
            assert_eq!(guard.look(&data(2, 1)), Finding::Fine);
        }
        assert_eq!(guard.look(&data(2, 1)), Finding::Fragments);
        guard.acknowledged(1, true);
        assert_eq!(guard.look(&data(2, 1)), Finding::Fine);
    }
}
