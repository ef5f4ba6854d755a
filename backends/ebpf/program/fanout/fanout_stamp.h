// The elements that differ from copy to copy, because of the receiver or the time it is sent: mid,
// sending time, transport-wide number.
//
// The room for them follows the forwarded elements (fanout_extensions.h) and is the same for all
// receivers of a stream. The part that a receiver does not use is padding.
#pragma once

#include "fanout_rtp.h"

// The next transport-wide number of a replica's leg. All streams to a leg count together.
static __always_inline __u16 next_number(const struct replica_entry *entry)
{
	__u32 leg = entry->leg;
	__u32 *count = bpf_map_lookup_elem(&transport_numbers, &leg);

	return count ? __sync_fetch_and_add(count, 1) : 0;
}

// Seconds in 6.18 bits. Only differences have a meaning, so any clock will do.
static __always_inline __u32 send_time(__u64 at)
{
	return (at / 1000000000 & 63) << 18 | ((at % 1000000000) << 18) / 1000000000;
}

// Writes a word. Returns the change of a checksum that includes the old word or, if `anew`, does
// not.
static __always_inline __u64 put_word(void *data, void *end, __u32 at, __u32 value, int anew)
{
	__u32 *word = data + (at & 0x7ff);
	__u64 change;

	if ((void *)(word + 1) > end)
		return 0;
	change = anew ? value : swapped(*word, value);
	*word = value;
	return change;
}

static __always_inline __u64 put_time(void *data, void *end, __u32 at, const struct replica_entry *entry, const struct media *media, int anew)
{
	__u32 id = entry->time_id, time = media->send_time;

	if (!media->two_byte)
		return put_word(data, end, at, id ? bpf_htonl(id << 28 | 2 << 24 | time) : 0, anew);
	return put_word(data, end, at, id ? bpf_htonl(id << 24 | 3 << 16 | time >> 8) : 0, anew) +
	       put_word(data, end, at + 4, id ? bpf_htonl(time << 24) : 0, anew);
}

static __always_inline __u32 number_element(const struct replica_entry *entry, const struct media *media, __u16 value)
{
	__u32 id = entry->number_id;

	if (!id)
		return 0;
	return bpf_htonl(media->two_byte ? id << 24 | 2 << 16 | value : id << 28 | 1 << 24 | value << 8);
}

// Writes all stamps. Returns the change of the checksum, as above.
static __always_inline __u64 write_stamps(void *data, void *end, const struct replica_entry *entry, const struct media *media,
					  __u16 transport_number, int anew)
{
	__u32 at = media->stamps_at;
	__u64 change = 0;

	for (__u32 i = 0; i < FANOUT_MID_WORDS; i++) {
		if (i >= media->mid_words)
			break;
		change += put_word(data, end, at, entry->mids[media->two_byte & 1].words[i], anew);
		at += 4;
	}
	if (media->timed) {
		change += put_time(data, end, at, entry, media, anew);
		at += media->two_byte ? 8 : 4;
	}
	if (media->numbered)
		change += put_word(data, end, at, number_element(entry, media, transport_number), anew);
	return change;
}

// Gives a copy its transport-wide number.
static __always_inline void stamp(struct scratch *scratch, const struct replica_entry *entry)
{
	if (entry->number_id)
		scratch->number.transport_number = next_number(entry);
}
