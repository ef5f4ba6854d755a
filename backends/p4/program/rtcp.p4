// RTCP that is forwarded besides the copy that the host always gets (Scallop section 5.3).
//
// A leg is `terminated` unless the controller writes an entry: the host answers its RTCP, as it
// does without a switch. With entries it is `proxied`: a receiver's feedback goes on to the sender
// by class, so that of many receivers' estimates one may reach it (the best downlink's), and a
// sender's reports go to its receivers like media.

control Rtcp(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action proxy(address_t src_addr, bit<16> src_port, address_t dst_addr, bit<16> dst_port) {
        meta.src_addr = src_addr;
        meta.dst_addr = dst_addr;
        hdr.udp.src_port = src_port;
        hdr.udp.dst_port = dst_port;
        meta.for_host = 0;
        meta.reason = REASON_HOST;
        clone_preserving_field_list(CloneType.I2E, HOST_SESSION, 1);
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
        size = 16384;
    }

    apply {
        bit<8> type = hdr.rtcp.type;
        bit<5> format = hdr.rtcp.count;

        if (hdr.next_rtcp.isValid()) {
            if (hdr.next_rtcp.type == TRANSPORT_FEEDBACK || hdr.next_rtcp.type == PAYLOAD_FEEDBACK) {
                type = hdr.next_rtcp.type;
                format = hdr.next_rtcp.count;
            }
        }
        if (type == RECEIVER_REPORT || (type == PAYLOAD_FEEDBACK && format == 15)) {
            meta.feedback_class = 1; // RR, REMB
        } else if (type == TRANSPORT_FEEDBACK && format == 1) {
            meta.feedback_class = 2; // NACK
        } else if (type == PAYLOAD_FEEDBACK && (format == 1 || format == 4)) {
            meta.feedback_class = 3; // PLI, FIR
        }
        if (meta.feedback_class != 0) {
            feedback.apply();
            if (meta.for_host == 0 && meta.checksum != 0) {
                meta.is_summed = 1;
            }
        }
    }
}

// The receivers of a sender's reports; its stream is known.
control Report(inout metadata_t meta, out bool is_proxied) {
    action replicate(bit<16> group, bit<16> branches, bit<2> exclude) {
        meta.group = group;
        meta.branches = branches;
        meta.exclude = exclude;
    }

    table report {
        key = {
            meta.stream: exact @name("stream");
        }
        actions = {
            replicate;
            @defaultonly NoAction;
        }
        size = 65536;
    }

    apply {
        is_proxied = report.apply().hit;
    }
}
