// Rewriting of a relayed packet: its addresses, and the checksums affected.
#pragma once

#include "relay_tables.h"

static __always_inline __u64 words_sum(const __u32 *words)
{
	return (__u64)words[0] + words[1] + words[2] + words[3];
}

// The contribution of two addresses and their ports to a sum.
static __always_inline __u64 ends_sum(const __u64 *addresses, __u32 ports)
{
	const __u32 *words = (const __u32 *)addresses;

	return words_sum(words) + words_sum(words + 4) + ports;
}

// Adds up what is the same in every packet of a relay (RFC 1624).
static __always_inline void prepare(struct line *line)
{
	__u16 before = fold(ends_sum(line->addresses, line->ports));
	struct iphdr header = {
		.version = 4,
		.ihl = sizeof(header) / 4,
		.tos = line->tos,
		.frag_off = bpf_htons(IP_DONT_FRAGMENT),
		.ttl = TTL,
		.protocol = IPPROTO_UDP,
		.saddr = line->leaving[0],
		.daddr = line->leaving[0] >> 32,
	};

	line->change = fold((__u16)~before + ends_sum(line->leaving, line->leaving_ports));
	line->header = header_sum(&header);
	line->pseudo = fold(ends_sum(line->addresses, 0) + bpf_htons(IPPROTO_UDP));
}

// Folds a sum of two halfwords, whose carry causes no further one,
static __always_inline __u16 fold_two(__u32 sum)
{
	return sum + (sum >> 16);
}

// and of three.
static __always_inline __u16 fold_three(__u32 sum)
{
	return fold_two((sum & 0xffff) + (sum >> 16));
}

// Whether a checksum looks like the sum of the pseudo header that a sender leaves to its device.
// One of 65,536 complete checksums looks the same.
static __always_inline int looks_unfinished(const struct datagram *found, const struct line *line)
{
	return found->udp->check && found->udp->check == fold_two(line->pseudo + found->udp->len);
}

#define SUMMED_AT_ONCE 16 // bytes
#define SUMMED_MOST ((DATAGRAM_LEN_MAX + sizeof(struct udphdr)) / SUMMED_AT_ONCE)

// Whether the checksum of a datagram in a frame is right. `pseudo` is the sum of the pseudo header.
// The verifier checks this function separately.
__noinline int is_right(struct xdp_md *frame, __u32 at, __u32 len, __u32 pseudo)
{
	const void *end = (const void *)(long)frame->data_end;
	const __u8 *next = (const void *)(long)frame->data + (at & 0x3f);
	__u64 sum = pseudo;
	__u32 steps;

	for (steps = 0; steps <= SUMMED_MOST; steps++) {
		if (len < SUMMED_AT_ONCE || next + SUMMED_AT_ONCE > (const __u8 *)end)
			break;
		sum += words_sum((const __u32 *)next);
		next += SUMMED_AT_ONCE;
		len -= SUMMED_AT_ONCE;
	}
	for (steps = 0; steps < SUMMED_AT_ONCE; steps++) {
		if (len <= steps || next + 1 > (const __u8 *)end)
			break;
		sum += steps & 1 ? bpf_htons(*next) : bpf_htons(*next << 8);
		next++;
	}
	return fold(sum) == 0xffff;
}

// Whether the checksum can be updated incrementally: it is present, or may be absent, and it is
// complete. In the stack (`skb`) the kernel knows which checksums are complete.
static __always_inline int may_follow(void *context, const struct __sk_buff *skb, const struct datagram *found, const struct line *line)
{
	if (!found->udp->check)
		return found->v4 != 0;
	if (skb || !looks_unfinished(found, line))
		return 1;
	return is_right(context, sizeof(struct ethhdr) + (found->v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr)),
			found->len + sizeof(struct udphdr), line->pseudo + found->udp->len);
}

// Updates UDP's checksum for a change. A zero, which means no checksum, is kept.
static __always_inline void follow(struct udphdr *udp, __u32 change)
{
	__u16 followed;

	if (!udp->check)
		return;
	followed = ~fold_two((__u16)~udp->check + change);
	udp->check = followed ? followed : 0xffff;
}

// Writes so much at once. The compiler would do it in the pieces that a header is declared to have.
static __always_inline void write_word(void *to, const void *from)
{
	*(volatile __u32 *)to = *(const __u32 *)from;
}

static __always_inline void write_long(void *to, const void *from)
{
	*(volatile __u64 *)to = *(const __u64 *)from;
}

static __always_inline void write_ipv4(struct iphdr *ip, const struct line *line)
{
	ip->tos = line->tos;
	ip->frag_off = bpf_htons(IP_DONT_FRAGMENT);
	ip->ttl = TTL;
	ip->check = ~fold_three(line->header + ip->tot_len + ip->id);
	write_long(&ip->saddr, line->leaving);
}

static __always_inline void write_ipv6(struct ipv6hdr *ip, const struct line *line)
{
	__u64 *addresses = (__u64 *)&ip->saddr;

	*(__u32 *)ip = bpf_htonl(6u << 28 | line->tos << 20);
	ip->hop_limit = TTL;
	for (int i = 0; i < 4; i++)
		write_long(addresses + i, line->leaving + i);
}

// Writes all but UDP's checksum.
static __always_inline void write_addresses(const struct datagram *found, const struct line *line)
{
	write_long(found->ethernet, line->exit.to);
	write_word((__u8 *)found->ethernet + sizeof(__u64), line->exit.to + sizeof(__u64));
	if (found->v4)
		write_ipv4(found->v4, line);
	else
		write_ipv6(found->v6, line);
	write_word(found->udp, &line->leaving_ports);
}

// The sum of everything that is rewritten but hardware addresses, which the kernel takes care of.
static __always_inline __u32 headers_sum(const struct datagram *found)
{
	const __u32 *udp = (const __u32 *)found->udp, *ip;
	__u64 sum = (__u64)udp[0] + udp[1];

	if (found->v4)
		return fold(sum + header_sum(found->v4));
	ip = (const __u32 *)found->v6;
	return fold(sum + ip[0] + ip[1] + words_sum(ip + 2) + words_sum(ip + 6));
}

// Lets the stack update a checksum, because only the stack knows whether it is complete.
static __noinline void have_followed(struct __sk_buff *skb, const struct line *line)
{
	__u32 check = sizeof(struct ethhdr) + offsetof(struct udphdr, check);
	__u16 addresses = ~fold(ends_sum(line->addresses, 0)), ports = ~fold(line->ports);

	check += line->protocol == bpf_htons(ETH_P_IP) ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	bpf_l4_csum_replace(skb, check, 0, addresses + fold(ends_sum(line->leaving, 0)), BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0);
	bpf_l4_csum_replace(skb, check, 0, ports + fold(line->leaving_ports), BPF_F_MARK_MANGLED_0);
}

// Rewrites a packet. In the stack (`skb`) its checksum is in one of three states: to be verified,
// to be completed, or verified by a sum of the whole packet beside it, which changes with the
// packet. Pointers into the packet are invalid afterwards.
static __always_inline void write(struct __sk_buff *skb, const struct datagram *found, const struct line *line)
{
	int is_summed = skb && bpf_csum_update(skb, 0) >= 0;
	__u32 before = is_summed ? headers_sum(found) : 0;

	if (skb && !is_summed && looks_unfinished(found, line)) {
		write_addresses(found, line);
		have_followed(skb, line);
		return;
	}
	write_addresses(found, line);
	follow(found->udp, line->change);
	if (is_summed)
		bpf_csum_update(skb, (__u16)~before + headers_sum(found));
}
