//! Frames that are relayed, and how the program changes them.

use super::*;
use dataplane::Offload;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use veth::frame::checksum;

#[test]
fn rtp_is_sent_from_the_other_port_to_the_other_party() {
    with_benches(|bench| {
        let complexity = bench.offload.complexity().unwrap();
        println!("{complexity:?}");
        assert!(
            complexity.instructions < 2_500 && complexity.verified < 100_000,
            "{complexity:?}"
        );
        for len in [12, 13, 60, 172, 999, 1_200] {
            let frame = bench.frame(&rtp(len)).bytes();
            assert_eq!(bench.run(&frame), Outcome::Sent(bench.relayed(&rtp(len))));
        }
        let back = Frame::new(bench.theirs[1], bench.ours[1], &rtp(200)).bytes();
        assert!(matches!(bench.run(&back), Outcome::Sent(_)));
        assert_eq!(bench.count(Counter::Relayed), 7);
    });
}

#[test]
fn every_checksum_is_followed_even_to_zero() {
    with_benches(|bench| {
        let payload = |word: u16| [&rtp(12)[..], &word.to_be_bytes()].concat();
        // A sum of zero is sent as its other form, because zero means none (RFC 768).
        let at = bench.frame(&rtp(12)).udp_at() + 6;
        let is_zero = |word: &u16| bench.relayed(&payload(*word))[at..at + 2] == [0xff, 0xff];
        let zeros: Vec<u16> = (0..=u16::MAX).filter(is_zero).collect();
        assert!(
            !zeros.is_empty(),
            "one word of the payload has all values of the checksum"
        );
        let sampled = (0..=u16::MAX).step_by(7).chain(0xff00..=0xffff);
        for word in sampled.chain(zeros) {
            let payload = payload(word);
            // One in 65,536 looks as if it were not finished.
            assert_eq!(
                bench.run(&bench.frame(&payload).bytes()),
                Outcome::Sent(bench.relayed(&payload)),
                "{word:#x}"
            );
        }
    });
}

#[test]
fn a_finished_checksum_is_known_from_one_that_is_not() {
    with_benches(|bench| {
        for len in [14, 15, 16, 17, 60, 999, 1_400] {
            let looks_unfinished = |frame: &Frame| {
                let at = frame.udp_at() + 6;
                frame.bytes()[at..at + 2] == (!checksum(&[&frame.pseudo_header()])).to_be_bytes()
            };
            let mut payload = rtp(len);
            let number = (0..=u16::MAX).find(|number| {
                payload[2..4].copy_from_slice(&number.to_be_bytes());
                looks_unfinished(&bench.frame(&payload))
            });
            assert!(number.is_some(), "there is one among all");
            let sent = Outcome::Sent(bench.relayed(&payload));
            assert_eq!(bench.run(&bench.frame(&payload).bytes()), sent, "{len}");
        }
    });
}

#[test]
fn headers_may_have_sources_and_an_extension() {
    with_benches(|bench| {
        let mut payload = rtp(12);
        payload[0] = 0x92;
        payload.extend([0, 0, 0, 1, 0, 0, 0, 2]);
        payload.extend([0xbe, 0xde, 0, 1, 0x10, 0xff, 0, 0]);
        let frame = bench.frame(&payload).bytes();
        assert_eq!(bench.run(&frame), Outcome::Sent(bench.relayed(&payload)));
    });
}

#[test]
fn a_relay_counts_until_it_is_removed() {
    with_benches(|bench| {
        let at = bench.ours[0];
        let start = Instant::now();
        for _ in 0..3 {
            bench.run(&bench.frame(&rtp(100)).bytes());
        }
        bench.run(&Frame::new(bench.theirs[1], at, &rtp(100)).bytes());
        let (traffic, last) = bench.offload.relay_traffic(at).unwrap();
        assert_eq!((traffic.packets, traffic.bytes, traffic.dropped), (3, 300, 1));
        assert_eq!(traffic.ssrc, Some(wire::Ssrc(3)));
        // As of the last tick, which on a busy machine may be a while ago.
        let age = start.saturating_duration_since(last.unwrap());
        assert!(age.as_secs() < 2 && last.unwrap() <= Instant::now(), "{age:?}");

        // Replaced by one the kernel cannot do: it counts on from there when it can again.
        let learning = Relay {
            accept: Accept::Learn {
                within: None,
                window: 0,
                rtp_only: false,
            },
            ..bench.relay(0)
        };
        bench.offload.set(start, at, &learning).unwrap_err();
        bench.passes(&bench.frame(&rtp(100)).bytes(), None);
        bench.set(at, bench.relay(0));
        bench.run(&bench.frame(&rtp(100)).bytes());
        bench.offload.remove(start, at);
        bench.passes(&bench.frame(&rtp(100)).bytes(), None);
        assert_eq!(bench.offload.relay_traffic(at).unwrap().0.packets, 4);
        assert_eq!(bench.offload.relay_traffic(at), None);
        bench.set(at, bench.relay(0));
        assert_eq!(bench.offload.relay_traffic(at).unwrap().0.packets, 0);
    });
}

#[test]
fn a_relay_is_not_in_the_kernel_while_its_egress_port_is_not_open() {
    with_benches(|bench| {
        let frame = bench.frame(&rtp(100)).bytes();
        bench.offload.remove(Instant::now(), bench.ours[1]);
        bench.passes(&frame, None);
        bench.set(bench.ours[1], bench.relay(1));
        assert_eq!(bench.run(&frame), Outcome::Sent(bench.relayed(&rtp(100))));
    });
}

/// Stays on one processor: each asks for ways by itself.
fn stay() {
    let mut only = CpuSet::new();
    only.set(0).unwrap();
    sched_setaffinity(Pid::from_raw(0), &only).unwrap();
}

#[test]
fn the_base_gets_a_packet_from_time_to_time_while_it_runs() {
    with_configs(&["near0"], |pair, like, config| {
        stay();
        let every = Duration::from_millis(200);
        let confirm = RelayConfig {
            confirm: every,
            ..config.clone()
        };
        let mut bench = Bench::with(pair, like, &confirm);
        let frame = bench.frame(&rtp(100)).bytes();
        let relayed = Outcome::Sent(bench.relayed(&rtp(100)));
        let sockets = bench.ours.map(|at| std::net::UdpSocket::bind(at).unwrap());
        assert_eq!(bench.run(&frame), relayed);
        std::thread::sleep(5 * every);
        bench.passes(&frame, Some(Counter::Confirming));
        assert_eq!(bench.run(&frame), relayed);
        assert_eq!(bench.offload.relay_traffic(bench.ours[0]).unwrap().0.packets, 2);
        // Without a process there is nobody who could.
        drop(sockets);
        std::thread::sleep(5 * every);
        assert_eq!(bench.run(&frame), relayed);
    });
}

#[test]
fn a_neighbour_with_another_hardware_address_is_noticed_in_a_moment() {
    with_configs(&["near0"], |pair, like, config| {
        stay();
        let mut bench = Bench::with(pair, like, config);
        let frame = bench.frame(&rtp(100)).bytes();
        assert_eq!(bench.run(&frame), Outcome::Sent(bench.relayed(&rtp(100))));
        let theirs = bench.theirs[1].ip();
        let moved = format!("neighbour replace {theirs} lladdr 02:00:00:00:00:07 dev near0 nud permanent");
        pair.near.ip(&moved).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let mut expected = bench.relayed(&rtp(100));
        expected[5] = 7;
        assert_eq!(bench.run(&frame), Outcome::Sent(expected));
    });
}

#[test]
fn replacing_or_removing_a_relay_takes_effect_at_once() {
    with_benches(|bench| {
        let frame = bench.frame(&rtp(100)).bytes();
        for _ in 0..3 {
            assert_eq!(bench.run(&frame), Outcome::Sent(bench.relayed(&rtp(100))));
            let mut other = bench.relay(0);
            let hop = other.rtp.as_mut().unwrap();
            hop.path.remote.set_port(9);
            hop.tos = Some(0);
            bench.set(bench.ours[0], other);
            let mut expected = Frame::new(bench.ours[1], bench.theirs[1], &rtp(100));
            expected.destination.set_port(9);
            (expected.to, expected.from) = (NEIGHBOUR, OURS);
            assert_eq!(bench.run(&frame), Outcome::Sent(expected.bytes()));
            let other = Relay {
                accept: Accept::Only(bench.theirs[1]),
                ..bench.relay(0)
            };
            bench.set(bench.ours[0], other);
            bench.drops(&frame, Counter::ForeignSource);
            bench.offload.remove(Instant::now(), bench.ours[0]);
            bench.passes(&frame, None);
            bench.set(bench.ours[0], bench.relay(0));
        }
    });
}

#[test]
fn relays_that_share_a_place_are_kept_apart() {
    with_benches(|bench| {
        // The ports of a pair do, and with the first address those that are 32,768 apart.
        let mut shared = [bench.ours[0]; 3];
        shared[1].set_port(bench.ours[0].port() + 1);
        shared[2].set_port(bench.ours[0].port() - 32_768);
        for at in shared {
            bench.set(at, bench.relay(0));
        }
        for _ in 0..3 {
            for at in shared {
                let frame = Frame::new(bench.theirs[0], at, &rtp(100)).bytes();
                assert_eq!(bench.run(&frame), Outcome::Sent(bench.relayed(&rtp(100))));
            }
        }
        for at in shared {
            assert_eq!(bench.offload.relay_traffic(at).unwrap().0.packets, 3);
        }
    });
}

#[test]
fn a_packet_can_be_sent_through_another_local_interface() {
    with_configs(&["near0", "near1"], |pair, like, config| {
        let IpAddr::V4(_) = like else { return };
        let _ = pair.near.ip("link add near1 type veth peer name middle1");
        for line in [
            "address replace 10.78.0.1/24 dev near1",
            "link set middle1 up",
            "link set near1 up",
            "neighbour replace 10.78.0.2 lladdr 02:00:00:00:00:09 dev near1 nud permanent",
        ] {
            pair.near.ip(line).unwrap();
        }
        for can in [false, true] {
            let interfaces = config.interfaces[..1 + usize::from(can)].to_vec();
            let config = RelayConfig {
                interfaces,
                ..config.clone()
            };
            let mut bench = Bench::with(pair, like, &config);
            bench.theirs[1] = "10.78.0.2:40002".parse().unwrap();
            bench.set(bench.ours[0], bench.relay(0));
            let frame = bench.frame(&rtp(100)).bytes();
            match (can, config.hook) {
                (false, _) => bench.passes(&frame, Some(Counter::OtherInterface)),
                (true, Hook::Xdp) => assert!(matches!(bench.run(&frame), Outcome::Redirected(_))),
                (true, _) => assert!(matches!(bench.run(&frame), Outcome::Sent(_))),
            }
        }
    });
}
