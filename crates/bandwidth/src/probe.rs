//! Times and sizes of probes, bursts that find out whether the path has room for more.
//!
//! Delay only shows that too much is sent. Room is found only by using it, and an SFU rarely can:
//! its layers come in steps. So at the start, and later as long as more is wanted than the path is
//! known to carry, a short burst is sent at a multiple of the rate.
//!
//! At the start the result of a probe is believed, and the next one is sent as soon as it was
//! carried. Later a short probe is only a scout. Many links pass a few packets at once whatever
//! they carry for long, so believing it would lead to a larger layer that does not fit. The result
//! of a scout is tried in smaller steps, with probes that last long enough to be reliable.
//!
//! A sender far below the estimate does not notice either that a path becomes narrow. If more would
//! be sent as soon as that is decided, probes check that the estimate still holds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::cluster::Found;
use crate::limits::PROBES_MAX;
use crate::{Probe, ProbeId};

/// Multiples of the start rate to begin with.
const FIRST: [f64; 2] = [3.0, 6.0];
/// A further probe, and a periodic one, is this multiple of the rate,
const FURTHER: f64 = 2.0;
/// sent when the last one found at least this share of its own rate.
const CARRIED: f64 = 0.7;
/// A check is this multiple of what is believed, or of what is of use: no faster, and nobody could
/// tell that it was carried.
const CHECK: f64 = 1.15;
/// One that finds less than this share of it is repeated at once: two have to say it.
const DOUBT: f64 = 0.8;
/// One that left slower than it was to, since whoever sends it had no processor, is sent again so
/// many times in a row.
const LATE_MAX: u32 = 4;
/// A probe to be believed is this multiple of the rate,
const STEP: f64 = 1.5;
/// and lasts so long, unless that does harm. Shape: seconds.
const LONG: f64 = 0.3;
/// How long the answer to a probe is waited for.
const ANSWER: Duration = Duration::from_secs(1);
/// Between periodic probes: the first after anything changed, growing to the most while they find
/// nothing.
const PERIOD_MIN: Duration = Duration::from_secs(2);
const PERIOD_MAX: Duration = Duration::from_secs(5);
/// Between checks.
const PERIOD_CHECK: Duration = Duration::from_millis(1500);
/// How long the path must have been quiet.
const QUIET: Duration = Duration::from_secs(1);
/// A queue longer than this is not quiet.
const QUEUE: Duration = Duration::from_millis(50);
/// A rate that grew by this factor was worth a probe.
const WORTH: f64 = 1.1;
/// Wanting this little more than is known is not worth one.
const WANTED: f64 = 1.05;
/// How long a probe lasts: longer where packets arrive unevenly,
const SECONDS: std::ops::RangeInclusive<f64> = 0.015..=0.12;
const JITTERS: f64 = 6.0;
/// but not so long that the queue becomes longer than this if nothing more is carried than is
/// known;
const QUEUED_MAX: Duration = Duration::from_millis(80);
/// and the packets and bytes it has at least: a few frames pass many links at once, whatever these
/// carry for long.
const PACKETS: u32 = 5;
const BYTES_MIN: u32 = 6_000;

/// The state on which the decision is based.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    pub(crate) rate: f64,
    /// Nothing above this is of use.
    pub(crate) ceiling: f64,
    pub(crate) queue: Duration,
    pub(crate) jitter: Duration,
    pub(crate) last_over: Option<Instant>,
    /// So little is sent that a path which becomes narrow shows in probes alone, and more may be
    /// any time.
    pub(crate) blind: bool,
}

impl Situation {
    /// Whether no queue was seen yet: the path was never full.
    fn is_quiet(&self) -> bool {
        self.last_over.is_none() && self.queue < QUEUE
    }
}

/// Decides on probes.
#[derive(Debug)]
pub(crate) struct Prober {
    state: State,
    waiting: VecDeque<Probe>,
    period: Duration,
    /// Whether nothing was measured for certain yet.
    starting: bool,
    /// Whether the start ended only because no more was of use, and all that was sent was carried.
    satisfied: bool,
    ids: u32,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Nothing was sent yet.
    Start,
    /// A probe was sent, from this rate, so fast and for so long.
    Asked {
        at: Instant,
        purpose: Purpose,
        from: f64,
        rate: f64,
        seconds: f64,
        /// It is slower than it would be if more were of use.
        capped: bool,
        answer: Answer,
        /// How many before it left too slowly, one after the other.
        late: u32,
    },
    /// Until the next periodic one.
    Rest { until: Instant },
}

/// Whether anything came of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Not yet.
    None,
    /// Nor of the one before it, which it repeats: the next may wait.
    NoneTwice,
    /// It was measured.
    Came,
}

/// The purpose of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To know anything at all.
    Start,
    /// To see whether a longer one is worth it.
    Scout,
    /// To be believed.
    Proof,
    /// To see whether what is believed still holds.
    Check,
    /// To see whether what a check, or a scout, found is no chance.
    Recheck,
}

impl Prober {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Start,
            waiting: VecDeque::new(),
            period: PERIOD_MIN,
            starting: true,
            satisfied: false,
            ids: 0,
        }
    }

    /// Whether nothing was sent yet.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.state, State::Start)
    }

    /// A packet left. The first ones that are of use are probed with: while nothing is wanted yet,
    /// such as with sound alone, a probe would be wasted, and the next would come too late for the
    /// first picture.
    pub(crate) fn started(&mut self, now: Instant, situation: Situation) {
        if self.is_new() && situation.rate * WANTED < situation.ceiling {
            for factor in FIRST {
                self.ask(now, Purpose::Start, factor * situation.rate, situation);
            }
        }
    }

    /// Whether what this probe finds is what the path carries; if not, it may be a lot less.
    pub(crate) fn believes(&self, probe: ProbeId) -> bool {
        let is_believed = match self.state {
            State::Asked { purpose, .. } => matches!(purpose, Purpose::Start | Purpose::Proof),
            State::Start | State::Rest { .. } => true,
        };
        is_believed || probe.0 != self.ids
    }

    /// A probe was measured. Call after the situation took notice.
    pub(crate) fn answered(&mut self, now: Instant, probe: ProbeId, found: Found, situation: Situation) {
        let State::Asked {
            purpose,
            rate,
            seconds,
            from,
            capped,
            late,
            ..
        } = self.state
        else {
            return;
        };
        if purpose != Purpose::Start && probe.0 != self.ids {
            return;
        }
        if let State::Asked { answer, .. } = &mut self.state {
            *answer = Answer::Came;
        }
        // One that found hardly more than was known leads nowhere: the next would find the same,
        // and so on for ever.
        let worth = |found: f64| found > CARRIED * rate && found > WORTH * from;
        match (purpose, found) {
            (Purpose::Start, Found::Rate { rate: found, .. }) if worth(found) => {
                self.ask(now, Purpose::Start, FURTHER * found, situation);
            }
            (Purpose::Scout, Found::Rate { rate: found, .. }) if found > WORTH * from => {
                self.ask_long(now, STEP * situation.rate, situation);
            }
            (Purpose::Proof, Found::Rate { rate: found, .. }) if worth(found) => {
                self.ask_long(now, STEP * situation.rate, situation);
            }
            (Purpose::Scout | Purpose::Check, Found::Rate { rate: found, full, .. })
                if full && situation.blind && found < DOUBT * from.min(situation.ceiling) =>
            {
                self.ask(now, Purpose::Recheck, CHECK * from.min(situation.ceiling), situation);
            }
            (Purpose::Start, Found::Rate { rate: found, .. })
                if self.starting && capped && probe.0 == self.ids && found > CARRIED * rate =>
            {
                self.satisfied = true;
                self.go_on(now, situation);
            }
            // All of it was carried, and it was less than asked for: that says nothing of the path.
            (Purpose::Start, Found::Rate { rate: found, full, .. })
                if !full && found < CARRIED * rate && probe.0 == self.ids && late < LATE_MAX =>
            {
                self.ask_for(now, Purpose::Start, rate, seconds, situation);
                if let State::Asked { late: before, .. } = &mut self.state {
                    *before = late + 1;
                }
            }
            (Purpose::Start, found) if self.starting && probe.0 == self.ids => {
                if found.is_jitter(situation.jitter) && seconds < *SECONDS.end() {
                    // A slower one may last longer without doing harm.
                    let slower = (rate / 2.0).max(FURTHER * situation.rate);
                    self.ask_for(now, Purpose::Start, slower, 2.0 * seconds, situation);
                    self.starting = matches!(self.state, State::Asked { seconds: longer, .. } if longer > seconds);
                } else {
                    // Later on a path that is full looks alike.
                    self.starting = false;
                }
            }
            _ => {}
        }
    }

    /// Whether [`go_on`](Self::go_on) is to be called when something was learnt.
    pub(crate) fn is_satisfied(&self) -> bool {
        self.satisfied
    }

    /// Goes on with the start once more is of use than when it ended: what a stream takes is known
    /// soon after its first packets.
    pub(crate) fn go_on(&mut self, now: Instant, situation: Situation) {
        if self.satisfied && situation.is_quiet() && situation.rate * WANTED < situation.ceiling {
            self.satisfied = false;
            self.ask(now, Purpose::Start, FURTHER * situation.rate, situation);
        }
    }

    /// The rate fell by much: what was there may come back soon.
    pub(crate) fn fell(&mut self, now: Instant) {
        self.satisfied = false;
        self.period = PERIOD_MIN;
        self.state = State::Rest {
            until: now + PERIOD_MIN,
        };
    }

    /// Time passes.
    pub(crate) fn timeout(&mut self, now: Instant, situation: Situation) {
        match self.state {
            State::Start => {}
            State::Asked {
                at,
                purpose: purpose @ (Purpose::Start | Purpose::Scout | Purpose::Proof | Purpose::Check),
                rate,
                seconds,
                answer: Answer::None,
                ..
            } if now >= at + ANSWER && (purpose != Purpose::Start || situation.is_quiet() && rate > situation.rate) => {
                // It was lost, or what was said of it.
                self.ask_for(now, purpose, rate, seconds, situation);
                if let State::Asked { answer, .. } = &mut self.state {
                    *answer = Answer::NoneTwice;
                }
            }
            State::Asked {
                at,
                purpose: Purpose::Check | Purpose::Recheck,
                ..
            } if now >= at + ANSWER => {
                self.state = State::Rest {
                    until: at + PERIOD_CHECK,
                };
            }
            State::Asked { at, from, .. } if now >= at + ANSWER => {
                let worth = situation.rate > WORTH * from;
                let full = situation.last_over.is_some_and(|over| over + PERIOD_MAX > at);
                self.period = if worth || !full {
                    PERIOD_MIN
                } else {
                    (self.period * 3 / 2).min(PERIOD_MAX)
                };
                self.state = State::Rest {
                    until: at + self.period,
                };
            }
            State::Rest { until } if now >= until => self.periodic(now, situation),
            State::Asked { .. } | State::Rest { .. } => {}
        }
    }

    fn periodic(&mut self, now: Instant, situation: Situation) {
        self.satisfied = false;
        let quiet_at = situation.last_over.map_or(now, |over| over + QUIET);
        if situation.queue > QUEUE || now < quiet_at {
            self.state = State::Rest {
                until: quiet_at.max(now + QUIET / 4),
            };
        } else if situation.rate * WANTED < situation.ceiling {
            self.ask(now, Purpose::Scout, FURTHER * situation.rate, situation);
        } else if situation.blind {
            self.ask(now, Purpose::Check, CHECK * situation.ceiling, situation);
        } else {
            self.state = State::Rest {
                until: now + self.period,
            };
        }
    }

    fn ask(&mut self, now: Instant, purpose: Purpose, rate: f64, situation: Situation) {
        let seconds = JITTERS * situation.jitter.as_secs_f64();
        let seconds = seconds.clamp(*SECONDS.start(), *SECONDS.end());
        self.ask_for(now, purpose, rate, seconds, situation);
    }

    fn ask_long(&mut self, now: Instant, rate: f64, situation: Situation) {
        self.ask_for(now, Purpose::Proof, rate, LONG, situation);
    }

    fn ask_for(&mut self, now: Instant, purpose: Purpose, rate: f64, seconds: f64, situation: Situation) {
        let checks = matches!(purpose, Purpose::Check | Purpose::Recheck);
        let capped = rate > situation.ceiling && !checks;
        let rate = if capped { situation.ceiling } else { rate };
        self.satisfied = purpose == Purpose::Start && self.starting && capped && rate <= situation.rate;
        if !checks && rate <= situation.rate || self.waiting.len() >= PROBES_MAX {
            self.state = State::Rest {
                until: now + self.period,
            };
            return;
        }
        // A rate that the path carries makes no queue, and a check mostly is carried.
        let more = (rate / situation.rate - 1.0).max(CHECK - 1.0);
        let harmless = QUEUED_MAX.saturating_sub(situation.queue).as_secs_f64() / more;
        let seconds = seconds.min(harmless).max(*SECONDS.start());
        self.ids += 1;
        self.waiting.push_back(Probe {
            id: ProbeId(self.ids),
            rate: rate as u64,
            bytes: ((rate * seconds / 8.0) as u32).max(BYTES_MIN),
            packets: PACKETS,
        });
        self.state = State::Asked {
            at: now,
            purpose,
            from: situation.rate,
            rate,
            seconds,
            capped,
            answer: Answer::None,
            late: 0,
        };
    }

    pub(crate) fn poll(&mut self) -> Option<Probe> {
        self.waiting.pop_front()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Start => None,
            State::Asked { at, .. } => Some(at + ANSWER),
            State::Rest { until } => Some(until),
        }
    }
}

#[cfg(test)]
mod tests;
