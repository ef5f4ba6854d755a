// The switch as a router: packets that no other step takes go to their next hop.
//
// Source: Kfoury et al., ICC 2020, section IV-D.

control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(1, CounterType.packets_and_bytes) no_route;
    counter(1, CounterType.packets_and_bytes) ttl;
    counter(1, CounterType.packets_and_bytes) to_host;

    action drop() {
        no_route.count(0);
        mark_to_drop(standard);
    }

    // An address of the switch itself has CPU_PORT.
    action route(switch_port_t port, mac_t src_mac, mac_t dst_mac) {
        standard.egress_spec = port;
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

    apply {
        if (meta.for_host == 1) {
            to_host.count(0);
        }
        if (nexthop.apply().hit) {
            if (standard.egress_spec == CPU_PORT) {
                meta.way = WAY_PUNT;
            } else if (meta.ttl > 1) {
                meta.ttl = meta.ttl - 1;
            } else if (meta.for_host == 0) {
                ttl.count(0);
                mark_to_drop(standard);
            }
        }
    }
}
