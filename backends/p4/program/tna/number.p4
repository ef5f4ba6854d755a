// The number of a copy (Scallop section 7): by an offset, or by frames with little memory (S-LM).
//
// A register has one access a packet and is in one stage. The registers of the v1model program are
// therefore taken apart, and stand in the order in which their values are needed. All of a replica's
// cells have its index, and its entries are those of the v1model program: state begins with the
// entry when the entry's epoch is another one.
//
// Offset: numbers close up after each packet that is not sent and arrives in order. S-LM: a new frame
// closes up over the numbers that may be those of frames which were left out.

control Number(inout headers_t hdr, inout egress_metadata_t meta) {
    Select() select_frame;

    Register<bit<8>, index_t>(REPLICAS) epochs;
    RegisterAction<bit<8>, index_t, bit<8>>(epochs) renew = {
        void apply(inout bit<8> epoch, out bit<8> is_new) {
            if (epoch != meta.entry_epoch) {
                is_new = 1;
            } else {
                is_new = 0;
            }
            epoch = meta.entry_epoch;
        }
    };

    Register<bit<8>, index_t>(REPLICAS) starts; // 1 once it has a number
    RegisterAction<bit<8>, index_t, bit<8>>(starts) start_waiting = {
        void apply(inout bit<8> started, out bit<8> before) {
            before = 0;
            started = 0;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(starts) start_now = {
        void apply(inout bit<8> started, out bit<8> before) {
            before = started;
            started = 1;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(starts) look_at_start = {
        void apply(inout bit<8> started, out bit<8> before) {
            before = started;
        }
    };

    Register<bit<16>, index_t>(REPLICAS) frames; // the newest frame that was sent
    RegisterAction<bit<16>, index_t, bit<16>>(frames) pass_frame = {
        void apply(inout bit<16> frame, out bit<16> before) {
            before = frame;
            if ((int<16>)(hdr.found.frame - frame) > 0) {
                frame = hdr.found.frame;
            }
        }
    };
    RegisterAction<bit<16>, index_t, bit<16>>(frames) set_frame = {
        void apply(inout bit<16> frame, out bit<16> before) {
            before = frame;
            frame = hdr.found.frame;
        }
    };
    RegisterAction<bit<16>, index_t, bit<16>>(frames) look_at_frame = {
        void apply(inout bit<16> frame, out bit<16> before) {
            before = frame;
        }
    };

    Register<bit<16>, index_t>(REPLICAS) numbers; // the source's newest number
    RegisterAction<bit<16>, index_t, bit<16>>(numbers) pass_number = {
        void apply(inout bit<16> number, out bit<16> before) {
            before = number;
            if ((int<16>)(hdr.rtp.sequence - number) > 0) {
                number = hdr.rtp.sequence;
            }
        }
    };
    RegisterAction<bit<16>, index_t, bit<16>>(numbers) set_number = {
        void apply(inout bit<16> number, out bit<16> before) {
            before = meta.number_cell;
            number = hdr.rtp.sequence;
        }
    };

    // The cadence, and the frame from which it holds.
    Register<cadence_t, index_t>(REPLICAS) cadences;
    RegisterAction<cadence_t, index_t, bit<16>>(cadences) pass_cadence = {
        void apply(inout cadence_t cadence, out bit<16> since) {
            if (cadence.period != 0 && cadence.period != meta.cadence) {
                cadence.since = hdr.found.frame;
            }
            cadence.period = meta.cadence;
            since = cadence.since;
        }
    };
    RegisterAction<cadence_t, index_t, bit<16>>(cadences) forget_cadence = {
        void apply(inout cadence_t cadence, out bit<16> since) {
            cadence.since = hdr.found.frame;
            cadence.period = 0;
            since = cadence.since;
        }
    };

    Register<bit<8>, index_t>(REPLICAS) ends; // 1 if the newest frame's last packet was seen
    RegisterAction<bit<8>, index_t, bit<8>>(ends) set_end = {
        void apply(inout bit<8> ended, out bit<8> before) {
            before = ended;
            ended = hdr.found.ends_frame;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(ends) add_end = {
        void apply(inout bit<8> ended, out bit<8> before) {
            before = ended;
            ended = ended | hdr.found.ends_frame;
        }
    };

    Register<bit<16>, index_t>(REPLICAS) offsets; // the source's number less the replica's
    RegisterAction<bit<16>, index_t, bit<16>>(offsets) add_offset = {
        void apply(inout bit<16> offset, out bit<16> now) {
            offset = offset + meta.left_out;
            now = offset;
        }
    };
    RegisterAction<bit<16>, index_t, bit<16>>(offsets) set_offset = {
        void apply(inout bit<16> offset, out bit<16> now) {
            offset = meta.offset_cell;
            now = offset;
        }
    };

    // By the offset: the number of the source from which the present offset holds.
    Register<bit<16>, index_t>(REPLICAS) floors;
    RegisterAction<bit<16>, index_t, bit<16>>(floors) set_floor = {
        void apply(inout bit<16> floor, out bit<16> now) {
            floor = meta.floor;
            now = meta.floor;
        }
    };
    RegisterAction<bit<16>, index_t, bit<16>>(floors) look_at_floor = {
        void apply(inout bit<16> floor, out bit<16> now) {
            now = floor;
        }
    };

    Register<bit<8>, index_t>(REPLICAS) untold; // 1 if the next packet is to be reported
    RegisterAction<bit<8>, index_t, bit<8>>(untold) note = {
        void apply(inout bit<8> is_due, out bit<8> before) {
            before = is_due;
            is_due = 1;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(untold) take = {
        void apply(inout bit<8> is_due, out bit<8> before) {
            before = is_due;
            is_due = 0;
        }
    };

    action begin() {
        meta.began = 1;
        meta.offset_cell = hdr.rtp.sequence - meta.next;
    }

    action await() {
        meta.verdict = AWAITING_KEY_FRAME;
    }

    action take_entry() {
        meta.offset_cell = meta.newest - meta.next;
    }

    action set_period(bit<16> cadence, bit<16> less) {
        meta.cadence = cadence;
        meta.period_less = less;
    }

    // A replica's share of the frames, of one size with three layers.
    table period {
        key = {
            hdr.found.top: exact;
            meta.has_temporal: exact;
        }
        actions = {
            set_period;
        }
        const default_action = set_period(1, 0);
        const entries = {
            (1, 0): set_period(2, 1);
            (2, 1): set_period(2, 1);
            (2, 0): set_period(4, 3);
        }
        size = 4;
    }

    apply {
        meta.is_new = renew.execute(meta.index);

        // The first packet of a key frame starts a replica that waits for one.
        if (hdr.found.structure == 1 && hdr.found.starts_frame == 1 && hdr.found.spatial == 0 && meta.verdict == SEND) {
            meta.may_begin = 1;
        }
        take_entry();
        meta.number_cell = meta.newest;
        if (meta.is_new == 1 && meta.start == 1 && meta.may_begin == 0) {
            meta.was_started = start_waiting.execute(meta.index);
            await();
        } else if (meta.is_new == 1 || meta.may_begin == 1) {
            meta.was_started = start_now.execute(meta.index);
            if (meta.may_begin == 1 && (meta.is_new == 0 && meta.was_started == 0 || meta.is_new == 1 && meta.start == 1)) {
                begin();
            }
        } else {
            meta.was_started = look_at_start.execute(meta.index);
            if (meta.was_started == 0) {
                await();
            }
        }

        if (meta.verdict == SEND) {
            select_frame.apply(hdr, meta);
        }
        period.apply();

        if (meta.method == METHOD_OFFSET) {
            if (meta.is_new == 1 || meta.began == 1) {
                meta.number = set_number.execute(meta.index);
            } else {
                meta.number = pass_number.execute(meta.index);
            }
            meta.ahead = hdr.rtp.sequence - meta.number;
            if (meta.ahead != 0 && meta.ahead[15:15] == 0 && meta.verdict != SEND) {
                meta.left_out = 1;
            }
        } else if (hdr.found.named == 1) {
            if (meta.verdict == SEND) {
                if (meta.began == 1) {
                    meta.newest_frame = set_frame.execute(meta.index);
                    meta.number = set_number.execute(meta.index);
                } else {
                    meta.newest_frame = pass_frame.execute(meta.index);
                    meta.number = pass_number.execute(meta.index);
                }
            } else {
                meta.newest_frame = look_at_frame.execute(meta.index);
            }
            meta.distance = hdr.found.frame - meta.newest_frame;
            meta.skipped = hdr.rtp.sequence - meta.number;
            meta.skipped = meta.skipped - 1;
            if (meta.began == 1 || hdr.found.structure == 1) {
                meta.since = forget_cadence.execute(meta.index);
            } else if (meta.distance != 0 && meta.distance[15:15] == 0) {
                meta.since = pass_cadence.execute(meta.index);
            }
            meta.coming = meta.since - meta.newest_frame;
            // Across a key frame or a change of the cadence, every frame counts as one to be sent.
            if (meta.coming != 0 && meta.coming[15:15] == 0 || hdr.found.key_frame == 1) {
                meta.period_less = 0;
            }
            if (meta.verdict == SEND && meta.began == 0) {
                if (meta.distance == 0) {
                    meta.had_ended = add_end.execute(meta.index);
                } else if (meta.distance[15:15] == 1) {
                    meta.verdict = TOO_LATE;
                } else {
                    meta.had_ended = set_end.execute(meta.index);
                    meta.distance = meta.distance - 1;
                    meta.over = meta.period_less - meta.distance;
                    meta.left_out = min(meta.distance, meta.period_less);
                    meta.left_out = min(meta.left_out, meta.skipped);
                    if (meta.had_ended == 1 && hdr.found.starts_frame == 1 && meta.over[15:15] == 0) {
                        meta.left_out = meta.skipped;
                    }
                }
            } else if (meta.began == 1) {
                meta.had_ended = set_end.execute(meta.index);
            }
        }

        if (meta.began == 1 || meta.is_new == 1) {
            meta.offset = set_offset.execute(meta.index);
        } else {
            meta.offset = add_offset.execute(meta.index);
        }
        meta.sent_number = hdr.rtp.sequence - meta.offset;

        // Packets from before the present offset have no number any more.
        meta.floor = hdr.rtp.sequence + 1;
        if (meta.method == METHOD_OFFSET) {
            if (meta.is_new == 1 || meta.left_out == 1) {
                meta.floor = set_floor.execute(meta.index);
            } else {
                meta.floor = look_at_floor.execute(meta.index);
            }
            meta.back = hdr.rtp.sequence - meta.floor;
            if (meta.back[15:15] == 1 && meta.verdict == SEND) {
                meta.verdict = TOO_LATE;
            }
        }

        // A report is due with the next packet that is sent after a change, and with the first of each 64
        // numbers.
        meta.number = meta.number ^ hdr.rtp.sequence;
        if (meta.verdict == SEND) {
            meta.untold = take.execute(meta.index);
            if (meta.untold == 1 || meta.left_out != 0 || meta.is_new == 1 || meta.began == 1 || meta.number[15:6] != 0) {
                meta.is_told = 1;
            }
        } else if (meta.left_out != 0 || meta.is_new == 1) {
            meta.untold = note.execute(meta.index);
        }
    }
}
