// RTCP that is forwarded besides the copy that the host always gets (Scallop section 5.3): of many
// receivers' estimates the one of the best downlink goes on to the sender.

control Rtcp(inout headers_t hdr, inout ingress_metadata_t meta, inout ingress_intrinsic_metadata_for_deparser_t deparser) {
    action proxy(address_t src_addr, bit<16> src_port, address_t dst_addr, bit<16> dst_port) {
        meta.src_addr = src_addr;
        meta.dst_addr = dst_addr;
        hdr.udp.src_port = src_port;
        hdr.udp.dst_port = dst_port;
        meta.for_host = 0;
        meta.is_summed = 1;
        deparser.mirror_type = MIRROR_HOST;
        meta.session = HOST_SESSION;
    }

    action stop() {
    }

    table feedback {
        key = {
            meta.src_addr: exact @name("src_addr");
            hdr.udp.src_port: exact @name("src_port");
            meta.dst_addr: exact @name("dst_addr");
            hdr.udp.dst_port: exact @name("dst_port");
            meta.feedback_class: exact @name("class");
        }
        actions = {
            proxy;
            stop;
            @defaultonly NoAction;
        }
        size = ENTRIES;
    }

    action classify(bit<2> feedback_class) {
        meta.feedback_class = feedback_class;
    }

    // The formats of feedback: 15 is REMB.
    table feedback_format {
        key = {
            hdr.rtcp.type: ternary;
            hdr.rtcp.count: ternary;
            meta.has_next: ternary;
            meta.next_type: ternary;
            meta.next_first: ternary;
        }
        actions = {
            classify;
        }
        const default_action = classify(0);
        const entries = {
            (PAYLOAD_FEEDBACK, 15, _, _, _): classify(1);
            (RECEIVER_REPORT, _, 0, _, _): classify(1);
            (RECEIVER_REPORT, _, 1, PAYLOAD_FEEDBACK, 15 &&& 0x1f): classify(1);
            (RECEIVER_REPORT, _, 1, PAYLOAD_FEEDBACK, _): classify(0);
            (RECEIVER_REPORT, _, 1, TRANSPORT_FEEDBACK, _): classify(0);
            (RECEIVER_REPORT, _, 1, _, _): classify(1);
        }
        size = 8;
    }

    apply {
        feedback_format.apply();
        if (meta.feedback_class != 0) {
            feedback.apply();
            if (hdr.udp.checksum == 0) {
                meta.is_summed = 0;
            }
        }
    }
}
