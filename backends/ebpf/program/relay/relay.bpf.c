// Relays RTP in the kernel, before there is a socket buffer: a packet that arrives at a local port
// from the accepted source is sent from another local port to its destination.
//
// The program takes plain RTP only. RTCP, STUN, DTLS, everything that packet.h does not parse and
// packets without a known route continue to the base unchanged, which has the same entries and
// relays them. So does a packet of each relay from time to time: the stack sends it and thereby
// keeps the neighbour's entry.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
//
// The licences are more than the rest of this project has, because the kernel looks up routes only
// for programs under the GPL.

#include "relay.h"

// The program that examines packets of no relay, if one is loaded: the one for rooms.
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} behind SEC(".maps");

// The verdicts TCX_NEXT and TCX_DROP: headers of older kernels do not define them.
#define NEXT -1
#define DROP 2

SEC("xdp")
int relay(struct xdp_md *context)
{
	__u32 there = handle_frame(context, 0, (void *)(long)context->data, (void *)(long)context->data_end);

	if (there == LEFT) {
		bpf_tail_call(context, &behind, 0);
		return XDP_PASS;
	}
	if (there == DROPPED)
		return XDP_DROP;
	return there == context->ingress_ifindex ? XDP_TX : bpf_redirect_map(&interfaces, there, XDP_PASS);
}

// The most bytes of a frame that are examined: more than a relay's frame may have, by those that
// show whether it may.
#define FRAME_MAX 2048
#define LOOKED_AT (sizeof(struct ethhdr) + sizeof(struct iphdr))

// Whether a packet may be a relay's. All others pass without being made one piece, which is dear
// for long ones.
static __always_inline int may_be_relayed(struct __sk_buff *skb)
{
	const void *ip;

	if (skb->vlan_present || skb->gso_segs > 1 || skb->len > FRAME_MAX || skb->len < LOOKED_AT)
		return 0;
	if ((void *)(long)skb->data + LOOKED_AT > (void *)(long)skb->data_end && bpf_skb_pull_data(skb, LOOKED_AT))
		return 0;
	ip = (const void *)(long)skb->data + sizeof(struct ethhdr);
	if (ip + sizeof(struct iphdr) > (const void *)(long)skb->data_end)
		return 0;
	switch (skb->protocol) {
	case bpf_htons(ETH_P_IP):
		return ((const struct iphdr *)ip)->protocol == IPPROTO_UDP;
	case bpf_htons(ETH_P_IPV6):
		return ((const __u8 *)ip)[offsetof(struct ipv6hdr, nexthdr)] == IPPROTO_UDP;
	default:
		return 0;
	}
}

// The program for interfaces whose driver runs no XDP programs, and for packets that this machine
// sends itself. It runs first at the entry of the stack.
SEC("classifier")
int relay_in_stack(struct __sk_buff *skb)
{
	__u32 there;

	if (!may_be_relayed(skb))
		return NEXT;
	if ((void *)(long)skb->data + skb->len > (void *)(long)skb->data_end && bpf_skb_pull_data(skb, skb->len))
		return NEXT;
	there = handle_frame(skb, skb, (void *)(long)skb->data, (void *)(long)skb->data_end);
	if (there == LEFT || there == HERE)
		return NEXT;
	return there == DROPPED ? DROP : bpf_redirect(there, 0);
}

// A test frame that is really sent shows whether an interface sends the packets of programs in
// drivers.

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct bpf_devmap_val));
} tried SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} let_go SEC(".maps");

SEC("xdp")
int try_driver(struct xdp_md *frame)
{
	(void)frame;
	return bpf_redirect_map(&tried, 0, 0);
}

SEC("xdp/devmap")
int end_of_try(struct xdp_md *frame)
{
	__u32 only = 0, *frames = bpf_map_lookup_elem(&let_go, &only);

	(void)frame;
	if (frames)
		__sync_fetch_and_add(frames, 1);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
