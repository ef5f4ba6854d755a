// Packets that are sent again because a receiver asked for them, and the receivers that get them.
//
// No packets are stored here, so the publisher repairs each loss. Userspace translates the
// receiver's sequence number into the source's and records here who asked (src/fanout/repair.rs). A
// packet that arrives a second time is sent only to the receivers that asked for it, once for each
// request, under the number it had. A packet that arrives for the first time is sent to everybody,
// as any late packet, and need not be asked for again.
//
// Source: Scallop section 5.3.
#pragma once

#include "fanout_number.h"

// Whether anybody has asked for packets of the stream lately, so that there is something to look
// for.
static __always_inline int is_wanted(const struct media *media)
{
	__u32 state = media->stream - 1;
	__u64 *until = bpf_map_lookup_elem(&wanted, &state);

	return until && *until >= media->at;
}

// Decides what is done with a packet by its number: a count, or FAN_NOTHING where it is forwarded.
static __always_inline __u32 admit(struct media *media)
{
	if (media->arrival.refused == FAN_NOTHING) {
		media->arrival.wanted = !media->arrival.is_newest && is_wanted(media);
	} else if (media->arrival.refused == FAN_DUPLICATE && media->known && is_wanted(media)) {
		media->arrival.wanted = media->arrival.again = 1;
		return FAN_NOTHING;
	}
	return media->arrival.refused;
}

// Whether the replica's receiver has asked for a packet. That is answered then.
static __always_inline int was_asked(const struct replica_entry *entry, const struct media *media)
{
	struct ask ask = { .number = media->arrival.number, .source = media->stream, .replica = entry->state };
	__u64 *until = bpf_map_lookup_elem(&asks, &ask);
	int in_time;

	if (!until)
		return 0;
	in_time = *until >= media->at;
	return !bpf_map_delete_elem(&asks, &ask) && in_time;
}
