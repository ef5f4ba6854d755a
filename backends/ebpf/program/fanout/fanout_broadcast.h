// Copies packets of rooms in the driver (XDP). A packet is broadcast into a device map that has one
// slot for each of its receivers. All slots name the interface that the copies are sent by, and the
// program at the end of a slot rewrites the copy for its receiver.
//
// All decisions are made where a packet arrives, by the same steps and on the same tables as in the
// stack. A stream can therefore move between the two from one packet to the next. The rewriting of
// each copy is recorded as an order. Copies are made and queued later, and only then does the
// program at the slots' end run. Nothing identifies a single copy there. But the copies of one
// packet arrive in order, and the packet's metadata, which is copied with it, names its round of
// orders.
#pragma once

#include "fanout_lookup.h"
#include "fanout_plain.h"

#define ROUNDS 64  // packets whose copies are not all gone; a driver looks at no more before it lets go what was queued
#define ORDERS 512 // those of one packet, and of some that are queued for other interfaces: no more than 16 each

// The rewriting of one copy.
struct order {
	__u32 position; // its own, in the sequence of all orders
	__u32 place; // of its replica's entry
	__u32 timestamp;
	__u16 sequence;
	__u16 picture;
	__u16 transport_number;
	__u16 frame; // its number
	__u8 tl0;
	__u8 marker;
	__u8 plain;
	__u8 zero;
	__u8 to[ETH_ALEN];
	__u8 from[ETH_ALEN];
};

// A packet that is broadcast.
struct round {
	__u32 number; // its own, in the sequence of all packets
	__u32 next; // the position of the order for the copy that comes next
	__u32 end; // behind the last one
	__u32 interface; // the copies leave by; 0 as long as there is none
	struct media media;
};

// The orders of one processor: packets that arrive at a processor are also sent by it.
struct outbox {
	__u32 number; // of the newest round
	__u32 position; // of the next order
	struct round rounds[ROUNDS];
	struct order orders[ORDERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct outbox);
} outboxes SEC(".maps");

struct slots {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct bpf_devmap_val));
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, ROOMS_INTERFACES * FANOUT_COPIES);
	__type(key, struct fan);
	__array(values, struct slots);
} fans SEC(".maps");

// Marks streams of the process that loaded this: others' broadcasts go nowhere. Set before the
// program is loaded.
const volatile __u32 in_driver = 0;

static __always_inline struct outbox *outbox_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&outboxes, &zero);
}

static __always_inline struct round *newest_round(struct outbox *outbox)
{
	return &outbox->rounds[outbox->number & (ROUNDS - 1)];
}

__noinline int look_up_way_in_driver(struct xdp_md *frame, __u32 place)
{
	return find_and_keep_way(of_driver(frame), place);
}

// Allocates an order for one copy. Null where the copy cannot be sent.
static __always_inline struct order *next_free(struct xdp_md *frame, const struct replica_entry *entry, __u32 place, const struct scratch *scratch)
{
	struct outbox *outbox = outbox_here();
	const struct way *way = &scratch->way;
	struct round *round;
	struct order *order;

	if (!outbox || !way->interface || frame_len(of_driver(frame)) > way->mtu + ETH_HLEN)
		return 0;
	round = newest_round(outbox);
	if (round->end == round->next)
		round->interface = way->interface;
	if (round->interface != way->interface) {
		tell(NOTE_ELSEWHERE, entry, scratch);
		return 0;
	}
	order = &outbox->orders[round->end & (ORDERS - 1)];
	order->position = round->end;
	order->place = place;
	__builtin_memcpy(order->to, way->to, ETH_ALEN);
	__builtin_memcpy(order->from, way->from, ETH_ALEN);
	round->end += 1;
	return order;
}

// Orders one copy. False where it cannot be sent.
static __always_inline int write_order(struct xdp_md *frame, const struct replica_entry *entry, __u32 place, const struct scratch *scratch)
{
	struct order *order = next_free(frame, entry, place, scratch);

	if (!order)
		return 0;
	order->timestamp = scratch->number.timestamp;
	order->sequence = scratch->number.sequence;
	order->picture = scratch->number.picture;
	order->transport_number = scratch->number.transport_number;
	order->tl0 = scratch->number.tl0;
	order->frame = scratch->number.frame;
	order->marker = scratch->number.marker;
	order->plain = 0;
	return 1;
}

// Orders one replica's copy, and returns the result.
__noinline int serve_in_driver(struct xdp_md *frame, __u32 place, struct scratch *scratch)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);

	if (!entry || !scratch)
		return UNCONCERNED;
	if (scratch->way.until < scratch->media.at)
		look_up_way_in_driver(frame, place);
	stamp(scratch, entry);
	if (!write_order(frame, entry, place, scratch))
		return FAN_SEND_FAILED;
	departs(scratch, entry, scratch->number.transport_number, 0);
	return FAN_FORWARDED;
}

// The arguments of `order_copy`.
struct ordering {
	struct xdp_md *frame;
	const struct stream_entry *stream;
	struct scratch *scratch;
};

static long order_copy(__u32 index, struct ordering *ordering)
{
	struct scratch *scratch = ordering->scratch;
	__u32 place, became;

	if (index >= FANOUT_COPIES)
		return 1;
	place = place_of_copy(index, ordering->stream, scratch);
	became = number_copy(place);
	if (became == FAN_NOTHING)
		became = serve_in_driver(ordering->frame, place, scratch);
	tally(scratch, became);
	return 0;
}

// Orders one replica's copy on the fast path, and returns the result. FAN_NOTHING where the general
// steps are needed.
static __always_inline __u32 order_at_once(struct xdp_md *frame, __u32 place, struct scratch *scratch)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);
	struct number number = {};
	struct order *order;

	if (!entry || !number_plain(entry, scratch, &number))
		return FAN_NOTHING;
	if (scratch->way.until < scratch->media.at)
		look_up_way_in_driver(frame, place);
	if (entry->number_id)
		number.transport_number = next_number(entry);
	order = next_free(frame, entry, place, scratch);
	if (!order)
		return FAN_SEND_FAILED;
	order->sequence = number.sequence;
	order->timestamp = number.timestamp;
	order->transport_number = number.transport_number;
	order->plain = 1;
	departs(scratch, entry, number.transport_number, 0);
	return FAN_FORWARDED;
}

static long order_plain(__u32 index, struct ordering *ordering)
{
	__u32 place, became;

	if (index >= FANOUT_COPIES)
		return 1;
	place = ordering->stream->replicas[index >> 5].places[index & 31];
	became = order_at_once(ordering->frame, place, ordering->scratch);
	if (became == FAN_NOTHING)
		leave(ordering->scratch, place);
	else
		tally(ordering->scratch, became);
	return 0;
}

__noinline int read_in_driver(struct xdp_md *frame, __u32 entry)
{
	return read_either(of_driver(frame), entry);
}

__noinline int extend_in_driver(struct xdp_md *frame, __u32 entry)
{
	return extend(of_driver(frame), entry);
}

static __always_inline void order_all(struct xdp_md *frame, const struct stream_entry *stream, struct scratch *scratch)
{
	struct ordering ordering = { .frame = frame, .stream = stream, .scratch = scratch };

	__u32 rest = stream->replicas_count;

	prepare((void *)(long)frame->data, (void *)(long)frame->data_end, scratch);
	if (scratch->media.plain) {
		bpf_loop(rest, order_plain, &ordering, 0);
		rest = scratch->left;
	}
	if (rest)
		bpf_loop(rest, order_copy, &ordering, 0);
}

// Takes account of a packet, and orders its copies. A count, or FAN_NOTHING where there are some.
__noinline int order_copies(struct xdp_md *frame, __u32 entry, __u32 place)
{
	struct stream_entry *stream = bpf_map_lookup_elem(&stream_entries, &entry);
	struct scratch *scratch = scratch_here();
	struct outbox *outbox = outbox_here();
	struct round *round;
	int refused;

	if (!stream || !scratch || !outbox)
		return FAN_MALFORMED;
	refused = take_account(scratch, place);
	if (refused == FAN_NOTHING && is_extended(stream, &scratch->media))
		refused = extend_in_driver(frame, entry);
	round = newest_round(outbox);
	round->number = outbox->number;
	round->next = round->end = outbox->position;
	if (refused == FAN_NOTHING)
		order_all(frame, stream, scratch);
	write_log(scratch, refused, stream->goes_up);
	if (refused != FAN_NOTHING)
		return refused;
	if (!scratch->sent)
		return no_copies(scratch);
	outbox->position = round->end;
	round->media = scratch->media;
	return FAN_NOTHING;
}

// Lets the copies that were ordered be made.
static __always_inline int release(const struct scratch *scratch, struct outbox *outbox)
{
	struct fan fan = { .interface = newest_round(outbox)->interface, .copies = scratch->sent };
	void *slots = bpf_map_lookup_elem(&fans, &fan);

	if (!slots) {
		count_many(FAN_SEND_FAILED, scratch->sent);
		note(NOTE_ELSEWHERE, 0, scratch);
		return XDP_DROP;
	}
	count_many(FAN_ORDERED, scratch->sent);
	return bpf_redirect_map(slots, 0, BPF_F_BROADCAST);
}

// Puts in front of a packet which round is its own. False where its driver has no place for that.
static __always_inline int take_along(struct xdp_md *frame, struct outbox *outbox)
{
	__u32 *number;

	if (bpf_xdp_adjust_meta(frame, -(int)sizeof(*number)))
		return 0;
	number = (void *)(long)frame->data_meta;
	if ((void *)(number + 1) > (void *)(long)frame->data)
		return 0;
	*number = ++outbox->number;
	return 1;
}

// Runs where a packet arrives. A packet that is not copied here continues to the stack, where the
// other program examines it.
SEC("xdp")
int fan_out_in_driver(struct xdp_md *frame)
{
	void *end = (void *)(long)frame->data_end;
	struct stream_place *known, place;
	struct stream_entry *stream;
	struct scratch *scratch;
	struct outbox *outbox;
	struct datagram found;
	int refused;

	if (!parse(&found, (void *)(long)frame->data, end))
		return XDP_PASS;
	known = find_stream(&found, end);
	if (!known)
		return XDP_PASS;
	place = *known;
	stream = bpf_map_lookup_elem(&stream_entries, &place.entry);
	scratch = scratch_here();
	outbox = outbox_here();
	if (!stream || !scratch || !outbox || stream->in_driver != in_driver)
		return XDP_PASS;
	found_at(&scratch->media, &found, &place);
	if (scratch->media.unfinished || !take_along(frame, outbox))
		return XDP_PASS;
	count(FAN_RECEIVED);
	refused = FAN_OVERSIZED;
	if (scratch->media.end - scratch->media.rtp_at <= DATAGRAM_MAX)
		refused = read_in_driver(frame, place.entry);
	if (refused == FAN_NOTHING)
		refused = order_copies(frame, place.entry, place.state);
	if (refused == FAN_NOTHING)
		return release(scratch, outbox);
	count(refused);
	return XDP_DROP;
}

// A test frame that reaches the slot's end shows whether an interface sends copies at all.

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct bpf_devmap_val));
} tried SEC(".maps");

SEC("xdp")
int try_driver(struct xdp_md *frame)
{
	(void)frame;
	return bpf_redirect_map(&tried, 0, BPF_F_BROADCAST);
}

SEC("xdp/devmap")
int end_of_try(struct xdp_md *frame)
{
	(void)frame;
	count(FAN_TRIED);
	return XDP_DROP;
}
