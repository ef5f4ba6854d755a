// Ingress: the steps of the data plane's contract for an arriving packet. It is classified (parser),
// matched, given its layer, and replicated. A packet that no step takes is routed. If it was sent to
// a service's port it so reaches the host, whose software can do everything.

control WeirIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(1, CounterType.packets_and_bytes) received;
    counter(1, CounterType.packets_and_bytes) malformed;
    counter(1, CounterType.packets_and_bytes) padding_only;
    counter(1, CounterType.packets_and_bytes) fragment;
    counter(1, CounterType.packets_and_bytes) options;
    counter(1, CounterType.packets_and_bytes) checksum;
    counter(1, CounterType.packets_and_bytes) no_ip;
    counter(1, CounterType.packets_and_bytes) mapped_address;
    counter(1, CounterType.packets_and_bytes) punted;

    Relay() relays;
    Sender() senders;
    Format() formats;
    Layers() layers;
    Replicate() replicas;
    Rtcp() rtcp;
    Route() routes;

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
        size = 65536;
    }

    action drop() {
        mark_to_drop(standard);
    }

    apply {
        bool is_first = standard.instance_type != RECIRCULATED;
        bool is_routed = true;

        meta.reason = 0;
        meta.structure = 0;
        if (is_first) {
            meta.arrival_port = (bit<16>)standard.ingress_port;
        }
        if (hdr.packet_out.isValid()) {
            is_routed = false;
        } else if (meta.is_neighbour == 1) {
            // Questions about addresses, which the controller answers.
            is_routed = false;
            meta.way = WAY_PUNT;
            standard.egress_spec = CPU_PORT;
        } else if (standard.checksum_error == 1) {
            // Rewriting it would make the checksum right and the packet not.
            is_routed = false;
            checksum.count(0);
            drop();
        } else if (!hdr.ipv4.isValid() && !hdr.ipv6.isValid()) {
            is_routed = false;
            no_ip.count(0);
            drop();
        } else if (hdr.ipv6.isValid()) {
            // Keys have IPv4 addresses in this form, which no packet of IPv6 may have.
            if (meta.src_addr[127:32] == 0xffff || meta.dst_addr[127:32] == 0xffff) {
                is_routed = false;
                mapped_address.count(0);
                drop();
            }
        }

        if (is_routed) {
            if (meta.is_fragment == 1) {
                fragment.count(0);
            } else if (meta.has_options == 1) {
                options.count(0);
            } else if (hdr.udp.isValid()) {
                service.apply();
            }
        }
        if (meta.for_host == 1 && meta.ttl > 1) {
            // A relay's bytes are counted by frames, so it gets none with anything behind the datagram.
            if (hdr.rtp.isValid() && meta.is_whole == 1 && meta.has_trailer == 0) {
                relays.apply(hdr, meta);
            } else if (hdr.rtcp.isValid()) {
                rtcp.apply(hdr, meta, standard);
            }
        }
        if (hdr.packet_out.isValid() ||
            (meta.for_host == 1 && meta.ttl > 1 && hdr.rtp.isValid())) {
            senders.apply(hdr, meta, standard);
        }
        if (meta.group != 0) {
            bool is_copied = false;

            if (meta.is_whole == 0) {
                is_routed = false;
                malformed.count(0);
                drop();
            } else {
                formats.apply(hdr, meta, is_copied);
                if (is_copied) {
                    if (is_first) {
                        received.count(0);
                        if (meta.is_empty == 1) {
                            padding_only.count(0);
                        }
                    }
                    layers.apply(hdr, meta, is_first);
                }
            }
            if (is_copied) {
                is_routed = false;
                if (is_first) {
                    // The host counts arrivals, and may have other receivers.
                    meta.reason = REASON_HOST;
                    clone_preserving_field_list(CloneType.I2E, HOST_SESSION, 1);
                }
                replicas.apply(hdr, meta, standard, is_first);
            }
        }
        if (hdr.packet_out.isValid()) {
            if (hdr.packet_out.type == OUT_SEND) {
                standard.egress_spec = hdr.packet_out.port[8:0];
            } else {
                drop();
            }
            hdr.packet_out.setInvalid();
        } else if (is_routed) {
            if (is_first) {
                routes.apply(hdr, meta, standard);
            } else {
                // Its entries were removed between two passes.
                drop();
            }
        }

        if (meta.way == WAY_PUNT) {
            punted.count(0);
        }

        // The addresses and the TTL as the steps left them.
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.src = meta.src_addr[31:0];
            hdr.ipv4.dst = meta.dst_addr[31:0];
            hdr.ipv4.ttl = meta.ttl;
        } else if (hdr.ipv6.isValid()) {
            hdr.ipv6.src = meta.src_addr;
            hdr.ipv6.dst = meta.dst_addr;
            hdr.ipv6.ttl = meta.ttl;
        }
    }
}
