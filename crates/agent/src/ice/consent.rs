//! Consent on a pair in use, by checks of ours (RFC 7675).
//!
//! A check of the peer does not say that its address still wants what is sent there: the peer may
//! have left the address and forge it. So a pair in use is checked now and then. A peer that has
//! answered such a check has to go on answering, and so has one that receives tracks. One that only
//! sends and never answers, as FFmpeg after its handshake, is believed by its own checks.

use std::time::{Duration, Instant};

use southbound::IceCredentials;

use super::message::{self, CheckId};

/// The time between two checks of ours on a pair in use.
const EVERY: Duration = Duration::from_secs(5);

/// The answers on one pair.
#[derive(Debug)]
pub(super) struct Consent {
    /// The check that was sent last.
    id: CheckId,
    due: Instant,
    /// When the pair was proved.
    since: Instant,
    /// When the peer answered last, if it has since the pair is proved.
    answered: Option<Instant>,
}

impl Consent {
    /// That of a pair which was just proved.
    pub(super) fn new(now: Instant) -> Self {
        Consent {
            id: message::new_id(),
            due: now + EVERY,
            since: now,
            answered: None,
        }
    }

    pub(super) fn id(&self) -> CheckId {
        self.id
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Our check, if it is due.
    pub(super) fn take_check(&mut self, now: Instant, local: &str, remote: &IceCredentials) -> Option<Vec<u8>> {
        if self.due > now {
            return None;
        }
        self.due = now + EVERY;
        self.id = message::new_id();
        Some(message::request(local, remote, &self.id))
    }

    /// The peer answered.
    pub(super) fn answered(&mut self, now: Instant) {
        self.answered = Some(now);
    }

    /// When it ends, unless the peer answers, which may receive tracks since `receives`.
    pub(super) fn ends(&self, age_max: Duration, receives: Option<Instant>) -> Option<Instant> {
        let expected = receives.map(|at| at.max(self.since));
        self.answered.or(expected).map(|at| at + age_max)
    }
}
