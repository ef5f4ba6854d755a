// The switch as a router: packets that no other step takes go to their next hop, past egress.
//
// Source: Kfoury et al., ICC 2020, section IV-D.

control Route(inout headers_t hdr, inout ingress_metadata_t meta, inout ingress_intrinsic_metadata_for_tm_t tm,
              inout ingress_intrinsic_metadata_for_deparser_t deparser) {
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) no_route;
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) ttl;
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) to_host;

    action drop() {
        no_route.count(0);
        deparser.drop_ctl = 1;
    }

    // An address of the switch itself has CPU_PORT.
    action route(PortId_t port, mac_t src_mac, mac_t dst_mac) {
        tm.ucast_egress_port = port;
        tm.bypass_egress = 1;
        hdr.ethernet.src = src_mac;
        hdr.ethernet.dst = dst_mac;
    }

    table nexthop {
        key = {
            meta.dst_addr: lpm @name("dst_addr");
        }
        actions = {
            route;
            @defaultonly drop;
        }
        default_action = drop();
        size = 4096;
    }

    action expire() {
        ttl.count(0);
        deparser.drop_ctl = 1;
    }

    apply {
        if (meta.for_host == 1) {
            to_host.count(0);
        }
        if (nexthop.apply().hit) {
            if (tm.ucast_egress_port != CPU_PORT) {
                if (meta.ttl > 1) {
                    meta.ttl = meta.ttl - 1;
                } else if (meta.for_host == 0) {
                    expire();
                }
            }
        }
    }
}
