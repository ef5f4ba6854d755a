// Ingress: the steps of the data plane's contract for an arriving packet. It is classified (parser),
// matched, given its layer, and replicated. A packet that no step takes is routed. If it was sent to
// a service's port it so reaches the host, whose software can do everything.

control WeirIngress(inout headers_t hdr, inout ingress_metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                    in ingress_intrinsic_metadata_from_parser_t parsed,
                    inout ingress_intrinsic_metadata_for_deparser_t deparser,
                    inout ingress_intrinsic_metadata_for_tm_t tm) {
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) received;
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) malformed;
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) fragment;
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) options;
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) checksum;
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) punted;

    Relay() relays;
    Sender() senders;
    Format() formats;
    Layers() layers;
    Replicate() replicas;
    Rtcp() rtcp;
    Route() routes;

    action drop() {
        deparser.drop_ctl = 1;
    }

    action serve(mac_t src_mac, mac_t dst_mac) {
        meta.for_host = 1;
        meta.host_src_mac = src_mac;
        meta.host_dst_mac = dst_mac;
    }

    table service {
        key = {
            meta.dst_addr: exact @name("dst_addr");
            hdr.udp.dst_port: exact @name("dst_port");
        }
        actions = {
            serve;
            @defaultonly NoAction;
        }
        size = ENTRIES;
    }

    // Keys have IPv4 addresses in mapped form, which no packet of IPv6 may have.
    table mapped {
        key = {
            hdr.ipv6.src[127:32]: ternary;
            hdr.ipv6.dst[127:32]: ternary;
        }
        actions = {
            drop;
            @defaultonly NoAction;
        }
        const entries = {
            (0xffff, _): drop();
            (_, 0xffff): drop();
        }
        size = 2;
    }

    action read_ipv4() {
        meta.src_addr = 96w0xffff ++ hdr.ipv4.src;
        meta.dst_addr = 96w0xffff ++ hdr.ipv4.dst;
        meta.ttl = hdr.ipv4.ttl;
        meta.excess = hdr.ipv4.len - hdr.udp.len;
    }

    action read_ipv6() {
        meta.src_addr = hdr.ipv6.src;
        meta.dst_addr = hdr.ipv6.dst;
        meta.ttl = hdr.ipv6.ttl;
        meta.excess = hdr.ipv6.len - hdr.udp.len;
    }

    action punt() {
        punted.count(0);
        hdr.packet_in.setValid();
        hdr.packet_in.reason = REASON_NEIGHBOUR;
        hdr.packet_in.port = 7w0 ++ intrinsic.ingress_port;
        tm.ucast_egress_port = CPU_PORT;
        tm.bypass_egress = 1;
    }

    action send_out() {
        tm.ucast_egress_port = hdr.packet_out.port[8:0];
        tm.bypass_egress = 1;
    }

    // The time, or with the controller's request the end of the lease.
    action begin_lease() {
        meta.now = meta.now + (6w0 ++ hdr.packet_out.lease[31:6]);
    }

    action shorten_lease() {
        meta.now = meta.now - (12w0 ++ hdr.packet_out.lease[31:12]);
    }

    action shorten_lease_more() {
        meta.now = meta.now - (13w0 ++ hdr.packet_out.lease[31:13]);
    }

    action copy_to_host() {
        deparser.mirror_type = MIRROR_HOST;
        meta.session = HOST_SESSION;
    }

    action find() {
        received.count(0);
        hdr.found.setValid();
        hdr.found.way = WAY_COPY;
        hdr.found.arrival_port = 7w0 ++ intrinsic.ingress_port;
        hdr.found.stream = meta.stream;
    }

    action write_ipv4() {
        hdr.ipv4.src = meta.src_addr[31:0];
        hdr.ipv4.dst = meta.dst_addr[31:0];
        hdr.ipv4.ttl = meta.ttl;
    }

    action write_ipv6() {
        hdr.ipv6.src = meta.src_addr;
        hdr.ipv6.dst = meta.dst_addr;
        hdr.ipv6.ttl = meta.ttl;
    }

    apply {
        bool is_routed = true;
        bool is_copied = false;

        meta.now = parsed.global_tstamp[47:16];
        if (hdr.packet_out.isValid()) {
            is_routed = false;
            begin_lease();
            shorten_lease();
            shorten_lease_more();
            if (hdr.packet_out.type == OUT_SEND) {
                send_out();
            } else {
                drop();
            }
        } else if (meta.is_neighbour == 1) {
            // Questions about addresses, which the controller answers.
            is_routed = false;
            punt();
        } else if (meta.is_wrong == 1) {
            is_routed = false;
            checksum.count(0);
            drop();
        } else if (hdr.ipv4.isValid()) {
            read_ipv4();
            meta.excess = meta.excess - 20;
        } else if (hdr.ipv6.isValid()) {
            read_ipv6();
            if (mapped.apply().hit) {
                is_routed = false;
            }
        } else {
            is_routed = false;
            drop();
        }

        if (is_routed) {
            if (meta.is_fragment == 1) {
                fragment.count(0);
            } else if (meta.has_options == 1) {
                options.count(0);
            } else if (hdr.udp.isValid() && meta.excess == 0 && parsed.parser_err == 0) {
                service.apply();
            }
        }
        if (meta.for_host == 1 && meta.ttl > 1) {
            if (hdr.rtp.isValid() && meta.is_whole == 1) {
                relays.apply(hdr, meta);
            } else if (hdr.rtcp.isValid()) {
                rtcp.apply(hdr, meta, deparser);
            }
        }
        if (hdr.packet_out.isValid() ||
            (meta.for_host == 1 && meta.ttl > 1 && hdr.rtp.isValid() && hdr.udp.len <= MEDIA_MAX)) {
            senders.apply(hdr, meta);
        }
        if (meta.group != 0 && meta.is_leased == 1) {
            if (meta.is_whole == 0) {
                // It has CSRCs.
                malformed.count(0);
            } else {
                formats.apply(hdr, meta, is_copied);
            }
        }
        if (is_copied) {
            is_routed = false;
            find();
            layers.apply(hdr, meta, tm);
            if (meta.pass == 1) {
                copy_to_host();
            }
            replicas.apply(hdr, meta, tm, deparser);
        }
        if (is_routed) {
            routes.apply(hdr, meta, tm, deparser);
            if (hdr.ipv4.isValid()) {
                write_ipv4();
                if (meta.set_tos == 1) {
                    hdr.ipv4.tos = meta.tos;
                }
            } else if (hdr.ipv6.isValid()) {
                write_ipv6();
                if (meta.set_tos == 1) {
                    hdr.ipv6.tos = meta.tos;
                }
            }
        }
        hdr.packet_out.setInvalid();
    }
}
