// Decides whether a replica gets a frame.
//
// The first packet of a frame that arrives decides, and its other packets follow. A lower frame rate
// begins with the next frame. A higher one begins at a frame of the replica's size whose template
// allows it (`up`), and which the replica gets or may begin with (`enters`). A larger size begins at a
// frame that a replica may begin with. A smaller size begins at its next frame of the lowest rate, or
// at one whose template allows it, if none of its frames of the lowest rate was left out since the
// last key frame. At a key frame every rate may begin, and sizes begin with the frames of the picture.
//
// Frames of layers that are not copied for the receiver are not seen here (layers.p4). The controller
// has lowered the target before, and has them copied again before it raises the target.
//
// Source: AV1 RTP specification, appendix A; the model's select/switch.rs.

control Select(inout metadata_t meta) {
    apply {
        bit<16> ahead = meta.frame - meta.decided;
        bit<2> wanted_spatial = meta.target_spatial;
        bit<3> wanted_temporal = meta.target_temporal;
        bit<2> before_spatial = meta.has_spatial;
        bit<3> before_temporal = meta.has_temporal;
        bit<1> is_sent = 1;
        bit<1> enters = meta.enters;

        if (meta.temporal == 0 && meta.reference != 0 && ((bit<16>)meta.reference != ahead || meta.decided_send == 0)) {
            // Its own reference is not to the newest frame, or that was not sent.
            enters = 0;
        }
        if (meta.has_decided == 0 || IS_NEWER(ahead)) {
            if (meta.has_temporal > wanted_temporal) {
                meta.has_temporal = wanted_temporal;
            }
            if (meta.key_frame == 1 && meta.spatial == 0) {
                // The sender may have given up larger sizes.
                meta.has_spatial = 0;
                meta.has_temporal = wanted_temporal;
                meta.skipped = 0;
            } else if (meta.has_spatial > wanted_spatial && meta.spatial == wanted_spatial &&
                       ((meta.skipped >> wanted_spatial) & 1) == 0) {
                if (meta.temporal == 0 ||
                    (meta.temporal < wanted_temporal && meta.temporal < meta.up &&
                     (meta.temporal <= meta.has_temporal || enters == 1))) {
                    meta.has_spatial = wanted_spatial;
                }
            }
            if (enters == 1 && meta.temporal == 0 && meta.spatial > meta.has_spatial && meta.spatial <= wanted_spatial) {
                meta.has_spatial = meta.spatial;
            }
            wanted_temporal = LEAST(meta.up, wanted_temporal);
            if (wanted_temporal > meta.has_temporal && meta.spatial == meta.has_spatial &&
                (meta.temporal <= meta.has_temporal || (enters == 1 && wanted_temporal > meta.temporal))) {
                meta.has_temporal = wanted_temporal;
            }

            if (meta.spatial > meta.has_spatial || meta.temporal > meta.has_temporal) {
                is_sent = 0;
            } else if (meta.spatial < meta.has_spatial && meta.above == 0) {
                is_sent = 0;
                if (meta.temporal == 0) {
                    meta.skipped = meta.skipped | (3w1 << meta.spatial);
                }
            }
            meta.has_decided = 1;
            meta.decided = meta.frame;
            meta.decided_send = is_sent;
            if (meta.has_spatial != before_spatial || meta.has_temporal != before_temporal) {
                meta.untold = 1;
            }
        } else if (ahead == 0) {
            is_sent = meta.decided_send;
        } else if (meta.frame != meta.newest_frame || meta.method == METHOD_OFFSET) {
            // A late frame is judged by the present layers and changes nothing. Other packets of the
            // newest sent frame follow that frame.
            if (meta.spatial > meta.has_spatial || meta.temporal > meta.has_temporal ||
                (meta.spatial < meta.has_spatial && meta.above == 0)) {
                is_sent = 0;
            }
        }
        if (is_sent == 0) {
            meta.verdict = OUTSIDE_TARGET;
        }
    }
}
