//! When calls end by themselves, and when they are to be looked at again.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::{Call, Context, Dialogue};
use crate::config::Config;
use crate::counters::Counter;
use crate::limits::NODE_WAIT;
use crate::ports::PortPool;

/// Why a call ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was deleted, and the time is over for which it was kept.
    Deleted,
    /// It ran out of time in this way.
    TimedOut(Counter),
    /// It seems to be silent, and continues if one of these ports has had a packet recently.
    Unless(BTreeSet<SocketAddr>),
}

/// Checks that a call that seems silent is. Ports are asked only when the call would end, which
/// costs next to nothing for any number of calls.
#[derive(Debug, Default)]
pub(crate) struct Check(Option<PendingCheck>);

#[derive(Debug)]
struct PendingCheck {
    /// The time of the last packet known then.
    since: Instant,
    until: Instant,
    missing: BTreeSet<SocketAddr>,
}

impl Check {
    /// A port reported the time of its last packet.
    pub(crate) fn heard(&mut self, at: SocketAddr) {
        if let Some(asked) = &mut self.0 {
            asked.missing.remove(&at);
        }
    }

    /// Until when something is waited for, if it is.
    fn pending(&self) -> Option<Instant> {
        self.0
            .as_ref()
            .filter(|asked| !asked.missing.is_empty())
            .map(|asked| asked.until)
    }
}

impl Call {
    /// When something happens by itself next.
    pub(crate) fn next_deadline(&self, config: &Config) -> Option<Instant> {
        let kept = self.dialogues.iter().filter_map(|dialogue| dialogue.kept_until);
        let learning = self.alive().flat_map(|dialogue| dialogue.sides());
        let learning = learning
            .flat_map(|side| &side.sources)
            .filter_map(|source| source.deadline());
        let idle = self.alive().next().map(|_| {
            let idle = self.last_activity() + self.idle_limit(config).0;
            self.check.pending().map_or(idle, |until| until.max(idle))
        });
        kept.chain(learning).chain(idle).min()
    }

    /// Handles timeouts up to now: says whether the call is over.
    pub(crate) fn handle_timeout(&mut self, context: &mut Context<'_>) -> Option<Ending> {
        let now = context.now;
        let sides = self.dialogues.iter_mut().flat_map(|dialogue| dialogue.sides_mut());
        sides.for_each(|side| side.settle(now));
        self.forget(context.ports, |dialogue| {
            dialogue.kept_until.is_some_and(|until| until <= now)
        });
        if self.dialogues.is_empty() {
            return Some(Ending::Deleted);
        }
        let (idle_limit, counter) = self.idle_limit(context.config);
        let idle = self.alive().next().is_some() && self.last_activity() + idle_limit <= now;
        if idle { self.silent(now, counter) } else { None }
    }

    /// No packet is known for too long.
    fn silent(&mut self, now: Instant, counter: Counter) -> Option<Ending> {
        let since = self.last_activity();
        // The answers about an earlier silence do not apply to this one.
        let asked = self.check.0.as_ref().filter(|asked| asked.since == since);
        match asked {
            Some(asked) if asked.missing.is_empty() || asked.until <= now => Some(Ending::TimedOut(counter)),
            Some(_) => None,
            None if self.installed.is_empty() => Some(Ending::TimedOut(counter)),
            None => {
                let missing: BTreeSet<SocketAddr> = self.installed.keys().copied().collect();
                self.check = Check(Some(PendingCheck {
                    since,
                    until: now + NODE_WAIT,
                    missing: missing.clone(),
                }));
                Some(Ending::Unless(missing))
            }
        }
    }

    /// Gives back the pair that an address is of: it cannot be had.
    pub(crate) fn release_at(&mut self, at: SocketAddr, ports: &mut PortPool) {
        self.dialogues.iter_mut().for_each(Dialogue::forget_offer);
        for side in self.dialogues.iter_mut().flat_map(|dialogue| dialogue.sides_mut()) {
            if side.component_at(at).is_some() {
                side.local.take().into_iter().for_each(|pair| ports.give_back(pair));
            }
        }
    }

    /// Removes the dialogues that `which` selects, and gives their ports back.
    pub(crate) fn forget(&mut self, ports: &mut PortPool, which: impl Fn(&Dialogue) -> bool) {
        for dialogue in self.dialogues.iter_mut().filter(|dialogue| which(dialogue)) {
            dialogue.commit(ports);
            dialogue.media.iter_mut().for_each(|media| media.release(ports));
        }
        self.dialogues.retain(|dialogue| !which(dialogue));
    }

    /// The time of the last packet or request.
    pub(crate) fn last_activity(&self) -> Instant {
        let sides = self.alive().flat_map(|dialogue| dialogue.sides());
        let packets = sides.flat_map(|side| side.last_packets).flatten();
        packets.chain(self.resumed).fold(self.last_signal, Instant::max)
    }

    /// The longest time without a packet, and the counter of that timeout.
    pub(crate) fn idle_limit(&self, config: &Config) -> (Duration, Counter) {
        let mut answered = self.alive().filter(|dialogue| dialogue.answered).peekable();
        if answered.peek().is_none() {
            return (config.offer_timeout, Counter::CallsOfferTimeout);
        }
        if answered.any(|dialogue| dialogue.relayed().iter().any(|media| media.flows())) {
            return (config.media_timeout, Counter::CallsMediaTimeout);
        }
        (config.silent_timeout, Counter::CallsSilentTimeout)
    }

    /// Whether it waits for its first answer, and no packet has come either.
    pub(crate) fn is_unanswered(&self) -> bool {
        let silent = |dialogue: &Dialogue| dialogue.sides().all(|side| side.last_packets == [None; 2]);
        let waits = |dialogue: &Dialogue| !dialogue.is_over() && !dialogue.answered && silent(dialogue);
        self.resumed.is_none() && self.dialogues.iter().all(waits)
    }

    fn alive(&self) -> impl Iterator<Item = &Dialogue> {
        self.dialogues.iter().filter(|dialogue| !dialogue.is_over())
    }
}
