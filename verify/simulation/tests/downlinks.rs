//! Each receiver gets the media that its downlink carries, independent of other downlinks.

use std::time::Duration;

use simulation::downlinks::steps::{frozen, meeting, risen, spans};
use simulation::downlinks::{Meeting, Outcome, SETTLED, Way, play};

/// The number of meetings, unless `WEIR_MEETINGS` is set.
const MEETINGS: u64 = 8;

fn meetings() -> impl Iterator<Item = (u64, Meeting)> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let first = number("WEIR_FIRST_SEED").unwrap_or(0);
    let count = number("WEIR_MEETINGS").unwrap_or(MEETINGS);
    (first..first + count).map(|seed| (seed, Meeting::new(seed)))
}

/// The rate in the settled part. Shape: bits per second.
fn settled(outcome: &Outcome) -> f64 {
    let seconds = &outcome.sent[outcome.sent.len() - SETTLED.as_secs() as usize..];
    seconds.iter().sum::<u64>() as f64 / seconds.len() as f64
}

#[test]
fn the_send_rate_settles_below_the_capacity_and_audio_never_stops() {
    for (seed, meeting) in meetings() {
        for (index, (outcome, (_, way))) in play(&meeting).iter().zip(&meeting.receivers).enumerate() {
            let (sent, carried) = (settled(outcome), way.rate(meeting.length) as f64);
            let downlink = outcome.state.downlink.as_ref().expect("it is estimated");
            let why = format!(
                "seed {seed}, receiver {index}: {:.0} of {:.0} kbit/s, {downlink:?}, {way:?}",
                sent / 1e3,
                carried / 1e3
            );
            assert!(sent <= carried, "too much is sent: {why}");
            assert!(
                outcome.longest_silence < Duration::from_millis(100),
                "sound stopped: {why}"
            );
            // A rate above the sent one is not tried unless more is wanted, and layers leave room
            // between the sent rate and the capacity.
            let untried = downlink.estimate.application_limited || downlink.allocated >= downlink.wanted;
            assert!(
                untried || downlink.estimate.target as f64 <= 1.4 * carried,
                "too much is believed: {why}"
            );
            let enough = 1.6 * downlink.wanted as f64;
            assert!(
                carried < enough || downlink.allocated * 10 >= downlink.wanted * 9,
                "too little is sent: {why}"
            );
        }
    }
}

#[test]
fn one_downlinks_capacity_does_not_affect_other_downlinks() {
    let with_others = meetings().filter(|(_, meeting)| meeting.receivers.len() > 1);
    for (seed, mut meeting) in with_others.take(3) {
        meeting.key_factor = 1;
        let mut other = meeting.clone();
        other.receivers[0].1 = Way {
            rates: vec![(Duration::ZERO, 150_000)],
            delay: Duration::from_millis(150),
            queue: Duration::from_millis(50),
            bucket: 0,
        };
        let (one, two) = (play(&meeting), play(&other));
        for (index, (one, two)) in one.iter().zip(&two).enumerate().skip(1) {
            for (one, two) in one.written.iter().zip(&two.written) {
                assert_eq!(one, two, "seed {seed}, receiver {index}");
            }
            assert_eq!(one.written.len(), two.written.len(), "seed {seed}, receiver {index}");
        }
    }
}

/// Limits that real browsers have to meet with two videos of one encoding each.
const FROZEN: f64 = 1.5;
const RISEN: f64 = 12.0;

#[test]
fn pictures_hardly_stand_still_while_a_downlink_narrows_and_widens() {
    for seed in 0..3 {
        let outcome = &play(&meeting(seed, 3_100))[0];
        for (sender, frames) in outcome.frames.iter().enumerate() {
            for seconds in spans() {
                let frozen = frozen(frames, &seconds);
                assert!(
                    frozen < FROZEN,
                    "seed {seed}, sender {sender}, {seconds:?}: {frozen:.2} s"
                );
            }
        }
        let risen = risen(outcome);
        assert!(risen < RISEN, "seed {seed}: {risen:.1} s");
    }
}
