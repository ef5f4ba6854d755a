// The selection of frames for a replica, and of VP8 frames in particular, where packets carry their
// temporal layer. All of it runs under the replica's lock.
//
// The first packet of a frame that arrives decides about the frame. The picture rate falls with the
// next frame. It rises by one layer at a frame of that layer with Y, and to the wanted one at a key
// frame. The decision about a frame older than the newest sixteen is no longer known: such a frame
// is too late.
//
// Source: RFC 7741 section 4.2; crates/dataplane, model/select.
#pragma once

#include "fanout_layers.h"
#include "fanout_pictures.h"

// Updates the selected layer after a newest frame.
static __always_inline void switch_layer(struct replica_progress *replica, __u8 wanted, const struct media *media)
{
	if (replica->temporal > wanted || media->starts_key_frame)
		replica->temporal = wanted;
	if (media->sync && media->temporal == replica->temporal + 1 && media->temporal <= wanted)
		replica->temporal = media->temporal;
}

static __always_inline void record(struct replica_progress *replica, __u32 place, struct decision new)
{
	for (__u32 at = FANOUT_FRAMES - 1; at > 0; at--) {
		if (at > place)
			replica->decisions[at] = replica->decisions[at - 1];
	}
	replica->decisions[place & (FANOUT_FRAMES - 1)] = new;
	if (replica->decided < FANOUT_FRAMES)
		replica->decided += 1;
}

// A count, or FAN_NOTHING where its frame is sent; and how many pictures were held back before it.
static __always_inline __u32 select_frame(struct replica_progress *replica, __u8 wanted, const struct media *media, __u16 *held_back)
{
	struct decision new = { .timestamp = media->timestamp };
	__u32 place = 0, known = 0;

	for (__u32 at = 0; at < FANOUT_FRAMES; at++) {
		__s32 ahead = media->timestamp - replica->decisions[at].timestamp;

		if (at >= replica->decided || ahead > 0)
			break;
		if (!ahead) {
			*held_back = replica->decisions[at].held_back;
			known = 1 + replica->decisions[at].sent;
			break;
		}
		place = at + 1;
	}
	if (known)
		return known == 2 ? FAN_NOTHING : FAN_OUTSIDE_TARGET;
	if (!place) {
		switch_layer(replica, wanted, media);
		new.temporal = replica->temporal;
		new.sent = media->temporal <= new.temporal;
		new.held_back = replica->held_back;
		replica->held_back += !new.sent;
		new.behind = replica->held_back;
	} else {
		struct decision *before = &replica->decisions[place & (FANOUT_FRAMES - 1)];

		if (place >= FANOUT_FRAMES)
			return FAN_TOO_LATE;
		new.held_back = before->behind;
		if (place >= replica->decided) {
			// Older than all: taken for a neighbour of the oldest.
			before = &replica->decisions[(place - 1) & (FANOUT_FRAMES - 1)];
			new.held_back = before->held_back;
		}
		new.temporal = before->temporal;
		new.sent = media->temporal <= new.temporal;
		new.behind = new.held_back;
	}
	*held_back = new.held_back;
	record(replica, place, new);
	return new.sent ? FAN_NOTHING : FAN_OUTSIDE_TARGET;
}

// The selection of a replica in the stream it follows, in one word: the layer, and whether only a
// key frame can raise it.
static __always_inline __u32 selected(const struct replica_progress *replica)
{
	__u32 awaits = (__u32)replica->awaits << 16;

	return replica->layers == LAYERS_NONE ? awaits : awaits | replica->spatial << 8 | replica->temporal;
}

// A count, or FAN_NOTHING where a packet is sent as far as layers go.
static __always_inline __u32 select_packet(struct replica_progress *replica, struct layers_given *layers, const struct replica_entry *entry,
					   const struct media *media, const struct frame *frame, struct number *number)
{
	__u32 kind = media->layers;

	if (kind == LAYERS_NONE || kind == LAYERS_UNREADABLE)
		return FAN_NOTHING;
	if (kind != replica->layers) {
		// Frames that are named in another way cannot be compared with those before.
		replica->layers = kind;
		replica->decided = 0;
		layers->known = layers->pictures_count = 0;
	}
	if (kind == LAYERS_VP8)
		return select_frame(replica, entry->temporal, media, &number->held_back);
	if (kind == LAYERS_VP9)
		return select_picture(replica, layers, entry, media, frame, number);
	return select_described(replica, layers, entry, media, frame, number);
}
