//! Calls of SIP proxies.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Instant;

use backend_p4::Replication;
use dataplane::{Accept, Answer, Hop, Offload, Path, Relay, RelayProtection, WriteId};
use etherparse::{ArpEthIpv4Packet, ArpOperation, PacketBuilder};

use crate::bench::{Driver, HOST, Switch, datagram, frame, rtp, until};

/// In an IPv4 packet without options.
const UDP_CHECKSUM: Range<usize> = 40..42;

/// Likewise, the type of service.
const TOS: usize = 15;

const ALICE: &str = "10.0.2.5:4000";
const BOB: &str = "10.0.3.5:5000";

fn relay(accept: &str, from: &str, to: &str, tos: Option<u8>) -> Relay {
    let path = Path {
        local: from.parse().unwrap(),
        remote: to.parse().unwrap(),
    };
    Relay {
        accept: Accept::Only(accept.parse().unwrap()),
        ingress_protection: RelayProtection::Clear,
        terminated: false,
        rtp: Some(Hop {
            path,
            egress_protection: RelayProtection::Clear,
            tos,
        }),
        rtcp: None,
    }
}

/// Two ports of the host that are one call. Alice is sent differentiated services.
pub(crate) fn offer_call(driver: &mut Driver) -> (String, String) {
    let (a, b) = (format!("{HOST}:30000"), format!("{HOST}:30002"));
    let now = Instant::now();
    let (first, second) = (relay(ALICE, &b, BOB, None), relay(BOB, &a, ALICE, Some(0xb8)));
    assert_eq!(
        driver.relays.offer(now, WriteId(1), a.parse().unwrap(), Some(&first)),
        Answer::Taken
    );
    assert_eq!(
        driver.relays.offer(now, WriteId(2), b.parse().unwrap(), Some(&second)),
        Answer::Pending
    );
    let written = until("the relay is written", || driver.relays.next_written());
    assert_eq!((written.write, written.outcome), (WriteId(2), Ok(())));
    (a, b)
}

/// A packet of Alice's arrives at Bob's.
pub(crate) fn is_relayed(switch: &Switch, a: &str, b: &str) -> bool {
    let sound = rtp(0, 7, 99);
    let sent = switch.packet(2, &frame(ALICE, a, &sound), 1);
    match &sent[..] {
        [(3, frame)] => {
            assert_eq!(datagram(frame), (b.to_owned(), BOB.to_owned(), sound));
            assert_eq!(frame[TOS], 0);
            true
        }
        _ => false,
    }
}

/// A frame with this type, and with an IPv6 header in it if it is that.
fn other_frame(ethertype: u16, source: &str) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 9, 0, 9];
    frame.extend(ethertype.to_be_bytes());
    frame.extend([0x60, 0, 0, 0, 0, 12, 17, 64]);
    for address in [source, "2001:db8::1"] {
        frame.extend(address.parse::<std::net::Ipv6Addr>().unwrap().octets());
    }
    frame.extend([0x0f, 0xa0, 0x75, 0x30, 0, 12, 0, 0, 1, 2, 3, 4]);
    frame
}

#[test]
fn packets_that_are_dropped_have_a_counter() {
    Switch::each(|switch, at| {
        let driver = Driver::start(at, Replication::Multicast);
        driver.wait_until_connected();
        for (reason, frame) in [
            ("no_ip", other_frame(0x88cc, "2001:db8::2")),
            ("mapped_address", other_frame(0x86dd, "::ffff:10.0.2.5")),
            ("no_route", other_frame(0x86dd, "2001:db8::2")),
        ] {
            let before = driver.count(reason);
            assert!(switch.packet(2, &frame, 0).is_empty(), "{reason}");
            until("it is counted", || (driver.count(reason) > before).then_some(()));
        }
    });
}

#[test]
fn a_call_is_forwarded_by_the_switch_until_it_ends() {
    Switch::each(call);
}

fn call(switch: &Switch, at: SocketAddr) {
    let mut driver = Driver::start(at, Replication::Multicast);
    let (a, b) = offer_call(&mut driver);
    driver.wait_until_connected();
    for _ in 0..5 {
        assert!(is_relayed(switch, &a, &b));
    }
    let sound = rtp(1, 7, 98);
    let sent = switch.packet(3, &frame(BOB, &b, &sound), 1);
    assert_eq!(sent.len(), 1);
    assert_eq!(
        (sent[0].0, datagram(&sent[0].1)),
        (2, (a.clone(), ALICE.to_owned(), sound))
    );
    assert_eq!(sent[0].1[TOS], 0xb8);
    // RTCP is the host's.
    let mut report = rtp(0, 7, 99);
    report[1] = 200;
    let sent = switch.packet(2, &frame(ALICE, &a, &report), 1);
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].0, datagram(&sent[0].1).1), (1, a.clone()));

    let traffic = until("the counters are read", || {
        let traffic = driver.relays.relay_traffic(a.parse().unwrap());
        traffic.filter(|(traffic, _)| traffic.packets == 5)
    });
    assert_eq!(traffic.0.bytes, 5 * 17);

    assert!(is_relayed(switch, &a, &b));
    let answer = driver
        .relays
        .offer(Instant::now(), WriteId(3), a.parse().unwrap(), None);
    assert_eq!(answer, Answer::Pending);
    let written = until("it is removed", || driver.relays.next_written());
    let (traffic, last) = written.traffic.unwrap();
    assert_eq!((written.write, traffic.packets), (WriteId(3), 6));
    assert!(last.is_some());
    assert!(!is_relayed(switch, &a, &b), "it goes to the host");
}

#[test]
fn a_checksum_of_all_ones_is_right_and_a_wrong_one_is_not() {
    Switch::each(all_ones);
}

fn all_ones(switch: &Switch, at: SocketAddr) {
    let mut driver = Driver::start(at, Replication::Multicast);
    let (a, b) = offer_call(&mut driver);
    driver.wait_until_connected();
    // Sound whose checksum would be zero as it arrives, and as it is sent.
    for (from, to) in [(ALICE, &*a), (&*b, BOB)] {
        let sound = (0..=u32::from(u16::MAX))
            .map(|ssrc| rtp(0, 7, ssrc))
            .find(|sound| frame(from, to, sound)[UDP_CHECKSUM] == [0xff, 0xff])
            .unwrap();
        let sent = switch.packet(2, &frame(ALICE, &a, &sound), 1);
        assert_eq!(sent.len(), 1);
        assert_eq!(
            (sent[0].0, datagram(&sent[0].1)),
            (3, (b.clone(), BOB.to_owned(), sound))
        );
    }
    let mut damaged = frame(ALICE, &a, &rtp(0, 7, 99));
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(switch.packet(2, &damaged, 0), []);
    until("it is counted", || (driver.count("checksum") == 1).then_some(()));
}

#[test]
fn the_switch_answers_for_its_own_addresses() {
    Switch::each(own_addresses);
}

fn own_addresses(switch: &Switch, at: SocketAddr) {
    let driver = Driver::start(at, Replication::Multicast);
    driver.wait_until_connected();
    let request = ArpEthIpv4Packet {
        operation: ArpOperation::REQUEST,
        sender_mac: [2, 0, 0, 9, 0, 9],
        sender_ipv4: [10, 0, 2, 9],
        target_mac: [0; 6],
        target_ipv4: [10, 0, 2, 1],
    };
    let mut arp = Vec::new();
    PacketBuilder::ethernet2([2, 0, 0, 9, 0, 9], [0xff; 6])
        .arp(request.into())
        .write(&mut arp)
        .unwrap();
    let mut ping = Vec::new();
    PacketBuilder::ethernet2([2, 0, 0, 9, 0, 9], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 2, 9], [10, 0, 3, 1], 9)
        .icmpv4_echo_request(1, 2)
        .write(&mut ping, b"ping")
        .unwrap();
    for request in [arp, ping] {
        let mut ports: Vec<u16> = switch.packet(2, &request, 0).iter().map(|(port, _)| *port).collect();
        until("it is answered", || {
            ports.extend(switch.sent());
            (ports == [2]).then_some(())
        });
    }
    until("both are counted", || {
        (driver.count("neighbour_answered") == 2).then_some(())
    });
}
