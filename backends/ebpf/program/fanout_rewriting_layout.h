// What a rewriter keeps of a replica, and how it is asked by tests.
#pragma once
#include <linux/types.h>

#define HISTORY_FRAMES 3
#define REWRITERS 2 // S-LM, and behind it S-LR
#define QUESTIONS 80 // of one frame

// A frame before the newest.
struct past {
	__u16 frame;
	__u16 offset; // source's number less replica's
};

// The newest frame a replica got, what lies before it, and the cadence.
struct rewriter {
	__u16 number; // of its newest packet
	__u16 frame;
	__u16 offset;
	__u16 coming; // the cadence holds from this frame on,
	__u8 has_coming; // if this says so
	__u8 ended; // its last packet was seen
	__u8 period; // from one frame the replica gets to the next
	__u8 zero;
	struct past history[HISTORY_FRAMES]; // S-LR: from the newest to the oldest
};

// What is asked.
enum question_kind {
	ASK_NOTHING,
	ASK_START, // begin with this packet, under `sequence`
	ASK_CADENCE, // the replica gets another share of frames, from `frame` on
	ASK_NUMBER, // which number does this packet go out under
};

// One question, and room for the answer.
struct question {
	__u16 number; // a packet of the source
	__u16 frame;
	__u16 sequence; // the answer
	__u8 kind; // question_kind
	__u8 period;
	__u8 starts_frame;
	__u8 ends_frame;
	__u8 key_frame;
	__u8 sent; // the answer: whether it goes out
};
