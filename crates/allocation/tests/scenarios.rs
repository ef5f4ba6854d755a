//! Scenarios of a receiver, each a claim.

mod support;

use allocation::{BitRate, DecodeTarget, Grant, Key, Offer, Request};
use support::*;

#[test]
fn a_fast_link_gets_the_best_of_everything() {
    let mut receiver = Receiver::of([(camera(1280, 720), simulcast()), (camera(1280, 720), scalable())]);
    receiver.steady(10_000, 1);
    assert_eq!(receiver.sent(0), Some((2, 0, 2)));
    assert_eq!(receiver.sent(1), Some((0, 2, 2)));
    assert_eq!(receiver.used, BitRate::kilo(1_700 + 1_350));
}

#[test]
fn smaller_sizes_cost_only_the_part_that_the_larger_one_needs() {
    let request = camera(1280, 720);
    let mut each_alone = Receiver::of([(request, scalable_in_key_frames())]);
    let mut built_up = Receiver::of([(request, scalable())]);
    for receiver in [&mut each_alone, &mut built_up] {
        receiver.steady(1_600, 15);
        assert_eq!(receiver.sent(0), Some((0, 2, 2)));
        assert_eq!(
            (receiver.used, receiver.wanted),
            (BitRate::kilo(1_350), BitRate::kilo(1_350))
        );
    }
    // With occasional key frames, the largest size needs an eighth of the smaller ones.
    for offer in &mut each_alone.subscriptions[0].2 {
        offer.needed_above = offer.rate.scaled(0.125);
    }
    each_alone.steady(1_600, 1);
    assert_eq!(each_alone.used, BitRate::kilo(1_350 + 600 / 8));
}

#[test]
fn sizes_do_not_exceed_the_displayed_one() {
    let mut receiver = Receiver::of([
        (camera(320, 180), simulcast()),
        (camera(650, 366), simulcast()),
        (camera(320, 180), scalable()),
    ]);
    receiver.steady(10_000, 1);
    assert_eq!(receiver.sent(0), Some((0, 0, 2)));
    assert_eq!(
        receiver.sent(1),
        Some((1, 0, 2)),
        "a few pixels more are not worth four times the rate"
    );
    assert_eq!(receiver.sent(2), Some((0, 0, 2)));
}

#[test]
fn frame_rates_and_encodings_do_not_exceed_the_request() {
    let slow = Request {
        fps: 15,
        ..Request::VIDEO
    };
    let medium = Request {
        encoding_max: 1,
        ..Request::VIDEO
    };
    let mut receiver = Receiver::of([(slow, simulcast()), (medium, simulcast())]);
    receiver.steady(10_000, 1);
    assert_eq!(receiver.sent(0), Some((2, 0, 1)));
    assert_eq!(receiver.sent(1), Some((1, 0, 2)));
}

#[test]
fn an_encoding_above_the_wanted_ones_is_sent_if_no_other_arrives() {
    let request = Request {
        encoding_max: 0,
        ..Request::VIDEO
    };
    let only_high = simulcast().split_off(6);
    let mut receiver = Receiver::of([(request, only_high)]);
    receiver.steady(10_000, 1);
    assert_eq!(receiver.sent(0), Some((2, 0, 2)));
}

#[test]
fn audio_is_sent_under_any_estimate() {
    let mut receiver = Receiver::of([(Request::AUDIO, voice()), (Request::VIDEO, simulcast())]);
    receiver.steady(10, 1);
    assert_eq!(receiver.grants[1], Grant::Paused);
    assert_eq!(receiver.sent(0), Some((0, 0, 0)));
    receiver.steady(91, 3);
    assert_eq!(
        receiver.grants[1],
        Grant::Paused,
        "audio takes 32, and the lowest layer 60"
    );
    receiver.steady(92, 3);
    assert_eq!(receiver.sent(1), Some((0, 0, 0)));
}

#[test]
fn a_stream_that_must_not_pause_gets_its_lowest_layer() {
    let kept = Request {
        may_pause: false,
        ..Request::VIDEO
    };
    let mut receiver = Receiver::of([(Request::VIDEO, simulcast()), (kept, simulcast())]);
    receiver.steady(10, 5);
    assert_eq!(receiver.grants[0], Grant::Paused);
    assert_eq!(receiver.sent(1), Some((0, 0, 0)));
    assert_eq!(receiver.changes, 1);
}

#[test]
fn everybody_is_seen_before_anybody_is_sharp() {
    let speaker = Request {
        speaker: Some(0),
        ..camera(1280, 720)
    };
    let mut receiver = Receiver::of(
        [(speaker, simulcast())]
            .into_iter()
            .chain(vec![(camera(320, 180), simulcast()); 9]),
    );
    receiver.steady(700, 1);
    assert!((0..10).all(|at| receiver.sent(at).is_some()), "{:?}", receiver.grants);
    receiver.steady(640, 1);
    assert!(
        receiver
            .grants
            .iter()
            .all(|grant| *grant == Grant::Send(Default::default()))
    );
}

#[test]
fn the_shared_screen_gets_most_of_the_rest_then_the_speaker() {
    let speaker = Request {
        speaker: Some(0),
        ..camera(640, 360)
    };
    let mut receiver = Receiver::of([
        (camera(640, 360), simulcast()),
        (speaker, simulcast()),
        (screen(1280, 720), simulcast()),
    ]);
    receiver.steady(1_200, 1);
    assert_eq!(receiver.sent(2).map(|sent| sent.0), Some(2), "{:?}", receiver.grants);
    receiver.steady(1_500, 3);
    let [listener, speaker] = [0, 1].map(|at| receiver.sent(at).unwrap());
    assert!(speaker > listener, "{:?}", receiver.grants);
}

#[test]
fn among_equals_the_one_with_priority_and_then_the_larger_one_goes_first() {
    let chosen = Request {
        priority: 1,
        ..camera(640, 360)
    };
    let mut receiver = Receiver::of([(camera(640, 360), simulcast()), (chosen, simulcast())]);
    receiver.steady(600, 2);
    assert!(receiver.sent(1) > receiver.sent(0), "{:?}", receiver.grants);

    let mut receiver = Receiver::of([(camera(640, 360), simulcast()), (camera(1280, 720), simulcast())]);
    receiver.steady(600, 2);
    assert!(receiver.sent(1) > receiver.sent(0), "{:?}", receiver.grants);
}

#[test]
fn when_room_is_short_the_least_important_pauses_first() {
    let chosen = Request {
        priority: 1,
        ..Request::VIDEO
    };
    let mut receiver = Receiver::of([
        (Request::VIDEO, simulcast()),
        (chosen, simulcast()),
        (Request::VIDEO, simulcast()),
    ]);
    receiver.steady(10_000, 1).steady(130, 1);
    assert_eq!(receiver.sent(2), None);
    assert!(receiver.sent(0).is_some() && receiver.sent(1).is_some());
    receiver.steady(70, 1);
    assert_eq!((receiver.sent(0), receiver.sent(1)), (None, Some((0, 0, 0))));
}

/// Two cameras of one size with 300, 390 and 550 kbit/s in three frame rates, and audio with each,
/// on a link of 750 kbit/s.
fn two_cameras_and_voices() -> Receiver {
    let camera_in_rates = || {
        let layer = |(temporal, rate): (usize, &u64)| Offer {
            target: DecodeTarget::new(0, 0, temporal as u8),
            rate: BitRate::kilo(*rate),
            needed_above: BitRate(0),
            size: (640, 360),
            fps: [8, 15, 30][temporal],
        };
        [300, 90, 160].iter().enumerate().map(layer).collect::<Vec<_>>()
    };
    let voice = || {
        encodings(&[25]).split_off(2).into_iter().map(|offer| Offer {
            rate: BitRate::kilo(25),
            ..offer
        })
    };
    Receiver::of([
        (camera(640, 360), camera_in_rates()),
        (camera(640, 360), camera_in_rates()),
        (Request::AUDIO, voice().collect()),
        (Request::AUDIO, voice().collect()),
    ])
}

#[test]
fn tolerated_excess_pauses_no_stream() {
    let mut receiver = two_cameras_and_voices();
    receiver.steady(1_000, 15);
    assert_eq!((receiver.sent(0), receiver.sent(1)), (Some((0, 0, 1)), Some((0, 0, 1))));
    // The lowest layers and voices take 650.
    receiver.steady(610, 20);
    assert_eq!((receiver.sent(0), receiver.sent(1)), (Some((0, 0, 0)), Some((0, 0, 0))));
    receiver.estimate(590);
    assert_eq!((receiver.sent(0), receiver.sent(1)), (Some((0, 0, 0)), None));
}

#[test]
fn a_paused_stream_returns_without_a_margin() {
    let mut receiver = two_cameras_and_voices();
    receiver.steady(1_000, 15).steady(450, 5);
    assert_eq!((receiver.sent(0), receiver.sent(1)), (Some((0, 0, 0)), None));
    receiver.steady(640, 20);
    assert_eq!(receiver.sent(1), None);
    receiver.steady(660, 3);
    assert_eq!((receiver.sent(0), receiver.sent(1)), (Some((0, 0, 0)), Some((0, 0, 0))));
    let changes = receiver.changes;
    receiver.steady(610, 20).steady(690, 20);
    assert_eq!(receiver.changes, changes);
}

#[test]
fn a_camera_keeps_moving_and_a_screen_stays_legible() {
    let mut receiver = Receiver::of([(camera(1280, 720), simulcast())]);
    receiver.steady(5_000, 1).steady(600, 1);
    assert_eq!(
        receiver.sent(0),
        Some((1, 0, 2)),
        "a smaller picture at full frame rate"
    );
    let mut receiver = Receiver::of([(screen(1280, 720), simulcast())]);
    receiver.steady(5_000, 1).steady(750, 1);
    assert_eq!(receiver.sent(0), Some((2, 0, 0)), "all of the picture, less often");
}

#[test]
fn quality_falls_with_the_first_low_estimate_and_rises_within_two_seconds() {
    let mut receiver = Receiver::of([(camera(1280, 720), scalable())]);
    receiver.steady(4_000, 15);
    assert_eq!(receiver.sent(0), Some((0, 2, 2)));
    receiver.estimate(500);
    assert_eq!(receiver.sent(0), Some((0, 1, 2)));
    receiver.steady(500, 20).steady(4_000, 2);
    assert_eq!(receiver.sent(0), Some((0, 2, 2)));
    assert_eq!(receiver.changes, 3);
}

#[test]
fn an_estimate_within_the_margin_changes_nothing() {
    let mut receiver = Receiver::of([(camera(1280, 720), simulcast())]);
    receiver.steady(1_000, 15);
    assert_eq!(receiver.sent(0), Some((1, 0, 2)));
    receiver.steady(1_150, 60);
    assert_eq!((receiver.sent(0), receiver.changes), (Some((1, 0, 2)), 1));
    receiver.steady(1_180, 3);
    assert_eq!(receiver.sent(0), Some((2, 0, 1)));
}

#[test]
fn everything_that_hardly_fits_is_granted_after_a_long_calm_estimate() {
    let mut receiver = Receiver::of([(camera(1280, 720), simulcast())]);
    receiver.steady(1_000, 15).steady(1_850, 5);
    assert_eq!(receiver.sent(0), Some((2, 0, 1)), "with the margin it takes 1,955");
    receiver.steady(1_850, 2);
    assert_eq!(receiver.sent(0), Some((2, 0, 2)));
    let mut receiver = Receiver::of([(camera(1280, 720), simulcast())]);
    receiver.steady(1_000, 15).steady(1_820, 60);
    assert_eq!(receiver.sent(0), Some((2, 0, 1)), "1,836 is the least");
}

#[test]
fn failed_rises_are_tried_less_and_less_often() {
    // The estimate climbs while little is sent, and collapses when more is.
    let mut receiver = Receiver::of([(camera(1280, 720), encodings(&[150, 500]))]);
    let mut tries = Vec::new();
    receiver.steady(300, 5);
    for tick in 0..600 {
        let estimate = if receiver.used > BitRate::kilo(400) { 300 } else { 700 };
        let before = receiver.used;
        receiver.estimate(estimate);
        if receiver.used > before && receiver.used > BitRate::kilo(400) {
            tries.push(tick);
        }
    }
    let waits: Vec<_> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        waits.is_sorted() && waits.last().is_some_and(|wait| *wait >= 80),
        "{tries:?}"
    );
    assert!(tries.len() <= 10, "{tries:?}");
}

#[test]
fn a_window_that_grows_is_answered_at_once_if_there_is_room() {
    let mut receiver = Receiver::of([(camera(320, 180), simulcast())]);
    receiver.steady(5_000, 5);
    receiver.subscriptions[0].1 = camera(1280, 720);
    receiver.estimate(5_000);
    assert_eq!(receiver.sent(0), Some((2, 0, 2)));
}

#[test]
fn a_new_speaker_takes_over_the_share_of_the_last() {
    let tile = || camera(640, 360);
    let mut receiver = Receiver::of([(tile(), simulcast()), (tile(), simulcast())]);
    receiver.subscriptions[0].1.speaker = Some(0);
    receiver.steady(600, 5);
    let before = receiver.grants.clone();
    assert!(receiver.sent(0) > receiver.sent(1), "{before:?}");
    receiver.subscriptions[0].1.speaker = None;
    receiver.subscriptions[1].1.speaker = Some(0);
    receiver.estimate(600);
    assert_eq!(receiver.grants, [before[1], before[0]]);
}

/// A camera in two sizes, the larger one at this rate, and one frame rate.
fn small_and_large(kilo: u64) -> Vec<Offer> {
    let size = |encoding: u8, kilo| Offer {
        target: DecodeTarget::new(encoding, 0, 0),
        rate: BitRate::kilo(kilo),
        needed_above: BitRate(0),
        size: (320 << encoding, 180 << encoding),
        fps: 20,
    };
    vec![size(0, 100), size(1, kilo)]
}

/// Two equal videos of which one has the large size, a small one, and the grants.
fn one_large_of_two() -> (Receiver, Vec<Grant>) {
    let tile = || (camera(640, 360), small_and_large(450));
    let mut receiver = Receiver::of([tile(), tile(), (camera(320, 180), small_and_large(450))]);
    receiver.subscriptions[0].1.speaker = Some(0);
    receiver.steady(900, 30);
    assert_eq!((receiver.sent(0), receiver.sent(1)), (Some((1, 0, 0)), Some((0, 0, 0))));
    let before = receiver.grants.clone();
    (receiver, before)
}

#[test]
fn equals_do_not_change_places_because_a_rate_wavers_or_somebody_comes() {
    let (mut receiver, before) = one_large_of_two();
    receiver.subscriptions[0].1.speaker = None;
    for rate in [450, 490, 410, 450, 470] {
        receiver.subscriptions[0].2 = small_and_large(rate);
        receiver.subscriptions[1].2 = small_and_large(900 - rate);
        receiver.steady(900, 5);
        assert_eq!(receiver.grants, before);
    }
    receiver.subscriptions[2].1.enabled = false;
    receiver.steady(900, 1);
    receiver.subscriptions[2].1.enabled = true;
    receiver.steady(900, 5);
    assert_eq!(receiver.grants, before);
}

#[test]
fn alternating_speakers_keep_their_grants_and_a_lasting_speaker_rises() {
    let (mut receiver, before) = one_large_of_two();
    for turn in 0..10_usize {
        receiver.subscriptions[turn % 2].1.speaker = Some(0);
        receiver.subscriptions[(turn + 1) % 2].1.speaker = Some(1);
        receiver.steady(900, 2);
        assert_eq!(receiver.grants, before);
    }
    receiver.subscriptions[0].1.speaker = None;
    receiver.subscriptions[1].1.speaker = Some(0);
    receiver.estimate(900);
    assert_eq!(receiver.grants[..2], [before[1], before[0]]);
}

#[test]
fn a_newcomer_is_seen_at_once_even_on_a_full_link() {
    let mut receiver = Receiver::of([(camera(1280, 720), simulcast())]);
    receiver.steady(620, 5);
    receiver.subscriptions.push((Key(9), camera(1280, 720), simulcast()));
    receiver.estimate(620);
    assert!(
        receiver.sent(0).is_some() && receiver.sent(1).is_some(),
        "{:?}",
        receiver.grants
    );
}

#[test]
fn an_encoding_that_stops_is_replaced_at_once() {
    let mut receiver = Receiver::of([(camera(1280, 720), simulcast())]);
    receiver.steady(5_000, 5);
    receiver.subscriptions[0].2.truncate(6);
    receiver.estimate(5_000);
    assert_eq!(receiver.sent(0), Some((1, 0, 2)));
}

#[test]
fn a_screen_without_changes_keeps_its_grant() {
    let mut receiver = Receiver::of([(screen(1280, 720), simulcast()), (camera(320, 180), simulcast())]);
    receiver.steady(5_000, 5);
    let still = |offers: &mut [Offer]| offers.iter_mut().for_each(|offer| offer.rate = BitRate(0));
    still(&mut receiver.subscriptions[0].2[7..]);
    receiver.steady(5_000, 5);
    still(&mut receiver.subscriptions[0].2);
    receiver.steady(5_000, 5);
    assert_eq!((receiver.sent(0), receiver.changes), (Some((2, 0, 2)), 1));
    receiver.subscriptions[0].2 = simulcast();
    receiver.estimate(5_000);
    assert_eq!((receiver.sent(0), receiver.changes), (Some((2, 0, 2)), 1));
}

#[test]
fn a_video_that_begins_to_arrive_is_sent_at_once() {
    let mut receiver = Receiver::of([(camera(1280, 720), Vec::new())]);
    receiver.steady(5_000, 5);
    assert_eq!(receiver.grants, [Grant::Idle], "that is no pause to tell of");
    receiver.subscriptions[0].2 = simulcast();
    receiver.estimate(5_000);
    assert_eq!(receiver.sent(0), Some((2, 0, 2)));
}

#[test]
fn a_smaller_encoding_that_is_enough_takes_over_as_soon_as_it_arrives() {
    let all = simulcast();
    let mut receiver = Receiver::of([(camera(320, 180), all[6..].to_vec())]);
    receiver.steady(5_000, 2);
    assert_eq!(receiver.sent(0), Some((2, 0, 2)));
    receiver.subscriptions[0].2 = all;
    receiver.estimate(5_000);
    assert_eq!(receiver.sent(0), Some((0, 0, 2)));
}

#[test]
fn silence_is_no_reason_to_stop_a_voice() {
    let mut receiver = Receiver::of([(Request::AUDIO, Vec::new())]);
    receiver.estimate(100);
    assert_eq!(receiver.sent(0), Some((0, 0, 0)));
}

#[test]
fn a_disabled_stream_takes_nothing() {
    let off = Request {
        enabled: false,
        ..Request::VIDEO
    };
    let mute = Request {
        enabled: false,
        ..Request::AUDIO
    };
    let mut receiver = Receiver::of([(off, simulcast()), (mute, voice())]);
    receiver.steady(5_000, 1);
    assert_eq!(receiver.grants, [Grant::Idle, Grant::Idle]);
    assert_eq!((receiver.used, receiver.wanted), (BitRate(0), BitRate(0)));
}

#[test]
fn the_wanted_rate_is_reported_at_any_estimate() {
    let mut receiver = Receiver::of([
        (Request::VIDEO, simulcast()),
        (camera(320, 180), simulcast()),
        (Request::AUDIO, voice()),
    ]);
    for estimate in [100, 1_000, 10_000, 100] {
        receiver.estimate(estimate);
        assert_eq!(receiver.wanted, BitRate::kilo(1_700 + 150 + 32));
    }
}

#[test]
fn a_queue_that_drains_pauses_nobody_whom_the_link_carries() {
    let mut receiver = Receiver::of([(camera(640, 360), simulcast()), (camera(640, 360), simulcast())]);
    receiver.steady(130, 5);
    assert!(receiver.sent(0).is_some() && receiver.sent(1).is_some());
    receiver.draining(60, 130);
    assert!(receiver.sent(0).is_some() && receiver.sent(1).is_some());
    receiver.draining(60, 90);
    assert!(receiver.sent(1).is_none(), "it carries one of them");
}
