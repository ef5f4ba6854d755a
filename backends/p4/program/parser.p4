// Reads a packet: Ethernet, IP, UDP, and of it RTP or RTCP.
//
// A packet that the steps cannot rewrite is not parsed further and is routed unchanged: IPv4 with
// options, IPv6 with extension headers, fragments, datagrams whose two lengths disagree, and those of
// more than MEDIA_MAX.
//
// RTP and RTCP share a port and are told apart by the second byte (RFC 5761 section 4). STUN and DTLS
// on the same port are for the host (RFC 7983).

#include "walk.p4"

parser WeirParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
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
        meta.src_addr = 96w0xffff ++ hdr.ipv4.src;
        meta.dst_addr = 96w0xffff ++ hdr.ipv4.dst;
        meta.ttl = hdr.ipv4.ttl;
        meta.ip_payload = hdr.ipv4.len - 20;
        meta.has_trailer = (bit<1>)(standard.packet_length > 14 + (bit<32>)hdr.ipv4.len);
        transition select(hdr.ipv4.version, hdr.ipv4.words, hdr.ipv4.more_fragments, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (4, 5, 0, 0, PROTOCOL_UDP): udp;
            (4, 5, 0, 0, _): accept;
            (4, 5, _, _, _): fragment;
            (4, 8 &&& 8, _, _, _): ipv4_options;
            (4, 6 &&& 14, _, _, _): ipv4_options;
            default: options; // with fewer words than a header has
        }
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        meta.src_addr = hdr.ipv6.src;
        meta.dst_addr = hdr.ipv6.dst;
        meta.ttl = hdr.ipv6.ttl;
        meta.ip_payload = hdr.ipv6.len;
        meta.has_trailer = (bit<1>)(standard.packet_length > 54 + (bit<32>)hdr.ipv6.len);
        transition select(hdr.ipv6.version, hdr.ipv6.protocol) {
            (6, PROTOCOL_UDP): udp;
            (6, PROTOCOL_ICMPV6): icmp;
            (6, PROTOCOL_FRAGMENT): fragment;
            (6, 0): options;   // hop by hop
            (6, 43): options;  // routing
            (6, 51): options;  // authentication
            (6, 60): options;  // destination
            (6, 135): options; // mobility
            default: accept;
        }
    }

    state ipv4_options {
        packet.extract(hdr.ipv4_options, ((bit<32>)hdr.ipv4.words - 5) << 5);
        transition options;
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
        packet.extract(hdr.icmp);
        transition select(hdr.icmp.type) {
            133 &&& 0xff: neighbour;
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
        meta.checksum = hdr.udp.checksum;
        meta.left = hdr.udp.len - 8;
        transition select(hdr.udp.len == meta.ip_payload && hdr.udp.len >= 16 && hdr.udp.len <= MEDIA_MAX) {
            true: datagram;
            default: accept;
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
        transition select(meta.left >= 12) {
            true: rtp_header;
            default: accept;
        }
    }

    state rtp_header {
        packet.extract(hdr.rtp);
        meta.ssrc = hdr.rtp.ssrc;
        meta.left = meta.left - 12;
        meta.len = (bit<16>)hdr.rtp.csrc_count << 2;
        transition select(hdr.rtp.csrc_count == 0, meta.len <= meta.left) {
            (true, _): rtp_extension;
            (_, true): csrcs;
            default: cut;
        }
    }

    state csrcs {
        packet.extract(hdr.csrcs, (bit<32>)meta.len << 3);
        meta.left = meta.left - meta.len;
        transition rtp_extension;
    }

    state rtp_extension {
        transition select(hdr.rtp.extension, meta.left >= 4) {
            (0, _): payload;
            (1, true): extension;
            default: cut;
        }
    }

    state extension {
        packet.extract(hdr.extension);
        meta.left = meta.left - 4;
        meta.elements = hdr.extension.words << 2;
        transition select(hdr.extension.words < 0x4000 && meta.elements <= meta.left) {
            true: form;
            default: cut;
        }
    }

    state form {
        meta.left = meta.left - meta.elements;
        transition select(hdr.extension.profile) {
            PROFILE_ONE_BYTE: slot_0;
            PROFILE_TWO_BYTE &&& 0xfff0: two_byte;
            default: tail;
        }
    }

    state two_byte {
        meta.two_byte = 1;
        transition slot_0;
    }

    WALK_ELEMENTS

    // The last byte of a packet with padding says how long that is (RFC 3550 section 5.1).
    state payload {
        transition select(hdr.rtp.padding, meta.left, meta.has_trailer) {
            (0, 0, _): empty;
            (0, _, 0): whole;
            (0, _, 1): bounded;
            (1, 0, _): accept;
            default: filling;
        }
    }

    // A network card fills frames to the shortest length, with any bytes. They are no part of the
    // datagram, nor of its checksum.
    state bounded {
        packet.extract(hdr.filling, (bit<32>)meta.left << 3);
        transition whole;
    }

    // The same for what is not parsed further.
    state cut {
        transition select(meta.has_trailer, meta.left) {
            (0, _): accept;
            (_, 0): accept;
            default: cut_rest;
        }
    }

    state cut_rest {
        packet.extract(hdr.filling, (bit<32>)meta.left << 3);
        transition accept;
    }

    state filling {
        packet.extract(hdr.filling, (bit<32>)(meta.left - 1) << 3);
        packet.extract(hdr.count);
        transition select(hdr.count.count == 0 || (bit<16>)hdr.count.count > meta.left, (bit<16>)hdr.count.count == meta.left) {
            (true, _): accept;
            (_, true): empty;
            default: whole;
        }
    }

    state empty {
        meta.is_empty = 1;
        transition whole;
    }

    state whole {
        meta.is_whole = 1;
        transition accept;
    }

    state rtcp {
        packet.extract(hdr.rtcp);
        meta.ssrc = hdr.rtcp.ssrc;
        meta.left = meta.left - 8;
        transition select(hdr.rtcp.type, hdr.rtcp.padding) {
            (RECEIVER_REPORT, 0): receiver_report;
            default: cut;
        }
    }

    // Feedback follows a receiver report where compound packets are sent (RFC 3550 section 6.1).
    state receiver_report {
        meta.len = (bit<16>)hdr.rtcp.count * 24;
        transition select(meta.len + 4 <= meta.left, hdr.rtcp.count) {
            (true, 0): next_rtcp;
            (true, _): blocks;
            default: cut;
        }
    }

    state blocks {
        packet.extract(hdr.blocks, (bit<32>)meta.len << 3);
        meta.left = meta.left - meta.len;
        transition next_rtcp;
    }

    state next_rtcp {
        packet.extract(hdr.next_rtcp);
        meta.left = meta.left - 4;
        transition cut;
    }
}
