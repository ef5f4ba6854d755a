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

SEC("xdp")
int relay(struct xdp_md *context)
{
	void *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	__u32 there;

	switch (handle_frame(context, data, end, &there)) {
	case LEFT:
		bpf_tail_call(context, &behind, 0);
		return XDP_PASS;
	case DROPPED:
		return XDP_DROP;
	default:
		return there == context->ingress_ifindex ? XDP_TX : bpf_redirect_map(&interfaces, there, XDP_PASS);
	}
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
