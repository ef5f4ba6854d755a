//! Measures the cost of one relayed packet in the program: the kernel runs it on one frame
//! repeatedly and reports the time.
//!
//! The relay leads back to the packet's source, so that the frame is unchanged and can be relayed
//! again. The driver's work is not included.
//!
//! `cargo bench -p backend-ebpf --bench relay`, as root.

#![expect(clippy::disallowed_methods, reason = "a benchmark runs in real time")]

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use backend_ebpf::{Counter, RelayConfig, RelayOffload};
use dataplane::{Accept, Hop, Path, Relay, RelayProtection};
use veth::frame::Frame;
use veth::{Pair, pair_or_skip};

/// Runs of one measurement, and measurements, of which the median counts.
const TIMES: u32 = 1_000_000;
const ROUNDS: usize = 7;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let times = if std::env::args().any(|argument| argument == "--bench") {
        TIMES
    } else {
        10
    };
    let Some(pair) = pair_or_skip(1) else { return };
    for like in [IpAddr::from(pair.near.v4), pair.near.v6.into()] {
        for relays in [2, 10_000] {
            pair.near.run(|| measure(&pair, like, relays, times));
        }
    }
}

fn measure(pair: &Pair, like: IpAddr, relays: u16, times: u32) {
    let [near, far] = [&pair.near, &pair.far].map(|side| side.address(like));
    let neighbour = format!("neighbour replace {far} lladdr 02:00:00:00:00:09 dev near0 nud permanent");
    pair.near.ip(&neighbour).expect("it is ours");
    let config = RelayConfig {
        interfaces: vec!["near0".to_owned()],
        ..RelayConfig::default()
    };
    let mut offload = RelayOffload::start(&config, Instant::now()).expect("this takes no more privilege than a cable");
    let party = SocketAddr::new(near, 5_000);
    let at = |number: u16| SocketAddr::new(far, 10_000 + number);
    // Somebody has the port that packets leave from, too.
    offer(&mut offload, party, relay(at(0), party, party));
    for number in 0..relays {
        offer(&mut offload, at(number), relay(party, party, at(number)));
    }
    let frame = Frame::new(party, at(relays / 2), &[&[0x80, 0][..], &[0; 170]].concat()).bytes();
    let interface = nix::net::if_::if_nametoindex("near0").expect("it is there");
    let mut rounds: Vec<_> = (0..ROUNDS)
        .map(|_| {
            offload
                .time_frame(interface, &frame, times)
                .expect("the kernel runs it")
        })
        .collect();
    let relayed = offload.statistics().read()[Counter::Relayed];
    assert_eq!(relayed, u64::from(times) * ROUNDS as u64, "every one was relayed");
    rounds.sort_unstable();
    let family = if like.is_ipv4() { 4 } else { 6 };
    println!(
        "IPv{family}, {relays} relays: {:?} a packet ({:?} to {:?})",
        rounds[ROUNDS / 2],
        rounds[0],
        rounds[ROUNDS - 1]
    );
}

fn offer(offload: &mut RelayOffload, at: SocketAddr, relay: Relay) {
    offload.set(Instant::now(), at, &relay).expect("there is room");
}

fn relay(accept: SocketAddr, local: SocketAddr, remote: SocketAddr) -> Relay {
    let hop = Hop {
        path: Path { local, remote },
        egress_protection: RelayProtection::Clear,
        tos: None,
    };
    Relay {
        accept: Accept::Only(accept),
        ingress_protection: RelayProtection::Clear,
        terminated: false,
        rtp: Some(hop),
        rtcp: None,
    }
}
