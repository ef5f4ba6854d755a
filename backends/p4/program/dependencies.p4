// A frame with dependencies of its own, in the place of its template's.
//
// A receiver begins a higher layer with a frame (`enters`) if it has what the frame refers to. At
// higher rates this is the frame before it in the chain of its layer, which every receiver of the size
// gets. At the lowest rate it is the frame directly before it, of the same picture (select.p4). A frame
// with several references is none to begin with, as in the controller's templates.
//
// The number of decode targets is not known here. So own indications are not read: no receiver begins
// a higher layer with such a frame, and receivers of larger sizes get it. Nor is anything read behind
// indications or a list of active targets.
//
// Source: AV1 RTP specification, appendix A.8.2.

control Dependencies(inout metadata_t meta) {
    apply {
        // Behind the five bits that say what follows.
        dependencies_t bits = meta.dependencies << 5;
        bit<2> size;
        reference_t reference = meta.back;
        reference_t previous = meta.back;

        if (meta.own[2:2] == 1) {
            meta.up = 0;
            meta.above = 1;
        }
        if (meta.own[1:1] == 1) {
            meta.key_frame = 0;
        }
        if (meta.own[3:2] != 0) {
            meta.enters = 0;
        } else {
            if (meta.own[1:1] == 1) {
                // The length of the next reference in half bytes, and the reference less one.
                size = bits[63:62];
                bits = bits << 2;
                if (size == 1) {
                    reference = (reference_t)bits[63:60] + 1;
                } else if (size == 2) {
                    reference = (reference_t)bits[63:56] + 1;
                } else if (size == 3) {
                    reference = (reference_t)bits[63:52] + 1;
                } else {
                    meta.enters = 0;
                }
                bits = bits << ((bit<8>)size << 2);
                if (bits[63:62] != 0) {
                    meta.enters = 0;
                }
                bits = bits << 2;
                meta.reference = reference;
            }
            if (meta.own[0:0] == 1) {
                // A byte for each chain. Behind the last bit are zeros.
                bits = bits << ((bit<8>)meta.chain << 3);
                previous = (reference_t)bits[63:56];
            }
            if (meta.temporal != 0 && reference != previous) {
                meta.enters = 0;
            }
        }
    }
}
