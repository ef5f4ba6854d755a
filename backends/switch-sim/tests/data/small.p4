// A program that uses each construct that the simulator interprets, for its tests. Packets are not
// of any protocol: a kind, a length, elements, and the rest.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

@controller_header("packet_in")
header packet_in_t {
    bit<7> unused;
    bit<9> port;
}

@controller_header("packet_out")
header packet_out_t {
    bit<7> unused;
    bit<9> port;
}

header start_t {
    bit<8> kind;
    bit<4> high;
    bit<4> count; // elements
    bit<16> checksum;
    bit<128> address;
}

header element_t {
    bit<4> id;
    bit<4> len;
    varbit<120> value;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    start_t start;
    element_t[3] elements;
}

struct metadata_t {
    @field_list(1) bit<8> note;
    @field_list(1) bit<9> arrived;
    bit<4> left;
    bit<4> first;
    bit<16> number;
    bit<16> old;
}

parser Start(packet_in packet, out headers_t hdr, inout metadata_t meta,
             inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: ordered;
            default: body;
        }
    }
    state ordered {
        packet.extract(hdr.packet_out);
        transition body;
    }
    state body {
        packet.extract(hdr.start);
        meta.left = hdr.start.count;
        transition select(hdr.start.kind) {
            0x80 &&& 0xf0: elements;
            default: accept;
        }
    }
    state elements {
        transition select(meta.left) {
            0: accept;
            default: element;
        }
    }
    state element {
        bit<8> ahead = packet.lookahead<bit<8>>();
        meta.first = ahead[7:4];
        packet.extract(hdr.elements.next, ((bit<32>) ahead[3:0]) << 3);
        verify(hdr.elements.last.id != 15, error.ParserInvalidArgument);
        meta.left = meta.left - 1;
        transition elements;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum_with_payload(hdr.start.isValid() && hdr.start.kind == 0x99,
            { hdr.start.kind, hdr.start.high, hdr.start.count, hdr.start.address },
            hdr.start.checksum, HashAlgorithm.csum16);
    }
}

control Inward(inout headers_t hdr, inout metadata_t meta,
                inout standard_metadata_t standard) {
    counter(16, CounterType.packets_and_bytes) seen;
    direct_counter(CounterType.packets_and_bytes) routed;
    register<bit<16>>(4) numbers;

    action drop() {
        mark_to_drop(standard);
    }
    @id(0x01000010)
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    @id(0x01000011)
    action replicate(bit<16> group) {
        standard.mcast_grp = group;
    }
    @id(0x01000012)
    action report(bit<8> note) {
        meta.note = note;
        meta.arrived = standard.ingress_port;
        clone_preserving_field_list(CloneType.I2E, 7, 1);
        standard.egress_spec = 3;
    }
    action route(bit<9> port) {
        standard.egress_spec = port;
        routed.count();
    }
    action number(bit<2> index) {
        numbers.read(meta.old, (bit<32>) index);
        meta.number = meta.old + 0xfffe;
        if (meta.old > 2 && (int<16>) meta.number < 3) {
            meta.number = 100;
        } else {
            meta.number = meta.old + 1;
        }
        numbers.write((bit<32>) index, meta.number);
    }

    @id(0x02000010)
    table kinds {
        key = { hdr.start.kind: exact; standard.ingress_port: exact; }
        actions = { forward; replicate; report; drop; }
        default_action = drop();
        size = 4;
    }
    @id(0x02000011)
    table routes {
        key = { hdr.start.address: lpm; }
        actions = { route; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = routed;
        size = 64;
    }
    @id(0x02000012)
    table rules {
        key = { hdr.start.high: ternary; hdr.start.isValid(): ternary; }
        actions = { number; drop; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 64;
    }
    table constants {
        key = { hdr.start.kind: exact; }
        actions = { number; NoAction; }
        const entries = {
            0x77: number(3);
        }
        const default_action = NoAction();
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.port;
            hdr.packet_out.setInvalid();
            exit;
        }
        if (standard.parser_error != error.NoError) {
            seen.count(15);
            drop();
            exit;
        }
        if (standard.checksum_error == 1) {
            seen.count(14);
            drop();
            exit;
        }
        seen.count((bit<32>) hdr.start.count);
        if (standard.instance_type == 6) {
            meta.number = 0x6666;
        } else if (hdr.start.kind == 0x66) {
            meta.note = 0x66;
            resubmit_preserving_field_list(1);
        }
        if (!kinds.apply().hit) {
            switch (routes.apply().action_run) {
                route: { rules.apply(); }
                default: { constants.apply(); }
            }
        }
        if (hdr.start.kind == 0x33) {
            // Whatever an entry said before.
            drop();
        }
        if (hdr.elements[0].isValid() && hdr.elements[0].id == 9) {
            hdr.elements.pop_front(1);
            hdr.start.count = hdr.start.count - 1;
        }
        if (hdr.elements[1].isValid() && hdr.elements[1].id == 8) {
            hdr.elements[0] = hdr.elements[1];
        }
    }
}

control Outward(inout headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.port = meta.arrived;
        } else if (standard.instance_type == 4) {
            hdr.start.kind = meta.note;
        } else if (hdr.start.kind == 0x44) {
            meta.note = 0x45;
            recirculate_preserving_field_list(1);
        } else if (hdr.start.kind == 0x55) {
            meta.note = 0x56;
            meta.arrived = (bit<9>) standard.egress_rid;
            clone_preserving_field_list(CloneType.E2E, 7, 1);
        }
        if (standard.egress_rid != 0 && standard.egress_port != CPU_PORT) {
            hdr.start.address = hdr.start.address ^ (bit<128>) standard.egress_rid;
        }
        if (meta.number != 0) {
            hdr.start.address = (hdr.start.address & ~(bit<128>) 0xffff) | (bit<128>) meta.number;
        }
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum_with_payload(hdr.start.isValid() && hdr.start.checksum != 0,
            { hdr.start.kind, hdr.start.high, hdr.start.count, hdr.start.address },
            hdr.start.checksum, HashAlgorithm.csum16);
    }
}

control Send(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.start);
        packet.emit(hdr.elements);
    }
}

V1Switch(Start(), Verify(), Inward(), Outward(), Update(), Send()) main;
