// Decides whether a replica gets a frame, by its rate.
//
// The first packet of a frame that arrives decides. A lower frame rate begins with the next frame. A
// higher one begins at a frame whose template allows it (`up`), and which the replica gets or may begin
// with (`enters`). At a key frame every rate may begin. Other packets of a frame follow, because the
// rate is the same until a newer frame decides. Late frames are judged by the present rate.
//
// A stateful ALU has two operands of the packet and constants. The frame's layer is therefore in the
// choice of the action, for three layers. Sizes of a stream (spatial layers) are not chosen here.
//
// Source: AV1 RTP specification, appendix A; Scallop section 6.1.

control Select(inout headers_t hdr, inout egress_metadata_t meta) {
    Register<bit<16>, index_t>(REPLICAS) decided; // newest frame that was decided about
    RegisterAction<bit<16>, index_t, bit<8>>(decided) decide = {
        void apply(inout bit<16> frame, out bit<8> is_first) {
            if ((int<16>)(hdr.found.frame - frame) > 0) {
                frame = hdr.found.frame;
                is_first = 1;
            } else {
                is_first = 0;
            }
        }
    };
    RegisterAction<bit<16>, index_t, bit<8>>(decided) decide_anew = {
        void apply(inout bit<16> frame, out bit<8> is_first) {
            frame = hdr.found.frame;
            is_first = 1;
        }
    };

    Register<bit<8>, index_t>(REPLICAS) layers; // highest temporal layer that it gets
    RegisterAction<bit<8>, index_t, bit<8>>(layers) change_at_0 = {
        void apply(inout bit<8> layer, out bit<8> now) {
            if (layer > meta.cap) {
                layer = meta.cap;
            } else {
                layer = max(layer, meta.wanted);
            }
            now = layer;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(layers) change_at_1 = {
        void apply(inout bit<8> layer, out bit<8> now) {
            if (layer > meta.cap) {
                layer = meta.cap;
            } else if (layer >= 1) {
                layer = max(layer, meta.wanted);
            }
            now = layer;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(layers) change_at_2 = {
        void apply(inout bit<8> layer, out bit<8> now) {
            if (layer > meta.cap) {
                layer = meta.cap;
            } else if (layer >= 2) {
                layer = max(layer, meta.wanted);
            }
            now = layer;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(layers) begin_all = {
        void apply(inout bit<8> layer, out bit<8> now) {
            layer = meta.cap;
            now = layer;
        }
    };

    action decide_frame() {
        meta.decides = decide.execute(meta.index);
    }

    action decide_first() {
        meta.decides = decide_anew.execute(meta.index);
    }

    action keep() {
        meta.cap = 7;
        meta.wanted = 0;
    }

    action change_0() {
        meta.has_temporal = change_at_0.execute(meta.index);
    }

    action change_1() {
        meta.has_temporal = change_at_1.execute(meta.index);
    }

    action change_2() {
        meta.has_temporal = change_at_2.execute(meta.index);
    }

    action begin() {
        meta.has_temporal = begin_all.execute(meta.index);
    }

    // A frame with which a receiver of lower layers may begin needs no lower layer.
    table change {
        key = {
            meta.began: ternary;
            meta.is_new: ternary;
            meta.decides: ternary;
            hdr.found.key_frame: ternary;
            hdr.found.spatial: ternary;
            hdr.found.enters: ternary;
            meta.below: ternary; // negative: it may go up from this frame
            hdr.found.temporal: ternary;
        }
        actions = {
            change_0;
            change_1;
            change_2;
            begin;
        }
        const default_action = change_0();
        const entries = {
            (1, _, _, _, _, _, _, _): begin();
            (_, 1, _, _, _, _, _, _): begin();
            (_, _, 1, 1, 0, _, _, _): begin();
            (_, _, _, _, _, 1, 0x80 &&& 0x80, _): change_0();
            (_, _, _, _, _, _, _, 0): change_0();
            (_, _, _, _, _, _, _, 1): change_1();
            (_, _, _, _, _, _, _, _): change_2();
        }
        size = 8;
    }

    apply {
        meta.wanted = min(hdr.found.up, meta.target_temporal);
        meta.cap = meta.target_temporal;
        meta.below = hdr.found.temporal - meta.wanted;
        if (meta.is_new == 1 || meta.began == 1) {
            decide_first();
        } else if (hdr.found.known == 1) {
            decide_frame();
        }
        if (meta.decides == 0) {
            keep();
        }
        change.apply();
        if (hdr.found.known == 1) {
            meta.spare = meta.has_temporal - hdr.found.temporal;
            if (meta.spare[7:7] == 1) {
                meta.verdict = OUTSIDE_TARGET;
            }
        }
    }
}
