// The fast path for copies that differ only in addresses, numbers and stamps: those of packets
// without layers or picture ids that arrive in order.
//
// Most packets of many streams are of this kind. The values that all copies share are computed once
// for a packet. Their sum is the start value of each copy's checksum, so that nothing has to be
// subtracted from it again. A replica that needs more than a new number is left to the general
// steps (fanout_number.h, fanout_write.h), and its state is unchanged until then.
#pragma once

#include "fanout_write.h"

static __always_inline int is_plain(const struct media *media)
{
	return !(media->layers | media->descriptor_at | media->picture_len | media->tl0_at | media->oversized | media->is_padding |
		 media->unfinished | media->arrival.wanted);
}

// The term that takes a word out of a sum.
static __always_inline __u64 without(__u32 word)
{
	return (__u32)~word;
}

static __always_inline __u64 prepare_v4(struct iphdr *ip, struct media *media)
{
	const __u32 *words = (const __u32 *)ip;

	ip->tos = 0;
	ip->ttl = TTL;
	ip->check = 0;
	media->header_sum = fold((__u64)words[0] + words[1] + words[2]);
	return without(ip->saddr) + without(ip->daddr);
}

static __always_inline __u64 prepare_v6(struct ipv6hdr *ip)
{
	const __u32 *from = ip->saddr.in6_u.u6_addr32, *to = ip->daddr.in6_u.u6_addr32;
	__u64 sum = 0;

	for (int i = 0; i < 4; i++)
		sum += without(from[i]) + without(to[i]);
	*(__u32 *)ip = bpf_htonl(6 << 28); // no class, no flow
	ip->hop_limit = TTL;
	return sum;
}

// Finds the values that all copies share and writes them, if the packet is plain.
static __always_inline void prepare(void *data, void *end, struct scratch *scratch)
{
	struct media *media = &scratch->media;
	struct udphdr *udp;
	const __u32 *rtp;
	__u64 sum;

	scratch->left = 0;
	if (!is_plain(media))
		return;
	if (media->v4) {
		udp = data + ETH_HLEN + sizeof(struct iphdr);
		if ((void *)(udp + 1) + RTP_LEN > end)
			return;
		sum = prepare_v4(data + ETH_HLEN, media);
	} else {
		udp = data + ETH_HLEN + sizeof(struct ipv6hdr);
		if ((void *)(udp + 1) + RTP_LEN > end)
			return;
		sum = prepare_v6(data + ETH_HLEN);
	}
	rtp = (const __u32 *)(udp + 1);
	sum += without(*(const __u32 *)udp) + without(rtp[0]) + without(rtp[1]) + without(rtp[2]);
	media->sum = fold(sum + (__u16)~udp->check);
	media->has_checksum = !!udp->check;
	media->first = (bpf_ntohl(rtp[0]) & 0xff000000) | (__u32)media->marker << 23;
	media->stamped = !!(media->mid_words | media->timed | media->numbered);
	media->plain = 1;
}

// Whether a replica can take the fast path: it follows the stream already, nothing keeps the packet
// from being sent, and no newer packet arrived before it.
static __always_inline int goes_on(const struct replica_progress *replica, const struct replica_entry *entry, const struct media *media)
{
	__u32 type = entry->types[media->format & (FANOUT_FORMATS - 1)];

	return replica->epoch == entry->epoch && replica->source == media->stream && !entry->paused && entry->ready && type != NOT_NEGOTIATED &&
	       media->arrival.number > replica->newest;
}

static __always_inline void give_next(struct replica_progress *replica, const struct media *media, const struct frame *frame,
				      struct number *number)
{
	advance(replica, media->arrival.number);
	number->sequence = media->arrival.number + replica->shift;
	number->timestamp = media->timestamp + replica->timestamp_offset;
	number->picture = media->picture + replica->picture_offset - replica->held_back;
	number->tl0 = media->tl0 + replica->tl0_offset;
	remember(replica, media, frame, number);
}

// Numbers a replica's copy and finds its route, if it is known. False where the general steps are
// needed.
static __always_inline int number_plain(const struct replica_entry *entry, struct scratch *scratch, struct number *number)
{
	__u32 key = entry->state;
	struct replica_state *state = bpf_map_lookup_elem(&replica_states, &key);

	if (!state)
		return 0;
	bpf_spin_lock(&state->lock);
	if (!goes_on(&state->progress, entry, &scratch->media)) {
		bpf_spin_unlock(&state->lock);
		return 0;
	}
	give_next(&state->progress, &scratch->media, &scratch->frame, number);
	scratch->way = state->way;
	bpf_spin_unlock(&state->lock);
	return 1;
}

// Leaves a copy to the steps that decide whatever there is to decide, once the others are made.
static __always_inline void leave(struct scratch *scratch, __u32 place)
{
	__u32 left = scratch->left;

	if (left >= FANOUT_COPIES)
		return;
	scratch->places[left] = place;
	scratch->left = left + 1;
}

// Writes a copy's hardware addresses, destination and source, in the order of the frame.
static __always_inline void write_hosts(void *data, const void *hosts)
{
	__u32 *words = data;

	for (int i = 0; i < 3; i++)
		words[i] = ((const __u32 *)hosts)[i];
}

static __always_inline __u64 write_path_v4(struct iphdr *ip, const struct pair *path, const struct media *media)
{
	__u64 sum = (__u64)path->local[3] + path->remote[3];

	ip->saddr = path->local[3];
	ip->daddr = path->remote[3];
	ip->check = ~fold(media->header_sum + sum);
	return sum;
}

static __always_inline __u64 write_path_v6(struct ipv6hdr *ip, const struct pair *path)
{
	__u32 *from = ip->saddr.in6_u.u6_addr32, *to = ip->daddr.in6_u.u6_addr32;
	__u64 sum = 0;

	for (int i = 0; i < 4; i++) {
		sum += (__u64)path->local[i] + path->remote[i];
		from[i] = path->local[i];
		to[i] = path->remote[i];
	}
	return sum;
}

// Writes one copy. False where the headers are not all there.
static __always_inline int write_plain(void *data, void *end, const struct replica_entry *entry, const void *hosts,
				       const struct media *media, const struct number *number)
{
	__u32 type = entry->types[media->format & (FANOUT_FORMATS - 1)];
	__u32 first = bpf_htonl(media->first | type << 16 | number->sequence), timestamp = bpf_htonl(number->timestamp);
	__u32 ports = *(const __u32 *)&entry->path.local_port;
	struct udphdr *udp;
	__u32 *rtp;
	__u64 sum;
	__u16 check;

	if (media->v4) {
		udp = data + ETH_HLEN + sizeof(struct iphdr);
		if ((void *)(udp + 1) + RTP_LEN > end)
			return 0;
		sum = write_path_v4(data + ETH_HLEN, &entry->path, media);
	} else {
		udp = data + ETH_HLEN + sizeof(struct ipv6hdr);
		if ((void *)(udp + 1) + RTP_LEN > end)
			return 0;
		sum = write_path_v6(data + ETH_HLEN, &entry->path);
	}
	write_hosts(data, hosts);
	rtp = (__u32 *)(udp + 1);
	*(__u32 *)udp = ports;
	rtp[0] = first;
	rtp[1] = timestamp;
	rtp[2] = entry->ssrc;
	if (media->stamped)
		sum += write_stamps(data, end, entry, media, number->transport_number, 1);
	if (media->has_checksum) {
		check = ~fold(media->sum + sum + ports + first + timestamp + entry->ssrc);
		udp->check = check ? check : 0xffff;
	}
	return 1;
}
