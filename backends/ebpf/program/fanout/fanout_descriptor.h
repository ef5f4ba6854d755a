// Reads dependency descriptors: the fields of a packet's descriptor, completed from the stream's
// newest structure.
//
// A structure is in the first packet of a key frame, and the packets after it need it at once. It
// is therefore read here, field by field, and not by userspace.
//
// Source: AV1 RTP specification, appendix A.8.2; crates/wire, codec/dependency.
#pragma once

#include "fanout_structure.h"

#define MANDATORY_LEN 3
#define FIELDS_MAX 1200 // of the largest structure

static __always_inline void read_own_references(struct scratch *scratch)
{
	struct kind_of_frame *kind = &scratch->frame.kind;
	struct reading *reading = &scratch->reading;
	__u32 size = reading->flags & HAS_REFERENCES ? take_bits(scratch, 2) : 0, back;

	if (!size) {
		next_part(reading, PART_OWN_CHAIN_DIFFS);
		return;
	}
	back = take_bits(scratch, 4 * size);
	if (back < FRAMES)
		kind->refers |= 1ULL << (back & 63);
	reading->count += 1;
	reading->failed |= reading->count > REFERENCES_MAX;
}

static __always_inline void read_own_chain_diffs(struct scratch *scratch)
{
	struct frame *frame = &scratch->frame;
	struct reading *reading = &scratch->reading;
	if (reading->index >= frame->shape.chains || !(reading->flags & HAS_CHAIN_DIFFS)) {
		next_part(reading, PART_END);
		return;
	}
	frame->kind.chain_diffs |= (__u64)take_bits(scratch, 8) << (8 * (reading->index & (CHAINS_MAX - 1)));
	reading->index += 1;
}

// A frame has the properties of its template, except where the packet states others.
static __always_inline void read_active(struct scratch *scratch)
{
	struct structure *structure = &scratch->structure;
	struct reading *reading = &scratch->reading;
	struct frame *frame = &scratch->frame;

	if (reading->flags & HAS_STRUCTURE) {
		frame->shape = structure->shape;
		frame->kind = structure->templates[(reading->id - structure->shape.first) & (TEMPLATES_MAX - 1)];
		reading->active = (1 << (frame->shape.targets & 31)) - 1;
	}
	reading->active_at = reading->at;
	if (reading->flags & HAS_ACTIVE)
		reading->active = take_bits(scratch, frame->shape.targets);
	if (reading->flags & HAS_REFERENCES)
		frame->kind.refers = 0;
	if (reading->flags & HAS_CHAIN_DIFFS)
		frame->kind.chain_diffs = 0;
	next_part(reading, PART_OWN_INDICATIONS);
}

// `at` points to the scratch.
static long read_field(__u32 index, struct scratch **at)
{
	struct scratch *scratch = *at;
	struct structure *structure = &scratch->structure;
	struct reading *reading = &scratch->reading;
	struct frame *frame = &scratch->frame;

	switch (reading->part) {
	case PART_TEMPLATE:
		read_template(scratch);
		break;
	case PART_INDICATIONS:
		read_indications(scratch);
		break;
	case PART_REFERENCES:
		read_references(scratch);
		break;
	case PART_CHAINS:
		structure->shape.chains = take_below(scratch, structure->shape.targets + 1);
		reading->failed |= structure->shape.chains > CHAINS_MAX;
		next_part(reading, structure->shape.chains ? PART_PROTECTED : PART_SIZES);
		break;
	case PART_PROTECTED:
		read_protected(scratch);
		break;
	case PART_CHAIN_DIFFS:
		read_chain_diffs(scratch);
		break;
	case PART_SIZES:
		read_sizes(scratch);
		break;
	case PART_ACTIVE:
		read_active(scratch);
		break;
	case PART_OWN_INDICATIONS:
		if (reading->flags & HAS_INDICATIONS)
			frame->kind.indications = take_indications(scratch, frame->shape.targets);
		next_part(reading, PART_OWN_REFERENCES);
		break;
	case PART_OWN_REFERENCES:
		read_own_references(scratch);
		break;
	case PART_OWN_CHAIN_DIFFS:
		read_own_chain_diffs(scratch);
		break;
	default:
		return 1;
	}
	return !!reading->failed;
}

// Reads the counts at the start of a dependency structure.
static __always_inline void begin_structure(struct scratch *scratch)
{
	struct structure *structure = &scratch->structure;
	struct reading *reading = &scratch->reading;
	struct shape none = {};

	structure->shape = none;
	structure->shape.first = take_bits(scratch, 6);
	structure->shape.targets = take_bits(scratch, 5) + 1;
	reading->failed |= structure->shape.targets > TARGETS_MAX;
	next_part(reading, PART_TEMPLATE);
}

// Finds the chains that the frame is part of, and those that start with it.
static __always_inline void find_chains(struct frame *frame)
{
	__u16 needed_by = needed(frame->kind.indications);

	frame->in_chains = frame->starts_chains = 0;
	for (__u32 chain = 0; chain < CHAINS_MAX; chain++) {
		__u16 protects = frame->shape.protects[chain];
		__u8 back = frame->kind.chain_diffs >> (8 * chain);

		frame->in_chains |= (protects && !(protects & ~needed_by)) << chain;
		frame->starts_chains |= !back << chain;
	}
}

// The extended number nearest to the newest frame's.
static __always_inline __u64 frame_number(const struct layers_seen *seen, __u16 number)
{
	if (!seen->highest)
		return (1 << 16) + number;
	return seen->highest + (__s16)(number - (__u16)seen->highest);
}

// Extends the frame's number, and fills in its template from the newest structure.
static __always_inline void look_up_frame(struct layers_seen *seen, struct frame *frame, __u32 number, __u32 id)
{
	frame->number = frame_number(seen, number);
	if (frame->number > seen->highest)
		seen->highest = frame->number;
	frame->since = seen->since;
	frame->active = seen->active;
	frame->shape = seen->structure.shape;
	frame->kind = seen->structure.templates[(id - frame->shape.first) & (TEMPLATES_MAX - 1)];
}

// Records what later packets of the stream need from this frame: its structure and its active
// decode targets.
static __always_inline void note_frame(struct layers_seen *seen, struct frame *frame, const struct structure *structure, __u32 active)
{
	if (frame->has_structure) {
		frame->since = frame->number;
		if (seen->since <= frame->number) {
			seen->since = frame->number;
			seen->structure = *structure;
		}
	}
	if (frame->says_active && seen->active_since <= frame->number) {
		seen->active_since = frame->number;
		seen->active = active;
	}
	frame->active = seen->active;
}

// Reads the descriptor of a packet. False where that is impossible; the frame's number is read even
// then.
static __always_inline int read_descriptor(struct stream_layers *layers, struct scratch *scratch)
{
	struct frame *frame = &scratch->frame;
	struct media *media = &scratch->media;
	struct reading *reading = &scratch->reading, from_here = { .part = PART_ACTIVE };
	__u32 first, number;

	*reading = from_here;
	reading->at = 8 * media->descriptor;
	reading->end = reading->at + 8 * media->descriptor_len;
	first = take_bits(scratch, 8);
	number = take_bits(scratch, 16);
	reading->id = first & 63;
	bpf_spin_lock(&layers->lock);
	look_up_frame(&layers->seen, frame, number, reading->id);
	bpf_spin_unlock(&layers->lock);
	frame->starts = first >> 7;
	frame->ends = first >> 6 & 1;
	if (media->descriptor_len > MANDATORY_LEN)
		reading->flags = take_bits(scratch, 5);
	else
		reading->at += 5;
	reading->active_at = reading->at;
	frame->has_structure = !!(reading->flags & HAS_STRUCTURE);
	frame->says_active = !!(reading->flags & (HAS_STRUCTURE | HAS_ACTIVE));
	if (frame->has_structure)
		begin_structure(scratch);
	else if (!frame->since || ((reading->id - frame->shape.first) & 63) >= frame->shape.templates)
		return 0;
	if (reading->flags && !reading->failed) {
		bpf_loop(FIELDS_MAX, read_field, &scratch, 0);
		if (reading->failed || reading->part != PART_END)
			return 0;
	}
	if (frame->says_active) {
		bpf_spin_lock(&layers->lock);
		note_frame(&layers->seen, frame, &scratch->structure, reading->active);
		bpf_spin_unlock(&layers->lock);
	}
	find_chains(frame);
	return !reading->failed;
}

// The highest spatial layer of a picture of VP9 so far, and of the one before.
static __always_inline void note_picture(struct layers_seen *seen, struct media *media, struct frame *frame)
{
	__s32 ahead = media->timestamp - seen->picture;

	if (!seen->has_picture || ahead > 0) {
		seen->has_picture = 1;
		seen->picture = media->timestamp;
		seen->top_before = seen->top;
		seen->top = media->spatial;
	} else if (!ahead && media->spatial > seen->top) {
		seen->top = media->spatial;
	}
	frame->top = seen->top > seen->top_before ? seen->top : seen->top_before;
}

// Reads the frame of a packet that is not a duplicate.
static __always_inline void read_frame(struct stream_layers *layers, struct scratch *scratch)
{
	struct media *media = &scratch->media;
	struct frame *frame = &scratch->frame;

	if (media->is_padding)
		return;
	if (media->begins) {
		// Clears the state that an earlier stream in this place left.
		bpf_spin_lock(&layers->lock);
		layers->seen.highest = layers->seen.since = layers->seen.active_since = 0;
		layers->seen.active = 0;
		layers->seen.has_picture = layers->seen.top = layers->seen.top_before = 0;
		bpf_spin_unlock(&layers->lock);
	}
	if (media->descriptor_len >= MANDATORY_LEN) {
		media->layers = LAYERS_UNREADABLE;
		if (!read_descriptor(layers, scratch))
			return;
		media->layers = LAYERS_DESCRIPTOR;
		media->spatial = frame->kind.spatial;
		media->temporal = frame->kind.temporal;
		media->starts_key_frame = frame->starts && frame->has_structure && !frame->kind.refers && !media->spatial;
	} else if (media->layers == LAYERS_VP9) {
		bpf_spin_lock(&layers->lock);
		note_picture(&layers->seen, media, frame);
		bpf_spin_unlock(&layers->lock);
	}
}
