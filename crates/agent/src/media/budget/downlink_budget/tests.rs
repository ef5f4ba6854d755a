//! Tests of a downlink's budget.

use super::*;

#[test]
fn fallbacks_end_when_a_queue_does_not_drain() {
    let (mut budget, start) = (Budget::new(Policy::Utility, None), Instant::now());
    let queue = |milliseconds| Estimate {
        queue: Duration::from_millis(milliseconds),
        ..Budget::new(Policy::Utility, None).estimate()
    };
    let room = Headroom {
        now: BitRate::kilo(340),
        carried: BitRate::kilo(425),
    };
    let mut look = |after, milliseconds| {
        let now = start + Duration::from_millis(after);
        let has_drained = budget.has_drained(now, &queue(milliseconds));
        (has_drained, budget.room_to_keep(now, room))
    };
    assert_eq!(look(0, 90), (false, room.carried));
    assert_eq!(look(100, 300), (false, room.carried));
    assert_eq!(look(550, 150), (false, room.carried));
    assert_eq!(look(600, 100), (false, room.now));
    assert_eq!(look(700, 99), (true, room.carried));
    assert_eq!(look(1200, 300), (false, room.carried));
}
