// The tables of the fan-out program.
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "fanout_frame.h"
#include "fanout_layout.h"

// Locks are held for a few dozen instructions: while a stream's packet is accounted for, and while
// a replica numbers one. Two locks are never held together, and none is held during a call. Packets
// of one stream mostly arrive by one queue, and so at one processor, but nothing here depends on
// it.
struct stream_state {
	struct bpf_spin_lock lock;
	__u32 zero;
	struct stream_progress progress;
};

struct replica_state {
	struct bpf_spin_lock lock;
	__u32 zero;
	struct replica_progress progress;
	struct way way;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FANOUT_LEGS);
	__type(key, struct pair);
	__type(value, __u32);
} legs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FANOUT_STREAMS);
	__type(key, struct stream_key);
	__type(value, struct stream_place);
} streams SEC(".maps");

// The number of changes of the two tables above. Incremented after each change.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} changes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_STREAM_ENTRIES);
	__type(key, __u32);
	__type(value, struct stream_entry);
} stream_entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_STREAMS);
	__type(key, __u32);
	__type(value, struct stream_state);
} stream_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_REPLICA_ENTRIES);
	__type(key, __u32);
	__type(value, struct replica_entry);
} replica_entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_REPLICAS);
	__type(key, __u32);
	__type(value, struct replica_state);
} replica_states SEC(".maps");

// The layer state of a stream, beside its other state.
struct stream_layers {
	struct bpf_spin_lock lock;
	__u32 zero;
	struct layers_seen seen;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_STREAMS);
	__type(key, __u32);
	__type(value, struct stream_layers);
} stream_layers SEC(".maps");

// The layer state of a replica, beside its other state and under the same lock.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_REPLICAS);
	__type(key, __u32);
	__type(value, struct layers_given);
} replica_layers SEC(".maps");

// The state of numbering by frames of a replica, under the same lock.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_REPLICAS);
	__type(key, __u32);
	__type(value, struct frame_numbers);
} replica_frames SEC(".maps");

// The time until which a packet of a stream may be asked for again, by the stream's state.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_STREAMS);
	__type(key, __u32);
	__type(value, __u64);
} wanted SEC(".maps");

// The packets that were asked for again, by packet and replica, and until when each is wanted. The
// oldest entries are evicted first.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FANOUT_ASKS);
	__type(key, struct ask);
	__type(value, __u64);
} asks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FAN_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

// The number of packets sent on a leg with a transport-wide number.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_LEGS);
	__type(key, __u32);
	__type(value, __u32);
} transport_numbers SEC(".maps");

// By leg, as above.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FANOUT_LEGS);
	__type(key, __u32);
	__type(value, struct probe);
} probes SEC(".maps");

// The log of arrived packets and sent copies, as `fanout_log`.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FANOUT_LOG);
} log_ring SEC(".maps");

// Notes for the agent.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FANOUT_NOTES);
} notes SEC(".maps");

static __always_inline void count_many(__u32 what, __u32 many)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &what);

	if (value)
		*value += many;
}

static __always_inline void count(__u32 what)
{
	count_many(what, 1);
}
