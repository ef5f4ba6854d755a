// Makes a packet's copies, replica by replica.
//
// The steps are functions of their own so that the verifier checks each independently of its
// callers. They share data in the scratch. Each copy is a clone except the last, which is the
// packet itself.
#pragma once

#include "fanout_extensions.h"
#include "fanout_plain.h"
#include "fanout_probe.h"
#include "fanout_read.h"
#include "fanout_repair.h"
#include "fanout_report.h"
#include "fanout_fib.h"
#include "fanout_write.h"

#define UNCONCERNED FAN_COUNTS // no count: a replica that has nothing to do with the stream

static void note(__u32 kind, __u32 replica, const struct scratch *scratch)
{
	struct fanout_note *note = bpf_ringbuf_reserve(&notes, sizeof(*note), 0);

	if (!note)
		return;
	note->replica = replica;
	note->source = scratch->media.stream;
	note->spatial = scratch->number.selected >> 8 & 255;
	note->temporal = scratch->number.selected & 255;
	note->awaits = scratch->number.selected >> 16;
	note->kind = kind;
	bpf_ringbuf_submit(note, 0);
}

static __always_inline void tell(__u32 kind, const struct replica_entry *entry, const struct scratch *scratch)
{
	note(kind, entry->state, scratch);
}

// Looks up the route to a replica's receiver, and stores it.
static __always_inline int find_and_keep_way(struct packet packet, __u32 place)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);
	struct scratch *scratch = scratch_here();
	struct replica_state *state;
	__u32 key;

	if (!entry || !scratch)
		return 0;
	find_way(packet, &scratch->way, entry, &scratch->media);
	if (!scratch->way.interface)
		tell(NOTE_NO_WAY, entry, scratch);
	key = entry->state;
	state = bpf_map_lookup_elem(&replica_states, &key);
	if (!state)
		return 0;
	bpf_spin_lock(&state->lock);
	state->way = scratch->way;
	bpf_spin_unlock(&state->lock);
	return 1;
}

__noinline int look_up_way(struct __sk_buff *skb, __u32 place)
{
	return find_and_keep_way(of_stack(skb), place);
}

// Numbers one replica's copy and finds its route, if it is known. Returns a count, or FAN_NOTHING
// where the copy can be made.
__noinline int number_copy(__u32 place)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);
	struct scratch *scratch = scratch_here();
	struct replica_state *state;
	struct layers_given *layers;
	struct frame_numbers *numbers;
	__u32 key;

	if (!entry || !scratch)
		return UNCONCERNED;
	key = entry->state;
	state = bpf_map_lookup_elem(&replica_states, &key);
	layers = bpf_map_lookup_elem(&replica_layers, &key);
	numbers = bpf_map_lookup_elem(&replica_frames, &key);
	if (scratch->media.arrival.wanted && !was_asked(entry, &scratch->media) && scratch->media.arrival.again)
		return UNCONCERNED;
	if (!state || !layers || !numbers)
		return UNCONCERNED;
	bpf_spin_lock(&state->lock);
	give(&state->progress, layers, numbers, entry, &scratch->media, &scratch->frame, &scratch->number);
	scratch->way = state->way;
	bpf_spin_unlock(&state->lock);
	if (scratch->number.selects)
		tell(NOTE_SELECTED, entry, scratch);
	if (!scratch->number.concerned)
		return UNCONCERNED;
	if (scratch->number.refused == FAN_NOTHING && scratch->media.oversized)
		return FAN_REPLICA_OVERSIZED;
	return scratch->number.refused;
}

// Makes one replica's numbered copy, and returns the result.
__noinline int serve(struct __sk_buff *skb, __u32 place, struct scratch *scratch)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);
	int probed;

	if (!entry || !scratch)
		return UNCONCERNED;
	if (scratch->way.until < scratch->media.at)
		look_up_way(skb, place);
	stamp(scratch, entry);
	probed = entry->number_id && is_probed(entry);
	if (probed)
		scratch->last = 0;
	if (!send_copy(skb, place, scratch))
		return FAN_SEND_FAILED;
	departs(scratch, entry, scratch->number.transport_number, probed ? FANOUT_PROBED : 0);
	if (probed)
		send_probe(skb, place, scratch);
	return FAN_FORWARDED;
}

// Records the result of one copy.
static __always_inline void tally(struct scratch *scratch, __u32 became)
{
	if (became == UNCONCERNED)
		return;
	scratch->concerned += 1;
	if (became == FAN_FORWARDED)
		scratch->sent += 1;
	else if (became != FAN_PADDING_ONLY)
		count(became);
}

// The arguments that are the same for every copy of a packet.
struct copying {
	struct __sk_buff *skb;
	const struct stream_entry *stream;
	struct scratch *scratch;
	__u32 count; // how many there are
};

// The place of a copy's replica: among all of the stream, or among those deferred to the general
// steps.
static __always_inline __u32 place_of_copy(__u32 index, const struct stream_entry *stream, const struct scratch *scratch)
{
	return scratch->left ? scratch->places[index] : stream->replicas[index >> 5].places[index & 31];
}

// Makes one replica's copy, whatever there is to decide.
static long copy(__u32 index, struct copying *copying)
{
	struct scratch *scratch = copying->scratch;
	__u32 place, became, says;

	if (index >= FANOUT_COPIES)
		return 1;
	scratch->last = index + 1 == copying->count;
	place = place_of_copy(index, copying->stream, scratch);
	became = number_copy(place);
	says = says_of_targets(scratch);
	if (became == FAN_NOTHING && says != scratch->media.says)
		tell_targets(copying->skb, says);
	if (became == FAN_NOTHING)
		became = serve(copying->skb, place, scratch);
	tally(scratch, became);
	return 0;
}

// Makes one replica's copy on the fast path, and returns the result. FAN_NOTHING where the general
// steps are needed.
static __always_inline __u32 serve_plain(struct __sk_buff *skb, __u32 place, struct scratch *scratch, int is_last)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);
	const struct way *way = &scratch->way;
	struct number number = {};

	if (!entry || (entry->number_id && is_probed(entry)) || !number_plain(entry, scratch, &number))
		return FAN_NOTHING;
	if (way->until < scratch->media.at)
		look_up_way(skb, place);
	if (entry->number_id)
		number.transport_number = next_number(entry);
	if (!way->interface || skb->len > way->mtu + ETH_HLEN ||
	    !write_plain((void *)(long)skb->data, (void *)(long)skb->data_end, entry, way->to, &scratch->media, &number) ||
	    !let_go(skb, scratch, is_last))
		return FAN_SEND_FAILED;
	departs(scratch, entry, number.transport_number, 0);
	return FAN_FORWARDED;
}

static long copy_plain(__u32 index, struct copying *copying)
{
	struct scratch *scratch = copying->scratch;
	__u32 place, became;

	if (index >= FANOUT_COPIES)
		return 1;
	place = copying->stream->replicas[index >> 5].places[index & 31];
	// Deferred copies are made after the others.
	became = serve_plain(copying->skb, place, scratch, index + 1 == copying->count && !scratch->left);
	if (became == FAN_NOTHING)
		leave(scratch, place);
	else
		tally(scratch, became);
	return 0;
}

// Takes account of a packet: a count, or FAN_NOTHING.
static __always_inline int take_account(struct scratch *scratch, __u32 place)
{
	struct stream_state *state = bpf_map_lookup_elem(&stream_states, &place);
	struct media *media = &scratch->media;
	int refused;

	if (!state)
		return FAN_MALFORMED;
	scratch->concerned = scratch->sent = scratch->log.departures = 0;
	media->begins = !state->progress.packets;
	bpf_spin_lock(&state->lock);
	arrive(&state->progress, media->sequence, media->known, media->end - media->rtp_at, &media->arrival);
	bpf_spin_unlock(&state->lock);
	refused = admit(media);
	if (refused == FAN_NOTHING && (media->descriptor_len || media->layers == LAYERS_VP9))
		read_layers(place);
	return refused;
}

// The count for a packet of which no copy was sent, after all replicas were examined.
static __always_inline int no_copies(const struct scratch *scratch)
{
	if (scratch->media.arrival.again)
		return FAN_DUPLICATE;
	if (scratch->media.is_padding)
		return FAN_PADDING_ONLY;
	return scratch->concerned ? FAN_NOT_SELECTED : FAN_NO_REPLICA;
}

// Gives it the header extension of its copies.
__noinline int extend_in_stack(struct __sk_buff *skb, __u32 entry)
{
	return extend(of_stack(skb), entry);
}

static __always_inline void copy_to_all(struct __sk_buff *skb, const struct stream_entry *stream, struct scratch *scratch)
{
	struct copying copying = { .skb = skb, .stream = stream, .scratch = scratch, .count = stream->replicas_count };

	prepare((void *)(long)skb->data, (void *)(long)skb->data_end, scratch);
	if (scratch->media.plain) {
		bpf_loop(copying.count, copy_plain, &copying, 0);
		copying.count = scratch->left;
	}
	if (copying.count)
		bpf_loop(copying.count, copy, &copying, 0);
}

// Takes account of it, and copies it: a count where there are no copies, or FAN_NOTHING.
__noinline int copy_packet(struct __sk_buff *skb, __u32 entry, __u32 place)
{
	struct stream_entry *stream = bpf_map_lookup_elem(&stream_entries, &entry);
	struct scratch *scratch = scratch_here();
	int refused;

	if (!stream || !scratch)
		return FAN_MALFORMED;
	refused = take_account(scratch, place);
	if (refused == FAN_NOTHING && is_extended(stream, &scratch->media))
		refused = extend_in_stack(skb, entry);
	if (refused == FAN_NOTHING)
		copy_to_all(skb, stream, scratch);
	write_log(scratch, refused, stream->goes_up);
	if (refused != FAN_NOTHING)
		return refused;
	if (!scratch->sent)
		return no_copies(scratch);
	count_many(scratch->media.arrival.again ? FAN_RESENT : FAN_FORWARDED, scratch->sent);
	return FAN_NOTHING;
}
