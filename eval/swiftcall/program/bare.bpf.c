// A lower bound for a program that sends each packet to everybody, and the sink: the reference for
// a real one.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define RECEIVERS_MAX 128
#define PORT 7000        // ours
#define FIRST_PORT 20000 // the first receiver's

// Set before the programs are loaded.
const volatile __u32 receivers = 0;
const volatile __u32 interface = 0;

// Arrivals at one receiver.
struct arrived {
	__u64 packets;
	__u64 last; // when, in nanoseconds
	__u64 deltas; // how many, and of them
	__u64 sum;
	__u64 least;
	__u64 greatest;
};

// Counts by receiver; the last entry is for packets of none of them.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECEIVERS_MAX + 1);
	__type(key, __u32);
	__type(value, struct arrived);
} arrivals SEC(".maps");

// Slots that all name one interface.
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, RECEIVERS_MAX);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct bpf_devmap_val));
} slots SEC(".maps");

// The number of the next copy of a packet.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} turns SEC(".maps");

static __always_inline struct udphdr *media(void *data, void *end)
{
	struct iphdr *ip = data + ETH_HLEN;
	struct udphdr *udp = (void *)(ip + 1);

	if ((void *)(udp + 1) > end || ((struct ethhdr *)data)->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_UDP)
		return 0;
	return udp;
}

static __always_inline void swap_hosts(void *data)
{
	struct ethhdr *ethernet = data;
	struct iphdr *ip = data + ETH_HLEN;
	__u8 mac[ETH_ALEN];
	__u32 address = ip->saddr;

	__builtin_memcpy(mac, ethernet->h_source, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, ethernet->h_dest, ETH_ALEN);
	__builtin_memcpy(ethernet->h_dest, mac, ETH_ALEN);
	// Both hosts stay in the sum, and so do both checksums.
	ip->saddr = ip->daddr;
	ip->daddr = address;
}

static long clone(__u32 index, struct __sk_buff **skb)
{
	bpf_clone_redirect(*skb, interface, 0);
	return 0;
}

// Clones, all alike.
SEC("classifier")
int bare_clones(struct __sk_buff *skb)
{
	struct udphdr *udp = media((void *)(long)skb->data, (void *)(long)skb->data_end);

	if (!udp || udp->dest != bpf_htons(PORT))
		return -1;
	bpf_loop(receivers, clone, &skb, 0);
	return 2;
}

static long address(__u32 index, struct __sk_buff **context)
{
	struct __sk_buff *skb = *context;
	struct udphdr *udp = media((void *)(long)skb->data, (void *)(long)skb->data_end);
	__u16 before, after = bpf_htons(FIRST_PORT + index);

	if (!udp)
		return 1;
	before = udp->dest;
	udp->dest = after;
	bpf_l4_csum_replace(skb, ETH_HLEN + sizeof(struct iphdr) + offsetof(struct udphdr, check), before, after,
			    BPF_F_MARK_MANGLED_0 | sizeof(after));
	bpf_clone_redirect(skb, interface, 0);
	return 0;
}

// Clones, each to its receiver's port: the hosts are the same for all.
SEC("classifier")
int bare_tc(struct __sk_buff *skb)
{
	struct udphdr *udp = media((void *)(long)skb->data, (void *)(long)skb->data_end);

	if (!udp || udp->dest != bpf_htons(PORT))
		return -1;
	swap_hosts((void *)(long)skb->data);
	udp->source = udp->dest;
	bpf_loop(receivers, address, &skb, 0);
	return 2;
}

// One packet into every slot.
SEC("xdp")
int bare_xdp(struct xdp_md *context)
{
	struct udphdr *udp = media((void *)(long)context->data, (void *)(long)context->data_end);

	if (!udp || udp->dest != bpf_htons(PORT))
		return XDP_PASS;
	swap_hosts((void *)(long)context->data);
	udp->source = udp->dest;
	return bpf_redirect_map(&slots, 0, BPF_F_BROADCAST);
}

// Sends each copy to its receiver's port. Copies of a packet are sent one after another.
SEC("xdp/devmap")
int bare_xdp_out(struct xdp_md *context)
{
	struct udphdr *udp = media((void *)(long)context->data, (void *)(long)context->data_end);
	__u32 zero = 0, sum, *turn = bpf_map_lookup_elem(&turns, &zero);

	if (!udp || !turn)
		return XDP_PASS;
	sum = (__u16)~udp->check + (__u16)~udp->dest;
	udp->dest = bpf_htons(FIRST_PORT + *turn);
	// Without a checksum the far end would have less to do than of other copies.
	sum += udp->dest;
	sum = (sum & 0xffff) + (sum >> 16);
	udp->check = ~((sum & 0xffff) + (sum >> 16));
	*turn = *turn + 1 < receivers ? *turn + 1 : 0;
	return XDP_PASS;
}

// The sink of all packets: counts each one, and the time since the previous one.
SEC("classifier")
int sink(struct __sk_buff *skb)
{
	struct udphdr *udp = media((void *)(long)skb->data, (void *)(long)skb->data_end);
	__u64 now = bpf_ktime_get_ns(), delta;
	__u32 key, together = skb->gso_segs ? skb->gso_segs : 1;
	struct arrived *arrived;

	if (!udp)
		return -1;
	key = bpf_ntohs(udp->dest) - FIRST_PORT;
	if (key > RECEIVERS_MAX)
		key = RECEIVERS_MAX;
	arrived = bpf_map_lookup_elem(&arrivals, &key);
	if (!arrived)
		return -1;
	if (arrived->packets) {
		delta = now - arrived->last;
		arrived->deltas += 1;
		arrived->sum += delta;
		if (arrived->deltas == 1 || delta < arrived->least)
			arrived->least = delta;
		if (delta > arrived->greatest)
			arrived->greatest = delta;
	}
	// Segments that were sent as one buffer may still be one on arrival.
	if (together > 1) {
		arrived->deltas += together - 1;
		arrived->least = 0;
	}
	arrived->packets += together;
	arrived->last = now;
	return 2;
}

char LICENSE[] SEC("license") = "Apache-2.0";
