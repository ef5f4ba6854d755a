// Reads the fields of a packet that are needed to copy it: the offsets of its parts, its payload
// and its frame.
#pragma once

#include "fanout_descriptor.h"
#include "fanout_extensions.h"

// Reads the header of a packet. False where it is not RTP.
static __always_inline int read_header(struct packet packet, const struct stream_entry *stream, struct scratch *scratch)
{
	struct media *media = &scratch->media;
	__u32 at = media->rtp_at + RTP_LEN, end = media->end, first, words;
	__u8 padding;

	first = media->start;
	at += 4 * (first & 15);
	media->extension_at = at;
	media->two_byte = stream->two_byte;
	if (first & 0x10) {
		__u16 extension[2];

		if (at + 4 > end || load_bytes(packet, at, extension, sizeof(extension)))
			return 0;
		words = bpf_ntohs(extension[1]);
		at += 4;
		if (at + 4 * words > end || !read_extension(packet, stream, scratch, at, 4 * words, bpf_ntohs(extension[0])))
			return 0;
		at += 4 * words;
	}
	if (at > end)
		return 0;
	media->payload_at = at;
	media->payload_len = end - at;
	if (first & 0x20) {
		if (at == end || load_bytes(packet, end - 1, &padding, 1))
			return 0;
		if (!padding || padding > media->payload_len)
			return 0;
		media->payload_len -= padding;
	}
	media->is_padding = !media->payload_len;
	return 1;
}

static __always_inline int find_format(const struct stream_entry *stream, struct media *media)
{
	for (__u32 i = 0; i < FANOUT_FORMATS; i++) {
		if (i >= stream->formats_count)
			return 0;
		if (stream->formats[i].payload_type == media->payload_type) {
			media->format = i;
			media->codec = stream->formats[i].codec;
			media->clock_rate = stream->formats[i].clock_rate;
			return 1;
		}
	}
	return 0;
}

// Reads it. A count, or FAN_NOTHING where it can go on.
static __always_inline int read_either(struct packet packet, __u32 entry)
{
	struct stream_entry *stream = bpf_map_lookup_elem(&stream_entries, &entry);
	struct scratch *scratch = scratch_here();
	struct media *media;

	if (!stream || !scratch)
		return FAN_MALFORMED;
	media = &scratch->media;
	if (!read_header(packet, stream, scratch))
		return FAN_MALFORMED;
	media->at = bpf_ktime_get_ns();
	media->known = find_format(stream, media);
	if (media->known) {
		read_payload(packet, media, scratch);
		read_capture(media, stream);
	}
	return FAN_NOTHING;
}

__noinline int read_packet(struct __sk_buff *skb, __u32 entry)
{
	return read_either(of_stack(skb), entry);
}

// Reads the frame of the packet.
__noinline int read_layers(__u32 place)
{
	struct stream_layers *layers = bpf_map_lookup_elem(&stream_layers, &place);
	struct scratch *scratch = scratch_here();

	if (layers && scratch)
		read_frame(layers, scratch);
	return 0;
}
