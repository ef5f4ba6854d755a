//! Device files, mixes, and plans of mixes on devices.

use std::sync::LazyLock;

use planning::{Adaptation, DeviceFile, MIXES, Machine, Mix, Plan, QUALITIES, Row, SHIPPED, Server, report};
use proptest::prelude::*;

/// All shipped devices, read once.
static DEVICES: LazyLock<Vec<DeviceFile>> = LazyLock::new(DeviceFile::all_shipped);

fn shipped(name: &str) -> DeviceFile {
    DeviceFile::shipped(name).expect("it is shipped")
}

fn mix(rows: &str) -> Mix {
    let text = format!("count,participants,senders,quality,encrypted,adaptation,audio\n{rows}");
    Mix::parse("mix", &text).expect("it is well-formed")
}

fn refused(text: &str) -> String {
    Mix::parse("mix.csv", text).expect_err("it is refused").to_string()
}

fn plan(device: &str, rows: &str) -> Plan {
    Plan::new(&shipped(device), &mix(rows))
}

#[test]
fn every_shipped_file_is_read() {
    for (name, text) in SHIPPED {
        DeviceFile::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
    }
    for (name, text) in MIXES {
        Mix::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
        assert!(text.starts_with("# Synthetic"), "{name} says that it is synthetic");
    }
}

#[test]
fn a_written_server_is_read_as_it_was() {
    for file in DEVICES.iter() {
        let Machine::Server(server) = &file.machine else {
            continue;
        };
        let comments = ["a comment".to_owned()];
        let text = planning::server_file(&comments, &format!("it's {}", file.source), server);
        let read = DeviceFile::parse(&file.name, &text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        assert_eq!(
            (&read.machine, read.source),
            (&file.machine, format!("it's {}", file.source))
        );
    }
}

#[test]
fn meetings_of_the_paper() {
    let one = |device, rows| {
        let plan = plan(device, rows);
        (plan.meetings, plan.binding)
    };
    assert_eq!(one("tofino2", "1,3,1,high,no,none,no"), (128_000, "trees"));
    assert_eq!(one("tofino2", "1,3,3,high,no,none,no"), (128_000, "trees"));
    assert_eq!(one("tofino2-65536", "1,3,1,high,no,none,no"), (131_072, "trees"));
    assert_eq!(one("tofino2", "1,3,1,high,no,receivers,no"), (42_666, "trees"));
    assert_eq!(one("tofino2", "1,10,10,high,no,pairs,no"), (4_266, "trees"));
    assert_eq!(one("tofino2", "1,10,10,high,no,none,no"), (25_511, "sequence memory"));
    assert_eq!(one("tofino2", "1,2,2,high,no,none,no"), (1_066_666, "bandwidth"));
    assert_eq!(one("mediasoup", "1,10,10,high,no,none,no"), (192, "cores"));
    assert_eq!(one("mediasoup", "1,10,10,high,yes,none,no"), (192, "cores"));
}

#[test]
fn a_switch_carries_no_encrypted_meeting() {
    let plan = plan("tofino2", "10,8,2,720p,yes,,\n10,8,2,720p,no,,");
    assert_eq!((plan.meetings, plan.binding, plan.devices), (0, "encryption", None));
}

#[test]
fn a_server_is_bound_by_cores_network_or_memory() {
    let server = |change: fn(&mut Server)| {
        let mut file = shipped("weir-udp");
        let Machine::Server(server) = &mut file.machine else {
            panic!("it is a server")
        };
        change(server);
        let plan = Plan::new(&file, &mix("500,8,2,720p,yes,,"));
        (plan.binding, plan.meetings, plan.devices)
    };
    let (cores, meetings, devices) = server(|server| {
        (server.agent_us, server.bandwidth, server.contention_permille) = (0, None, 0);
    });
    // Two streams of 194 video and 50 audio packets a second to seven receivers each.
    let packets = |cost: u64| (1_700_000 * cost).div_ceil(8_800) + 50 * cost;
    let each = 2 * packets(3_600) + 14 * packets(452) + 8 * 163_000;
    let all = 32 * 1_000_000_000 / 100 * 83 - 11_700_000;
    assert_eq!((cores, meetings), ("cores", all / each));
    assert_eq!(devices, Some(1));
    let (agent, meetings, _) = server(|_| {});
    assert_eq!((agent, meetings), ("agent", 830_000 / (8 * 98)));
    let (latency, meetings, devices) = server(|server| {
        server.latency = server.latency.map(|latency| planning::Latency {
            limit_us: 60,
            ..latency
        });
    });
    // Nine packets of a frame to seven receivers take 54 us, and 39 are planned.
    assert_eq!((latency, meetings, devices), ("latency", 0, None));
    let (network, meetings, devices) = server(|server| server.bandwidth = Some(1_000_000_000));
    assert_eq!(
        (network, meetings, devices),
        ("bandwidth", 1_000_000_000 / (14 * 1_732_000), Some(13))
    );
    let (memory, meetings, _) = server(|server| {
        server.memory = server.memory.map(|memory| planning::Memory {
            total: 120_000_000,
            ..memory
        });
    });
    let each = 8 * 69_000 + 28 * 3_300 + 2 * 1_073_000;
    assert_eq!((memory, meetings), ("memory", 100_000_000 / each));
}

#[test]
fn kept_packets_take_memory_in_encrypted_rooms_only() {
    let used = |encrypted| {
        let plan = plan("weir-ebpf", &format!("1,8,2,720p,{encrypted},,"));
        plan.resources
            .iter()
            .find(|it| it.resource == "memory")
            .map(|it| it.used)
    };
    assert_eq!(
        used("yes").zip(used("no")).map(|(yes, no)| yes - no),
        Some(2 * 1_073_000)
    );
}

#[test]
fn a_bad_mix_is_refused_with_its_line_and_the_cure() {
    let header = "count,participants,senders,quality\n";
    let row = |row: &str| refused(&format!("# a comment\n{header}1,2,2,720p\n{row}\n"));
    assert_eq!(
        row("0,2,2,720p"),
        "mix.csv, line 4: `count` is 0: it has to be from 1 to 1000000000"
    );
    assert_eq!(
        row("1,1001,2,720p"),
        "mix.csv, line 4: `participants` is 1001: a meeting has 2 to 1000"
    );
    assert_eq!(
        row("1,3,4,720p"),
        "mix.csv, line 4: `senders` is 4: from 1 to the 3 participants may send"
    );
    assert!(row("1,3,3,fine").starts_with("mix.csv, line 4: `quality` is \"fine\": it has to be one of low, medium"));
    assert_eq!(
        row("one,3,3,720p"),
        "mix.csv, line 4: `count` is \"one\": invalid digit found in string"
    );
    assert_eq!(row("1,3,3"), "mix.csv, line 4: 3 cells, and 4 names in the first line");
    assert!(
        refused(header).contains("there is no row: the first line is"),
        "{}",
        refused(header)
    );
    assert!(
        refused("count,people\n1,2\n").contains("line 2"),
        "{}",
        refused("count,people\n1,2\n")
    );
    let text = format!("{header}{}", "1,2,2,720p\n".repeat(10_001));
    assert_eq!(
        refused(&text),
        "mix.csv, line 10002: a mix has at most 10000 rows: add up equal meetings"
    );
}

#[test]
fn a_bad_device_file_is_refused_with_its_reason() {
    let reason = |text: &str| DeviceFile::parse("mine", text).expect_err("it is refused").to_string();
    assert!(
        reason("source: x\nserver: {cores: many}").contains("cores"),
        "{}",
        reason("source: x\nserver: {cores: many}")
    );
    assert!(reason("server: {cores: 2}").contains("source"));
    assert_eq!(
        reason("source: x"),
        "mine: a device has one of `switch:`, `program:` and `server:`"
    );
    assert_eq!(
        reason("source: x\nserver: {cores: 0, rate_per_core: 1}"),
        "mine: `cores` has to be from 1 to 100000"
    );
    let both = "source: x\nserver: {cores: 1, rate_per_core: 1, srtp: {packet_ns: 1, replica_ns: 1}}";
    assert_eq!(
        reason(both),
        "mine: a server has either `rate_per_core`, or costs in `srtp` and `clear`"
    );
    for part in [
        "agent_us: 1000001",
        "base_us: 1000001",
        "adaptation_percent: 0",
        "adaptation_percent: 1001",
        "contention_permille: 1001",
    ] {
        let text = format!("source: x\nserver: {{cores: 1, rate_per_core: 1, {part}}}");
        assert!(
            reason(&text).contains("has to be") || reason(&text).contains("have to be"),
            "{text}"
        );
    }
    let slow = "source: x\nserver: {cores: 1, rate_per_core: 1, latency: {limit_us: 1, percent: 101}}";
    assert!(reason(slow).contains("`percent` of at most 100"), "{}", reason(slow));
    assert!(reason("source: x\nprogram: {replicas: 1}").contains("receivers"));
    for replicas in ["0", "4294967296"] {
        let text =
            format!("source: x\nprogram: {{replicas: {replicas}, receivers: 1, streams: 1, branches: 1, unicast: 1}}");
        assert_eq!(
            reason(&text),
            "mine: the sizes of a `program` have to be from 1 to 4294967295"
        );
    }
    assert!(reason("source: x\nserver: {cores: 1, rate_per_cor: 1}").contains("rate_per_cor"));
}

#[test]
fn plan_of_several_cores_counts_their_contention() {
    let part = |cores: u64, contention: u64, resource: &str| {
        let mut file = shipped("weir-udp");
        let Machine::Server(server) = &mut file.machine else {
            panic!("it is a server")
        };
        (server.cores, server.contention_permille, server.base_us) = (cores, contention, 0);
        let plan = Plan::new(&file, &mix("1,8,2,720p,yes,,"));
        let used = plan.resources.into_iter().find(|used| used.resource == resource);
        let used = used.expect("a server has it");
        (used.supply.expect("it is limited"), used.used)
    };
    let alone = part(1, 0, "cores").0;
    assert_eq!(part(1, 100, "cores").0, alone, "one core waits for no other");
    assert_eq!(part(32, 0, "cores").0, 32 * alone);
    // Two cores at 1.1 times the time of one, and 32 at 4.1 times.
    for (cores, permille) in [(2, 1_100), (32, 4_100)] {
        let expected = cores * 1_000_000_000 * 1_000 / permille / 100 * 83;
        assert_eq!(part(cores, 100, "cores").0, expected, "{cores} cores");
    }
    // Nine packets of a frame to seven receivers, who are all at one worker.
    let frame = part(2, 0, "latency").1;
    assert_eq!(part(2, 100, "latency").1, (frame * 1_100).div_ceil(1_000));
    assert_eq!(
        part(2, 100, "agent"),
        part(2, 0, "agent"),
        "its thread was not measured so"
    );
}

#[test]
fn plan_says_what_is_extrapolated() {
    let note = |measured: u64, contention: u64| {
        let mut file = shipped("weir-udp");
        let Machine::Server(server) = &mut file.machine else {
            panic!("it is a server")
        };
        (server.cores_measured, server.contention_permille) = (Some(measured), contention);
        file.note()
    };
    let one = note(1, 0).expect("a note");
    assert!(one.contains("measured on 1 core; 32 are its multiple"), "{one}");
    let two = note(2, 45).expect("a note");
    assert!(two.contains("measured on 1 to 2 cores; 32 are extrapolated"), "{two}");
    assert!(two.contains("4.5 % for each further core"), "{two}");
    assert_eq!(note(32, 45), None);
}

#[test]
fn tables_files_and_drawings_have_every_device() {
    let devices = DeviceFile::all_shipped();
    let mix = Mix::shipped("campus-clear").expect("it is shipped");
    let plans: Vec<_> = devices.iter().map(|device| Plan::new(device, &mix)).collect();
    let texts = [
        report::table(&mix, &plans),
        report::csv(&plans),
        report::drawing(&mix, &devices, &plans),
    ];
    for (text, device) in texts
        .iter()
        .flat_map(|text| devices.iter().map(move |device| (text, device)))
    {
        assert!(text.contains(&device.name), "{} in\n{text}", device.name);
    }
}

fn any_row() -> impl Strategy<Value = Row> {
    let adaptation = prop::sample::select(vec![Adaptation::None, Adaptation::Receivers, Adaptation::Pairs]);
    let people = (2_u64..=1_000).prop_flat_map(|all| (Just(all), 1..=all));
    let quality = prop::sample::select(QUALITIES[..8].to_vec());
    let answer = prop::sample::select(vec![None, Some(planning::Answer::Yes), Some(planning::Answer::No)]);
    (
        1_u64..=1_000_000_000,
        people,
        quality,
        adaptation,
        answer.clone(),
        answer,
    )
        .prop_map(
            |(count, (participants, senders), (quality, _), adaptation, encrypted, audio)| Row {
                count,
                participants,
                senders,
                quality: quality.to_owned(),
                encrypted,
                adaptation: Some(adaptation),
                audio,
            },
        )
}

/// A server with any numbers that a file may have.
fn any_server() -> impl Strategy<Value = String> {
    let number = || prop_oneof![0_u64..1_000, any::<u64>()];
    let cost = (0_u64..2_000_000, 0_u64..2_000_000, 0_u64..2_000_000);
    let times = prop::array::uniform6(0_u64..1_200);
    (number(), number(), cost, times, prop::array::uniform5(number())).prop_map(
        |(cores, bandwidth, (packet, replica, receiver), times, memory)| {
            let ([idle, agent, adaptation, limit, percent, run], [total, base, participant, subscription, stream]) =
                (times, memory);
            format!(
                "source: any\nserver:\n  cores: {cores}\n  bandwidth: {bandwidth}\n  base_us: {idle}000\n  \
                 agent_us: {agent}000\n  adaptation_percent: {adaptation}\n  latency: {{limit_us: {limit}0000, \
                 percent: {percent}, run_ns: {run}000}}\n  srtp: {{packet_ns: {packet}, \
                 replica_ns: {replica}, receiver_us: {receiver}}}\n  memory: {{total: {total}, base: {base}, \
                 participant: {participant}, subscription: {subscription}, stream: {stream}}}\n"
            )
        },
    )
}

proptest! {
    #[test]
    fn any_device_file_is_refused_or_can_be_planned_on(text in any_server(), row in any_row()) {
        if let Ok(device) = DeviceFile::parse("any", &text) {
            let plan = Plan::new(&device, &Mix::of("", &row).expect("in range"));
            prop_assert_eq!(plan.devices.is_some(), plan.meetings > 0);
        }
    }

    #[test]
    fn any_text_is_a_mix_or_is_refused(
        text in "\\PC{0,200}",
        at in any::<prop::sample::Index>(),
        mix in prop::sample::select(MIXES.to_vec()),
    ) {
        let mut edited = mix.1.to_owned();
        let positions: Vec<_> = edited.char_indices().map(|(at, _)| at).collect();
        edited.insert_str(positions[at.index(positions.len())], &text);
        for text in [&text, &edited] {
            if let Ok(mix) = Mix::parse("any", text) {
                prop_assert!(mix.meetings() > 0 && !report::table(&mix, &[]).is_empty());
            }
        }
    }

    #[test]
    fn no_resource_is_planned_beyond_its_limit(rows in prop::collection::vec(any_row(), 1..5)) {
        let kinds = rows.iter().flat_map(|row| Mix::of("", row).expect("in range").kinds).collect();
        let mix = Mix { name: "any".to_owned(), kinds };
        for device in DEVICES.iter() {
            let plan = Plan::new(device, &mix);
            let share = plan.meetings as f64 / plan.wanted as f64;
            for used in &plan.resources {
                let Some(supply) = used.supply.filter(|_| !["replica ids", "latency"].contains(&used.resource)) else { continue };
                prop_assert!(used.used as f64 * share <= supply as f64 * 1.000_001, "{plan:?}");
            }
            let fits = plan.devices.map(|devices| devices as u128 * u128::from(plan.meetings));
            prop_assert!(fits.is_none_or(|all| all >= u128::from(plan.wanted)));
        }
    }

    #[test]
    fn more_meetings_never_need_fewer_devices(row in any_row(), more in 1_u64..1_000) {
        let mut larger = row.clone();
        larger.count = (row.count + more).min(1_000_000_000);
        let devices = |row: &Row, device: &DeviceFile| Plan::new(device, &Mix::of("", row).expect("in range")).devices;
        for device in DEVICES.iter() {
            prop_assert!(devices(&row, device) <= devices(&larger, device));
        }
    }
}
