//! The cost of a packet over TCP and TURN beside UDP: the output of `make bench-routes`.
//!
//! Each round measures two scenarios over each route, one after the other: one publisher with many
//! receivers, and pairs, in which as many packets arrive as are sent. The two costs of a packet are
//! solved from them.

use std::fmt::{self, Write};

use harness::Spread;

use crate::report::Report;
use crate::run::{RunError, Settings};
use crate::suite::Suite;
use crate::transport::RouteKind;

/// The routes with their names, the one that the others are compared with first.
const ROUTES: [(RouteKind, &str); 4] = [
    (RouteKind::Udp, "UDP"),
    (RouteKind::Tcp, "TCP"),
    (RouteKind::TurnUdp, "TURN over UDP"),
    (RouteKind::TurnTcp, "TURN over TCP"),
];
/// Receivers of each packet in the first scenario; in the second it is one.
const RECEIVERS: f64 = 20.0;
const SCENARIOS: [&str; 2] = ["1x20", "10*2x2"];

/// The cost of a packet over each route.
pub struct Routes {
    /// Microseconds of the server's process: for a packet that arrives, and for one that is sent.
    costs: [[f64; 2]; ROUTES.len()],
    /// Whether every packet arrived, as it was sent.
    pub are_clean: bool,
}

impl Routes {
    /// Measures so many rounds against a server that this command starts; `progress` is called with
    /// each report. `settings` are those of each run but for its scenario and route.
    ///
    /// Errors: as those of a run.
    pub fn measure(
        command: &[String],
        settings: &Settings,
        rounds: usize,
        progress: impl FnMut(&Report),
    ) -> Result<Self, RunError> {
        let over = |scenario: &str, (kind, name): (RouteKind, &str)| {
            let mut settings = settings.clone();
            settings.scenario = scenario.parse().map_err(RunError::Scenario)?;
            settings.behaviour.route = kind;
            settings.target = name.to_owned();
            Ok(settings)
        };
        let round = SCENARIOS
            .iter()
            .flat_map(|scenario| ROUTES.map(|route| over(scenario, route)));
        let round: Vec<Settings> = round.collect::<Result<_, _>>()?;
        let suite = Suite {
            server_command: Some(command.to_vec()),
            floor: false,
            runs: round.iter().cycle().take(rounds * round.len()).cloned().collect(),
        };
        let reports: Vec<Report> = suite.run(progress)?.into_iter().map(|(report, _)| report).collect();
        let of = |place: usize| {
            let reports = reports.iter().skip(place).step_by(round.len());
            let costs = reports.map(|report| report.server.map_or(0.0, |cost| cost.cpu_us_per_replica));
            Spread::of(costs).map_or(0.0, |costs| costs.median)
        };
        let mut costs = [[0.0; 2]; ROUTES.len()];
        for (place, cost) in costs.iter_mut().enumerate() {
            *cost = solve(of(place), of(ROUTES.len() + place));
        }
        Ok(Routes {
            costs,
            are_clean: reports.iter().all(Report::is_clean),
        })
    }
}

/// The costs of a packet that arrives and of one that is sent, from those of a replica with many
/// receivers and with one.
fn solve(many: f64, one: f64) -> [f64; 2] {
    let arrives = (one - many) * RECEIVERS / (RECEIVERS - 1.0);
    [arrives, one - arrives]
}

impl fmt::Display for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |what: &str, cells: [String; ROUTES.len()]| {
            cells.iter().fold(format!("{what:<32}"), |mut row, cell| {
                // Writing into a string does not fail.
                let _ = write!(row, " {cell:>16}");
                row
            })
        };
        writeln!(
            f,
            "{}",
            row("us of a packet (ratio)", ROUTES.map(|(_, name)| name.to_owned()))
        )?;
        for (part, what) in ["that arrives", "that is sent to one receiver"].iter().enumerate() {
            let udp = self.costs[0][part];
            let cell = |cost: [f64; 2]| format!("{:.2} ({:.2})", cost[part], cost[part] / udp);
            writeln!(f, "{}", row(what, self.costs.map(cell)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_costs_are_solved_from_two_scenarios() {
        let (arrives, sent) = (3.0, 1.5);
        let solved = solve(arrives / RECEIVERS + sent, arrives + sent);
        assert!(
            solved
                .iter()
                .zip([arrives, sent])
                .all(|(it, expected)| (it - expected).abs() < 1e-9)
        );
    }
}
