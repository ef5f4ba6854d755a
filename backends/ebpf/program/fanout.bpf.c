// Replicates RTP in the kernel: finds the stream a packet is of, and sends a copy to each of those who get it.
//
// Read fanout_layout.h first: what the tables say. A packet goes the way the contract names: parse (packet.h, fanout_read.h), match (here), window (fanout_window.h),
// extend (fanout_extensions.h), number (fanout_number.h), stamp (fanout_stamp.h), rewrite and send (fanout_write.h), log (fanout_log.h). What is not RTP of a stream in the table
// goes on to the stack and the base, untouched.

#include "fanout_extensions.h"
#include "fanout_plain.h"
#include "fanout_probe.h"
#include "fanout_read.h"
#include "fanout_repair.h"
#include "fanout_way.h"
#include "fanout_tell.h"
#include "fanout_write.h"

#define NEXT (-1) // to the next program, or the stack
#define DROP 2
#define FRAME_MAX (DATAGRAM_MAX + 128)
#define UNCONCERNED FAN_COUNTS // no count: a replica that has nothing to do with the stream
#define ONCE 0x5765 // a copy for the base, which is not to be copied again

static void note(__u32 kind, __u32 replica, const struct scratch *scratch)
{
	struct fanout_note *note = bpf_ringbuf_reserve(&notes, sizeof(*note), 0);

	if (!note)
		return;
	note->replica = replica;
	note->source = scratch->media.stream;
	note->spatial = scratch->number.selected >> 8 & 255;
	note->temporal = scratch->number.selected & 255;
	note->awaits = scratch->number.selected >> 16;
	note->kind = kind;
	bpf_ringbuf_submit(note, 0);
}

static __always_inline void tell(__u32 kind, const struct replica_entry *entry, const struct scratch *scratch)
{
	note(kind, entry->state, scratch);
}

// The steps of a packet of a stream that is ours. Each is verified by itself, whatever came before; what they tell each other is in the scratch.

// Looks for the way to a replica's receiver, and keeps what was found.
static __always_inline int find_and_keep_way(struct packet packet, __u32 place)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);
	struct scratch *scratch = scratch_here();
	struct replica_state *state;
	__u32 key;

	if (!entry || !scratch)
		return 0;
	find_way(packet, &scratch->way, entry, &scratch->media);
	if (!scratch->way.interface)
		tell(NOTE_NO_WAY, entry, scratch);
	key = entry->state;
	state = bpf_map_lookup_elem(&replica_states, &key);
	if (!state)
		return 0;
	bpf_spin_lock(&state->lock);
	state->way = scratch->way;
	bpf_spin_unlock(&state->lock);
	return 1;
}

__noinline int look_up_way(struct __sk_buff *skb, __u32 place)
{
	return find_and_keep_way(of_stack(skb), place);
}

// Gives one replica's copy its number, and says which way it goes, as far as is known: a count, or FAN_NOTHING where it can be made.
__noinline int number_copy(__u32 place)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);
	struct scratch *scratch = scratch_here();
	struct replica_state *state;
	struct layers_given *layers;
	__u32 key;

	if (!entry || !scratch)
		return UNCONCERNED;
	key = entry->state;
	state = bpf_map_lookup_elem(&replica_states, &key);
	layers = bpf_map_lookup_elem(&replica_layers, &key);
	if (scratch->media.arrival.wanted && !was_asked(entry, &scratch->media) && scratch->media.arrival.again)
		return UNCONCERNED;
	if (!state || !layers)
		return UNCONCERNED;
	bpf_spin_lock(&state->lock);
	give(&state->progress, layers, entry, &scratch->media, &scratch->frame, &scratch->number);
	scratch->way = state->way;
	bpf_spin_unlock(&state->lock);
	if (scratch->number.selects)
		tell(NOTE_SELECTED, entry, scratch);
	if (!scratch->number.concerned)
		return UNCONCERNED;
	if (scratch->number.refused == FAN_NOTHING && scratch->media.oversized)
		return FAN_REPLICA_OVERSIZED;
	return scratch->number.refused;
}

// Makes one replica's copy of it, now that it has a number: what became of that.
__noinline int serve(struct __sk_buff *skb, __u32 place, struct scratch *scratch)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);

	if (!entry || !scratch)
		return UNCONCERNED;
	if (scratch->way.until < scratch->media.at)
		look_up_way(skb, place);
	stamp(scratch, entry);
	if (!send_copy(skb, place, scratch))
		return FAN_SEND_FAILED;
	if (!entry->number_id || !is_probed(entry)) {
		departs(scratch, entry, scratch->number.transport_number, 0);
	} else {
		departs(scratch, entry, scratch->number.transport_number, FANOUT_PROBED);
		send_probe(skb, place, scratch);
	}
	return FAN_FORWARDED;
}

// Takes note of what became of one copy.
static __always_inline void tally(struct scratch *scratch, __u32 became)
{
	if (became == UNCONCERNED)
		return;
	scratch->concerned += 1;
	if (became == FAN_FORWARDED)
		scratch->sent += 1;
	else if (became != FAN_PADDING_ONLY)
		count(became);
}

// What each copy is made of.
struct copying {
	struct __sk_buff *skb;
	const struct stream_entry *stream;
	struct scratch *scratch;
};

// The place of a copy's replica: among all of the stream, or those that were left.
static __always_inline __u32 place_of_copy(__u32 index, const struct stream_entry *stream, const struct scratch *scratch)
{
	return scratch->left ? scratch->places[index] : stream->replicas[index >> 5].places[index & 31];
}

// Makes one replica's copy, whatever there is to decide.
static long copy(__u32 index, struct copying *copying)
{
	struct scratch *scratch = copying->scratch;
	__u32 place, became, says;

	if (index >= FANOUT_COPIES)
		return 1;
	place = place_of_copy(index, copying->stream, scratch);
	became = number_copy(place);
	says = says_of_targets(scratch);
	if (became == FAN_NOTHING && says != scratch->media.says)
		tell_targets(copying->skb, says);
	if (became == FAN_NOTHING)
		became = serve(copying->skb, place, scratch);
	tally(scratch, became);
	return 0;
}

// Makes one replica's copy, where that is plain: what became of that. FAN_NOTHING where more is to be decided.
static __always_inline __u32 serve_plain(struct __sk_buff *skb, __u32 place, struct scratch *scratch)
{
	struct replica_entry *entry = bpf_map_lookup_elem(&replica_entries, &place);
	const struct way *way = &scratch->way;
	struct number number = {};

	if (!entry || (entry->number_id && is_probed(entry)) || !number_plain(entry, scratch, &number))
		return FAN_NOTHING;
	if (way->until < scratch->media.at)
		look_up_way(skb, place);
	if (entry->number_id)
		number.transport_number = next_number(entry);
	if (!way->interface || skb->len > way->mtu + ETH_HLEN ||
	    !write_plain((void *)(long)skb->data, (void *)(long)skb->data_end, entry, way->to, &scratch->media, &number) ||
	    bpf_clone_redirect(skb, way->interface, 0))
		return FAN_SEND_FAILED;
	departs(scratch, entry, number.transport_number, 0);
	return FAN_FORWARDED;
}

static long copy_plain(__u32 index, struct copying *copying)
{
	__u32 place, became;

	if (index >= FANOUT_COPIES)
		return 1;
	place = copying->stream->replicas[index >> 5].places[index & 31];
	became = serve_plain(copying->skb, place, copying->scratch);
	if (became == FAN_NOTHING)
		leave(copying->scratch, place);
	else
		tally(copying->scratch, became);
	return 0;
}

// Takes account of it. Likewise.
static __always_inline int take_account(struct scratch *scratch, __u32 place)
{
	struct stream_state *state = bpf_map_lookup_elem(&stream_states, &place);
	struct media *media = &scratch->media;
	int refused;

	if (!state)
		return FAN_MALFORMED;
	scratch->concerned = scratch->sent = scratch->log.departures = 0;
	media->begins = !state->progress.packets;
	bpf_spin_lock(&state->lock);
	arrive(&state->progress, media->sequence, media->known, media->end - media->rtp_at, &media->arrival);
	bpf_spin_unlock(&state->lock);
	refused = admit(media);
	if (refused == FAN_NOTHING && (media->descriptor_len || media->layers == LAYERS_VP9))
		read_layers(place);
	return refused;
}

// What is to be counted once all copies were looked at, where there were none.
static __always_inline int no_copies(const struct scratch *scratch)
{
	if (scratch->media.arrival.again)
		return FAN_DUPLICATE;
	if (scratch->media.is_padding)
		return FAN_PADDING_ONLY;
	return scratch->concerned ? FAN_NOT_SELECTED : FAN_NO_REPLICA;
}

// Gives it the header extension of its copies. Likewise.
__noinline int extend_in_stack(struct __sk_buff *skb, __u32 entry)
{
	return extend(of_stack(skb), entry);
}

static __always_inline void copy_to_all(struct __sk_buff *skb, const struct stream_entry *stream, struct scratch *scratch)
{
	struct copying copying = { .skb = skb, .stream = stream, .scratch = scratch };

	__u32 rest = stream->replicas_count;

	prepare((void *)(long)skb->data, (void *)(long)skb->data_end, scratch);
	if (scratch->media.plain) {
		bpf_loop(rest, copy_plain, &copying, 0);
		rest = scratch->left;
	}
	if (rest)
		bpf_loop(rest, copy, &copying, 0);
}

// Takes account of it, and copies it. Likewise.
__noinline int copy_packet(struct __sk_buff *skb, __u32 entry, __u32 place)
{
	struct stream_entry *stream = bpf_map_lookup_elem(&stream_entries, &entry);
	struct scratch *scratch = scratch_here();
	int refused;

	if (!stream || !scratch)
		return FAN_MALFORMED;
	refused = take_account(scratch, place);
	if (refused == FAN_NOTHING && is_extended(stream, &scratch->media))
		refused = extend_in_stack(skb, entry);
	if (refused == FAN_NOTHING)
		copy_to_all(skb, stream, scratch);
	write_log(scratch, refused, stream->goes_up);
	if (refused != FAN_NOTHING)
		return refused;
	if (!scratch->sent)
		return no_copies(scratch);
	count_many(scratch->media.arrival.again ? FAN_RESENT : FAN_FORWARDED, scratch->sent);
	return FAN_NOTHING;
}

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
	refused = fan(skb, &place, &scratch->media);
	if (counted) {
		count(FAN_RECEIVED);
		if (refused != FAN_NOTHING)
			count(refused);
	}
	return DROP;
}

#include "fanout_leave.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL"; // looking up routes asks for it
