// Headers, and the metadata that steps pass on. The elements of a header extension are looked at and
// stay payload, so they take no containers.

header ethernet_t {
    mac_t dst;
    mac_t src;
    bit<16> type;
}

header ipv4_t {
    bit<4> version;
    bit<4> words;
    bit<8> tos;
    bit<16> len;
    bit<16> id;
    bit<2> flags;
    bit<1> more_fragments;
    bit<13> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header ipv6_t {
    bit<4> version;
    bit<8> tos;
    bit<20> flow;
    bit<16> len;
    bit<8> protocol;
    bit<8> ttl;
    address_t src;
    address_t dst;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> len;
    bit<16> checksum;
}

// RFC 3550 section 5.1.
header rtp_t {
    bit<2> version;
    bit<1> padding;
    bit<1> extension;
    bit<4> csrc_count;
    bit<1> marker;
    bit<7> payload_type;
    bit<16> sequence;
    bit<32> timestamp;
    bit<32> ssrc;
}

// RFC 8285.
header extension_t {
    bit<16> profile;
    bit<16> words;
}

// Elements that copies get, in front of those that the packet has.
header mid_t {
    bit<4> id;
    bit<4> len; // less one
    bit<24> value; // what is not of the value is padding
}

header time_t { // absolute send time, seconds in 6.18 fixed point
    bit<4> id;
    bit<4> len;
    bit<24> value;
}

// RFC 3550 section 6.4.
header rtcp_t {
    bit<2> version;
    bit<1> padding;
    bit<5> count; // or the format of feedback
    bit<8> type;
    bit<16> words;
    bit<32> ssrc;
}

@controller_header("packet_in")
header packet_in_t {
    bit<8> reason;
    bit<16> port;
    bit<16> index;
    bit<8> epoch;
    bit<16> source_number;
    bit<16> sent_number;
    bit<16> frame;
    bit<8> layer;
    bit<16> stream;
}

@controller_header("packet_out")
header packet_out_t {
    bit<8> type;
    bit<16> port;
    bit<32> lease; // microseconds
}

// In front of a packet of the host's, as it arrived.
header host_t {
    bit<8> reason;
    mac_t src_mac;
    mac_t dst_mac;
}

// In front of a packet between ingress and egress: what ingress found.
header found_t {
    bit<8> way;
    bit<16> arrival_port;
    bit<16> stream;
    bit<16> rid; // of two parties, who need no tree
    bit<16> frame;
    bit<1> named;
    bit<1> known;
    bit<1> starts_frame;
    bit<1> structure;
    bit<1> enters;
    bit<1> key_frame;
    bit<2> spatial;
    bit<8> ends_frame;
    bit<8> temporal;
    bit<8> up;
    bit<8> top;
}

struct headers_t {
    packet_in_t packet_in;
    found_t found;
    host_t host;
    packet_out_t packet_out;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ipv6_t ipv6;
    udp_t udp;
    rtp_t rtp;
    extension_t extension;
    mid_t mid;
    time_t time;
    rtcp_t rtcp;
}

struct cadence_t {
    bit<16> period;
    bit<16> since;
}

struct ingress_metadata_t {
    // Parser.
    bit<1> is_wrong;     // IPv4's checksum
    bit<1> is_neighbour; // ARP or neighbour discovery
    bit<1> has_options;
    bit<1> is_fragment;
    bit<1> is_deep;      // elements are left that the walk did not reach
    bit<1> has_descriptor;
    bit<1> is_whole;     // the RTP header is of a form that the steps know
    bit<1> has_next;     // an RTCP packet after a receiver report
    bit<8> next_type;
    bit<8> next_first; // version, padding, and the format of feedback
    bit<16> residue;     // the UDP checksum less what relays rewrite

    // The descriptor that the walk found.
    bit<8> place; // bytes from the start of the elements
    bit<8> first; // id and length
    bit<8> head;  // start, end and template
    bit<16> frame;
    bit<8> extended; // the byte after the mandatory fields
    bit<8> spare;    // bytes of elements that follow it

    address_t src_addr;
    address_t dst_addr;
    bit<8> ttl;
    bit<16> excess; // bytes of IP's payload that are not UDP's
    bit<1> for_host;
    bit<1> is_summed;
    bit<1> set_tos;
    bit<8> tos;
    bit<32> ssrc;
    bit<2> feedback_class;

    bit<32> now; // in units of 2^16 ns
    bit<1> is_leased;
    bit<16> stream;
    bit<16> group;
    bit<16> branches;
    bit<2> exclude;
    bit<1> described;
    bit<8> descriptor_id;
    bit<1> pass;
    bit<16> position;
    bit<8> elements; // bytes
    bit<8> id_difference;
    bit<6> template_id;
    bit<3> temporal;

    mac_t host_src_mac;
    mac_t host_dst_mac;
    MirrorId_t session;
}

struct egress_metadata_t {
    bit<16> residue; // the UDP checksum less what copies rewrite
    bit<16> grown;   // bytes
    bit<16> grown_twice; // as the length is summed twice, in UDP and its pseudo header
    bit<1> is_summed;

    bit<16> rid;
    bit<4> verdict;
    address_t src_addr;
    address_t dst_addr;

    // The replica's entry.
    index_t index;
    bit<8> entry_epoch;
    bit<32> replica_ssrc;
    bit<8> start;
    bit<16> newest;
    bit<16> next;
    bit<32> timestamp_offset;
    bit<2> method;
    bit<2> target_spatial;
    bit<8> target_temporal;
    bit<4> mid_id;
    bit<2> mid_len;
    bit<24> mid;
    bit<4> time_id;
    bit<7> payload_type;

    // Its state, and what follows from it.
    bit<8> is_new;      // the entry has another epoch than the state
    bit<8> was_started;
    bit<1> started;
    bit<1> began;
    bit<1> may_begin;
    bit<8> decides;     // the first packet of a frame
    bit<8> cap;
    bit<8> wanted;
    bit<8> below;       // the frame's layer less `wanted`
    bit<8> has_temporal;
    bit<8> spare;       // has_temporal less the frame's layer: negative where it is left out
    bit<16> cadence;
    bit<16> newest_frame;
    bit<16> distance;
    bit<16> since;
    bit<16> coming;
    bit<16> number;     // the newest of the source
    bit<16> number_cell;
    bit<16> ahead;
    bit<16> skipped;
    bit<16> period_less; // one
    bit<16> left_out;
    bit<16> over;
    bit<8> had_ended;
    bit<16> offset;
    bit<16> offset_cell;
    bit<16> floor;
    bit<16> back;
    bit<16> sent_number;
    bit<16> source_number;
    bit<8> untold;
    bit<1> is_told;
    bit<32> time_a;
    bit<32> time_b;
    bit<32> time_c;
    bit<32> time_d;
    packet_in_t report;
}
