//! How long one room stays.

use std::time::{Duration, Instant};

use crate::context::{Context, Timer};
use crate::{Config, CreateRoom};

/// How long a room stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::room) struct Lifetime {
    /// How long it stays while nobody has joined. Agents and recorders do not count.
    pub(in crate::room) empty_timeout: Duration,
    /// How long it stays after the last participant left, agents and recorders apart.
    pub(in crate::room) departure_timeout: Duration,
    /// Somebody has joined it.
    was_joined: bool,
    /// When the last participant left; `None` while somebody is there. Agents and recorders do not
    /// count.
    empty_since: Option<Instant>,
}

impl Lifetime {
    /// As the operator has it, of a room that is made now.
    pub(in crate::room) fn new(now: Instant, config: &Config) -> Self {
        Self {
            empty_timeout: config.empty_timeout,
            departure_timeout: config.departure_timeout,
            was_joined: false,
            empty_since: Some(now),
        }
    }

    /// Takes the times that a room is created with; what is not said stays as the operator has
    /// it.
    pub(in crate::room) fn set_up(&mut self, ctx: &mut Context<'_>, timer: Timer, request: &CreateRoom) {
        self.empty_timeout = request.empty_timeout.unwrap_or(self.empty_timeout);
        self.departure_timeout = request.departure_timeout.unwrap_or(self.departure_timeout);
        if let Some(since) = self.empty_since {
            let until = since + self.grace();
            ctx.wake(until.saturating_duration_since(ctx.now), timer);
        }
    }

    /// Whether somebody has joined the room.
    pub(in crate::room) fn was_joined(&self) -> bool {
        self.was_joined
    }

    /// Takes over what was known of a room that another controller served.
    pub(in crate::room) fn restore(&mut self, was_joined: bool) {
        self.was_joined = was_joined;
    }

    /// Notes whether anybody is here whom the room stays for.
    pub(in crate::room) fn review(&mut self, ctx: &mut Context<'_>, timer: Timer, is_deserted: bool) {
        match (is_deserted, self.empty_since) {
            (true, None) => {
                self.empty_since = Some(ctx.now);
                ctx.wake(self.grace(), timer);
            }
            (false, _) => {
                self.empty_since = None;
                self.was_joined = true;
            }
            (true, Some(_)) => {}
        }
    }

    /// Whether the room has been empty for as long as rooms may be.
    pub(in crate::room) fn is_over(&self, now: Instant) -> bool {
        self.empty_since.is_some_and(|since| since + self.grace() <= now)
    }

    /// How long the room stays while it is empty.
    fn grace(&self) -> Duration {
        match self.was_joined {
            true => self.departure_timeout,
            false => self.empty_timeout,
        }
    }
}
