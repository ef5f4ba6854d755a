// How a packet becomes one of ours: its addresses, and the checksums that follow.
#pragma once

#include "relay_tables.h"

static __always_inline __u64 words_sum(const __u32 *words)
{
	return (__u64)words[0] + words[1] + words[2] + words[3];
}

// What one address of each of two endpoints and their ports add to a sum.
static __always_inline __u64 endpoints_sum(const struct endpoint *one, const struct endpoint *other)
{
	return words_sum(one->address) + words_sum(other->address) + one->port + other->port;
}

// Adds up what is the same in every packet of a relay (RFC 1624). What IPv4's mapped addresses have more than the word that is sent cancels out or is left out.
static __always_inline void prepare(struct line *line)
{
	const struct relay *relay = &line->relay;
	__u16 before = fold(endpoints_sum(&relay->accept, &relay->at));
	struct iphdr header = {
		.version = 4,
		.ihl = sizeof(header) / 4,
		.tos = relay->tos,
		.frag_off = bpf_htons(IP_DONT_FRAGMENT),
		.ttl = TTL,
		.protocol = IPPROTO_UDP,
		.saddr = relay->from.address[3],
		.daddr = relay->to.address[3],
	};

	line->change = (__u16)~before + fold(endpoints_sum(&relay->from, &relay->to));
	line->header = header_sum(&header);
	// A mapped address has a word of ones beside, which adds nothing.
	line->pseudo = fold(words_sum(relay->accept.address) + words_sum(relay->at.address) + bpf_htons(IPPROTO_UDP));
}

// The same for a sum of a few halfwords.
static __always_inline __u16 fold_few(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

// Whether a checksum may be followed: see packet.h, which adds up what is known here.
static __always_inline int may_follow(const struct datagram *found, const struct line *line)
{
	if (!found->udp->check)
		return found->v4 != 0;
	return found->udp->check != fold_few(line->pseudo + found->udp->len);
}

// UDP's checksum behind such a change; one of zero is none, and stays so.
static __always_inline void follow(struct udphdr *udp, __u32 change)
{
	__u16 followed;

	if (!udp->check)
		return;
	followed = ~fold_few((__u16)~udp->check + change);
	udp->check = followed ? followed : 0xffff;
}

static __always_inline void write_ipv4(struct iphdr *ip, const struct line *line)
{
	const struct relay *relay = &line->relay;

	ip->tos = relay->tos;
	ip->frag_off = bpf_htons(IP_DONT_FRAGMENT);
	ip->ttl = TTL;
	ip->check = ~fold_few(line->header + ip->tot_len + ip->id);
	ip->saddr = relay->from.address[3];
	ip->daddr = relay->to.address[3];
}

static __always_inline void write_ipv6(struct ipv6hdr *ip, const struct line *line)
{
	const struct relay *relay = &line->relay;

	*(__u32 *)ip = bpf_htonl(6u << 28 | relay->tos << 20);
	ip->hop_limit = TTL;
	__builtin_memcpy(&ip->saddr, relay->from.address, sizeof(ip->saddr));
	__builtin_memcpy(&ip->daddr, relay->to.address, sizeof(ip->daddr));
}

static __always_inline void write_address(__u8 *to, const __u8 *from)
{
	*(__u32 *)to = *(const __u32 *)from;
	*(__u16 *)(to + 4) = *(const __u16 *)(from + 4);
}

static __always_inline void write(const struct datagram *found, const struct line *line, const struct way *way)
{
	write_address(found->ethernet->h_dest, way->to);
	write_address(found->ethernet->h_source, way->from);
	if (found->v4)
		write_ipv4(found->v4, line);
	else
		write_ipv6(found->v6, line);
	found->udp->source = line->relay.from.port;
	found->udp->dest = line->relay.to.port;
	follow(found->udp, line->change);
}
