//! Receivers that lie, that fall silent, and that only estimate by themselves.

#![allow(clippy::disallowed_methods, reason = "tests read a clock")]

use std::time::{Duration, Instant};

use bandwidth::{Config, Estimator, Gcc, Limit, Sent};
use proptest::prelude::*;
use wire::rtcp::ArrivalTicks;

const CONFIG: Config = Config {
    start: 300_000,
    min: 50_000,
    max: 5_000_000,
};
const PACKET: u16 = 1000;
const GAP: Duration = Duration::from_millis(10);

/// A sender of a packet every 10 ms to a receiver that reports each at once, 20 ms later by its own
/// clock.
struct Call {
    gcc: Gcc,
    start: Instant,
    packets: u32,
}

impl Call {
    fn new() -> Self {
        Self {
            gcc: Gcc::new(CONFIG),
            start: Instant::now(),
            packets: 0,
        }
    }

    fn now(&self) -> Instant {
        self.start + GAP * self.packets
    }

    fn send(&mut self) -> u16 {
        self.packets += 1;
        let (number, at) = (self.packets as u16, self.now());
        self.gcc.sent(&[Sent {
            number,
            at,
            size: PACKET,
            probe: None,
        }]);
        while self.gcc.poll_timeout().is_some_and(|due| due <= at) {
            self.gcc.timeout(at);
        }
        while self.gcc.poll_probe().is_some() {}
        number
    }

    fn honest(&mut self, packets: u32) {
        self.honest_over(packets, Duration::ZERO);
    }

    /// The same over a path whose queue grows by `queue` with each packet.
    fn honest_over(&mut self, packets: u32, queue: Duration) {
        for packet in 0..packets {
            let number = self.send();
            let delay = Duration::from_millis(20) + queue * packet;
            let arrival = ArrivalTicks::from_epoch(GAP * self.packets + delay);
            let now = self.now() + delay + Duration::from_millis(20);
            self.gcc.feedback(now, &mut [(number, Some(arrival))].into_iter());
        }
    }
}

#[test]
fn a_silent_receiver_is_sent_less_unless_it_has_nothing_to_report() {
    let mut call = Call::new();
    call.honest(500);
    let before = call.gcc.estimate().target;
    (0..500).for_each(|_| {
        call.send();
    });
    let silent = call.gcc.estimate();
    assert_eq!(silent.limit, Limit::FeedbackTimeout);
    assert!(silent.target < before / 2);

    let now = call.now() + Duration::from_secs(60);
    while let Some(due) = call.gcc.poll_timeout().filter(|due| *due < now) {
        call.gcc.timeout(due);
        while call.gcc.poll_probe().is_some() {}
    }
    assert!(call.gcc.estimate().target >= silent.target / 2);
}

/// Regression: a server without a processor for 50 ms during its first probes took a path of 10
/// Mbit/s for one of 0.6, and paused videos that had arrived without delay for two seconds.
#[test]
fn a_rate_without_a_queue_is_believed_without_a_probe() {
    let mut call = Call::new();
    call.honest(30);
    assert!(call.gcc.estimate().target >= 780_000, "{:?}", call.gcc.estimate());
    let mut call = Call::new();
    call.honest_over(30, Duration::from_millis(5));
    assert!(call.gcc.estimate().target < 600_000, "{:?}", call.gcc.estimate());
}

#[test]
fn remb_alone_is_the_estimate_within_bounds() {
    let mut gcc = Gcc::new(CONFIG);
    let now = Instant::now();
    assert_eq!(gcc.estimate().target, CONFIG.start);
    for (said, taken) in [(1_000_000, 1_000_000), (0, CONFIG.min), (1 << 60, CONFIG.max)] {
        gcc.remb(now, said);
        assert_eq!(gcc.estimate().target, taken);
        assert_eq!(gcc.estimate().limit, Limit::Remb);
    }
}

#[test]
fn remb_beside_feedback_is_a_bound_until_it_is_old() {
    let mut call = Call::new();
    call.honest(500);
    let now = call.now();
    call.gcc.remb(now, 100_000);
    assert_eq!(call.gcc.estimate().target, 100_000);
    call.honest(700);
    assert!(call.gcc.estimate().target > 100_000);
}

#[test]
fn a_number_never_sent_is_counted_and_changes_nothing() {
    let mut call = Call::new();
    call.honest(500);
    let before = call.gcc.estimate();
    let now = call.now();
    let lie = (1000..60_000u16).map(|number| (number, Some(ArrivalTicks(u32::from(number)))));
    call.gcc.feedback(now, &mut lie.into_iter());
    assert_eq!(call.gcc.estimate(), before);
    assert_eq!(call.gcc.anomalies().unknown, 59_000);
}

/// Reports of a lying receiver: numbers near those sent or anywhere, times anywhere.
fn lies() -> impl Strategy<Value = Vec<(u16, Option<u32>)>> {
    let number = prop_oneof![0..600u16, any::<u16>()];
    let ticks = proptest::option::of(prop_oneof![0..40_000u32, any::<u32>()]);
    proptest::collection::vec((number, ticks), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_estimate_stays_within_bounds_for_any_reports(
        reports in proptest::collection::vec((lies(), proptest::option::of(any::<u64>())), 1..40),
    ) {
        let mut call = Call::new();
        for (lie, remb) in reports {
            (0..20).for_each(|_| { call.send(); });
            let now = call.now();
            let mut said = lie.into_iter().map(|(number, ticks)| (number, ticks.map(ArrivalTicks)));
            call.gcc.feedback(now, &mut said);
            if let Some(remb) = remb {
                call.gcc.remb(now, remb);
            }
            let estimate = call.gcc.estimate();
            prop_assert!((CONFIG.min..=CONFIG.max).contains(&estimate.target));
            prop_assert!((CONFIG.min..=estimate.target).contains(&estimate.sendable));
            prop_assert!((0.0..=1.0).contains(&estimate.loss));
        }
    }
}
