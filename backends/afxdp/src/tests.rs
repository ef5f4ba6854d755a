//! Rings on a real cable: nothing is lost, doubled or leaked, however often they wrap.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use dataplane::Path;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use veth::{Pair, Side, pair_or_skip};

use crate::frame::{self, Header};
use crate::hop::Hop;
use crate::interface::Interface;
use crate::netlink::Netlink;
use crate::program::ProgramMode;
use crate::sys::Xsk;
use crate::{AfxdpConfig, AfxdpError, AfxdpPlane};

const PORT: u16 = 7882;
const PATIENCE: Duration = Duration::from_secs(5);

/// The near side's interface with our program, and a ring that gets what the program takes.
fn listen(near: &Side) -> (Interface, Xsk) {
    near.run(|| {
        let mut netlink = Netlink::to_ask().unwrap();
        let bound = ["0.0.0.0", "::"].map(|address| SocketAddr::new(address.parse().unwrap(), PORT));
        let mut interface = Interface::take(near.interface, &bound, &mut netlink).unwrap();
        let ring = Xsk::bind(interface.index, 0, false).unwrap();
        interface.program.redirect(0, ring.descriptor()).unwrap();
        interface.look_again(&mut netlink);
        assert_eq!(interface.program.mode(), ProgramMode::Native);
        (interface, ring)
    })
}

/// A ring on the far side, and headers that lead to the near side: one by IPv4, one by IPv6.
fn talk(pair: &Pair, to: &Interface) -> (Xsk, [Header; 2]) {
    pair.far.run(|| {
        let link = Netlink::to_ask().unwrap().link(pair.far.interface).unwrap();
        let hop = Hop {
            interface: 0,
            from: link.mac.unwrap(),
            to: to.mac,
            mtu: link.mtu,
        };
        let header = |from: IpAddr, to: IpAddr| {
            let path = Path {
                local: SocketAddr::new(from, 5_000),
                remote: SocketAddr::new(to, PORT),
            };
            Header::new(&path, &hop).unwrap()
        };
        let headers = [
            header(pair.far.v4.into(), pair.near.v4.into()),
            header(pair.far.v6.into(), pair.near.v6.into()),
        ];
        (Xsk::bind(link.index, 0, false).unwrap(), headers)
    })
}

fn send(ring: &mut Xsk, header: &Header, payload: &[u8]) -> bool {
    let checksum = ring.checksum();
    ring.send(header.udp_at(), |room| header.write(payload, 0, room, checksum))
}

/// The packets that an interface itself dropped: a cable has a queue of its own, which overflows
/// while the receiving end has no processor.
fn dropped_by(side: &Side) -> u64 {
    let table = side.run(|| std::fs::read_to_string("/proc/thread-self/net/dev").unwrap());
    let name = format!("{}:", side.interface);
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(&name));
    let fields: Vec<&str> = line.expect("the interface is there").split_whitespace().collect();
    let (received, sent): (u64, u64) = (fields[3].parse().unwrap(), fields[11].parse().unwrap());
    received + sent
}

#[test]
fn rings_wrap_many_times_and_lose_nothing() {
    let Some(pair) = pair_or_skip(1) else { return };
    let (interface, mut receives) = listen(&pair.near);
    let (mut sends, headers) = talk(&pair, &interface);
    let mut random = StdRng::seed_from_u64(1);
    let all_free = sends.free();
    let (mut sent, mut got) = (0_u32, 0_u32);
    let mut waiting = std::collections::VecDeque::new();
    while sent < 30_000 {
        for _ in 0..random.random_range(1..100) {
            let header = &headers[random.random_range(0..2)];
            let mut payload: Vec<u8> = (0..random.random_range(2..header.payload_max()))
                .map(|_| random.random())
                .collect();
            (payload[0], payload[1]) = (0x80, 96);
            assert!(
                send(&mut sends, header, &payload),
                "fewer are on their way than there are"
            );
            waiting.push_back(payload);
            sent += 1;
        }
        let deadline = Instant::now() + PATIENCE;
        while !waiting.is_empty() {
            assert!(Instant::now() < deadline, "{} of {sent} are missing", waiting.len());
            sends.kick();
            got += receives.receive(64, |bytes| {
                let (path, payload) = frame::read(bytes).expect("only RTP is taken");
                assert_eq!((path.local.port(), path.remote.port()), (PORT, 5_000));
                assert_eq!(Some(payload), waiting.pop_front().as_deref());
            }) as u32;
        }
    }
    assert_eq!(got, sent);
    assert_eq!(sends.free(), all_free, "every frame came back");
    assert_eq!(receives.counts().dropped(), 0);
}

/// The kernel shows a received packet before it shows that it took the frame for it. A reader in
/// between has a frame for which the fill ring has no room yet.
#[test]
fn a_reader_that_never_sleeps_may_have_no_room_for_frames_yet() {
    let Some(pair) = pair_or_skip(1) else { return };
    let (interface, mut receives) = listen(&pair.near);
    let (mut sends, headers) = talk(&pair, &interface);
    const ALL: usize = 200_000;
    let mut got = 0;
    let came = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..ALL {
                assert!(send(&mut sends, &headers[0], &[0x80, 96, 1, 2]));
                let deadline = Instant::now() + PATIENCE;
                while !sends.kick() || number > came.load(std::sync::atomic::Ordering::Relaxed) + 16 {
                    assert!(Instant::now() < deadline, "the interface takes nothing");
                }
            }
        });
        let deadline = Instant::now() + 6 * PATIENCE;
        while got < ALL {
            got += receives.receive(64, |_| {});
            came.store(got, std::sync::atomic::Ordering::Relaxed);
            assert!(Instant::now() < deadline, "{} of {ALL} are missing", ALL - got);
        }
    });
    assert_eq!(receives.counts().dropped(), 0);
}

#[test]
fn a_ring_without_a_reader_drops_counts_and_continues() {
    let Some(pair) = pair_or_skip(1) else { return };
    let (interface, mut receives) = listen(&pair.near);
    let (mut sends, headers) = talk(&pair, &interface);
    let all_free = sends.free();
    for _ in 0..200 {
        for _ in 0..50 {
            assert!(send(&mut sends, &headers[0], &[0x80, 96, 1, 2]));
        }
        let deadline = Instant::now() + PATIENCE;
        while !sends.kick() {
            assert!(Instant::now() < deadline, "the interface takes nothing");
        }
    }
    let (mut got, mut last) = (0, Instant::now());
    while last.elapsed() < Duration::from_millis(200) {
        let came = receives.receive(64, |_| {});
        got += came as u64;
        if came > 0 {
            last = Instant::now();
        }
    }
    let dropped = receives.counts().dropped();
    let by_cable = dropped_by(&pair.near) + dropped_by(&pair.far);
    assert!(got + dropped <= 10_000, "{got} came, {dropped} were dropped");
    assert!(
        got + dropped + by_cable >= 10_000,
        "{got} came, {dropped} were dropped at the ring and {by_cable} on the cable"
    );
    assert!(receives.counts().dropped() > 0, "a ring has an end");
    assert_eq!(sends.free(), all_free);
    // And what comes now gets through.
    assert!(send(&mut sends, &headers[1], &[0x80, 97]));
    sends.kick();
    let deadline = Instant::now() + PATIENCE;
    while receives.receive(64, |bytes| assert_eq!(frame::read(bytes).unwrap().1, [0x80, 97])) == 0 {
        assert!(Instant::now() < deadline, "nothing comes any more");
    }
}

/// A plain socket on the port shows which packets the program leaves to the stack.
#[test]
fn the_program_takes_rtp_and_nothing_else() {
    let Some(pair) = pair_or_skip(1) else { return };
    let (_interface, mut ring) = listen(&pair.near);
    let socket = |port: u16| pair.near.run(|| UdpSocket::bind(("::", port)).unwrap());
    let (media, other) = (socket(PORT), socket(PORT + 1));
    for socket in [&media, &other] {
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    }
    let mut buffer = [0; 4_096];
    for near in [IpAddr::from(pair.near.v4), pair.near.v6.into()] {
        let far = pair.far.run(|| UdpSocket::bind((pair.far.address(near), 0)).unwrap());
        let rtp = |len: usize| {
            let mut packet = vec![0x80, 96];
            packet.resize(len, 7);
            packet
        };
        far.send_to(&rtp(1_200), (near, PORT)).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while ring.receive(64, |bytes| assert_eq!(frame::read(bytes).unwrap().1, rtp(1_200))) == 0 {
            assert!(Instant::now() < deadline, "the ring gets RTP");
        }
        let stun = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
        let rtcp = vec![0x80, 200, 0, 1, 0, 0, 0, 1];
        let dtls = vec![22, 254, 253, 0];
        // RTP in two fragments is the stack's, too.
        for (to, socket, packet) in [
            (PORT, &media, stun),
            (PORT, &media, rtcp),
            (PORT, &media, dtls),
            (PORT, &media, vec![0x80]),
            (PORT, &media, rtp(3_000)),
            (PORT + 1, &other, rtp(100)),
        ] {
            far.send_to(&packet, (near, to)).unwrap();
            let len = socket.recv(&mut buffer).expect("the stack gets it");
            assert_eq!(&buffer[..len], packet);
        }
        assert_eq!(ring.receive(64, |_| {}), 0);
    }
}

/// An address that is not ours to listen on is not ours to take from, whatever the port.
#[test]
fn packets_for_other_addresses_are_left_to_the_stack() {
    let Some(pair) = pair_or_skip(1) else { return };
    let (mut interface, mut ring) = listen(&pair.near);
    pair.near.ip("address add 10.77.0.9/24 dev near0").unwrap();
    let media = pair.near.run(|| UdpSocket::bind(("0.0.0.0", PORT)).unwrap());
    media.set_read_timeout(Some(PATIENCE)).unwrap();
    let far = pair.far.run(|| UdpSocket::bind((pair.far.v4, 0)).unwrap());
    let mut buffer = [0; 100];
    far.send_to(&[0x80, 96, 1], ("10.77.0.9", PORT)).unwrap();
    assert_eq!(media.recv(&mut buffer).unwrap(), 3);
    // Once it was seen, it is.
    let mut netlink = pair.near.run(|| Netlink::to_ask().unwrap());
    interface.look_again(&mut netlink);
    far.send_to(&[0x80, 96, 1], ("10.77.0.9", PORT)).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while ring.receive(64, |_| {}) == 0 {
        assert!(Instant::now() < deadline, "the ring gets it now");
    }
}

#[test]
fn a_refused_configuration_names_the_reason() {
    let Some(pair) = pair_or_skip(1) else { return };
    let clock = dataplane::Clock {
        origin: Instant::now(),
        ntp: wire::NtpTime(0),
    };
    let start_with = |names: &[&str], port_per_worker| {
        let config = AfxdpConfig {
            interfaces: names.iter().map(|name| (*name).to_owned()).collect(),
            udp: backend_udp::UdpConfig {
                port_per_worker,
                ..backend_udp::UdpConfig::default()
            },
        };
        pair.near.run(|| {
            AfxdpPlane::start(config, clock, std::sync::Arc::new(|| {}))
                .map(drop)
                .unwrap_err()
        })
    };
    let start = |names: &[&str]| start_with(names, false);
    assert!(matches!(start(&[]), AfxdpError::NoInterfaces));
    assert!(matches!(start_with(&["near0"], true), AfxdpError::SeveralPorts));
    assert!(matches!(start(&["lo"]), AfxdpError::NotEthernet(_)));
    assert!(start(&["nosuch0"]).to_string().contains("nosuch0"));
    let (interface, ring) = listen(&pair.near);
    assert!(matches!(start(&["near0"]), AfxdpError::Taken(_)));
    // Nothing stays behind.
    drop((interface, ring));
    let mut netlink = pair.near.run(|| Netlink::to_ask().unwrap());
    let deadline = Instant::now() + PATIENCE;
    while netlink.link("near0").unwrap().has_xdp {
        assert!(Instant::now() < deadline, "the program leaves with its owner");
    }
}
