// The route of a relay's packets, and when the kernel has to resolve a neighbour again.
#pragma once

#include "relay_tables.h"

// The next hop of packets that come from this machine and are for it: they continue to the stack.
// No interface has this number.
#define HERE 0xfffffffe

// The most bytes of a UDP datagram that are relayed.
#define LEN_MAX (DATAGRAM_LEN_MAX + sizeof(struct udphdr))

// Set before the program is loaded:
const volatile __u64 confirm_every = 10000000000; // how often a packet is left to the base for the sake of its neighbour, in nanoseconds,
const volatile __u64 fresh_for = 25; // and how many of the kernel's ticks a way may be taken

// Whether the base is there: not while no process runs.
static __noinline int has_socket(void *context, struct bpf_sock_tuple *tuple, __u32 len)
{
	struct bpf_sock *socket;

	if (len == sizeof(tuple->ipv4))
		socket = bpf_sk_lookup_udp(context, tuple, sizeof(tuple->ipv4), BPF_F_CURRENT_NETNS, 0);
	else
		socket = bpf_sk_lookup_udp(context, tuple, sizeof(tuple->ipv6), BPF_F_CURRENT_NETNS, 0);
	if (!socket)
		return 0;
	bpf_sk_release(socket);
	return 1;
}

// Whether the base has a socket that receives packets of this relay.
static __always_inline int is_heard(void *context, const struct line *line)
{
	const __u32 *addresses = (const __u32 *)line->addresses;
	struct bpf_sock_tuple tuple = {};

	if (line->protocol == bpf_htons(ETH_P_IP)) {
		tuple.ipv4.saddr = addresses[0];
		tuple.ipv4.daddr = addresses[1];
		tuple.ipv4.sport = line->ports;
		tuple.ipv4.dport = line->ports >> 16;
		return has_socket(context, &tuple, sizeof(tuple.ipv4));
	}
	__builtin_memcpy(tuple.ipv6.saddr, addresses, sizeof(tuple.ipv6.saddr));
	__builtin_memcpy(tuple.ipv6.daddr, addresses + 4, sizeof(tuple.ipv6.daddr));
	tuple.ipv6.sport = line->ports;
	tuple.ipv6.dport = line->ports >> 16;
	return has_socket(context, &tuple, sizeof(tuple.ipv6));
}

// Looks up the route as for a packet of this machine, which is what the loopback interface as the
// input means. The kernel requires forwarding to be enabled on that interface. Ports are left out,
// because a route is for all ports.
static __always_inline long ask(void *context, struct bpf_fib_lookup *way, const struct line *line, __u32 len)
{
	const __u32 *leaving = (const __u32 *)line->leaving;

	way->l4_protocol = IPPROTO_UDP;
	way->ifindex = LOOPBACK;
	way->tot_len = len;
	if (line->protocol == bpf_htons(ETH_P_IP)) {
		way->family = AF_INET;
		way->tos = line->tos;
		way->ipv4_src = leaving[0];
		way->ipv4_dst = leaving[1];
	} else {
		way->family = AF_INET6;
		way->flowinfo = bpf_htonl(line->tos << 20);
		__builtin_memcpy(way->ipv6_src, leaving, sizeof(way->ipv6_src));
		__builtin_memcpy(way->ipv6_dst, leaving + 4, sizeof(way->ipv6_dst));
	}
	return bpf_fib_lookup(context, way, sizeof(*way), 0);
}

static __always_inline __u32 way_place(const struct line *line)
{
	const __u32 *words = (const __u32 *)line->leaving;
	__u32 theirs = line->protocol == bpf_htons(ETH_P_IP) ? words[1] : words[4] ^ words[5] ^ words[6] ^ words[7];
	__u32 ours = line->protocol == bpf_htons(ETH_P_IP) ? words[0] : words[2] ^ words[3];
	__u32 mixed = theirs ^ ours * 5 ^ line->tos;

	// As Fibonacci hashing does: the high bits of the product depend on all of the mixture.
	return mixed * 0x9e3779b1 >> 16 & kept_mask;
}

static __always_inline int same_addresses(const __u64 *a, const __u64 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

// Whether a way is a line's already, or else makes it so.
static __always_inline int is_between(struct way *way, const struct line *line)
{
	if (same_addresses(way->leaving, line->leaving) && way->protocol == line->protocol && way->tos == line->tos)
		return 1;
	__builtin_memcpy(way->leaving, line->leaving, sizeof(way->leaving));
	way->protocol = line->protocol;
	way->tos = line->tos;
	return 0;
}

// Stores the current time for userspace.
static __always_inline void look_at_clock(__u64 now, __u64 ticks)
{
	__u32 only = 0;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &only);

	if (clock) {
		clock->nanoseconds = now;
		clock->ticks = ticks;
	}
}

// Finds the way of a line, for a packet that is so long with its IP header: RELAYED, or why there
// is none.
static __always_inline __u32 look_up_way(void *context, const struct line *line, struct way *way, __u32 len)
{
	__u64 now = bpf_ktime_get_coarse_ns(), ticks = bpf_jiffies64();
	struct bpf_fib_lookup asked = {};
	__u32 header = line->protocol == bpf_htons(ETH_P_IP) ? sizeof(struct iphdr) : sizeof(struct ipv6hdr), room;
	long answer;

	if (!is_between(way, line)) {
		way->confirmed = now; // whoever begins has just been spoken to
		way->exit.until = 0;
	}
	if (ticks < way->exit.until)
		return RELAYED;
	look_at_clock(now, ticks);
	if (!line->here && now - way->confirmed >= confirm_every) {
		way->confirmed = now;
		if (is_heard(context, line))
			return CONFIRMING;
	}
	way->exit.until = 0;
	answer = ask(context, &asked, line, len);
	if (answer == BPF_FIB_LKUP_RET_NOT_FWDED && line->here) {
		__builtin_memset(&way->exit, 0, sizeof(way->exit));
		way->exit.interface = HERE;
		way->exit.len_max = LEN_MAX;
		way->exit.until = ticks + fresh_for;
		return RELAYED;
	}
	if (answer == BPF_FIB_LKUP_RET_FRAG_NEEDED)
		return TOO_LARGE;
	if (answer != BPF_FIB_LKUP_RET_SUCCESS)
		return NO_NEIGHBOUR;
	if (!bpf_map_lookup_elem(&interfaces, &asked.ifindex))
		return OTHER_INTERFACE;
	way->exit.interface = asked.ifindex;
	room = asked.mtu_result > header ? asked.mtu_result - header : 0;
	way->exit.len_max = room < LEN_MAX ? room : LEN_MAX;
	__builtin_memcpy(way->exit.to, asked.dmac, ETH_ALEN);
	__builtin_memcpy(way->exit.from, asked.smac, ETH_ALEN);
	way->exit.until = ticks + fresh_for;
	return RELAYED;
}

// Updates a line's route when it has expired. As above.
static __noinline __u32 look_up_exit(void *context, struct line *line, __u32 len)
{
	__u32 place = way_place(line), answer;
	struct way *way = bpf_map_lookup_elem(&ways, &place);

	if (!way)
		return NO_NEIGHBOUR;
	answer = look_up_way(context, line, way, len);
	if (answer == RELAYED)
		line->exit = way->exit;
	return answer;
}
