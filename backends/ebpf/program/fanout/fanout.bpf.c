// Replicates RTP in the kernel: finds a packet's stream and sends a copy to each of the stream's
// replicas.
//
// fanout_layout.h describes the tables and is to be read first. A packet passes the stages of the
// data plane contract: parse (packet.h, fanout_read.h), match (fanout_lookup.h), window
// (fanout_window.h), extend (fanout_extensions.h), and for each copy (fanout_copy.h) number
// (fanout_number.h), stamp (fanout_stamp.h), rewrite and send (fanout_write.h); then log
// (fanout_log.h). Packets that are not RTP of a stream in the table continue to the stack and the
// base unchanged.

#include "fanout_copy.h"
#include "fanout_lookup.h"

#define NEXT (-1) // to the next program, or the stack
#define DROP 2
#define FRAME_MAX (DATAGRAM_MAX + 128)
#define ONCE 0x5765 // a copy for the base, which is not to be copied again

static __always_inline int fan(struct __sk_buff *skb, const struct stream_place *place, const struct media *media)
{
	int refused;

	if (media->end - media->rtp_at > DATAGRAM_MAX)
		return FAN_OVERSIZED;
	refused = read_packet(skb, place->entry);
	return refused != FAN_NOTHING ? refused : copy_packet(skb, place->entry, place->state);
}

// Whether the headers may be looked at, so that other packets are not touched at all.
static __always_inline int is_udp(struct __sk_buff *skb)
{
	__u8 protocol, *linear;
	__u32 at;

	if (skb->pkt_type || skb->vlan_present || skb->tc_index == ONCE)
		return 0;
	if (skb->len > FRAME_MAX && skb->gso_segs <= 1)
		return 0;
	if (skb->protocol == bpf_htons(ETH_P_IP))
		at = ETH_HLEN + offsetof(struct iphdr, protocol);
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		at = ETH_HLEN + offsetof(struct ipv6hdr, nexthdr);
	else
		return 0;
	linear = (void *)(long)skb->data + at;
	if ((void *)(linear + 1) <= (void *)(long)skb->data_end)
		return *linear == IPPROTO_UDP;
	return !bpf_skb_load_bytes(skb, at, &protocol, 1) && protocol == IPPROTO_UDP;
}

SEC("classifier")
int fan_out(struct __sk_buff *skb)
{
	struct stream_place *known, place;
	struct stream_entry *stream;
	struct datagram found;
	struct scratch *scratch;
	int counted, refused;

	if (!is_udp(skb))
		return NEXT;
	if ((void *)(long)skb->data + skb->len > (void *)(long)skb->data_end && bpf_skb_pull_data(skb, skb->len))
		return NEXT;
	if (!parse(&found, (void *)(long)skb->data, (void *)(long)skb->data_end))
		return NEXT;
	known = find_stream(&found, (void *)(long)skb->data_end);
	if (!known)
		return NEXT;
	place = *known;
	stream = bpf_map_lookup_elem(&stream_entries, &place.entry);
	scratch = scratch_here();
	if (!stream || !scratch)
		return NEXT;
	// The base counts the packets that also go to it.
	counted = !stream->goes_up;
	found_at(&scratch->media, &found, &place);
	if (skb->gso_segs > 1) {
		count(FAN_MERGED);
		return DROP;
	}
	if (!counted) {
		skb->tc_index = ONCE;
		bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
	}
	scratch->onward = 0;
	refused = fan(skb, &place, &scratch->media);
	if (counted) {
		count(FAN_RECEIVED);
		if (refused != FAN_NOTHING)
			count(refused);
	}
	return scratch->onward ? bpf_redirect(scratch->onward, 0) : DROP;
}

#include "fanout_redirect.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL"; // looking up routes asks for it
