// The state of a frame in layers, and the newest dependency structure of a stream.
//
// The sizes are limits: a dependency structure that exceeds one of them is treated as unreadable.
#pragma once

#include <linux/types.h>

#define TEMPLATES_MAX 32
#define TARGETS_MAX 16 // decode targets
#define CHAINS_MAX 8
#define LAYERS_MAX 8 // in either direction
#define NO_TARGET 255

// Decode targets are sets of bits, the lowest for target 0; so are chains.

// The part of a dependency structure that all its frames share.
struct shape {
	__u32 first; // the first template's id
	__u32 templates;
	__u32 targets;
	__u32 chains;
	__u16 up_to_spatial[LAYERS_MAX]; // decode targets of which no frame is of a higher layer
	__u16 up_to_temporal[LAYERS_MAX];
	__u16 protects[CHAINS_MAX]; // by chain: decode targets
	__u8 protected_by[TARGETS_MAX]; // the same the other way round
};

// One template of a dependency structure, which some of its frames share.
struct kind_of_frame {
	__u64 refers; // one bit for each frame it refers to, the lowest for the one before
	__u64 chain_diffs; // how far back the frame before lies, one byte a chain; 0 where none is needed
	__u32 indications; // what it is to each decode target, two bits each
	__u16 zero;
	__u8 spatial;
	__u8 temporal;
};

struct structure {
	struct shape shape;
	struct kind_of_frame templates[TEMPLATES_MAX];
};

// The frame of one packet.
struct frame {
	__u64 number; // extended
	__u64 since; // the frame that brought its structure
	struct shape shape;
	struct kind_of_frame kind;
	__u16 active; // the decode targets its sender makes
	__u8 in_chains; // those it is part of
	__u8 starts_chains; // those that start with it, or do not need it
	__u8 starts; // the packet is the first of it,
	__u8 ends; // or the last
	__u8 has_structure; // the packet brings one
	__u8 says_active; // or says what is active

	// VP9 without descriptor.
	__u8 inter_picture; // P
	__u8 inter_layer; // D
	__u8 switching_up; // U
	__u8 refers_above; // not Z
	__u8 top; // the highest spatial layer of this picture so far, and of the one before
	__u8 zero[3];
};

// The state of a stream that the reading of its frames needs.
struct layers_seen {
	__u64 highest; // number of the newest frame; 0 before the first
	__u64 since; // the frame that brought the structure; 0 for none
	__u64 active_since; // the frame that said
	__u32 active; // which decode targets are made
	__u32 picture; // VP9: the newest picture's timestamp,
	__u8 has_picture;
	__u8 top; // its highest spatial layer so far,
	__u8 top_before; // and that of the one before
	__u8 zero[5];
	struct structure structure;
};

enum part {
	PART_TEMPLATE,
	PART_INDICATIONS,
	PART_REFERENCES,
	PART_CHAINS,
	PART_PROTECTED,
	PART_CHAIN_DIFFS,
	PART_SIZES,
	PART_ACTIVE,
	PART_OWN_INDICATIONS,
	PART_OWN_REFERENCES,
	PART_OWN_CHAIN_DIFFS,
	PART_END,
};

enum descriptor_flag {
	HAS_CHAIN_DIFFS = 1,
	HAS_REFERENCES = 2,
	HAS_INDICATIONS = 4,
	HAS_ACTIVE = 8,
	HAS_STRUCTURE = 16,
};

// One pass over a descriptor, field by field.
struct reading {
	__u32 at; // the next bit of the header extensions,
	__u32 end; // and the one behind the descriptor
	__u32 failed;
	__u32 part;
	__u32 flags; // descriptor_flag
	__u32 id; // of the template
	__u32 index; // of a template, a decode target or a chain
	__u32 count; // of references
	__u32 spatial;
	__u32 temporal;
	__u32 active;
	__u32 active_at; // where they are, or would be
};

#define FRAMES 64 // that a replica remembers, by their numbers
#define PICTURES 16 // and pictures of VP9

// The decision about one frame with a dependency descriptor, and the selection after it.
struct frame_choice {
	__u16 since; // the structure of the decode target
	__u16 active; // the decode targets the receiver can have
	__u16 held_back; // pictures before it that were not sent
	__u8 refused; // a count, or FAN_NOTHING
	__u8 flags; // choice_flag
	__u8 target; // the decode target
	__u8 broken; // chains of which a frame was held back, and which did not start again
	__u8 spatial;
	__u8 temporal;
};

enum choice_flag {
	CHOICE_TOP = 1, // the highest of its picture that is sent
	CHOICE_FEWER = 2, // the receiver has fewer decode targets than the sender makes
	CHOICE_TOLD = 4, // which it is told with this frame
	CHOICE_COUNTS = 8, // a picture that was held back
};

// The decision about one VP9 picture, and the selection after each of its frames: four bits a
// spatial layer.
struct picture_choice {
	__u32 timestamp;
	__u32 spatial;
	__u32 temporal;
	__u8 decided; // one bit a spatial layer
	__u8 sent;
	__u8 top;
	__u8 zero;
};

// The layers that a replica has been given. Reset where a segment begins.
struct layers_given {
	__u64 newest; // number of the newest frame
	__u64 known; // one bit for each of the newest FRAMES, the lowest for the newest: it was decided,
	__u64 held; // and held back
	__u64 since; // the structure of the decode target
	__u32 picture; // timestamp of the newest frame
	__u32 ended; // of the newest picture that ended, for the receiver
	__u8 has_picture;
	__u8 has_ended;
	__u8 target; // decode target, or NO_TARGET
	__u8 broken; // as above
	__u8 wanted_spatial; // when the picture began
	__u8 wanted_temporal;
	__u8 tells; // whether the receiver was told of fewer decode targets than the sender makes,
	__u8 complete; // VP9: spatial layers of which everything was sent since a frame that needs no other picture
	__u16 told; // and which
	__u16 pictures_count;
	__u32 zero;
	struct frame_choice choices[FRAMES]; // by the frame's number
	struct picture_choice pictures[PICTURES]; // from the newest to the oldest
};
