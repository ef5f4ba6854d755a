// Makes the copies of a stream's packets: the multicast engine copies to the nodes of a tree, each
// with a number of its own. Two meetings, or two layers, share a tree, and a packet names the
// exclusion id of the nodes that are not its own, which the engine skips (Scallop section 6.2). Two
// parties need no tree.

control Replicate(inout headers_t hdr, inout ingress_metadata_t meta, inout ingress_intrinsic_metadata_for_tm_t tm,
                  inout ingress_intrinsic_metadata_for_deparser_t deparser) {
    action member(bit<16> rid, PortId_t port) {
        hdr.found.rid = rid;
        tm.ucast_egress_port = port;
    }

    action nobody() {
        deparser.drop_ctl = 1;
    }

    table participant {
        key = {
            meta.group: exact @name("group");
            meta.position: exact @name("position");
        }
        actions = {
            member;
            @defaultonly nobody;
        }
        default_action = nobody();
        size = ENTRIES;
    }

    action use_tree() {
        tm.mcast_grp_a = meta.group;
        tm.level1_exclusion_id = 14w0 ++ meta.exclude;
    }

    apply {
        if (meta.branches == 1) {
            participant.apply();
        } else {
            use_tree();
        }
    }
}
