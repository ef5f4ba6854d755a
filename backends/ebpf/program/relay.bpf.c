// Relays RTP in the kernel: what arrives at a port of ours from whom it should leaves from another port of ours, to whom it should, before there
// is a socket buffer.
//
// Taken is what is plainly RTP. RTCP, STUN, DTLS, everything that packet.h does not parse and everything whose way is not known goes up to the base untouched,
// which has the same entries and does the same. So does a packet of each relay once in a while: the stack, which sends it, then keeps the neighbour known.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// More licences than the rest of this project has, since the kernel looks up routes for no other programs.

#include "packet.h"
#include "relay_layout.h"

// How often a packet of a relay is left to the base, in nanoseconds. Set before the program is loaded.
const volatile __u64 confirm_every = 10000000000;

#define EVERY_RELAY 16384 // userspace sets how many there may be

#define ONE_BYTE 0xbede      // the profile of a header extension with elements of this form,
#define TWO_BYTES 0x100      // and that of the other, without its last four bits
#define EXTENSION_LEN_MAX 64 // longer ones are the base's

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EVERY_RELAY);
	__type(key, struct endpoint);
	__type(value, struct relay);
} relays SEC(".maps");

// By slot.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVERY_RELAY);
	__type(key, __u32);
	__type(value, struct traffic);
} traffics SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RELAY_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

// Interfaces packets may leave through, by their own numbers.
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, INTERFACES_MAX);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
} interfaces SEC(".maps");

static __always_inline void count(__u32 what)
{
	__u64 *counted = bpf_map_lookup_elem(&counts, &what);

	if (counted)
		(*counted)++;
}

// Leaves a packet to the base.
static __always_inline int leave(__u32 reason)
{
	count(reason);
	return XDP_PASS;
}

static __always_inline int drop(const struct relay *relay, __u32 reason)
{
	__u32 slot = relay->slot;
	struct traffic *traffic = bpf_map_lookup_elem(&traffics, &slot);

	if (traffic)
		traffic->dropped++;
	count(reason);
	return XDP_DROP;
}

static __always_inline void set_mapped(struct endpoint *endpoint, __u32 address, __u16 port)
{
	endpoint->address[0] = 0;
	endpoint->address[1] = 0;
	endpoint->address[2] = bpf_htonl(0xffff);
	endpoint->address[3] = address;
	endpoint->port = port;
	endpoint->zero = 0;
}

static __always_inline void set_address(struct endpoint *endpoint, const struct in6_addr *address, __u16 port)
{
	__builtin_memcpy(endpoint->address, address, sizeof(*address));
	endpoint->port = port;
	endpoint->zero = 0;
}

static __always_inline void destination(struct endpoint *endpoint, const struct datagram *found)
{
	if (found->v4)
		set_mapped(endpoint, found->v4->daddr, found->udp->dest);
	else
		set_address(endpoint, &found->v6->daddr, found->udp->dest);
}

static __always_inline int is_from(const struct endpoint *wanted, const struct datagram *found)
{
	const __u32 *source;

	if (wanted->port != found->udp->source)
		return 0;
	if (found->v4)
		return wanted->address[3] == found->v4->saddr;
	source = (const __u32 *)&found->v6->saddr;
	return wanted->address[0] == source[0] && wanted->address[1] == source[1] && wanted->address[2] == source[2] &&
	       wanted->address[3] == source[3];
}

// Whether the elements of a header extension end where it does (RFC 8285 section 4). Nobody here reads them; who would gets none that overrun.
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

// Whether a payload has all of the header it claims to have (RFC 3550 section 5.1), and that is not too long to be looked at: RELAYED if so, or else what it is.
static __always_inline __u32 judge(const struct datagram *found, const void *end)
{
	const __u8 *payload = found->payload;
	const __u8 *extension;
	__u32 len, elements, profile;

	if (found->len < RTP_LEN || payload + RTP_LEN > (const __u8 *)end)
		return MALFORMED;
	len = RTP_LEN + 4 * (payload[0] & 0x0f);
	if (found->len < len)
		return MALFORMED;
	if (!(payload[0] & 0x10))
		return RELAYED;
	extension = payload + len;
	if (found->len < len + 4 || extension + 4 > (const __u8 *)end)
		return MALFORMED;
	profile = (__u32)extension[0] << 8 | extension[1];
	elements = 4 * ((__u32)extension[2] << 8 | extension[3]);
	if (found->len < len + 4 + elements)
		return MALFORMED;
	if (profile != ONE_BYTE && profile >> 4 != TWO_BYTES)
		return RELAYED;
	if (elements > EXTENSION_LEN_MAX)
		return NOT_RTP;
	return are_whole(extension + 4, elements, profile != ONE_BYTE, end) ? RELAYED : MALFORMED;
}

// Asks for the way out as for a packet of our own. That is what coming from the loopback interface means; the kernel wants forwarding to be on there.
static __always_inline long find_way(struct xdp_md *context, struct bpf_fib_lookup *way, const struct datagram *found, const struct relay *relay)
{
	way->l4_protocol = IPPROTO_UDP;
	way->sport = relay->from.port;
	way->dport = relay->to.port;
	way->ifindex = LOOPBACK;
	if (found->v4) {
		way->family = AF_INET;
		way->tot_len = bpf_ntohs(found->v4->tot_len);
		way->tos = relay->tos;
		way->ipv4_src = relay->from.address[3];
		way->ipv4_dst = relay->to.address[3];
	} else {
		way->family = AF_INET6;
		way->tot_len = sizeof(struct ipv6hdr) + bpf_ntohs(found->v6->payload_len);
		way->flowinfo = bpf_htonl(relay->tos << 20);
		__builtin_memcpy(way->ipv6_src, relay->from.address, sizeof(way->ipv6_src));
		__builtin_memcpy(way->ipv6_dst, relay->to.address, sizeof(way->ipv6_dst));
	}
	return bpf_fib_lookup(context, way, sizeof(*way), 0);
}

// UDP's checksum once words that added up to `before` have become others that add up to `after` (RFC 1624).
static __always_inline __u16 follow(__u16 checksum, __u64 before, __u64 after)
{
	__u16 followed;

	if (!checksum)
		return 0;
	followed = ~fold((__u64)(__u16)~checksum + (__u16)~fold(before) + after);
	return followed ? followed : 0xffff;
}

static __always_inline __u64 ports_sum(const struct udphdr *udp)
{
	return (__u64)udp->source + udp->dest;
}

static __always_inline __u64 addresses_sum(const struct ipv6hdr *ip)
{
	const __u32 *words = (const __u32 *)&ip->saddr;

	return (__u64)words[0] + words[1] + words[2] + words[3] + words[4] + words[5] + words[6] + words[7];
}

static __always_inline void rewrite_ipv4(const struct datagram *found, const struct relay *relay)
{
	struct iphdr *ip = found->v4;
	__u64 before = ports_sum(found->udp) + ip->saddr + ip->daddr;

	ip->tos = relay->tos;
	ip->frag_off = bpf_htons(IP_DONT_FRAGMENT);
	ip->ttl = TTL;
	ip->saddr = relay->from.address[3];
	ip->daddr = relay->to.address[3];
	ip->check = 0;
	ip->check = ~header_sum(ip);
	found->udp->source = relay->from.port;
	found->udp->dest = relay->to.port;
	found->udp->check = follow(found->udp->check, before, ports_sum(found->udp) + ip->saddr + ip->daddr);
}

static __always_inline void rewrite_ipv6(const struct datagram *found, const struct relay *relay)
{
	struct ipv6hdr *ip = found->v6;
	__u64 before = ports_sum(found->udp) + addresses_sum(ip);

	*(__u32 *)ip = bpf_htonl(6u << 28 | relay->tos << 20);
	ip->hop_limit = TTL;
	__builtin_memcpy(&ip->saddr, relay->from.address, sizeof(ip->saddr));
	__builtin_memcpy(&ip->daddr, relay->to.address, sizeof(ip->daddr));
	found->udp->source = relay->from.port;
	found->udp->dest = relay->to.port;
	found->udp->check = follow(found->udp->check, before, ports_sum(found->udp) + addresses_sum(ip));
}

static __always_inline void rewrite(const struct datagram *found, const struct relay *relay, const struct bpf_fib_lookup *way)
{
	__builtin_memcpy(found->ethernet->h_dest, way->dmac, ETH_ALEN);
	__builtin_memcpy(found->ethernet->h_source, way->smac, ETH_ALEN);
	if (found->v4)
		rewrite_ipv4(found, relay);
	else
		rewrite_ipv6(found, relay);
}

// Whether the base is there: not while no process runs.
static __noinline int has_socket(struct xdp_md *context, struct bpf_sock_tuple *tuple, __u32 len)
{
	struct bpf_sock *socket;

	if (len == sizeof(tuple->ipv4))
		socket = bpf_sk_lookup_udp(context, tuple, sizeof(tuple->ipv4), BPF_F_CURRENT_NETNS, 0);
	else
		socket = bpf_sk_lookup_udp(context, tuple, sizeof(tuple->ipv6), BPF_F_CURRENT_NETNS, 0);
	if (!socket)
		return 0;
	bpf_sk_release(socket);
	return 1;
}

static __always_inline int is_heard(struct xdp_md *context, const struct datagram *found)
{
	struct bpf_sock_tuple tuple = {};

	if (found->v4) {
		tuple.ipv4.saddr = found->v4->saddr;
		tuple.ipv4.daddr = found->v4->daddr;
		tuple.ipv4.sport = found->udp->source;
		tuple.ipv4.dport = found->udp->dest;
		return has_socket(context, &tuple, sizeof(tuple.ipv4));
	}
	__builtin_memcpy(tuple.ipv6.saddr, &found->v6->saddr, sizeof(tuple.ipv6.saddr));
	__builtin_memcpy(tuple.ipv6.daddr, &found->v6->daddr, sizeof(tuple.ipv6.daddr));
	tuple.ipv6.sport = found->udp->source;
	tuple.ipv6.dport = found->udp->dest;
	return has_socket(context, &tuple, sizeof(tuple.ipv6));
}

// Whether it is time to leave a packet to the base.
static __always_inline int must_confirm(struct xdp_md *context, const struct datagram *found, struct traffic *traffic, __u64 now)
{
	// It may have been set by a clock that is finer than this one.
	if ((__s64)(now - traffic->confirmed) < (__s64)confirm_every)
		return 0;
	traffic->confirmed = now;
	return is_heard(context, found);
}

static __always_inline int forward(struct xdp_md *context, const struct datagram *found, const struct relay *relay)
{
	__u32 slot = relay->slot;
	struct bpf_fib_lookup way = {};
	struct traffic *traffic = bpf_map_lookup_elem(&traffics, &slot);
	__u64 now = bpf_ktime_get_coarse_ns();
	long answer;

	if (!traffic)
		return XDP_PASS;
	if (must_confirm(context, found, traffic, now))
		return leave(CONFIRMING);
	answer = find_way(context, &way, found, relay);

	if (answer == BPF_FIB_LKUP_RET_FRAG_NEEDED)
		return leave(TOO_LARGE);
	if (answer != BPF_FIB_LKUP_RET_SUCCESS)
		return leave(NO_NEIGHBOUR);
	if (way.ifindex != context->ingress_ifindex && !bpf_map_lookup_elem(&interfaces, &way.ifindex))
		return leave(OTHER_INTERFACE);
	traffic->packets++;
	traffic->bytes += found->len;
	traffic->last = now;
	rewrite(found, relay, &way);
	count(RELAYED);
	return way.ifindex == context->ingress_ifindex ? XDP_TX : bpf_redirect_map(&interfaces, way.ifindex, XDP_PASS);
}

static __always_inline int same(const struct endpoint *a, const struct endpoint *b)
{
	return a->address[0] == b->address[0] && a->address[1] == b->address[1] && a->address[2] == b->address[2] &&
	       a->address[3] == b->address[3] && a->port == b->port;
}

// Copies the entry of a port. What is removed from a table may become another port's while somebody still looks at it: so it is copied, and the copy must say
// whose it is.
static __always_inline int find_relay(struct relay *copy, const struct endpoint *at)
{
	const struct relay *entry = bpf_map_lookup_elem(&relays, at);

	if (!entry)
		return 0;
	*copy = *entry;
	barrier();
	return same(&copy->at, at);
}

SEC("xdp")
int relay(struct xdp_md *context)
{
	void *end = (void *)(long)context->data_end;
	struct datagram found;
	struct endpoint at;
	struct relay relay;
	__u32 judged;

	if (!parse(&found, (void *)(long)context->data, end))
		return XDP_PASS;
	destination(&at, &found);
	if (!find_relay(&relay, &at))
		return XDP_PASS;
	if (!has_checksum(&found))
		return leave(UNCHECKED);
	if (found.len > DATAGRAM_LEN_MAX)
		return leave(TOO_LARGE);
	if (!is_from(&relay.accept, &found))
		return drop(&relay, FOREIGN_SOURCE);
	if (found.len < 2 || (void *)(found.payload + 2) > end || !is_rtp(found.payload))
		return leave(NOT_RTP);
	judged = judge(&found, end);
	if (judged == MALFORMED)
		return drop(&relay, MALFORMED);
	if (judged != RELAYED)
		return leave(judged);
	return forward(context, &found, &relay);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
