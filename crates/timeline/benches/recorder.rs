//! Cost of the flight recorder for 1,000 participants in rooms of ten: the share of one processor
//! that their observations take, and the memory of their rings.
//!
//! `cargo bench -p timeline --bench recorder`.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use operator::observation::{Direction, SwitchCause, TrackSource};
use operator::receivers::{Limit, MediaKind, Target, Usage};
use operator::{Observation, ParticipantObservation, TimelineTrack};
use timeline::{Config, Recorder, Timestamp, verdict};

const PARTICIPANTS: usize = 1_000;
const ROOM: usize = 10;

/// Enough that every ring wraps. Shape: seconds of the calls.
const SECONDS: u64 = 400;

const RUNS: usize = 5;

fn main() {
    let mut shares: Vec<f64> = (0..RUNS).map(|_| run().0).collect();
    shares.sort_by(f64::total_cmp);
    let (_, recorder) = run();
    println!("1,000 participants in rooms of ten, five observations a second each");
    println!("{:<44} {:>8.3} %", "share of one processor", shares[RUNS / 2] * 100.0);
    println!(
        "{:<44} {:>8} KiB",
        "memory of a participant",
        recorder.memory() / recorder.rings() / 1024
    );
    let recording = recorder.recording("room 7", "participant 3").expect("it has joined");
    let began = processor_time();
    black_box(verdict(&recording.timeline(0), 0, SECONDS * 1_000));
    let share = processor_time() - began;
    println!("{:<44} {:>8.3} %", "one verdict a second", share * 100.0);
}

/// The processor time of this thread so far, in seconds. Other programs do not count, as they would
/// by a clock.
fn processor_time() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has statistics of threads");
    let nanoseconds = statistics.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.expect("the first number is the time on a processor") / 1e9
}

/// The processor time that the recorder takes for each second of the calls, and the recorder.
fn run() -> (f64, Recorder) {
    let mut recorder = Recorder::new(Config::default());
    let rooms: Vec<Arc<str>> = (0..PARTICIPANTS / ROOM)
        .map(|room| format!("room {room}").into())
        .collect();
    let (start, began) = (Instant::now(), processor_time());
    for second in 0..SECONDS {
        let at = Timestamp {
            now: start + Duration::from_secs(second),
            unix_ms: second * 1_000,
        };
        for room in &rooms {
            for participant in 0..ROOM {
                for (track, observation) in observations(second) {
                    recorder.record(at, room, &of(participant, track, observation));
                }
            }
        }
    }
    ((processor_time() - began) / SECONDS as f64, recorder)
}

/// The observations of one second in a bad call.
fn observations(second: u64) -> [(Option<usize>, Observation); 5] {
    let target = |encoding| Target {
        encoding,
        spatial: Some(0),
        temporal: Some(2),
    };
    let switch = |to| Observation::LayerSwitch {
        from: Some(target(1)),
        to: target(to),
        cause: SwitchCause::Downlink,
    };
    let loss = |direction| Observation::Loss {
        direction,
        expected: 300,
        lost: 12,
    };
    let estimate = Observation::Estimate {
        target_bps: 300_000 + 100 * second as u32,
        allocated_bps: 290_000,
        wanted_bps: 2_000_000,
        limit: Limit::Loss,
        usage: Usage::Normal,
        loss_permille: 40,
        round_trip_ms: Some(80),
        queue_ms: 12,
    };
    let track = second as usize % ROOM;
    [
        (None, estimate),
        (None, loss(Direction::Uplink)),
        (None, loss(Direction::Downlink)),
        (Some(track), switch(0)),
        (Some(track), switch(2)),
    ]
}

/// An observation as the controller hands it out, with its names.
fn of(participant: usize, track: Option<usize>, observation: Observation) -> ParticipantObservation {
    ParticipantObservation {
        participant: format!("participant {participant}"),
        track: track.map(|track| TimelineTrack {
            id: format!("TR_VCabcdefgh{track}"),
            peer: format!("participant {track}"),
            kind: MediaKind::Video,
            source: TrackSource::Camera,
        }),
        observation,
    }
}
