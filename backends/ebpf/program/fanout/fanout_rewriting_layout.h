// The questions to a rewriter. Its state for a replica is in fanout_layout.h.
#pragma once
#include <linux/types.h>

#define REWRITERS 2 // S-LM, and behind it S-LR
#define QUESTIONS 80 // of one frame

// The kind of a question.
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
