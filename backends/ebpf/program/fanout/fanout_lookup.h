// Finds the stream of a packet.
//
// Two tables are needed: the leg by the packet's addresses, and the stream's places by leg and
// SSRC. A processor caches the result by the packet's header fields until one of the tables
// changes, so that most packets need no look-up.
#pragma once

#include "fanout_maps.h"
#include "fanout_rtp.h"

#define LINES 1024 // a power of two

// One processor's cached look-up of a stream.
struct line {
	__u64 addresses[4]; // from whom and to whom its packets are, as it stands in them: of IPv4 the first
	__u32 ports; // likewise
	__u32 ssrc;
	__u16 protocol; // of their frames; 0 in an empty line
	__u16 zero;
	__u32 change; // as of which change of the tables
	struct stream_place place;
};

// Several streams may share a line, which then is each one's in turn.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LINES);
	__type(key, __u32);
	__type(value, struct line);
} lines SEC(".maps");

static __always_inline struct line *line_of(const struct datagram *found)
{
	__u32 mixed = ((__u32 *)found->payload)[2] ^ ports_of(found);
	// As Fibonacci hashing does: the high bits of the product depend on all of the mixture.
	__u32 place = mixed * 0x9e3779b1 >> 16 & (LINES - 1);

	return bpf_map_lookup_elem(&lines, &place);
}

static __always_inline __u16 protocol(const struct datagram *found)
{
	return found->v4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
}

// Both addresses end where UDP begins. So the verifier, which does not follow that a packet is of
// one family, sees that they are there.
#define V4_ADDRESSES(found) ((const __u64 *)(found)->udp - 1)
#define V6_ADDRESSES(found) ((const __u64 *)(found)->udp - 4)

// Whether a line is of the stream that a packet is of.
static __always_inline int is_of(const struct line *line, const struct datagram *found)
{
	const __u64 *words = V6_ADDRESSES(found);

	if (line->protocol != protocol(found) || line->ports != ports_of(found) || line->ssrc != ((__u32 *)found->payload)[2])
		return 0;
	if (found->v4)
		return line->addresses[0] == *V4_ADDRESSES(found);
	return line->addresses[0] == words[0] && line->addresses[1] == words[1] && line->addresses[2] == words[2] && line->addresses[3] == words[3];
}

static __always_inline void keep(struct line *line, const struct datagram *found, const struct stream_place *place, __u32 change)
{
	line->protocol = protocol(found);
	line->ports = ports_of(found);
	line->ssrc = ((__u32 *)found->payload)[2];
	if (found->v4)
		line->addresses[0] = *V4_ADDRESSES(found);
	else
		__builtin_memcpy(line->addresses, V6_ADDRESSES(found), sizeof(line->addresses));
	line->change = change;
	line->place = *place;
}

// Asks the tables. Null where it is of none.
static __always_inline struct stream_place *look_up_stream(const struct datagram *found)
{
	struct pair pair = {};
	struct stream_key key;
	__u32 *leg;

	if (found->v4) {
		pair.local[2] = pair.remote[2] = bpf_htonl(0xffff);
		pair.local[3] = found->v4->daddr;
		pair.remote[3] = found->v4->saddr;
	} else if (found->v6) {
		__builtin_memcpy(pair.local, &found->v6->daddr, sizeof(pair.local));
		__builtin_memcpy(pair.remote, &found->v6->saddr, sizeof(pair.remote));
	}
	pair.local_port = found->udp->dest;
	pair.remote_port = found->udp->source;
	leg = bpf_map_lookup_elem(&legs, &pair);
	if (!leg)
		return 0;
	key.leg = *leg;
	key.ssrc = ((__u32 *)found->payload)[2];
	return bpf_map_lookup_elem(&streams, &key);
}

// Finds the place of a packet's stream. Null where the packet is of no stream, or not RTP.
static __always_inline struct stream_place *find_stream(const struct datagram *found, void *end)
{
	__u32 only = 0, *change, as_of;
	struct stream_place *place;
	struct line *line;

	if (found->len < RTP_LEN || (void *)found->payload + RTP_LEN > end || !is_rtp(found->payload))
		return 0;
	line = line_of(found);
	change = bpf_map_lookup_elem(&changes, &only);
	if (!line || !change)
		return 0;
	// Read before the tables, so that nothing is kept as newer than it is.
	as_of = *change;
	if (line->change == as_of && is_of(line, found))
		return &line->place;
	place = look_up_stream(found);
	if (place)
		keep(line, found, place, as_of);
	return place;
}

// The sum of the pseudo header. The checksum field holds only this sum when the sender leaves the
// rest to hardware.
static __always_inline __u32 sum_between(const struct datagram *found)
{
	const __u32 *behind = (const __u32 *)found->udp;
	__u64 sum = (__u64)found->udp->len + bpf_htons(IPPROTO_UDP) + behind[-1] + behind[-2];

	for (int i = 3; !found->v4 && i <= 8; i++)
		sum += behind[-i];
	return fold(sum);
}

// Fills in the properties of a packet that are known before its payload is read.
static __always_inline void found_at(struct media *media, const struct datagram *found, const struct stream_place *place)
{
	__builtin_memset(media, 0, sizeof(*media));
	media->stream = place->state + 1;
	media->start = found->payload[0];
	media->marker = found->payload[1] >> 7;
	media->payload_type = found->payload[1] & 0x7f;
	media->sequence = bpf_ntohs(((__u16 *)found->payload)[1]);
	media->timestamp = bpf_ntohl(((__u32 *)found->payload)[1]);
	media->v4 = !!found->v4;
	media->rtp_at = ETH_HLEN + sizeof(struct udphdr) + (media->v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	media->arrived_size = found->len;
	media->end = media->rtp_at + found->len;
	media->unfinished = found->udp->check && found->udp->check == sum_between(found);
}
