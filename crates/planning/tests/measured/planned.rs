//! Plans on one core agree with what one core was measured to carry.

use planning::report::grouped;
use planning::{Adaptation, DeviceFile, Kind, Machine, Mix, Plan, Server};

use crate::results::{Row, Step, capacity, kind, median, number, rows, slowdowns, steps, text};
use crate::{compare, program, server};

/// A shipped server with one core.
fn one_core(name: &str) -> DeviceFile {
    let mut file = DeviceFile::shipped(name).expect("it is shipped");
    if let Machine::Server(server) = &mut file.machine {
        (server.cores, server.bandwidth) = (1, None);
    }
    file
}

fn plan(device: &DeviceFile, kind: Kind) -> Plan {
    let mix = Mix {
        name: String::new(),
        kinds: vec![(1, kind)],
    };
    Plan::new(device, &mix)
}

/// The page of planning has these rows.
fn is_on_the_page(rows: &[(String, f64, f64)]) {
    let page = text("docs/operate/planning.md");
    for (name, planned, measured) in rows {
        let row = format!(
            "| {name} | {} | {} |",
            grouped(*planned as u64),
            grouped(*measured as u64)
        );
        assert!(page.contains(&row), "docs/operate/planning.md lacks {row}");
    }
}

/// Cores that so many meetings take.
fn cores(server: &Server, meetings: f64, kind: &Kind) -> f64 {
    let supplies = server.supplies(kind);
    let each = supplies
        .iter()
        .find(|supply| supply.resource == "cores")
        .expect("cores")
        .each;
    (meetings * each as f64 / 1e3 + server.base_us as f64) / 1e6
}

#[test]
fn cores_of_every_step_are_those_measured() {
    let server = server("weir-udp");
    let of = |step: &Step| (step.name.clone(), cores(&server, step.meetings, &step.kind), step.cores);
    // A step that nobody trusts has no figure.
    let all = steps()
        .into_iter()
        .chain(capacity())
        .filter(|step| step.verdict != "unknown");
    let rows: Vec<_> = all.map(|step| of(&step)).collect();
    assert_eq!(rows.len(), 111);
    compare(
        &rows,
        &[
            (
                "conferences 720p of 15 1*1x14",
                "0.012 cores, nearly all of it the base",
            ),
            ("one to many 2 Mbit/s 50", "0.02 cores, written with two decimals"),
            ("one to many 2 Mbit/s 100", "0.03 cores, written with two decimals"),
        ],
    );
}

/// Receivers of one sender on one core, and the resource that binds.
fn receivers(device: &DeviceFile, packets: f64) -> (f64, &'static str) {
    let fits = |receivers: u64| plan(device, kind(receivers + 1, 1, packets * receivers as f64));
    let (mut least, mut most) = (1, 100_000);
    while most - least > 1 {
        let middle = u64::midpoint(least, most);
        match fits(middle).meetings {
            0 => most = middle,
            _ => least = middle,
        }
    }
    (least as f64, fits(most).binding)
}

#[test]
fn receivers_of_one_sender_are_bound_by_latency() {
    let device = one_core("weir-udp");
    let mut compared = Vec::new();
    for (load, packets) in [("48 packets/s", 48.0), ("3 Mbit/s", 335.0)] {
        let steps = steps()
            .into_iter()
            .filter(|step| step.name.starts_with(&format!("hd {load}")));
        let served = steps
            .filter(|step| step.verdict == "holds")
            .map(|step| step.kind.participants - 1)
            .max();
        let (planned, binding) = receivers(&device, packets);
        assert_eq!(binding, "latency", "{load}");
        compared.push((format!("hd {load}"), planned, served.expect("a step holds") as f64));
    }
    let many = capacity()
        .into_iter()
        .filter(|step| step.name.starts_with("one to many") && step.verdict == "holds");
    let served = many.map(|step| step.kind.participants - 1).max().expect("a step holds");
    compared.push((
        "one to many 2 Mbit/s".to_owned(),
        receivers(&device, 229.0).0,
        served as f64,
    ));
    compare(
        &compared,
        &[(
            "one to many 2 Mbit/s",
            "the limit is 5 ms of single packets, one in a hundred of which is of a key frame",
        )],
    );
    is_on_the_page(&compared);
}

#[test]
fn meetings_on_one_core_are_those_measured() {
    let device = one_core("weir-udp");
    let loads = [
        "1080p of 15",
        "1080p of 50",
        "1080p of 100",
        "720p of 15",
        "720p of 50",
        "720p of 100",
    ];
    let loads = loads.map(|load| format!("conferences {load} "));
    let all: Vec<_> = steps().into_iter().chain(capacity()).collect();
    let rooms = ["rooms rooms of 5, 2 Mbit/s", "rooms of 5 2 Mbit/s"].map(str::to_owned);
    let compared: Vec<_> = loads
        .iter()
        .chain(&rooms)
        .map(|load| {
            let served = all
                .iter()
                .filter(|step| step.name.starts_with(load) && step.verdict == "holds");
            let served = served
                .max_by(|one, other| one.meetings.total_cmp(&other.meetings))
                .expect("one holds");
            let plan = plan(&device, served.kind);
            assert_eq!(plan.binding, "cores", "{load}");
            (load.trim_end().to_owned(), plan.meetings as f64, served.meetings)
        })
        .collect();
    compare(&compared, &[]);
    is_on_the_page(&compared);
}

#[test]
fn copies_in_clear_cost_what_a_flood_measures() {
    let rows = rows("docs/measured/papers/swiftcall.csv");
    let of = |row: &_| {
        let way = &Row::clone(row)["way"];
        let name = match way.as_str() {
            "Weir UDP" => "weir-udp",
            way if way.starts_with("Weir") => "weir-ebpf",
            _ => return None,
        };
        let (receivers, rate) = (number(row, "receivers")?, number(row, "flood_copies_per_s")?);
        let cost = server(name).clear?;
        let planned = cost.packet_ns as f64 + receivers * cost.replica_ns as f64;
        Some((format!("{way} {receivers}"), planned, 1e9 * receivers / rate))
    };
    let compared: Vec<_> = rows.iter().filter_map(of).collect();
    assert_eq!(compared.len(), 42);
    compare(&compared, &[("Weir TC, up 2", "each packet goes on to sockets too")]);
}

#[test]
fn adaptation_costs_what_loads_with_it_measure() {
    let server = server("weir-udp");
    let adapting = |participants, senders, replicas| Kind {
        adaptation: Adaptation::Receivers,
        ..kind(participants, senders, replicas)
    };
    let (calls, load) = (
        rows("docs/measured/performance/two-party.csv"),
        rows("docs/measured/performance/load-test.csv"),
    );
    let of = |rows: &[Row], column: &str, is_ours: fn(&Row) -> bool| {
        let ours = rows.iter().filter(|row| is_ours(row));
        median(ours.filter_map(|row| number(row, column)).collect())
    };
    let call = |column| of(&calls, column, |row| row["server"] == "weir");
    let many = |column| {
        of(&load, column, |row| {
            row["server"] == "weir" && row["client"] == "generator" && row["load"] == "1x50"
        })
    };
    let (replicas, packets) = (call("replicas_per_second_offered"), many("packets_per_second"));
    // performance.md, "Overload that ends".
    let overload = (76.0, 340_000.0, 0.7);
    compare(
        &[
            (
                "76 rooms of five".to_owned(),
                cores(&server, overload.0, &adapting(5, 5, overload.1 / overload.0)),
                overload.2,
            ),
            (
                "a call of two".to_owned(),
                cores(&server, 1.0, &adapting(2, 2, replicas)),
                replicas * call("process_us_per_replica") / 1e6,
            ),
            (
                "1x50".to_owned(),
                cores(&server, 1.0, &adapting(51, 1, packets)),
                packets * many("process_us_per_packet") / 1e6,
            ),
        ],
        &[],
    );
}

#[test]
fn cores_beyond_the_agent_carry_no_more() {
    let meetings = |cores| {
        let mut file = one_core("weir-udp");
        if let Machine::Server(server) = &mut file.machine {
            server.cores = cores;
        }
        let plan = plan(&file, kind(5, 5, 20.0 * 228.0));
        (plan.meetings, plan.binding)
    };
    // The base of the process is there once.
    let (one, binding) = meetings(1);
    assert_eq!(binding, "cores");
    for (cores, slowdown) in slowdowns() {
        let (several, binding) = meetings(cores);
        assert_eq!(binding, "cores");
        let measured = cores as f64 * one as f64 / slowdown;
        let difference = several as f64 / measured - 1.0;
        assert!(
            difference.abs() < 0.03,
            "{several} on {cores} cores, {measured:.0} by the time of a copy there"
        );
    }
    assert_eq!((meetings(18).1, meetings(19).1), ("cores", "agent"));
    // 0.83 of a core at 98 us for each of five.
    assert_eq!(meetings(32), (1_693, "agent"));
    assert_eq!(meetings(64), (1_693, "agent"));
}

#[test]
fn weir_p4_carries_so_many_meetings_of_ten() {
    let device = DeviceFile::shipped("weir-p4").expect("it is shipped");
    let ten = |has_audio| Kind {
        is_encrypted: false,
        has_audio,
        ..kind(10, 10, 90.0 * 341.0)
    };
    let of = |kind| {
        let plan = plan(&device, kind);
        (plan.meetings, plan.binding)
    };
    assert_eq!(of(ten(false)), (3_276, "receivers"));
    assert_eq!(of(ten(true)), (2_912, "replicas"));
    let sealed = Kind {
        is_encrypted: true,
        ..ten(false)
    };
    assert_eq!(of(sealed), (0, "encryption"));
    let pairs = Kind {
        adaptation: Adaptation::Pairs,
        ..ten(false)
    };
    assert_eq!(of(pairs), (2_184, "branches"));
    let branches = |kind| program("weir-p4").supplies(&kind)[3].each;
    assert_eq!(branches(ten(true)), 1, "one for all streams");
    assert_eq!(branches(pairs), 30, "one for each sender and layer");
    let call = Kind {
        participants: 2,
        senders: 2,
        ..ten(true)
    };
    assert_eq!(of(call), (16_383, "receivers"), "calls of two have no trees");
}
