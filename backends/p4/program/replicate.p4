// Makes the copies of a stream's packets in one of three ways, chosen when the program is compiled.
// Receivers get the same packets by each.
//
// REPLICATION_MULTICAST: the multicast engine copies to the nodes of a tree, each with a number of its
// own. Two meetings, or two layers, share a tree, and a packet names the exclusion id of the nodes
// that are not its own. P4Runtime's groups know no exclusion, so egress drops the copies of those
// nodes, and that of the sender (Scallop section 6.2). Two parties need no tree.
//
// REPLICATION_RECIRCULATION: each pass sends one copy, to the participant of its position, and the
// packet as it arrived goes through ingress again for the next position. Source: Papageorgiou, Athens
// 2026, section 3, which has one stream a host.
//
// REPLICATION_TREE: each pass makes two of one packet, and a bit of the position, until there are
// as many as a tree of the group's depth has leaves. Empty leaves are dropped. Source: Scallop section
// 6.3.
//
// The passes find stream and layer anew, and carry only position and depth. A clone is made of the
// packet as it arrived, so the TTL goes down once however many passes there were. One packet has one
// clone a pass; the first pass of the latter two therefore copies nothing but what the host or the
// controller gets.

control Replicate(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard, in bool is_first) {
    action member(bit<16> rid, switch_port_t port) {
        meta.rid = rid;
        standard.egress_spec = port;
        meta.way = WAY_COPY;
    }

    action nobody() {
        mark_to_drop(standard);
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
        size = 65536;
    }

    apply {
#if defined(REPLICATION_MULTICAST)
        if (meta.branches == 1) {
            meta.position = 0;
            participant.apply();
        } else {
            meta.way = WAY_COPY;
            standard.mcast_grp = meta.group;
        }
#elif defined(REPLICATION_RECIRCULATION)
        if (is_first) {
            meta.position = 0;
            meta.way = WAY_AGAIN;
            standard.egress_spec = standard.ingress_port;
        } else {
            participant.apply();
            if (meta.position + 1 < meta.branches) {
                meta.reason = REASON_AGAIN;
                clone_preserving_field_list(CloneType.I2E, CPU_SESSION, 1);
            }
        }
#elif defined(REPLICATION_TREE)
        if (is_first) {
            meta.position = 0;
            meta.depth = 0;
            meta.way = WAY_AGAIN;
            standard.egress_spec = standard.ingress_port;
        } else if ((bit<16>)meta.depth < meta.branches) {
            meta.depth = meta.depth + 1;
            meta.position = meta.position << 1;
            meta.way = WAY_AGAIN;
            standard.egress_spec = standard.ingress_port;
            meta.reason = REASON_AGAIN;
            clone_preserving_field_list(CloneType.I2E, CPU_SESSION, 1);
        } else {
            participant.apply();
        }
#else
#error choose a way to replicate
#endif
    }
}
