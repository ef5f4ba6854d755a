// Makes a packet a replica's, in place: each copy is written over the one before.
#pragma once

#include "fanout_number.h"
#include "fanout_stamp.h"

static __always_inline __u64 write_v4(struct iphdr *ip, const struct pair *path)
{
	__u64 change = swapped(ip->saddr, path->local[3]) + swapped(ip->daddr, path->remote[3]);

	ip->saddr = path->local[3];
	ip->daddr = path->remote[3];
	ip->tos = 0;
	ip->ttl = TTL;
	ip->check = 0;
	ip->check = ~header_sum(ip);
	return change;
}

static __always_inline __u64 write_v6(struct ipv6hdr *ip, const struct pair *path)
{
	__u32 *from = ip->saddr.in6_u.u6_addr32, *to = ip->daddr.in6_u.u6_addr32;
	__u64 change = 0;

	for (int i = 0; i < 4; i++) {
		change += swapped(from[i], path->local[i]) + swapped(to[i], path->remote[i]);
		from[i] = path->local[i];
		to[i] = path->remote[i];
	}
	*(__u32 *)ip = bpf_htonl(6 << 28); // no class, no flow
	ip->hop_limit = TTL;
	return change;
}

static __always_inline __u64 write_rtp(__u32 *rtp, const struct replica_entry *entry, const struct media *media,
				       const struct number *number)
{
	__u32 type = entry->types[media->format & (FANOUT_FORMATS - 1)];
	__u32 first = bpf_htonl((bpf_ntohl(rtp[0]) & 0xff000000) | (__u32)number->marker << 23 | type << 16 | number->sequence);
	__u32 timestamp = bpf_htonl(number->timestamp);
	__u64 change = swapped(rtp[0], first) + swapped(rtp[1], timestamp) + swapped(rtp[2], entry->ssrc);

	rtp[0] = first;
	rtp[1] = timestamp;
	rtp[2] = entry->ssrc;
	return change;
}

// One byte of the payload, which begins at an even place.
static __always_inline __u64 write_byte(__u8 *payload, __u32 at, __u8 value)
{
	__u16 old = at & 1 ? payload[at] : payload[at] << 8, new = at & 1 ? value : value << 8;

	payload[at] = value;
	return (__u16)~bpf_htons(old) + bpf_htons(new);
}

static __always_inline __u64 write_vp8(void *data, void *end, const struct media *media, const struct number *number)
{
	__u8 *payload = data + (media->payload_at & 0x7ff);
	__u64 change = 0;

	if ((void *)(payload + 5) > end)
		return 0;
	if (media->picture_len == 1)
		change += write_byte(payload, 2, number->picture & 0x7f);
	if (media->picture_len == 2) {
		change += write_byte(payload, 2, 0x80 | number->picture >> 8);
		change += write_byte(payload, 3, number->picture);
	}
	if (media->tl0_at == 2)
		change += write_byte(payload, 2, number->tl0);
	else if (media->tl0_at == 3)
		change += write_byte(payload, 3, number->tl0);
	else if (media->tl0_at == 4)
		change += write_byte(payload, 4, number->tl0);
	return change;
}

// Writes the frame number of a dependency descriptor, which follows its first byte.
static __always_inline __u64 write_frame_number(void *data, void *end, const struct media *media, __u16 value)
{
	__u32 at = media->descriptor_at + 1;
	__u8 *bytes = data + (at & 0x7ff);
	__u32 old, new;

	if (!media->descriptor_at || (void *)(bytes + 2) > end)
		return 0;
	old = bytes[0] << 8 | bytes[1];
	new = value;
	bytes[0] = value >> 8;
	bytes[1] = value;
	if ((at - media->rtp_at) & 1) {
		old = (old & 0xff) << 8 | old >> 8;
		new = (new & 0xff) << 8 | new >> 8;
	}
	return (__u16)~bpf_htons(old) + bpf_htons(new);
}

static __always_inline void write_ethernet(struct ethhdr *ethernet, const struct way *way)
{
	__builtin_memcpy(ethernet->h_dest, way->to, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, way->from, ETH_ALEN);
}

// The change of the sum that a checksum covers: of the addresses, and of the rest.
struct change {
	__u64 addresses;
	__u64 rest;
};

// Writes one copy, all but the checksum: where UDP is, or null where that is not all there.
static __always_inline struct udphdr *write(void *data, void *end, const struct replica_entry *entry, const struct way *way,
					    const struct media *media, const struct number *number, struct change *change)
{
	struct udphdr *udp;

	if (media->v4) {
		udp = data + ETH_HLEN + sizeof(struct iphdr);
		if ((void *)(udp + 1) + RTP_LEN > end)
			return 0;
		change->addresses = write_v4(data + ETH_HLEN, &entry->path);
	} else {
		udp = data + ETH_HLEN + sizeof(struct ipv6hdr);
		if ((void *)(udp + 1) + RTP_LEN > end)
			return 0;
		change->addresses = write_v6(data + ETH_HLEN, &entry->path);
	}
	write_ethernet(data, way);
	change->rest = swapped(udp->source, entry->path.local_port) + swapped(udp->dest, entry->path.remote_port);
	udp->source = entry->path.local_port;
	udp->dest = entry->path.remote_port;
	change->rest += write_rtp((__u32 *)(udp + 1), entry, media, number);
	change->rest += write_stamps(data, end, entry, media, number->transport_number, 0);
	if (media->codec == KEY_VP8)
		change->rest += write_vp8(data, end, media, number);
	if (media->descriptor_at)
		change->rest += write_frame_number(data, end, media, number->frame);
	return udp;
}

// Sends the written copy: a clone or, for the last copy, the packet itself, once the program has
// ended (`onward`). False when it could not be sent. A failure to send the packet itself is not
// reported.
static __always_inline int let_go(struct __sk_buff *skb, struct scratch *scratch, int is_last)
{
	if (!is_last)
		return !bpf_clone_redirect(skb, scratch->way.interface, 0);
	scratch->onward = scratch->way.interface;
	return 1;
}

// Writes and sends one copy. False when it could not be sent.
static __always_inline int send(struct __sk_buff *skb, const struct replica_entry *entry, struct scratch *scratch)
{
	const struct media *media = &scratch->media;
	const struct way *way = &scratch->way;
	__u32 checksum_at = media->rtp_at - sizeof(struct udphdr) + offsetof(struct udphdr, check);
	struct change change;
	struct udphdr *udp;

	if (!way->interface || skb->len > way->mtu + ETH_HLEN)
		return 0;
	udp = write((void *)(long)skb->data, (void *)(long)skb->data_end, entry, way, media, &scratch->number, &change);
	if (!udp)
		return 0;
	if (!media->unfinished) {
		follow_checksum(udp, change.addresses + change.rest);
	} else if (bpf_l4_csum_replace(skb, checksum_at, 0, fold(change.addresses), BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0) ||
		   bpf_l4_csum_replace(skb, checksum_at, 0, fold(change.rest), BPF_F_MARK_MANGLED_0)) {
		// Only the kernel knows whether the checksum is complete.
		return 0;
	}
	return let_go(skb, scratch, scratch->last);
}
