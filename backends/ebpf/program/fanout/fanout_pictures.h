// Which frames of VP9 a replica gets, by payload descriptors: spatial and temporal layers. All of
// it under the replica's lock.
//
// Pictures: down at the next one; up behind a picture with U, of a layer the replica gets, and at a
// key picture. Sizes: down at the next picture if the lower layer was sent so far or the picture is
// a key picture; up by one layer at a layer frame that is not predicted from other pictures.
//
// Source: RFC 9628 section 4.2; eXpressSFU, algorithms 1 and 2; crates/dataplane, model/select.
#pragma once

#include "fanout_rtp.h"

#define LAYER_BITS 4

static __always_inline __u32 layer_in(__u32 layers, __u32 spatial)
{
	return layers >> (LAYER_BITS * spatial) & 15;
}

static __always_inline __u32 with_layer(__u32 layers, __u32 spatial, __u32 value)
{
	__u32 shift = LAYER_BITS * spatial;

	return (layers & ~(15U << shift)) | (value & 15) << shift;
}

// The place of a picture among those that are remembered, from the newest on. `known` is set if the
// picture is one of them.
static __always_inline __u32 place_of(const struct layers_given *layers, __u32 timestamp, __u32 *known)
{
	__u32 place = 0;

	*known = 0;
	for (__u32 at = 0; at < PICTURES; at++) {
		__s32 ahead = timestamp - layers->pictures[at].timestamp;

		if (at >= layers->pictures_count || ahead > 0)
			break;
		place = at;
		if (!ahead) {
			*known = 1;
			break;
		}
		place = at + 1;
	}
	return place;
}

static __always_inline struct picture_choice *new_picture(struct layers_given *layers, __u32 place, __u32 timestamp)
{
	struct picture_choice *new = &layers->pictures[place & (PICTURES - 1)];

	for (__u32 at = PICTURES - 1; at > 0; at--) {
		if (at > place)
			layers->pictures[at] = layers->pictures[at - 1];
	}
	if (layers->pictures_count < PICTURES)
		layers->pictures_count += 1;
	new->timestamp = timestamp;
	new->spatial = new->temporal = 0;
	new->decided = new->sent = new->top = 0;
	return new;
}

static __always_inline void switch_picture(struct replica_progress *replica, struct layers_given *layers, const struct media *media,
					   const struct frame *frame, int is_new, const struct picture_choice *picture)
{
	__u32 wanted_spatial = layers->wanted_spatial, wanted_temporal = layers->wanted_temporal, below;

	if (is_new) {
		int is_key = !frame->inter_picture && !media->spatial;
		__u32 goal = wanted_spatial < frame->top ? wanted_spatial : frame->top;

		if (replica->temporal > wanted_temporal || is_key)
			replica->temporal = wanted_temporal;
		if (goal < replica->spatial && (is_key || layers->complete >> goal & 1))
			replica->spatial = goal;
		replica->awaits = goal != replica->spatial && !is_key;
	}
	// Later pictures of higher layers refer to no picture of higher layers from before this one.
	if (frame->switching_up && media->temporal <= replica->temporal && wanted_temporal > replica->temporal)
		replica->temporal = wanted_temporal;
	below = !frame->inter_layer || (media->spatial && picture->sent >> (media->spatial - 1) & 1);
	if (media->spatial == replica->spatial + 1 && media->spatial <= wanted_spatial && !frame->inter_picture && below &&
	    (!layers->has_ended || layers->ended != media->timestamp))
		replica->spatial = media->spatial;
}

static __always_inline __u32 judge_picture(const struct media *media, const struct frame *frame, __u32 spatial, __u32 temporal)
{
	int is_above = media->spatial > spatial || media->temporal > temporal;

	return is_above || (!frame->refers_above && media->spatial < spatial) ? FAN_OUTSIDE_TARGET : FAN_NOTHING;
}

// The selection after the frame that precedes a late one: of the same picture, of an earlier
// picture, or of the oldest that is remembered.
static __always_inline __u32 layers_behind(const struct layers_given *layers, const struct picture_choice *picture, __u32 place, __u32 spatial)
{
	const struct picture_choice *before = picture;
	__u32 below = picture->decided & ((1 << spatial) - 1), at;

	if (!below && place + 1 < layers->pictures_count) {
		before = &layers->pictures[(place + 1) & (PICTURES - 1)];
		below = before->decided;
	}
	if (!below) {
		// Taken for a neighbour of the next.
		before = picture;
		if (!before->decided)
			before = &layers->pictures[(place - 1) & (PICTURES - 1)];
		at = ones((before->decided & -before->decided) - 1);
	} else {
		below |= below >> 1;
		below |= below >> 2;
		below |= below >> 4;
		at = ones(below) - 1;
	}
	at &= 7;
	return layer_in(before->spatial, at) << 8 | layer_in(before->temporal, at);
}

// A count, or FAN_NOTHING where a packet's frame is sent.
static __always_inline __u32 select_picture(struct replica_progress *replica, struct layers_given *layers, const struct replica_entry *entry,
					    const struct media *media, const struct frame *frame, struct number *number)
{
	__u32 known, place = place_of(layers, media->timestamp, &known), spatial = media->spatial & 7, refused, has;
	struct picture_choice *picture;
	int is_newest;

	if (place >= PICTURES)
		return FAN_TOO_LATE;
	if (known)
		picture = &layers->pictures[place & (PICTURES - 1)];
	else
		picture = new_picture(layers, place, media->timestamp);
	if (picture->decided >> spatial & 1) {
		number->is_top = picture->top >> spatial & 1;
		return picture->sent >> spatial & 1 ? FAN_NOTHING : FAN_OUTSIDE_TARGET;
	}
	is_newest = !place && !(picture->decided >> spatial);
	if (is_newest) {
		if (!layers->has_picture || layers->picture != media->timestamp) {
			layers->has_picture = 1;
			layers->picture = media->timestamp;
			layers->wanted_spatial = entry->spatial;
			layers->wanted_temporal = entry->temporal;
		}
		switch_picture(replica, layers, media, frame, !known, picture);
		has = (__u32)replica->spatial << 8 | replica->temporal;
	} else {
		has = layers_behind(layers, picture, place, spatial);
	}
	refused = judge_picture(media, frame, has >> 8, has & 255);
	number->is_top = spatial == has >> 8 && (frame->inter_picture || !frame->refers_above || spatial >= layers->wanted_spatial);
	picture->decided |= 1 << spatial;
	picture->spatial = with_layer(picture->spatial, spatial, has >> 8);
	picture->temporal = with_layer(picture->temporal, spatial, has);
	picture->top |= (number->is_top & 1) << spatial;
	if (refused == FAN_NOTHING) {
		picture->sent |= 1 << spatial;
		if (is_newest && number->is_top) {
			layers->has_ended = 1;
			layers->ended = media->timestamp;
		}
		if (is_newest && !frame->inter_picture)
			layers->complete |= 1 << spatial;
	} else if (media->temporal <= replica->temporal) {
		layers->complete &= ~(1 << spatial);
	}
	return refused;
}
