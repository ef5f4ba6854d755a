// The layer of a packet's frame, by its dependency descriptor.
//
// A descriptor names a template of the structure that is sent with key frames. The controller reads
// structures and writes the values of each template into a table, so a packet with a structure is
// also copied to the controller. Packets whose template is not in the table, or whose descriptor the
// walk did not reach, are sent to every receiver, as those of the lowest layer.
//
// Source: AV1 RTP specification, appendix A; Scallop section 6.1.

#define FIND_DESCRIPTOR(I) \
    if (meta.slot == 0 && hdr.mandatory[I].isValid()) { \
        if (hdr.one[I].isValid()) { \
            id = (bit<8>)hdr.one[I].id; \
        } else { \
            id = hdr.two[I].id; \
        } \
        if (id == meta.descriptor_id) { \
            meta.slot = I + 1; \
            meta.starts_frame = hdr.mandatory[I].start; \
            meta.ends_frame = hdr.mandatory[I].end; \
            meta.template_id = hdr.mandatory[I].template_id; \
            meta.frame = hdr.mandatory[I].frame; \
            if (hdr.extended[I].isValid()) { \
                meta.structure = hdr.extended[I].structure; \
                meta.own = hdr.extended[I].active ++ hdr.extended[I].own_indications ++ \
                           hdr.extended[I].own_references ++ hdr.extended[I].own_chains; \
                meta.dependencies = meta.dependencies_##I; \
            } \
        } \
    }

#include "dependencies.p4"

control Layers(inout headers_t hdr, inout metadata_t meta, in bool is_first) {
    counter(1, CounterType.packets_and_bytes) template_unknown;
    counter(1, CounterType.packets_and_bytes) structure;
    counter(1, CounterType.packets_and_bytes) deep_extension;
    Dependencies() dependencies;

    // top: the highest temporal layer that the sender makes of its one size; 0 where it makes
    // several. up: the highest temporal layer that a receiver of this frame may go up to. enters: a
    // receiver of lower layers may begin with this frame. At the lowest rate this is a receiver of
    // smaller sizes, and at higher ones a receiver of lower rates. above: receivers of larger sizes
    // need the frame too. key_frame: it refers to no other. back: the one frame that it refers to. chain:
    // the one that protects its layer, or 8 if it has none that is read.
    action layer(bit<2> spatial, bit<3> temporal, bit<3> top, bit<3> up, bit<1> enters, bit<1> above, bit<1> key_frame,
                 reference_t back, bit<4> chain) {
        meta.spatial = spatial;
        meta.temporal = temporal;
        meta.top = top;
        meta.up = up;
        meta.enters = enters;
        meta.above = above;
        meta.key_frame = key_frame;
        meta.back = back;
        meta.chain = chain;
    }

    table template_layer {
        key = {
            meta.stream: exact @name("stream");
            meta.template_id: exact @name("template_id");
        }
        actions = {
            layer;
            @defaultonly NoAction;
        }
        size = CELLS;
    }

    // The upper layers of a meeting with receivers of reduced quality have trees of their own, by
    // layer (RA-R) or by layer and sender (RA-SR). Source: Scallop section 6.2.
    action use_group(bit<16> group, bit<16> branches, bit<2> exclude) {
        meta.group = group;
        meta.branches = branches;
        meta.exclude = exclude;
    }

    table layer_group {
        key = {
            meta.stream: exact @name("stream");
            meta.temporal: exact @name("temporal");
        }
        actions = {
            use_group;
            @defaultonly NoAction;
        }
        size = CELLS / 4;
    }

    apply {
        bit<8> id;

        if (meta.is_deep == 1 && is_first) {
            deep_extension.count(0);
        }
        if (meta.described == 1 && meta.is_empty == 0) {
            FIND_DESCRIPTOR(0)
            FIND_DESCRIPTOR(1)
            FIND_DESCRIPTOR(2)
            FIND_DESCRIPTOR(3)
            FIND_DESCRIPTOR(4)
            FIND_DESCRIPTOR(5)
            FIND_DESCRIPTOR(6)
            FIND_DESCRIPTOR(7)
            if (meta.slot != 0) {
                meta.named = 1;
                if (template_layer.apply().hit) {
                    meta.known = 1;
                } else if (is_first) {
                    template_unknown.count(0);
                }
                // A key frame with a structure refers to nothing.
                if (meta.structure == 1) {
                    meta.known = 1;
                    meta.key_frame = 1;
                    if (is_first) {
                        structure.count(0);
                    }
                } else if (meta.own[2:0] != 0) {
                    dependencies.apply(meta);
                }
            }
            layer_group.apply();
        }
    }
}
