// The header extension of a copy (RFC 8285): the receiver's mid and the time of sending are put in
// front of the elements that the packet has, each in a word of its own. A packet without an extension
// gets one. The lengths of UDP and IP follow.
//
// The clock counts nanoseconds. In units of 2^12 ns it is multiplied by 1.073741824 = 2^30 / 10^9 to
// become units of 2^-18 seconds, by the sum of 1, 2^-4, 2^-7, 2^-9, 2^-10, 2^-11 and 2^-17. That is
// 4 parts in a million too slow.

control Extensions(inout headers_t hdr, inout egress_metadata_t meta, in bit<48> now) {
    action add_extension() {
        hdr.extension.setValid();
        hdr.extension.profile = PROFILE_ONE_BYTE;
        hdr.extension.words = 0;
        hdr.rtp.extension = 1;
        meta.grown = 4;
        meta.grown_twice = 8;
    }

    action add_mid() {
        hdr.mid.setValid();
        hdr.mid.id = meta.mid_id;
        hdr.mid.value = meta.mid;
        hdr.extension.words = hdr.extension.words + 1;
        meta.grown = meta.grown + 4;
        meta.grown_twice = meta.grown_twice + 8;
    }

    action add_time() {
        hdr.time.setValid();
        hdr.time.id = meta.time_id;
        hdr.time.len = 2;
        hdr.time.value = meta.time_a[23:0];
        hdr.extension.words = hdr.extension.words + 1;
        meta.grown = meta.grown + 4;
        meta.grown_twice = meta.grown_twice + 8;
    }


    action shift_mid_1() {
        hdr.mid.len = 0;
        hdr.mid.value = meta.mid[7:0] ++ 16w0;
    }

    action shift_mid_2() {
        hdr.mid.len = 1;
        hdr.mid.value = meta.mid[15:0] ++ 8w0;
    }

    action keep_mid() {
        hdr.mid.len = 2;
    }

    apply {
        meta.time_a = now[43:12];
        meta.time_b = 4w0 ++ now[43:16];
        meta.time_c = 7w0 ++ now[43:19];
        meta.time_d = 9w0 ++ now[43:21];
        meta.time_a = meta.time_a + meta.time_b;
        meta.time_c = meta.time_c + meta.time_d;
        meta.time_b = 10w0 ++ now[43:22];
        meta.time_d = 11w0 ++ now[43:23];
        meta.time_a = meta.time_a + meta.time_c;
        meta.time_b = meta.time_b + meta.time_d;
        meta.time_c = 17w0 ++ now[43:29];
        meta.time_a = meta.time_a + meta.time_b;
        meta.time_a = meta.time_a + meta.time_c;

        if (!hdr.extension.isValid() && (meta.mid_id != 0 || meta.time_id != 0)) {
            add_extension();
        }
        if (meta.mid_id != 0) {
            add_mid();
            if (meta.mid_len == 1) {
                shift_mid_1();
            } else if (meta.mid_len == 2) {
                shift_mid_2();
            } else {
                keep_mid();
            }
        }
        if (meta.time_id != 0) {
            add_time();
        }
        hdr.udp.len = hdr.udp.len + meta.grown;
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.len = hdr.ipv4.len + meta.grown;
        } else {
            hdr.ipv6.len = hdr.ipv6.len + meta.grown;
        }
    }
}
