// The egress side of copies made in drivers: each copy is rewritten for its receiver, as ordered
// where its packet arrived.
#pragma once

#include "fanout_broadcast.h"

// The next order of a packet. Null where it has been overwritten.
static __always_inline struct order *next_order(struct outbox *outbox, struct round *round, __u32 number)
{
	struct order *order = &outbox->orders[round->next & (ORDERS - 1)];

	if (round->number != number || round->next == round->end || order->position != round->next)
		return 0;
	round->next += 1;
	return order;
}

// Writes a copy as ordered. False where its headers are not all there.
static __always_inline int write_ordered(struct xdp_md *frame, const struct replica_entry *entry, const struct order *order, const struct media *media)
{
	struct number given = {};
	struct change change;
	struct way way = {};
	struct udphdr *udp;

	given.timestamp = order->timestamp;
	given.sequence = order->sequence;
	given.picture = order->picture;
	given.transport_number = order->transport_number;
	given.tl0 = order->tl0;
	given.frame = order->frame;
	given.marker = order->marker;
	__builtin_memcpy(way.to, order->to, ETH_ALEN);
	__builtin_memcpy(way.from, order->from, ETH_ALEN);
	udp = write((void *)(long)frame->data, (void *)(long)frame->data_end, entry, &way, media, &given, &change);
	if (!udp)
		return 0;
	follow_checksum(udp, change.addresses + change.rest);
	return 1;
}

// The same where that is plain.
static __always_inline int write_ordered_plain(struct xdp_md *frame, const struct replica_entry *entry, const struct order *order,
					       const struct media *media)
{
	struct number given = {};

	given.timestamp = order->timestamp;
	given.sequence = order->sequence;
	given.transport_number = order->transport_number;
	return write_plain((void *)(long)frame->data, (void *)(long)frame->data_end, entry, order->to, media, &given);
}

// Makes a copy its receiver's: a count.
static __always_inline __u32 carry_out(struct xdp_md *frame, struct outbox *outbox)
{
	__u32 *number = (void *)(long)frame->data_meta, place, written;
	struct replica_entry *entry;
	struct order *order;
	struct round *round;

	if ((void *)(number + 1) > (void *)(long)frame->data)
		return FAN_SEND_FAILED;
	round = &outbox->rounds[*number & (ROUNDS - 1)];
	order = next_order(outbox, round, *number);
	if (!order)
		return FAN_SEND_FAILED;
	place = order->place;
	entry = bpf_map_lookup_elem(&replica_entries, &place);
	if (!entry)
		return FAN_SEND_FAILED;
	if (order->plain)
		written = write_ordered_plain(frame, entry, order, &round->media);
	else
		written = write_ordered(frame, entry, order, &round->media);
	if (!written)
		return FAN_SEND_FAILED;
	return round->media.arrival.again ? FAN_LEFT_AGAIN : FAN_LEFT;
}

// Runs where a copy is sent. The copy's metadata is removed before the copy leaves.
SEC("xdp/devmap")
int leave_driver(struct xdp_md *frame)
{
	struct outbox *outbox = outbox_here();
	__u32 became = FAN_SEND_FAILED;

	if (outbox)
		became = carry_out(frame, outbox);
	if (bpf_xdp_adjust_meta(frame, sizeof(__u32)))
		became = FAN_SEND_FAILED;
	count(became);
	return became == FAN_SEND_FAILED ? XDP_DROP : XDP_PASS;
}
