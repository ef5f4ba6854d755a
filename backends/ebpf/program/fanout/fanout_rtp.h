// The RTP header, as far as the program reads it: whether a packet is RTP, its header extensions,
// and whether a key frame starts with it.
#pragma once

#include "fanout_access.h"
#include "fanout_maps.h"
#include "fanout_frame.h"
#include "fanout_window.h"

#define DATAGRAM_MAX 1500
#define EXTENSIONS_LEN 256 // as much of header extensions as is looked through
#define ELEMENTS_MAX 288   // and as much as goes on: each of them may need a byte more
#define ELEMENT_MAX 257    // the longest of them
#define STAMPS_MAX 32      // and what is written into each copy
#define HEAD_LEN 64        // and of a payload

// Hides a number's value from the compiler, so that a limit is checked on the register that the
// verifier examines.
#define plain(number) asm volatile("" : "+r"(number))

// A packet of a stream that is ours.
struct media {
	__u64 at;      // when it arrived, in nanoseconds
	__u64 capture; // when it was captured, by its sender's clock
	struct arrival arrival;
	__u32 stream;     // the stream's state, and one more
	__u32 rtp_at;     // from the start of the frame
	__u32 end;        // likewise, of the datagram
	__u32 payload_type;
	__u32 known; // whether that is one of the stream's
	__u32 unfinished; // whether the sender may have left the checksum to hardware
	__u32 payload_at; // likewise
	__u32 payload_len; // padding not included
	__u32 timestamp;
	__u32 format; // by its place among the stream's
	__u32 clock_rate;
	__u32 captured; // whether `capture` is known
	__u16 sequence;
	__u16 picture; // VP8's running counters
	__u8 tl0;
	__u8 tl0_at; // where that is in the payload; 0 for nowhere
	__u8 picture_len; // how many bytes that has
	__u8 codec;
	__u8 is_padding;
	__u8 starts_key_frame;
	__u8 layers; // frame_layers: how its layer is known,
	__u8 spatial; // which is this,
	__u8 temporal;
	__u8 sync; // and whether its frame depends on the lowest temporal one only
	__u8 v4;
	__u8 marker;
	__u8 start; // the first byte of RTP
	__u16 descriptor; // the dependency descriptor's place among the header extensions,
	__u16 descriptor_len; // its length; 0 for none
	__u32 descriptor_at; // and its place in the frame, if it is carried on; else 0
	__u32 begins; // the stream begins with it
	__u32 says; // what the descriptor in the packet says of active decode targets
	__u8 room; // bytes behind the descriptor, for that
	__u8 oversized; // whether copies would be
	__u8 altered; // whether copies' header extensions are other than its own
	__u8 two_byte; // the form of copies' header extensions
	__u8 mid_words; // what copies have room for, as the stream's entry says
	__u8 timed;
	__u8 numbered;
	__u8 level; // what its audio level says,
	__u8 has_level;
	__u8 has_number;
	__u16 transport_number;
	__u16 found; // one bit for each rank, of the elements that go on
	__u16 carried; // bytes of those, in the form of copies
	__u16 extension_len; // with its header; 0 for none
	__u16 arrived_size; // bytes of UDP payload
	__u32 extension_at; // where it is or would be
	__u32 profile; // the first word of it
	__u32 stamps_at; // what is written into each copy,
	__u32 send_time; // and when that leaves, if it is to say so
	__u32 sum; // where copies are plain: what UDP's checksum covers that is the same in all of them,
	__u32 header_sum; // likewise of the IPv4 header
	__u32 first; // and the first word of RTP
	__u8 plain; // whether they are (fanout_plain.h)
	__u8 has_checksum;
	__u8 stamped; // whether something is written into their header extensions
};

// The position of a header extension's value, from the first.
struct element {
	__u16 at;
	__u8 len;
	__u8 zero;
};

// How a packet goes out to one replica.
struct number {
	__u32 refused; // a count, or FAN_NOTHING
	__u32 concerned; // whether it is of a stream this replica has to do with
	__u32 selects; // whether the replica gets another stream, or another layer of it, from here on
	__u32 selected; // what it gets then, as `selected` has it
	__u32 timestamp;
	__u16 sequence;
	__u16 picture;
	__u16 transport_number;
	__u8 tl0;
	__u8 is_top; // its frame is the highest of its picture that the replica gets
	__u8 marker;
	__u16 held_back; // pictures that were held back before it
	__u16 frame; // the number of its frame
	__u16 active; // the decode targets that the receiver can have,
	__u8 fewer; // whether they are fewer than the sender makes,
	__u8 told; // and whether the receiver knows otherwise
};

// Memory for one packet's processing that the BPF stack is too small for. A processor handles one
// packet at a time: packets that are sent as a result are queued.
struct scratch {
	struct media media;
	struct number number;
	struct way way;
	__u32 concerned; // replicas that have to do with the stream
	__u32 sent;
	__u32 last; // whether the copy that is made is the last one,
	__u32 onward; // and the interface by which the packet itself leaves as that; 0 where it does not
	__u32 left; // how many copies of a plain packet are not as the others,
	__u32 places[FANOUT_COPIES]; // and the places of their replicas' entries
	struct fanout_log log;
	struct departed departed[FANOUT_DEPARTURES];
	struct element elements[FANOUT_KINDS];
	__u8 before[EXTENSIONS_LEN];
	__u8 after[ELEMENTS_MAX + STAMPS_MAX + ELEMENT_MAX];
	__u8 head[HEAD_LEN];
	struct frame frame;
	struct structure structure; // that came with the packet
	struct reading reading;
	__u8 payload[DATAGRAM_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

static __always_inline __u32 ones(__u64 word)
{
	word -= (word >> 1) & 0x5555555555555555ULL;
	word = (word & 0x3333333333333333ULL) + ((word >> 2) & 0x3333333333333333ULL);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (word * 0x0101010101010101ULL) >> 56;
}

// RFC 7741 section 4.2 and 4.3.
static __always_inline void read_vp8(struct media *media, const __u8 *head, __u32 len)
{
	__u32 at = 1, extended, layers;

	if (len < 2)
		return;
	extended = head[0] & 0x80 ? head[at++] : 0;
	if (extended & 0x80) {
		if (len < at + 2)
			return;
		media->picture_len = head[at & 7] & 0x80 ? 2 : 1;
		media->picture = head[at & 7];
		if (media->picture_len == 2)
			media->picture = (media->picture & 0x7f) << 8 | head[(at + 1) & 7];
		at += media->picture_len;
	}
	if (extended & 0x40) {
		media->tl0_at = at;
		media->tl0 = head[at & 7];
		at += 1;
	}
	if (extended & 0x30) {
		layers = head[at & 7];
		media->layers = extended & 0x20 ? LAYERS_VP8 : LAYERS_NONE;
		media->temporal = layers >> 6;
		media->sync = !!(layers & 0x20);
		at += 1;
	}
	if (at > len) {
		media->picture_len = media->tl0_at = media->tl0 = media->picture = 0;
		media->layers = LAYERS_NONE;
		return;
	}
	media->starts_key_frame = at < len && (head[0] & 0x17) == 0x10 && !(head[at & 7] & 1);
}

#define H264_IDR 5
#define H264_PARAMETERS 7
#define H264_STAP_A 24
#define H264_FU_A 28
#define H264_UNITS 6 // of an aggregate, those looked at

static __always_inline int starts_h264(__u32 unit)
{
	return (unit & 31) == H264_IDR || (unit & 31) == H264_PARAMETERS;
}

// RFC 6184 sections 5.6 to 5.8.
static __always_inline int is_h264_key(const __u8 *head, __u32 len, __u32 payload_len)
{
	__u32 unit = head[0] & 31, at = 1;

	if (unit == H264_FU_A)
		return len > 1 && head[1] & 0x80 && starts_h264(head[1]);
	if (unit != H264_STAP_A)
		return starts_h264(unit);
	for (int i = 0; i < H264_UNITS; i++) {
		__u32 size;

		if (at + 2 >= len)
			return 0;
		size = head[at & (HEAD_LEN - 1)] << 8 | head[(at + 1) & (HEAD_LEN - 1)];
		if (at + 2 + size > payload_len)
			return 0;
		if (size && starts_h264(head[(at + 2) & (HEAD_LEN - 1)]))
			return 1;
		at += 2 + size;
	}
	return 0;
}

#define VP9_PICTURE_ID 0x80 // I
#define VP9_INTER_PICTURE 0x40 // P
#define VP9_LAYER 0x20 // L
#define VP9_FLEXIBLE 0x10 // F
#define VP9_BEGINS 0x08 // B
#define VP9_ENDS 0x04 // E
#define VP9_NOT_REFERRED 0x01 // Z

// RFC 9628 section 4.2. Of a scalability structure nothing is needed.
static __always_inline void read_vp9(struct media *media, struct frame *frame, const __u8 *head, __u32 len)
{
	__u32 at = 1, first = head[0], layer;

	if (first & VP9_PICTURE_ID)
		at += head[1] & 0x80 ? 2 : 1;
	layer = head[at & 3];
	if (first & VP9_LAYER)
		at += first & VP9_FLEXIBLE ? 1 : 2;
	if (first & VP9_INTER_PICTURE && first & VP9_FLEXIBLE) {
		for (int i = 0; i < 3; i++, at++) {
			if (!(head[at & 7] & 1))
				break;
			if (i == 2)
				return;
		}
		at++;
	}
	if (at > len)
		return;
	if (!(first & VP9_LAYER)) {
		media->starts_key_frame = first & VP9_BEGINS && !(first & VP9_INTER_PICTURE);
		return;
	}
	media->layers = LAYERS_VP9;
	media->spatial = layer >> 1 & 7;
	media->temporal = layer >> 5;
	media->starts_key_frame = first & VP9_BEGINS && !(first & VP9_INTER_PICTURE) && !media->spatial;
	frame->ends = !!(first & VP9_ENDS);
	frame->inter_picture = !!(first & VP9_INTER_PICTURE);
	frame->refers_above = !(first & VP9_NOT_REFERRED);
	frame->switching_up = !!(layer & 0x10);
	frame->inter_layer = layer & 1;
}

static __always_inline void read_payload(struct packet packet, struct media *media, struct scratch *scratch)
{
	__u32 len = media->payload_len;

	if (media->codec == KEY_ALWAYS) {
		media->starts_key_frame = 1;
		return;
	}
	if (len > HEAD_LEN)
		len = HEAD_LEN;
	plain(len);
	if (len < 1 || len > HEAD_LEN || load_bytes(packet, media->payload_at, scratch->head, len))
		return;
	if (media->codec == KEY_VP8)
		read_vp8(media, scratch->head, len);
	else if (media->codec == KEY_H264)
		media->starts_key_frame = is_h264_key(scratch->head, len, media->payload_len);
	else if (media->codec == KEY_AV1)
		media->starts_key_frame = len > 1 && (scratch->head[0] & 0x88) == 0x08;
	else if (media->codec == KEY_VP9)
		read_vp9(media, &scratch->frame, scratch->head, len);
}

// The capture time of a packet: its timestamp in the clock of the newest sender report.
static __always_inline void read_capture(struct media *media, const struct stream_entry *stream)
{
	__s32 ticks = media->timestamp - stream->reference_rtp;
	__u64 since;

	media->captured = stream->has_reference;
	if (!media->captured || !media->clock_rate)
		return;
	since = ((__u64)(ticks < 0 ? -(__s64)ticks : ticks) << 32) / media->clock_rate;
	media->capture = stream->reference_ntp + (ticks < 0 ? -since : since);
}
