// The receiver and the replica of a copy. A copy is dropped if its receiver has no replica of the
// stream. The group contains the sender's own leg, and may contain legs that get other streams.

control Replica(inout headers_t hdr, inout egress_metadata_t meta) {
    action to(mac_t src_mac, mac_t dst_mac, address_t src_addr, bit<16> src_port, address_t dst_addr, bit<16> dst_port) {
        hdr.ethernet.src = src_mac;
        hdr.ethernet.dst = dst_mac;
        meta.src_addr = src_addr;
        meta.dst_addr = dst_addr;
        hdr.udp.src_port = src_port;
        hdr.udp.dst_port = dst_port;
    }

    action no_receiver() {
        meta.verdict = NOT_READY;
    }

    table receiver {
        key = {
            meta.rid: exact @name("rid");
        }
        actions = {
            to;
            @defaultonly no_receiver;
        }
        default_action = no_receiver();
        size = ENTRIES;
    }

    // The parameters are those of the v1model program. `ids` and `frame_offset` rewrite elements, which
    // this program leaves as they are.
    action send(index_t index, bit<8> epoch, bit<32> ssrc, bit<1> start, bit<16> newest, bit<16> next,
                bit<32> timestamp_offset, bit<16> frame_offset, bit<2> method, bit<2> spatial, bit<3> temporal,
                bit<4> mid_id, bit<2> mid_len, bit<24> mid, bit<4> time_id, bit<64> ids) {
        meta.index = index;
        meta.entry_epoch = epoch;
        meta.replica_ssrc = ssrc;
        meta.start = (bit<8>)start;
        meta.newest = newest;
        meta.next = next;
        meta.timestamp_offset = timestamp_offset;
        meta.method = method;
        meta.target_spatial = spatial;
        meta.target_temporal = (bit<8>)temporal;
        meta.mid_id = mid_id;
        meta.mid_len = mid_len;
        meta.mid = mid;
        meta.time_id = time_id;
    }

    table replica {
        key = {
            meta.rid: exact @name("rid");
            hdr.found.stream: exact @name("stream");
        }
        actions = {
            send;
            @defaultonly NoAction;
        }
        size = ENTRIES;
    }

    action map(bit<7> payload_type) {
        meta.payload_type = payload_type;
    }

    action no_payload_type() {
        meta.verdict = NOT_NEGOTIATED;
    }

    table payload_type {
        key = {
            meta.index: exact @name("index");
            hdr.rtp.payload_type: exact @name("payload_type");
        }
        actions = {
            map;
            @defaultonly no_payload_type;
        }
        default_action = no_payload_type();
        size = 2 * ENTRIES;
    }

    apply {
        if (replica.apply().hit) {
            receiver.apply();
            if (meta.verdict == SEND) {
                payload_type.apply();
            }
        } else {
            meta.verdict = NOT_READY;
        }
    }
}
