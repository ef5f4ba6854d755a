// Reads a packet: Ethernet, IP, UDP, and of it RTP or RTCP, in ingress and again in egress.
//
// A packet that the steps cannot rewrite is not parsed further and is routed unchanged: IPv4 with
// options, IPv6 with extension headers, fragments, and RTP with CSRCs.
//
// RTP and RTCP share a port and are told apart by the second byte (RFC 5761 section 4). STUN and DTLS
// on the same port are for the host (RFC 7983).

#include "walk.p4"

parser IngressParser(packet_in packet, out headers_t hdr, out ingress_metadata_t meta,
                     out ingress_intrinsic_metadata_t intrinsic) {
    Checksum() ipv4_sum;
    Checksum() udp_sum;
    value_set<bit<4>>(1) descriptor_ids;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        transition select(intrinsic.ingress_port) {
            CPU_PORT: from_controller;
            default: ethernet;
        }
    }

    state from_controller {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            ETHERTYPE_ARP: neighbour;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        ipv4_sum.add(hdr.ipv4);
        meta.is_wrong = (bit<1>)ipv4_sum.verify();
        udp_sum.subtract({hdr.ipv4.src, hdr.ipv4.dst});
        transition select(hdr.ipv4.words, hdr.ipv4.more_fragments, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0, 0, PROTOCOL_UDP): udp;
            (5, 0, 0, _): accept;
            (5, _, _, _): fragment;
            default: options;
        }
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        udp_sum.subtract({hdr.ipv6.src, hdr.ipv6.dst});
        transition select(hdr.ipv6.protocol) {
            PROTOCOL_UDP: udp;
            PROTOCOL_ICMPV6: icmp;
            44: fragment;
            0: options;   // hop by hop
            43: options;  // routing
            51: options;  // authentication
            60: options;  // destination
            135: options; // mobility
            default: accept;
        }
    }

    state fragment {
        meta.is_fragment = 1;
        transition accept;
    }

    state options {
        meta.has_options = 1;
        transition accept;
    }

    // Neighbour discovery (RFC 4861).
    state icmp {
        transition select(packet.lookahead<bit<8>>()) {
            133: neighbour;
            134 &&& 0xfe: neighbour;
            136 &&& 0xfe: neighbour;
            default: accept;
        }
    }

    state neighbour {
        meta.is_neighbour = 1;
        transition accept;
    }

    state udp {
        packet.extract(hdr.udp);
        udp_sum.subtract({hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.checksum});
        meta.residue = udp_sum.get();
        transition select(hdr.udp.len) {
            0 &&& 0xfff0: accept; // shorter than 16
            default: datagram;
        }
    }

    state datagram {
        transition select(packet.lookahead<bit<16>>()) {
            0x80c0 &&& 0xc0e0: rtcp;
            0x8000 &&& 0xc000: rtp;
            default: accept;
        }
    }

    state rtp {
        packet.extract(hdr.rtp);
        meta.ssrc = hdr.rtp.ssrc;
        transition select(hdr.rtp.csrc_count, hdr.rtp.extension) {
            (0, 0): whole;
            (0, 1): extension;
            default: accept;
        }
    }

    state extension {
        packet.extract(hdr.extension);
        transition select(hdr.extension.profile, hdr.extension.words) {
            (PROFILE_ONE_BYTE, 0): whole;
            (PROFILE_ONE_BYTE, _): at_0;
            default: deep;
        }
    }

    WALK_ELEMENTS

    state descriptor {
        meta.has_descriptor = 1;
        transition whole;
    }

    state deep {
        meta.is_deep = 1;
        transition whole;
    }

    state whole {
        meta.is_whole = 1;
        transition accept;
    }

    // Feedback follows a receiver report where compound packets are sent (RFC 3550 section 6.1). It is
    // seen after a report without blocks.
    state rtcp {
        packet.extract(hdr.rtcp);
        transition select(hdr.rtcp.type, hdr.rtcp.count) {
            (RECEIVER_REPORT, 0): next_rtcp;
            default: accept;
        }
    }

    state next_rtcp {
        meta.has_next = 1;
        meta.next_first = packet.lookahead<bit<16>>()[15:8];
        meta.next_type = packet.lookahead<bit<16>>()[7:0];
        transition accept;
    }
}

parser EgressParser(packet_in packet, out headers_t hdr, out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t intrinsic) {
    Checksum() udp_sum;

    state start {
        packet.extract(intrinsic);
        transition select(packet.lookahead<bit<8>>()) {
            WAY_COPY: copy;
            REASON_HOST: host;
            REASON_NUMBERS: report;
            default: accept;
        }
    }

    state report {
        packet.extract(hdr.packet_in);
        transition accept;
    }

    state host {
        packet.extract(hdr.host);
        transition ethernet;
    }

    state copy {
        packet.extract(hdr.found);
        transition ethernet;
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        udp_sum.subtract({hdr.ipv4.src, hdr.ipv4.dst});
        transition udp;
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        udp_sum.subtract({hdr.ipv6.src, hdr.ipv6.dst});
        transition udp;
    }

    // Ingress has found all of this to be there.
    state udp {
        packet.extract(hdr.udp);
        udp_sum.subtract({hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.checksum});
        udp_sum.subtract_all_and_deposit(meta.residue);
        packet.extract(hdr.rtp);
        transition select(hdr.rtp.extension) {
            1: extension;
            default: accept;
        }
    }

    state extension {
        packet.extract(hdr.extension);
        transition accept;
    }
}
