//! Every vector on every device.

mod support;

use std::collections::{BTreeSet, HashSet};
use std::time::Instant;

use conformance::Device;
use conformance::device::{BehindKernel, Family, InlineDevice, ModelDevice, Rings, SocketDevice};
use conformance::text::{Names, Statement, Vector, parse};
use conformance::vector::{Failure, run};
use dataplane::limits::EARLY_PACKETS_MAX;
use dataplane::{Counter, WriteError};
use support::vectors;

/// Runs them all on fresh devices and reports every failure, not only the first.
fn run_all(device: impl Fn(Instant) -> Box<dyn Device>) {
    let mut failures = Vec::new();
    let all = vectors(|_, text| text);
    for (vector, names) in &all {
        failures.extend(run_on(&device, vector, names).err());
    }
    let report: String = failures.iter().map(|failure| format!("{failure}\n")).collect();
    assert!(
        failures.is_empty(),
        "{} of {} vectors failed\n\n{report}",
        failures.len(),
        all.len()
    );
}

/// Runs a vector on a fresh device that can run it. A device on real time whose worker was late
/// gets two more attempts.
fn run_on(device: impl Fn(Instant) -> Box<dyn Device>, vector: &Vector, names: &Names) -> Result<(), Box<Failure>> {
    let mut attempts_left = 2;
    loop {
        let start = now();
        let mut device = device(start);
        let has_time = device.keeps_virtual_time() || !vector.needs_virtual_time;
        let has_addresses = device.has_own_addresses() || !vector.needs_own_addresses;
        let has_rtcp = device.forwards_rtcp() || !vector.needs_forwarded_rtcp;
        if !has_time || !has_addresses || !has_rtcp {
            return Ok(());
        }
        let outcome = run(vector, names, &mut *device, start);
        if outcome.is_ok() || !device.was_late() || attempts_left == 0 {
            return outcome;
        }
        attempts_left -= 1;
    }
}

#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn the_model_keeps_every_vector() {
    run_all(|start| Box::new(ModelDevice::new(start)));
}

#[test]
fn one_shard_keeps_every_vector() {
    run_all(|start| Box::new(InlineDevice::new(1, start)));
}

#[test]
fn three_shards_keep_every_vector() {
    run_all(|start| Box::new(InlineDevice::new(3, start)));
}

#[test]
fn sockets_keep_every_vector_over_ipv4() {
    run_all(|start| Box::new(SocketDevice::start(Family::V4, 1, start).expect("loopback works")));
}

#[test]
fn sockets_keep_every_vector_over_ipv6() {
    run_all(|start| Box::new(SocketDevice::start(Family::V6, 2, start).expect("loopback works")));
}

#[test]
fn sockets_keep_every_vector_over_both() {
    run_all(|start| Box::new(SocketDevice::start(Family::Both, 2, start).expect("loopback works")));
}

/// Each path's first datagram is sent by socket, while the route to it is looked up, and so are
/// packets other than RTP; but most must use the rings.
fn rings_keep_every_vector(family: Family, workers: usize, queues: usize) {
    use backend_afxdp::Counter::{Received, Sent, Unreadable};
    let Some(rings) = Rings::with_queues_or_skip(workers, queues) else {
        return;
    };
    run_all(|start| rings.device(family, start));
    let counted = rings.counted();
    println!("{counted:?}");
    assert!(counted[Received] > 400 && counted[Sent] > 150, "{counted:?}");
    assert_eq!(counted[Unreadable], 0);
}

#[test]
fn rings_keep_every_vector_over_ipv4() {
    rings_keep_every_vector(Family::V4, 1, 1);
}

#[test]
fn rings_keep_every_vector_over_ipv6() {
    rings_keep_every_vector(Family::V6, 2, 2);
}

#[test]
fn rings_keep_every_vector_over_both_with_a_worker_that_has_none() {
    rings_keep_every_vector(Family::Both, 2, 1);
}

fn the_kernel_before_sockets_keeps_every_vector(family: Family, workers: usize) {
    let Some(behind) = BehindKernel::or_skip() else { return };
    run_all(|start| behind.device(family, workers, start));
    let counted = behind.counted();
    println!("{counted:?}");
    assert!(counted[backend_ebpf::Counter::Relayed] >= 5, "{counted:?}");
}

#[test]
fn the_kernel_before_sockets_keeps_every_vector_over_ipv4() {
    the_kernel_before_sockets_keeps_every_vector(Family::V4, 1);
}

#[test]
fn the_kernel_before_sockets_keeps_every_vector_over_ipv6() {
    the_kernel_before_sockets_keeps_every_vector(Family::V6, 2);
}

/// A vector of this many packets to a leg without keys, which it gets then.
fn early_packets(packets: usize) -> String {
    let entries = "# As many early packets are kept as may be.\nleg alice\nleg bob pending\n\
        stream alice:0x11 video types 96=VP8\n\
        replica cam to bob ssrc 0x22 first 0 from alice:0x11 types 96>102\n";
    let send = |sequence| {
        let frame = if sequence == 0 { "key" } else { "rest" };
        format!("send alice rtp ssrc 0x11 pt 96 seq {sequence} ts 0 vp8 {frame}\n")
    };
    let expect = |sequence| format!("expect bob rtp seq {sequence}\n");
    let (sent, forgotten) = match packets <= EARLY_PACKETS_MAX {
        true => (packets, 0),
        false => (0, EARLY_PACKETS_MAX),
    };
    let sends: String = (0..packets).map(send).collect();
    let expected: String = (0..sent).map(expect).collect();
    let arrived = format!("received {packets}, not_ready {packets}, not_selected {packets}");
    let outcome = format!("forwarded {sent}, early_forgotten {forgotten}");
    format!("{entries}{sends}change leg bob clear\n{expected}count {arrived}, {outcome}\n")
}

/// Their limit takes too many lines for a file.
#[test]
fn one_packet_too_many_forgets_all_early_packets() {
    for packets in [EARLY_PACKETS_MAX, EARLY_PACKETS_MAX + 1] {
        let (vector, names) = parse("early", &early_packets(packets)).unwrap_or_else(|problem| panic!("{problem}"));
        let start = now();
        let model = Box::new(ModelDevice::new(start));
        let devices: [Box<dyn Device>; 2] = [model, Box::new(InlineDevice::new(2, start))];
        for mut device in devices {
            run(&vector, &names, &mut *device, start).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

/// Counters that no vector can reach: queues, sockets and two to the forty-eighth packets.
const OUT_OF_REACH: [Counter; 7] = [
    Counter::ReceiveOverflow,
    Counter::PuntQueueFull,
    Counter::Overloaded,
    Counter::WorkerQueueFull,
    Counter::PaceQueueFull,
    Counter::SendFailed,
    Counter::KeysExhausted,
];

#[test]
fn every_counter_and_every_refusal_has_a_vector() {
    let all = vectors(|_, text| text);
    let lines = || all.iter().flat_map(|(vector, _)| &vector.lines);
    let counted: BTreeSet<Counter> = lines()
        .filter_map(|line| match &line.statement {
            Statement::Count(counts) => Some(counts.iter().map(|(counter, _)| *counter)),
            _ => None,
        })
        .flatten()
        .collect();
    for counter in Counter::ALL {
        assert!(
            counted.contains(counter) || OUT_OF_REACH.contains(counter),
            "{}",
            counter.name()
        );
    }
    let refused: HashSet<WriteError> = lines()
        .filter_map(|line| match &line.statement {
            Statement::Refuse(error, _) => Some(*error),
            _ => None,
        })
        .collect();
    // All but `PortTaken`, which is the operating system's.
    assert_eq!(refused.len(), 11, "{refused:?}");
}

#[test]
fn an_unreadable_line_is_named_by_file_and_number() {
    let problem = |text: &str| parse("x.vector", text).map(drop).unwrap_err().0;
    let start = "# A claim.\nleg alice\n";
    assert!(problem("leg alice").starts_with("x.vector:1: the first line"));
    for (line, what) in [
        ("fly alice", "`fly` is not a verb"),
        ("leg bob in mid=0", "0 is reserved"),
        ("leg bob in mud=1", "`mud` is not a header extension"),
        ("stream alice video", "`alice` is not a stream"),
        ("stream alice:0x11 video types 96=VP7", "`VP7` is not a codec"),
        ("replica r to alice ssrc", "an SSRC is missing"),
        ("change replica r paused", "nothing to change"),
        ("send alice rtp seq 70000", "`70000` is not a sequence number"),
        ("send alice rtp vp8 maybe", "`maybe` is not key, delta or rest"),
        ("send alice hex 0g", "not bytes in hexadecimal"),
        ("count received 1, lost 2", "`lost` is not a counter"),
        ("refuse loudly leg bob", "`loudly` is not a write error"),
        ("wait 5", "`5` is not a time"),
        ("remove leg alice now", "`now` is not understood here"),
    ] {
        let problem = problem(&format!("{start}{line}"));
        assert!(
            problem.starts_with("x.vector:3: ") && problem.contains(what),
            "{problem}"
        );
    }
}

#[test]
fn an_expectation_that_does_not_hold_is_shown_with_both_sides() {
    let text = "# A claim.\nleg alice\nleg bob\nstream alice:0x11 audio types 111=opus\n\
        replica ear to bob ssrc 0x21 first 1 from alice:0x11 types 111>111\n\
        send alice rtp ssrc 0x11 pt 111 seq 9 opus\nexpect bob rtp seq 2\n";
    let (vector, names) = parse("x.vector", text).expect("it is understood");
    let start = now();
    let failure = run(&vector, &names, &mut ModelDevice::new(start), start).expect_err("1 is not 2");
    let shown = failure.to_string();
    for part in [
        "A claim.",
        "x.vector:7: on model",
        "seq is 1, not 2",
        "got rtp ssrc 0x21 pt 111 seq 1",
        "in hex 806f0001",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}
