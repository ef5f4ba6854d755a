// Relays: addresses, ports and TOS of a datagram are replaced, and nothing else.
//
// Only RTP is relayed. The host measures calls by the parties' RTCP, and STUN and DTLS end there.
//
// Source: Kfoury et al., ICC 2020, section IV.

control Relay(inout headers_t hdr, inout ingress_metadata_t meta) {
    Counter<bit<64>, index_t>(RELAYS, CounterType_t.PACKETS_AND_BYTES) relayed;

    action forward(index_t index, address_t src_addr, bit<16> src_port, address_t dst_addr, bit<16> dst_port,
                   bit<1> set_tos, bit<8> tos) {
        relayed.count(index);
        meta.src_addr = src_addr;
        meta.dst_addr = dst_addr;
        hdr.udp.src_port = src_port;
        hdr.udp.dst_port = dst_port;
        meta.set_tos = set_tos;
        meta.tos = tos;
        meta.for_host = 0;
        meta.is_summed = 1;
    }

    table relay {
        key = {
            meta.src_addr: exact @name("src_addr");
            hdr.udp.src_port: exact @name("src_port");
            meta.dst_addr: exact @name("dst_addr");
            hdr.udp.dst_port: exact @name("dst_port");
        }
        actions = {
            forward;
            @defaultonly NoAction;
        }
        size = RELAYS;
    }

    apply {
        relay.apply();
        if (hdr.udp.checksum == 0) {
            meta.is_summed = 0; // none in IPv4 (RFC 768)
        }
    }
}
