//! The whole device over real sockets on the loopback interface.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Counter, DataPlane, Event, Inject, LegId, Path, Protection, PuntKind, ReplicaId, SrtpProfile, Update};
use support::*;
use wire::RtpPacket;

const VIDEO: u32 = 0x11;
const STUN: [u8; 20] = [
    0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];

/// A device with peers, all on loopback addresses of one family.
struct Net {
    plane: UdpPlane,
    wakes: Arc<AtomicU64>,
    ip: &'static str,
}

impl Net {
    fn start(bind: &str, ip: &'static str, workers: usize) -> Self {
        let wakes = Arc::new(AtomicU64::new(0));
        let to_wake = wakes.clone();
        let config = UdpConfig {
            addresses: vec![bind.parse().unwrap()],
            workers,
            ..UdpConfig::default()
        };
        let waker = move || {
            to_wake.fetch_add(1, Ordering::Relaxed);
        };
        let plane = UdpPlane::start(config, clock(), Arc::new(waker)).unwrap();
        Net { plane, wakes, ip }
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip.parse().unwrap(), self.plane.local_addr().port())
    }

    /// A peer's socket, and the path between it and the device.
    fn peer(&self) -> (UdpSocket, Path) {
        let socket = peer_socket(self.ip);
        socket.connect(self.address()).unwrap();
        let path = Path {
            local: self.address(),
            remote: socket.local_addr().unwrap(),
        };
        (socket, path)
    }

    /// As [`peer`](Self::peer), for a new or moved leg with these keys.
    fn leg(&mut self, id: u32, protection: Protection) -> UdpSocket {
        let (socket, path) = self.peer();
        set_leg(&mut self.plane, id, path, protection);
        socket
    }

    /// Waits until the workers know every entry.
    fn wait_applied(&self) {
        wait_until("the entries are applied", || self.plane.is_applied());
    }

    fn counter(&mut self, counter: Counter) -> u64 {
        self.plane.counters()[counter]
    }

    fn wait_for(&mut self, counter: Counter, count: u64) {
        wait_until(counter.name(), || self.plane.counters()[counter] >= count);
    }
}

fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = [0; 2_000];
    let len = socket.recv(&mut buffer).expect("a datagram within the time");
    buffer[..len].to_vec()
}

/// A publisher and three receivers, in clear and with every profile; packets of sizes that differ
/// by one, in a burst.
fn forwards(mut net: Net, profile: Option<SrtpProfile>) {
    let protection = |seed| profile.map_or(Protection::Clear, |profile| srtp(profile, seed));
    let publisher = net.leg(0, protection(0));
    set_stream(&mut net.plane, stream_key(0, VIDEO), video());
    let receivers: Vec<UdpSocket> = (1..=3)
        .map(|number| {
            let socket = net.leg(number, protection(number as u8));
            set_replica(
                &mut net.plane,
                number,
                replica(number, 1_000 * number, stream_key(0, VIDEO)),
            );
            socket
        })
        .collect();
    net.wait_applied();
    let mut peer = profile.map(|profile| Peer::new(profile, 0));
    let mut seal = |clear: &[u8]| peer.as_mut().map_or_else(|| clear.to_vec(), |peer| peer.seal(clear));
    for sequence in 0..100_u16 {
        let clear = vp8(VIDEO, sequence, KEY_FRAME, 1_000 + usize::from(sequence % 3));
        publisher.send(&seal(&clear)).unwrap();
    }
    for (socket, number) in receivers.iter().zip(1..) {
        let mut peer = profile.map(|profile| Peer::new(profile, number as u8));
        for sequence in 0..100_u16 {
            let wire = receive(socket);
            let clear = peer.as_mut().map_or_else(|| wire.clone(), |peer| peer.open(&wire));
            let view = RtpPacket::parse(&clear).unwrap();
            assert_eq!((view.ssrc().0, view.sequence().0), (1_000 * number, 100 + sequence));
            assert_eq!(
                view.payload(),
                RtpPacket::parse(&vp8(VIDEO, sequence, KEY_FRAME, 1_000 + usize::from(sequence % 3)))
                    .unwrap()
                    .payload()
            );
        }
    }
    assert_eq!(net.counter(Counter::Forwarded), 300);
    for lost in [
        Counter::SendFailed,
        Counter::WorkerQueueFull,
        Counter::PuntQueueFull,
        Counter::KeysExhausted,
    ] {
        assert_eq!(net.counter(lost), 0, "{}", lost.name());
    }
    assert_eq!(net.plane.receive_overflows(), 0);
}

/// When, counted from where the first was sent, each packet of a key frame of 300 kB arrives on a
/// leg with this pace.
fn arrivals_of_key_frame(pace: u64) -> Vec<Duration> {
    let mut net = Net::start("127.0.0.1:0", "127.0.0.1", 2);
    let publisher = net.leg(0, Protection::Clear);
    set_stream(&mut net.plane, stream_key(0, VIDEO), video());
    let receiver = net.leg(1, Protection::Clear);
    set_replica(&mut net.plane, 1, replica(1, 1_000, stream_key(0, VIDEO)));
    net.plane
        .write(Instant::now(), Update::SetPace(LegId(1), Some(pace)))
        .unwrap();
    net.wait_applied();
    let began = Instant::now();
    for sequence in 0..300 {
        publisher.send(&vp8(VIDEO, sequence, KEY_FRAME, 1_000)).unwrap();
        // A socket's buffer need not hold all of it.
        if sequence % 50 == 49 {
            net.wait_for(Counter::Received, u64::from(sequence) + 1);
        }
    }
    let arrive = |sequence: u16| {
        let wire = receive(&receiver);
        assert_eq!(RtpPacket::parse(&wire).unwrap().sequence().0, 100 + sequence);
        began.elapsed()
    };
    (0..300_u16).map(arrive).collect()
}

#[test]
fn a_key_frame_is_spread_over_the_time_of_its_pace() {
    // At 10 Mbit/s it takes a quarter of a second; at 1 Mbit/s it would take longer than anything
    // may wait.
    for (pace, takes) in [(10_000_000, 245), (1_000_000, 490)] {
        let arrivals = arrivals_of_key_frame(pace);
        // Only a busy machine makes it later; what a pace does to the millisecond is tried in
        // simulated time.
        let last = arrivals[299].as_millis();
        assert!((takes - 15..5_000).contains(&last), "{last} ms at {pace} bit/s");
        let half = arrivals[150].as_millis();
        assert!(half >= takes / 2 - 15, "{half} ms for half at {pace} bit/s");
    }
}

#[test]
fn ipv4_in_clear() {
    forwards(Net::start("127.0.0.1:0", "127.0.0.1", 1), None);
}

#[test]
fn ipv4_on_the_socket_for_both_families() {
    forwards(Net::start("[::]:0", "127.0.0.1", 1), Some(SrtpProfile::AeadAes128Gcm));
}

#[test]
fn ipv6_on_the_socket_for_both_families() {
    forwards(Net::start("[::]:0", "::1", 1), Some(SrtpProfile::AesCm128HmacSha1_80));
}

#[test]
fn two_workers_hand_over() {
    // The owner of a leg is its number modulo two; the kernel gives its packets to either worker.
    for _ in 0..4 {
        forwards(Net::start("[::]:0", "127.0.0.1", 2), Some(SrtpProfile::AeadAes256Gcm));
    }
}

#[test]
fn answers_are_sent_from_the_address_that_was_asked() {
    let mut net = Net::start("[::]:0", "127.0.0.2", 2);
    let (socket, path) = net.peer();
    socket.send(&STUN).unwrap();
    net.wait_for(Counter::PuntedStun, 1);
    wait_until("the agent is woken or sees it itself", || match net.plane.poll() {
        Some(Event::Punt {
            kind,
            path: from,
            leg,
            bytes,
            ..
        }) => {
            assert_eq!((kind, from, leg, &bytes[..]), (PuntKind::Stun, path, None, &STUN[..]));
            true
        }
        _ => false,
    });
    net.plane
        .inject(Instant::now(), Inject::Datagram { path, bytes: b"answer" });
    // The socket is connected: it takes nothing from another address.
    assert_eq!(receive(&socket), b"answer");
}

#[test]
fn an_agent_that_waits_is_woken() {
    let mut net = Net::start("127.0.0.1:0", "127.0.0.1", 1);
    let (socket, _) = net.peer();
    for round in 1..=20 {
        assert_eq!(net.plane.poll(), None);
        socket.send(&STUN).unwrap();
        wait_until("the waker is called", || net.wakes.load(Ordering::Relaxed) == round);
        assert!(matches!(net.plane.poll(), Some(Event::Punt { .. })));
    }
}

#[test]
fn reports_reach_an_agent_that_waits() {
    let mut net = Net::start("127.0.0.1:0", "127.0.0.1", 1);
    let publisher = net.leg(0, Protection::Clear);
    set_stream(&mut net.plane, stream_key(0, VIDEO), video());
    net.wait_applied();
    assert_eq!(net.plane.poll(), None);
    publisher.send(&vp8(VIDEO, 1, KEY_FRAME, 100)).unwrap();
    wait_until("the waker is called for an arrival", || {
        net.wakes.load(Ordering::Relaxed) == 1
    });
    let Some(Event::Arrivals { leg, arrivals }) = net.plane.poll() else {
        panic!("an arrival was to be told");
    };
    assert_eq!((leg, arrivals.len(), arrivals[0].sequence), (LegId(0), 1, 1));
}

#[test]
fn a_receiver_gets_the_retransmissions_it_asks_for() {
    let profile = SrtpProfile::AeadAes128Gcm;
    let mut net = Net::start("[::]:0", "127.0.0.1", 2);
    let publisher = net.leg(0, srtp(profile, 0));
    set_stream(&mut net.plane, stream_key(0, VIDEO), video());
    let receiver = net.leg(1, srtp(profile, 1));
    set_replica(&mut net.plane, 1, replica(1, 1_000, stream_key(0, VIDEO)));
    net.wait_applied();
    let (mut from, mut to) = (Peer::new(profile, 0), Peer::new(profile, 1));
    for sequence in 0..10 {
        publisher
            .send(&from.seal(&vp8(VIDEO, sequence, KEY_FRAME, 300)))
            .unwrap();
        to.open(&receive(&receiver));
    }
    let sequences = [104];
    for round in 0..3_u16 {
        net.plane.inject(
            Instant::now(),
            Inject::Resend {
                replica: ReplicaId(1),
                sequences: &sequences,
            },
        );
        let clear = to.open(&receive(&receiver));
        let view = RtpPacket::parse(&clear).unwrap();
        assert_eq!((view.ssrc().0, view.sequence().0), (1_001, 200 + round));
        assert_eq!(view.payload()[..2], 104_u16.to_be_bytes());
    }
    assert_eq!(net.counter(Counter::Resent), 3);
}

#[test]
fn rtcp_is_relayed_both_ways_protected() {
    let profile = SrtpProfile::AeadAes128Gcm;
    let mut net = Net::start("127.0.0.1:0", "127.0.0.1", 1);
    let socket = net.leg(1, srtp(profile, 1));
    let report = [0x80, 201, 0, 1, 0, 0, 0, 7];
    net.plane.inject(
        Instant::now(),
        Inject::Rtcp {
            leg: LegId(1),
            bytes: &report,
        },
    );
    let sealed = receive(&socket);
    assert_eq!(sealed.len(), report.len() + 20);
    assert_ne!(sealed[8..], report[..0]);
    // A copy of our own is not the peer's: it was sealed with the other direction's key.
    socket.send(&sealed).unwrap();
    net.wait_for(Counter::Unauthenticated, 1);
    assert_eq!(net.counter(Counter::PuntedRtcp), 0);
    net.plane.inject(
        Instant::now(),
        Inject::Rtcp {
            leg: LegId(1),
            bytes: &report[..3],
        },
    );
    net.wait_for(Counter::Malformed, 1);
}

#[test]
fn garbage_is_counted_and_dropped() {
    let mut net = Net::start("[::]:0", "127.0.0.1", 2);
    let (stranger, _) = net.peer();
    let known = net.leg(1, Protection::Clear);
    net.wait_applied();
    let mut state = 0x9e37_79b9_u32;
    for len in 0..1_000_usize {
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(len % 1_600)
        .collect();
        stranger.send(&noise).unwrap();
        known.send(&noise).unwrap();
        if len % 16 == 15 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    net.wait_for(Counter::Received, 2_000);
    known.send(&[0x80; 1_501]).unwrap();
    net.wait_for(Counter::Oversized, 1);
    let counters = net.plane.counters();
    assert_eq!(counters[Counter::Forwarded], 0);
    assert!(counters[Counter::UnknownSource] > 100 && counters[Counter::NotMedia] > 100);
}

#[test]
fn a_flood_from_strangers_is_bounded() {
    let mut net = Net::start("127.0.0.1:0", "127.0.0.1", 1);
    let (socket, _) = net.peer();
    for _ in 0..5_000 {
        socket.send(&STUN).unwrap();
    }
    wait_until("the flood is over", || {
        let counters = net.plane.counters();
        counters[Counter::Received] + net.plane.receive_overflows() == 5_000
    });
    let punts = events(&mut net.plane).len();
    assert!(punts <= 1_024 + 1, "{punts} punts");
    assert_eq!(net.counter(Counter::PuntedStun) as usize, punts);
}

#[test]
fn a_leg_that_moves_is_followed() {
    let mut net = Net::start("[::]:0", "127.0.0.1", 2);
    let publisher = net.leg(0, Protection::Clear);
    set_stream(&mut net.plane, stream_key(0, VIDEO), video());
    let old = net.leg(1, Protection::Clear);
    set_replica(&mut net.plane, 1, replica(1, 1_000, stream_key(0, VIDEO)));
    net.wait_applied();
    publisher.send(&vp8(VIDEO, 1, KEY_FRAME, 100)).unwrap();
    receive(&old);
    let new = net.leg(1, Protection::Clear);
    net.wait_applied();
    publisher.send(&vp8(VIDEO, 2, DELTA_FRAME, 100)).unwrap();
    assert_eq!(RtpPacket::parse(&receive(&new)).unwrap().sequence().0, 101);
}

#[test]
fn stopping_waits_for_the_workers() {
    let mut net = Net::start("[::]:0", "::1", 3);
    assert_eq!(net.plane.local_addrs().len(), 1);
    net.plane.shutdown();
    net.plane.shutdown();
    // No worker takes commands any more, and no caller waits for it.
    for number in 0..10_000 {
        let _ = net.plane.write(Instant::now(), Update::RemoveLeg(LegId(number)));
        set_leg(
            &mut net.plane,
            number,
            path("[::1]:1", &format!("[::1]:{}", number + 1)),
            Protection::Clear,
        );
    }
}

#[test]
fn a_port_that_is_taken_is_refused() {
    let first = Net::start("[::]:0", "::1", 2);
    let config = UdpConfig {
        addresses: vec![first.plane.local_addr()],
        workers: 1,
        ..UdpConfig::default()
    };
    let second = UdpPlane::start(config, clock(), Arc::new(|| {}));
    assert_eq!(
        second.err().map(|error| error.kind()),
        Some(std::io::ErrorKind::AddrInUse)
    );
}

#[test]
fn several_addresses_share_a_port() {
    let config = UdpConfig {
        addresses: vec!["127.0.0.1:0".parse().unwrap(), "[::1]:0".parse().unwrap()],
        workers: 2,
        ..UdpConfig::default()
    };
    let plane = UdpPlane::start(config, clock(), Arc::new(|| {})).unwrap();
    let ports: Vec<u16> = plane.local_addrs().iter().map(SocketAddr::port).collect();
    assert_eq!(ports[0], ports[1]);
}
