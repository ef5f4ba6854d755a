//! Estimates and reports of a span of time.

use operator::observation::Direction;
use operator::receivers::Limit;
use operator::{Observation, TimelineEntry};

use super::figures::{percent, rate};

/// Losses below this part are repaired without being noticed.
pub(super) const LOSS_MIN: f64 = 0.02;

/// So long before a decision its cause may have been reported.
const BEFORE_MS: u64 = 5_000;

/// Packets that were expected, and those of them that did not arrive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    pub(super) expected: u64,
    pub(super) lost: u64,
}

impl Losses {
    pub(super) fn add(&mut self, expected: u32, lost: u32) {
        self.expected += u64::from(expected);
        self.lost += u64::from(lost.min(expected));
    }

    /// The part that was lost, of the seconds in which anything was lost. Shape: 0 to 1.
    pub(super) fn ratio(self) -> f64 {
        self.lost as f64 / self.expected.max(1) as f64
    }
}

/// An estimate of the downlink.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimated {
    pub(super) target_bps: u32,
    pub(super) limit: Limit,
}

/// Estimates and losses of a span of time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    /// The lowest estimate of the downlink.
    pub(super) lowest: Option<Estimated>,
    /// The most loss that an estimate was made with. Shape: 0 to 1.
    loss_max: f64,
    queue_max_ms: u16,
    pub(super) downlink: Losses,
    pub(super) uplink: Losses,
}

impl Evidence {
    /// About this span, and the moments before it.
    pub(super) fn about(entries: &[TimelineEntry], from_ms: u64, to_ms: u64) -> Self {
        Self::between(entries, from_ms.saturating_sub(BEFORE_MS), to_ms)
    }

    pub(super) fn between(entries: &[TimelineEntry], from_ms: u64, to_ms: u64) -> Self {
        let mut evidence = Self::default();
        let first = entries.partition_point(|entry| entry.at_ms < from_ms);
        for entry in entries[first..].iter().take_while(|entry| entry.at_ms <= to_ms) {
            evidence.take(&entry.observation);
        }
        evidence
    }

    fn take(&mut self, observation: &Observation) {
        match *observation {
            Observation::Estimate {
                target_bps,
                limit,
                loss_permille,
                queue_ms,
                ..
            } => {
                if self.lowest.is_none_or(|lowest| target_bps < lowest.target_bps) {
                    self.lowest = Some(Estimated { target_bps, limit });
                }
                self.loss_max = self.loss_max.max(f64::from(loss_permille) / 1_000.0);
                self.queue_max_ms = self.queue_max_ms.max(queue_ms);
            }
            Observation::Loss {
                direction,
                expected,
                lost,
            } => match direction {
                Direction::Downlink => self.downlink.add(expected, lost),
                Direction::Uplink => self.uplink.add(expected, lost),
            },
            _ => {}
        }
    }

    /// Why the downlink carried no more.
    pub(super) fn downlink_words(&self) -> String {
        let Some(lowest) = self.lowest else {
            return "the downlink was not estimated".to_owned();
        };
        let estimated = format!("the downlink was estimated at {}", rate(lowest.target_bps));
        match lowest.limit {
            Limit::Loss => format!(
                "{estimated} after {} loss",
                percent(self.loss_max.max(self.downlink.ratio()))
            ),
            Limit::Delay => format!("{estimated} as packets waited up to {} ms on it", self.queue_max_ms),
            Limit::Remb => format!("{estimated} by the client itself"),
            Limit::Silence => format!("{estimated} as the client reported nothing"),
            Limit::Start => format!("{estimated} with little known about it"),
        }
    }

    /// How the uplink was.
    pub(super) fn uplink_words(&self) -> String {
        match self.uplink.ratio() {
            ratio if ratio < LOSS_MIN => "the uplink was fine".to_owned(),
            ratio => format!("the uplink lost {}", percent(ratio)),
        }
    }
}
