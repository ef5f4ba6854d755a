// Types and constants of all steps.

typedef bit<48> mac_t;
// IPv4 addresses are mapped, ::ffff:a.b.c.d, so that one key has room for both families.
typedef bit<128> address_t;
typedef bit<9> switch_port_t;
typedef bit<24> stream_t; // the number of a stream
typedef bit<24> index_t;  // of a replica's cells
typedef bit<64> dependencies_t; // the bits of a descriptor behind its mandatory fields
typedef bit<13> reference_t; // the distance to an earlier frame, in frame numbers

const bit<16> DEPENDENCIES_BYTES = 8;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_ARP = 0x0806;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_ICMPV6 = 58;
const bit<8> PROTOCOL_FRAGMENT = 44;

// RFC 8285: forms of header extensions. The low four bits of the second are the application's.
const bit<16> PROFILE_ONE_BYTE = 0xbede;
const bit<16> PROFILE_TWO_BYTE = 0x1000;

// RTCP packet types (RFC 3550 section 12.1, RFC 4585 section 6.1).
const bit<8> RECEIVER_REPORT = 201;
const bit<8> TRANSPORT_FEEDBACK = 205;
const bit<8> PAYLOAD_FEEDBACK = 206;
// The format of REMB, among other application layer feedback (RFC 4585 section 6.4).
const bit<5> REMB = 15;

// The port of the controller's packets (`--cpu-port`).
const switch_port_t CPU_PORT = 510;
const bit<32> CPU_SESSION = 1;
const bit<32> HOST_SESSION = 2;

// `standard_metadata.instance_type` of BMv2.
const bit<32> INGRESS_CLONE = 1;
const bit<32> EGRESS_CLONE = 2;
const bit<32> RECIRCULATED = 4;

// Cells of the registers and counters, and sizes of tables that grow with them. BMv2 takes memory
// for all of it from the start.
#ifndef CELLS
#define CELLS 524288
#endif
const bit<32> REPLICAS = CELLS;
const bit<32> RELAYS = 65536;
const bit<16> MEDIA_MAX = 1508; // media with its UDP header: longer datagrams are for the host

// The reason for a packet to the controller. The last two mark clones that stay in the switch.
const bit<8> REASON_STRUCTURE = 1;
const bit<8> REASON_NEIGHBOUR = 2;
const bit<8> REASON_NUMBERS = 3;
const bit<8> REASON_HOST = 128;
const bit<8> REASON_AGAIN = 129;

// The controller's request with a packet.
const bit<8> OUT_SEND = 1;
const bit<8> OUT_LEASE = 2;

// The way of a packet through egress. With 0 it goes to the next hop as it is.
const bit<2> WAY_COPY = 1;  // a copy for a receiver
const bit<2> WAY_AGAIN = 2; // through ingress once more
const bit<2> WAY_PUNT = 3;  // to the controller

// Numbering of a replica: by an offset, by S-LR, or with 1 by S-LM.
const bit<2> METHOD_OFFSET = 0;
const bit<2> METHOD_LOW_RETRANSMISSION = 2;

// The result for a copy. The names are those of crates/dataplane/src/counter.rs.
const bit<4> SEND = 0;
const bit<4> PADDING_ONLY = 1;
const bit<4> NOT_READY = 2;
const bit<4> NOT_NEGOTIATED = 3;
const bit<4> AWAITING_KEY_FRAME = 4;
const bit<4> BEFORE_SWITCH = 5;
const bit<4> OUTSIDE_TARGET = 6;
const bit<4> TOO_LATE = 7;

// Numbers wrap. `difference` is above zero as a signed number.
#define IS_NEWER(difference) ((difference) != 0 && (difference) < 0x8000)
#define IS_OLDER(difference) ((difference) >= 0x8000)
#define LEAST(one, other) ((one) < (other) ? (one) : (other))
