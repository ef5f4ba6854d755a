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
        screen_start: BitRate(0),
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

fn offer(encoding: u8, kilobits: u64, size: (u16, u16)) -> allocation::Offer {
    allocation::Offer {
        target: allocation::DecodeTarget::new(encoding, 0, 0),
        rate: BitRate::kilo(kilobits),
        needed_above: BitRate(0),
        size,
        fps: 15,
    }
}

const fn picture(source: allocation::Source) -> allocation::Request {
    allocation::Request {
        source,
        may_pause: false,
        ..allocation::Request::VIDEO
    }
}

/// The encoding that a receiver of two is granted, at these times after its beginning.
fn granted(source: allocation::Source, times: &[u64]) -> Vec<u8> {
    let (mut budget, start) = (Budget::new(Policy::Utility, None), Instant::now());
    let offers = [offer(0, 200, (960, 540)), offer(1, 1_500, (1_920, 1_080))];
    let subscription = Subscription {
        key: allocation::Key(1),
        request: picture(source),
        offers: &offers,
    };
    let grants = times.iter().map(|time| {
        let shares = budget.allocate(start + Duration::from_millis(*time), &[subscription]);
        shares[0].grant.target().expect("it is sent").encoding
    });
    grants.collect()
}

/// The encodings that a receiver of a camera is granted of another picture: when the smaller one
/// begins to arrive, and when the larger one has begun 200 ms later.
fn granted_one_after_another(source: allocation::Source, limit: Option<u64>) -> [u8; 2] {
    let (mut budget, start) = (Budget::new(Policy::Utility, limit), Instant::now());
    let subscription = |key, source, offers| Subscription {
        key: allocation::Key(key),
        request: picture(source),
        offers,
    };
    let camera = [offer(0, 150, (640, 360))];
    let camera = subscription(1, allocation::Source::Camera, &camera);
    for round in 0..20 {
        budget.allocate(start + Duration::from_millis(250 * round), &[camera]);
    }
    let offers = [offer(0, 200, (960, 540)), offer(1, 1_500, (1_920, 1_080))];
    [(5_000, 1), (5_200, 2)].map(|(time, arriving)| {
        let other = subscription(2, source, &offers[..arriving]);
        let shares = budget.allocate(start + Duration::from_millis(time), &[camera, other]);
        shares[1].grant.target().expect("it is sent").encoding
    })
}

#[test]
fn a_larger_size_of_a_screen_that_begins_later_does_not_wait() {
    use allocation::Source::{Camera, Screen};
    assert_eq!(granted_one_after_another(Screen, None), [0, 1]);
    assert_eq!(
        granted_one_after_another(Screen, Some(1_200_000)),
        [0, 0],
        "beyond the limit"
    );
    assert_eq!(granted_one_after_another(Camera, None), [0, 0]);
}

#[test]
fn a_screen_starts_in_the_first_seconds_of_a_receiver() {
    let (mut budget, start) = (Budget::new(Policy::Utility, None), Instant::now());
    let sizes = [offer(0, 100, (320, 180)), offer(1, 250, (640, 360))];
    let camera = Subscription {
        key: allocation::Key(1),
        request: picture(allocation::Source::Camera),
        offers: &sizes[..1],
    };
    budget.allocate(start, &[camera]);
    // Its larger size waits for the hold, so that not all that is wanted is sent.
    let camera = Subscription {
        offers: &sizes,
        ..camera
    };
    let shares = budget.allocate(start + Duration::from_millis(200), &[camera]);
    assert_eq!(shares[0].grant.target().map(|target| target.encoding), Some(0));
    let screen = Subscription {
        key: allocation::Key(2),
        request: picture(allocation::Source::Screen),
        offers: &[offer(0, 200, (960, 540)), offer(1, 1_500, (1_920, 1_080))],
    };
    let shares = budget.allocate(start + Duration::from_millis(400), &[camera, screen]);
    assert_eq!(shares[1].grant.target().map(|target| target.encoding), Some(1));
}

/// The size of a screen is judged by its own rate: with the cameras it is more than the pace of
/// first key frames here.
#[test]
fn a_screen_starts_at_its_best_size_beside_cameras() {
    let (mut budget, start) = (Budget::new(Policy::Utility, None), Instant::now());
    let camera = Subscription {
        key: allocation::Key(1),
        request: picture(allocation::Source::Camera),
        offers: &[offer(0, 250, (320, 180))],
    };
    budget.allocate(start, &[camera]);
    let screen = Subscription {
        key: allocation::Key(2),
        request: picture(allocation::Source::Screen),
        offers: &[offer(0, 800, (960, 540)), offer(1, 2_900, (1_920, 1_080))],
    };
    let shares = budget.allocate(start, &[camera, screen]);
    assert_eq!(shares[1].grant.target().map(|target| target.encoding), Some(1));
}

#[test]
fn a_screen_starts_at_its_best_size_and_a_camera_at_what_is_estimated() {
    assert_eq!(granted(allocation::Source::Screen, &[0, 500, 1_900]), [1, 1, 1]);
    assert_eq!(granted(allocation::Source::Camera, &[0, 500]), [0, 0]);
    let late = granted(allocation::Source::Screen, &[0, 2_100, 10_000]);
    assert_eq!(late[2], 0, "nothing was found to carry it: {late:?}");
}
