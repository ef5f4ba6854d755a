//! All runs, a line each.

use harness::csv::line;

use super::figures::Figures;

const COLUMNS: &str = "experiment,load,server,run,replicas_per_second_offered,lost,withheld,process_us_per_replica,machine_us_per_replica,\
machine_less_generator_us_per_replica,latency_p50_us,latency_p99_us,latency_p999_us,idle_share,negotiated,doubts";

/// The names of the columns.
pub(crate) fn header() -> String {
    format!("{COLUMNS}\n")
}

/// Adds a run; one without a measurement has empty columns.
pub(crate) fn row(text: &mut String, key: [&str; 3], number: usize, figures: Option<&Figures>, negotiated: &str) {
    let mut cells: Vec<String> = key.map(String::from).to_vec();
    cells.push(number.to_string());
    match figures {
        None => cells.extend(std::iter::repeat_n(String::new(), 12)),
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
        }
    }
    text.push_str(&line(&cells));
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
        assert_eq!(widths, [16, 16, 16]);
    }
}
