use std::sync::Arc;
use std::time::{Duration, Instant};

use operator::observation::LeaveReason;
use operator::{Observation, ParticipantObservation, Timeline};
use proptest::collection::vec;
use proptest::prelude::*;
use timeline::{Config, Counter, RING_LEN, Recorder, Timestamp};

const LEAVE: Observation = Observation::Leave {
    reason: LeaveReason::ClientInitiated,
};

const KEEP: Duration = Duration::from_secs(600);

struct Setup {
    recorder: Recorder,
    start: Instant,
}

impl Setup {
    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn new(rings: usize) -> Self {
        let config = Config {
            keep: KEEP,
            memory: rings * RING_LEN,
        };
        Setup {
            recorder: Recorder::new(config),
            start: Instant::now(),
        }
    }

    fn record(&mut self, second: u64, room: &str, identity: &str, observation: Observation) {
        let at = Timestamp {
            now: self.start + Duration::from_secs(second),
            unix_ms: second * 1_000,
        };
        let observation = ParticipantObservation {
            participant: identity.to_owned(),
            track: None,
            observation,
        };
        self.recorder.record(at, &Arc::from(room), &observation);
    }

    fn timeline(&self, room: &str, identity: &str, since_ms: u64) -> Option<Timeline> {
        let recording = self.recorder.recording(room, identity)?;
        Some(recording.timeline(since_ms))
    }

    fn expire(&mut self, second: u64) {
        self.recorder.expire(self.start + Duration::from_secs(second));
    }
}

#[test]
fn recorder_keeps_a_ring_for_a_while_after_leaving() {
    let mut setup = Setup::new(10);
    setup.record(0, "lobby", "ada", Observation::Join);
    setup.record(5, "lobby", "ada", LEAVE);
    setup.expire(5 + 599);
    let timeline = setup.timeline("lobby", "ada", 0).unwrap();
    assert!(timeline.has_left);
    assert_eq!(timeline.entries.len(), 2);
    assert_eq!(setup.timeline("lobby", "ada", 1_000).unwrap().entries.len(), 1);
    assert!(setup.timeline("attic", "ada", 0).is_none());
    let due = setup.recorder.poll_timeout().unwrap();
    assert_eq!(due, setup.start + Duration::from_secs(5 + 600));
    setup.expire(5 + 600);
    assert_eq!(setup.recorder.poll_timeout(), None);
    assert!(setup.timeline("lobby", "ada", 0).is_none());
    assert_eq!((setup.recorder.rings(), setup.recorder.memory()), (0, 0));
}

#[test]
fn recorder_goes_on_with_the_ring_of_somebody_who_comes_back() {
    let mut setup = Setup::new(10);
    for second in [0, 100, 200] {
        setup.record(second, "lobby", "ada", Observation::Join);
        setup.record(second + 50, "lobby", "ada", LEAVE);
    }
    setup.record(300, "lobby", "ada", Observation::Join);
    setup.expire(5_000);
    let timeline = setup.timeline("lobby", "ada", 0).unwrap();
    assert!(!timeline.has_left);
    assert_eq!(timeline.entries.len(), 7);
    let start = setup.start;
    setup.recorder.end_room(start + Duration::from_secs(6_000), "lobby");
    setup.recorder.end_room(start + Duration::from_secs(6_001), "attic");
    assert!(setup.timeline("lobby", "ada", 0).unwrap().has_left);
    setup.expire(6_600);
    assert!(setup.timeline("lobby", "ada", 0).is_none());
}

#[test]
fn recorder_at_its_limit_gives_up_who_left_first_and_never_who_is_there() {
    let mut setup = Setup::new(2);
    setup.record(0, "lobby", "ada", Observation::Join);
    setup.record(0, "lobby", "ben", Observation::Join);
    setup.record(1, "lobby", "cleo", Observation::Join);
    assert!(setup.timeline("lobby", "cleo", 0).is_none());
    assert_eq!(setup.recorder.counters()[Counter::Unrecorded], 1);
    setup.record(2, "lobby", "ada", LEAVE);
    setup.record(3, "lobby", "cleo", Observation::Reconnect);
    assert!(setup.timeline("lobby", "ada", 0).is_none());
    assert!(setup.timeline("lobby", "ben", 0).is_some() && setup.timeline("lobby", "cleo", 0).is_some());
    assert_eq!(setup.recorder.counters()[Counter::Evicted], 1);
    assert!(!Recorder::new(Config { memory: 0, keep: KEEP }).is_on());
}

proptest! {
    #[test]
    fn recorder_is_never_over_its_limit_and_forgets_everybody_in_time(
        steps in vec((0..3u8, 0..6u8, any::<bool>(), 0..400u64), 1..200),
    ) {
        let mut setup = Setup::new(5);
        let mut second = 0;
        for (recorded, (room, identity, leaves, passed)) in (1..).zip(steps) {
            second += passed;
            let observation = if leaves { LEAVE } else { Observation::Join };
            setup.record(second, &format!("room {room}"), &format!("participant {identity}"), observation);
            prop_assert!(setup.recorder.rings() <= 5);
            prop_assert_eq!(setup.recorder.memory(), setup.recorder.rings() * RING_LEN);
            let counters = setup.recorder.counters();
            prop_assert_eq!(counters[Counter::Recorded] + counters[Counter::Unrecorded], recorded);
        }
        for room in 0..3 {
            setup.recorder.end_room(setup.start + Duration::from_secs(second), &format!("room {room}"));
        }
        setup.expire(second + KEEP.as_secs());
        prop_assert_eq!(setup.recorder.rings(), 0);
    }
}
