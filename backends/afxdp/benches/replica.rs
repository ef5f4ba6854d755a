//! Measures the cost of a replica on a cable, by ring and by socket, in nanoseconds of the worker's
//! processor time, including the kernel's work.
//!
//! `cargo bench -p backend-afxdp --bench replica`, as root. One publisher sends packets of 1,200
//! bytes in bursts of one, two and three every 5 ms, as libwebrtc paces a video. Fifty receivers
//! get them encrypted. At the far end of the cable an XDP program drops them. `-- rings 2 400` or
//! `-- sockets 2 400` runs one plane with one burst size and that many bursts, for perf.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use backend_udp::UdpPlane;
use dataplane::{Counter, DataPlane};
use support::*;
use veth::{Pair, pair_or_skip};

const RECEIVERS: u32 = 50;
const PACKET: usize = 1_200;
const BURSTS: u16 = 400;
const INTERVAL: Duration = Duration::from_millis(5);
const ROUNDS: usize = 7;

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Sockets,
    Rings,
}

fn main() {
    let Some(pair) = pair_or_skip(1) else { return };
    drop_at_far_end(&pair);
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    match words.as_slice() {
        [way, burst, rest @ ..] => {
            let bursts = rest
                .first()
                .map_or(BURSTS, |bursts| bursts.parse().expect("a number of bursts"));
            let way = if way == "rings" { Way::Rings } else { Way::Sockets };
            println!(
                "{:.0} ns",
                measure(&pair, way, burst.parse().expect("a number of packets"), bursts)
            );
        }
        _ => (1..=3).for_each(|burst| compare(&pair, burst)),
    }
}

/// Alternating runs, and their medians.
fn compare(pair: &Pair, burst: u16) {
    let (mut sockets, mut rings, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (socket, ring) = (
            measure(pair, Way::Sockets, burst, BURSTS),
            measure(pair, Way::Rings, burst, BURSTS),
        );
        sockets.push(socket);
        rings.push(ring);
        ratios.push(ring / socket);
    }
    let [sockets, rings, ratio] = [sockets, rings, ratios].map(|mut runs| {
        runs.sort_by(f64::total_cmp);
        (runs[0], runs[ROUNDS / 2], runs[ROUNDS - 1])
    });
    let show = |(least, median, most): (f64, f64, f64)| format!("{median:.0} ({least:.0}-{most:.0}) ns");
    println!(
        "bursts of {burst}: sockets {}, rings {}, ratio {:.2} ({:.2}-{:.2})",
        show(sockets),
        show(rings),
        ratio.1,
        ratio.0,
        ratio.2
    );
}

/// Nanoseconds of the worker for each replica.
fn measure(pair: &Pair, way: Way, burst: u16, bursts: u16) -> f64 {
    let camera = far_socket(pair, pair.far.v4.into());
    let (mut plane, near) = start(pair, way);
    publish(&mut *plane, near, camera.local_addr().expect("it is bound"));
    for number in 1..=RECEIVERS {
        let receiver = SocketAddr::new(pair.far.v4.into(), 20_000 + number as u16);
        watch(&mut *plane, number, near, receiver, srtp(number));
    }
    let mut sequence = 0;
    let mut send_bursts = |count: u16| {
        let mut due = Instant::now();
        for _ in 0..count {
            for _ in 0..burst {
                camera
                    .send_to(&packet(sequence, PACKET), near)
                    .expect("the way is open");
                sequence += 1;
            }
            due += INTERVAL;
            sleep(due.saturating_duration_since(Instant::now()));
        }
    };
    send_bursts(40);
    let before = (plane.counters()[Counter::Forwarded], worker_time());
    send_bursts(bursts);
    let after = (plane.counters()[Counter::Forwarded], worker_time());
    let replicas = after.0 - before.0;
    assert_eq!(replicas, u64::from(RECEIVERS) * u64::from(burst) * u64::from(bursts));
    (after.1 - before.1) as f64 / replicas as f64
}

fn start(pair: &Pair, way: Way) -> (Box<dyn DataPlane>, SocketAddr) {
    match way {
        Way::Sockets => {
            let udp = udp(pair, 1);
            let start = || UdpPlane::start(udp, clock(), Arc::new(|| {}));
            let plane = pair.near.run(start).expect("sockets work");
            let address = plane.local_addr();
            (Box::new(plane), address)
        }
        Way::Rings => {
            let plane = rings(pair, 1).expect("rings work");
            let address = plane.local_addr();
            (Box::new(plane), address)
        }
    }
}

/// Processor time of all workers so far, in nanoseconds.
fn worker_time() -> u64 {
    let threads = fs::read_dir("/proc/self/task").expect("there are threads");
    let times = threads.filter_map(|thread| {
        let folder = thread.ok()?.path();
        let name = fs::read_to_string(folder.join("comm")).ok()?;
        let times = fs::read_to_string(folder.join("schedstat")).ok()?;
        let time = times.split(' ').next()?.parse::<u64>().ok()?;
        name.starts_with("media-").then_some(time)
    });
    times.sum()
}

fn drop_at_far_end(pair: &Pair) {
    let object = std::env::temp_dir().join(format!("drop-{}.bpf.o", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/drop.bpf.c");
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let compiled = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", &headers, "-c", source, "-o"])
        .arg(&object)
        .status();
    assert!(compiled.is_ok_and(|status| status.success()), "clang compiles {source}");
    let attach = format!("link set far0 xdpdrv obj {} sec xdp", object.display());
    pair.far.ip(&attach).unwrap_or_else(|error| panic!("{error}"));
    let _ = fs::remove_file(object);
}
