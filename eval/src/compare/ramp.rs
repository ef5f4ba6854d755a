//! On the way up: more and more clients, until a server no longer serves them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bench::{Bench, Job, Outcome};
use super::experiment::{Limit, Unit};
use super::figures::{Doubt, strangers};
use crate::clock;
use crate::report::Report;

/// The search ends when the failing load exceeds the holding one by less than this factor.
const CLOSE_ENOUGH: f64 = 1.1;
/// A failed step is tried again: one hiccup of the machine is no limit of a server.
const ATTEMPTS: usize = 2;
/// A step that exceeds the holding load by this factor is not repeated: steps in between follow.
const FAR: f64 = 1.3;
/// No step is begun in a turn that has lasted this long.
const TURN: Duration = Duration::from_secs(90);

/// A search for one server's limit; its state is kept from turn to turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ramp {
    /// The bench that it runs on.
    pub bench: Bench,
    /// The server.
    pub job: Job,
    /// The generator's arguments, without the scenario.
    pub load: Vec<String>,
    /// The unit that it grows by.
    pub by: Unit,
    /// The limit that must hold.
    pub limit: Limit,
    /// How far it is.
    pub progress: Progress,
}

/// The state of a search: doubling until a step fails, then halving the ratio between the failing
/// and the holding load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    first: u32,
    most: u32,
    /// The most that was served.
    pub holds: u32,
    /// The least that was not.
    fails: Option<u32>,
    /// Whether it was the server that failed there.
    limited_by_server: bool,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Everything held.
    Holds,
    /// The server no longer served.
    Fails(String),
    /// The generator no longer kept up: the limit of the server is not known.
    Unknown(String),
}

impl Progress {
    /// At the foot.
    pub fn new(first: u32, most: u32) -> Self {
        Self {
            first: first.min(most),
            most,
            holds: 0,
            fails: None,
            limited_by_server: false,
        }
    }

    /// How many to try next; `None` at the end.
    pub fn next(&self) -> Option<u32> {
        let (least, holds) = (f64::from(self.holds.max(1)), self.holds);
        match self.fails {
            None if holds == 0 => Some(self.first),
            None => Some((holds * 2).min(self.most)).filter(|&next| next > holds),
            Some(fails) if f64::from(fails) <= least * CLOSE_ENOUGH => None,
            Some(fails) => {
                let between = (f64::from(fails) * least).sqrt().round() as u32;
                Some(between).filter(|&next| next > holds && next < fails)
            }
        }
    }

    /// How often a step that does not hold is made.
    fn attempts(&self, count: u32) -> usize {
        let far = self.holds > 0 && f64::from(count) >= f64::from(self.holds) * FAR;
        if far { 1 } else { ATTEMPTS }
    }

    /// Records the result of a step.
    pub fn note(&mut self, receivers: u32, verdict: &Verdict) {
        if *verdict == Verdict::Holds {
            self.holds = receivers;
        } else {
            self.fails = Some(receivers);
            self.limited_by_server = matches!(verdict, Verdict::Fails(_));
        }
    }

    /// Whether the holding load is the server's limit, and not the generator's.
    pub fn is_the_servers_limit(&self) -> bool {
        self.limited_by_server
    }
}

impl Ramp {
    /// Continues to the end, or for a turn: the load of each step, and its outcome.
    pub fn perform(&self) -> Vec<(u32, Outcome)> {
        let (began, mut progress, mut outcomes) = (clock::now(), self.progress, Vec::new());
        while let Some(count) = progress.next().filter(|_| began.elapsed() < TURN) {
            let attempts = progress.attempts(count);
            for attempt in 1..=attempts {
                let load = [self.load.clone(), vec![self.by.scenario(count)]].concat();
                let outcome = self.bench.measure(&self.job, &load);
                let verdict = judge(self.limit, &outcome);
                outcomes.push((count, outcome));
                if verdict == Verdict::Holds || attempt == attempts {
                    progress.note(count, &verdict);
                    break;
                }
            }
        }
        outcomes
    }

    /// Applies the results of a turn. Only the last attempt at a step counts.
    pub fn take(&mut self, outcomes: &[(u32, Outcome)]) {
        for steps in outcomes.chunk_by(|a, b| a.0 == b.0) {
            if let Some((count, outcome)) = steps.last() {
                self.progress.note(*count, &judge(self.limit, outcome));
            }
        }
    }
}

/// Whether a step held.
pub(crate) fn judge(limit: Limit, outcome: &Outcome) -> Verdict {
    let report: &Report = match outcome {
        Ok(report) => report,
        Err(why) => return Verdict::Fails(why.clone()),
    };
    let weak = |doubt: &Doubt| matches!(doubt, Doubt::Deaf(_) | Doubt::Late(_));
    if let Some(doubt) = strangers(report).into_iter().find(weak) {
        Verdict::Unknown(format!("the generator: {doubt}"))
    } else if let Some(why) = broken(limit, report) {
        Verdict::Fails(why)
    } else {
        Verdict::Holds
    }
}

/// How a report breaks the limit, if it does.
fn broken(limit: Limit, report: &Report) -> Option<String> {
    let slow = |us: f64, most: f64| (us > most).then(|| format!("{:.1} ms", us / 1e3));
    let lost = (report.lost > 0).then(|| format!("{} lost", report.lost));
    match limit {
        Limit::Latency(most) => lost.or_else(|| slow(report.latency.p99, most)),
        Limit::ToLast(most) => lost.or_else(|| slow(report.to_last.p99, most)),
        Limit::FirstRoom(frames, jitter_ms) => {
            let seen = report.first_room.unwrap_or_default();
            let holds = seen.frames_per_second >= frames && seen.jitter_ms <= jitter_ms;
            (!holds).then(|| {
                format!(
                    "{:.1} frames/s, jitter {:.1} ms",
                    seen.frames_per_second, seen.jitter_ms
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Latency, Quality};

    const RECEIVERS_MAX: u32 = 3_900;

    fn climb(first: u32, most: u32, verdict: impl Fn(u32) -> Verdict) -> (Progress, usize) {
        let (mut progress, mut steps) = (Progress::new(first, most), 0);
        while let Some(receivers) = progress.next() {
            progress.note(receivers, &verdict(receivers));
            steps += 1;
            assert!(steps < 30, "{progress:?}");
        }
        (progress, steps)
    }

    fn up_to(limit: u32) -> impl Fn(u32) -> Verdict {
        move |receivers| {
            if receivers <= limit {
                Verdict::Holds
            } else {
                Verdict::Fails(String::new())
            }
        }
    }

    #[test]
    fn a_limit_is_found_to_within_a_tenth() {
        for limit in [3, 26, 100, 333, 2000] {
            let (top, steps) = climb(25, RECEIVERS_MAX, up_to(limit));
            let (served, limit) = (f64::from(top.holds), f64::from(limit));
            assert!(
                served <= limit && served * CLOSE_ENOUGH >= limit - 1.0,
                "{top:?} for {limit}"
            );
            assert!(top.is_the_servers_limit() && steps < 14, "{steps}");
        }
    }

    #[test]
    fn a_search_ends_at_the_limit_or_at_the_end_of_the_generator() {
        let (all, _) = climb(100, RECEIVERS_MAX, up_to(u32::MAX));
        assert_eq!((all.holds, all.is_the_servers_limit()), (RECEIVERS_MAX, false));
        let (weak, _) = climb(100, RECEIVERS_MAX, |receivers| match up_to(500)(receivers) {
            Verdict::Holds => Verdict::Holds,
            _ => Verdict::Unknown(String::new()),
        });
        assert!(weak.holds > 450 && !weak.is_the_servers_limit(), "{weak:?}");
        assert_eq!(climb(25, RECEIVERS_MAX, up_to(0)).0.holds, 0);
    }

    #[test]
    fn a_step_with_lost_or_late_packets_fails() {
        let report = |lost, p99| Report {
            lost,
            packets_sent: 100,
            latency: Latency {
                p99,
                ..Latency::default()
            },
            ..Report::default()
        };
        let verdict = |report: Report| judge(Limit::Latency(5_000.0), &Ok(report));
        assert_eq!(verdict(report(0, 4_000.0)), Verdict::Holds);
        assert_eq!(verdict(report(1, 4_000.0)), Verdict::Fails("1 lost".into()));
        assert_eq!(verdict(report(0, 6_000.0)), Verdict::Fails("6.0 ms".into()));
        let first_room = |frames_per_second, jitter_ms| {
            let seen = Quality {
                frames_per_second,
                jitter_ms,
            };
            let report = Report {
                first_room: Some(seen),
                ..report(9, 0.0)
            };
            judge(Limit::FirstRoom(28.5, 20.0), &Ok(report))
        };
        assert_eq!(first_room(29.9, 4.0), Verdict::Holds);
        assert_eq!(
            first_room(28.0, 4.0),
            Verdict::Fails("28.0 frames/s, jitter 4.0 ms".into())
        );
        let deaf = Report {
            dropped_at_clients: 1,
            ..report(1, 4_000.0)
        };
        assert!(matches!(verdict(deaf), Verdict::Unknown(_)));
    }
}
