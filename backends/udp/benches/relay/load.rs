//! Calls of two parties that send 50 packets a second each.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Accept, Counter, DataPlane, Hop, Path, Relay, RelayProtection, Update};

use crate::support::*;

const SECONDS: u32 = 20;
/// A packet of each party, every so often.
const INTERVAL: Duration = Duration::from_millis(20);
/// Parties do not send in step: so many groups, one after the other, every tenth of a millisecond.
const GROUPS: usize = 200;
const PAYLOAD: usize = 160;
/// Below the ports that the system hands out by itself.
const FIRST_PORT: u16 = 20_000;

/// So many calls, and workers that wait so long for more. Everything is in this process: the
/// machine pays for the parties' work, too.
pub(crate) fn run(calls: u16, coalesce: Duration) {
    let config = UdpConfig {
        coalesce,
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        workers: 1,
        ..UdpConfig::default()
    };
    let mut plane = UdpPlane::start(config, clock(), Arc::new(|| {})).unwrap();
    let (sender, receiver) = (party(), party());
    let ends = (sender.local_addr().unwrap(), receiver.local_addr().unwrap());
    let rtp_ports: Vec<SocketAddr> = (0..calls).flat_map(|call| enter(&mut plane, call, ends)).collect();
    wait_until("the entries are applied", || plane.is_applied());
    let worker = crate::worker("relay-0");
    let cpu = crate::cpu(worker);
    let origin = Instant::now();
    let sending = thread::spawn(move || send(&sender, &rtp_ports, origin));
    let mut delays = Vec::with_capacity(usize::from(calls) * 100 * SECONDS as usize + 1);
    let mut buffer = [0; 2_000];
    while let Ok(len) = receiver.recv(&mut buffer) {
        let sent = u64::from_be_bytes(buffer[len - 8..len].try_into().unwrap());
        delays.push(origin.elapsed().as_nanos() as u64 - sent);
    }
    let sent = sending.join().unwrap();
    delays.sort_unstable();
    let counters = plane.counters();
    println!("{} ports, {calls} calls, {SECONDS} s: {sent} packets sent", 4 * calls);
    println!("lost: {}", sent - delays.len() as u64);
    println!(
        "overflows: {}, not sent: {}",
        counters[Counter::ReceiveOverflow],
        counters[Counter::SendFailed]
    );
    for (name, part) in [("median", 0.5), ("99 %", 0.99), ("99.9 %", 0.999), ("longest", 1.0)] {
        let at = ((delays.len() - 1) as f64 * part) as usize;
        println!("{name}: {:.2} ms", delays[at] as f64 / 1e6);
    }
    if let Some(mut cpu) = cpu {
        let busy = cpu.read().unwrap() as f64 / 1e9;
        println!("the worker: {:.1} % of a processor", 100.0 * busy / f64::from(SECONDS));
    }
}

/// A call's four ports; returns the two that RTP arrives at.
fn enter(plane: &mut UdpPlane, call: u16, (from, to): (SocketAddr, SocketAddr)) -> [SocketAddr; 2] {
    let port = |number: u16| SocketAddr::new([127, 0, 0, 1].into(), FIRST_PORT + 4 * call + number);
    let hop = |local| Hop {
        path: Path { local, remote: to },
        egress_protection: RelayProtection::Clear,
        tos: None,
    };
    // RTP and RTCP of one party, RTP and RTCP of the other.
    for (at, rtp, rtcp) in [
        (0, Some(2), None),
        (1, None, Some(3)),
        (2, Some(0), None),
        (3, None, Some(1)),
    ] {
        let relay = Relay {
            accept: Accept::Only(from),
            ingress_protection: RelayProtection::Clear,
            terminated: false,
            rtp: rtp.map(|number| hop(port(number))),
            rtcp: rtcp.map(|number| hop(port(number))),
        };
        let update = Update::SetRelay(port(at), Box::new(relay));
        plane.write(Instant::now(), update).unwrap();
    }
    [port(0), port(2)]
}

fn send(sender: &UdpSocket, ports: &[SocketAddr], origin: Instant) -> u64 {
    let mut packet = rtp(7, 0, 0, &[0; PAYLOAD]);
    let clock = packet.len() - 8;
    let groups: Vec<&[SocketAddr]> = ports.chunks(ports.len().div_ceil(GROUPS)).collect();
    let rounds = SECONDS * (1_000 / INTERVAL.as_millis() as u32);
    let mut sent = 0;
    for turn in 0..rounds * GROUPS as u32 {
        let due = origin + INTERVAL / GROUPS as u32 * turn;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        for port in groups[turn as usize % GROUPS] {
            packet[2..4].copy_from_slice(&((turn as usize / GROUPS) as u16).to_be_bytes());
            packet[clock..].copy_from_slice(&(origin.elapsed().as_nanos() as u64).to_be_bytes());
            sender.send_to(&packet, port).unwrap();
            sent += 1;
        }
    }
    sent
}

/// A socket that holds a tenth of a second of everything, and stops waiting when nothing comes.
fn party() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let bytes = 32_i32 << 20;
    for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
        // SAFETY: an option of one int, which lives as long as the call.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const bytes).cast(),
                4,
            )
        };
    }
    socket
}
