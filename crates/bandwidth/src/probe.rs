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

use crate::cluster::ProbeResult;
use crate::limits::PROBES_MAX;
use crate::{Probe, ProbeId};

/// Multiples of the start rate to begin with.
const FIRST: [f64; 2] = [3.0, 6.0];
/// A further probe, and a periodic one, is this multiple of the rate.
const FURTHER: f64 = 2.0;
/// A further probe is sent when the last one found at least this share of its own rate.
const CARRIED: f64 = 0.7;
/// A check has this multiple of the estimate, or of the useful rate: at a lower one nobody could
/// tell that it was carried.
const CHECK: f64 = 1.15;
/// A check that finds less than this share of it is repeated at once, because two have to agree.
const DOUBT: f64 = 0.8;
/// A probe that was sent too slowly, because its sender had no processor, is repeated up to this
/// many times in a row.
const LATE_MAX: u32 = 4;
/// A reliable probe is this multiple of the rate.
const STEP: f64 = 1.5;
/// A reliable probe lasts this long, unless that does harm. Shape: seconds.
const LONG: f64 = 0.3;
/// How long the answer to a probe is waited for.
const ANSWER: Duration = Duration::from_secs(1);
/// Interval of periodic probes: the first after a change, growing to the second while they find
/// nothing.
const PERIOD_MIN: Duration = Duration::from_secs(2);
const PERIOD_MAX: Duration = Duration::from_secs(5);
/// Interval of checks.
const PERIOD_CHECK: Duration = Duration::from_millis(1500);
/// How long the path must have been quiet.
const QUIET: Duration = Duration::from_secs(1);
/// A queue longer than this is not quiet.
const QUEUE: Duration = Duration::from_millis(50);
/// A rate that grew by this factor was worth a probe.
const WORTH: f64 = 1.1;
/// A probe is not sent unless the wanted rate is this multiple of the known one.
const WANTED: f64 = 1.05;
/// Length of a probe: [`JITTERS`] times the jitter, within these bounds. Shape: seconds.
const SECONDS: std::ops::RangeInclusive<f64> = 0.015..=0.12;
const JITTERS: f64 = 6.0;
/// A probe ends before the queue exceeds this on a path that carries no more than is known.
const QUEUED_MAX: Duration = Duration::from_millis(80);
/// The least packets and bytes of a probe: many links pass a few frames at once whatever they carry
/// for long.
const PACKETS: u32 = 5;
const BYTES_MIN: u32 = 6_000;

/// The state on which the decision is based.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    pub(crate) rate: f64,
    /// The highest useful rate.
    pub(crate) ceiling: f64,
    pub(crate) queue: Duration,
    pub(crate) jitter: Duration,
    pub(crate) last_over: Option<Instant>,
    /// Whether so little is sent that only probes show a path that becomes narrow, while more may
    /// be sent at any time.
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
    /// Whether there was no reliable measurement yet.
    starting: bool,
    /// Whether the start ended only because no more was of use, and all that was sent was carried.
    satisfied: bool,
    ids: u32,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// No packet was sent yet.
    Start,
    /// A probe was sent, from this rate, at this rate and for this time.
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

/// The state of a probe's answer.
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
    /// To get a first measurement.
    Start,
    /// To see whether a longer one is worth it.
    Scout,
    /// To measure reliably.
    Proof,
    /// To check that the estimate still holds.
    Check,
    /// To confirm the result of a check, or of a scout.
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

    /// Whether no packet was sent yet.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.state, State::Start)
    }

    /// A packet was sent. The first probes are sent with the first useful packets. While nothing
    /// more is wanted, as with audio alone, a probe would be wasted, and the next would be too late
    /// for the first video.
    pub(crate) fn started(&mut self, now: Instant, situation: Situation) {
        if self.is_new() && situation.rate * WANTED < situation.ceiling {
            for factor in FIRST {
                self.ask(now, Purpose::Start, factor * situation.rate, situation);
            }
        }
    }

    /// Whether the result of this probe is the capacity; otherwise the capacity may be a lot less.
    pub(crate) fn believes(&self, probe: ProbeId) -> bool {
        let is_believed = match self.state {
            State::Asked { purpose, .. } => matches!(purpose, Purpose::Start | Purpose::Proof),
            State::Start | State::Rest { .. } => true,
        };
        is_believed || probe.0 != self.ids
    }

    /// A probe was measured. Call after the situation took notice.
    pub(crate) fn answered(&mut self, now: Instant, probe: ProbeId, found: ProbeResult, situation: Situation) {
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
        // A result hardly above the known rate ends the series: the next probe would find the same,
        // and so on.
        let worth = |found: f64| found > CARRIED * rate && found > WORTH * from;
        match (purpose, found) {
            (Purpose::Start, ProbeResult::Rate { rate: found, .. }) if worth(found) => {
                self.ask(now, Purpose::Start, FURTHER * found, situation);
            }
            (Purpose::Scout, ProbeResult::Rate { rate: found, .. }) if found > WORTH * from => {
                self.ask_long(now, STEP * situation.rate, situation);
            }
            (Purpose::Proof, ProbeResult::Rate { rate: found, .. }) if worth(found) => {
                self.ask_long(now, STEP * situation.rate, situation);
            }
            (Purpose::Scout | Purpose::Check, ProbeResult::Rate { rate: found, full, .. })
                if full && situation.blind && found < DOUBT * from.min(situation.ceiling) =>
            {
                self.ask(now, Purpose::Recheck, CHECK * from.min(situation.ceiling), situation);
            }
            (Purpose::Start, ProbeResult::Rate { rate: found, .. })
                if self.starting && capped && probe.0 == self.ids && found > CARRIED * rate =>
            {
                self.satisfied = true;
                self.go_on(now, situation);
            }
            // The probe was carried, but was sent at less than the requested rate, which does not
            // show the path's limit.
            (Purpose::Start, ProbeResult::Rate { rate: found, full, .. })
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

    /// Continues the start once a higher rate is useful than when it ended: the rate of a stream is
    /// known soon after its first packets.
    pub(crate) fn go_on(&mut self, now: Instant, situation: Situation) {
        if self.satisfied && situation.is_quiet() && situation.rate * WANTED < situation.ceiling {
            self.satisfied = false;
            self.ask(now, Purpose::Start, FURTHER * situation.rate, situation);
        }
    }

    /// The rate fell by much, and may return soon.
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
                // The probe or its report was lost.
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
