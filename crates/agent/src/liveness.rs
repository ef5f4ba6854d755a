//! Whether a transport's peer is there.
//!
//! A peer proves it with every valid connectivity check: the last one is consent to be sent to (RFC
//! 7675). The peer of a direct transport proves it with every authenticated packet.

use std::time::{Duration, Instant};

use southbound::CloseReason;

use crate::config::Config;

/// The presence of one peer.
#[derive(Debug)]
pub(crate) struct Liveness {
    link: Link,
    /// When the transport was opened, or ICE was last restarted.
    opened: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// It never was there.
    Waiting,
    /// It is.
    Connected,
    /// It was.
    Disconnected,
}

impl Liveness {
    pub(crate) fn new(opened: Instant) -> Self {
        Liveness {
            link: Link::Waiting,
            opened,
        }
    }

    /// ICE restarts: the peer gets time to reconnect.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.opened = now;
    }

    /// Whether the peer was ever there.
    pub(crate) fn has_connected(&self) -> bool {
        self.link != Link::Waiting
    }

    /// The peer is there. Returns whether that is news.
    pub(crate) fn connected(&mut self) -> bool {
        std::mem::replace(&mut self.link, Link::Connected) != Link::Connected
    }

    /// Time of the next effect of [`check`](Self::check), if there is no valid check after `last`
    /// until then.
    pub(crate) fn next(&self, last: Option<Instant>, config: &Config) -> Instant {
        let (since, limit) = self.time_limit(last, config);
        since + limit
    }

    /// Judges the silence since the `last` check. Returns whether the peer is newly gone, or why
    /// the transport is to be closed.
    pub(crate) fn check(&mut self, now: Instant, last: Option<Instant>, config: &Config) -> Result<bool, CloseReason> {
        let (since, limit) = self.time_limit(last, config);
        if now.saturating_duration_since(since) < limit {
            return Ok(false);
        }
        match self.link {
            Link::Waiting => Err(CloseReason::NeverConnected),
            Link::Disconnected => Err(CloseReason::ConsentExpired),
            Link::Connected => {
                self.link = Link::Disconnected;
                Ok(true)
            }
        }
    }

    /// How long silence is borne, and since when.
    fn time_limit(&self, last: Option<Instant>, config: &Config) -> (Instant, Duration) {
        let last = last.unwrap_or(self.opened);
        match self.link {
            Link::Waiting => (self.opened, config.connect_timeout),
            Link::Connected => (last, config.disconnect_timeout),
            Link::Disconnected => (last.max(self.opened), config.consent_timeout),
        }
    }
}
