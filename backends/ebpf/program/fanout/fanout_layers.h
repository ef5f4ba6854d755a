// Which frames a replica gets of a stream with dependency descriptors. All of it under the
// replica's lock.
//
// A replica has one decode target. A frame is sent if it is part of that target, its chain is
// intact, and no frame it refers to was held back. Two sets of bits record the decisions about the
// newest 64 frames, by their numbers. The frames that a frame refers to are a set of bits too, so
// one AND tells whether any of them was held back.
//
// Source: AV1 RTP specification, appendix A; crates/dataplane, model/select.
#pragma once

#include "fanout_descriptor.h"

enum indication {
	NOT_PRESENT,
	DISCARDABLE,
	SWITCH,
	REQUIRED,
};

// A decode target, and its layer.
struct goal {
	__u32 target;
	__u32 spatial;
	__u32 temporal;
};

static __always_inline void begin_layers(struct layers_given *layers, const struct replica_entry *entry)
{
	layers->newest = layers->known = layers->held = layers->since = 0;
	layers->has_picture = layers->has_ended = layers->tells = layers->broken = layers->complete = 0;
	layers->target = NO_TARGET;
	layers->wanted_spatial = entry->spatial;
	layers->wanted_temporal = entry->temporal;
	layers->pictures_count = 0;
}

static __always_inline __u32 lowest(__u32 bits)
{
	return ones((bits & -bits) - 1);
}

// Decode targets up to a layer, and of exactly one.
static __always_inline __u32 up_to(const __u16 *sets, __u32 layer)
{
	return sets[layer < LAYERS_MAX ? layer : LAYERS_MAX - 1];
}

static __always_inline __u32 exactly(const __u16 *sets, __u32 layer)
{
	__u32 below = layer ? sets[(layer - 1) & (LAYERS_MAX - 1)] : 0;

	return sets[layer & (LAYERS_MAX - 1)] & ~below;
}

static __always_inline __u32 targets_within(const struct shape *shape, __u32 spatial, __u32 temporal)
{
	return up_to(shape->up_to_spatial, spatial) & up_to(shape->up_to_temporal, temporal);
}

static __always_inline __u32 targets_of(const struct shape *shape, __u32 spatial, __u32 temporal)
{
	return exactly(shape->up_to_spatial, spatial) & exactly(shape->up_to_temporal, temporal);
}

// One where any bit is set, without a branch: the verifier would follow both sides of a branch, and
// all code after each.
static __always_inline __u32 any(__u32 bits)
{
	bits |= -bits;
	plain(bits);
	return bits >> 31;
}

// The highest and the lowest layer that some of these decode targets have.
static __always_inline __u32 highest_of(const __u16 *sets, __u32 targets)
{
	__u32 layer = 0;

	for (int at = 0; at < LAYERS_MAX; at++)
		layer += any(targets & ~sets[at]);
	return layer;
}

static __always_inline __u32 lowest_of(const __u16 *sets, __u32 targets)
{
	__u32 layer = LAYERS_MAX;

	for (int at = 0; at < LAYERS_MAX; at++)
		layer -= any(targets & sets[at]);
	return layer;
}

// The decode target with the highest layer within the wanted one, among those the sender produces;
// the lowest of all when there is none.
static __always_inline void find_goal(const struct frame *frame, __u32 spatial, __u32 temporal, struct goal *goal)
{
	const struct shape *shape = &frame->shape;
	__u32 all = (1 << (shape->targets & 31)) - 1, active = all & frame->active, within;

	if (!active)
		active = all;
	within = targets_within(shape, spatial, temporal) & active;
	if (within) {
		goal->spatial = highest_of(shape->up_to_spatial, within);
		goal->temporal = highest_of(shape->up_to_temporal, within & exactly(shape->up_to_spatial, goal->spatial));
	} else {
		within = active;
		goal->spatial = lowest_of(shape->up_to_spatial, within);
		goal->temporal = lowest_of(shape->up_to_temporal, within & exactly(shape->up_to_spatial, goal->spatial));
	}
	goal->target = lowest(within & targets_of(shape, goal->spatial, goal->temporal));
}

static __always_inline __u32 indication(const struct frame *frame, __u32 target)
{
	return frame->kind.indications >> (2 * (target & (TARGETS_MAX - 1))) & 3;
}

// Chains of which nothing was held back up to here. `held` are the frames held back before this
// one, the lowest bit for the one before.
static __always_inline __u32 intact_chains(const struct frame *frame, __u32 broken, __u64 held)
{
	__u32 intact = 0;

	for (__u32 chain = 0; chain < CHAINS_MAX; chain++) {
		__u32 before = (frame->kind.chain_diffs >> (8 * chain) & 255) - 1;
		__u32 was_held = held >> (before & 63) & ~any(before / FRAMES);

		intact |= (~(was_held | broken >> chain) & 1) << chain;
	}
	return intact | frame->starts_chains;
}

static __always_inline int is_intact(const struct frame *frame, __u32 intact, __u32 target)
{
	if (!frame->shape.chains)
		return 1;
	return intact >> (frame->shape.protected_by[target & (TARGETS_MAX - 1)] & (CHAINS_MAX - 1)) & 1;
}

// Switches as near to the wanted layer as the newest frame allows.
static __always_inline void switch_target(struct replica_progress *replica, struct layers_given *layers, const struct frame *frame,
					  __u32 timestamp, __u64 held)
{
	int is_decodable = !(frame->kind.refers & held), may_rise = !layers->has_ended || layers->ended != timestamp;
	int has_before = layers->target != NO_TARGET && layers->since == frame->since;
	__u32 spatial = replica->spatial, temporal = replica->temporal, before = layers->target, intact;
	struct goal goal;

	if (!has_before)
		layers->broken = 0;
	intact = intact_chains(frame, layers->broken, held);
	find_goal(frame, layers->wanted_spatial, layers->wanted_temporal, &goal);
	layers->since = frame->since;
	if (!has_before) {
		layers->target = NO_TARGET;
		if (is_intact(frame, intact, goal.target)) {
			layers->target = goal.target;
			replica->spatial = goal.spatial;
			replica->temporal = goal.temporal;
		}
	} else {
		__u32 other_rate = targets_of(&frame->shape, spatial, goal.temporal), other = lowest(other_rate);

		if (goal.target == before) {
			other_rate = 0;
		} else if ((goal.spatial == spatial && goal.temporal < temporal) ||
			   ((may_rise || goal.spatial <= spatial) && indication(frame, goal.target) == SWITCH &&
			    is_intact(frame, intact, goal.target) && is_decodable)) {
			layers->target = goal.target;
			replica->spatial = goal.spatial;
			replica->temporal = goal.temporal;
			other_rate = 0;
		}
		if (other_rate && other != before &&
		    (goal.temporal < temporal ||
		     (indication(frame, other) == SWITCH && is_intact(frame, intact, other) && is_decodable))) {
			layers->target = other;
			replica->temporal = goal.temporal;
		}
	}
	if (frame->shape.chains)
		replica->awaits = layers->target == NO_TARGET || !is_intact(frame, intact, goal.target);
	else
		replica->awaits = layers->target == NO_TARGET || replica->spatial < goal.spatial;
}

// Whether a frame is part of the selection, and can be decoded.
static __always_inline __u32 judge_described(const struct frame *frame, const struct frame_choice *state, __u64 held)
{
	__u32 intact = intact_chains(frame, state->broken, held);

	if (state->target == NO_TARGET || state->since != (__u16)frame->since)
		return FAN_UNDECODABLE;
	if (indication(frame, state->target) == NOT_PRESENT)
		return FAN_OUTSIDE_TARGET;
	return is_intact(frame, intact, state->target) && !(frame->kind.refers & held) ? FAN_NOTHING : FAN_UNDECODABLE;
}

// Records the decision, and the decode targets that the receiver can have.
static __always_inline void conclude(struct frame_choice *choice, const struct frame *frame, __u32 refused)
{
	__u32 active = targets_within(&frame->shape, choice->spatial, choice->temporal) & frame->active;

	choice->refused = refused;
	choice->active = active;
	choice->flags = 0;
	if (frame->kind.spatial == choice->spatial)
		choice->flags |= CHOICE_TOP;
	if (active != frame->active)
		choice->flags |= CHOICE_FEWER;
}

static __always_inline void decide_newest(struct replica_progress *replica, struct layers_given *layers, const struct replica_entry *entry,
					  const struct media *media, const struct frame *frame, struct frame_choice *choice, __u64 ahead)
{
	__u64 held;

	if (!layers->known)
		ahead = FRAMES;
	layers->known = ahead < FRAMES ? layers->known << ahead | 1 : 1;
	held = ahead < FRAMES + 1 && ahead ? (ahead < FRAMES ? layers->held << ahead : 0) : 0;
	layers->newest = frame->number;
	if (!layers->has_picture || layers->picture != media->timestamp) {
		layers->has_picture = 1;
		layers->picture = media->timestamp;
		layers->wanted_spatial = entry->spatial;
		layers->wanted_temporal = entry->temporal;
	}
	switch_target(replica, layers, frame, media->timestamp, held >> 1);
	choice->since = layers->since;
	choice->target = layers->target;
	choice->broken = layers->broken;
	choice->spatial = replica->spatial;
	choice->temporal = replica->temporal;
	choice->held_back = replica->held_back;
	conclude(choice, frame, judge_described(frame, choice, held >> 1));
	if (choice->refused == FAN_NOTHING) {
		__u32 fewer = choice->flags & CHOICE_FEWER;

		if (layers->tells != !!fewer || (fewer && layers->told != choice->active))
			choice->flags |= CHOICE_TOLD;
		layers->tells = !!fewer;
		layers->told = choice->active;
		if (choice->flags & CHOICE_TOP) {
			layers->has_ended = 1;
			layers->ended = media->timestamp;
		}
		layers->broken &= ~(frame->in_chains & frame->starts_chains);
	} else {
		held |= 1;
		layers->broken |= frame->in_chains;
		if (media->codec == KEY_VP8) {
			replica->held_back += 1;
			choice->flags |= CHOICE_COUNTS;
		}
	}
	layers->held = held;
	choice->broken = layers->broken;
}

// A late frame is judged by the selection after the frame that precedes it, and changes nothing.
static __always_inline void decide_late(struct layers_given *layers, const struct frame *frame, struct frame_choice *choice, __u32 behind)
{
	__u64 older = layers->known >> behind, held = layers->held >> behind;
	const struct frame_choice *before;
	__u32 distance;

	// A newer frame has a decision, but this frame has none.
	if (older) {
		distance = ones((older & -older) - 1);
		before = &layers->choices[(frame->number - distance) & (FRAMES - 1)];
	} else {
		__u64 newer = layers->known;

		// Older than all: taken for a neighbour of the oldest.
		newer |= newer >> 1;
		newer |= newer >> 2;
		newer |= newer >> 4;
		newer |= newer >> 8;
		newer |= newer >> 16;
		newer |= newer >> 32;
		before = &layers->choices[(layers->newest - (ones(newer) - 1)) & (FRAMES - 1)];
	}
	choice->since = before->since;
	choice->target = before->target;
	choice->broken = before->broken;
	choice->spatial = before->spatial;
	choice->temporal = before->temporal;
	choice->held_back = before->held_back + (older && before->flags & CHOICE_COUNTS);
	conclude(choice, frame, judge_described(frame, choice, held >> 1));
	layers->known |= 1ULL << behind;
	if (choice->refused != FAN_NOTHING)
		layers->held |= 1ULL << behind;
}

// A count, or FAN_NOTHING where a packet's frame is sent.
static __always_inline __u32 select_described(struct replica_progress *replica, struct layers_given *layers, const struct replica_entry *entry,
					      const struct media *media, const struct frame *frame, struct number *number)
{
	__u64 behind = layers->newest - frame->number;
	struct frame_choice *choice = &layers->choices[frame->number & (FRAMES - 1)];

	if (!layers->known || frame->number > layers->newest)
		decide_newest(replica, layers, entry, media, frame, choice, frame->number - layers->newest);
	else if (behind >= FRAMES)
		return FAN_TOO_LATE;
	else if (!(layers->known >> behind & 1))
		decide_late(layers, frame, choice, behind);
	number->held_back = choice->held_back;
	number->is_top = !!(choice->flags & CHOICE_TOP);
	number->fewer = !!(choice->flags & CHOICE_FEWER);
	number->told = !!(choice->flags & CHOICE_TOLD);
	number->active = choice->active;
	return choice->refused;
}
