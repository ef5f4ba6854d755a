//! One measurement of one server: join, settle, measure, drain, leave.

mod account;
mod error;
mod world;

use std::time::Duration;

use crate::clock;
use crate::measure::{SocketDrops, process};
use crate::peer::Server;
use crate::report::Report;
use crate::scenario::{Behaviour, Scenario};
use account::Sample;
use world::World;

pub use error::RunError;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the report calls the server.
    pub target: String,
    /// The server.
    pub server: Server,
    /// The server's process, if its cost is to be measured.
    pub server_pid: Option<u32>,
    /// Who joins.
    pub scenario: Scenario,
    /// How they behave.
    pub behaviour: Behaviour,
    /// The measured window.
    pub window: Duration,
}

/// Between the last join and the window: key frames and rate estimates calm down.
const SETTLE: Duration = Duration::from_secs(3);
/// Behind the window: what is under way or being repaired may still arrive.
const DRAIN: Duration = Duration::from_millis(1200);

/// Measures once.
pub fn run(settings: &Settings) -> Result<Report, RunError> {
    let before = settings
        .server_pid
        .map(|pid| process(pid).ok_or(RunError::NoProcess(pid)))
        .transpose()?;
    let mut world = World::new(settings)?;
    let join = world.join_all(settings)?;
    world.turn_until(clock::now() + SETTLE)?;
    let start = Sample::take(settings);
    world.begin_window();
    world.turn_until(clock::now() + settings.window)?;
    world.end_window();
    let end = Sample::take(settings);
    world.turn_until(clock::now() + DRAIN)?;
    let drops_at_end = SocketDrops::sample();
    let report = world.report(settings, &join, &start, &end, &drops_at_end, before);
    world.leave();
    Ok(report)
}
