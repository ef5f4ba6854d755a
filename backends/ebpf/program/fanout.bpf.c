// Replicates RTP in the kernel: finds the stream a packet is of, and sends a copy to each of those who get it.
//
// Read fanout_layout.h first: what the tables say. A packet goes the way the contract names: parse (packet.h, fanout_read.h), match (here), window (fanout_window.h),
// extend (fanout_extensions.h), and for each copy (fanout_copy.h) number (fanout_number.h), stamp (fanout_stamp.h), rewrite and send (fanout_write.h); then log
// (fanout_log.h). What is not RTP of a stream in the table goes on to the stack and the base, untouched.

#include "fanout_copy.h"

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

// Who sent it to whom. False where that is nobody's RTP.
static __always_inline int between(const struct datagram *found, void *end, struct pair *pair)
{
	if (found->len < RTP_LEN || (void *)found->payload + RTP_LEN > end || !is_rtp(found->payload))
		return 0;
	if (found->v4) {
		pair->local[2] = pair->remote[2] = bpf_htonl(0xffff);
		pair->local[3] = found->v4->daddr;
		pair->remote[3] = found->v4->saddr;
	} else if (found->v6) {
		__builtin_memcpy(pair->local, &found->v6->daddr, sizeof(pair->local));
		__builtin_memcpy(pair->remote, &found->v6->saddr, sizeof(pair->remote));
	}
	pair->local_port = found->udp->dest;
	pair->remote_port = found->udp->source;
	return 1;
}

// Where what is known of a packet's stream is. Null where it is of none.
static __always_inline struct stream_place *find_stream(const struct datagram *found, void *end, struct pair *pair)
{
	struct stream_key key;
	__u32 *leg;

	if (!between(found, end, pair))
		return 0;
	leg = bpf_map_lookup_elem(&legs, pair);
	if (!leg)
		return 0;
	key.leg = *leg;
	key.ssrc = ((__u32 *)found->payload)[2];
	return bpf_map_lookup_elem(&streams, &key);
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

// The sum over what UDP's checksum covers beside UDP itself: all that is in the field when it is left to hardware to finish it.
static __always_inline __u32 sum_between(const struct datagram *found, const struct pair *pair)
{
	__u64 sum = (__u64)found->udp->len + bpf_htons(IPPROTO_UDP) + pair->local[3] + pair->remote[3];

	// What is constant in mapped addresses is not covered.
	for (int i = 0; !found->v4 && i < 3; i++)
		sum += (__u64)pair->local[i] + pair->remote[i];
	return fold(sum);
}

// What the program knows of a packet before it is read.
static __always_inline void found_at(struct media *media, const struct datagram *found, const struct pair *pair, const struct stream_place *place)
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
	media->unfinished = found->udp->check && found->udp->check == sum_between(found, pair);
}

SEC("classifier")
int fan_out(struct __sk_buff *skb)
{
	struct stream_place *known, place;
	struct stream_entry *stream;
	struct datagram found;
	struct pair pair = {};
	struct scratch *scratch;
	int counted, refused;

	if (!is_udp(skb))
		return NEXT;
	if ((void *)(long)skb->data + skb->len > (void *)(long)skb->data_end && bpf_skb_pull_data(skb, skb->len))
		return NEXT;
	if (!parse(&found, (void *)(long)skb->data, (void *)(long)skb->data_end))
		return NEXT;
	known = find_stream(&found, (void *)(long)skb->data_end, &pair);
	if (!known)
		return NEXT;
	place = *known;
	stream = bpf_map_lookup_elem(&stream_entries, &place.entry);
	scratch = scratch_here();
	if (!stream || !scratch)
		return NEXT;
	// What goes up as well is counted there.
	counted = !stream->goes_up;
	found_at(&scratch->media, &found, &pair, &place);
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

#include "fanout_leave.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL"; // looking up routes asks for it
