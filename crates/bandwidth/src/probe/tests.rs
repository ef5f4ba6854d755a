use super::*;

const SITUATION: Situation = Situation {
    rate: 3e5,
    ceiling: 5e6,
    queue: Duration::ZERO,
    jitter: Duration::ZERO,
    last_over: None,
    blind: false,
};

#[allow(clippy::disallowed_methods, reason = "tests read a clock")]
fn started() -> (Prober, Instant) {
    let (mut prober, now) = (Prober::new(), Instant::now());
    prober.started(now, SITUATION);
    (prober, now)
}

fn found(rate: f64) -> ProbeResult {
    ProbeResult::Rate {
        rate,
        stretched: Duration::ZERO,
        arriving: Duration::from_millis(15),
        full: false,
    }
}

fn full(rate: f64) -> ProbeResult {
    ProbeResult::Rate {
        rate,
        stretched: Duration::from_millis(15),
        arriving: Duration::from_millis(30),
        full: true,
    }
}

fn rates(prober: &mut Prober) -> Vec<u64> {
    std::iter::from_fn(|| prober.poll()).map(|probe| probe.rate).collect()
}

#[test]
fn the_start_is_probed_at_three_and_six_times_and_then_by_doubling() {
    let (mut prober, now) = started();
    assert_eq!(rates(&mut prober), [900_000, 1_800_000]);
    prober.answered(
        now,
        ProbeId(2),
        found(1.7e6),
        Situation {
            rate: 1.7e6,
            ..SITUATION
        },
    );
    assert_eq!(rates(&mut prober), [3_400_000]);
    prober.answered(now, ProbeId(2), found(2e6), Situation { rate: 2e6, ..SITUATION });
    assert!(rates(&mut prober).is_empty());
}

#[test]
fn the_start_is_probed_as_soon_as_anything_is_wanted() {
    let (mut prober, now) = (Prober::new(), started().1);
    let idle = Situation {
        ceiling: 0.0,
        ..SITUATION
    };
    prober.started(now, idle);
    prober.timeout(now + Duration::from_secs(1), idle);
    assert!(rates(&mut prober).is_empty());
    prober.started(now + Duration::from_secs(1), SITUATION);
    assert_eq!(rates(&mut prober), [900_000, 1_800_000]);
}

#[test]
fn the_start_goes_on_when_more_turns_out_to_be_of_use() {
    let now = started().1;
    let little = Situation {
        ceiling: 1.5e6,
        ..SITUATION
    };
    let more = Situation {
        rate: 1.5e6,
        ..SITUATION
    };
    let satisfied = || {
        let mut prober = Prober::new();
        prober.started(now, little);
        assert_eq!(rates(&mut prober), [900_000, 1_500_000]);
        let found_all = Situation { rate: 1.5e6, ..little };
        prober.answered(now, ProbeId(2), found(1.5e6), found_all);
        assert!(rates(&mut prober).is_empty());
        prober
    };
    let mut prober = satisfied();
    prober.go_on(now, more);
    assert_eq!(rates(&mut prober), [3_000_000]);
    let mut queued = satisfied();
    let last_over = Some(now);
    queued.go_on(now, Situation { last_over, ..more });
    assert!(rates(&mut queued).is_empty());
    let mut later = satisfied();
    later.timeout(now + PERIOD_MIN, Situation { rate: 1.5e6, ..little });
    later.go_on(now + PERIOD_MIN, more);
    assert!(rates(&mut later).is_empty());
}

#[test]
fn a_first_probe_lost_in_jitter_is_made_longer_until_it_says_something() {
    let (mut prober, now) = started();
    let restless = Situation {
        jitter: Duration::from_millis(5),
        ..SITUATION
    };
    let mut bytes = Vec::new();
    for id in 2..8 {
        bytes.extend(std::iter::from_fn(|| prober.poll()).map(|probe| probe.bytes));
        let unclear = ProbeResult::Rate {
            rate: 3e5,
            stretched: Duration::from_millis(10),
            arriving: Duration::from_millis(30),
            full: true,
        };
        prober.answered(now, ProbeId(id), unclear, restless);
    }
    assert!(bytes.is_sorted(), "{bytes:?}");
    assert_eq!(bytes, [6_000; 6]);
}

#[test]
fn a_first_probe_that_left_too_slowly_is_sent_again() {
    let (mut prober, now) = started();
    rates(&mut prober);
    let slow = Situation {
        rate: 6.2e5,
        ..SITUATION
    };
    for id in 2..2 + LATE_MAX {
        prober.answered(now, ProbeId(id), found(6.2e5), slow);
        assert_eq!(rates(&mut prober), [1_800_000]);
    }
    prober.answered(now, ProbeId(2 + LATE_MAX), found(6.2e5), slow);
    assert!(
        rates(&mut prober).is_empty(),
        "a sender that is always late learns nothing more from it"
    );
    let (mut prober, now) = started();
    rates(&mut prober);
    prober.answered(now, ProbeId(2), full(6.2e5), slow);
    assert!(rates(&mut prober).is_empty(), "the path carries no more");
}

#[test]
fn a_first_probe_of_which_nothing_is_heard_is_sent_again_once() {
    let (mut prober, now) = started();
    rates(&mut prober);
    prober.timeout(now + ANSWER, SITUATION);
    assert_eq!(rates(&mut prober), [1_800_000]);
    prober.timeout(now + 2 * ANSWER, SITUATION);
    assert!(rates(&mut prober).is_empty());
}

#[test]
fn nothing_beyond_the_wanted_rate_is_probed_for() {
    let (mut prober, now) = started();
    rates(&mut prober);
    let full = Situation { rate: 5e6, ..SITUATION };
    for second in 1..20 {
        prober.timeout(now + Duration::from_secs(second), full);
    }
    assert!(rates(&mut prober).is_empty());
}

#[test]
fn a_queue_puts_probes_off() {
    let (mut prober, now) = started();
    rates(&mut prober);
    let long = Situation {
        queue: Duration::from_millis(100),
        ..SITUATION
    };
    for second in 1..20 {
        prober.timeout(now + Duration::from_secs(second), long);
    }
    assert!(rates(&mut prober).is_empty());
    prober.timeout(now + Duration::from_secs(21), SITUATION);
    assert_eq!(rates(&mut prober), [600_000]);
}

/// A prober that has started, and then sent a scout from 300 kbit/s.
fn scouting() -> (Prober, Instant) {
    let (mut prober, now) = started();
    rates(&mut prober);
    prober.answered(now, ProbeId(2), full(3e5), SITUATION);
    prober.timeout(now + ANSWER, SITUATION);
    prober.timeout(now + PERIOD_MIN, SITUATION);
    assert_eq!(rates(&mut prober), [600_000]);
    (prober, now + PERIOD_MIN)
}

#[test]
fn a_scout_probe_needs_proof() {
    let (mut prober, now) = scouting();
    assert!(!prober.believes(ProbeId(3)));
    prober.answered(now, ProbeId(3), found(5.8e5), SITUATION);
    let proof = prober.poll().expect("it is worth one");
    assert_eq!(
        (proof.rate, proof.bytes),
        (450_000, 9_000),
        "half more, for as long as a queue of 80 ms allows"
    );
    assert!(prober.believes(proof.id));
    let proved = Situation {
        rate: 4.3e5,
        ..SITUATION
    };
    prober.answered(now, proof.id, found(4.3e5), proved);
    assert_eq!(rates(&mut prober), [645_000], "and the next step");
}

#[test]
fn a_scout_that_finds_hardly_more_is_not_followed() {
    let (mut prober, now) = scouting();
    prober.answered(now, ProbeId(3), found(3.2e5), SITUATION);
    assert!(rates(&mut prober).is_empty());
}

#[test]
fn one_of_which_nothing_is_heard_is_sent_again_once() {
    let (mut prober, now) = scouting();
    prober.timeout(now + ANSWER, SITUATION);
    assert_eq!(rates(&mut prober), [600_000]);
    prober.timeout(now + 2 * ANSWER, SITUATION);
    assert!(rates(&mut prober).is_empty());
    assert_eq!(prober.poll_timeout(), Some(now + ANSWER + PERIOD_MIN));
}

#[test]
fn an_estimator_without_other_evidence_probes_its_estimate() {
    let (mut prober, now) = started();
    rates(&mut prober);
    let known = Situation {
        rate: 6e6,
        blind: true,
        ..SITUATION
    };
    prober.timeout(now + ANSWER, known);
    prober.timeout(now + PERIOD_MIN, known);
    assert_eq!(rates(&mut prober), [5_750_000], "a little more than is of use");
    assert!(!prober.believes(ProbeId(3)));
    prober.answered(now + PERIOD_MIN, ProbeId(3), found(5.7e6), known);
    assert!(rates(&mut prober).is_empty());
    prober.timeout(now + PERIOD_MIN + ANSWER, known);
    prober.timeout(now + PERIOD_MIN + PERIOD_CHECK, known);
    assert_eq!(rates(&mut prober), [5_750_000]);
}

#[test]
fn a_probe_that_found_much_less_is_repeated_once() {
    let (mut prober, now) = scouting();
    let blind = Situation {
        blind: true,
        ..SITUATION
    };
    prober.answered(now, ProbeId(3), full(2.5e5), blind);
    assert!(rates(&mut prober).is_empty(), "hardly less");
    prober.answered(now, ProbeId(3), full(2e5), blind);
    assert_eq!(rates(&mut prober), [345_000]);
    prober.answered(now, ProbeId(4), full(2e5), blind);
    assert!(rates(&mut prober).is_empty());
    prober.timeout(now + ANSWER, SITUATION);
    prober.timeout(now + PERIOD_MIN, SITUATION);
    prober.answered(now + PERIOD_MIN, ProbeId(5), full(2e5), SITUATION);
    assert_eq!(rates(&mut prober), [600_000], "a high rate shows in the queue");
}
