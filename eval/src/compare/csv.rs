//! All runs, a line each.

use harness::csv::line;

use super::figures::Figures;
use crate::report::Quality;

const COLUMNS: &str = "experiment,load,server,run,replicas_per_second_offered,lost,withheld,process_us_per_replica,machine_us_per_replica,\
machine_less_generator_us_per_replica,latency_p50_us,latency_p99_us,latency_p999_us,idle_share,negotiated,doubts,\
latency_p10_us,latency_p25_us,latency_p75_us,latency_p90_us";

/// Further columns of a search.
const STEP_COLUMNS: &str = "cores,to_last_p99_us,first_room_frames_per_second,first_room_jitter_ms,verdict";

/// A step of a search, beyond the figures of any run.
pub(crate) struct Step {
    /// Processors of the server.
    pub cores: f64,
    /// Latency to the last receiver in microseconds: of a hundred packets, 99 were faster.
    pub to_last_p99: f64,
    /// The first room's videos.
    pub first_room: Option<Quality>,
    /// `holds`, `fails`, or `unknown` if the generator did not keep up.
    pub verdict: &'static str,
}

/// The names of the columns.
pub(crate) fn header() -> String {
    format!("{COLUMNS}\n")
}

/// The names of the columns of a search.
pub(crate) fn step_header() -> String {
    format!("{COLUMNS},{STEP_COLUMNS}\n")
}

/// Adds a run; one without a measurement has empty columns.
pub(crate) fn row(text: &mut String, key: [&str; 3], number: usize, figures: Option<&Figures>, negotiated: &str) {
    text.push_str(&line(&cells(key, number, figures, negotiated)));
}

/// Adds a step of a search; one without a measurement has empty columns.
pub(crate) fn step(
    text: &mut String,
    key: [&str; 3],
    number: usize,
    (figures, step): (Option<&Figures>, &Step),
    negotiated: &str,
) {
    let mut cells = cells(key, number, figures, negotiated);
    match figures {
        None => cells.extend(std::iter::repeat_n(String::new(), 4)),
        Some(_) => {
            let seen = |figure: fn(&Quality) -> f64| {
                step.first_room
                    .as_ref()
                    .map_or_else(String::new, |it| format!("{:.1}", figure(it)))
            };
            cells.extend([format!("{:.2}", step.cores), format!("{:.0}", step.to_last_p99)]);
            cells.extend([seen(|it| it.frames_per_second), seen(|it| it.jitter_ms)]);
        }
    }
    cells.push(step.verdict.to_owned());
    text.push_str(&line(&cells));
}

fn cells(key: [&str; 3], number: usize, figures: Option<&Figures>, negotiated: &str) -> Vec<String> {
    let mut cells: Vec<String> = key.map(String::from).to_vec();
    cells.push(number.to_string());
    match figures {
        None => cells.extend(std::iter::repeat_n(String::new(), 16)),
        Some(it) => {
            cells.extend([
                format!("{:.0}", it.offered),
                it.lost.to_string(),
                it.withheld.to_string(),
            ]);
            let decimals = [Some(it.process_us), it.machine_us, Some(it.rest_us)];
            cells.extend(decimals.map(|us| us.map_or_else(String::new, |us| format!("{us:.3}"))));
            cells.extend([it.p50, it.p99, it.p999].map(|us| format!("{us:.0}")));
            cells.push(format!("{:.3}", it.idle));
            cells.push(negotiated.to_owned());
            let doubts: Vec<String> = it.doubts.iter().map(ToString::to_string).collect();
            cells.push(doubts.join("; "));
            cells.extend(it.others.map(|us| format!("{us:.0}")));
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;

    #[test]
    fn every_row_has_every_column() {
        let figures = Figures::of(&Report::default(), None);
        let mut text = header();
        row(&mut text, ["video", "1x50", "weir"], 1, Some(&figures), "/rtc");
        row(&mut text, ["video", "1x50", "weir"], 2, None, "");
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(widths, [20, 20, 20]);
    }

    #[test]
    fn every_step_has_every_column() {
        let figures = Figures::of(&Report::default(), None);
        let done = Step {
            cores: 0.5,
            to_last_p99: 7.0,
            first_room: None,
            verdict: "holds",
        };
        let mut text = step_header();
        step(&mut text, ["hd", "1x50", "weir"], 1, (Some(&figures), &done), "/rtc");
        step(&mut text, ["hd", "1x50", "weir"], 2, (None, &done), "");
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(widths, [25, 25, 25]);
    }
}
