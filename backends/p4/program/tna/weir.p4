// Weir's forwarding for the architecture of Tofino 2 (T2NA): the tables of the v1model program in
// the folder above, in a form that fits stages.
//
// Keys, actions and parameters have the names they have there, so entries are the same. Replication
// is that of the multicast engine. docs/design/p4.md ("On hardware") says which steps differ and what
// the compiler reports about stages and memory.

#include <core.p4>
#include <t2na.p4>

#include "types.p4"
#include "headers.p4"
#include "parser.p4"
#include "relay.p4"
#include "sender.p4"
#include "layers.p4"
#include "replicate.p4"
#include "rtcp.p4"
#include "route.p4"
#include "ingress.p4"
#include "replica.p4"
#include "select.p4"
#include "number.p4"
#include "extensions.p4"
#include "egress.p4"
#include "deparser.p4"

Pipeline(IngressParser(), WeirIngress(), IngressDeparser(), EgressParser(), WeirEgress(), EgressDeparser()) pipe;

Switch(pipe) main;
