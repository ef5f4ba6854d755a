// Egress: a copy for a receiver is rewritten. A clone for the host or the controller stays as the
// packet arrived. A packet that needs another pass returns to ingress.

control WeirEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(1, CounterType.packets_and_bytes) pruned;
    Copy() copies;

    action punt() {
        hdr.packet_in.setValid();
        hdr.packet_in.reason = meta.reason;
        hdr.packet_in.port = meta.arrival_port;
        hdr.packet_in.index = meta.index;
        hdr.packet_in.epoch = meta.epoch;
        hdr.packet_in.source_number = meta.source_number;
        hdr.packet_in.sent_number = meta.sent_number;
        hdr.packet_in.frame = meta.sent_frame;
        hdr.packet_in.layer = meta.sent_layer;
        hdr.packet_in.stream = meta.stream;
    }

    apply {
        if (standard.instance_type == INGRESS_CLONE) {
            if (meta.reason == REASON_HOST) {
                hdr.ethernet.src = meta.host_src_mac;
                hdr.ethernet.dst = meta.host_dst_mac;
                if (hdr.ipv4.isValid()) {
                    hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                } else {
                    hdr.ipv6.ttl = hdr.ipv6.ttl - 1;
                }
                if (meta.structure == 1) {
                    meta.reason = REASON_STRUCTURE;
                    clone_preserving_field_list(CloneType.E2E, CPU_SESSION, 1);
                }
            } else {
                // REASON_AGAIN. The pass before this one took the even position.
                meta.position = meta.position + 1;
                recirculate_preserving_field_list(1);
            }
        } else if (standard.instance_type == EGRESS_CLONE) {
            punt();
        } else if (meta.way == WAY_COPY) {
            // A tree's nodes have the receiver's rid, and above it their branch. The branches 0 and 1
            // have the exclusion ids 1 and 2. BMv2's engine has none and makes all copies, so those of
            // the other branch are dropped here (Scallop section 6.2: L1 pruning).
            if (standard.egress_rid != 0) {
                meta.rid = (bit<16>)standard.egress_rid[14:0];
            }
            if (standard.egress_rid != 0 && (bit<2>)standard.egress_rid[15:15] + 1 == meta.exclude) {
                pruned.count(0);
                mark_to_drop(standard);
            } else {
                copies.apply(hdr, meta, standard);
            }
        } else if (meta.way == WAY_AGAIN) {
            recirculate_preserving_field_list(1);
        } else if (meta.way == WAY_PUNT) {
            meta.reason = REASON_NEIGHBOUR;
            punt();
        }
    }
}
