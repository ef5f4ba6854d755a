// The tables that the relay program and userspace share. This is the one definition: the build
// generates the Rust types from it.
#pragma once
#include <linux/types.h>

// Incremented with any change below, so that no agent adopts the tables of another version.
#define RELAY_LAYOUT 4

// How many interfaces there may be.
#define INTERFACES_MAX 64

// The most bytes of UDP payload that are examined. Longer datagrams are left to the base, which
// counts them.
#define DATAGRAM_LEN_MAX 1500

// An address and a port.
struct endpoint {
	__u32 address[4]; // network byte order; IPv4 as a mapped address
	__u16 port; // network byte order
	__u16 zero; // always
};

// The relay of RTP that arrives at one local port.
struct relay {
	struct endpoint accept; // from whom it must be
	struct endpoint from; // the port of ours it leaves from
	struct endpoint to; // and to whom
	__u32 slot; // where it is counted
	__u32 tos; // of what leaves; below 256
	__u32 version; // that of its slot: who kept an entry of another one looks again
	__u32 here; // 1 where the address it leaves for is this machine's
	struct endpoint at; // whose entry it is; last, see the program
};

// The counters of one relay, on one processor. Two of them share a line of the cache, and neither
// is in two lines.
struct traffic {
	__u64 packets; // relayed
	__u64 bytes; // their UDP payload
	__u64 dropped; // packets that were not
	__u32 last; // when the last one was relayed: the low half of the kernel's ticks
	__u32 ssrc; // of that one, in network byte order
};

// One and the same moment: the kernel counts ticks from no time that userspace knew.
struct clock {
	__u64 nanoseconds; // of the monotonic clock, as of the tick
	__u64 ticks;
};

// Counts of packets by result, on one processor. Packets with the first three results do not reach
// the base; the others do.
enum relay_count {
	RELAYED, // relayed
	FOREIGN_SOURCE, // dropped: not from whom the relay accepts
	MALFORMED, // dropped: begins as RTP and is not
	NOT_RTP, // for the base: to a relay, but no RTP, or with more header than is looked at
	UNCHECKED, // for the base: no checksum, or one the sender left to its hardware
	TOO_LARGE, // for the base: more than a datagram may be, or than the link takes
	NO_NEIGHBOUR, // for the base: no route, or nobody is known by that address yet
	OTHER_INTERFACE, // for the base: leaves through an interface that is not ours
	CONFIRMING, // for the base: one once in a while, so that the stack notices when the neighbour has another hardware address
	RELAY_COUNTS, // how many there are
};
