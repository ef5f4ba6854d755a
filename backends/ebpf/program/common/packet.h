// Packet parsing that all programs here share: the offsets of headers, the test for RTP, and
// incremental checksum updates.
//
// The parser accepts only plain packets: Ethernet, IPv4 without options or IPv6 without extension
// headers, no fragments, UDP, consistent lengths, a correct IPv4 header checksum. Everything else
// is left to the stack and the base.
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IP_PLAIN 0x45         // version 4, five words
#define IP_FRAGMENT 0x3fff    // more fragments, or not the first
#define IP_DONT_FRAGMENT 0x4000
#define TTL 64                // what a packet of ours starts with
#define LOOPBACK 1            // the interface packets come from that are ours
#define RTP_LEN 12
#define SSRC_AT 8
#ifndef AF_INET
#define AF_INET 2
#define AF_INET6 10
#endif

// A datagram with valid headers.
struct datagram {
	struct ethhdr *ethernet;
	struct iphdr *v4;       // one of these two,
	struct ipv6hdr *v6;     // the other null
	struct udphdr *udp;
	__u8 *payload;
	__u32 len;              // of the payload
};

static __always_inline __u32 fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

// The change of a checksum's sum when one word of the data is replaced by another (RFC 1624).
static __always_inline __u64 swapped(__u32 old, __u32 new)
{
	return (__u64)(__u32)~old + new;
}

// The sum of a whole IPv4 header, its checksum included.
static __always_inline __u32 header_sum(const struct iphdr *ip)
{
	const __u32 *words = (const __u32 *)ip;

	return fold((__u64)words[0] + words[1] + words[2] + words[3] + words[4]);
}

// Whether the sum of a whole IPv4 header is right. Five words have no more to carry than two steps
// bring home.
static __always_inline int is_header_right(const struct iphdr *ip)
{
	const __u32 *words = (const __u32 *)ip;
	__u64 sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];

	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

static __always_inline int parse_ipv4(struct datagram *found, void *at, void *end)
{
	struct iphdr *ip = at;
	__u32 len;

	if ((void *)(ip + 1) + sizeof(struct udphdr) > end || *(__u8 *)at != IP_PLAIN || ip->protocol != IPPROTO_UDP)
		return 0;
	len = bpf_ntohs(ip->tot_len);
	if (ip->frag_off & bpf_htons(IP_FRAGMENT) || len < sizeof(*ip) + sizeof(struct udphdr) || at + len > end)
		return 0;
	found->v4 = ip;
	found->v6 = 0;
	found->udp = (void *)(ip + 1);
	return bpf_ntohs(found->udp->len) == len - sizeof(*ip) && is_header_right(ip);
}

static __always_inline int parse_ipv6(struct datagram *found, void *at, void *end)
{
	struct ipv6hdr *ip = at;
	__u32 len;

	if ((void *)(ip + 1) + sizeof(struct udphdr) > end || *(__u8 *)at >> 4 != 6 || ip->nexthdr != IPPROTO_UDP)
		return 0;
	len = bpf_ntohs(ip->payload_len);
	if (len < sizeof(struct udphdr) || (void *)(ip + 1) + len > end)
		return 0;
	found->v4 = 0;
	found->v6 = ip;
	found->udp = (void *)(ip + 1);
	return bpf_ntohs(found->udp->len) == len;
}

// The EtherType of a frame, in network byte order. Zero for a frame that is not processed here,
// such as a multicast or broadcast frame.
static __always_inline __u16 protocol_of(void *data, void *end)
{
	return data + sizeof(struct ethhdr) > end || *(__u8 *)data & 1 ? 0 : *(__u16 *)(data + 2 * ETH_ALEN);
}

// Whether a frame of one of the two protocols holds a plain datagram, and where it is. The
// addresses are not checked.
static __always_inline int parse_as(struct datagram *found, __u16 protocol, void *data, void *end)
{
	void *ip = data + sizeof(struct ethhdr);

	found->ethernet = data;
	if (!(protocol == bpf_htons(ETH_P_IP) ? parse_ipv4(found, ip, end) : parse_ipv6(found, ip, end)))
		return 0;
	found->payload = (__u8 *)(found->udp + 1);
	found->len = bpf_ntohs(found->udp->len) - sizeof(struct udphdr);
	return 1;
}

// The same of any frame.
static __always_inline int parse(struct datagram *found, void *data, void *end)
{
	switch (protocol_of(data, end)) {
	case bpf_htons(ETH_P_IP):
		return parse_as(found, bpf_htons(ETH_P_IP), data, end);
	case bpf_htons(ETH_P_IPV6):
		return parse_as(found, bpf_htons(ETH_P_IPV6), data, end);
	default:
		return 0;
	}
}

// How long it is with its UDP header.
static __always_inline __u32 udp_len(const struct datagram *found)
{
	return found->len + sizeof(struct udphdr);
}

// And with its IP header.
static __always_inline __u32 ip_len(const struct datagram *found)
{
	return udp_len(found) + (found->v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
}

// Both ports, as they stand there.
static __always_inline __u32 ports_of(const struct datagram *found)
{
	return *(const __u32 *)found->udp;
}

// Whether a payload of at least two bytes begins as RTP does (RFC 7983) and not as RTCP (RFC 5761).
static __always_inline int is_rtp(const __u8 *payload)
{
	return payload[0] >> 6 == 2 && !(payload[1] >= 192 && payload[1] <= 223);
}

// The sum of the pseudo header (RFC 768, RFC 8200). The checksum field holds only this sum when the
// sender leaves the rest to hardware.
static __always_inline __u32 pseudo_sum(const struct datagram *found)
{
	__u64 sum = (__u64)found->udp->len + bpf_htons(IPPROTO_UDP);
	const __u32 *words;

	if (found->v4)
		return fold(sum + found->v4->saddr + found->v4->daddr);
	words = (const __u32 *)&found->v6->saddr;
	return fold(sum + words[0] + words[1] + words[2] + words[3] + words[4] + words[5] + words[6] + words[7]);
}

// Whether the checksum can be updated incrementally: it is present, or may be absent, and it is
// complete. A packet from a socket of the same machine through a veth has a complete checksum only
// if transmit offload is turned off on the sender's device (ethtool -K DEVICE tx off).
static __always_inline int has_checksum(const struct datagram *found)
{
	if (!found->udp->check)
		return found->v4 != 0;
	return found->udp->check != pseudo_sum(found);
}
