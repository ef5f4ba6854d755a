// The test for plain and complete RTP.
#pragma once

#include "../common/packet.h"
#include "relay_layout.h"

#define ONE_BYTE 0xbede      // the profile of a header extension with elements of this form,
#define TWO_BYTES 0x100      // and that of the other, without its last four bits
#define EXTENSION_LEN_MAX 64 // longer ones are the base's

// Whether the elements of a header extension end where it does (RFC 8285 section 4). They are not
// read here, but receivers are protected from elements that overrun.
static __always_inline int are_whole(const __u8 *elements, __u32 len, int two_bytes, const void *end)
{
	__u32 left = 0; // of an element's value
	int is_len_next = 0;
	__u32 at;

	for (at = 0; at < EXTENSION_LEN_MAX; at++) {
		const __u8 *byte = elements + at;

		if (at >= len || byte + 1 > (const __u8 *)end)
			break;
		if (left) {
			left--;
		} else if (is_len_next) {
			left = *byte;
			is_len_next = 0;
		} else if (two_bytes) {
			is_len_next = *byte != 0;
		} else if (*byte) {
			if (*byte < 0x10 || *byte >= 0xf0)
				return 1;
			left = (*byte & 0x0f) + 1;
		}
	}
	return !left && !is_len_next;
}

// Judges a header extension by its bytes and the length of the payload that is left: RELAYED if it
// is valid.
static __noinline __u32 judge_extension(const __u8 *extension, __u32 left, const void *end)
{
	__u32 elements, profile;

	if (left < 4 || extension + 4 > (const __u8 *)end)
		return MALFORMED;
	profile = (__u32)extension[0] << 8 | extension[1];
	elements = 4 * ((__u32)extension[2] << 8 | extension[3]);
	if (left < 4 + elements)
		return MALFORMED;
	if (profile != ONE_BYTE && profile >> 4 != TWO_BYTES)
		return RELAYED;
	if (elements > EXTENSION_LEN_MAX)
		return NOT_RTP;
	return are_whole(extension + 4, elements, profile != ONE_BYTE, end) ? RELAYED : MALFORMED;
}

// Judges a payload: RELAYED if it has all of the RTP header that it claims to have (RFC 3550
// section 5.1), and that header is not too long to be examined.
static __always_inline __u32 judge(const struct datagram *found, const void *end)
{
	const __u8 *payload = found->payload;
	__u32 len;

	if (found->len < RTP_LEN || payload + RTP_LEN > (const __u8 *)end)
		return found->len < 2 || payload + 2 > (const __u8 *)end || !is_rtp(payload) ? NOT_RTP : MALFORMED;
	if (!is_rtp(payload))
		return NOT_RTP;
	len = RTP_LEN + 4 * (payload[0] & 0x0f);
	if (found->len < len)
		return MALFORMED;
	return payload[0] & 0x10 ? judge_extension(payload + len, found->len - len, end) : RELAYED;
}
