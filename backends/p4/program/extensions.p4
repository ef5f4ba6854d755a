// The header extension of a copy (RFC 8285). Elements that the receiver has negotiated stay, under
// the receiver's ids, and others are removed. The receiver's mid and the time of sending are
// appended. The extension gets the size that this needs, and the lengths of UDP and IP follow.
//
// The time is computed by a multiplication, which few switches have.

// The place of an id in `ids`.
#define PLACE(ID) ((bit<8>)(ID) << 2)

#define KEEP(I) \
    if (meta.slot == I + 1 && hdr.mandatory[I].isValid()) { \
        hdr.mandatory[I].frame = hdr.mandatory[I].frame + meta.frame_offset; \
    } \
    hdr.gap[I].setInvalid(); \
    meta.new_id = 0; \
    if (hdr.one[I].isValid()) { \
        meta.new_id = (bit<4>)(meta.ids >> PLACE(hdr.one[I].id)); \
        if (meta.new_id != 0) { \
            meta.ids = meta.ids & ~(64w15 << PLACE(hdr.one[I].id)); \
            hdr.one[I].id = meta.new_id; \
            meta.size = meta.size + 2 + (bit<16>)hdr.one[I].len; \
        } \
    } else if (hdr.two[I].isValid()) { \
        if (hdr.two[I].id < 16) { \
            meta.new_id = (bit<4>)(meta.ids >> PLACE(hdr.two[I].id)); \
            if (meta.new_id != 0) { \
                meta.ids = meta.ids & ~(64w15 << PLACE(hdr.two[I].id)); \
                hdr.two[I].id = (bit<8>)meta.new_id; \
                meta.size = meta.size + 2 + (bit<16>)hdr.two[I].len; \
            } \
        } \
    } \
    if (meta.new_id == 0) { \
        hdr.one[I].setInvalid(); \
        hdr.two[I].setInvalid(); \
        hdr.brief[I].setInvalid(); \
        hdr.mandatory[I].setInvalid(); \
        hdr.extended[I].setInvalid(); \
    }

control Extensions(inout headers_t hdr, inout metadata_t meta, in bit<48> now) {
    apply {
        bit<16> grown;

        meta.old_size = 0;
        meta.size = 0;
        if (hdr.extension.isValid()) {
            meta.old_size = 4 + (hdr.extension.words << 2);
        } else {
            hdr.extension.setValid();
            hdr.extension.profile = PROFILE_ONE_BYTE;
        }
        if (meta.two_byte == 0) {
            // No element of another profile is kept.
            hdr.extension.profile = PROFILE_ONE_BYTE;
        }
        KEEP(0)
        KEEP(1)
        KEEP(2)
        KEEP(3)
        KEEP(4)
        KEEP(5)
        KEEP(6)
        KEEP(7)
        hdr.tail.setInvalid();

        if (meta.mid_id != 0 && meta.mid_len != 0) {
            if (meta.two_byte == 1) {
                hdr.mid_two.setValid();
                hdr.mid_two.id = (bit<8>)meta.mid_id;
                hdr.mid_two.len = (bit<8>)meta.mid_len;
                meta.size = meta.size + 2 + (bit<16>)meta.mid_len;
            } else {
                hdr.mid_one.setValid();
                hdr.mid_one.id = meta.mid_id;
                hdr.mid_one.len = (bit<4>)(meta.mid_len - 1);
                meta.size = meta.size + 1 + (bit<16>)meta.mid_len;
            }
            if (meta.mid_len == 1) {
                hdr.mid_1.setValid();
                hdr.mid_1.value = meta.mid[7:0];
            } else if (meta.mid_len == 2) {
                hdr.mid_2.setValid();
                hdr.mid_2.value = meta.mid[15:0];
            } else {
                hdr.mid_3.setValid();
                hdr.mid_3.value = meta.mid;
            }
        }
        if (meta.time_id != 0) {
            if (meta.two_byte == 1) {
                hdr.time_two.setValid();
                hdr.time_two.id = (bit<8>)meta.time_id;
                hdr.time_two.len = 3;
                meta.size = meta.size + 5;
            } else {
                hdr.time_one.setValid();
                hdr.time_one.id = meta.time_id;
                hdr.time_one.len = 2;
                meta.size = meta.size + 4;
            }
            hdr.time.setValid();
            // Microseconds to 2^-18 seconds: 2^18 / 10^6, in 32 bits of fraction.
            hdr.time.value = (bit<24>)(((bit<80>)now * 1125899907) >> 32);
        }

        if (meta.size == 0) {
            hdr.extension.setInvalid();
            hdr.rtp.extension = 0;
        } else {
            if (meta.size[1:0] == 3) {
                hdr.fill_1.setValid();
                hdr.fill_1.zero = 0;
            } else if (meta.size[1:0] == 2) {
                hdr.fill_2.setValid();
                hdr.fill_2.zero = 0;
            } else if (meta.size[1:0] == 1) {
                hdr.fill_3.setValid();
                hdr.fill_3.zero = 0;
            }
            hdr.rtp.extension = 1;
            hdr.extension.words = (meta.size + 3) >> 2;
            meta.size = 4 + (hdr.extension.words << 2);
        }
        grown = meta.size - meta.old_size; // wraps
        hdr.udp.len = hdr.udp.len + grown;
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.len = hdr.ipv4.len + grown;
        } else {
            hdr.ipv6.len = hdr.ipv6.len + grown;
        }
    }
}
