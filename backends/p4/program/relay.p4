// Relays: addresses, ports and TOS of a datagram are replaced, and nothing else.
//
// The key is exact. The paper hashes it to 32 bits, of which a million entries share some 128.
// Only RTP is relayed. The host measures calls by the parties' RTCP, and STUN and DTLS end there.
//
// Source: Kfoury et al., ICC 2020, section IV.

control Relay(inout headers_t hdr, inout metadata_t meta) {
    counter(RELAYS, CounterType.packets_and_bytes) relayed;

    action forward(bit<16> index, address_t src_addr, bit<16> src_port, address_t dst_addr, bit<16> dst_port,
                   bit<1> set_tos, bit<8> tos) {
        relayed.count((bit<32>)index);
        meta.src_addr = src_addr;
        meta.dst_addr = dst_addr;
        hdr.udp.src_port = src_port;
        hdr.udp.dst_port = dst_port;
        meta.set_tos = set_tos;
        meta.tos = tos;
        meta.for_host = 0;
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
        size = 65536;
    }

    apply {
        if (relay.apply().hit) {
            if (meta.checksum != 0) {
                meta.is_summed = 1;
            }
            if (meta.set_tos == 1 && hdr.ipv4.isValid()) {
                hdr.ipv4.tos = meta.tos;
            } else if (meta.set_tos == 1) {
                hdr.ipv6.tos = meta.tos;
            }
        }
    }
}
