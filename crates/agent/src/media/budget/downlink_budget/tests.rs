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

/// The encoding that a receiver of two is granted, at these times after its beginning.
fn granted(source: allocation::Source, times: &[u64]) -> Vec<u8> {
    let (mut budget, start) = (Budget::new(Policy::Utility, None), Instant::now());
    let offer = |encoding, kilobits, size| allocation::Offer {
        target: allocation::DecodeTarget {
            encoding,
            layer: wire::codec::Layer {
                spatial: 0,
                temporal: 0,
            },
        },
        rate: BitRate::kilo(kilobits),
        needed_above: BitRate(0),
        size,
        fps: 15,
    };
    let offers = [offer(0, 200, (960, 540)), offer(1, 1_500, (1_920, 1_080))];
    let request = allocation::Request {
        source,
        may_pause: false,
        ..allocation::Request::VIDEO
    };
    let subscription = Subscription {
        key: allocation::Key(1),
        request,
        offers: &offers,
    };
    let grants = times.iter().map(|time| {
        let shares = budget.allocate(start + Duration::from_millis(*time), &[subscription]);
        shares[0].grant.target().expect("it is sent").encoding
    });
    grants.collect()
}

#[test]
fn a_screen_starts_at_its_best_size_and_a_camera_at_what_is_estimated() {
    assert_eq!(granted(allocation::Source::Screen, &[0, 500, 1_900]), [1, 1, 1]);
    assert_eq!(granted(allocation::Source::Camera, &[0, 500]), [0, 0]);
    let late = granted(allocation::Source::Screen, &[0, 2_100, 10_000]);
    assert_eq!(late[2], 0, "nothing was found to carry it: {late:?}");
}
