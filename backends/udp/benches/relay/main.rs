//! The cost of relaying a packet: instructions of a 172-byte packet from one port to
//! another, in user space and in the kernel, beside a loop that receives and sends and nothing
//! else.
//!
//! `cargo bench -p backend-udp --bench relay`. Alone: each packet wakes its worker. Together: 64
//! calls' packets arrive at once. `cargo bench -p backend-udp --bench relay -- load 2000 0`: so
//! many calls at once, workers that wait so many microseconds for more, and how many packets get
//! lost or late.
//!
//! Counting needs `perf_event_paranoid` of 1 or less; without, there is only processor time.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

mod load;

#[path = "../../tests/support/mod.rs"]
mod support;

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use backend_udp::srtp::{Sealer, rtp_overhead};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Accept, DataPlane, Hop, Path, Relay, RelayProtection, SrtpProfile, Update};
use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter};
use support::*;

const CALLS: usize = 64;
const ROUNDS: u16 = 300;
const PAYLOAD: usize = 160;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "load") {
        let number = |at: usize, usual| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(usual);
        return load::run(number(1, 2_000), Duration::from_micros(number(2, 0).into()));
    }
    println!("{:<34} {:>22} {:>22}", "", "alone", "together");
    println!("{:<34} {:>22} {:>22}", "", "user + kernel, us", "user + kernel, us");
    bare("receive and send, nothing else");
    let cm = SrtpProfile::AesCm128HmacSha1_80;
    let gcm = SrtpProfile::AeadAes128Gcm;
    relayed("clear to clear", None, None);
    relayed("SRTP (CM, HMAC-SHA1) to clear", Some(cm), None);
    relayed("clear to SRTP (CM, HMAC-SHA1)", None, Some(cm));
    relayed("SRTP (GCM) to clear", Some(gcm), None);
    relayed("SRTP (CM) to SRTP (GCM)", Some(cm), Some(gcm));
}

/// Sockets of our own that read and send on what they read.
fn bare(name: &str) {
    let field = Field::new(None);
    let stop = Arc::new(AtomicBool::new(false));
    let ports: Vec<UdpSocket> = (0..CALLS).map(|_| socket()).collect();
    let at: Vec<SocketAddr> = ports.iter().map(|port| port.local_addr().unwrap()).collect();
    let to = field.receiver.local_addr().unwrap();
    let loop_stop = stop.clone();
    // One port each in turn, blocking: the least that reading and sending costs.
    let bare = thread::Builder::new().name("bare".into()).spawn(move || {
        let mut buffer = [0; 2_000];
        while !loop_stop.load(Ordering::Relaxed) {
            for port in &ports {
                let Ok((len, _)) = port.recv_from(&mut buffer) else {
                    return;
                };
                port.send_to(&buffer[..len], to).unwrap();
            }
        }
    });
    let bare = bare.unwrap();
    field.measure(name, "bare", &at);
    stop.store(true, Ordering::Relaxed);
    at.iter().for_each(|at| drop(field.sender.send_to(b"enough", at)));
    bare.join().unwrap();
}

fn relayed(name: &str, ingress_protection: Option<SrtpProfile>, egress_protection: Option<SrtpProfile>) {
    let config = UdpConfig {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        workers: 1,
        ..UdpConfig::default()
    };
    let field = Field::new(ingress_protection);
    let mut plane = UdpPlane::start(config, clock(), Arc::new(|| {})).unwrap();
    let mut at = Vec::new();
    for call in 0..CALLS {
        let (a, b) = (free(), free());
        let hop = Hop {
            path: Path {
                local: b,
                remote: field.receiver.local_addr().unwrap(),
            },
            egress_protection: egress_protection.map_or(RelayProtection::Clear, |profile| {
                RelayProtection::Srtp(key(profile, 100 + call as u8))
            }),
            tos: None,
        };
        let relay = |accept, ingress_protection, rtp| {
            Box::new(Relay {
                accept,
                ingress_protection,
                terminated: false,
                rtp,
                rtcp: None,
            })
        };
        let accept = Accept::Only(field.sender.local_addr().unwrap());
        let covers =
            ingress_protection.map_or(RelayProtection::Clear, |profile| RelayProtection::Srtp(key(profile, 1)));
        let entries = [
            (b, relay(Accept::Nobody, RelayProtection::Clear, None)),
            (a, relay(accept, covers, Some(hop))),
        ];
        for (at, relay) in entries {
            plane.write(Instant::now(), Update::SetRelay(at, relay)).unwrap();
        }
        at.push(a);
    }
    wait_until("the entries are applied", || plane.is_applied());
    field.measure(name, "relay-0", &at);
}

/// The sender and the receiver.
struct Field {
    sender: UdpSocket,
    receiver: UdpSocket,
    /// By round.
    packets: Vec<Vec<u8>>,
}

impl Field {
    fn new(ingress_protection: Option<SrtpProfile>) -> Self {
        let mut sealer = ingress_protection.map(|profile| (profile, Sealer::new(&key(profile, 1))));
        let packets = (0..2 * ROUNDS).map(|number| {
            let mut packet = rtp(7, 0, number, &[1; PAYLOAD]);
            if let Some((profile, sealer)) = &mut sealer {
                let len = packet.len();
                packet.resize(len + rtp_overhead(*profile), 0);
                sealer.seal_rtp(&mut packet, len, 12, number.into());
            }
            packet
        });
        Field {
            sender: socket(),
            receiver: socket(),
            packets: packets.collect(),
        }
    }

    fn measure(&self, name: &str, thread: &str, at: &[SocketAddr]) {
        let worker = worker(thread);
        let (alone, together) = self.packets.split_at(ROUNDS.into());
        let mut buffer = [0; 2_000];
        let mut receive = || {
            self.receiver.recv(&mut buffer).expect("it passes within the time");
        };
        let alone = count(worker, || {
            for (packet, at) in alone.iter().flat_map(|packet| at.iter().map(move |at| (packet, at))) {
                self.sender.send_to(packet, at).unwrap();
                receive();
            }
        });
        let together = count(worker, || {
            for packet in together {
                for at in at {
                    self.sender.send_to(packet, at).unwrap();
                }
                at.iter().for_each(|_| receive());
            }
        });
        println!("{name:<34} {alone:>22} {together:>22}");
    }
}

/// The cost of each packet in a thread while `run` runs.
fn count(thread: i32, run: impl FnOnce()) -> String {
    let user = counter(thread, Hardware::INSTRUCTIONS, true);
    let both = counter(thread, Hardware::INSTRUCTIONS, false);
    let time = counter(thread, Software::TASK_CLOCK, false);
    let mut counters: Vec<Counter> = [user, both, time].into_iter().flatten().collect();
    counters.iter_mut().for_each(|counter| counter.enable().unwrap());
    run();
    let packets = u64::from(ROUNDS) * CALLS as u64;
    let per_packet: Vec<u64> = counters
        .iter_mut()
        .map(|counter| counter.read().unwrap() / packets)
        .collect();
    match per_packet[..] {
        [user, both, time] => format!("{user} + {}, {:.2}", both - user, time as f64 / 1e3),
        [time] => format!("{:.2} us", time as f64 / 1e3),
        _ => "not countable".into(),
    }
}

/// The processor time of a thread from now on, in nanoseconds.
fn cpu(thread: i32) -> Option<Counter> {
    let mut counter = counter(thread, Software::TASK_CLOCK, false)?;
    counter.enable().ok()?;
    Some(counter)
}

fn counter(thread: i32, event: impl Into<Event>, only_user: bool) -> Option<Counter> {
    let mut builder = Builder::new().observe_pid(thread).any_cpu().kind(event);
    if !only_user {
        builder.include_kernel();
    }
    builder.build().ok()
}

/// The thread of this name.
fn worker(name: &str) -> i32 {
    let mut found = None;
    wait_until("the thread is there", || {
        found = fs::read_dir("/proc/self/task").unwrap().find_map(|task| {
            let task = task.unwrap();
            let comm = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            (comm.trim() == name).then(|| task.file_name().to_string_lossy().parse().unwrap())
        });
        found.is_some()
    });
    found.unwrap()
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

fn free() -> SocketAddr {
    socket().local_addr().unwrap()
}
