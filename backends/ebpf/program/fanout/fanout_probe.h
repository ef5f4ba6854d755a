// Probes: a copy is sent several times at once, each time with the next transport-wide number, so
// that its receiver's feedback shows the capacity of the path. Padding is not used, because it
// would need sequence numbers of its own. A receiver discards the duplicates (RFC 3550 appendix
// A.1).
#pragma once

#include "fanout_log.h"
#include "fanout_write.h"

#define PROBE_COPIES 64 // of one packet
#define PROBE_AHEAD_US 20000 // by so much a packet may take more with it than its time: that long the next one may be in coming
#define PROBE_PATIENCE 1000000000ULL // nanoseconds after which a probe ends, however little it has sent

static __always_inline int is_probed(const struct replica_entry *entry)
{
	__u32 leg = entry->leg;
	struct probe *probe = bpf_map_lookup_elem(&probes, &leg);

	return probe && (probe->packets | probe->bytes);
}

// Makes a replica's copy as it was numbered, and sends it.
__noinline int send_copy(struct __sk_buff *skb, __u32 place, struct scratch *scratch)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);

	return entry && scratch && send(skb, entry, scratch);
}

// Sends the copy that was sent last once more.
__noinline int send_again(struct __sk_buff *skb, __u32 place, struct scratch *scratch)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);

	if (!entry || !scratch)
		return 0;
	stamp(scratch, entry);
	if (!send_copy(skb, place, scratch))
		return 0;
	departs(scratch, entry, scratch->number.transport_number, FANOUT_PROBED);
	count(FAN_PROBED);
	return 1;
}

// The bytes of a probe that may have been sent by a time. One packet's copies cannot be spread out,
// but a probe can be spread over several packets.
static __always_inline __u64 may_have_left(const struct probe *probe, __u64 now)
{
	__u64 passed = now - probe->began;

	return probe->rate * (passed / 1000 + PROBE_AHEAD_US) / 1000;
}

// Counts sent packets and bytes of a probe. Returns whether more are to be sent.
static __always_inline int probe_left(struct probe *probe, __u32 packets, __u32 bytes)
{
	probe->sent += bytes;
	probe->packets -= packets < probe->packets ? packets : probe->packets;
	probe->bytes -= bytes < probe->bytes ? bytes : probe->bytes;
	return probe->packets | probe->bytes;
}

// Sends a copy as often again as its leg's probe still asks for, and its rate lets by now.
__noinline int send_probe(struct __sk_buff *skb, __u32 place, struct scratch *scratch)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);
	struct probe *probe;
	__u32 leg, len, times, sent;
	__u64 now, may;

	if (!entry || !scratch)
		return 0;
	leg = entry->leg;
	len = scratch->media.end - scratch->media.rtp_at;
	probe = bpf_map_lookup_elem(&probes, &leg);
	if (!probe || !(probe->packets | probe->bytes) || !len)
		return 0;
	now = scratch->media.at;
	if (!probe->began)
		probe->began = now;
	if (now - probe->began > PROBE_PATIENCE) {
		// The publisher sends nothing, so the probe would have no result.
		probe->packets = probe->bytes = 0;
		return 0;
	}
	if (!probe_left(probe, 1, len))
		return 1;
	may = may_have_left(probe, now);
	may = may > probe->sent ? (may - probe->sent + len - 1) / len : 0;
	times = (probe->bytes + len - 1) / len;
	if (times < probe->packets)
		times = probe->packets;
	if (times > may)
		times = may;
	if (times > PROBE_COPIES)
		times = PROBE_COPIES;
	probe_left(probe, times, times * len);
	for (sent = 0; sent < times && send_again(skb, place, scratch); sent++)
		;
	return 1;
}
