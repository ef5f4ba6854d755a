//! A stream's last report, and its arrivals since.
//!
//! Source: RFC 3550 appendix A.3.

use wire::Unwrapper;

use crate::media::quality::Tally;

/// The counts that one stream's receiver reports are made of.
#[derive(Debug, Default)]
pub(super) struct ReceiverHistory {
    expected: u64,
    received: u64,
    arrivals: Unwrapper,
    first: Option<u64>,
    reported: u64,
    originals: u64,
}

impl ReceiverHistory {
    /// A packet arrived.
    pub(super) fn arrived(&mut self, sequence: u16, recovered: bool) {
        let number = self.arrivals.extend(sequence);
        if self.first.is_none() {
            self.first = Some(number);
            self.reported = number - 1;
        }
        self.originals += u64::from(!recovered);
    }

    /// Packets expected and lost, before repair, since the last call.
    pub(super) fn take_tally(&mut self) -> Tally {
        let Some(highest) = self.arrivals.highest() else {
            return Tally::default();
        };
        let expected = highest - self.reported;
        let lost = expected.saturating_sub(self.originals);
        (self.reported, self.originals) = (highest, 0);
        Tally { expected, lost }
    }

    /// Loss since the last report, in 1/256.
    pub(super) fn fraction_lost(&mut self, expected: u64, received: u64) -> u8 {
        let (new_expected, new_received) = (
            expected - self.expected.min(expected),
            received - self.received.min(received),
        );
        (self.expected, self.received) = (expected, received);
        let lost = new_expected.saturating_sub(new_received);
        if lost == 0 {
            0
        } else {
            (lost * 256 / new_expected).min(255) as u8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fraction_lost_is_of_the_last_interval_only() {
        let mut history = ReceiverHistory::default();
        assert_eq!(history.fraction_lost(100, 75), 64);
        assert_eq!(history.fraction_lost(200, 175), 0);
        assert_eq!(history.fraction_lost(210, 175), 255);
        assert_eq!(history.fraction_lost(210, 180), 0, "repaired later");
    }

    #[test]
    fn loss_before_repair_does_not_see_retransmissions() {
        let mut history = ReceiverHistory::default();
        for sequence in [10, 11, 13, 14] {
            history.arrived(sequence, false);
        }
        history.arrived(12, true);
        let tally = history.take_tally();
        assert_eq!((tally.expected, tally.lost), (5, 1));
        assert_eq!(history.take_tally().expected, 0);
    }
}
