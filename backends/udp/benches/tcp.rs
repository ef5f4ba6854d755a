//! The cost of a packet over TCP beside UDP: processor time of the worker, the kernel's part
//! included, for each packet that arrives and for each copy that is sent, encrypted, over loopback.
//!
//! `cargo bench -p backend-udp --bench tcp`. A frame has eight packets of 1,200 bytes, which are
//! sent to each of twenty receivers together.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Counter, DataPlane, Event, Path, Protection, SrtpProfile};
use support::*;
use wire::framing;

const RECEIVERS: u32 = 20;
const FRAMES: u16 = 400;
const PACKETS_PER_FRAME: u16 = 8;
const PACKET: usize = 1_200;
const RUNS: usize = 5;
const PROFILE: SrtpProfile = SrtpProfile::AeadAes128Gcm;
const VIDEO: u32 = 0x11;
const STUN: [u8; 20] = [
    0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];

fn main() {
    println!("{:<44} {:>12}", "", "ns a packet");
    let row = |name: &str, nanoseconds: f64| println!("{name:<44} {nanoseconds:>12.0}");
    let [nobody_udp, nobody_tcp] = [false, true].map(|tcp| median(|| measure(tcp, false, 0)));
    row("arrives over UDP", nobody_udp / packets());
    row("arrives over TCP", nobody_tcp / packets());
    let copies = packets() * f64::from(RECEIVERS);
    for (name, tcp) in [("a copy over UDP", false), ("a copy over TCP", true)] {
        let all = median(|| measure(false, tcp, RECEIVERS));
        row(name, (all - nobody_udp) / copies);
    }
}

fn packets() -> f64 {
    f64::from(FRAMES) * f64::from(PACKETS_PER_FRAME)
}

fn median(run: impl Fn() -> u64) -> f64 {
    let mut runs: Vec<u64> = (0..RUNS).map(|_| run()).collect();
    runs.sort_unstable();
    runs[RUNS / 2] as f64
}

/// The other end of a leg.
enum End {
    Udp(UdpSocket),
    Tcp(TcpStream),
}

impl End {
    fn open(plane: &mut UdpPlane, tcp: bool, id: u32, protection: Protection) -> Self {
        let (end, path) = match tcp {
            false => {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                socket.connect(plane.local_addr()).unwrap();
                socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                let path = between(plane.local_addr(), socket.local_addr().unwrap());
                (End::Udp(socket), path)
            }
            true => {
                let mut stream = TcpStream::connect(plane.tcp_addrs()[0]).unwrap();
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                stream.write_all(&framed(&STUN)).unwrap();
                wait_until("the check is heard", || {
                    matches!(plane.poll(), Some(Event::Punt { .. }))
                });
                let path = between(plane.tcp_addrs()[0], stream.local_addr().unwrap());
                (End::Tcp(stream), path)
            }
        };
        set_leg(plane, id, path, protection);
        end
    }

    fn send(&mut self, packet: &[u8]) {
        match self {
            End::Udp(socket) => {
                socket.send(packet).unwrap();
            }
            End::Tcp(stream) => stream.write_all(&framed(packet)).unwrap(),
        }
    }

    /// Reads until nothing arrives any more.
    fn drain(self) {
        let mut buffer = vec![0; 1 << 16];
        match self {
            End::Udp(socket) => while socket.recv(&mut buffer).is_ok() {},
            End::Tcp(mut stream) => while stream.read(&mut buffer).is_ok_and(|len| len > 0) {},
        }
    }
}

fn between(local: SocketAddr, remote: SocketAddr) -> Path {
    Path { local, remote }
}

fn framed(datagram: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    framing::write(datagram, &mut frame);
    frame
}

/// Nanoseconds of the worker for a video that arrives over TCP or UDP, and is sent to receivers
/// over TCP or UDP.
fn measure(from_tcp: bool, to_tcp: bool, receivers: u32) -> u64 {
    let config = UdpConfig {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        tcp_port: Some(0),
        workers: 1,
        ..UdpConfig::default()
    };
    let mut plane = UdpPlane::start(config, clock(), Arc::new(|| {})).unwrap();
    let mut publisher = End::open(&mut plane, from_tcp, 0, srtp(PROFILE, 0));
    set_stream(&mut plane, stream_key(0, VIDEO), video());
    let mut ends = Vec::new();
    for id in 1..=receivers {
        ends.push(End::open(&mut plane, to_tcp, id, srtp(PROFILE, id as u8)));
        set_replica(&mut plane, id, replica(id, 1_000 * id, stream_key(0, VIDEO)));
    }
    wait_until("the entries are applied", || plane.is_applied());
    let readers: Vec<_> = ends.into_iter().map(|end| thread::spawn(move || end.drain())).collect();
    let mut peer = Peer::new(PROFILE, 0);
    let before = nanoseconds_of("media-0");
    for frame in 0..FRAMES {
        for packet in 0..PACKETS_PER_FRAME {
            let number = frame * PACKETS_PER_FRAME + packet;
            publisher.send(&peer.seal(&vp8(VIDEO, number, KEY_FRAME, PACKET)));
        }
        let arrived = u64::from(frame + 1) * u64::from(PACKETS_PER_FRAME);
        let counts = |plane: &mut UdpPlane| {
            while plane.poll().is_some() {}
            plane.counters()
        };
        let due = Instant::now() + Duration::from_secs(5);
        let is_done = |plane: &mut UdpPlane| match receivers {
            0 => counts(plane)[Counter::NoReplica] >= arrived,
            _ => counts(plane)[Counter::Forwarded] >= arrived * u64::from(receivers),
        };
        while !is_done(&mut plane) {
            assert!(Instant::now() < due, "frame {frame} does not pass");
            thread::yield_now();
        }
    }
    let taken = nanoseconds_of("media-0") - before;
    assert_eq!(plane.counters()[Counter::SendFailed], 0, "nothing is lost");
    drop((plane, publisher));
    for reader in readers {
        reader.join().unwrap();
    }
    taken
}

/// The processor time of this process's thread of a name so far.
fn nanoseconds_of(name: &str) -> u64 {
    let mut tasks = fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| task.unwrap().path());
    let is_it = |task: &std::path::PathBuf| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == name);
    let task = tasks.find(is_it).expect("the thread runs");
    let times = fs::read_to_string(task.join("schedstat")).unwrap();
    times
        .split(' ')
        .next()
        .and_then(|time| time.parse().ok())
        .expect("a time")
}
