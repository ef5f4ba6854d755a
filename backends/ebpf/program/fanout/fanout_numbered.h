// Numbering by the frames a replica gets, where its entry asks for it: S-LM and S-LR
// (fanout_rewriting.h). All of it runs under the replica's lock.
//
// It applies to streams with dependency descriptors, because only those number frames and tell how
// many layers there are. The numbers sent for the newest frames are kept beside the rewriter, so
// that a packet that a receiver asks for again is found and gets the same number.
#pragma once

#include "fanout_rewriting.h"
#include "fanout_select.h"

// Whether a packet's frame has a number.
static __always_inline int has_number(const struct media *media)
{
	return media->layers == LAYERS_DESCRIPTOR || media->layers == LAYERS_UNREADABLE;
}

// Begins with a packet that gets the `next` number. By every packet where it names no frame.
static __always_inline void start_numbers(struct frame_numbers *numbers, const struct replica_entry *entry, const struct media *media,
					  const struct frame *frame, __u16 next)
{
	struct question first = { .number = media->arrival.number, .frame = frame->number, .sequence = next, .period = 1 };

	numbers->rewriting = has_number(media) ? entry->rewriting : REWRITING_EXACT;
	if (!numbers->rewriting)
		return;
	first.ends_frame = frame->ends;
	start_rewriter(&numbers->known, &first);
	// A name that no frame has in its place.
	for (int at = 0; at < NUMBERED_FRAMES; at++)
		numbers->frames[at].frame = at + 1;
}

// From one frame to the next that a replica of so many temporal layers gets. Every one where there
// are several sizes.
static __always_inline __u8 period_of(const struct media *media, const struct frame *frame, __u32 temporal)
{
	const struct shape *shape = &frame->shape;
	__u32 all = (1 << (shape->targets & 31)) - 1, targets = all & frame->active, highest;

	if (!targets)
		targets = all;
	if (media->layers != LAYERS_DESCRIPTOR || targets & ~(__u32)shape->up_to_spatial[0])
		return 1;
	highest = highest_of(shape->up_to_temporal, targets);
	if (highest <= temporal)
		return 1;
	return highest - temporal == 1 ? 2 : 4;
}

static __always_inline void note_period(struct replica_progress *replica, struct rewriter *known, __u8 period, __u16 frame)
{
	int is_newest = (__s16)(frame - known->frame) > 0 || replica->newest < replica->first;

	if (period == known->period || !is_newest)
		return;
	known->period = period;
	known->coming = frame;
	known->has_coming = 1;
}

static __always_inline void remember_number(struct frame_numbers *numbers, const struct question *packet)
{
	struct numbered_frame *sent = &numbers->frames[packet->frame & (NUMBERED_FRAMES - 1)];

	if ((__u16)(numbers->known.frame - packet->frame) >= NUMBERED_FRAMES)
		return;
	if (sent->frame != packet->frame) {
		sent->frame = packet->frame;
		sent->offset = packet->number - packet->sequence;
		sent->first = sent->last = packet->number;
	}
	if ((__s16)(packet->number - sent->first) < 0)
		sent->first = packet->number;
	if ((__s16)(packet->number - sent->last) > 0)
		sent->last = packet->number;
}

// A packet that is sent again has the number it had the first time.
static __always_inline __u32 number_again(const struct frame_numbers *numbers, struct question *packet)
{
	const struct numbered_frame *sent = &numbers->frames[packet->frame & (NUMBERED_FRAMES - 1)];

	if (sent->frame != packet->frame || (__u16)(packet->number - sent->first) > (__u16)(sent->last - sent->first))
		return FAN_TOO_LATE;
	packet->sequence = packet->number - sent->offset;
	return FAN_NOTHING;
}

// Gives a packet its number, if it is to be sent: a count, or FAN_NOTHING.
static __always_inline __u32 number_by_frames(struct replica_progress *replica, struct frame_numbers *numbers, const struct media *media,
					      const struct frame *frame, __u32 reason, __u16 *sequence)
{
	struct rewriter *known = &numbers->known;
	struct question packet = { .number = media->arrival.number, .frame = known->frame };
	__u16 before = known->offset;

	if (has_number(media)) {
		packet.frame = frame->number;
		packet.starts_frame = frame->starts;
		packet.ends_frame = frame->ends;
		packet.key_frame = media->layers == LAYERS_DESCRIPTOR && !frame->kind.refers;
		note_period(replica, known, period_of(media, frame, replica->temporal), packet.frame);
	} else if (reason == FAN_NOTHING && media->arrival.number <= replica->newest) {
		// It names no frame, so it goes on with the newest or not at all.
		return FAN_TOO_LATE;
	}
	if (reason != FAN_NOTHING)
		return reason;
	if (media->arrival.again) {
		reason = number_again(numbers, &packet);
		*sequence = packet.sequence;
		return reason;
	}
	// One that names no frame may have been numbered without it (fanout_plain.h).
	if (replica->newest >= replica->first)
		known->number = replica->newest;
	if (!rewrite(known, &packet, numbers->rewriting == REWRITING_LOW_RETRANSMISSION, &packet.sequence))
		return FAN_TOO_LATE;
	replica->shift -= (__u16)(known->offset - before);
	if (media->arrival.number > replica->newest)
		replica->newest = media->arrival.number;
	remember_number(numbers, &packet);
	*sequence = packet.sequence;
	return FAN_NOTHING;
}
