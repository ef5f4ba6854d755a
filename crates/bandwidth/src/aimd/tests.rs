use super::*;

const QUIET: Input = Input {
    usage: Usage::Normal,
    throughput: Some(1e6),
    burst_throughput: Some(1e6),
    application_limited: false,
    long_queue: false,
    surges: false,
    keeps: 0.0,
};

#[allow(clippy::disallowed_methods, reason = "tests read a clock")]
fn now() -> Instant {
    Instant::now()
}

fn run(aimd: &mut Aimd, from: Instant, seconds: u64, input: Input) {
    for step in 0..seconds * 10 {
        aimd.update(from + Duration::from_millis(100 * step), input);
    }
}

#[test]
fn it_grows_by_a_share_until_half_more_than_arrives() {
    let (mut aimd, start) = (Aimd::new(1e6, 1e5, 1e8), now());
    run(&mut aimd, start, 1, QUIET);
    assert!((1.06e6..1.09e6).contains(&aimd.rate()), "{}", aimd.rate());
    run(&mut aimd, start + Duration::from_secs(1), 30, QUIET);
    assert!((1.5e6..1.52e6).contains(&aimd.rate()), "{}", aimd.rate());
}

#[test]
fn it_falls_below_the_received_rate_once_a_round_trip_and_then_grows_slowly() {
    let (mut aimd, start) = (Aimd::new(2e6, 1e5, 1e8), now());
    let over = Input {
        usage: Usage::Over,
        ..QUIET
    };
    aimd.update(start, over);
    assert_eq!(aimd.rate(), 0.94e6);
    aimd.update(start + Duration::from_millis(50), over);
    assert_eq!(aimd.rate(), 0.94e6);
    run(&mut aimd, start + Duration::from_millis(100), 2, QUIET);
    assert!((0.95e6..1.1e6).contains(&aimd.rate()), "{}", aimd.rate());
}

#[test]
fn an_unused_rate_proves_nothing() {
    let (mut aimd, start) = (Aimd::new(1e6, 1e5, 1e8), now());
    run(
        &mut aimd,
        start,
        5,
        Input {
            application_limited: true,
            ..QUIET
        },
    );
    assert_eq!(aimd.rate(), 1e6);
}

#[test]
fn beyond_the_known_capacity_the_rate_grows_only_while_it_is_used() {
    let (mut aimd, start) = (Aimd::new(2e6, 1e5, 1e8), now());
    let over = Input {
        usage: Usage::Over,
        throughput: Some(1e6),
        burst_throughput: Some(1e6),
        ..QUIET
    };
    aimd.update(start, over);
    let half = Input {
        throughput: Some(0.7e6),
        ..QUIET
    };
    run(&mut aimd, start, 30, half);
    assert!((1e6..1.01e6).contains(&aimd.rate()), "{}", aimd.rate());
    run(&mut aimd, start + Duration::from_secs(30), 10, QUIET);
    assert!(aimd.rate() > 1.05e6, "{}", aimd.rate());
}

#[test]
fn a_first_overuse_within_the_usual_spread_keeps_the_capacity_and_a_second_does_not() {
    let (mut aimd, start) = (Aimd::new(2e6, 1e5, 1e8), now());
    let over = |throughput| Input {
        usage: Usage::Over,
        throughput: Some(throughput),
        burst_throughput: Some(throughput),
        ..QUIET
    };
    aimd.update(start, over(1e6));
    let later = start + Duration::from_secs(2);
    run(&mut aimd, later, 2, QUIET);
    aimd.update(later + Duration::from_secs(2), over(0.95e6));
    assert!((0.93e6..0.95e6).contains(&aimd.rate()), "{}", aimd.rate());
    aimd.update(later + Duration::from_millis(2300), over(0.95e6));
    assert!((0.89e6..0.90e6).contains(&aimd.rate()), "{}", aimd.rate());
}

#[test]
fn one_decrease_keeps_most_of_the_rate_but_not_of_a_probes_recent_rise() {
    let (mut aimd, start) = (Aimd::new(2e6, 1e5, 1e8), now());
    let over = Input {
        usage: Usage::Over,
        keeps: 0.9,
        ..QUIET
    };
    aimd.update(start, over);
    assert_eq!(aimd.rate(), 1.8e6);
    aimd.set(start + Duration::from_secs(1), 3e6);
    aimd.update(start + Duration::from_millis(1500), over);
    assert_eq!(aimd.rate(), 1.62e6);
}

#[test]
fn a_path_that_carries_more_than_the_rate_is_not_full() {
    let (mut aimd, start) = (Aimd::new(1e6, 1e5, 1e8), now());
    let over = Input {
        usage: Usage::Over,
        burst_throughput: Some(2e6),
        ..QUIET
    };
    aimd.update(start, over);
    assert_eq!(aimd.rate(), 1e6);
    run(&mut aimd, start, 1, QUIET);
    assert!(aimd.rate() > 1.06e6, "{}", aimd.rate());
}

#[test]
fn a_surge_is_followed_however_soon_after_another_decrease() {
    let over = Input {
        usage: Usage::Over,
        throughput: Some(0.9e6),
        burst_throughput: Some(0.55e6),
        keeps: 0.93,
        ..QUIET
    };
    for (surges, rate) in [(false, 0.93e6), (true, 0.94 * 0.55e6)] {
        let (mut aimd, start) = (Aimd::new(1e6, 1e5, 1e8), now());
        aimd.update(start, over);
        let keeps = if surges { 0.0 } else { 0.93 };
        aimd.update(start + Duration::from_millis(50), Input { surges, keeps, ..over });
        assert!((aimd.rate() - rate).abs() < 1e3, "{surges}: {}", aimd.rate());
    }
}
