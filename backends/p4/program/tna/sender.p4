// The stream of a media packet, by its source and SSRC (Scallop, algorithm 1), and its payload type.
//
// The switch copies media only until the lease ends, which the controller renews. Times are those of
// the parser in units of 2^16 ns, and the controller's microseconds become units by shifts:
// 1 / 65.536 = 2^-6 - 2^-12 - 2^-13.

control Sender(inout headers_t hdr, inout ingress_metadata_t meta) {
    Register<bit<32>, bit<1>>(1) lease_until;
    RegisterAction<bit<32>, bit<1>, bit<1>>(lease_until) look = {
        void apply(inout bit<32> until, out bit<1> is_leased) {
            if ((int<32>)(until - meta.now) > 0) {
                is_leased = 1;
            } else {
                is_leased = 0;
            }
        }
    };
    RegisterAction<bit<32>, bit<1>, bit<1>>(lease_until) renew = {
        void apply(inout bit<32> until) {
            until = meta.now;
        }
    };

    action media(bit<16> stream, bit<16> group, bit<16> branches, bit<2> exclude,
                 bit<1> described, bit<8> dd_id, bit<1> pass) {
        meta.stream = stream;
        meta.group = group;
        meta.branches = branches;
        meta.exclude = exclude;
        meta.described = described;
        meta.descriptor_id = dd_id;
        meta.pass = pass;
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
        size = ENTRIES;
    }

    action look_at_lease() {
        meta.is_leased = look.execute(0);
    }

    action renew_lease() {
        renew.execute(0);
    }

    apply {
        if (hdr.packet_out.isValid()) {
            if (hdr.packet_out.type == OUT_LEASE) {
                renew_lease();
            }
        } else {
            look_at_lease();
            sender.apply();
        }
    }
}

control Format(inout headers_t hdr, inout ingress_metadata_t meta, out bool is_known) {
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
        size = ENTRIES;
    }

    apply {
        is_known = format.apply().hit;
    }
}
