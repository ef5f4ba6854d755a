//! What a replica costs on a cable: by ring beside by socket, nanoseconds of the worker's processor time, everything the kernel does in it included.
//!
//! `cargo bench -p backend-afxdp --bench replica`, as root. One publisher sends packets of 1,200 bytes in bursts of one, two and three every 5 ms, as
//! libwebrtc paces a video; fifty receivers get them sealed. At the far end of the cable an XDP program drops them. With `-- rings 2 400` or
//! `-- sockets 2 400` there is one plane, one size of burst and so many of them, for perf.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use backend_afxdp::{AfxdpConfig, AfxdpPlane};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{
    Clock, Counter, DataPlane, Leg, LegId, MasterKey, Path, Protection, Replica, ReplicaFormat, ReplicaId, SrtpProfile,
    Stream, StreamFormat, StreamKey, Update,
};
use veth::{Pair, pair_or_skip};
use wire::codec::Layer;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, NtpTime, PayloadType, Ssrc};

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
    let camera = pair
        .far
        .run(|| UdpSocket::bind((pair.far.v4, 0)).expect("there are ports"));
    let (mut plane, near) = start(pair, way);
    fill_tables(&mut *plane, pair, near, camera.local_addr().expect("it is bound"));
    let mut sequence = 0;
    let mut send_bursts = |count: u16| {
        let mut due = Instant::now();
        for _ in 0..count {
            for _ in 0..burst {
                camera.send_to(&packet(sequence), near).expect("the way is open");
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

fn start(pair: &Pair, way: Way) -> (Box<dyn DataPlane + Send>, SocketAddr) {
    let udp = UdpConfig {
        addresses: vec![SocketAddr::new(pair.near.v4.into(), 0)],
        workers: 1,
        ..UdpConfig::default()
    };
    let clock = Clock {
        origin: Instant::now(),
        ntp: NtpTime(3_900_000_000 << 32),
    };
    let interfaces = vec![pair.near.interface.to_owned()];
    pair.near.run(|| match way {
        Way::Sockets => {
            let plane = UdpPlane::start(udp, clock, Arc::new(|| {})).expect("sockets work");
            let address = plane.local_addr();
            (Box::new(plane) as Box<dyn DataPlane + Send>, address)
        }
        Way::Rings => {
            let config = AfxdpConfig { udp, interfaces };
            let plane = AfxdpPlane::start(config, clock, Arc::new(|| {})).expect("rings work");
            let address = plane.local_addr();
            (Box::new(plane) as Box<dyn DataPlane + Send>, address)
        }
    })
}

fn fill_tables(plane: &mut dyn DataPlane, pair: &Pair, near: SocketAddr, camera: SocketAddr) {
    let mut write = |update| plane.write(Instant::now(), update).expect("there is room");
    write(Update::SetLeg(LegId(0), leg(near, camera, Protection::Clear)));
    let stream = StreamKey {
        leg: LegId(0),
        ssrc: Ssrc(1),
    };
    let payload_type = PayloadType::new(96).expect("below 128");
    let formats = vec![StreamFormat {
        payload_type,
        codec: Codec::Vp8,
        rtx: None,
    }];
    write(Update::SetStream(
        stream,
        Stream {
            kind: MediaKind::Video,
            formats,
            rtx: None,
            reference: None,
        },
    ));
    for number in 1..=RECEIVERS {
        let remote = SocketAddr::new(pair.far.v4.into(), 20_000 + number as u16);
        let key = |seed: u32| {
            MasterKey::new(SrtpProfile::AeadAes128Gcm, &[seed as u8; 16], &[seed as u8; 12]).expect("of these lengths")
        };
        let protection = Protection::Srtp {
            ingress: key(2 * number),
            egress: key(2 * number + 1),
        };
        write(Update::SetLeg(LegId(number), leg(near, remote, protection)));
        let replica = Replica {
            leg: LegId(number),
            ssrc: Ssrc(7),
            first_sequence: 100,
            rtx: None,
            formats: vec![ReplicaFormat {
                source: payload_type,
                payload_type,
                rtx: None,
                primary_only: false,
            }],
            mid: None,
            playout_delay: None,
            source: Some(stream),
            target: Layer::HIGHEST,
            paused: false,
        };
        write(Update::SetReplica(ReplicaId(number), replica));
    }
}

fn leg(local: SocketAddr, remote: SocketAddr, protection: Protection) -> Leg {
    let mut extensions = ExtensionMap::default();
    extensions
        .insert(ExtensionKind::TransportSequence, 3)
        .expect("a free id");
    Leg {
        paths: vec![Path { local, remote }],
        protection,
        extensions_in: extensions,
        extensions_out: extensions,
    }
}

/// A key frame in one packet of VP8.
fn packet(sequence: u16) -> Vec<u8> {
    let mut packet = vec![0x80, 96];
    packet.extend(sequence.to_be_bytes());
    packet.extend((u32::from(sequence) * 3_000).to_be_bytes());
    packet.extend(1_u32.to_be_bytes());
    packet.extend([0x10, 0]);
    packet.resize(PACKET, 0);
    packet
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
