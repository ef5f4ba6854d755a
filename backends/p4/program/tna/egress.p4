// Egress: a copy for a receiver is rewritten. A copy for the host stays as the packet arrived, and one
// for the controller gets a header.

control WeirEgress(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
                   in egress_intrinsic_metadata_from_parser_t parsed,
                   inout egress_intrinsic_metadata_for_deparser_t deparser,
                   inout egress_intrinsic_metadata_for_output_port_t port) {
    Counter<bit<64>, index_t>(REPLICAS, CounterType_t.PACKETS_AND_BYTES) sent;
    Counter<bit<64>, bit<4>>(16, CounterType_t.PACKETS_AND_BYTES) verdicts;

    Replica() replicas;
    Number() numbering;
    Extensions() extensions;

    action punt() {
        hdr.packet_in.setValid();
        hdr.packet_in.reason = REASON_STRUCTURE;
        hdr.packet_in.port = hdr.found.arrival_port;
        hdr.packet_in.stream = hdr.found.stream;
        hdr.found.setInvalid();
    }

    action give_to_host() {
        hdr.ethernet.src = hdr.host.src_mac;
        hdr.ethernet.dst = hdr.host.dst_mac;
        hdr.host.setInvalid();
    }

    action drop() {
        deparser.drop_ctl = 1;
    }

    action write() {
        sent.count(meta.index);
        hdr.rtp.ssrc = meta.replica_ssrc;
        hdr.rtp.payload_type = meta.payload_type;
        hdr.rtp.sequence = meta.sent_number;
        hdr.rtp.timestamp = hdr.rtp.timestamp + meta.timestamp_offset;
    }

    action report() {
        deparser.mirror_type = MIRROR_NUMBERS;
        meta.report.reason = REASON_NUMBERS;
        meta.report.port = hdr.found.arrival_port;
        meta.report.index = meta.index;
        meta.report.epoch = meta.entry_epoch;
        meta.report.source_number = meta.source_number;
        meta.report.sent_number = meta.sent_number;
        meta.report.frame = hdr.found.frame;
        meta.report.layer = meta.has_temporal;
        meta.report.stream = hdr.found.stream;
    }

    apply {
        if (hdr.host.isValid()) {
            give_to_host();
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            } else {
                hdr.ipv6.ttl = hdr.ipv6.ttl - 1;
            }
        } else if (hdr.found.isValid() && intrinsic.egress_port == CPU_PORT) {
            punt();
        } else if (hdr.found.isValid()) {
            // A tree's nodes have the receiver's rid, and above it their branch.
            if (intrinsic.egress_rid != 0) {
                meta.rid = 1w0 ++ intrinsic.egress_rid[14:0];
            } else {
                meta.rid = hdr.found.rid;
            }
            meta.source_number = hdr.rtp.sequence;
            if (hdr.udp.checksum != 0) {
                meta.is_summed = 1;
            }
            replicas.apply(hdr, meta);
            if (meta.verdict != NOT_READY) {
                numbering.apply(hdr, meta);
            }
            verdicts.count(meta.verdict);
            if (meta.verdict == SEND) {
                write();
                if (hdr.ipv4.isValid()) {
                    hdr.ipv4.src = meta.src_addr[31:0];
                    hdr.ipv4.dst = meta.dst_addr[31:0];
                    hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                } else {
                    hdr.ipv6.src = meta.src_addr;
                    hdr.ipv6.dst = meta.dst_addr;
                    hdr.ipv6.ttl = hdr.ipv6.ttl - 1;
                }
                extensions.apply(hdr, meta, parsed.global_tstamp);
                if (meta.is_told == 1) {
                    report();
                }
            } else {
                drop();
            }
            hdr.found.setInvalid();
        }
    }
}
