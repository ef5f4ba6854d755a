// The number of a copy (Scallop section 7).
//
// Offset: numbers close up after each packet that is not sent and arrives in order. It serves streams
// whose packets name no frames. S-LM and S-LR number by frames and do not look at packets that are
// left out. They are those of crates/rewriting, which documents their guarantees: they mask no loss.

// A replica's share of the frames, of one size with three layers.
#define CADENCE(PERIOD, TEMPORAL) \
    if (meta.top <= TEMPORAL) { \
        PERIOD = 1; \
    } else if (meta.top == TEMPORAL + 1) { \
        PERIOD = 2; \
    } else { \
        PERIOD = 4; \
    }

// By the offset. Packets from before the present offset have no number any more.
control Offset(inout metadata_t meta) {
    apply {
        bit<16> ahead = meta.source_number - meta.number;
        bit<16> back = meta.source_number - meta.since;

        if (IS_NEWER(ahead)) {
            meta.number = meta.source_number;
            if (meta.verdict != SEND) {
                meta.offset = meta.offset + 1;
                meta.since = meta.source_number + 1;
                meta.moved = 1;
                meta.untold = 1;
            } else if (back >= 0x4000) {
                // So that old numbers are never taken for new ones.
                meta.since = meta.source_number - 0x3fff;
                meta.moved = 1;
            }
        } else if (IS_OLDER(back)) {
            if (meta.moved == 0) {
                meta.verdict = BEFORE_SWITCH;
            } else if (meta.verdict == SEND) {
                meta.verdict = TOO_LATE;
            }
        }
        meta.sent_number = meta.source_number - meta.offset;
    }
}

// By frames, as crates/rewriting/src/newest.rs, low_memory.rs and low_retransmission.rs.
control ByFrames(inout metadata_t meta) {
    apply {
        bit<16> distance = meta.frame - meta.newest_frame;
        bit<16> ahead = meta.source_number - meta.number;
        bit<16> coming = meta.since - meta.newest_frame;
        bit<16> offset = meta.offset;
        bit<3> cadence;
        bit<16> period;
        bit<16> skipped;
        bit<16> left_out;
        bit<16> missing;
        bit<8> shift;
        bit<16> past_frame;
        bit<16> past_offset;

        CADENCE(cadence, meta.has_temporal)
        if (meta.named == 1 && (IS_NEWER(distance) || meta.began == 1)) {
            if (meta.structure == 1) {
                // The controller writes the layers of this structure after it has this packet, so
                // the period becomes known with the next frame.
                meta.period = 0;
                meta.is_coming = 0;
            } else {
                if (meta.period == 0) {
                    CADENCE(meta.period, meta.had_temporal)
                }
                if (meta.period != cadence) {
                    meta.period = cadence;
                    meta.is_coming = 1;
                    meta.since = meta.frame;
                    coming = distance;
                }
            }
        }

        if (meta.verdict != SEND) {
        } else if (meta.named == 0) {
            // Without a descriptor it continues the newest frame, if it is newer than all packets.
            if (IS_NEWER(ahead)) {
                meta.number = meta.source_number;
            } else {
                meta.verdict = TOO_LATE;
            }
        } else if (distance == 0) {
            if (IS_NEWER(ahead)) {
                meta.number = meta.source_number;
            }
            meta.ended = meta.ended | meta.ends_frame;
        } else if (IS_NEWER(distance)) {
            // Across a key frame or a change of the cadence, every frame counts as one to be sent.
            if (!IS_NEWER(coming)) {
                meta.is_coming = 0;
            }
            period = 1;
            shift = 0;
            if (meta.is_coming == 0 && meta.key_frame == 0) {
                period = (bit<16>)meta.period;
                shift = (bit<8>)meta.period >> 1; // 1, 2, 4: 0, 1, 2
            }
            if (!IS_NEWER(ahead)) {
                // A newer frame with an older number, which no correct sender sends.
                meta.verdict = TOO_LATE;
            } else {
                skipped = ahead - 1;
                left_out = LEAST(period - 1, distance - 1);
                left_out = LEAST(left_out, skipped);
                if (meta.ended == 1 && meta.starts_frame == 1 && distance <= period) {
                    left_out = skipped;
                }
                if (meta.method == METHOD_LOW_RETRANSMISSION) {
                    // Frames of the cadence of which nothing has arrived have places, too.
                    missing = (distance - 1) >> shift;
                    past_frame = meta.past_frame_0;
                    past_offset = meta.past_offset_0;
                    if (missing == 0) {
                        meta.past_frame_2 = meta.past_frame_1;
                        meta.past_offset_2 = meta.past_offset_1;
                        meta.past_frame_1 = past_frame;
                        meta.past_offset_1 = past_offset;
                        meta.past_frame_0 = meta.newest_frame;
                        meta.past_offset_0 = offset;
                    } else {
                        meta.past_frame_0 = meta.frame - period;
                        meta.past_offset_0 = offset;
                        meta.past_offset_1 = offset;
                        meta.past_offset_2 = offset;
                        if (missing == 1) {
                            meta.past_frame_1 = meta.newest_frame;
                            meta.past_frame_2 = past_frame;
                            meta.past_offset_2 = past_offset;
                        } else {
                            meta.past_frame_1 = meta.frame - (period << 1);
                            if (missing == 2) {
                                meta.past_frame_2 = meta.newest_frame;
                            } else {
                                meta.past_frame_2 = meta.frame - (period << 1) - period;
                            }
                        }
                    }
                }
                offset = offset + left_out;
                meta.offset = offset;
                meta.number = meta.source_number;
                meta.newest_frame = meta.frame;
                meta.ended = meta.ends_frame;
            }
        } else if (meta.method != METHOD_LOW_RETRANSMISSION) {
            meta.verdict = TOO_LATE;
        } else if (meta.frame == meta.past_frame_0) {
            offset = meta.past_offset_0;
        } else if (meta.frame == meta.past_frame_1) {
            offset = meta.past_offset_1;
        } else if (meta.frame == meta.past_frame_2) {
            offset = meta.past_offset_2;
        } else {
            meta.verdict = TOO_LATE;
        }
        meta.sent_number = meta.source_number - offset;
    }
}
