//! Frames that are not relayed: for each kind, whether it is dropped or left to the base.

use super::*;
use crate::Attached;
use veth::frame::{IP, checksum};

#[test]
fn non_rtp_is_left_to_the_base() {
    with_benches(|bench| {
        let rtcp = [0x80, 200, 0, 1, 0, 0, 0, 1];
        let stun = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let dtls = [22; 40];
        for payload in [&rtcp[..], &stun, &dtls, &[0x80], &[], b"neither"] {
            bench.passes(&bench.frame(payload).bytes(), Some(Counter::NotRtp));
        }
        for second in 192..=223 {
            let mut payload = rtp(60);
            payload[1] = second;
            bench.passes(&bench.frame(&payload).bytes(), Some(Counter::NotRtp));
        }
    });
}

#[test]
fn packets_of_third_parties_are_dropped_whatever_their_content() {
    with_benches(|bench| {
        let mut third = bench.theirs[0];
        third.set_port(1);
        let strangers = [third, bench.theirs[1]];
        for payload in [rtp(100), vec![], vec![0x80, 200, 0, 1, 0, 0, 0, 1]] {
            for stranger in strangers {
                bench.drops(
                    &Frame::new(stranger, bench.ours[0], &payload).bytes(),
                    Counter::ForeignSource,
                );
            }
        }
        let mut elsewhere = bench.frame(&rtp(100));
        elsewhere.source.set_ip(match elsewhere.source.ip() {
            IpAddr::V4(_) => "10.77.0.3".parse().unwrap(),
            IpAddr::V6(_) => "fd77::3".parse().unwrap(),
        });
        bench.drops(&elsewhere.bytes(), Counter::ForeignSource);
    });
}

#[test]
fn rtp_that_is_not_whole_is_dropped() {
    with_benches(|bench| {
        for len in 2..12 {
            bench.drops(&bench.frame(&rtp(12)[..len]).bytes(), Counter::Malformed);
        }
        let mut packet = rtp(16);
        packet[0] = 0x82;
        bench.drops(&bench.frame(&packet).bytes(), Counter::Malformed);
        packet[0] = 0x90;
        packet[14..].copy_from_slice(&[0, 1]);
        bench.drops(&bench.frame(&packet).bytes(), Counter::Malformed);
        packet[0] = 0x90;
        bench.drops(&bench.frame(&packet[..15]).bytes(), Counter::Malformed);
    });
}

#[test]
fn extensions_whose_elements_overrun_are_dropped_and_long_ones_are_left_to_the_base() {
    with_benches(|bench| {
        let with = |profile: [u8; 2], elements: &[u8]| {
            let words = [0, (elements.len() / 4) as u8];
            let mut packet = [&rtp(12)[..], &profile, &words, elements, &[7; 20]].concat();
            packet[0] = 0x90;
            packet
        };
        for (profile, elements) in [
            ([0xbe, 0xde], &[0x13, 1, 2, 3][..]),
            ([0xbe, 0xde], &[0, 0, 0, 0x10]),
            ([0x10, 0x00], &[1, 3, 1, 2]),
            ([0x10, 0x05], &[0, 0, 0, 1]),
        ] {
            bench.drops(&bench.frame(&with(profile, elements)).bytes(), Counter::Malformed);
        }
        for (profile, elements) in [
            ([0xbe, 0xde], &[0x12, 1, 2, 3][..]),
            ([0xbe, 0xde], &[0x10, 1, 0, 0, 0, 0x31, 1, 2]),
            // An id of 15 and one of 0 end the list.
            ([0xbe, 0xde], &[0xff, 1, 2, 3]),
            ([0xbe, 0xde], &[0x07, 1, 2, 3]),
            ([0x10, 0x00], &[1, 0, 2, 0, 0, 3, 1, 9]),
            // Not elements at all.
            ([1, 2], &[0x13, 1, 2, 3]),
            ([0xbe, 0xde], &[0; 64]),
            ([1, 2], &[0x13; 68]),
        ] {
            let packet = with(profile, elements);
            assert_eq!(
                bench.run(&bench.frame(&packet).bytes()),
                Outcome::Sent(bench.relayed(&packet))
            );
        }
        bench.passes(
            &bench.frame(&with([0xbe, 0xde], &[0; 68])).bytes(),
            Some(Counter::NotRtp),
        );
    });
}

#[test]
fn other_ports_and_other_frames_are_left_to_the_stack() {
    with_benches(|bench| {
        let mut frame = bench.frame(&rtp(100));
        frame.destination.set_port(9);
        bench.passes(&frame.bytes(), None);
        let mut frame = bench.frame(&rtp(100));
        frame.to = [0xff; 6];
        bench.passes(&frame.bytes(), None);
        let tagged = |bytes: Vec<u8>| [&bytes[..12], &[0x81, 0, 0, 5], &bytes[12..]].concat();
        bench.passes(&tagged(bench.frame(&rtp(100)).bytes()), None);
    });
}

#[test]
fn truncated_frames_are_left_to_the_stack() {
    with_configs(&["near0"], |pair, like, config| {
        let mut bench = Bench::with(pair, like, config);
        let frame = bench.frame(&rtp(60));
        let whole = frame.bytes();
        // The kernel runs nothing shorter than an Ethernet header, and in the stack nothing without
        // an IP header.
        let first = match config.hook {
            Hook::Xdp => IP,
            _ => frame.udp_at(),
        };
        for len in first..whole.len() {
            bench.passes(&whole[..len], None);
        }
        // One that is longer is filled up, as short ones are on the wire.
        let padded = [&whole[..], &[0; 9]].concat();
        assert!(matches!(bench.run(&padded), Outcome::Sent(sent) if sent[..whole.len()] == bench.relayed(&rtp(60))));
    });
}

#[test]
fn inconsistent_lengths_are_left_to_the_stack() {
    with_benches(|bench| {
        let frame = bench.frame(&rtp(60));
        let mut bytes = frame.bytes();
        bytes[frame.udp_at() + 5] -= 1;
        bench.passes(&bytes, None);
        let mut bytes = frame.bytes();
        bytes[frame.udp_at() + 4] = 0xff;
        bench.passes(&bytes, None);
    });
}

type Change<'a> = &'a dyn Fn(&mut [u8]);

/// Changes the header of IPv4 and makes its checksum right again.
fn changed(frame: &Frame, change: impl Fn(&mut [u8])) -> Option<Vec<u8>> {
    let mut bytes = frame.bytes();
    let header = frame.source.is_ipv4().then_some(&mut bytes[IP..IP + 20])?;
    change(header);
    header[10..12].fill(0);
    let sum = checksum(&[header]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    Some(bytes)
}

#[test]
fn fragments_options_and_damaged_packets_are_left_to_the_stack() {
    with_benches(|bench| {
        let frame = bench.frame(&rtp(100));
        let headers: [Change<'_>; 6] = [
            &|ip| ip[6] = 0x20, // more fragments
            &|ip| ip[7] = 1,    // not the first
            &|ip| ip[0] = 0x46, // options
            &|ip| ip[0] = 0x55, // another version
            &|ip| ip[9] = 6,    // TCP
            &|ip| ip[2] = 0x7f, // longer than the frame
        ];
        for change in headers {
            if let Some(bytes) = changed(&frame, change) {
                bench.passes(&bytes, None);
            }
        }
        if frame.source.is_ipv4() {
            let mut bytes = frame.bytes();
            bytes[IP + 10] ^= 1;
            bench.passes(&bytes, None);
        } else {
            // A fragment header, or anything else between IPv6 and UDP.
            for next in [44, 0, 43, 60, 6] {
                let mut bytes = frame.bytes();
                bytes[IP + 6] = next;
                bench.passes(&bytes, None);
            }
        }
    });
}

#[test]
fn checksums_that_are_missing_or_not_finished() {
    with_benches(|bench| {
        let mut frame = bench.frame(&rtp(100));
        frame.unchecked = true;
        if frame.source.is_ipv4() {
            // IPv4 need not have one, and then has none when it leaves.
            let mut expected = bench.relayed(&rtp(100));
            let at = frame.udp_at() + 6;
            expected[at..at + 2].fill(0);
            assert_eq!(bench.run(&frame.bytes()), Outcome::Sent(expected));
        } else {
            bench.passes(&frame.bytes(), Some(Counter::Unchecked));
        }
        // A sender on the same machine leaves the sum of the pseudo header, for a device to go on
        // from: the stack knows, the driver does not.
        let mut bytes = frame.bytes();
        let at = frame.udp_at() + 6;
        bytes[at..at + 2].copy_from_slice(&(!checksum(&[&frame.pseudo_header()])).to_be_bytes());
        match bench.offload.found()[0].attached {
            Attached::Stack => assert!(matches!(bench.run(&bytes), Outcome::Sent(_))),
            _ => bench.passes(&bytes, Some(Counter::Unchecked)),
        }
    });
}

#[test]
fn too_large_datagrams_are_left_to_the_base() {
    with_benches(|bench| {
        let headers = bench.frame(&[]).udp_at() + 8 - IP;
        bench.run(&bench.frame(&rtp(1_500 - headers)).bytes());
        assert_eq!(bench.count(Counter::Relayed), 1);
        // More than the link takes, and more than a datagram may have.
        bench.passes(&bench.frame(&rtp(1_501 - headers)).bytes(), Some(Counter::TooLarge));
        bench.passes(&bench.frame(&rtp(1_501)).bytes(), Some(Counter::TooLarge));
        // Also from a stranger, as in the model.
        let stranger = Frame::new(bench.theirs[1], bench.ours[0], &rtp(1_501));
        bench.passes(&stranger.bytes(), Some(Counter::TooLarge));
    });
}

#[test]
fn without_a_neighbour_the_base_finds_out() {
    with_benches(|bench| {
        let mut relay = bench.relay(0);
        for unknown in ["10.77.0.200:9", "192.0.2.1:9", "[fd77::200]:9", "[2001:db8::1]:9"] {
            let unknown: SocketAddr = unknown.parse().unwrap();
            // Also to ourselves, which is no way out.
            for remote in [unknown, bench.ours[1]] {
                if remote.is_ipv4() == bench.ours[0].is_ipv4() {
                    relay.rtp.as_mut().unwrap().path.remote = remote;
                    bench.set(bench.ours[0], relay.clone());
                    bench.passes(&bench.frame(&rtp(100)).bytes(), Some(Counter::NoNeighbour));
                }
            }
        }
    });
}

#[test]
fn noise_is_never_relayed_and_never_changed() {
    with_benches(|bench| {
        let mut state = 1u32;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as usize
        };
        let frame = bench.frame(&rtp(80));
        for _ in 0..20_000 {
            let mut bytes = frame.bytes();
            // Anything but the checksum of UDP and what it alone protects.
            for _ in 0..=random() % 3 {
                let at = random() % frame.udp_at();
                bytes[at] = random() as u8;
            }
            let is_plain = bytes[12..frame.udp_at()] == frame.bytes()[12..frame.udp_at()] && bytes[0] & 1 == 0;
            match bench.run(&bytes) {
                Outcome::Sent(sent) => assert!(
                    is_harmless(&frame, &bytes) && sent == bench.relayed(&rtp(80)),
                    "{bytes:x?}"
                ),
                Outcome::Redirected(_) => panic!("{bytes:x?}"),
                Outcome::Dropped | Outcome::Passed => assert!(!is_plain, "{bytes:x?}"),
            }
        }
    });
}

/// Whether a frame differs only in what is rewritten anyway.
fn is_harmless(frame: &Frame, bytes: &[u8]) -> bool {
    let mut expected = frame.bytes();
    let rewritten: &[usize] = match frame.source.is_ipv4() {
        // Type of service, identification, flags, time to live, checksum.
        true => &[1, 4, 5, 6, 8, 10, 11],
        // Traffic class, flow label, hop limit.
        false => &[0, 1, 2, 3, 7],
    };
    expected[..12].copy_from_slice(&bytes[..12]);
    rewritten.iter().for_each(|at| expected[IP + at] = bytes[IP + at]);
    expected == bytes
}
