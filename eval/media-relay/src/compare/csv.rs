//! All measurements, a line each.

use harness::csv::line;

use super::figures::{Figures, Measured};

const COLUMNS: &str = "relay,round,calls,offered_per_second,established,answered_per_second,setup_p50_us,setup_p99_us,repeats,\
sent,lost,duplicates,reordered,unplayed,dropped_at_relay,relayed_by_its_account,delivered,process_us_per_packet,work_us_per_packet,machine_us_per_packet,\
instructions_per_packet,busy_cores,relay_cores,generator_cores,kernel_cores,poller_cores,idle_share,delay_p50_us,delay_p99_us,delay_p999_us,delay_max_us,\
variation_p50_us,variation_p99_us,jitter_us,score_least,score_median,doubts,relay_cores_while_calls_arrive";

/// A table of all.
pub(crate) fn table(all: &[Measured]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for measured in all {
        let (relay, round, load) = (measured.relay.clone(), measured.round, &measured.load);
        let mut cells = vec![
            relay,
            round.to_string(),
            load.calls.to_string(),
            load.per_second.to_string(),
        ];
        match Figures::of(measured, all) {
            Some(figures) => cells.extend(row(&figures)),
            None => {
                cells.extend(std::iter::repeat_n(String::new(), 32));
                let why = measured.found.as_ref().err().map_or("", String::as_str);
                cells.extend([why.to_owned(), String::new()]);
            }
        }
        text.push_str(&line(&cells));
    }
    text
}

fn row(figures: &Figures<'_>) -> Vec<String> {
    let it = figures.outcome;
    let (packets, set_up, machine) = (&it.packets, &it.set_up, &it.machine);
    let digits =
        |value: Option<f64>, digits: usize| value.map_or_else(String::new, |value| format!("{value:.digits$}"));
    let relayed = |which: usize| {
        it.relayed
            .map_or_else(String::new, |relayed| relayed[which].to_string())
    };
    vec![
        it.established.to_string(),
        format!("{:.0}", set_up.answered),
        digits(set_up.both.at(0.5), 0),
        digits(set_up.both.at(0.99), 0),
        set_up.repeats.to_string(),
        packets.sent.to_string(),
        packets.lost().to_string(),
        packets.duplicates.to_string(),
        packets.reordered.to_string(),
        packets.unplayed.to_string(),
        packets.dropped_at_relay.to_string(),
        relayed(0),
        relayed(1),
        digits(figures.process_us(), 3),
        digits(figures.work_us(), 3),
        digits(figures.machine_us(), 3),
        digits(figures.instructions(), 0),
        digits(Some(machine.busy_cores), 4),
        digits(machine.relay_cores.or(set_up.relay_cores), 4),
        digits(Some(machine.phones_cores), 4),
        digits(Some(machine.kernel_cores), 4),
        digits(machine.poller_cores, 4),
        digits(Some(machine.idle_share), 4),
        digits(it.delay.at(0.5), 1),
        digits(it.delay.at(0.99), 1),
        digits(it.delay.at(0.999), 1),
        digits(it.delay.at(1.0), 1),
        digits(it.variation.at(0.5), 1),
        digits(it.variation.at(0.99), 1),
        digits(Some(it.jitter), 1),
        digits(it.score.at(0.001), 2),
        digits(it.score.at(0.5), 2),
        figures.doubts().join("; "),
        digits(it.arriving_cores(), 4),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::measured;
    use super::*;

    #[test]
    fn every_row_has_every_column() {
        let mut failed = measured("two", 1, 5, 0.1, 1.0);
        failed.found = Err("it did not listen".into());
        let text = table(&[measured("one", 1, 5, 0.1, 1.0), failed]);
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(widths, [38, 38, 38]);
    }
}
