// The relay's tables, and what is kept of them.
#pragma once

#include "../common/packet.h"
#include "relay_layout.h"

#define EVERY_RELAY 16384 // userspace sets how many there may be

// How many lines and ways there are, a power of two, less one. Set before the program is loaded.
const volatile __u32 kept_mask = EVERY_RELAY - 1;

// The number of changes of versions. Incremented after each change, by the process that loaded the
// program.
volatile __u32 changes;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EVERY_RELAY);
	__type(key, struct endpoint);
	__type(value, struct relay);
} relays SEC(".maps");

// By slot: which version of its relay is in force.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EVERY_RELAY);
	__type(key, __u32);
	__type(value, __u32);
} versions SEC(".maps");

// By slot.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVERY_RELAY);
	__type(key, __u32);
	__type(value, struct traffic);
} traffics SEC(".maps");

// The time of the last look-up, on any processor.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clock);
} clocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RELAY_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

// Interfaces packets may leave through, by their own numbers.
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, INTERFACES_MAX);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
} interfaces SEC(".maps");

// How packets leave, as the kernel last said.
struct exit {
	__u64 until; // when it has to be asked again, in ticks
	__u32 interface;
	__u32 len_max; // how long their UDP datagrams may be
	__u8 to[ETH_ALEN]; // the hardware addresses, as frames have them
	__u8 from[ETH_ALEN];
	__u32 zero;
};

// One processor's cached relay, so that most packets of it need no look-up. Addresses are as they
// stand in packets: for IPv4, in the first word. A line takes two of the processor's cache lines:
// with many calls, loading them is the main cost of a packet.
struct line {
	__u64 addresses[4]; // from whom and to whom packets are,
	__u32 ports;
	__u32 protocol; // and in frames
	__u32 slot; // where they are counted
	__u32 confirmed; // as of which of the `changes` the relay was in force
	struct exit exit; // as in `ways`
	__u64 leaving[4]; // from whom and to whom they leave,
	__u32 leaving_ports;
	__u16 change; // what is added to the sum under UDP's checksum for that
	__u16 pseudo; // the sum of what that covers as it comes, beside UDP itself, less the length
	__u16 header; // the sum of an IPv4 header that leaves, less its length and identification
	__u8 tos;
	__u8 here; // packets leave for an address of this machine
	__u32 version; // the relay's
};

// By processor, and where a packet arrives: several ports may share a line, which then is each
// one's in turn. That it may be mapped has it begin with a page, and lines with lines of the cache.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EVERY_RELAY);
	__type(key, __u32);
	__type(value, struct line);
} lines SEC(".maps");

// A cached route from a local address to a remote one, from the kernel's tables. All relays between
// the two addresses use it.
struct way {
	struct exit exit;
	__u64 confirmed; // when a packet was last left to the base for the sake of the neighbour, in nanoseconds of the monotonic clock
	__u64 leaving[4]; // between which addresses,
	__u32 protocol; // of which family,
	__u32 tos; // and for which type of service
};

// By the addresses: as with lines.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVERY_RELAY);
	__type(key, __u32);
	__type(value, struct way);
} ways SEC(".maps");

static __always_inline void count(__u32 what)
{
	__u64 *counted = bpf_map_lookup_elem(&counts, &what);

	if (counted)
		(*counted)++;
}

static __always_inline void set_mapped(struct endpoint *endpoint, __u32 address, __u16 port)
{
	endpoint->address[0] = 0;
	endpoint->address[1] = 0;
	endpoint->address[2] = bpf_htonl(0xffff);
	endpoint->address[3] = address;
	endpoint->port = port;
	endpoint->zero = 0;
}

static __always_inline void set_address(struct endpoint *endpoint, const struct in6_addr *address, __u16 port)
{
	__builtin_memcpy(endpoint->address, address, sizeof(*address));
	endpoint->port = port;
	endpoint->zero = 0;
}

static __always_inline int is_mapped(const struct endpoint *endpoint)
{
	return !endpoint->address[0] && !endpoint->address[1] && endpoint->address[2] == bpf_htonl(0xffff);
}

static __always_inline int same_words(const __u32 *a, const __u32 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

static __always_inline void set_destination(struct endpoint *at, const struct datagram *found)
{
	if (found->v4)
		set_mapped(at, found->v4->daddr, found->udp->dest);
	else
		set_address(at, &found->v6->daddr, found->udp->dest);
}

// Copies the entry of a port. An entry that is removed from a table may be reused for another port
// while the program still reads it. The entry is therefore copied, and the copy must name the port
// it is for.
static __always_inline int find_relay(struct relay *copy, const struct endpoint *at)
{
	const struct relay *entry = bpf_map_lookup_elem(&relays, at);

	if (!entry)
		return 0;
	*copy = *entry;
	barrier();
	return same_words(copy->at.address, at->address) && copy->at.port == at->port;
}

// Looks up whether a line's relay is in force.
static __noinline int confirm(struct line *line)
{
	__u32 as_of = changes; // read before the version, so that nothing is taken to be newer than it is
	const __u32 *version = bpf_map_lookup_elem(&versions, &line->slot);

	if (!version || *version != line->version)
		return 0;
	line->confirmed = as_of;
	return 1;
}

// Whether a line's relay is in force. It still is if nothing has changed since its last look-up.
static __always_inline int is_in_force(struct line *line)
{
	return line->confirmed == changes || confirm(line);
}
