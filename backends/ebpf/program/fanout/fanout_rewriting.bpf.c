// Runs both rewriters on a frame full of questions, so that a test can compare them with
// crates/rewriting. Never attached to an interface.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

#include "fanout_rewriting.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REWRITERS);
	__type(key, __u32);
	__type(value, struct rewriter);
} rewriters SEC(".maps");

struct round {
	struct __sk_buff *skb;
	struct rewriter *known;
	__u32 has_history;
};

static long answer(__u32 index, struct round *round)
{
	void *data = (void *)(long)round->skb->data, *end = (void *)(long)round->skb->data_end;
	struct question *question;

	if (index >= QUESTIONS)
		return 1;
	question = data + ETH_HLEN + index * sizeof(*question);
	if ((void *)(question + 1) > end)
		return 1;
	switch (question->kind) {
	case ASK_START:
		start_rewriter(round->known, question);
		break;
	case ASK_CADENCE:
		round->known->period = question->period;
		round->known->coming = question->frame;
		round->known->has_coming = 1;
		break;
	case ASK_NUMBER:
		question->sent = rewrite(round->known, question, round->has_history, &question->sequence);
	}
	return 0;
}

// The mark of the frame selects the rewriter.
SEC("classifier")
int answer_questions(struct __sk_buff *skb)
{
	__u32 which = skb->mark;
	struct round round = { .skb = skb, .has_history = which };

	round.known = bpf_map_lookup_elem(&rewriters, &which);
	if (round.known)
		bpf_loop(QUESTIONS, answer, &round, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Apache-2.0";
