// Sequence numbers for a replica that leaves frames out. The rewriters see only the packets that
// the replica gets: S-LM knows the newest frame, S-LR three more before it.
//
// The algorithms are those of crates/rewriting, which documents their guarantees. Here they are
// written for registers and few comparisons. Source: Scallop section 7.
#pragma once

#include <bpf/bpf_helpers.h>

#include "fanout_layout.h"
#include "fanout_rewriting_layout.h"

// The cadence between the newest frame and a newer one: before a key frame, and across a change,
// every frame counts as one the replica should have got.
static __always_inline __u16 period_between(struct rewriter *known, const struct question *packet)
{
	if (known->has_coming && (__s16)(known->coming - known->frame) <= 0)
		known->has_coming = 0;
	return known->has_coming || packet->key_frame ? 1 : known->period;
}

static __always_inline __u16 least(__u16 one, __u16 other)
{
	return one < other ? one : other;
}

// The number of packets between the newest frame and that of `packet` that were certainly left out.
static __always_inline __u16 left_out(const struct rewriter *known, const struct question *packet, __u16 distance, __u16 period, __u16 skipped)
{
	if (known->ended && packet->starts_frame && distance <= period)
		return skipped;
	return least(least(period - 1, distance - 1), skipped);
}

// The frame of `packet` is the newest now. False, and nothing changes, where a newer frame has an
// older number.
static __always_inline int succeed(struct rewriter *known, const struct question *packet, __u16 distance, __u16 period)
{
	__u16 ahead = packet->number - known->number;

	if ((__s16)ahead <= 0)
		return 0;
	known->offset += left_out(known, packet, distance, period, ahead - 1);
	known->number = packet->number;
	known->frame = packet->frame;
	known->ended = packet->ends_frame;
	return 1;
}

// Stores the frame that was the newest, before another takes its place. Frames of the cadence of
// which no packet has arrived get places too.
static __always_inline void remember_past(struct rewriter *known, struct past before, __u16 distance, __u16 period)
{
	__u16 missing = (distance - 1) / period;
	struct past history[HISTORY_FRAMES];

	for (int slot = 0; slot < HISTORY_FRAMES; slot++) {
		if (slot < missing) {
			history[slot].frame = known->frame - (slot + 1) * period;
			history[slot].offset = before.offset;
		} else if (slot == missing) {
			history[slot] = before;
		} else if (slot - missing == 1) {
			history[slot] = known->history[0];
		} else {
			history[slot] = known->history[1];
		}
	}
	for (int slot = 0; slot < HISTORY_FRAMES; slot++)
		known->history[slot] = history[slot];
}

// The number a packet of the replica is sent with; false where it is too late to be known.
static __always_inline int rewrite(struct rewriter *known, const struct question *packet, int has_history, __u16 *sequence)
{
	__s16 distance = packet->frame - known->frame;
	__u16 offset = known->offset;

	if (distance == 0) {
		if ((__s16)(packet->number - known->number) > 0)
			known->number = packet->number;
		known->ended |= packet->ends_frame;
	} else if (distance > 0) {
		struct past before = { .frame = known->frame, .offset = known->offset };
		__u16 period = period_between(known, packet);

		if (!succeed(known, packet, distance, period))
			return 0;
		if (has_history)
			remember_past(known, before, distance, period);
		offset = known->offset;
	} else {
		int found = 0;

		for (int slot = HISTORY_FRAMES - 1; slot >= 0; slot--) {
			if (has_history && known->history[slot].frame == packet->frame) {
				offset = known->history[slot].offset;
				found = 1;
			}
		}
		if (!found)
			return 0;
	}
	*sequence = packet->number - offset;
	return 1;
}

static __always_inline void start_rewriter(struct rewriter *known, const struct question *first)
{
	struct past past = { .frame = first->frame, .offset = first->number - first->sequence };

	known->number = first->number;
	known->frame = first->frame;
	known->offset = past.offset;
	known->has_coming = 0;
	known->ended = first->ends_frame;
	known->period = first->period;
	for (int slot = 0; slot < HISTORY_FRAMES; slot++)
		known->history[slot] = past;
}
