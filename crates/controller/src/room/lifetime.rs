//! Limits of one room.

use std::time::Duration;

use crate::Config;

/// How long a room stays and how many it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lifetime {
    /// How long it stays while nobody has joined. Agents and recorders do not count.
    pub(crate) empty_timeout: Duration,
    /// How long it stays after the last participant left, agents and recorders apart.
    pub(crate) departure_timeout: Duration,
    pub(crate) participants_max: usize,
    /// Somebody has joined it.
    pub(crate) was_joined: bool,
}

impl Lifetime {
    /// As the operator has it.
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            empty_timeout: config.empty_timeout,
            departure_timeout: config.departure_timeout,
            participants_max: config.participants_max,
            was_joined: false,
        }
    }

    /// How long the room stays while it is empty.
    pub(crate) fn grace(&self) -> Duration {
        match self.was_joined {
            true => self.departure_timeout,
            false => self.empty_timeout,
        }
    }
}
