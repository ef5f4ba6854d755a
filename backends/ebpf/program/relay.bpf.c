// Relays RTP in the kernel: what arrives at a port of ours from whom it should leaves from another port of ours, to whom it should, before there
// is a socket buffer.
//
// Taken is what is plainly RTP. RTCP, STUN, DTLS, everything that packet.h does not parse and everything whose way is not known goes up to the base untouched,
// which has the same entries and does the same. So does a packet of each relay once in a while: the stack, which sends it, then keeps the neighbour known.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// More licences than the rest of this project has, since the kernel looks up routes for no other programs.

#include "relay.h"

// What looks at packets of no relay, while there is such a program: that of rooms.
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} behind SEC(".maps");

// What the stack is told, in the kernel's words TCX_NEXT and TCX_DROP: headers of older kernels do not have them.
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

// The same where an interface's driver runs no such programs: where the stack takes a packet, before anybody else has.
SEC("classifier")
int relay_in_stack(struct __sk_buff *skb)
{
	__u32 there;

	if (skb->vlan_present || skb->gso_segs > 1)
		return NEXT;
	if ((void *)(long)skb->data + skb->len > (void *)(long)skb->data_end && bpf_skb_pull_data(skb, skb->len))
		return NEXT;
	there = handle_frame(skb, skb, (void *)(long)skb->data, (void *)(long)skb->data_end);
	if (there == LEFT)
		return NEXT;
	return there == DROPPED ? DROP : bpf_redirect(there, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
