// One copy: find its replica, give it a number, and write the receiver's values into it.

#include "replica.p4"
#include "number.p4"
#include "extensions.p4"

control Copy(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(REPLICAS, CounterType.packets_and_bytes) sent;
    counter(1, CounterType.packets_and_bytes) forwarded;
    counter(1, CounterType.packets_and_bytes) outside_target;
    counter(1, CounterType.packets_and_bytes) awaiting_key_frame;
    counter(1, CounterType.packets_and_bytes) before_switch;
    counter(1, CounterType.packets_and_bytes) too_late;
    counter(1, CounterType.packets_and_bytes) not_negotiated;
    counter(1, CounterType.packets_and_bytes) not_ready;
    counter(1, CounterType.packets_and_bytes) no_cell;

    Replica() replicas;
    Number() numbering;
    Extensions() extensions;

    apply {
        meta.verdict = SEND;
        replicas.apply(hdr, meta, standard);
        if (meta.is_here == 0) {
            mark_to_drop(standard);
        } else if ((bit<32>)meta.index >= REPLICAS) {
            // BMv2 ends when a program reads a cell that is not there.
            no_cell.count(0);
            mark_to_drop(standard);
        } else {
            numbering.apply(hdr, meta);
            if (meta.verdict != SEND) {
                mark_to_drop(standard);
            }
            if (meta.verdict == OUTSIDE_TARGET) {
                outside_target.count(0);
            } else if (meta.verdict == AWAITING_KEY_FRAME) {
                awaiting_key_frame.count(0);
            } else if (meta.verdict == BEFORE_SWITCH) {
                before_switch.count(0);
            } else if (meta.verdict == TOO_LATE) {
                too_late.count(0);
            } else if (meta.verdict == NOT_NEGOTIATED) {
                not_negotiated.count(0);
            } else if (meta.verdict == NOT_READY) {
                not_ready.count(0);
            } else if (meta.verdict == SEND) {
                if (meta.checksum != 0) {
                    meta.is_summed = 1;
                }
                if (hdr.ipv4.isValid()) {
                    hdr.ipv4.src = meta.src_addr[31:0];
                    hdr.ipv4.dst = meta.dst_addr[31:0];
                    hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                    hdr.ipv4.tos = 0;
                } else {
                    hdr.ipv6.src = meta.src_addr;
                    hdr.ipv6.dst = meta.dst_addr;
                    hdr.ipv6.ttl = hdr.ipv6.ttl - 1;
                    hdr.ipv6.tos = 0;
                }
                sent.count((bit<32>)meta.index);
                forwarded.count(0);
                hdr.rtp.ssrc = meta.replica_ssrc;
                hdr.rtp.payload_type = meta.payload_type;
                hdr.rtp.sequence = meta.sent_number;
                hdr.rtp.timestamp = hdr.rtp.timestamp + meta.timestamp_offset;
                // The last packet of a picture is another one for a receiver of a smaller size. In a
                // key picture a larger size may follow.
                if (meta.known == 1 && meta.ends_frame == 1 && meta.spatial == meta.has_spatial) {
                    if (meta.has_spatial >= meta.target_spatial ||
                        (meta.key_frame == 0 && (meta.enters == 0 || meta.temporal != 0))) {
                        hdr.rtp.marker = 1;
                    }
                }
                extensions.apply(hdr, meta, standard.egress_global_timestamp);
                if (meta.is_told == 1) {
                    meta.reason = REASON_NUMBERS;
                    meta.sent_frame = meta.frame + meta.frame_offset;
                    meta.sent_layer = (bit<8>)(meta.has_spatial ++ meta.has_temporal);
                    clone_preserving_field_list(CloneType.E2E, CPU_SESSION, 1);
                }
            }
        }
    }
}
