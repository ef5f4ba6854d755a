// The state of a replica, and the number of its next packet. The state is in four registers, and in
// three more for S-LR. Source: Scallop section 7, which has four and eight.
//
// A replica whose entry has another epoch than its state starts with the state in the entry, because
// P4Runtime on BMv2 writes no registers. With `start` 0 it continues after the source's number
// `newest`. With `start` 1 it waits for a key frame, whose first packet gets the number `next`. That
// packet must be the newest of the source. The controller assigns indexes, so no two replicas share
// cells.

#include "select.p4"
#include "rewrite.p4"

control Number(inout headers_t hdr, inout metadata_t meta) {
    register<bit<16>>(REPLICAS) starts;  // epoch and flags
    register<bit<32>>(REPLICAS) numbers; // number and offset
    register<bit<32>>(REPLICAS) frames;  // newest frame, and `since`
    register<bit<32>>(REPLICAS) layers;  // newest frame decided about; layers, period and left-out sizes
    register<bit<32>>(REPLICAS) past_0;  // a frame and its offset, from the newest to the oldest
    register<bit<32>>(REPLICAS) past_1;
    register<bit<32>>(REPLICAS) past_2;

    Select() select_frame;
    Offset() by_offset;
    ByFrames() by_frames;

    // The replica starts with this packet.
    action begin() {
        meta.started = 1;
        meta.moved = 0;
        meta.began = 1;
        meta.untold = 1;
    }

    apply {
        bit<32> index = (bit<32>)meta.index;
        bit<16> start_cell;
        bit<32> cell;
        bit<16> ahead;
        bit<16> number_before;
        bit<1> is_newest = 0;

        @atomic {
            starts.read(start_cell, index);
            meta.epoch = start_cell[15:8];
            if (meta.epoch != meta.entry_epoch) {
                meta.epoch = meta.entry_epoch;
                meta.started = 1 ^ meta.start;
                meta.ended = 0;
                meta.is_coming = 0;
                meta.has_decided = 0;
                meta.decided_send = 0;
                meta.skipped = 0;
                meta.moved = 0;
                // Until it starts, `moved` tells whether the source's newest number is known.
                if (meta.start == 1 && meta.newest != 0) {
                    meta.moved = 1;
                }
                meta.untold = 1;
                meta.number = meta.newest;
                meta.offset = meta.newest + 1 - meta.next;
                meta.newest_frame = 0;
                meta.since = meta.newest + 1;
                meta.decided = 0;
                meta.has_spatial = 0;
                meta.has_temporal = meta.target_temporal;
                meta.period = 1;
                meta.past_frame_0 = 0;
                meta.past_offset_0 = 0;
                meta.past_frame_1 = 0;
                meta.past_offset_1 = 0;
                meta.past_frame_2 = 0;
                meta.past_offset_2 = 0;
            } else {
                meta.started = start_cell[7:7];
                meta.ended = start_cell[6:6];
                meta.is_coming = start_cell[5:5];
                meta.has_decided = start_cell[4:4];
                meta.decided_send = start_cell[3:3];
                meta.moved = start_cell[1:1];
                meta.untold = start_cell[0:0];
                numbers.read(cell, index);
                meta.number = cell[31:16];
                meta.offset = cell[15:0];
                frames.read(cell, index);
                meta.newest_frame = cell[31:16];
                meta.since = cell[15:0];
                layers.read(cell, index);
                meta.decided = cell[31:16];
                meta.has_spatial = cell[15:14];
                meta.has_temporal = cell[13:11];
                meta.period = cell[5:3];
                meta.skipped = cell[2:0];
                if (meta.method == METHOD_LOW_RETRANSMISSION) {
                    past_0.read(cell, index);
                    meta.past_frame_0 = cell[31:16];
                    meta.past_offset_0 = cell[15:0];
                    past_1.read(cell, index);
                    meta.past_frame_1 = cell[31:16];
                    meta.past_offset_1 = cell[15:0];
                    past_2.read(cell, index);
                    meta.past_frame_2 = cell[31:16];
                    meta.past_offset_2 = cell[15:0];
                }
            }
            meta.offset_before = meta.offset;
            number_before = meta.number;
            meta.had_temporal = meta.has_temporal;

            meta.source_number = hdr.rtp.sequence;
            if (meta.started == 0) {
                ahead = meta.source_number - meta.number;
                if (meta.moved == 0 || IS_NEWER(ahead)) {
                    is_newest = 1;
                    meta.moved = 1;
                    meta.number = meta.source_number;
                }
            }
            if (meta.started == 0 && meta.verdict == SEND) {
                if (is_newest == 1 && meta.named == 1 && meta.structure == 1 && meta.starts_frame == 1 && meta.spatial == 0) {
                    begin();
                    meta.number = meta.method == METHOD_OFFSET ? meta.source_number - 1 : meta.source_number;
                    meta.offset = meta.source_number - meta.next;
                    meta.newest_frame = meta.frame;
                    meta.since = meta.source_number;
                    meta.ended = meta.ends_frame;
                    meta.past_frame_0 = meta.frame;
                    meta.past_offset_0 = meta.offset;
                    meta.past_frame_1 = meta.frame;
                    meta.past_offset_1 = meta.offset;
                    meta.past_frame_2 = meta.frame;
                    meta.past_offset_2 = meta.offset;
                } else {
                    meta.verdict = AWAITING_KEY_FRAME;
                }
            }
            if (meta.started == 1) {
                // A frame of an unknown template is sent, and changes nothing.
                if (meta.verdict == SEND && meta.known == 1) {
                    select_frame.apply(meta);
                }
                if (meta.method == METHOD_OFFSET) {
                    by_offset.apply(meta);
                } else if (meta.verdict == SEND || meta.verdict == OUTSIDE_TARGET) {
                    by_frames.apply(meta);
                }
            }

            if (meta.offset != meta.offset_before) {
                meta.untold = 1;
            }
            // A report is due with the next packet that is sent (egress.p4), and with the first of each
            // 64 numbers.
            meta.is_told = 0;
            if (meta.verdict == SEND) {
                if (meta.untold == 1 || meta.number[15:6] != number_before[15:6]) {
                    meta.is_told = 1;
                    meta.untold = 0;
                }
            }

            starts.write(index, meta.epoch ++ meta.started ++ meta.ended ++ meta.is_coming ++ meta.has_decided ++
                         meta.decided_send ++ 1w0 ++ meta.moved ++ meta.untold);
            numbers.write(index, meta.number ++ meta.offset);
            frames.write(index, meta.newest_frame ++ meta.since);
            layers.write(index, meta.decided ++ meta.has_spatial ++ meta.has_temporal ++ 5w0 ++
                         meta.period ++ meta.skipped);
            if (meta.method == METHOD_LOW_RETRANSMISSION) {
                past_0.write(index, meta.past_frame_0 ++ meta.past_offset_0);
                past_1.write(index, meta.past_frame_1 ++ meta.past_offset_1);
                past_2.write(index, meta.past_frame_2 ++ meta.past_offset_2);
            }
        }
    }
}
