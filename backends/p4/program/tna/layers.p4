// The layer of a packet's frame, by its dependency descriptor.
//
// A descriptor names a template of the structure that is sent with key frames. The controller reads
// structures and writes the values of each template into a table, so a packet with a structure is
// also copied to the controller. Packets whose template is not in the table, or whose descriptor the
// walk did not reach, are sent to every receiver, as those of the lowest layer.
//
// Source: AV1 RTP specification, appendix A; Scallop section 6.1.

control Layers(inout headers_t hdr, inout ingress_metadata_t meta, inout ingress_intrinsic_metadata_for_tm_t tm) {
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) template_unknown;
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) structure;
    Counter<bit<64>, bit<1>>(1, CounterType_t.PACKETS_AND_BYTES) deep_extension;

    // The parameters are those of the v1model program. `above` is for streams of several sizes.
    action layer(bit<2> spatial, bit<3> temporal, bit<3> top, bit<3> up, bit<1> enters, bit<1> above, bit<1> key_frame) {
        hdr.found.known = 1;
        hdr.found.spatial = spatial;
        hdr.found.temporal = (bit<8>)temporal;
        hdr.found.top = (bit<8>)top;
        hdr.found.up = (bit<8>)up;
        hdr.found.enters = enters;
        hdr.found.key_frame = key_frame;
        meta.temporal = temporal;
    }

    action unknown() {
        template_unknown.count(0);
    }

    table template_layer {
        key = {
            meta.stream: exact @name("stream");
            meta.template_id: exact @name("template_id");
        }
        actions = {
            layer;
            @defaultonly unknown;
        }
        default_action = unknown();
        size = ENTRIES;
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
        size = ENTRIES;
    }

    action read_descriptor() {
        hdr.found.named = 1;
        hdr.found.starts_frame = meta.head[7:7];
        hdr.found.ends_frame = (bit<8>)meta.head[6:6];
        meta.template_id = meta.head[5:0];
        hdr.found.frame = meta.frame;
    }

    // A key frame with a structure refers to nothing.
    action read_structure() {
        structure.count(0);
        hdr.found.structure = 1;
        hdr.found.known = 1;
        hdr.found.key_frame = 1;
        tm.copy_to_cpu = 1;
    }

    apply {
        meta.elements = hdr.extension.words[5:0] ++ 2w0;
        meta.id_difference = 4w0 ++ meta.first[7:4];
        meta.spare = 4w0 ++ meta.first[3:0];
        meta.spare = meta.spare + meta.place;
        meta.spare = meta.spare + 2;
        meta.spare = meta.elements - meta.spare;
        meta.id_difference = meta.id_difference ^ meta.descriptor_id;
        if (meta.is_deep == 1) {
            deep_extension.count(0);
        }
        if (meta.described == 1) {
            if (meta.has_descriptor == 1 && meta.id_difference == 0 && meta.spare[7:7] == 0 && meta.first[3:0] >= 2) {
                read_descriptor();
                template_layer.apply();
                if (meta.extended[7:7] == 1 && meta.first[3:0] != 2) {
                    read_structure();
                }
            }
            layer_group.apply();
        }
    }
}
