// Writes active decode targets into the dependency descriptors of receivers that get fewer than the
// sender produces.
//
// Such a descriptor is longer. Few packets need it: the first of key frames, and of frames where a
// receiver's layers change. These packets grow when the first copy does, by a word after the
// descriptor, which is padding in the copies of other receivers.
//
// Source: AV1 RTP specification, appendix A.8.2 and A.8.3; crates/dataplane, model/header.
#pragma once

#include "fanout_descriptor.h"
#include "fanout_extensions.h"

#define ROOM 4 // that such a packet grows by: what is said takes no more than three bytes
#define EXTENSION_MAX (ELEMENTS_MAX + STAMPS_MAX)
#define SAYS_ACTIVE 0x40 // in a descriptor's fourth byte
#define TELLS 0x10000 // a copy's descriptor has active decode targets of its own

// The state of copying a descriptor's bits: those in front of the active decode targets, the
// targets, and those after them.
struct telling {
	struct scratch *scratch;
	__u32 at; // in the new elements
	__u32 active;
	__u32 targets; // how many there are
	__u32 front; // bits in front
	__u32 back; // where what is behind begins in the old descriptor,
	__u32 total; // and the bits of all the new one
};

// Some bits of the received descriptor, at most eight. Zeros follow its end.
static __always_inline __u32 old_bits(const struct scratch *scratch, __u32 from, __u32 count)
{
	__u32 at = 8 * scratch->media.descriptor + from, byte = at >> 3;
	const __u8 *bytes = scratch->before;
	__u32 wide = bytes[byte & (EXTENSIONS_LEN - 1)] << 8 | bytes[(byte + 1) & (EXTENSIONS_LEN - 1)];

	if (from >= 8 * scratch->media.descriptor_len)
		return 0;
	return wide >> ((16 - (at & 7) - count) & 31) & ((1 << (count & 31)) - 1);
}

static long put_byte(__u32 index, struct telling *telling)
{
	__u32 from = 8 * index, to = from + 8, behind = telling->front + telling->targets, start, end, byte = 0;
	__u32 at = telling->at + index;

	if (from >= telling->total || at >= EXTENSION_MAX)
		return 1;
	if (from < telling->front) {
		end = to < telling->front ? to : telling->front;
		byte = old_bits(telling->scratch, from, end - from) << ((to - end) & 7);
	}
	start = from > telling->front ? from : telling->front;
	end = to < behind ? to : behind;
	if (start < end)
		byte |= (telling->active >> ((behind - end) & 31) & ((1 << ((end - start) & 31)) - 1)) << ((to - end) & 7);
	start = from > behind ? from : behind;
	end = to < telling->total ? to : telling->total;
	if (start < end)
		byte |= old_bits(telling->scratch, start - behind + telling->back, end - start) << ((to - end) & 7);
	telling->scratch->after[at] = index == 3 && telling->targets ? byte | SAYS_ACTIVE : byte;
	return 0;
}

// Makes room after the descriptor. False where that is impossible.
static __always_inline int make_room_behind(struct __sk_buff *skb, struct scratch *scratch)
{
	struct media *media = &scratch->media;
	__u32 from = media->descriptor_at + media->descriptor_len, zeros = 0;
	__u16 words, more;

	if (media->end - media->rtp_at + ROOM > DATAGRAM_MAX || bpf_skb_load_bytes(skb, media->extension_at + 2, &words, sizeof(words)))
		return 0;
	more = bpf_htons(bpf_ntohs(words) + ROOM / 4);
	if (!lengthen(of_stack(skb), scratch, from, ROOM) || bpf_skb_store_bytes(skb, from, &zeros, sizeof(zeros), 0) ||
	    bpf_skb_store_bytes(skb, media->extension_at + 2, &more, sizeof(more), 0) ||
	    bpf_l4_csum_replace(skb, media->rtp_at - 2, words, more, BPF_F_MARK_MANGLED_0 | sizeof(more)))
		return 0;
	if (media->stamps_at >= from)
		media->stamps_at += ROOM;
	media->room = ROOM;
	return 1;
}

// Writes the descriptor for the next copies: one with active decode targets, or the received one.
static __always_inline int write_descriptor(struct __sk_buff *skb, struct scratch *scratch, __u32 says)
{
	struct media *media = &scratch->media;
	struct telling telling = { .scratch = scratch, .active = says & 0xffff, .targets = scratch->frame.shape.targets };
	__u32 elements = media->extension_at + 4, len = media->descriptor_len, size, at = media->descriptor_at - elements;
	__u16 words;
	__s64 change;

	if (bpf_skb_load_bytes(skb, media->extension_at + 2, &words, sizeof(words)))
		return 0;
	size = 4 * bpf_ntohs(words);
	plain(size);
	if (size < 4 || size > EXTENSION_MAX || !at || at + len + media->room > size)
		return 0;
	if (bpf_skb_load_bytes(skb, elements, scratch->payload, size) || bpf_skb_load_bytes(skb, elements, scratch->after, size))
		return 0;
	telling.at = at;
	telling.front = scratch->reading.active_at - 8 * media->descriptor;
	telling.back = telling.front;
	telling.total = telling.front + telling.targets;
	if (says) {
		if (scratch->reading.flags & HAS_ACTIVE)
			telling.back += telling.targets;
		telling.total += scratch->reading.at - 8 * media->descriptor - telling.back;
		len = (telling.total + 7) / 8;
	} else {
		// All of it is in front.
		telling.front = telling.total = 8 * len;
		telling.targets = 0;
	}
	bpf_loop(media->descriptor_len + media->room, put_byte, &telling, 0);
	for (__u32 i = 0; i < ROOM; i++) {
		__u32 behind = at + len + i;

		if (len + i < media->descriptor_len + media->room && behind < EXTENSION_MAX)
			scratch->after[behind] = 0;
	}
	if (at - 1 < EXTENSION_MAX)
		scratch->after[at - 1] = media->two_byte ? len : (scratch->after[at - 1] & 0xf0) | ((len - 1) & 15);
	change = bpf_csum_diff((__be32 *)scratch->payload, size & ~3, (__be32 *)scratch->after, size & ~3, 0);
	if (bpf_skb_store_bytes(skb, elements, scratch->after, size, 0))
		return 0;
	media->says = says;
	return !bpf_l4_csum_replace(skb, media->rtp_at - 2, 0, change, BPF_F_MARK_MANGLED_0);
}

// Before a copy is written: gives it the descriptor that its receiver is to have, if that is not
// there yet.
__noinline int tell_targets(struct __sk_buff *skb, __u32 says)
{
	struct scratch *scratch = scratch_here();
	struct media *media;
	int fits;

	if (!scratch)
		return 0;
	media = &scratch->media;
	fits = media->two_byte || media->descriptor_len + ROOM <= 16;
	if (says && (!fits || (!media->room && !make_room_behind(skb, scratch))))
		return 0;
	return write_descriptor(skb, scratch, says);
}

// The active decode targets that a copy's descriptor has to state; 0 for none.
static __always_inline __u32 says_of_targets(const struct scratch *scratch)
{
	const struct frame *frame = &scratch->frame;

	if (scratch->media.layers != LAYERS_DESCRIPTOR || !scratch->media.descriptor_at || !frame->starts)
		return 0;
	if (frame->says_active ? !scratch->number.fewer : !scratch->number.told)
		return 0;
	return TELLS | scratch->number.active;
}
