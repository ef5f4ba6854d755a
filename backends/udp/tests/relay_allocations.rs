//! Once calls are under way, relaying their packets asks nothing of the allocator.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use backend_udp::srtp::{Sealer, rtp_overhead};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Accept, DataPlane, Hop, Path, Relay, RelayProtection, SrtpProfile, Update};
use support::*;

/// The system's allocator, counting what relays' workers ask of it.
struct Counting;

static ASKED: AtomicU64 = AtomicU64::new(0);

fn count() {
    let mut name = [0_u8; 16];
    // SAFETY: a thread's name has 16 bytes at most, and the room lives as long as the call.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    if name.starts_with(b"relay-") {
        ASKED.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: everything is handed to the system's allocator as it is; counting needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PROFILE: SrtpProfile = SrtpProfile::AesCm128HmacSha1_80;
const PACKETS: u16 = 400;

#[test]
fn relaying_does_not_allocate() {
    let config = UdpConfig {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        workers: 1,
        ..UdpConfig::default()
    };
    let mut plane = UdpPlane::start(config, clock(), Arc::new(|| {})).unwrap();
    let socket = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (alice, bob) = (socket(), socket());
    bob.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (a, b): (SocketAddr, SocketAddr) = (socket().local_addr().unwrap(), socket().local_addr().unwrap());
    let covers = || [RelayProtection::Clear, RelayProtection::Srtp(key(PROFILE, 1))];
    for ingress_protection in covers() {
        for egress_protection in [RelayProtection::Clear, RelayProtection::Srtp(key(PROFILE, 2))] {
            let packets = packets(&ingress_protection);
            let path = Path {
                local: b,
                remote: bob.local_addr().unwrap(),
            };
            let relay = |accept, rtp| {
                Box::new(Relay {
                    accept,
                    ingress_protection: ingress_protection.clone(),
                    terminated: false,
                    rtp,
                    rtcp: None,
                })
            };
            let tos = Some(184);
            let onward = relay(
                Accept::Only(alice.local_addr().unwrap()),
                Some(Hop {
                    path,
                    egress_protection,
                    tos,
                }),
            );
            for (at, relay) in [(b, relay(Accept::Nobody, None)), (a, onward)] {
                plane.write(Instant::now(), Update::SetRelay(at, relay)).unwrap();
            }
            wait_until("the entries are applied", || plane.is_applied());
            let mut buffer = [0; 2_000];
            let mut pass = |packet: &Vec<u8>| {
                alice.send_to(packet, a).unwrap();
                bob.recv(&mut buffer).unwrap()
            };
            // The first of a stream finds room made for it.
            let (first, rest) = packets.split_at(10);
            for packet in first {
                pass(packet);
            }
            let before = ASKED.load(Ordering::Relaxed);
            assert!(before > 0, "that relays came to be was counted");
            for packet in rest {
                pass(packet);
            }
            assert_eq!(ASKED.load(Ordering::Relaxed) - before, 0, "{ingress_protection:?}");
            for at in [a, b] {
                plane.write(Instant::now(), Update::RemoveRelay(at)).unwrap();
                // It is gone when it has told a last time, which takes room.
                wait_until("the last report", || plane.poll().is_some());
            }
        }
    }
}

fn packets(ingress_protection: &RelayProtection) -> Vec<Vec<u8>> {
    let clear = (0..PACKETS).map(|number| rtp(7, 0, number, &[1; 160]));
    match ingress_protection.key() {
        None => clear.collect(),
        Some(key) => {
            let mut sealer = Sealer::new(key);
            let sealed = clear.enumerate().map(|(index, mut packet)| {
                let len = packet.len();
                packet.resize(len + rtp_overhead(PROFILE), 0);
                sealer.seal_rtp(&mut packet, len, 12, index as u64);
                packet
            });
            sealed.collect()
        }
    }
}
