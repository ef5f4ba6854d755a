//! The numbers of the device files follow from the results.

use std::collections::BTreeMap;

use planning::contention_permille;

use crate::results::{Step, median, number, rows, slowdowns, steps, text};
use crate::{program, server};

/// The coefficients with the least squares of relative differences.
fn fitted<const N: usize>(points: &[([f64; N], f64)]) -> [f64; N] {
    let mut system = vec![[0.0; N]; N];
    let mut right = [0.0; N];
    for (terms, measured) in points {
        for (at, term) in terms.iter().enumerate() {
            for (other, cell) in system[at].iter_mut().enumerate() {
                *cell += term * terms[other] / (measured * measured);
            }
            right[at] += term / measured;
        }
    }
    solved(system, right)
}

/// The solution of a system of linear equations, by elimination of a positive definite matrix.
fn solved<const N: usize>(mut system: Vec<[f64; N]>, mut right: [f64; N]) -> [f64; N] {
    for at in 0..N {
        let (row, pivot) = (system[at], system[at][at]);
        for other in (0..N).filter(|other| *other != at) {
            let factor = system[other][at] / pivot;
            for (cell, above) in system[other].iter_mut().zip(row) {
                *cell -= factor * above;
            }
            right[other] -= factor * right[at];
        }
    }
    std::array::from_fn(|at| right[at] / system[at][at])
}

/// A number of a file is the derived one to one percent.
fn is_derived(name: &str, written: u64, derived: f64) {
    let difference = written as f64 / derived - 1.0;
    assert!(
        difference.abs() < 0.01,
        "{name}: {written} is written, {derived:.1} is derived"
    );
}

fn holding() -> Vec<Step> {
    steps().into_iter().filter(|step| step.verdict == "holds").collect()
}

/// Nanoseconds of a packet with copies to so many receivers, when flooded.
fn flooded(way: &str) -> Vec<([f64; 2], f64)> {
    let rows = rows("docs/measured/papers/swiftcall.csv");
    let ours = rows.iter().filter(|row| row["way"] == way);
    let point = |receivers: f64, rate: f64| ([1.0, receivers], 1e9 * receivers / rate);
    let point = ours.filter_map(|row| Some(point(number(row, "receivers")?, number(row, "flood_copies_per_s")?)));
    point.collect()
}

#[test]
fn srtp_costs_are_the_line_through_the_searches() {
    let points: Vec<_> = holding()
        .iter()
        .map(|step| {
            let arriving = step.replicas / (step.kind.participants - 1) as f64;
            let participants = step.meetings * step.kind.participants as f64;
            ([arriving, step.replicas, participants, 1.0], step.cores)
        })
        .collect();
    let [packet, replica, receiver, base] = fitted(&points);
    for name in ["weir-udp", "weir-ebpf"] {
        let server = server(name);
        let cost = server.srtp.expect("it has costs");
        is_derived("packet_ns", cost.packet_ns, packet * 1e9);
        is_derived("replica_ns", cost.replica_ns, replica * 1e9);
        is_derived("receiver_us", cost.receiver_us, receiver * 1e6);
        is_derived("base_us", server.base_us, base * 1e6);
    }
}

#[test]
fn clear_costs_are_the_line_through_the_flooded_rates() {
    for (name, way) in [("weir-udp", "Weir UDP"), ("weir-ebpf", "Weir TC, stamped")] {
        let [packet, replica] = fitted(&flooded(way));
        let cost = server(name).clear.expect("it has costs");
        is_derived("packet_ns", cost.packet_ns, packet);
        is_derived("replica_ns", cost.replica_ns, replica);
    }
}

#[test]
fn agent_costs_are_those_of_a_thousand_receivers() {
    let rows = rows("docs/measured/performance/scaling.csv");
    let agent = rows.iter().find(|row| row["axis"] == "agent" && row["size"] == "1000");
    let agent = agent.expect("the largest size");
    let of = |column: &str| number(agent, column).expect("a number");
    for name in ["weir-udp", "weir-afxdp", "weir-ebpf"] {
        let server = server(name);
        is_derived("agent_us", server.agent_us, of("cpu_ns") / of("pieces") / 1e3);
        is_derived(
            "receiver_us",
            server.clear.expect("costs").receiver_us,
            of("cpu_ns") / of("pieces") / 1e3,
        );
    }
}

#[test]
fn rings_cost_in_proportion_to_sockets() {
    let rows = rows("docs/measured/performance/paced.csv");
    let cost = |name: &str, run: &str| {
        let mut found = rows
            .iter()
            .filter(|row| row["load"] == "4*5x5" && row["server"] == name);
        let row = found.find(|row| row["run"] == run).expect("a run of both");
        number(row, "process_us_per_replica").expect("a number")
    };
    let runs = ["1", "2", "3", "4", "5", "6", "7"];
    let ratio = median(
        runs.iter()
            .map(|run| cost("weir-afxdp", run) / cost("weir", run))
            .collect(),
    );
    let [sockets, rings] = ["weir-udp", "weir-afxdp"].map(server);
    for (of_rings, of_sockets) in [(rings.srtp, sockets.srtp), (rings.clear, sockets.clear)] {
        let (of_rings, of_sockets) = (of_rings.expect("costs"), of_sockets.expect("costs"));
        is_derived("packet_ns", of_rings.packet_ns, ratio * of_sockets.packet_ns as f64);
        is_derived("replica_ns", of_rings.replica_ns, ratio * of_sockets.replica_ns as f64);
    }
    let [sockets, rings] = [sockets, rings].map(|server| server.latency.expect("a limit"));
    is_derived("run_ns", rings.run_ns, ratio * sockets.run_ns as f64);
}

#[test]
fn latency_is_that_of_the_largest_rooms() {
    let replica = server("weir-udp").srtp.expect("costs").replica_ns as f64;
    let rooms = holding().into_iter().filter(|step| step.name.starts_with("hd"));
    // Half of the copies of a frame are sent by the median. Below 200 receivers most of it is a
    // wake-up.
    let run = |step: Step| {
        let receivers = step.kind.participants as f64 - 1.0;
        let packets = step.replicas / receivers / step.frames;
        (receivers >= 200.0).then(|| 2e3 * step.latency_p50_us / receivers - packets * replica)
    };
    let derived = median(rooms.filter_map(run).collect());
    let latency = server("weir-udp").latency.expect("a limit");
    is_derived("run_ns", latency.run_ns, derived);
    let rows = rows("docs/measured/performance/hd.csv");
    let served = rows
        .iter()
        .filter(|row| row["server"] == "weir-plain" && row["verdict"] == "holds");
    let last = served
        .filter_map(|row| number(row, "to_last_p99_us"))
        .fold(f64::MAX, f64::min);
    is_derived("percent", latency.percent, 100.0 * last / latency.limit_us as f64);
}

#[test]
fn cores_are_planned_to_the_least_share_that_a_search_held() {
    let rows = rows("docs/measured/performance/conferences.csv");
    let ours = rows
        .iter()
        .filter(|row| row["server"] == "weir-plain" && row["verdict"] == "holds");
    let mut most = BTreeMap::new();
    for row in ours {
        let (load, _) = row["load"].rsplit_once(' ').expect("a load and its size");
        let cores = number(row, "cores").expect("a number");
        most.entry(load)
            .and_modify(|it: &mut f64| *it = it.max(cores))
            .or_insert(cores);
    }
    let least = most.values().copied().fold(f64::MAX, f64::min);
    assert_eq!(
        (most.len(), server("weir-udp").percent_of_core as f64),
        (6, 100.0 * least)
    );
}

#[test]
fn contention_is_that_of_cores_that_are_busy_together() {
    let slowdowns = slowdowns();
    let most = slowdowns.iter().map(|(cores, _)| *cores).max();
    let derived = contention_permille(&slowdowns).expect("several cores");
    for name in ["weir-udp", "weir-afxdp", "weir-ebpf"] {
        let server = server(name);
        assert_eq!(server.cores_measured, most, "{name}");
        let difference = server.contention_permille as f64 - derived;
        assert!(difference.abs() <= 0.5, "{name}: {derived:.1} is derived");
    }
}

/// The size of an array or a table of the compiled program.
fn size(alias: &str) -> u64 {
    let info = text("backends/p4/program/compiled/multicast.p4info.txtpb");
    let (_, rest) = info.split_once(&format!("alias: \"{alias}\"")).expect("it is there");
    let (_, rest) = rest.split_once("\n  size: ").expect("it has a size");
    rest.lines()
        .next()
        .and_then(|size| size.parse().ok())
        .expect("a number")
}

#[test]
fn sizes_of_weir_p4_are_those_of_the_program() {
    let program = program("weir-p4");
    assert_eq!(program.replicas, size("sent"));
    assert_eq!(program.streams, size("sender"));
    assert!(program.replicas <= size("replica"));
    assert!(2 * program.replicas <= size("payload_type"), "two for each");
    // A bit of a copy's number is its branch.
    assert_eq!(program.receivers, (1 << 15) - 1);
    assert!(program.receivers <= size("receiver"));
    assert_eq!(program.branches, 2 * ((1 << 15) - 1));
    assert!(program.unicast <= size("participant"));
}
