// `bounce` sends each phone's packet to the other party of its call: the least work of a relay, for
// comparison.
//
// Callers and callees have one address each, which differ in the last bit, and both parties of a
// call have the same port, which is the port of ours that they send to. So no lookup is needed: the
// destination becomes the source, and the source with that bit flipped becomes the destination.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// Phones' ports begin here; packets to other ports go to the stack.
#define FIRST_PORT 10000

// Updates a checksum for a change of a 32-bit word that it covers (RFC 1624).
static __always_inline __u16 amended(__u16 checksum, __u32 before, __u32 after)
{
	__u32 sum = (__u16)~checksum;
	sum += (__u16)~before + (__u16)~(before >> 16);
	sum += (__u16)after + (after >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

SEC("xdp")
int bounce(struct xdp_md *context)
{
	void *end = (void *)(long)context->data_end;
	struct ethhdr *ethernet = (void *)(long)context->data;
	struct iphdr *ip = (void *)(ethernet + 1);
	struct udphdr *udp = (void *)(ip + 1);
	__u8 address[ETH_ALEN];
	__u32 from, to;

	if ((void *)(udp + 1) > end || ethernet->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	if (ip->ihl != 5 || ip->protocol != IPPROTO_UDP || bpf_ntohs(udp->dest) < FIRST_PORT)
		return XDP_PASS;

	__builtin_memcpy(address, ethernet->h_source, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, ethernet->h_dest, ETH_ALEN);
	__builtin_memcpy(ethernet->h_dest, address, ETH_ALEN);

	// Sums do not mind the order, so only the turned bit is new to them; likewise the ports, which
	// change places.
	from = ip->saddr;
	to = from ^ bpf_htonl(1);
	ip->saddr = ip->daddr;
	ip->daddr = to;
	ip->check = amended(ip->check, from, to);
	udp->check = amended(udp->check, from, to);
	__u16 port = udp->source;
	udp->source = udp->dest;
	udp->dest = port;
	return XDP_TX;
}

// Passes everything.
SEC("xdp")
int pass(struct xdp_md *context)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
