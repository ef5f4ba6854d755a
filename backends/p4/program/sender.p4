// The stream of a media packet, by its source and SSRC (Scallop, algorithm 1), and its payload type.
//
// The switch copies media only until the lease ends, which the controller renews. A controller that
// has lost the switch waits for the end of the lease before it gives the rooms back to the host. So
// no two devices number packets of one replica. Relays number nothing and need no lease.

control Sender(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<48>>(1) lease_until;

    action media(stream_t stream, bit<16> group, bit<16> branches, bit<2> exclude,
                 bit<1> described, bit<8> dd_id) {
        meta.stream = stream;
        meta.group = group;
        meta.branches = branches;
        meta.exclude = exclude;
        meta.described = described;
        meta.descriptor_id = dd_id;
    }

    table sender {
        key = {
            meta.src_addr: exact @name("src_addr");
            hdr.udp.src_port: exact @name("src_port");
            meta.dst_addr: exact @name("dst_addr");
            hdr.udp.dst_port: exact @name("dst_port");
            meta.ssrc: exact @name("ssrc");
        }
        actions = {
            media;
            @defaultonly NoAction;
        }
        size = CELLS / 8;
    }

    apply {
        bit<48> until;

        lease_until.read(until, 0);
        if (hdr.packet_out.isValid()) {
            if (hdr.packet_out.type == OUT_LEASE) {
                lease_until.write(0, standard.ingress_global_timestamp + (bit<48>)hdr.packet_out.lease);
            }
        } else if (standard.ingress_global_timestamp < until) {
            sender.apply();
        }
    }
}

control Format(inout headers_t hdr, inout metadata_t meta, out bool is_known) {
    action known() {
    }

    table format {
        key = {
            meta.stream: exact @name("stream");
            hdr.rtp.payload_type: exact @name("payload_type");
        }
        actions = {
            known;
            @defaultonly NoAction;
        }
        size = CELLS / 4;
    }

    apply {
        is_known = format.apply().hit;
    }
}
