//! Cost of one way for a number of receivers.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use harness::{Instructions, Machine, clock, interrupt_threads};

use crate::bare::{Arrived, RECEIVERS_MAX, Sink};
use crate::scene::{FRAME, Scene};
use crate::way::Way;

/// Duration of sending at a pace, and of sending as fast as possible.
const PACED: Duration = Duration::from_millis(1_500);
const FLOOD: Duration = Duration::from_millis(400);
/// Time in which packets still on their way arrive.
const SETTLE: Duration = Duration::from_millis(30);
/// Packets a second of a video of about 3 Mbit/s.
const PACE: u32 = 320;

/// One row.
pub(crate) struct Row {
    /// How.
    pub way: Way,
    /// For how many.
    pub receivers: u32,
    /// Share of the copies that arrived, at a pace.
    pub arrived: f64,
    /// Processor time of the whole machine for each copy, in microseconds, that of the sender
    /// included.
    pub busy_us: f64,
    /// Instructions for each copy, likewise; the kernel's on account of this process. `None` on a
    /// processor that does not count them.
    pub instructions: Option<f64>,
    /// Least, mean and greatest time between two packets of a receiver, in milliseconds: the least
    /// and the greatest of all receivers.
    pub deltas_ms: [f64; 3],
    /// Copies that arrived in a second when packets were sent as fast as possible.
    pub flood: f64,
}

/// Measures it.
pub(crate) fn measure(
    scene: &mut Scene,
    sink: &mut Sink,
    way: Way,
    receivers: u32,
) -> Result<Row, Box<dyn Error + Send + Sync>> {
    let running = way.start(scene, receivers)?;
    // Routes are looked up and sockets warm up.
    for _ in 0..3 {
        speak_for(scene, Duration::from_millis(60));
        sleep(SETTLE);
    }
    sink.clear();
    let counted = [&[std::process::id()], &interrupt_threads()[..]].concat();
    let mut instructions = Instructions::of(&counted).ok();
    let mut read = || instructions.as_mut().map(Instructions::read).transpose();
    let (before, first) = (Machine::sample(), read()?);
    let sent = speak_for(scene, PACED);
    sleep(SETTLE);
    let (after, last) = (Machine::sample(), read()?);
    drop(instructions);
    let arrived = sink.read();
    let copies = total(&arrived) as f64;
    let passed = (PACED + SETTLE).as_secs_f64() * Machine::processors() as f64;
    let busy = (1.0 - after.idle_share_since(&before)) * passed;
    sink.clear();
    let flood = flood(scene, sink);
    drop(running);
    Ok(Row {
        way,
        receivers,
        arrived: copies / (f64::from(sent) * f64::from(receivers)),
        busy_us: busy * 1e6 / copies,
        instructions: first.zip(last).map(|(first, last)| (last - first) as f64 / copies),
        deltas_ms: deltas(&arrived[..RECEIVERS_MAX as usize]),
        flood,
    })
}

/// Sends at the pace; returns the number of packets.
fn speak_for(scene: &mut Scene, time: Duration) -> u32 {
    let start = clock::now();
    // The packets of a frame are sent together.
    let together = u32::from(FRAME);
    let mut sent = 0;
    while start.elapsed() < time {
        let due = (start.elapsed().as_secs_f64() * f64::from(PACE)) as u32 / together * together + together;
        while sent < due {
            scene.speak();
            sent += 1;
        }
        let next = Duration::from_secs_f64(f64::from(due) / f64::from(PACE));
        sleep(next.saturating_sub(start.elapsed()));
    }
    sent
}

fn flood(scene: &mut Scene, sink: &Sink) -> f64 {
    let start = clock::now();
    while start.elapsed() < FLOOD {
        for _ in 0..FRAME {
            scene.speak();
        }
    }
    total(&sink.read()) as f64 / start.elapsed().as_secs_f64()
}

/// Packets of all receivers.
pub(crate) fn total(arrived: &[Arrived]) -> u64 {
    arrived.iter().map(|one| one.packets).sum()
}

fn deltas(arrived: &[Arrived]) -> [f64; 3] {
    let some = || arrived.iter().filter(|one| one.deltas > 0);
    let ms = |nanoseconds: f64| nanoseconds / 1e6;
    let least = some().map(|one| one.least).min().unwrap_or(0);
    let greatest = some().map(|one| one.greatest).max().unwrap_or(0);
    let (sum, count) = some().fold((0, 0), |(sum, count), one| (sum + one.sum, count + one.deltas));
    [least as f64, sum as f64 / count.max(1) as f64, greatest as f64].map(ms)
}
