// The route of a copy to its receiver: interface and hardware addresses.
#pragma once

#include "fanout_rtp.h"

#define WAY_FRESH_NS 100000000   // a way is looked up again after so long,
#define WAY_MISSING_NS 20000000 // and after so long where there was none

// Asks the kernel for the way to a receiver, as for a packet of its own.
static __always_inline void find_way(struct packet packet, struct way *way, const struct replica_entry *entry, const struct media *media)
{
	struct bpf_fib_lookup asked = {};

	asked.l4_protocol = IPPROTO_UDP;
	asked.sport = entry->path.local_port;
	asked.dport = entry->path.remote_port;
	asked.tot_len = frame_len(packet) - ETH_HLEN;
	asked.ifindex = LOOPBACK;
	if (media->v4) {
		asked.family = AF_INET;
		asked.ipv4_src = entry->path.local[3];
		asked.ipv4_dst = entry->path.remote[3];
	} else {
		asked.family = AF_INET6;
		__builtin_memcpy(asked.ipv6_src, entry->path.local, sizeof(asked.ipv6_src));
		__builtin_memcpy(asked.ipv6_dst, entry->path.remote, sizeof(asked.ipv6_dst));
	}
	way->interface = 0;
	way->until = media->at + WAY_MISSING_NS;
	if (bpf_fib_lookup(packet.context, &asked, sizeof(asked), 0))
		return;
	way->until = media->at + WAY_FRESH_NS;
	way->interface = asked.ifindex;
	way->mtu = asked.mtu_result;
	__builtin_memcpy(way->to, asked.dmac, ETH_ALEN);
	__builtin_memcpy(way->from, asked.smac, ETH_ALEN);
}
