// The window of arrived sequence numbers of a stream: each number is accepted once. All of it runs
// under the stream's lock.
#pragma once

#include "fanout_layout.h"

#define WINDOW (WINDOW_WORDS * 64)

// The result for a number that arrives.
struct arrival {
	__u64 number; // extended
	__u32 refused; // a count, or FAN_NOTHING
	__u32 is_newest; // of its stream
	__u32 wanted; // whether somebody may have asked for it
	__u32 again; // it was there before, and goes to who asked only
};

// The extended number nearest to the newest so far. The first packet is placed in cycle one, so
// that none before it is negative.
static __always_inline __u64 extended(const struct stream_progress *stream, __u16 sequence)
{
	if (!stream->highest)
		return (1 << 16) + sequence;
	return stream->highest + (__s16)(sequence - (__u16)stream->highest);
}

// The bits of the word of number `base` for the numbers from `from` to `to`, both included.
static __always_inline __u64 bits_between(__u64 base, __u64 from, __u64 to)
{
	__u64 bits = ~0ULL;

	if (from > base)
		bits &= ~0ULL << (from - base);
	if (to < base + 63)
		bits &= ~0ULL >> (base + 63 - to);
	return bits;
}

// Makes room for numbers between two, both included: their bits spoke of numbers a window ago.
static __always_inline void forget(struct stream_progress *stream, __u64 from, __u64 to)
{
	__u64 base;

	if (to - from >= WINDOW)
		from = to - (WINDOW - 1);
	base = from & ~63ULL;
	for (int i = 0; i <= WINDOW_WORDS && base <= to; i++, base += 64)
		stream->seen[(base >> 6) & (WINDOW_WORDS - 1)] &= ~bits_between(base, from, to);
}

// Records a number. A packet of an unknown payload type takes its number, but is not counted
// otherwise.
static __always_inline void arrive(struct stream_progress *stream, __u16 sequence, int known, __u32 octets, struct arrival *arrival)
{
	__u64 number = extended(stream, sequence);
	__u32 word = (number >> 6) & (WINDOW_WORDS - 1);
	__u64 bit = 1ULL << (number & 63);

	arrival->number = number;
	arrival->is_newest = 0;
	arrival->wanted = arrival->again = 0;
	arrival->refused = FAN_NOTHING;
	if (number + WINDOW <= stream->highest) {
		arrival->refused = FAN_TOO_LATE;
		return;
	}
	if (number > stream->highest) {
		// The next one's own bit is set below, whatever it was.
		if (number != stream->highest + 1)
			forget(stream, stream->highest ? stream->highest + 1 : number, number);
		stream->highest = number;
	} else if (stream->seen[word] & bit) {
		arrival->refused = FAN_DUPLICATE;
		return;
	}
	stream->seen[word] |= bit;
	if (!known) {
		arrival->refused = FAN_UNKNOWN_FORMAT;
		return;
	}
	if (!stream->packets)
		stream->first = number;
	stream->packets += 1;
	stream->octets += octets;
	arrival->is_newest = number > stream->newest;
	if (arrival->is_newest)
		stream->newest = number;
}
