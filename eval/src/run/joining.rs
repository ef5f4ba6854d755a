//! Everybody joins; durations and costs of that.

use std::time::{Duration, Instant};

use super::account::{Joined, Sample};
use super::world::World;
use super::{RunError, Settings};
use crate::client::Participant;
use crate::clock;

/// Without a given rate: participants that may be connecting at the same time.
const CONNECTING_MAX: usize = 8;
/// The next client joins after this, even if others still connect.
const JOIN_PATIENCE: Duration = Duration::from_millis(250);
/// When joining counts as failed, from the last that began to join.
const JOIN_TIMEOUT: Duration = Duration::from_secs(40);
/// Time to serve the joined clients before looking again.
const PAUSE: Duration = Duration::from_millis(5);

impl World {
    /// Joins everybody and waits until everybody receives the intended streams.
    ///
    /// The rate is that of the settings, or else a few at a time, as fast as the server admits
    /// them.
    pub(crate) fn join_all(&mut self, settings: &Settings) -> Result<Joined, RunError> {
        // Rooms of an earlier run may still be closing.
        let run = format!("{:x}", clock::wall_ns() & 0xffff_ffff_ffff);
        let before = Sample::take(settings);
        let began = clock::now();
        for (place, plan) in settings
            .scenario
            .plans(&run, &settings.behaviour)
            .into_iter()
            .enumerate()
        {
            match settings.join_rate {
                Some(rate) => self.turn_until(began + Duration::from_secs_f64(place as f64 / rate))?,
                None => self.wait_for_a_place()?,
            }
            self.join(plan, settings)?;
        }
        let beginning = began.elapsed();
        self.wait_until_complete(clock::now())?;
        Ok(Joined {
            all: began.elapsed(),
            beginning,
            samples: [before, Sample::take(settings)],
            replicas: self.replicas(),
        })
    }

    fn replicas(&self) -> u64 {
        let sources = self.participants.iter().flat_map(|it| it.meter().sources());
        sources.map(|(_, tally)| tally.seen()).sum()
    }

    fn wait_for_a_place(&mut self) -> Result<(), RunError> {
        let waited = clock::now();
        while self.connecting() >= CONNECTING_MAX && waited.elapsed() < JOIN_PATIENCE {
            self.turn(clock::now() + PAUSE)?;
        }
        self.turn(clock::now())
    }

    fn connecting(&self) -> usize {
        self.participants.iter().filter(|it| it.is_connecting()).count()
    }

    fn wait_until_complete(&mut self, since: Instant) -> Result<(), RunError> {
        while self.participants.iter().any(is_incomplete) {
            if since.elapsed() > JOIN_TIMEOUT {
                return Err(RunError::NotReady(self.describe_incomplete()));
            }
            self.turn(clock::now() + PAUSE)?;
        }
        Ok(())
    }

    fn describe_incomplete(&self) -> String {
        let incomplete: Vec<&Participant> = self.participants.iter().filter(|it| is_incomplete(it)).collect();
        let unheard: usize = incomplete
            .iter()
            .map(|it| it.meter().sources().filter(|(_, tally)| tally.is_empty()).count())
            .sum();
        format!(
            "{} of {} participants not ready: {} are not let in, {} have no media transport, {} are not publishing, {unheard} sources are not heard",
            incomplete.len(),
            self.participants.len(),
            incomplete.iter().filter(|it| it.milestones().joined.is_none()).count(),
            incomplete
                .iter()
                .filter(|it| it.milestones().connected.is_none())
                .count(),
            incomplete.iter().filter(|it| !it.is_publishing()).count(),
        )
    }
}

fn is_incomplete(participant: &Participant) -> bool {
    participant.milestones().complete.is_none()
}
