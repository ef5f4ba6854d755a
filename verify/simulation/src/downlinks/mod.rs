//! Receivers behind narrow links: the agent and the model in virtual time, with real reports from
//! the other end.
//!
//! A [`Meeting`] is drawn from a number: its senders, each receiver's subscriptions, and the
//! schedule of its downlink. [`play`] plays it and returns the results; the last stretch is long
//! enough for everything to have settled. The independence of receivers is tested by playing a
//! meeting twice, with another downlink for one of them.

mod call;
mod downlink;
mod sender;
pub mod steps;

use std::time::Duration;

use agent::Receiver;
use dataplane::{Replica, ReplicaId};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

pub use downlink::Way;

/// How long the last rate of every way lasts.
pub const LAST: Duration = Duration::from_secs(25);
/// The part of it in which everything has settled.
pub const SETTLED: Duration = Duration::from_secs(12);

/// One simulated meeting.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// How many send a camera and a microphone.
    pub senders: usize,
    /// Everybody gets everything; the wanted size of each camera, and the path to the receiver.
    pub receivers: Vec<(Vec<(u16, u16)>, Way)>,
    /// The encodings of each camera.
    pub film: Film,
    /// Size of a key frame relative to another frame. With 1 every frame is one: then receivers do
    /// not affect each other through the publisher, whose key frames go to all.
    pub key_factor: usize,
    /// How long it lasts.
    pub length: Duration,
}

/// A camera in three sizes.
#[derive(Clone, Copy, Debug)]
pub struct Film {
    /// Of the sizes, the smallest first. Shape: bits per second.
    pub rates: [u64; 3],
    /// Frames a second.
    pub frames: u64,
    /// Whether it has three frame rates.
    pub layered: bool,
    /// How much larger or smaller than the average a frame may be, by itself and by its scene.
    /// Shape: part of the average.
    pub uneven: f64,
    /// The seed of uneven frame sizes.
    pub seed: u64,
    /// How long an encoder takes to answer with a key frame.
    pub answer: Duration,
}

impl Default for Film {
    fn default() -> Self {
        Film {
            rates: [150_000, 500_000, 1_500_000],
            frames: 30,
            layered: false,
            uneven: 0.0,
            seed: 0,
            answer: Duration::ZERO,
        }
    }
}

/// Results of one receiver.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Rate sent to it in each second. Shape: bits per second.
    pub sent: Vec<u64>,
    /// The longest time in which no audio of one sender was sent to it.
    pub longest_silence: Duration,
    /// How it does in the end.
    pub state: Receiver,
    /// How it did, five times a second.
    pub history: Vec<(Duration, Receiver)>,
    /// Arrival of each whole frame of each sender's video.
    pub frames: Vec<Vec<Duration>>,
    /// Packets that found the queue full.
    pub dropped: u64,
    /// Video packets that were sent again.
    pub sent_again: u64,
    /// Every entry that was written for it, and when.
    pub written: Vec<(Duration, ReplicaId, Replica)>,
}

impl Meeting {
    /// The meeting of this number.
    pub fn new(seed: u64) -> Self {
        let rng = &mut StdRng::seed_from_u64(seed);
        let senders = rng.random_range(1..=3);
        let receivers = (0..rng.random_range(1..=3)).map(|_| {
            let sizes = [(320, 180), (640, 360), (1_280, 720), (0, 0)];
            let wanted = (0..senders).map(|_| sizes[rng.random_range(0..sizes.len())]);
            (wanted.collect(), Way::new(rng))
        });
        let receivers: Vec<(Vec<(u16, u16)>, Way)> = receivers.collect();
        let last = receivers.iter().filter_map(|(_, way)| way.rates.last());
        let length = last.map(|(at, _)| *at).max().unwrap_or_default() + LAST;
        Meeting {
            senders,
            receivers,
            film: Film::default(),
            key_factor: 4,
            length,
        }
    }
}

impl Way {
    fn new(rng: &mut StdRng) -> Self {
        let mut at = Duration::ZERO;
        let mut rates = Vec::new();
        for _ in 0..rng.random_range(1..=3) {
            // From 250 kbit/s to 8 Mbit/s, thin ones as often as wide ones.
            let rate = 250e3 * 32_f64.powf(rng.random::<f64>());
            rates.push((at, rate as u64));
            at += Duration::from_secs(rng.random_range(5..15));
        }
        Way {
            rates,
            delay: Duration::from_millis(rng.random_range(5..80)),
            queue: Duration::from_millis(rng.random_range(100..500)),
            bucket: 0,
        }
    }
}

/// Plays a meeting.
pub fn play(meeting: &Meeting) -> Vec<Outcome> {
    call::Call::new(meeting).play()
}
