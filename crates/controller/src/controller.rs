//! The state machine itself: it finds whose business an input is and passes it on.

use std::time::Instant;

use crate::livekit::{Admission, Refusal};
use crate::{Config, Input, Output, WallClock};

/// Rooms and everybody in them.
pub struct Controller {
    config: Config,
}

impl Controller {
    /// `seed` is all the randomness there will be: production takes it from the operating system, a test from its name.
    pub fn new(config: Config, clock: WallClock, seed: [u8; 32]) -> Self {
        let _ = (clock, seed);
        Self { config }
    }

    /// Whether an admitted participant could join as the rooms are now. To be asked before the WebSocket is upgraded, and for the
    /// validating routes, which exist because browsers do not show a page the answer to a refused upgrade.
    ///
    /// Errors: 404 when the room does not exist and is not created by joining, 503 when it is full.
    pub fn vet(&self, admission: &Admission) -> Result<(), Refusal> {
        let _ = (&self.config, admission);
        Ok(())
    }

    /// Takes one input; what there is to do about it is appended to `out`.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Output>) {
        let _ = (now, input, out);
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; `None` when nothing is under way.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does what has become due.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Output>) {
        let _ = (now, out);
    }
}
