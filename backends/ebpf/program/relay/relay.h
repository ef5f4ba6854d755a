// The handling of one packet, the same for all hooks.
#pragma once

#include "relay_rtp.h"
#include "relay_tables.h"
#include "relay_fib.h"
#include "relay_write.h"

// The result for a packet: the number of the interface it is to be sent through, or one of these
// values, which no interface has.
#define LEFT 0 // as it came, for the stack and the base
#define DROPPED 0xffffffff

// Leaves a packet to the base.
static __always_inline __u32 leave(__u32 reason)
{
	count(reason);
	return LEFT;
}

static __always_inline __u32 drop(const struct line *line, __u32 reason)
{
	struct traffic *traffic = bpf_map_lookup_elem(&traffics, &line->slot);

	if (traffic)
		traffic->dropped++;
	count(reason);
	return DROPPED;
}

// Which line of this processor is a packet's, if any. Ports of neighbouring relays are two apart.
static __always_inline __u32 line_place(const struct datagram *found)
{
	__u32 address = found->v4 ? found->v4->daddr : found->v6->daddr.s6_addr32[3];

	return (((bpf_ntohs(found->udp->dest) >> 1) + (address >> 17)) & kept_mask) + bpf_get_smp_processor_id() * (kept_mask + 1);
}

static __always_inline __u16 protocol(const struct datagram *found)
{
	return found->v4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
}

// Whether a packet has the addresses of a line's relay, which is true of most.
static __always_inline int is_expected(const struct line *line, const struct datagram *found)
{
	const __u64 *addresses = found->v4 ? (const __u64 *)&found->v4->saddr : (const __u64 *)&found->v6->saddr;

	if (line->protocol != protocol(found) || line->ports != ports_of(found) || line->addresses[0] != addresses[0])
		return 0;
	return found->v4 || (line->addresses[1] == addresses[1] && line->addresses[2] == addresses[2] && line->addresses[3] == addresses[3]);
}

// Writes a packet's source and destination in the form they have in the packet.
static __always_inline void write_ends(__u64 *addresses, __u32 *ports, const struct endpoint *from, const struct endpoint *to, __u32 protocol)
{
	__u32 *words = (__u32 *)addresses;

	*ports = (__u32)to->port << 16 | from->port;
	if (protocol == bpf_htons(ETH_P_IP)) {
		words[0] = from->address[3];
		words[1] = to->address[3];
		addresses[1] = addresses[2] = addresses[3] = 0;
	} else {
		__builtin_memcpy(words, from->address, sizeof(from->address));
		__builtin_memcpy(words + 4, to->address, sizeof(to->address));
	}
}

// Fills a line with the relay of a port. False if there is none. Rare work is in a function of its
// own so that it takes no registers from the common path.
static __noinline int fill(struct line *line, const struct endpoint *at, __u32 protocol)
{
	struct relay relay;

	// IPv4 addresses are mapped here. IPv6 packets with mapped addresses belong to no relay.
	if (is_mapped(at) != (protocol == bpf_htons(ETH_P_IP)) || !find_relay(&relay, at))
		return 0;
	line->protocol = protocol;
	line->slot = relay.slot;
	line->version = relay.version;
	line->confirmed = changes - 1;
	line->tos = relay.tos;
	line->here = relay.here;
	line->exit.until = 0;
	write_ends(line->addresses, &line->ports, &relay.accept, &relay.at, protocol);
	write_ends(line->leaving, &line->leaving_ports, &relay.from, &relay.to, protocol);
	prepare(line);
	return 1;
}

static __always_inline __u32 forward(void *context, struct __sk_buff *skb, const struct datagram *found, struct line *line, const void *end)
{
	struct traffic *traffic = bpf_map_lookup_elem(&traffics, &line->slot);
	const __u8 *payload = found->payload;
	__u64 ticks = bpf_jiffies64();

	if (!traffic)
		return LEFT;
	if (ticks >= line->exit.until) {
		__u32 answer = look_up_exit(context, line, ip_len(found));

		if (answer != RELAYED)
			return leave(answer);
	}
	// The stack accepts packets with a source address of this machine only from the loopback
	// interface.
	if (line->exit.interface == HERE && !(skb && skb->ifindex == LOOPBACK))
		return leave(NO_NEIGHBOUR);
	if (udp_len(found) > line->exit.len_max)
		return leave(TOO_LARGE);
	traffic->packets++;
	traffic->bytes += found->len;
	traffic->last = ticks;
	if (payload + RTP_LEN <= (const __u8 *)end)
		traffic->ssrc = *(const __u32 *)(payload + SSRC_AT);
	write(skb, found, line);
	count(RELAYED);
	return line->exit.interface;
}

// Handles a datagram. `skb` is null in the driver.
static __always_inline __u32 handle(void *context, struct __sk_buff *skb, const struct datagram *found, const void *end)
{
	__u32 place = line_place(found), judged;
	struct line *line = bpf_map_lookup_elem(&lines, &place);

	if (!line)
		return LEFT;
	if (!is_expected(line, found) || !is_in_force(line)) {
		struct endpoint at;

		set_destination(&at, found);
		if (!fill(line, &at, protocol(found)))
			return LEFT;
		// The base checks limits before sources, and counts datagrams above a limit.
		if (udp_len(found) > LEN_MAX)
			return leave(TOO_LARGE);
		if (!is_expected(line, found))
			return drop(line, FOREIGN_SOURCE);
	}
	if (!may_follow(context, skb, found, line))
		return leave(UNCHECKED);
	judged = judge(found, end);
	if (judged == MALFORMED)
		return drop(line, MALFORMED);
	if (judged != RELAYED)
		return leave(judged);
	return forward(context, skb, found, line, end);
}

// The same with a frame. Each family has all that follows for itself, which is less to do for a
// packet than to ask again and again which it is.
static __always_inline __u32 handle_frame(void *context, struct __sk_buff *skb, void *data, void *end)
{
	struct datagram found;

	switch (protocol_of(data, end)) {
	case bpf_htons(ETH_P_IP):
		return parse_as(&found, bpf_htons(ETH_P_IP), data, end) ? handle(context, skb, &found, end) : LEFT;
	case bpf_htons(ETH_P_IPV6):
		return parse_as(&found, bpf_htons(ETH_P_IPV6), data, end) ? handle(context, skb, &found, end) : LEFT;
	default:
		return LEFT;
	}
}
