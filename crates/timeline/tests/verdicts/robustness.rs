use operator::observation::{Direction, SwitchCause};
use operator::receivers::Limit;
use operator::{Observation, Timeline};
use proptest::collection::vec;
use proptest::prelude::*;
use timeline::{FINDINGS_MAX, RECORDS, Ring, Severity, verdict};

use super::calls::{Call, START_MS, camera, target};

#[test]
fn verdict_is_about_the_time_that_is_asked_for() {
    let mut call = Call::new();
    call.estimate(310_000, Limit::Loss, 40);
    call.switch(Some(2), 0, SwitchCause::Downlink);
    call.pass(100);
    call.switch(Some(0), 2, SwitchCause::Downlink);
    call.estimate(4_000_000, Limit::Delay, 0);
    call.pass(100);
    assert_eq!(
        call.verdict_since(START_MS + 60_000).findings.len(),
        1,
        "it began before"
    );
    let later = call.verdict_since(START_MS + 120_000);
    assert_eq!(later.findings, []);
    assert_eq!(later.from_ms, START_MS + 120_000);
    assert!(
        later.summary.starts_with("nothing wrong was found"),
        "{}",
        later.summary
    );
}

#[test]
fn verdict_has_a_bounded_number_of_findings_with_faults_first() {
    let mut call = Call::new();
    while call.ring.len() < RECORDS {
        call.own(Observation::Mute { muted: true });
        call.own(Observation::Mute { muted: false });
    }
    call.note(Observation::Refusal);
    let findings = call.verdict().findings;
    assert_eq!(findings.len(), FINDINGS_MAX);
    assert_eq!(
        findings
            .iter()
            .filter(|finding| finding.severity == Severity::Fault)
            .count(),
        1
    );
}

fn any_observation() -> impl Strategy<Value = Observation> {
    let cause = prop_oneof![
        Just(SwitchCause::Start),
        Just(SwitchCause::Downlink),
        Just(SwitchCause::Request),
        Just(SwitchCause::Publisher)
    ];
    prop_oneof![
        Just(Observation::Join),
        Just(Observation::Detach),
        Just(Observation::Reconnect),
        Just(Observation::KeyFrameRequest),
        Just(Observation::Unsubscribe),
        any::<bool>().prop_map(|paused| Observation::Pause { paused }),
        any::<u8>().prop_map(|encodings| Observation::Arrival { encodings }),
        any::<u16>().prop_map(|attempt| Observation::KeyFrameQuery { attempt }),
        any::<(u32, u32)>().prop_map(|(expected, lost)| Observation::Loss {
            direction: Direction::Uplink,
            expected,
            lost
        }),
        (any::<Option<u8>>(), any::<u8>(), cause).prop_map(|(from, to, cause)| Observation::LayerSwitch {
            from: from.map(target),
            to: target(to),
            cause,
        }),
    ]
}

proptest! {
    #[test]
    fn verdict_bears_anything_also_a_clock_that_jumps(
        steps in vec((any_observation(), 0..4u8, 0..2 * START_MS), 0..300), since in 0..2 * START_MS,
    ) {
        let mut ring = Ring::default();
        for (observation, track, at) in steps {
            let name = camera(&format!("TR_{track}"), "ada");
            ring.record(at, (track > 0).then_some(&name), observation);
        }
        let timeline = Timeline {
            room: String::new(),
            participant: String::new(),
            has_left: false,
            overwritten: 0,
            entries: ring.entries(0).collect(),
        };
        let verdict = verdict(&timeline, since, START_MS);
        prop_assert!(verdict.findings.len() <= FINDINGS_MAX);
        prop_assert!(verdict.findings.iter().all(|finding| finding.from_ms <= finding.to_ms));
    }
}
