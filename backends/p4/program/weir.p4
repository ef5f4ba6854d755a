// Weir's forwarding as a P4_16 program for the architecture v1model: telephone relays and rooms
// whose media is not encrypted here, between the clients and the host on which Weir runs. Packets
// that it does not take are routed to the host.
//
// The steps are those of backends/udp/src and backends/ebpf/program, a file each. docs/design/p4.md
// describes tables and modes.

#include <core.p4>
#include <v1model.p4>

#include "types.p4"
#include "headers.p4"
#include "parser.p4"
#include "route.p4"
#include "relay.p4"
#include "sender.p4"
#include "layers.p4"
#include "replicate.p4"
#include "rtcp.p4"
#include "ingress.p4"
#include "copy.p4"
#include "egress.p4"
#include "deparser.p4"

V1Switch(WeirParser(), VerifySums(), WeirIngress(), WeirEgress(), ComputeSums(), WeirDeparser()) main;
