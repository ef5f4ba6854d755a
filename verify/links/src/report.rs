//! The table of `docs/design/bandwidth.md`: every scenario, both estimators, the worst of many
//! seeds.

use std::fmt::{self, Write};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::judge::{self, Judgement, QUEUE_MAX};
use crate::scenario::Kind;
use crate::{Candidate, Scenario, Trace, run};

/// Results of one scenario with one estimator.
struct Row {
    result: String,
    level: String,
    queue: String,
    /// How often the claim was kept, of how many times it was judged.
    kept: Share,
}

#[derive(Clone, Copy, Default)]
struct Share {
    times: usize,
    of: usize,
}

impl Share {
    fn count(all: impl Iterator<Item = bool>) -> Self {
        all.fold(Self::default(), |sum, kept| Self {
            times: sum.times + usize::from(kept),
            of: sum.of + 1,
        })
    }

    fn and(self, other: Self) -> Self {
        Self {
            times: self.times + other.times,
            of: self.of + other.of,
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            0 => Ok(()),
            of => write!(f, "{} of {of}", self.times),
        }
    }
}

/// The table, in Markdown.
pub fn table(scenarios: &[Scenario], seeds: &RangeInclusive<u64>) -> String {
    let mut table = String::from(
        "| link | asked | Weir: settled, s | level | queue, ms | in time | rtc-interceptor: settled, s | level | queue, ms | in time |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let (mut ours_kept, mut other_kept) = (Share::default(), Share::default());
    for scenario in scenarios {
        let ours = row(scenario, Candidate::Weir, seeds);
        let other = row(scenario, Candidate::RtcInterceptor, seeds);
        (ours_kept, other_kept) = (ours_kept.and(ours.kept), other_kept.and(other.kept));
        let _ = writeln!(table, "| {} | {} | {ours} | {other} |", scenario.name, asked(scenario));
    }
    let _ = writeln!(table, "| all | | | | | {ours_kept} | | | | {other_kept} |");
    table
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {} | {} | {}", self.result, self.level, self.queue, self.kept)
    }
}

fn asked(scenario: &Scenario) -> String {
    match scenario.kind {
        Kind::Shares => "35-65 %".into(),
        Kind::Follows => format!("{:.0} %", scenario.claim.band * 100.0),
        Kind::Settles if scenario.claim.down == scenario.claim.up => {
            format!(
                "{:.0} %, {} s",
                scenario.claim.band * 100.0,
                scenario.claim.up.as_secs()
            )
        }
        Kind::Settles => {
            let (down, up) = (scenario.claim.down.as_secs(), scenario.claim.up.as_secs());
            format!("{:.0} %, {up} s up, {down} s down", scenario.claim.band * 100.0)
        }
    }
}

fn row(scenario: &Scenario, candidate: Candidate, seeds: &RangeInclusive<u64>) -> Row {
    let traces: Vec<_> = seeds.clone().map(|seed| run(scenario, candidate, seed)).collect();
    match scenario.kind {
        Kind::Settles => settles(scenario, &traces),
        Kind::Follows => follows(scenario, &traces),
        Kind::Shares => shares(scenario, &traces),
    }
}

fn settles(scenario: &Scenario, traces: &[Trace]) -> Row {
    let seen: Vec<Vec<Judgement>> = traces.iter().map(|trace| judge::phases(scenario, trace)).collect();
    let stretches = seen.first().map_or(0, Vec::len);
    let each = |say: &dyn Fn(&[&Judgement]) -> String| {
        let columns = (0..stretches).map(|stretch| seen.iter().map(|phases| &phases[stretch]).collect::<Vec<_>>());
        columns.map(|column| say(&column)).collect::<Vec<_>>().join(", ")
    };
    Row {
        result: each(&worst_settled),
        level: each(&|column| format!("{:.2}", mean(column.iter().map(|judgement| judgement.level)))),
        queue: each(&|column| milliseconds(column.iter().map(|judgement| judgement.queue).max())),
        kept: Share::count(seen.iter().flatten().map(Judgement::in_time)),
    }
}

/// The slowest seed, set in bold when it is too slow; where one never settles, how much of the time
/// it is within the band.
fn worst_settled(column: &[&Judgement]) -> String {
    if column.iter().any(|judgement| judgement.settled.is_none()) {
        let within = mean(column.iter().map(|judgement| judgement.within));
        return format!("**never** ({:.0} %)", within * 100.0);
    }
    let worst = column
        .iter()
        .filter_map(|judgement| judgement.settled)
        .max()
        .unwrap_or_default();
    let text = format!("{:.1}", worst.as_secs_f64());
    if column.iter().all(|judgement| judgement.in_time()) {
        text
    } else {
        format!("**{text}**")
    }
}

fn follows(scenario: &Scenario, traces: &[Trace]) -> Row {
    let within: Vec<_> = traces.iter().map(|trace| judge::following(scenario, trace)).collect();
    let worst = within.iter().copied().fold(1.0, f64::min);
    Row {
        result: format!(
            "{:.0} % of the time, worst {:.0} %",
            mean(within.iter().copied()) * 100.0,
            worst * 100.0
        ),
        level: "".into(),
        queue: milliseconds(longest_queue(scenario, traces)),
        kept: Share::default(),
    }
}

fn shares(scenario: &Scenario, traces: &[Trace]) -> Row {
    let shares: Vec<_> = traces.iter().filter_map(judge::share).collect();
    let least = shares.iter().copied().fold(1.0, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    Row {
        result: format!("first gets {:.0}-{:.0} %", least * 100.0, most * 100.0),
        level: "".into(),
        queue: milliseconds(longest_queue(scenario, traces)),
        kept: Share::count(shares.iter().copied().map(judge::is_fair)),
    }
}

fn longest_queue(scenario: &Scenario, traces: &[Trace]) -> Option<Duration> {
    let longest = |trace| judge::longest_queue(scenario, trace);
    traces.iter().map(longest).max()
}

fn milliseconds(queue: Option<Duration>) -> String {
    let queue = queue.unwrap_or_default();
    let text = queue.as_millis().to_string();
    if queue > QUEUE_MAX { format!("**{text}**") } else { text }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}
