// Takes Weir's RTP off an interface, and leaves everything else to the stack.
//
// The program takes UDP in plain IPv4 or IPv6 to one of the interface's own addresses and the media
// port, or to a relay's address and port, whose payload begins as RTP does (RFC 7983) and not as
// RTCP (RFC 5761). STUN, DTLS, RTCP, fragments, options, extension headers, VLANs and packets for
// others continue to the stack unchanged. So does RTP that arrives at a queue without a socket.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IP_FRAGMENT 0x3fff // more fragments, or not the first

// Set before the program is loaded, in host byte order.
const volatile __u16 media_port = 0;

// By receive queue.
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

// The addresses we listen on here; those of IPv4 as mapped ones.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct in6_addr);
	__type(value, __u8);
} addresses SEC(".maps");

// The address and port of a relay, in network byte order; IPv4 as a mapped address.
struct relay {
	struct in6_addr address;
	__u16 port;
	__u16 zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct relay);
	__type(value, __u8);
} relays SEC(".maps");

// Fills in the destination of a packet whose IPv4 header begins at `ip`. Returns the UDP header, or
// null where the packet is not one to take.
static __always_inline struct udphdr *behind_ipv4(struct iphdr *ip, void *end, struct in6_addr *to)
{
	if ((void *)(ip + 1) > end || ip->ihl != 5 || ip->protocol != IPPROTO_UDP)
		return 0;
	if (ip->frag_off & bpf_htons(IP_FRAGMENT))
		return 0;
	to->in6_u.u6_addr32[2] = bpf_htonl(0xffff);
	to->in6_u.u6_addr32[3] = ip->daddr;
	return (void *)(ip + 1);
}

// The same for IPv6.
static __always_inline struct udphdr *behind_ipv6(struct ipv6hdr *ip, void *end, struct in6_addr *to)
{
	if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_UDP)
		return 0;
	*to = ip->daddr;
	return (void *)(ip + 1);
}

static __always_inline int is_rtp(const __u8 *payload)
{
	return payload[0] >> 6 == 2 && !(payload[1] >= 192 && payload[1] <= 223);
}

static __always_inline int is_ours(const struct in6_addr *to, __u16 port)
{
	struct relay relay = { .address = *to, .port = port };

	if (port == bpf_htons(media_port) && bpf_map_lookup_elem(&addresses, to))
		return 1;
	return bpf_map_lookup_elem(&relays, &relay) != 0;
}

SEC("xdp")
int take_rtp(struct xdp_md *packet)
{
	void *end = (void *)(long)packet->data_end;
	struct ethhdr *ethernet = (void *)(long)packet->data;
	struct in6_addr to = {};
	struct udphdr *udp = 0;
	__u8 *payload;

	if ((void *)(ethernet + 1) > end || ethernet->h_dest[0] & 1)
		return XDP_PASS;
	if (ethernet->h_proto == bpf_htons(ETH_P_IP))
		udp = behind_ipv4((void *)(ethernet + 1), end, &to);
	else if (ethernet->h_proto == bpf_htons(ETH_P_IPV6))
		udp = behind_ipv6((void *)(ethernet + 1), end, &to);
	payload = (void *)(udp + 1);
	if (!udp || (void *)(payload + 2) > end)
		return XDP_PASS;
	if (!is_rtp(payload) || !is_ours(&to, udp->dest))
		return XDP_PASS;
	return bpf_redirect_map(&sockets, packet->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Apache-2.0";
