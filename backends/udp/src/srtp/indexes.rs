//! Extended sequence numbers: which one a packet has, and which ones were used.

use super::packet::RTP_INDEX_END;
use super::streams::Streams;
use crate::replay_window::{ReplayWindow, Stale};

/// The 48-bit index with this sequence number that lies nearest to the highest one seen.
///
/// Source: RFC 3711 section 3.3.1. The rollover counter stays as it is if it would go below the
/// first packet ever or past the last, and at a distance of exactly half the numbers.
pub(super) fn nearest_index(highest: u64, sequence: u16) -> u64 {
    let same_rollover = highest & !0xffff | u64::from(sequence);
    let distance = sequence.wrapping_sub(highest as u16) as i16;
    if distance == i16::MIN {
        return same_rollover;
    }
    highest
        .checked_add_signed(distance.into())
        .filter(|index| *index < RTP_INDEX_END)
        .unwrap_or(same_rollover)
}

/// Whether the bytes of a packet are new, as its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// They were not sent before, or may differ from what was.
    New,
    /// They are, to the last bit, what was sent under this number before, if anything was.
    Identical,
}

/// Why an index must not be used. Sealing anyway would give away plaintext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// Other bytes went out under it.
    Used,
    /// So far behind the highest (1,024) that nobody remembers whether it was used.
    TooOld,
    /// The table is full and this SSRC is not in it: the agent gives the leg fewer streams, or new
    /// keys.
    TooManyStreams,
    /// Past 2^48: the leg needs new keys.
    Exhausted,
}

/// Keeps the promise of keystream safety for one leg: a (key, SSRC, index) protects one packet,
/// ever.
///
/// Ask before every [`Sealer::seal_rtp`](super::Sealer::seal_rtp). A late packet may be claimed
/// under its own number as long as that was not used; an SSRC is remembered as long as the keys
/// are.
pub struct StreamIndexes {
    streams: Streams<ReplayWindow>,
}

impl StreamIndexes {
    /// An empty table for at most `streams_max` SSRCs in the life of the leg's keys.
    pub fn with_limit(streams_max: usize) -> Self {
        Self {
            streams: Streams::with_limit(streams_max),
        }
    }

    /// Asks for what the next claim will most likely look at.
    pub(crate) fn prefetch(&self) {
        self.streams.prefetch();
    }

    /// Claims `index` for one packet, or says why it must not be sent.
    pub fn claim(&mut self, ssrc: u32, index: u64, bytes: Bytes) -> Result<(), Refused> {
        if index >= RTP_INDEX_END {
            return Err(Refused::Exhausted);
        }
        if let Some(window) = self.streams.get_mut(ssrc) {
            return claim_in(window, index, bytes);
        }
        if self.streams.is_full() {
            return Err(Refused::TooManyStreams);
        }
        self.streams.insert(ssrc, ReplayWindow::starting_at(index));
        Ok(())
    }

    /// Claims the index of somebody else's packet, whose number is not ours to choose: the one with
    /// its number that lies nearest to the highest one claimed.
    ///
    /// Source: RFC 3711 section 3.3.1.
    pub fn claim_nearest(&mut self, ssrc: u32, sequence: u16) -> Result<u64, Refused> {
        let index = match self.streams.get_mut(ssrc) {
            Some(window) => {
                let index = nearest_index(window.highest(), sequence);
                claim_in(window, index, Bytes::New)?;
                index
            }
            None => {
                let index = u64::from(sequence);
                self.claim(ssrc, index, Bytes::New)?;
                index
            }
        };
        Ok(index)
    }

    /// The highest index claimed for an SSRC: what a snapshot of the leg must remember.
    pub fn highest(&self, ssrc: u32) -> Option<u64> {
        self.streams.get(ssrc).map(ReplayWindow::highest)
    }
}

fn claim_in(window: &mut ReplayWindow, index: u64, bytes: Bytes) -> Result<(), Refused> {
    match (window.check(index), bytes) {
        (Ok(()), _) => {
            window.mark(index);
            Ok(())
        }
        (Err(Stale::Seen), Bytes::Identical) => Ok(()),
        (Err(Stale::Seen), Bytes::New) => Err(Refused::Used),
        (Err(Stale::TooOld), _) => Err(Refused::TooOld),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_rollover_counter_follows_the_wrap_both_ways() {
        assert_eq!(nearest_index(65_535, 0), 65_536);
        assert_eq!(nearest_index(65_536, 65_535), 65_535);
        assert_eq!(nearest_index(65_530, 100), 65_636);
        assert_eq!(nearest_index(3 << 16, 65_000), (2 << 16) + 65_000);
    }

    #[test]
    fn a_stream_has_nothing_before_its_first_rollover_and_nothing_after_its_last() {
        assert_eq!(nearest_index(2, 65_535), 65_535);
        assert_eq!(nearest_index(RTP_INDEX_END - 1, 0), RTP_INDEX_END - 65_536);
    }

    #[test]
    fn an_index_is_claimed_once_unless_the_bytes_are_identical() {
        let mut indexes = StreamIndexes::with_limit(2);
        assert_eq!(indexes.claim(1, 100, Bytes::New), Ok(()));
        assert_eq!(indexes.claim(1, 100, Bytes::New), Err(Refused::Used));
        assert_eq!(indexes.claim(1, 100, Bytes::Identical), Ok(()));
        assert_eq!(indexes.claim(1, 102, Bytes::New), Ok(()));
        assert_eq!(indexes.claim(1, 101, Bytes::New), Ok(()), "late, under its own number");
        assert_eq!(indexes.claim(1, 101, Bytes::New), Err(Refused::Used));
        assert_eq!(indexes.claim(1, 5_000, Bytes::New), Ok(()));
        assert_eq!(indexes.claim(1, 102, Bytes::Identical), Err(Refused::TooOld));
        assert_eq!(indexes.highest(1), Some(5_000));
    }

    #[test]
    fn the_table_and_the_numbers_have_an_end() {
        let mut indexes = StreamIndexes::with_limit(2);
        assert_eq!(indexes.claim(1, 0, Bytes::New), Ok(()));
        assert_eq!(indexes.claim(2, 0, Bytes::New), Ok(()));
        assert_eq!(indexes.claim(3, 0, Bytes::New), Err(Refused::TooManyStreams));
        assert_eq!(indexes.claim(2, RTP_INDEX_END, Bytes::New), Err(Refused::Exhausted));
    }

    /// The pseudo-code of RFC 3711 appendix A, to the letter.
    fn rfc_3711_guess(highest: u64, sequence: u16) -> u64 {
        let (rollovers, s_l, sequence) = ((highest >> 16) as i64, (highest & 0xffff) as i64, i64::from(sequence));
        let rollovers = if s_l < 32_768 {
            if sequence - s_l > 32_768 {
                rollovers - 1
            } else {
                rollovers
            }
        } else if s_l - 32_768 > sequence {
            rollovers + 1
        } else {
            rollovers
        };
        (rollovers << 16 | sequence) as u64
    }

    proptest! {
        #[test]
        fn the_guess_is_that_of_rfc_3711(highest in (1_u64 << 16)..(1 << 47), sequence: u16) {
            prop_assert_eq!(nearest_index(highest, sequence), rfc_3711_guess(highest, sequence));
        }

        #[test]
        fn no_two_new_packets_ever_share_an_index(steps in prop::collection::vec(-1_200_i64..1_200, 1..500)) {
            let mut indexes = StreamIndexes::with_limit(1);
            let mut used = std::collections::BTreeSet::new();
            for step in steps {
                let highest = indexes.highest(7).unwrap_or(30_000);
                let index = highest.saturating_add_signed(step);
                if indexes.claim(7, index, Bytes::New).is_ok() {
                    prop_assert!(used.insert(index));
                }
            }
        }
    }
}
