// What becomes of a packet, wherever it is met.
#pragma once

#include "relay_rtp.h"
#include "relay_tables.h"
#include "relay_way.h"
#include "relay_write.h"

enum outcome {
	LEFT, // as it came, for the stack and the base
	DROPPED,
	WRITTEN, // to be sent
};

// Leaves a packet to the base.
static __always_inline enum outcome leave(__u32 reason)
{
	count(reason);
	return LEFT;
}

static __always_inline enum outcome drop(const struct relay *relay, __u32 reason)
{
	__u32 slot = relay->slot;
	struct traffic *traffic = bpf_map_lookup_elem(&traffics, &slot);

	if (traffic)
		traffic->dropped++;
	count(reason);
	return DROPPED;
}

// Which line is a packet's, if any. Ports of neighbouring relays are two apart.
static __always_inline __u32 line_place(const struct datagram *found)
{
	__u32 address = found->v4 ? found->v4->daddr : found->v6->daddr.s6_addr32[3];

	return ((bpf_ntohs(found->udp->dest) >> 1) + (address >> 17)) & kept_mask;
}

// Fills a line with the relay of a port. False if there is none. What is done seldom is a function of its own, so that the rest has the registers.
static __noinline int fill(struct line *line, const struct endpoint *at, __u32 protocol)
{
	struct relay relay;

	// An address of IPv4 is mapped here. Packets of IPv6 with such addresses are nobody's.
	if (is_mapped(at) != (protocol == bpf_htons(ETH_P_IP)) || !find_relay(&relay, at))
		return 0;
	line->relay = relay;
	line->protocol = protocol;
	line->way = way_place(&relay);
	line->serial = 0;
	prepare(line);
	return 1;
}

static __always_inline __u16 protocol(const struct datagram *found)
{
	return found->v4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
}

static __always_inline int is_kept(const struct line *line, const struct datagram *found)
{
	return line->protocol == protocol(found) && is_to(&line->relay.at, found) && is_in_force(&line->relay);
}

static __always_inline enum outcome forward(void *context, const struct datagram *found, struct line *line, __u32 *there)
{
	__u32 slot = line->relay.slot, place = line->way;
	struct traffic *traffic = bpf_map_lookup_elem(&traffics, &slot);
	struct way *way = bpf_map_lookup_elem(&ways, &place);
	__u64 ticks = bpf_jiffies64();

	if (!traffic || !way)
		return LEFT;
	if (way->serial != line->serial || ticks >= way->until) {
		__u32 answer = look_up_way(context, line, way, ip_len(found));

		if (answer != RELAYED)
			return leave(answer);
	}
	if (ip_len(found) > way->mtu)
		return leave(TOO_LARGE);
	traffic->packets++;
	traffic->bytes += found->len;
	traffic->last = ticks;
	write(found, line, way);
	count(RELAYED);
	*there = way->interface;
	return WRITTEN;
}

// Does with a datagram what is to be done; where it is to leave is `there` then.
static __always_inline enum outcome handle(void *context, const struct datagram *found, const void *end, __u32 *there)
{
	__u32 place = line_place(found), judged;
	struct line *line = bpf_map_lookup_elem(&lines, &place);

	if (!line)
		return LEFT;
	if (!is_kept(line, found)) {
		struct endpoint at;

		set_destination(&at, found);
		if (!fill(line, &at, protocol(found)))
			return LEFT;
	}
	if (!is_from(&line->relay.accept, found))
		return drop(&line->relay, FOREIGN_SOURCE);
	if (!may_follow(found, line))
		return leave(UNCHECKED);
	if (found->len > DATAGRAM_LEN_MAX)
		return leave(TOO_LARGE);
	judged = judge(found, end);
	if (judged == MALFORMED)
		return drop(&line->relay, MALFORMED);
	if (judged != RELAYED)
		return leave(judged);
	return forward(context, found, line, there);
}

// The same with a frame. Each family has all that follows for itself, which is less to do for a packet than to ask again and again which it is.
static __always_inline enum outcome handle_frame(void *context, void *data, void *end, __u32 *there)
{
	struct datagram found;

	switch (protocol_of(data, end)) {
	case bpf_htons(ETH_P_IP):
		return parse_as(&found, bpf_htons(ETH_P_IP), data, end) ? handle(context, &found, end, there) : LEFT;
	case bpf_htons(ETH_P_IPV6):
		return parse_as(&found, bpf_htons(ETH_P_IPV6), data, end) ? handle(context, &found, end, there) : LEFT;
	default:
		return LEFT;
	}
}
