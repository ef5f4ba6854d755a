//! One measurement of one server: join, settle, measure, drain, change, leave.

mod account;
mod agenda;
mod changes;
mod error;
mod joining;
mod world;

use std::time::Duration;

use crate::client::{Server, Traffic};
use crate::clock;
use crate::measure::process;
use crate::report::Report;
use crate::scenario::{Behaviour, Scenario};
use account::{Drops, Sample};
use world::World;

pub use error::RunError;
pub use world::TICK;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the report calls the server.
    pub target: String,
    /// The server.
    pub server: Server,
    /// The server's process, if its cost is to be measured.
    pub server_pid: Option<u32>,
    /// The participants and rooms.
    pub scenario: Scenario,
    /// How they behave.
    pub behaviour: Behaviour,
    /// Between the last join and the window: key frames and rate estimates calm down.
    pub settle: Duration,
    /// The measured window.
    pub window: Duration,
    /// Participants that begin to join per second; none: a few at a time, as fast as the server
    /// lets them.
    pub join_rate: Option<f64>,
    /// One received packet in this many is decrypted; 1: all.
    pub open_one_in: u32,
}

/// Time after the window, in which packets under way or being repaired may still arrive.
const DRAIN: Duration = Duration::from_millis(1200);

/// Time before the window: frames that became due while the machine was read are sent in a burst.
const CATCH_UP: Duration = Duration::from_millis(100);

/// Measures once.
pub fn run(settings: &Settings) -> Result<Report, RunError> {
    if let Some(pid) = settings.server_pid {
        process(pid).ok_or(RunError::NoProcess(pid))?;
    }
    let mut world = World::new(settings)?;
    let joined = world.join_all(settings)?;
    world.turn_until(clock::now() + settings.settle)?;
    let window = world.measure(settings)?;
    let changed = settings.scenario.is_crowd().then(|| world.change()).transpose()?;
    let report = world.report(settings, &joined, &window, changed.as_ref());
    world.leave();
    Ok(report)
}

/// The machine and the server's signalling at both ends of the window.
struct Window {
    samples: [Sample; 2],
    traffic: [Traffic; 2],
    /// Read after the drain.
    drops: Drops,
}

impl World {
    /// Serves everybody for the measured window, and for a moment after it.
    fn measure(&mut self, settings: &Settings) -> Result<Window, RunError> {
        let start = Sample::begin(settings);
        self.turn_until(clock::now() + CATCH_UP)?;
        let (start, told) = (start.finish(settings), self.traffic());
        self.begin_window();
        self.turn_until(clock::now() + settings.window)?;
        self.end_window();
        let samples = [start, Sample::take(settings)];
        let traffic = [told, self.traffic()];
        self.turn_until(clock::now() + DRAIN)?;
        Ok(Window {
            samples,
            traffic,
            drops: Drops::sample(settings),
        })
    }
}
