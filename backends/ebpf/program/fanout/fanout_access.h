// Access to a packet from either program: in the stack, or in the driver before there is a socket
// buffer.
//
// Steps that both programs take are written once. The place is a constant at compile time, so no
// packet is tested for it.
#pragma once

#include <stddef.h>

#include "../common/packet.h"

struct packet {
	void *context;
	int with_driver;
};

static __always_inline struct packet of_stack(struct __sk_buff *skb)
{
	return (struct packet){ .context = skb };
}

static __always_inline struct packet of_driver(struct xdp_md *frame)
{
	return (struct packet){ .context = frame, .with_driver = 1 };
}

static __always_inline __u32 frame_len(struct packet packet)
{
	struct xdp_md *frame = packet.context;
	__u64 len;

	if (!packet.with_driver)
		return ((struct __sk_buff *)packet.context)->len;
	len = (__u64)frame->data_end - (__u64)frame->data;
	// The verifier treats only the difference of two packet pointers as a number. The barrier keeps
	// the compiler from adding anything to one of them first.
	asm volatile("" : "+r"(len));
	return len;
}

static __always_inline long load_bytes(struct packet packet, __u32 at, void *to, __u32 len)
{
	if (packet.with_driver)
		return bpf_xdp_load_bytes(packet.context, at, to, len);
	return bpf_skb_load_bytes(packet.context, at, to, len);
}

static __always_inline long store_bytes(struct packet packet, __u32 at, void *from, __u32 len)
{
	if (packet.with_driver)
		return bpf_xdp_store_bytes(packet.context, at, from, len);
	return bpf_skb_store_bytes(packet.context, at, from, len, 0);
}

static __always_inline long set_len(struct packet packet, __u32 len)
{
	if (packet.with_driver)
		return bpf_xdp_adjust_tail(packet.context, (int)(len - frame_len(packet)));
	return bpf_skb_change_tail(packet.context, len, 0);
}

// Lets a finished checksum follow; one of zero is none, and stays so.
static __always_inline void follow_checksum(struct udphdr *udp, __u64 change)
{
	__u16 sum;

	if (!udp->check)
		return;
	sum = ~fold((__u16)~udp->check + change);
	udp->check = sum ? sum : 0xffff;
}

// Updates UDP's checksum after a change of the payload. In the driver all checksums are complete;
// in the stack only the kernel knows whether one is.
static __always_inline long follow_change(struct packet packet, __u32 checksum_at, __s64 change)
{
	struct xdp_md *frame = packet.context;
	struct udphdr *udp;

	if (!packet.with_driver)
		return bpf_l4_csum_replace(packet.context, checksum_at, 0, change, BPF_F_MARK_MANGLED_0);
	udp = (void *)(long)frame->data + (checksum_at & 0xff) - offsetof(struct udphdr, check);
	if ((void *)(udp + 1) > (void *)(long)frame->data_end)
		return -1;
	follow_checksum(udp, change);
	return 0;
}
