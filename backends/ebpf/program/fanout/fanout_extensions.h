// Header extensions (RFC 8285): which of a packet's elements are forwarded, and under which ids a
// stream's receivers get them.
//
// The forwarded elements are the same for all receivers of a stream. They are written once, under
// the receivers' ids and in the order of ranks. Room for the elements that differ from copy to copy
// (fanout_stamp.h) follows them. A packet whose own extension is as large as the new one keeps its
// length. Any other packet grows, and the bytes after the extension move back.
#pragma once

#include "fanout_stamp.h"

#define PROFILE_ONE_BYTE 0xbede
#define PROFILE_TWO_BYTE 0x1000

// One pass over the received elements.
struct walk {
	struct scratch *scratch;
	const struct stream_entry *stream;
	__u32 two_byte; // the form they have
	__u32 at;
	__u32 len;
	__u32 bytes; // of values that go on
	__u32 count; // of those
	__u32 wide; // whether one of them only fits the two-byte form
};

// Records the elements that the agent is told of: audio level and transport-wide number.
static __always_inline void hear(struct media *media, const struct stream_entry *stream, const __u8 *before, __u32 id, __u32 at, __u32 len)
{
	if (id == stream->level_id && len == 1) {
		media->has_level = 1;
		media->level = before[at & (EXTENSIONS_LEN - 1)];
	}
	if (id == stream->number_id && len == 2) {
		media->has_number = 1;
		media->transport_number = before[at & (EXTENSIONS_LEN - 1)] << 8 | before[(at + 1) & (EXTENSIONS_LEN - 1)];
	}
	if (id == stream->descriptor && !media->descriptor) {
		media->descriptor = at;
		media->descriptor_len = len;
	}
}

// Notes that an element goes on, if it does, and under another id or not: of those with one id, the
// first.
static __always_inline void carry(struct walk *walk, __u32 id, __u32 at, __u32 len)
{
	struct media *media = &walk->scratch->media;
	__u32 rank = walk->stream->carried[(id >> 5) & 7].ranks[id & 31];

	if (!rank || media->found >> ((rank - 1) & 15) & 1) {
		media->altered = 1;
		return;
	}
	rank = (rank - 1) & 15;
	media->found |= 1 << rank;
	media->altered |= walk->stream->ids[rank] != id;
	walk->scratch->elements[rank].at = at;
	walk->scratch->elements[rank].len = len;
	walk->bytes += len;
	walk->count += 1;
	walk->wide |= !len || len > 16;
	if (at == media->descriptor)
		media->descriptor_at = media->extension_at + 4 + at;
}

// Reads one element, or one byte of padding.
static long look(__u32 index, struct walk *walk)
{
	const __u8 *before = walk->scratch->before;
	__u32 byte, id, len, at = walk->at;

	if (at >= walk->len)
		return 1;
	byte = before[at & (EXTENSIONS_LEN - 1)];
	walk->at = ++at;
	if (!byte)
		return 0;
	id = walk->two_byte ? byte : byte >> 4;
	len = (byte & 15) + 1;
	if (!walk->two_byte && (!id || id == 15)) {
		// Ends the list, whatever follows.
		walk->scratch->media.altered = 1;
		return 1;
	}
	if (walk->two_byte)
		len = before[at++ & (EXTENSIONS_LEN - 1)];
	walk->at = at + len;
	if (walk->at > walk->len) {
		// Claims more than there is: ends the list, too.
		walk->scratch->media.altered = 1;
		return 1;
	}
	hear(&walk->scratch->media, walk->stream, before, id, at, len);
	carry(walk, id, at, len);
	return 0;
}

// Reads the header extension whose elements are at `at`. False where it is malformed.
static __always_inline int read_extension(struct packet packet, const struct stream_entry *stream, struct scratch *scratch, __u32 at,
					  __u32 len, __u32 profile)
{
	struct walk walk = { .scratch = scratch, .stream = stream, .len = len };
	struct media *media = &scratch->media;
	int known = profile == PROFILE_ONE_BYTE || (profile & 0xfff0) == PROFILE_TWO_BYTE;

	media->profile = profile << 16 | len / 4;
	media->extension_len = 4 + len;
	if (!len)
		return 1;
	plain(len);
	if (len < 4 || len > EXTENSIONS_LEN)
		return !known;
	if (load_bytes(packet, at, scratch->before, len))
		return 0;
	if (!known)
		return 1;
	walk.two_byte = profile != PROFILE_ONE_BYTE;
	bpf_loop(len, look, &walk, 0);
	media->two_byte |= walk.wide;
	media->altered |= media->two_byte != walk.two_byte;
	media->carried = walk.bytes + walk.count * (1 + media->two_byte);
	return 1;
}

// The state of writing the forwarded elements, one element a step.
struct writing {
	struct scratch *scratch;
	const struct stream_entry *stream;
	__u32 at;
};

static long put_element(__u32 rank, struct writing *writing)
{
	struct scratch *scratch = writing->scratch;
	struct media *media = &scratch->media;
	__u32 at = writing->at, from, len;

	rank &= FANOUT_KINDS - 1;
	if (!(media->found >> rank & 1))
		return 0;
	if (at >= ELEMENTS_MAX)
		return 1;
	from = scratch->elements[rank].at;
	len = scratch->elements[rank].len;
	scratch->after[at] = media->two_byte ? writing->stream->ids[rank] : writing->stream->ids[rank] << 4 | ((len - 1) & 15);
	at += 1;
	if (media->two_byte)
		scratch->after[at++] = len;
	if (from + len > EXTENSIONS_LEN)
		return 1;
	if (from == media->descriptor)
		media->descriptor_at = media->extension_at + 4 + at;
	if (len && bpf_probe_read_kernel(scratch->after + at, len, scratch->before + from))
		return 1;
	writing->at = at + len;
	return 0;
}

// Updates the checksum for a changed length, which is in the pseudo header and in UDP's own header.
static __always_inline long follow_length(struct packet packet, __u32 checksum_at, __u32 before, __u32 now)
{
	__u64 change = swapped(bpf_htonl(before), bpf_htonl(now));
	__u32 flags = BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0;

	if (packet.with_driver)
		return follow_change(packet, checksum_at, 2 * change);
	return bpf_l4_csum_replace(packet.context, checksum_at, 0, fold(change), flags) ||
	       follow_change(packet, checksum_at, fold(change));
}

static __always_inline long store_length(struct packet packet, __u32 at, __u32 len)
{
	__u16 value = bpf_htons(len);

	return store_bytes(packet, at, &value, sizeof(value));
}

// Makes a packet longer by some words in front of `from`. Returns false where that is impossible.
// Updates the lengths in its headers, but not the IPv4 checksum, which is recomputed for each copy.
static __always_inline int lengthen(struct packet packet, struct scratch *scratch, __u32 from, __u32 by)
{
	struct media *media = &scratch->media;
	__u32 udp_at = media->rtp_at - sizeof(struct udphdr), udp_len = media->end - udp_at, len = media->end - from;

	plain(len);
	if (len < 1 || len > DATAGRAM_MAX || load_bytes(packet, from, scratch->payload, len))
		return 0;
	if (set_len(packet, media->end + by) || store_bytes(packet, from + by, scratch->payload, len))
		return 0;
	media->end += by;
	media->payload_at += by;
	if (media->v4 ? store_length(packet, ETH_HLEN + offsetof(struct iphdr, tot_len), media->end - ETH_HLEN)
		      : store_length(packet, ETH_HLEN + offsetof(struct ipv6hdr, payload_len), udp_len + by))
		return 0;
	return !store_length(packet, udp_at + offsetof(struct udphdr, len), udp_len + by) &&
	       !follow_length(packet, udp_at + offsetof(struct udphdr, check), udp_len, udp_len + by);
}

// Sets the extension bit of a packet. Returns the change of its checksum.
static __always_inline __u64 mark(struct packet packet, const struct media *media)
{
	__u8 first;

	if (load_bytes(packet, media->rtp_at, &first, 1))
		return 0;
	first |= 0x10;
	return store_bytes(packet, media->rtp_at, &first, 1) ? 0 : bpf_htons(0x1000);
}

static __always_inline void clear_words(__u8 *bytes, __u32 count)
{
	volatile __u32 *words = (volatile __u32 *)bytes; // so that it is no call of memset

	for (__u32 i = 0; i < (ELEMENTS_MAX + STAMPS_MAX) / 4; i++) {
		if (i >= count)
			break;
		words[i] = 0;
	}
}

// Puts the new header extension where there is room for it now, and lets the checksum follow. Sizes
// are of elements.
static __always_inline int replace(struct packet packet, struct scratch *scratch, __u32 old, __u32 len)
{
	struct media *media = &scratch->media;
	__u32 header = bpf_htonl((media->two_byte ? PROFILE_TWO_BYTE : PROFILE_ONE_BYTE) << 16 | len / 4);
	__u64 sum = swapped(bpf_htonl(media->profile), header);
	__s64 change;

	if (!media->extension_len)
		sum += mark(packet, media);
	plain(len);
	plain(old);
	if (len > ELEMENTS_MAX + STAMPS_MAX || old > EXTENSIONS_LEN)
		return 0;
	change = bpf_csum_diff((__be32 *)scratch->before, old & ~3, (__be32 *)scratch->after, 0, fold(sum));
	change = bpf_csum_diff((__be32 *)scratch->before, 0, (__be32 *)scratch->after, len & ~3, change);
	if (store_bytes(packet, media->extension_at, &header, sizeof(header)))
		return 0;
	if (len && store_bytes(packet, media->extension_at + 4, scratch->after, len))
		return 0;
	return !follow_change(packet, media->rtp_at - 2, change);
}

// The size of the copies' elements: the forwarded ones, and room for those that differ by copy.
static __always_inline __u32 plan(const struct stream_entry *stream, struct media *media)
{
	__u32 carried = (media->carried + 3) & ~3;

	media->mid_words = stream->mid_words[media->two_byte & 1];
	media->timed = stream->timed;
	if (media->timed)
		media->send_time = send_time(media->at);
	media->numbered = stream->numbered;
	media->stamps_at = media->extension_at + 4 + carried;
	return carried + 4 * (media->mid_words + media->timed * (1 + media->two_byte) + media->numbered);
}

// Whether copies have another header extension than the packet. A packet of padding is sent to
// nobody and stays unchanged.
static __always_inline int is_extended(const struct stream_entry *stream, const struct media *media)
{
	return !media->is_padding && (media->altered | stream->timed | stream->numbered | stream->mid_words[0]);
}

// Gives a packet the header extension that all copies have. A count, or FAN_NOTHING where that was
// done.
static __always_inline int extend(struct packet packet, __u32 entry)
{
	struct stream_entry *stream = bpf_map_lookup_elem(&stream_entries, &entry);
	struct scratch *scratch = scratch_here();
	struct writing writing = { .scratch = scratch, .stream = stream };
	struct media *media;
	__u32 len, old, by;

	if (!stream || !scratch)
		return FAN_MALFORMED;
	media = &scratch->media;
	len = plan(stream, media);
	old = media->extension_len ? media->extension_len - 4 : 0;
	if (len < old)
		len = old;
	by = 4 + len - media->extension_len;
	if (media->end - media->rtp_at + by > DATAGRAM_MAX) {
		media->oversized = 1;
		return FAN_NOTHING;
	}
	clear_words(scratch->after, len / 4);
	bpf_loop(stream->ids_count, put_element, &writing, 0);
	if (by && !lengthen(packet, scratch, media->extension_at + media->extension_len, by))
		return FAN_SEND_FAILED;
	return replace(packet, scratch, old, len) ? FAN_NOTHING : FAN_SEND_FAILED;
}
