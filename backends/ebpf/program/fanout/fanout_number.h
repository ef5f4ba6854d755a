// The number a replica gives a packet, if any. All of it runs under the replica's lock.
//
// The kernel sees every packet, so gaps of packets that are not sent close exactly, as long as
// packets arrive in order. A late or repeated packet finds its number as far back as the window
// reaches.
#pragma once

#include "fanout_numbered.h"
#include "fanout_select.h"

#define ALIGNMENT_MAX_SECONDS 5

static __always_inline __u32 word_of(__u64 number)
{
	return (number >> 6) & (HISTORY_WORDS - 1);
}

// Units of timestamps from the last packet of one segment to the first of the next: by the senders'
// clocks, or else by when they arrived.
static __always_inline __u32 ticks_since(const struct replica_progress *replica, const struct media *media)
{
	__s64 elapsed = media->capture - replica->last_capture;
	__u64 distance = elapsed < 0 ? -elapsed : elapsed;
	__s64 ticks;

	if (media->captured && replica->last_captured && distance >> 32 < ALIGNMENT_MAX_SECONDS)
		ticks = elapsed * media->clock_rate >> 32;
	else
		ticks = (media->at - replica->last_at) * media->clock_rate / 1000000000;
	return ticks < 1 ? 1 : ticks;
}

// Begins a segment with a packet of this number at its source, which gets the `next` one.
static __always_inline void begin_segment(struct replica_progress *replica, __u32 source, __u64 first, __u64 next)
{
	replica->started = 1;
	replica->continues = 0;
	replica->source = source;
	replica->shift = next - first;
	replica->first = first;
	replica->newest = first - 1;
	replica->last_number = first - 1;
	replica->closed[word_of(first)] = 0;
	replica->shifts[word_of(first)] = replica->shift;
}

// Continues where the base stopped, with any later packet. False for an earlier one.
static __always_inline int go_on(struct replica_progress *replica, struct layers_given *layers, struct frame_numbers *numbers,
				 const struct replica_entry *entry, const struct media *media)
{
	__u16 ahead = media->arrival.number - replica->newest;

	if (!ahead || ahead >> 15)
		return 0;
	begin_segment(replica, media->stream, media->arrival.number - ahead + 1, replica->newest + 1 + replica->shift);
	begin_layers(layers, entry);
	numbers->rewriting = REWRITING_EXACT;
	return 1;
}

// Starts to follow a stream with a packet that starts a key frame: numbers, timestamps and picture
// ids go on from the segment before.
static __always_inline void follow(struct replica_progress *replica, struct layers_given *layers, struct frame_numbers *numbers,
				   const struct replica_entry *entry, const struct media *media, const struct frame *frame)
{
	__u64 next = (1 << 16) + entry->first_sequence;

	if (replica->started) {
		next = replica->newest + 1 + replica->shift;
		replica->timestamp_offset = replica->last_timestamp + ticks_since(replica, media) - media->timestamp;
		replica->picture_offset = replica->last_picture + 1 - media->picture;
		replica->tl0_offset = replica->last_tl0 + 1 - media->tl0;
	}
	replica->frame_offset = 0;
	if (replica->has_frame && has_number(media) && (__s16)((__u16)frame->number - replica->last_frame) <= 0)
		replica->frame_offset = replica->last_frame + 1 - (__u16)frame->number;
	begin_segment(replica, media->stream, media->arrival.number, next);
	start_numbers(numbers, entry, media, frame, next);
	replica->spatial = 0;
	replica->temporal = entry->temporal;
	replica->awaits = 0;
	replica->layers = LAYERS_NONE;
	replica->held_back = 0;
	replica->decided = 0;
	begin_layers(layers, entry);
}

// Whether the replica can send a packet at all.
static __always_inline __u32 unfit(const struct replica_entry *entry, const struct media *media)
{
	if (media->is_padding)
		return FAN_PADDING_ONLY;
	if (!entry->ready)
		return FAN_NOT_READY;
	if (entry->types[media->format & (FANOUT_FORMATS - 1)] == NOT_NEGOTIATED)
		return FAN_NOT_NEGOTIATED;
	return FAN_NOTHING;
}

// Moves on to a packet, if that is newer than all before: true then.
static __always_inline int advance(struct replica_progress *replica, __u64 number)
{
	__u64 words = (number >> 6) - (replica->newest >> 6);

	if (number <= replica->newest)
		return 0;
	for (__u32 i = 0; i < HISTORY_WORDS && i < words; i++) {
		replica->closed[word_of(number - 64 * i)] = 0;
		replica->shifts[word_of(number - 64 * i)] = replica->shift;
	}
	replica->newest = number;
	return 1;
}

static __always_inline void close_up(struct replica_progress *replica)
{
	replica->closed[word_of(replica->newest)] |= 1ULL << (replica->newest & 63);
	replica->shift -= 1;
}

// Records the state that the next segment continues from, if this packet is sent.
static __always_inline void remember(struct replica_progress *replica, const struct media *media, const struct frame *frame,
				     const struct number *number)
{
	if (media->arrival.again) {
		replica->resent += 1;
		return;
	}
	replica->packets += 1;
	replica->octets += media->payload_len;
	if (media->arrival.number <= replica->last_number)
		return;
	replica->last_number = media->arrival.number;
	replica->last_at = media->at;
	replica->last_capture = media->capture;
	replica->last_captured = media->captured;
	replica->last_timestamp = number->timestamp;
	replica->last_picture = number->picture;
	replica->last_tl0 = number->tl0;
	if (has_number(media)) {
		replica->has_frame = 1;
		replica->last_frame = (__u16)frame->number + replica->frame_offset;
	}
}

// The number of a packet in exact numbering, which counts all earlier packets, sent or not. Returns
// a count, or FAN_NOTHING.
static __always_inline __u32 number_by_all(struct replica_progress *replica, __u64 source, __u32 reason, __u16 *sequence)
{
	if (advance(replica, source) && reason != FAN_NOTHING)
		close_up(replica);
	if (reason != FAN_NOTHING)
		return reason;
	if ((replica->newest >> 6) - (source >> 6) >= HISTORY_WORDS)
		return FAN_TOO_LATE;
	*sequence = source + replica->shifts[word_of(source)];
	*sequence -= ones(replica->closed[word_of(source)] & ((1ULL << (source & 63)) - 1));
	return FAN_NOTHING;
}

// Numbers a packet, or states why it gets no number.
static __always_inline void give(struct replica_progress *replica, struct layers_given *layers, struct frame_numbers *numbers,
				 const struct replica_entry *entry, const struct media *media, const struct frame *frame, struct number *number)
{
	__u64 source = media->arrival.number;
	__u32 reason, unfit_for, before = selected(replica);

	if (replica->epoch != entry->epoch) {
		replica->epoch = entry->epoch;
		replica->source = 0;
		replica->continues = 0;
	}
	number->selects = 0;
	number->concerned = entry->source == media->stream || replica->source == media->stream;
	number->refused = FAN_PAUSED;
	if (!number->concerned || entry->paused)
		return;
	reason = unfit_for = unfit(entry, media);
	if (replica->source != media->stream) {
		number->refused = media->arrival.again ? FAN_BEFORE_SWITCH : reason;
		if (number->refused != FAN_NOTHING)
			return;
		if (replica->continues && entry->source == media->stream) {
			number->refused = FAN_BEFORE_SWITCH;
			if (!go_on(replica, layers, numbers, entry, media))
				return;
		} else {
			number->refused = FAN_AWAITING_KEY_FRAME;
			if (!media->arrival.is_newest || !media->starts_key_frame)
				return;
			follow(replica, layers, numbers, entry, media, frame);
		}
		number->selects = 1;
	}
	number->refused = FAN_BEFORE_SWITCH;
	if (source < replica->first)
		return;
	number->held_back = replica->held_back;
	number->is_top = number->fewer = number->told = 0;
	if (reason == FAN_NOTHING)
		reason = select_packet(replica, layers, entry, media, frame, number);
	number->selected = selected(replica);
	number->selects |= number->selected != before;
	if (!numbers->rewriting)
		number->refused = number_by_all(replica, source, reason, &number->sequence);
	else if (unfit_for != FAN_NOTHING)
		number->refused = unfit_for; // which those see nothing of that number by frames
	else
		number->refused = number_by_frames(replica, numbers, media, frame, reason, &number->sequence);
	if (number->refused != FAN_NOTHING)
		return;
	number->timestamp = media->timestamp + replica->timestamp_offset;
	number->picture = media->picture + replica->picture_offset - number->held_back;
	number->tl0 = media->tl0 + replica->tl0_offset;
	number->frame = (__u16)frame->number + replica->frame_offset;
	number->marker = media->marker || (number->is_top && frame->ends);
	remember(replica, media, frame, number);
}
