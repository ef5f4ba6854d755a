// Reads dependency structures field by field. The structure in the first packet of a key frame
// describes all frames until the next one.
//
// Source: AV1 RTP specification, appendix A.8.2, `template_dependency_structure`.
#pragma once

#include "fanout_rtp.h"

#define REFERENCES_MAX 16 // of one frame

// The next bits, at most 32.
static __always_inline __u32 take_bits(struct scratch *scratch, __u32 count)
{
	struct reading *reading = &scratch->reading;
	const __u8 *bytes = scratch->before;
	__u32 at = reading->at, byte = at >> 3;
	__u64 wide = 0;

	if (at + count > reading->end) {
		reading->failed = 1;
		return 0;
	}
	for (int i = 0; i < 5; i++)
		wide = wide << 8 | bytes[(byte + i) & (EXTENSIONS_LEN - 1)];
	reading->at = at + count;
	return wide >> ((40 - (at & 7) - count) & 63) & ((1ULL << (count & 63)) - 1);
}

// A number below `end`: ns(n).
static __always_inline __u32 take_below(struct scratch *scratch, __u32 end)
{
	__u32 smeared = end, width, shorter, value;

	smeared |= smeared >> 1;
	smeared |= smeared >> 2;
	smeared |= smeared >> 4;
	width = ones(smeared & 31);
	if (!width)
		return 0;
	shorter = (1 << width) - end;
	value = take_bits(scratch, width - 1);
	return value < shorter ? value : (value << 1) - shorter + take_bits(scratch, 1);
}

// Two bits for each decode target, the lowest for the first.
static __always_inline __u32 take_indications(struct scratch *scratch, __u32 targets)
{
	__u32 bits = take_bits(scratch, 2 * targets);

	bits = (bits >> 2 & 0x33333333) | (bits & 0x33333333) << 2;
	bits = (bits >> 4 & 0x0f0f0f0f) | (bits & 0x0f0f0f0f) << 4;
	return (__u64)__builtin_bswap32(bits) >> ((32 - 2 * targets) & 63);
}

// One bit for each decode target of which a frame with these indications is more than discardable,
// or at least that.
static __always_inline __u16 present(__u32 indications)
{
	__u32 bits = (indications | indications >> 1) & 0x55555555;

	bits = (bits | bits >> 1) & 0x33333333;
	bits = (bits | bits >> 2) & 0x0f0f0f0f;
	bits = (bits | bits >> 4) & 0x00ff00ff;
	return bits | bits >> 8;
}

static __always_inline __u16 needed(__u32 indications)
{
	return present(indications & 0xaaaaaaaa);
}

static __always_inline void next_part(struct reading *reading, __u32 part)
{
	reading->part = part;
	reading->index = reading->count = 0;
}

static __always_inline void read_template(struct scratch *scratch)
{
	struct structure *structure = &scratch->structure;
	struct reading *reading = &scratch->reading;
	struct kind_of_frame *kind = &structure->templates[reading->index & (TEMPLATES_MAX - 1)];

	kind->refers = kind->chain_diffs = 0;
	kind->zero = 0;
	kind->spatial = reading->spatial;
	kind->temporal = reading->temporal;
	reading->index += 1;
	switch (take_bits(scratch, 2)) {
	case 1:
		reading->temporal += 1;
		break;
	case 2:
		reading->spatial += 1;
		reading->temporal = 0;
		break;
	case 3:
		structure->shape.templates = reading->index;
		next_part(reading, PART_INDICATIONS);
		return;
	}
	if (reading->index >= TEMPLATES_MAX || reading->spatial >= LAYERS_MAX || reading->temporal >= LAYERS_MAX)
		reading->failed = 1;
}

// Until the last template is read, `up_to_spatial` and `up_to_temporal` hold the targets of exactly
// that layer.
static __always_inline void read_indications(struct scratch *scratch)
{
	struct structure *structure = &scratch->structure;
	struct reading *reading = &scratch->reading;
	struct kind_of_frame *kind = &structure->templates[reading->index & (TEMPLATES_MAX - 1)];
	struct shape *shape = &structure->shape;

	kind->indications = take_indications(scratch, shape->targets);
	shape->up_to_spatial[kind->spatial & (LAYERS_MAX - 1)] |= present(kind->indications);
	shape->up_to_temporal[kind->temporal & (LAYERS_MAX - 1)] |= present(kind->indications);
	reading->index += 1;
	if (reading->index >= shape->templates)
		next_part(reading, PART_REFERENCES);
}

static __always_inline void read_references(struct scratch *scratch)
{
	struct structure *structure = &scratch->structure;
	struct reading *reading = &scratch->reading;
	struct kind_of_frame *kind = &structure->templates[reading->index & (TEMPLATES_MAX - 1)];

	if (take_bits(scratch, 1)) {
		kind->refers |= 1ULL << take_bits(scratch, 4);
		reading->count += 1;
		reading->failed |= reading->count > REFERENCES_MAX;
		return;
	}
	reading->count = 0;
	reading->index += 1;
	if (reading->index >= structure->shape.templates)
		next_part(reading, PART_CHAINS);
}

static __always_inline void read_protected(struct scratch *scratch)
{
	struct shape *shape = &scratch->structure.shape;
	struct reading *reading = &scratch->reading;
	__u32 chain = take_below(scratch, shape->chains);

	shape->protected_by[reading->index & (TARGETS_MAX - 1)] = chain;
	shape->protects[chain & (CHAINS_MAX - 1)] |= 1 << (reading->index & (TARGETS_MAX - 1));
	reading->index += 1;
	if (reading->index >= shape->targets)
		next_part(reading, PART_CHAIN_DIFFS);
}

static __always_inline void read_chain_diffs(struct scratch *scratch)
{
	struct structure *structure = &scratch->structure;
	struct reading *reading = &scratch->reading;
	struct kind_of_frame *kind = &structure->templates[reading->index & (TEMPLATES_MAX - 1)];
	__u32 width = 4 * structure->shape.chains;
	__u32 nibbles = (__u64)take_bits(scratch, width) << ((32 - width) & 63);

	for (int chain = 0; chain < CHAINS_MAX; chain++)
		kind->chain_diffs |= (__u64)(nibbles >> (28 - 4 * chain) & 15) << (8 * chain);
	reading->index += 1;
	if (reading->index >= structure->shape.templates)
		next_part(reading, PART_SIZES);
}

// Skips the sizes in pixels, by spatial layer, which are not needed here, and derives the remaining
// fields.
static __always_inline void read_sizes(struct scratch *scratch)
{
	struct shape *shape = &scratch->structure.shape;
	struct reading *reading = &scratch->reading;
	__u32 all = (1 << (shape->targets & 31)) - 1, above_spatial = 0, above_temporal = 0;

	if (take_bits(scratch, 1)) {
		reading->at += 32 * (reading->spatial + 1);
		reading->failed |= reading->at > reading->end;
	}
	for (int layer = LAYERS_MAX - 1; layer >= 0; layer--) {
		__u32 spatial = shape->up_to_spatial[layer], temporal = shape->up_to_temporal[layer];

		shape->up_to_spatial[layer] = all & ~above_spatial;
		shape->up_to_temporal[layer] = all & ~above_temporal;
		above_spatial |= spatial;
		above_temporal |= temporal;
	}
	reading->failed |= ((reading->id - shape->first) & 63) >= shape->templates;
	next_part(reading, PART_ACTIVE);
}
