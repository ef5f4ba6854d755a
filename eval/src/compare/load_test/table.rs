//! Results as tables, as a drawing and run by run.

use std::fmt::Write as _;

use harness::Spread;
use harness::bars::{Bar, Drawing, Group, Panel};
use harness::csv::line;

use super::Client;
use crate::compare::compared::{ComparisonResult, Runs, cell, notes};
use crate::compare::experiment::Experiment;
use crate::compare::figures::Figures;

const COLUMNS: &str = "experiment,load,client,server,run,packets_per_second,lost,process_us_per_packet,read_by_server_per_packet,\
sleeps_per_packet,clients_cores,idle_share,negotiated,doubts";

impl ComparisonResult {
    /// The runs of a server with a client.
    fn runs(&self, server: &str, client: Client) -> Option<&Runs> {
        let name = client.runs_of(server);
        self.servers.iter().find(|runs| runs.name == name)
    }
}

/// The figures, and the ratios of the subject's process time to the others', client by client.
pub(crate) fn tables(found: &[ComparisonResult], servers: &[&str]) -> String {
    let mut text = String::from(
        "| load | client | server | packets/s | lost | process us/packet | datagrams read by the server/packet | sleeps of its threads/packet | cores of the clients | idle % | runs to be trusted |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (found, client, server) in everything(found, servers) {
        if let Some(runs) = found.runs(server, client) {
            row(&mut text, found, client, server, runs);
        }
    }
    text.push_str("\n| load | client | ratio | process |\n|---|---|---|---|\n");
    let Some((subject, others)) = servers.split_first() else {
        return text;
    };
    for (found, client, other) in everything(found, others) {
        let both = found.runs(subject, client).zip(found.runs(other, client));
        let ratio = both.and_then(|(ours, theirs)| ours.ratio(theirs, |it| Some(it.process_us)));
        let (load, client, ratio) = (found.case.name, client.label(), cell(ratio, 2));
        let _ = writeln!(text, "| {load} | {client} | {subject} / {other} | {ratio} |");
    }
    causes(&mut text, found, servers);
    text.push_str("\n[What the clients do differently](../../eval/compare/README.md#livekits-load-tester)\n\n");
    notes(&mut text, found);
    text
}

/// How much more a packet costs under the load tester than under the generator, and how much of it
/// is the delivery of single datagrams.
fn causes(text: &mut String, found: &[ComparisonResult], servers: &[&str]) {
    text.push_str(
        "\n| load | server | lk less generator, process us/packet | of this by single datagrams | the rest |\n\
         |---|---|---|---|---|\n",
    );
    for found in found {
        for server in servers {
            let more = |client: Client, than: Client| {
                let both = found.runs(server, client).zip(found.runs(server, than));
                cell(both.and_then(|(more, less)| difference(more, less)), 2)
            };
            let all = more(Client::LoadTester, Client::Generator);
            let delivery = more(Client::Singly, Client::Generator);
            let rest = more(Client::LoadTester, Client::Singly);
            let _ = writeln!(text, "| {} | {server} | {all} | {delivery} | {rest} |", found.case.name);
        }
    }
}

/// The differences of process time per packet, round by round.
fn difference(more: &Runs, less: &Runs) -> Option<Spread> {
    let rounds = more.figures.iter().zip(&less.figures);
    let both = rounds.filter_map(|(more, less)| Some((more.as_ref()?, less.as_ref()?)));
    Spread::of(both.map(|(more, less)| more.process_us - less.process_us))
}

/// Every load with every client and every server, in this order.
fn everything<'a>(
    found: &'a [ComparisonResult],
    servers: &'a [&'a str],
) -> impl Iterator<Item = (&'a ComparisonResult, Client, &'a str)> {
    found.iter().flat_map(move |found| {
        let clients = Client::ALL.into_iter();
        clients.flat_map(move |client| servers.iter().map(move |server| (found, client, *server)))
    })
}

fn row(text: &mut String, found: &ComparisonResult, client: Client, server: &str, runs: &Runs) {
    let spread = |figure: fn(&Figures) -> f64, digits| cell(runs.spread(|it| Some(figure(it))), digits);
    let measured = || runs.figures.iter().flatten();
    let _ = writeln!(
        text,
        "| {} | {} | {server} | {} | {} | {} | {} | {} | {} | {} | {} of {} |",
        found.case.name,
        client.label(),
        spread(|it| it.offered, 0),
        spread(|it| it.lost as f64, 0),
        spread(|it| it.process_us, 2),
        spread(|it| it.read, 3),
        spread(|it| it.sleeps, 3),
        spread(|it| it.clients, 2),
        spread(|it| it.idle * 100.0, 0),
        measured().filter(|figures| figures.doubts.is_empty()).count(),
        runs.figures.len(),
    );
}

/// Costs, wake-ups and the load of the clients as bars.
pub(crate) fn draw(title: String, found: &[ComparisonResult], servers: &[&str]) -> String {
    let bars = |found: &ComparisonResult, figure: fn(&Figures) -> f64| {
        let both = Client::ALL
            .into_iter()
            .flat_map(move |client| servers.iter().map(move |server| (client, *server)));
        let bar = |(client, server): (Client, &str)| {
            let spread: Spread = found.runs(server, client)?.spread(|it| Some(figure(it)))?;
            let name = client.runs_of(server);
            Some(Bar { name, spread })
        };
        both.filter_map(bar).collect::<Vec<Bar>>()
    };
    let panel = |label: &str, figure: fn(&Figures) -> f64| Panel {
        label: label.to_owned(),
        groups: found
            .iter()
            .map(|found| Group {
                label: found.case.name.to_owned(),
                bars: bars(found, figure),
            })
            .collect(),
    };
    let panels = vec![
        panel("process, us per packet", |it| it.process_us),
        panel("sleeps of the server per packet", |it| it.sleeps),
        panel("cores of the clients", |it| it.clients),
    ];
    Drawing { title, panels }.svg()
}

/// All runs.
pub(crate) fn rows(experiment: &Experiment, found: &[ComparisonResult], servers: &[&str]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for (found, client, server) in everything(found, servers) {
        let Some(runs) = found.runs(server, client) else {
            continue;
        };
        for (number, figures) in runs.figures.iter().enumerate() {
            let key = [experiment.name, found.case.name, client.label(), server].map(String::from);
            let mut cells = key.to_vec();
            cells.push((number + 1).to_string());
            cells.extend(figures.as_ref().map_or_else(
                || vec![String::new(); COLUMNS.split(',').count() - 5],
                |it| measured(it, &runs.negotiated),
            ));
            text.push_str(&line(&cells));
        }
    }
    text
}

fn measured(it: &Figures, negotiated: &str) -> Vec<String> {
    let doubts: Vec<String> = it.doubts.iter().map(ToString::to_string).collect();
    let counted = vec![format!("{:.0}", it.offered), it.lost.to_string()];
    let costs = [it.process_us, it.read, it.sleeps, it.clients, it.idle].map(|figure| format!("{figure:.3}"));
    let words = vec![negotiated.to_owned(), doubts.join("; ")];
    [counted, costs.to_vec(), words].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Cost, Report};

    /// One round of one load with two servers; the load tester had no measurement of the second.
    fn found() -> Vec<ComparisonResult> {
        let experiment = Experiment::named("load-test").expect("there is one");
        let crate::compare::experiment::Method::LoadTest(pairs) = experiment.method else {
            panic!("its method is another");
        };
        let runs = |server: &str, client: Client, cores: f64| {
            let report = Report {
                seconds: 1.0,
                replicas_expected: 10_000,
                replicas_received: 10_000,
                read_by_server: 500,
                idle_share: 0.5,
                server: Some(Cost {
                    cores,
                    ..Cost::default()
                }),
                ..Report::default()
            };
            Runs {
                figures: vec![(cores > 0.0).then(|| Figures::of(&report, None))],
                ..Runs::new(&client.runs_of(server))
            }
        };
        vec![ComparisonResult {
            case: pairs[0].case,
            servers: vec![
                runs("a", Client::Generator, 0.02),
                runs("b", Client::Generator, 0.10),
                runs("a", Client::LoadTester, 0.08),
                runs("b", Client::LoadTester, 0.0),
            ],
        }]
    }

    #[test]
    fn each_client_has_rows_and_ratios_of_its_own() {
        let text = tables(&found(), &["a", "b"]);
        for expected in [
            "| 1x50 | generator | a | 10000 | 0 | 2.00 | 0.050 | 0.000 | 0.00 | 50 | 1 of 1 |",
            "| 1x50 | lk | a | 10000 | 0 | 8.00 |",
            "| 1x50 | lk | b | - | - | - |",
            "| 1x50 | generator | a / b | 0.20 |",
            "| 1x50 | lk | a / b | - |",
            "| 1x50 | a | 6.00 | - | - |",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
    }

    #[test]
    fn every_run_has_every_column() {
        let experiment = Experiment::named("load-test").expect("there is one");
        let text = rows(experiment, &found(), &["a", "b"]);
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(widths, [14; 5]);
    }
}
