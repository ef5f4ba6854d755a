// Types and constants of all steps. Those of the v1model program have its names and values.

typedef bit<48> mac_t;
// IPv4 addresses are mapped, ::ffff:a.b.c.d, so that one key has room for both families.
typedef bit<128> address_t;
typedef bit<16> index_t; // of a replica or of the counter of a relay

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_ARP = 0x0806;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_ICMPV6 = 58;

// RFC 8285: the one-byte form of header extensions.
const bit<16> PROFILE_ONE_BYTE = 0xbede;

// RTCP packet types (RFC 3550 section 12.1, RFC 4585 section 6.1).
const bit<8> RECEIVER_REPORT = 201;
const bit<8> TRANSPORT_FEEDBACK = 205;
const bit<8> PAYLOAD_FEEDBACK = 206;

// The port to the switch's own processor, and the mirror sessions of the controller and of the host.
const PortId_t CPU_PORT = 0;
const MirrorId_t CPU_SESSION = 1;
const MirrorId_t HOST_SESSION = 2;
const MirrorType_t MIRROR_HOST = 1;
const MirrorType_t MIRROR_NUMBERS = 1;

// Entries of a table. They set how much memory the program takes, and not how many stages its steps
// need in a row.
#ifndef ENTRIES
#define ENTRIES 16384
#endif
const bit<32> REPLICAS = ENTRIES; // cells of registers and counters
const bit<32> RELAYS = ENTRIES;
const bit<16> MEDIA_MAX = 1508; // media with its UDP header: longer datagrams are for the host

// The first byte of a packet in egress. It is the way of a packet, or the reason of a packet to the
// controller.
const bit<8> WAY_PLAIN = 0;
const bit<8> REASON_STRUCTURE = 1;
const bit<8> REASON_NEIGHBOUR = 2;
const bit<8> REASON_NUMBERS = 3;
const bit<8> WAY_COPY = 64;
const bit<8> REASON_HOST = 128;

// The controller's request with a packet.
const bit<8> OUT_SEND = 1;
const bit<8> OUT_LEASE = 2;

const bit<2> METHOD_OFFSET = 0;

// The result for a copy. The names are those of crates/dataplane/src/counter.rs.
const bit<4> SEND = 0;
const bit<4> NOT_READY = 2;
const bit<4> NOT_NEGOTIATED = 3;
const bit<4> AWAITING_KEY_FRAME = 4;
const bit<4> OUTSIDE_TARGET = 6;
const bit<4> TOO_LATE = 7;
