// The walk over header extension elements (RFC 8285), a state for each depth and form.
//
// Eight slots hold an element each, of any legal length. The parser has no loop, so hardware can
// lay its states out in a row. The id of a dependency descriptor is not known here, so
// every value of three bytes or more is taken apart as a descriptor would be, and layers.p4 looks
// for it. (P4Runtime on BMv2 has no parser value sets.) The bits of a frame's own dependencies are
// read ahead, unless the packet ends before.
//
// An element is extracted only when all of it is there. One that is longer than the rest ends the
// list, as do id 15 and id 0 with a length in the one-byte form; crates/wire/src/rtp.rs has the
// same rules. The rest is the tail. It stays in packets that are not rewritten, and copies do not
// have it. Padding in front of an element takes a slot.
//
// Source: Scallop, appendix E, which reads three elements of four lengths.

#define WALK_SLOT(I, NEXT) \
    state slot_##I { \
        transition select(meta.elements) { \
            0: payload; \
            1: tail; \
            default: look_##I; \
        } \
    } \
    state look_##I { \
        meta.head = packet.lookahead<bit<16>>(); \
        transition select(meta.two_byte, meta.head) { \
            (_, 0x0000 &&& 0xff00): padding_##I; \
            (0, 0x0000 &&& 0xf000): tail; \
            (0, 0xf000 &&& 0xf000): tail; \
            (0, _): one_##I; \
            default: two_##I; \
        } \
    } \
    state padding_##I { \
        transition select(meta.elements <= 3) { \
            true: rest; \
            default: gap_##I; \
        } \
    } \
    state gap_##I { \
        packet.extract(hdr.gap[I]); \
        meta.elements = meta.elements - 1; \
        transition NEXT; \
    } \
    state one_##I { \
        meta.len = (bit<16>)meta.head[11:8] + 1; \
        transition select(meta.len + 1 <= meta.elements) { \
            true: one_start_##I; \
            default: tail; \
        } \
    } \
    state one_start_##I { \
        packet.extract(hdr.one[I]); \
        meta.elements = meta.elements - 1 - meta.len; \
        transition value_##I; \
    } \
    state two_##I { \
        meta.len = (bit<16>)meta.head[7:0]; \
        transition select(meta.len + 2 <= meta.elements) { \
            true: two_start_##I; \
            default: tail; \
        } \
    } \
    state two_start_##I { \
        packet.extract(hdr.two[I]); \
        meta.elements = meta.elements - 2 - meta.len; \
        transition value_##I; \
    } \
    state value_##I { \
        transition select(meta.len, meta.len + meta.elements + meta.left >= 3 + DEPENDENCIES_BYTES) { \
            (0, _): NEXT; \
            (1, _): brief_##I; \
            (2, _): brief_##I; \
            (3, _): mandatory_##I; \
            (_, true): described_##I; \
            default: extended_##I; \
        } \
    } \
    state brief_##I { \
        packet.extract(hdr.brief[I], (bit<32>)meta.len << 3); \
        transition NEXT; \
    } \
    state mandatory_##I { \
        packet.extract(hdr.mandatory[I]); \
        transition NEXT; \
    } \
    state described_##I { \
        packet.extract(hdr.mandatory[I]); \
        meta.dependencies_##I = packet.lookahead<dependencies_t>(); \
        packet.extract(hdr.extended[I], (bit<32>)(meta.len - 4) << 3); \
        transition NEXT; \
    } \
    state extended_##I { \
        packet.extract(hdr.mandatory[I]); \
        packet.extract(hdr.extended[I], (bit<32>)(meta.len - 4) << 3); \
        transition NEXT; \
    }

// Up to three zeros are padding to the next word. Other bytes after the last slot, or after a zero,
// may be elements.
#define WALK_ELEMENTS \
    WALK_SLOT(0, slot_1) \
    WALK_SLOT(1, slot_2) \
    WALK_SLOT(2, slot_3) \
    WALK_SLOT(3, slot_4) \
    WALK_SLOT(4, slot_5) \
    WALK_SLOT(5, slot_6) \
    WALK_SLOT(6, slot_7) \
    WALK_SLOT(7, rest) \
    state rest { \
        transition select(meta.elements) { \
            0: payload; \
            1: tail; \
            2: rest_2; \
            3: rest_3; \
            default: deep; \
        } \
    } \
    state rest_2 { \
        transition select(packet.lookahead<bit<16>>()) { \
            0: tail; \
            default: deep; \
        } \
    } \
    state rest_3 { \
        transition select(packet.lookahead<bit<24>>()) { \
            0: tail; \
            default: deep; \
        } \
    } \
    state deep { \
        meta.is_deep = 1; \
        transition tail; \
    } \
    state tail { \
        packet.extract(hdr.tail, (bit<32>)meta.elements << 3); \
        transition payload; \
    }
