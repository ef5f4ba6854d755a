//! Screens that start.

mod support;

use allocation::BitRate;
use support::*;

#[test]
fn a_screen_that_starts_does_not_wait_for_the_estimate_and_a_camera_does() {
    let mut receiver = Receiver::of([(screen(1920, 1080), simulcast()), (camera(1280, 720), simulcast())]);
    let all = std::mem::take(&mut receiver.subscriptions[0].2);
    receiver.steady(800, 5);
    let before = receiver.sent(1);
    // The smallest size arrives first.
    receiver.subscriptions[0].2 = all[..3].to_vec();
    receiver.starting(800, 2_600);
    assert_eq!(receiver.sent(0), Some((0, 0, 2)));
    receiver.subscriptions[0].2 = all;
    receiver.starting(800, 2_600);
    assert_eq!(receiver.sent(0), Some((2, 0, 2)));
    assert_eq!(receiver.sent(1), before, "the rate is the screen's alone");
    // Nothing was found to carry it.
    receiver.starting(800, 0);
    assert!(receiver.used <= BitRate::kilo(800), "{:?}", receiver.used);
}

#[test]
fn a_screen_starts_within_its_rate() {
    let mut receiver = Receiver::of([(screen(1920, 1080), simulcast())]);
    receiver.starting(200, 600);
    assert_eq!(receiver.sent(0), Some((1, 0, 2)));
}
