// Does nothing, for the other end of a veth: only an end that has a program takes frames which
// programs at its peer send.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int pass(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
