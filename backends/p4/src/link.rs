//! The connection to the switch, and the lease under which the switch numbers packets.
//!
//! A switch that nobody can reach goes on by its tables. Nobody could then tell which numbers it
//! uses, and the base cannot continue a replica beside it. So the program sends copies of rooms
//! only until the end of a lease, which is renewed as long as the switch answers. When the newest
//! lease has certainly ended, the base continues.

use std::time::{Duration, Instant};

/// How long the switch may send copies after it has received a lease.
pub(crate) const LEASE: Duration = Duration::from_secs(1);

/// The interval at which leases are renewed.
pub(crate) const RENEW: Duration = Duration::from_millis(200);

/// A lease is not on its way to the switch for longer than this: it is sent only while the switch
/// answers, and the connection is closed when it does not.
const ON_ITS_WAY: Duration = Duration::from_millis(500);

/// No lease is sent if the switch has answered nothing for so long.
const ANSWERS: Duration = Duration::from_millis(600);

/// Why the switch is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Away {
    /// No connection has been tried yet.
    Begin,
    /// It does not answer.
    Unreachable,
    /// Another controller has the mastership.
    NotPrimary,
}

/// The state of the connection.
#[derive(Debug)]
pub(crate) struct Link {
    away: Option<(Away, Instant)>,
    /// When the newest lease was sent, while one may hold.
    lease: Option<Instant>,
    answered: Instant,
}

impl Link {
    pub(crate) fn new(now: Instant) -> Self {
        Link {
            away: Some((Away::Begin, now)),
            lease: None,
            answered: now,
        }
    }

    /// The switch is there, and this controller may write.
    pub(crate) fn up(&mut self, now: Instant) {
        self.away = None;
        self.answered = now;
    }

    /// It no longer is, for this reason.
    pub(crate) fn down(&mut self, now: Instant, why: Away) {
        let since = self.away.map_or(now, |(_, since)| since);
        self.away = Some((why, since));
    }

    /// Why the switch is not there, and since when.
    pub(crate) fn away(&self) -> Option<(Away, Instant)> {
        self.away
    }

    /// The switch has answered something.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.answered = now;
    }

    /// Whether a lease is to be sent, if the switch is `clean`: it has no entry from an earlier
    /// lease.
    pub(crate) fn renews(&mut self, now: Instant, clean: bool) -> bool {
        let is_silent = now.saturating_duration_since(self.answered) >= ANSWERS;
        let is_due = match self.lease {
            Some(sent) => now.saturating_duration_since(sent) >= RENEW,
            None => clean,
        };
        let renews = self.away.is_none() && !is_silent && is_due;
        if renews {
            self.lease = Some(now);
        }
        renews
    }

    /// Whether the switch has a lease, as far as is known.
    pub(crate) fn is_leased(&self) -> bool {
        self.lease.is_some() && self.away.is_none()
    }

    /// Whether the lease has certainly ended; true once.
    pub(crate) fn ends(&mut self, now: Instant) -> bool {
        let is_over = |sent: &Instant| now.saturating_duration_since(*sent) >= LEASE + ON_ITS_WAY;
        self.lease.take_if(|sent| is_over(sent)).is_some()
    }

    /// The switch has lost everything, its lease as well.
    pub(crate) fn forget_lease(&mut self) {
        self.lease = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_renewed_while_the_switch_answers() {
        let start = Instant::now();
        let mut link = Link::new(start);
        assert!(!link.renews(start, true), "it is not there yet");
        link.up(start);
        assert!(
            !link.renews(start, false),
            "entries of an earlier lease would send again"
        );
        assert!(link.renews(start, true));
        assert!(!link.renews(start + RENEW / 2, true));
        assert!(
            link.renews(start + RENEW, false),
            "entries that are deleted now have a valid lease"
        );
        let later = start + ANSWERS + RENEW;
        assert!(!link.renews(later, true), "it answers nothing");
        link.answered(later);
        assert!(link.renews(later, true));
    }

    #[test]
    fn a_lease_that_may_be_on_its_way_is_not_over() {
        let start = Instant::now();
        let mut link = Link::new(start);
        link.up(start);
        link.renews(start, true);
        link.down(start + RENEW, Away::Unreachable);
        assert!(!link.is_leased());
        assert!(!link.ends(start + LEASE));
        assert!(link.ends(start + LEASE + ON_ITS_WAY));
        assert!(!link.ends(start + 2 * LEASE + ON_ITS_WAY), "it ends once");
    }
}
