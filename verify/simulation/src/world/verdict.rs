//! When all is quiet, and when all is over.

use std::time::Duration;

use super::{FORGOTTEN_AFTER, ScheduledEvent, World};
use crate::session::Phase;
use crate::{Invariant, Violation};

/// Greatest age of the newest packet of a flowing source.
const SILENCE_MAX: Duration = Duration::from_millis(1_200);
/// How long a client waits for the first message.
const ANSWER_MAX: Duration = Duration::from_secs(5);

impl World<'_> {
    /// Everybody must get their subscriptions; then everybody leaves.
    pub(super) fn judge(&mut self) -> Result<(), Violation> {
        self.note(|| "everybody must get their tracks".to_owned());
        let present: Vec<usize> = self
            .current
            .iter()
            .flatten()
            .copied()
            .filter(|session| !self.sessions[*session].is_over())
            .collect();
        for session in &present {
            self.judge_presence(*session)?;
        }
        for receiver in &present {
            for publisher in present.iter().filter(|publisher| *publisher != receiver) {
                self.judge_pair(*receiver, *publisher)?;
            }
        }
        for session in present {
            self.say_goodbye(session)?;
        }
        self.queue.put(self.now + FORGOTTEN_AFTER, ScheduledEvent::End);
        Ok(())
    }

    fn judge_presence(&self, session: usize) -> Result<(), Violation> {
        let client = &self.sessions[session];
        let waiting = client.phase == Phase::Joining && self.now - client.asked_at > ANSWER_MAX;
        let forgotten = client.phase == Phase::In && !self.permissions.is_present(session);
        match () {
            () if waiting => Err(Violation::new(
                Invariant::Liveness,
                format!("client {session} waits to be let in"),
            )),
            () if client.phase == Phase::Resuming => Err(Violation::new(
                Invariant::Liveness,
                format!("client {session} cannot resume"),
            )),
            () if forgotten => Err(Violation::new(
                Invariant::Liveness,
                format!("client {session} was not told that it is out"),
            )),
            () => Ok(()),
        }
    }

    fn judge_pair(&mut self, receiver: usize, publisher: usize) -> Result<(), Violation> {
        let (to, from) = (&self.sessions[receiver], &self.sessions[publisher]);
        for source in from
            .sources
            .iter()
            .filter(|source| !source.muted && source.sid.is_some())
        {
            let sids = self.permissions.sids_of(source.id);
            let unwanted = sids.iter().any(|sid| to.unwanted.contains(sid));
            if unwanted || !self.permissions.is_owed(receiver, source.id) {
                continue;
            }
            let newest = to.received.get(&source.id);
            if newest.is_none_or(|newest| self.now - *newest > SILENCE_MAX) {
                let since = newest.map(|newest| (*newest - self.start).as_secs_f64());
                let what = format!(
                    "client {receiver} does not get {:?}, source {} of client {publisher}; the last packet came at {since:?} s",
                    source.device, source.id
                );
                return Err(Violation::new(Invariant::Liveness, what));
            }
            self.summary.flows += 1;
        }
        Ok(())
    }

    /// No state may be left.
    pub(super) fn end(&mut self) -> Result<(), Violation> {
        self.over = true;
        let left = self.node.table_sizes();
        let why = match () {
            () if left != (0, 0, 0) => format!("legs, streams and replicas are left: {left:?}"),
            () if !self.node.is_idle() => "the agent still has state".to_owned(),
            () if self.rooms != 0 => format!("{} rooms are left", self.rooms),
            () => return Ok(()),
        };
        Err(Violation::new(Invariant::Tables, why))
    }
}
