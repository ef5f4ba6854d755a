//! Answers for the switch's own addresses: ARP, neighbour discovery and echo.
//!
//! Hosts on the networks of the switch have it as their router. They ask for the hardware address
//! of its port (RFC 826, RFC 4861 section 7.2.4), and may ping it (RFC 792, RFC 4443).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{
    ArpEthIpv4Packet, ArpOperation, ArpPacketSlice, Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, LinkSlice,
    NetSlice, PacketBuilder, SlicedPacket, TransportSlice, icmpv6,
};

use crate::P4Config;
use crate::config::{Hop, Port};

/// Neighbour discovery is not routed (RFC 4861 section 7.1.1).
const HOP_LIMIT_ND: u8 = 255;
const HOP_LIMIT: u8 = 64;

/// The longest echo that is answered, in bytes.
const ECHO_MAX: usize = 1_472;

/// The answer to a frame that arrived at a port, and the port it is sent by; `None` if it is
/// nothing that is answered.
pub(crate) fn answer(config: &P4Config, port: u16, frame: &[u8]) -> Option<(u16, Vec<u8>)> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let arrived = config.ports.iter().find(|own| own.port == port)?;
    let Some(LinkSlice::Ethernet2(ethernet)) = packet.link else {
        return None;
    };
    let from = ethernet.source();
    match (packet.net?, packet.transport) {
        (NetSlice::Arp(arp), _) => Some((port, arp_reply(arrived, &arp)?)),
        (NetSlice::Ipv4(ip), Some(TransportSlice::Icmpv4(icmp))) => {
            let header = ip.header();
            echo_v4(config, header.source_addr(), header.destination_addr(), &icmp)
        }
        (NetSlice::Ipv6(ip), Some(TransportSlice::Icmpv6(icmp))) => {
            let header = ip.header();
            let (source, destination) = (header.source_addr(), header.destination_addr());
            if !icmp.is_checksum_valid(source.octets(), destination.octets()) {
                return None;
            }
            match icmp.icmp_type() {
                Icmpv6Type::NeighborSolicitation if header.hop_limit() == HOP_LIMIT_ND => {
                    Some((port, advertisement(arrived, from, source, &icmp)?))
                }
                _ => echo_v6(config, source, destination, &icmp),
            }
        }
        _ => None,
    }
}

fn arp_reply(port: &Port, request: &ArpPacketSlice<'_>) -> Option<Vec<u8>> {
    let request = request.to_packet().try_eth_ipv4().ok()?;
    let target = IpAddr::from(request.target_ipv4);
    if request.operation != ArpOperation::REQUEST || !port.addresses.contains(&target) {
        return None;
    }
    let reply = ArpEthIpv4Packet {
        operation: ArpOperation::REPLY,
        sender_mac: port.mac.0,
        sender_ipv4: request.target_ipv4,
        target_mac: request.sender_mac,
        target_ipv4: request.sender_ipv4,
    };
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2(port.mac.0, request.sender_mac).arp(reply.into());
    builder.write(&mut frame).ok()?;
    Some(frame)
}

/// Also to a host that has no address yet (duplicate address detection).
fn advertisement(port: &Port, mac: [u8; 6], source: Ipv6Addr, icmp: &Icmpv6Slice<'_>) -> Option<Vec<u8>> {
    let target: [u8; 16] = icmp.payload().get(..16)?.try_into().ok()?;
    let target = Ipv6Addr::from(target);
    if !port.addresses.contains(&target.into()) {
        return None;
    }
    let solicited = !source.is_unspecified();
    let to = if solicited {
        source
    } else {
        Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1)
    };
    let header = icmpv6::NeighborAdvertisementHeader {
        router: true,
        solicited,
        r#override: true,
    };
    // The target's hardware address is option 2, of one unit of 8 bytes.
    let payload = [&target.octets()[..], &[2, 1], &port.mac.0].concat();
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(port.mac.0, mac)
        .ipv6(target.octets(), to.octets(), HOP_LIMIT_ND)
        .icmpv6(Icmpv6Type::NeighborAdvertisement(header))
        .write(&mut frame, &payload)
        .ok()?;
    Some(frame)
}

fn echo_v4(config: &P4Config, source: Ipv4Addr, own: Ipv4Addr, icmp: &Icmpv4Slice<'_>) -> Option<(u16, Vec<u8>)> {
    let Icmpv4Type::EchoRequest(echo) = icmp.icmp_type() else {
        return None;
    };
    let hop = echo_hop(config, source.into(), own.into(), icmp.payload())?;
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(hop.src_mac.0, hop.dst_mac.0)
        .ipv4(own.octets(), source.octets(), HOP_LIMIT)
        .icmpv4_echo_reply(echo.id, echo.seq)
        .write(&mut frame, icmp.payload())
        .ok()?;
    Some((hop.port, frame))
}

fn echo_v6(config: &P4Config, source: Ipv6Addr, own: Ipv6Addr, icmp: &Icmpv6Slice<'_>) -> Option<(u16, Vec<u8>)> {
    let Icmpv6Type::EchoRequest(echo) = icmp.icmp_type() else {
        return None;
    };
    let hop = echo_hop(config, source.into(), own.into(), icmp.payload())?;
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(hop.src_mac.0, hop.dst_mac.0)
        .ipv6(own.octets(), source.octets(), HOP_LIMIT)
        .icmpv6_echo_reply(echo.id, echo.seq)
        .write(&mut frame, icmp.payload())
        .ok()?;
    Some((hop.port, frame))
}

/// The hop to the source of an echo request that is answered.
fn echo_hop(config: &P4Config, source: IpAddr, own: IpAddr, payload: &[u8]) -> Option<Hop> {
    let is_answered = is_own(config, own) && payload.len() <= ECHO_MAX;
    is_answered.then(|| config.next_hop(source)).flatten()
}

/// Whether it is an address of any port.
fn is_own(config: &P4Config, ip: IpAddr) -> bool {
    config.ports.iter().any(|port| port.addresses.contains(&ip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::config;

    const HOST: [u8; 6] = [2, 0, 0, 9, 0, 9];
    const OWN: [u8; 6] = [2, 0, 0, 0, 0, 2];
    const NEXT: [u8; 6] = [2, 0, 0, 1, 0, 2];

    fn arp(target: [u8; 4], operation: ArpOperation) -> Vec<u8> {
        let request = ArpEthIpv4Packet {
            operation,
            sender_mac: HOST,
            sender_ipv4: [10, 0, 2, 9],
            target_mac: [0; 6],
            target_ipv4: target,
        };
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2(HOST, [0xff; 6]).arp(request.into());
        builder.write(&mut frame).unwrap();
        frame
    }

    fn v6(text: &str) -> [u8; 16] {
        text.parse::<Ipv6Addr>().unwrap().octets()
    }

    fn solicitation(from: &str, target: &str, hop_limit: u8) -> Vec<u8> {
        let mut frame = Vec::new();
        PacketBuilder::ethernet2(HOST, [0x33, 0x33, 0xff, 0, 0, 1])
            .ipv6(v6(from), v6("ff02::1:ff00:1"), hop_limit)
            .icmpv6(Icmpv6Type::NeighborSolicitation)
            .write(&mut frame, &v6(target))
            .unwrap();
        frame
    }

    #[test]
    fn arp_for_the_ports_own_address_is_answered() {
        let (port, reply) = answer(&config(), 2, &arp([10, 0, 2, 1], ArpOperation::REQUEST)).unwrap();
        let packet = SlicedPacket::from_ethernet(&reply).unwrap();
        let Some(NetSlice::Arp(arp)) = packet.net else {
            panic!("no ARP")
        };
        let arp = arp.to_packet().try_eth_ipv4().unwrap();
        assert_eq!(
            (port, arp.operation, arp.sender_mac, arp.target_mac),
            (2, ArpOperation::REPLY, OWN, HOST)
        );
        assert_eq!((arp.sender_ipv4, arp.target_ipv4), ([10, 0, 2, 1], [10, 0, 2, 9]));
        assert_eq!((&reply[..6], &reply[6..12]), (&HOST[..], &OWN[..]));
    }

    #[test]
    fn a_solicitation_is_answered_also_without_an_address() {
        for (from, to) in [("2001:db8:2::9", "2001:db8:2::9"), ("::", "ff02::1")] {
            let (_, reply) = answer(&config(), 2, &solicitation(from, "2001:db8:2::1", 255)).unwrap();
            let packet = SlicedPacket::from_ethernet(&reply).unwrap();
            let (Some(NetSlice::Ipv6(ip)), Some(TransportSlice::Icmpv6(icmp))) = (packet.net, packet.transport) else {
                panic!("no ICMPv6")
            };
            assert!(icmp.is_checksum_valid(v6("2001:db8:2::1"), v6(to)));
            assert_eq!((ip.header().hop_limit(), ip.header().destination()), (255, v6(to)));
            let expected = icmpv6::NeighborAdvertisementHeader {
                router: true,
                solicited: from != "::",
                r#override: true,
            };
            assert_eq!(icmp.icmp_type(), Icmpv6Type::NeighborAdvertisement(expected));
            assert_eq!(icmp.payload()[16..], [2, 1, 2, 0, 0, 0, 0, 2]);
        }
    }

    #[test]
    fn an_echo_is_answered_by_the_way_that_leads_back() {
        let mut request = Vec::new();
        PacketBuilder::ethernet2([0; 6], [0; 6])
            .ipv4([10, 0, 2, 9], [10, 0, 3, 1], 3)
            .icmpv4_echo_request(7, 8)
            .write(&mut request, b"ping")
            .unwrap();
        let (port, reply) = answer(&config(), 2, &request).unwrap();
        let packet = SlicedPacket::from_ethernet(&reply).unwrap();
        let Some(TransportSlice::Icmpv4(icmp)) = packet.transport else {
            panic!("no ICMP")
        };
        let Icmpv4Type::EchoReply(echo) = icmp.icmp_type() else {
            panic!("no reply")
        };
        assert_eq!((port, echo.id, echo.seq, icmp.payload()), (2, 7, 8, &b"ping"[..]));
        assert_eq!((&reply[..6], &reply[6..12]), (&NEXT[..], &OWN[..]));

        let mut request = Vec::new();
        PacketBuilder::ethernet2([0; 6], [0; 6])
            .ipv6(v6("2001:db8:2::9"), v6("2001:db8:2::1"), 3)
            .icmpv6_echo_request(7, 8)
            .write(&mut request, b"ping")
            .unwrap();
        assert!(answer(&config(), 2, &request).is_some());
    }

    #[test]
    fn requests_for_other_addresses_are_not_answered() {
        let config = config();
        assert_eq!(answer(&config, 2, &arp([10, 0, 2, 7], ArpOperation::REQUEST)), None);
        assert_eq!(
            answer(&config, 3, &arp([10, 0, 2, 1], ArpOperation::REQUEST)),
            None,
            "of another port"
        );
        assert_eq!(answer(&config, 2, &arp([10, 0, 2, 1], ArpOperation::REPLY)), None);
        assert_eq!(answer(&config, 9, &arp([10, 0, 2, 1], ArpOperation::REQUEST)), None);
        assert_eq!(
            answer(&config, 2, &solicitation("::", "2001:db8:2::1", 64)),
            None,
            "it was routed"
        );
        assert_eq!(answer(&config, 2, &solicitation("::", "2001:db8:2::7", 255)), None);
    }

    #[test]
    fn no_bytes_make_it_fail() {
        let config = config();
        for frame in [
            arp([10, 0, 2, 1], ArpOperation::REQUEST),
            solicitation("::", "2001:db8:2::1", 255),
        ] {
            for cut in 0..frame.len() {
                let _ = answer(&config, 2, &frame[..cut]);
            }
            for at in 12..frame.len() {
                let mut frame = frame.clone();
                frame[at] ^= 0xff;
                let _ = answer(&config, 2, &frame);
            }
        }
    }
}
