//! How a transport does, summed up for the controller.

use std::time::Duration;

use operator::observation::Direction;
use southbound::TransportQuality;
use wire::rtcp::ReportBlock;

/// Rounds of reports for each notice.
const ROUNDS: u32 = 3;

/// Measurements of one transport since the last notice.
#[derive(Debug, Default)]
pub(in crate::media) struct Quality {
    rounds: u32,
    uplink: Tally,
    downlink: Tally,
    jitter: Duration,
    losses: Losses,
}

/// Packets of one round of reports.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    uplink: Tally,
    downlink: Tally,
}

/// Packets that were expected, and how many of them are lost.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::media) struct Tally {
    pub(in crate::media) expected: u64,
    pub(in crate::media) lost: u64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.expected += other.expected;
        self.lost += other.lost;
    }

    fn ratio(self) -> f32 {
        if self.expected == 0 {
            0.0
        } else {
            self.lost.min(self.expected) as f32 / self.expected as f32
        }
    }
}

/// A receiver's last report of one subscription.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::media) struct Reported {
    last: Option<(u32, i32)>,
}

impl Reported {
    /// Packets expected and lost since the previous report.
    fn since_last(&mut self, block: &ReportBlock) -> Tally {
        let now = (block.highest_sequence, block.cumulative_lost);
        let Some((highest, lost)) = self.last.replace(now) else {
            return Tally::default();
        };
        // A report out of order, or of a restarted receiver, cannot be compared.
        let expected = i64::from(block.highest_sequence.wrapping_sub(highest) as i32).max(0) as u64;
        let lost = i64::from(block.cumulative_lost - lost).clamp(0, expected as i64) as u64;
        Tally { expected, lost }
    }
}

impl Quality {
    /// The losses of this round of reports, by direction; the next round begins.
    pub(in crate::media) fn take_losses(&mut self) -> impl Iterator<Item = (Direction, Tally)> + use<> {
        let Losses { uplink, downlink } = std::mem::take(&mut self.losses);
        let losses = [(Direction::Uplink, uplink), (Direction::Downlink, downlink)];
        losses.into_iter().filter(|(_, tally)| tally.lost > 0)
    }

    /// Ends a round of reports. Returns a summary after every few of them, unless no packet was
    /// expected.
    pub(in crate::media) fn end_of_round(&mut self, round_trip: Option<Duration>) -> Option<TransportQuality> {
        self.rounds += 1;
        if self.rounds < ROUNDS {
            return None;
        }
        let quality = std::mem::take(self);
        (quality.uplink.expected + quality.downlink.expected > 0).then(|| TransportQuality {
            uplink_loss: quality.uplink.ratio(),
            downlink_loss: quality.downlink.ratio(),
            round_trip,
            jitter: quality.jitter,
        })
    }

    /// Packets of the peer that were expected, and not received before repair.
    pub(in crate::media) fn measured_uplink(&mut self, tally: Tally) {
        self.uplink.add(tally);
        self.losses.uplink.add(tally);
    }

    /// A receiver reported on a subscription whose clock runs at `clock_rate`.
    pub(in crate::media) fn measured_downlink(
        &mut self,
        reported: &mut Reported,
        block: &ReportBlock,
        clock_rate: u32,
    ) {
        let tally = reported.since_last(block);
        self.downlink.add(tally);
        self.losses.downlink.add(tally);
        let jitter = Duration::from_micros(u64::from(block.jitter) * 1_000_000 / u64::from(clock_rate.max(1)));
        self.jitter = self.jitter.max(jitter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_counted_between_two_reports() {
        let block = |highest_sequence, cumulative_lost| ReportBlock {
            highest_sequence,
            cumulative_lost,
            ..Default::default()
        };
        let (mut quality, mut reported) = (Quality::default(), Reported::default());
        quality.measured_downlink(&mut reported, &block(1_000, 50), 90_000);
        quality.measured_downlink(
            &mut reported,
            &ReportBlock {
                jitter: 900,
                ..block(1_100, 60)
            },
            90_000,
        );
        quality.measured_downlink(&mut reported, &block(1_050, 40), 90_000);
        assert_eq!((quality.downlink.expected, quality.downlink.lost), (100, 10));
        assert_eq!(quality.jitter, Duration::from_millis(10));
        assert_eq!(Tally::default().ratio(), 0.0);
    }
}
