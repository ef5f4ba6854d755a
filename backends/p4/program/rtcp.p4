// RTCP that is forwarded besides the copy that the host always gets (Scallop section 5.3).
//
// A leg is `terminated` unless the controller writes an entry: the host answers its RTCP, as it
// does without a switch. With an entry it is `proxied`: its receiver reports and REMB go on to a
// sender, so that of many receivers' estimates one may reach it (the best downlink's). Requests for
// packets and key frames name the numbers and SSRC that the switch gave, and are the host's.

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

    table feedback {
        key = {
            meta.src_addr: exact @name("src_addr");
            hdr.udp.src_port: exact @name("src_port");
            meta.dst_addr: exact @name("dst_addr");
            hdr.udp.dst_port: exact @name("dst_port");
        }
        actions = {
            proxy;
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
        if (type == RECEIVER_REPORT || (type == PAYLOAD_FEEDBACK && format == REMB)) {
            feedback.apply();
            if (meta.for_host == 0) {
                if (hdr.ipv4.isValid()) {
                    hdr.ipv4.tos = 0;
                } else {
                    hdr.ipv6.tos = 0;
                }
                if (meta.checksum != 0) {
                    meta.is_summed = 1;
                }
            }
        }
    }
}
