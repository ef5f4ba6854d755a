use std::ops::Range;

/// Which of one source's packets one receiver has seen, exactly.
///
/// A source numbers its packets 0, 1, 2, ... in their payloads, where no server rewrites them; so
/// loss, duplicates and reordering are counted end to end and not guessed from RTP sequence
/// numbers, which belong to the server.
///
/// Shape: one bit a packet; 30 s of 2 Mbit/s video is one kilobyte.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    seen: Vec<u64>,
    highest: Option<u64>,
    duplicates: u64,
    reordered: u64,
    repaired: u64,
}

/// The arrival of a packet, judged by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The number above all earlier ones.
    InOrder,
    /// Later than a higher number, for the first time.
    Late,
    /// Not for the first time.
    Duplicate,
}

/// A receiver's account of one source over a range of packet numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Packets sent.
    pub expected: u64,
    /// Packets that arrived, at the first attempt or repaired.
    pub received: u64,
}

impl Window {
    /// Packets that never arrived.
    pub fn lost(&self) -> u64 {
        self.expected - self.received
    }
}

/// No run is so long that a source sends more packets; a larger number is not one of ours.
const NUMBER_MAX: u64 = 1 << 28;

impl Tally {
    /// Counts the packet with this number; `repair` says whether it is a retransmission.
    pub fn record(&mut self, number: u64, repair: bool) -> Arrival {
        if number >= NUMBER_MAX {
            return Arrival::Duplicate;
        }
        let (word, bit) = ((number / 64) as usize, 1u64 << (number % 64));
        if word >= self.seen.len() {
            self.seen.resize((word + 1).max(self.seen.len() * 2), 0);
        }
        if self.seen[word] & bit != 0 {
            self.duplicates += 1;
            return Arrival::Duplicate;
        }
        self.seen[word] |= bit;
        self.repaired += u64::from(repair);
        if self.highest.is_some_and(|highest| number < highest) {
            self.reordered += u64::from(!repair);
            return Arrival::Late;
        }
        self.highest = Some(number);
        Arrival::InOrder
    }

    /// Packets that have arrived.
    pub fn seen(&self) -> u64 {
        self.seen.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether anything has arrived yet.
    pub fn is_empty(&self) -> bool {
        self.highest.is_none()
    }

    /// Resets the counts of single events at the beginning of the measured window; packets seen
    /// stay recorded.
    pub fn begin_window(&mut self) {
        (self.duplicates, self.reordered, self.repaired) = (0, 0, 0);
    }

    /// Counts of the packets with these numbers.
    pub fn window(&self, numbers: Range<u64>) -> Window {
        let expected = numbers.end.saturating_sub(numbers.start);
        let received = numbers.filter(|&number| self.has(number)).count() as u64;
        Window { expected, received }
    }

    fn has(&self, number: u64) -> bool {
        self.seen
            .get((number / 64) as usize)
            .is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// Packets that arrived more than once since [`begin_window`](Self::begin_window).
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// First arrivals, other than repairs, after a higher number.
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Packets that arrived only as a retransmission.
    pub fn repaired(&self) -> u64 {
        self.repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_a_loss_and_a_late_packet_closes_it() {
        let mut tally = Tally::default();
        for number in [0, 1, 3, 4] {
            assert_eq!(tally.record(number, false), Arrival::InOrder);
        }
        assert_eq!(
            tally.window(0..5),
            Window {
                expected: 5,
                received: 4
            }
        );
        assert_eq!(tally.window(0..5).lost(), 1);
        assert_eq!(tally.record(2, true), Arrival::Late);
        assert_eq!(tally.window(0..5).lost(), 0);
        assert_eq!((tally.repaired(), tally.reordered(), tally.duplicates()), (1, 0, 0));
    }

    #[test]
    fn duplicates_and_reordering_are_told_apart() {
        let mut tally = Tally::default();
        assert_eq!(tally.record(7, false), Arrival::InOrder);
        assert_eq!(tally.record(7, false), Arrival::Duplicate);
        assert_eq!(tally.record(6, false), Arrival::Late);
        assert_eq!(tally.record(6, true), Arrival::Duplicate);
        assert_eq!((tally.repaired(), tally.reordered(), tally.duplicates()), (0, 1, 2));
    }

    #[test]
    fn the_tail_that_never_came_is_lost() {
        let mut tally = Tally::default();
        (0..100).for_each(|number| {
            tally.record(number, false);
        });
        assert_eq!(
            tally.window(50..200),
            Window {
                expected: 150,
                received: 50
            }
        );
    }

    #[test]
    fn a_window_forgets_events_but_not_packets() {
        let mut tally = Tally::default();
        tally.record(0, false);
        tally.record(0, false);
        tally.begin_window();
        assert_eq!(tally.duplicates(), 0);
        assert_eq!(tally.record(0, false), Arrival::Duplicate);
        assert_eq!(tally.window(0..1).lost(), 0);
    }

    #[test]
    fn a_number_out_of_range_takes_no_memory() {
        let mut tally = Tally::default();
        assert_eq!(tally.record(u64::MAX, false), Arrival::Duplicate);
        assert!(tally.is_empty());
    }
}
