// The walk over header extension elements (RFC 8285) for the dependency descriptor, a state for each
// byte at which an element may begin.
//
// The states look ahead and extract nothing, so the elements stay payload. A parser looks at most 32
// bytes ahead, so the walk sees descriptors that begin in the first 24 bytes. In front of them it
// passes padding and values of one to four bytes. The descriptor's id is in a value set, since the
// parser does not know the stream. The step in layers.p4 compares it with that of the stream, and the
// place with the length of the extension.
//
// Source: Scallop, appendix E, which reads three elements of four lengths.

#define WALK_AT(O, NEXT, AFTER_1, AFTER_2, AFTER_3, AFTER_4) \
    state at_##O { \
        transition select(packet.lookahead<bit<(8 * O + 8)>>()[7:4], packet.lookahead<bit<(8 * O + 8)>>()[3:0]) { \
            (descriptor_ids, _): descriptor_##O; \
            (0, 0): NEXT; \
            (_, 0): AFTER_1; \
            (_, 1): AFTER_2; \
            (_, 2): AFTER_3; \
            (_, 3): AFTER_4; \
            default: deep; \
        } \
    } \
    state descriptor_##O { \
        meta.place = O; \
        meta.first = packet.lookahead<bit<(8 * O + 40)>>()[39:32]; \
        meta.head = packet.lookahead<bit<(8 * O + 40)>>()[31:24]; \
        meta.frame = packet.lookahead<bit<(8 * O + 40)>>()[23:8]; \
        meta.extended = packet.lookahead<bit<(8 * O + 40)>>()[7:0]; \
        transition descriptor; \
    }

#define WALK_ELEMENTS \
    WALK_AT(0, at_1, at_2, at_3, at_4, at_5) \
    WALK_AT(1, at_2, at_3, at_4, at_5, at_6) \
    WALK_AT(2, at_3, at_4, at_5, at_6, at_7) \
    WALK_AT(3, at_4, at_5, at_6, at_7, at_8) \
    WALK_AT(4, at_5, at_6, at_7, at_8, at_9) \
    WALK_AT(5, at_6, at_7, at_8, at_9, at_10) \
    WALK_AT(6, at_7, at_8, at_9, at_10, at_11) \
    WALK_AT(7, at_8, at_9, at_10, at_11, at_12) \
    WALK_AT(8, at_9, at_10, at_11, at_12, at_13) \
    WALK_AT(9, at_10, at_11, at_12, at_13, at_14) \
    WALK_AT(10, at_11, at_12, at_13, at_14, at_15) \
    WALK_AT(11, at_12, at_13, at_14, at_15, at_16) \
    WALK_AT(12, at_13, at_14, at_15, at_16, at_17) \
    WALK_AT(13, at_14, at_15, at_16, at_17, at_18) \
    WALK_AT(14, at_15, at_16, at_17, at_18, at_19) \
    WALK_AT(15, at_16, at_17, at_18, at_19, at_20) \
    WALK_AT(16, at_17, at_18, at_19, at_20, at_21) \
    WALK_AT(17, at_18, at_19, at_20, at_21, at_22) \
    WALK_AT(18, at_19, at_20, at_21, at_22, at_23) \
    WALK_AT(19, at_20, at_21, at_22, at_23, deep) \
    WALK_AT(20, at_21, at_22, at_23, deep, deep) \
    WALK_AT(21, at_22, at_23, deep, deep, deep) \
    WALK_AT(22, at_23, deep, deep, deep, deep) \
    WALK_AT(23, deep, deep, deep, deep, deep)
