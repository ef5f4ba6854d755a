// Headers, and the metadata that steps pass on.
//
// Everything that is parsed is emitted again in its order, so a packet that no step changes leaves
// byte by byte as it arrived.

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

header ipv4_options_t {
    varbit<320> bytes;
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

header icmp_t {
    bit<8> type;
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

header csrcs_t {
    varbit<480> values;
}

// RFC 8285. An element is its start in one of two forms, and a value. A value of three bytes or
// more is taken apart as far as a dependency descriptor needs it.
header extension_t {
    bit<16> profile;
    bit<16> words;
}

header gap_t { // a byte of padding in front of an element
    bit<8> zero;
}

header one_t { // one-byte form
    bit<4> id;
    bit<4> len; // less one
}

header two_t { // two-byte form
    bit<8> id;
    bit<8> len;
}

header brief_t { // a value of one or two bytes
    varbit<16> bytes;
}

// AV1 RTP specification, appendix A.8.2: the mandatory fields of a descriptor.
header mandatory_t {
    bit<1> start;
    bit<1> end;
    bit<6> template_id;
    bit<16> frame;
}

// The bytes after them. In a descriptor the first bit says that a structure follows, and the next ones
// that in this order follow: the active decode targets, and in the place of the template's the frame's
// indications for decode targets, the frames that it refers to, and its places in chains.
header extended_t {
    bit<1> structure;
    bit<1> active;
    bit<1> own_indications;
    bit<1> own_references;
    bit<1> own_chains;
    bit<3> rest;
    varbit<2008> bytes;
}

// The bytes that the walk does not reach: padding, and elements beyond its depth.
header tail_t {
    varbit<12000> bytes;
}

// The payload, where its end has to be found: of a packet with padding but for the last byte, which
// is the count, and of a packet in a frame with a trailer.
header filling_t {
    varbit<12000> bytes;
}

header count_t {
    bit<8> count;
}

// Elements that copies get.
header mid_1_t {
    bit<8> value;
}

header mid_2_t {
    bit<16> value;
}

header mid_3_t {
    bit<24> value;
}

header time_t { // absolute send time, seconds in 6.18 fixed point
    bit<24> value;
}

header fill_1_t { // padding to the next word
    bit<8> zero;
}

header fill_2_t {
    bit<16> zero;
}

header fill_3_t {
    bit<24> zero;
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

header blocks_t { // the report blocks of a receiver report
    varbit<5952> bytes;
}

header next_rtcp_t { // the packet after it
    bit<2> version;
    bit<1> padding;
    bit<5> count;
    bit<8> type;
    bit<16> words;
}

@controller_header("packet_in")
header packet_in_t {
    bit<8> reason;
    bit<16> port;
    index_t index;
    bit<8> epoch;
    bit<16> source_number;
    bit<16> sent_number;
    bit<16> frame;
    bit<8> layer;
    stream_t stream;
}

@controller_header("packet_out")
header packet_out_t {
    bit<8> type;
    bit<16> port;
    bit<32> lease; // microseconds
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ipv4_options_t ipv4_options;
    ipv6_t ipv6;
    icmp_t icmp;
    udp_t udp;
    rtp_t rtp;
    csrcs_t csrcs;
    extension_t extension;
    gap_t[8] gap;
    one_t[8] one;
    two_t[8] two;
    brief_t[8] brief;
    mandatory_t[8] mandatory;
    extended_t[8] extended;
    tail_t tail;
    one_t mid_one;
    two_t mid_two;
    mid_1_t mid_1;
    mid_2_t mid_2;
    mid_3_t mid_3;
    one_t time_one;
    two_t time_two;
    time_t time;
    fill_1_t fill_1;
    fill_2_t fill_2;
    fill_3_t fill_3;
    filling_t filling;
    count_t count;
    rtcp_t rtcp;
    blocks_t blocks;
    next_rtcp_t next_rtcp;
}

struct metadata_t {
    // Kept by clones and recirculated packets.
    @field_list(1) bit<8> reason;
    @field_list(1) bit<16> arrival_port;
    @field_list(1) stream_t stream;
    @field_list(1) bit<1> structure;
    @field_list(1) mac_t host_src_mac;
    @field_list(1) mac_t host_dst_mac;
    @field_list(1) bit<16> position;
    @field_list(1) bit<8> depth;
    @field_list(1) index_t index;
    @field_list(1) bit<8> epoch;
    @field_list(1) bit<16> source_number;
    @field_list(1) bit<16> sent_number;
    @field_list(1) bit<16> sent_frame;
    @field_list(1) bit<8> sent_layer;

    // Parser.
    address_t src_addr;
    address_t dst_addr;
    bit<8> ttl;
    bit<1> is_neighbour; // ARP or neighbour discovery
    bit<1> has_options;
    bit<1> is_fragment;
    bit<1> has_trailer; // the frame goes on behind the IP packet
    bit<16> ip_payload; // bytes
    bit<16> checksum;   // UDP's
    bit<16> residue;    // zero: the checksum of data that includes its own
    bit<16> left;       // bytes of the datagram that are not parsed yet; at the end, of payload
    bit<16> elements;   // bytes of the header extension that are not parsed yet
    bit<16> head;
    bit<16> len;
    bit<1> two_byte;
    bit<1> is_deep;     // elements are left that the walk did not reach
    bit<1> is_whole;    // an RTP packet has all of the header that it claims to have
    dependencies_t dependencies_0; // of each element, if it is a descriptor
    dependencies_t dependencies_1;
    dependencies_t dependencies_2;
    dependencies_t dependencies_3;
    dependencies_t dependencies_4;
    dependencies_t dependencies_5;
    dependencies_t dependencies_6;
    dependencies_t dependencies_7;

    // Ingress.
    bit<2> way;
    bit<1> for_host;
    bit<1> is_summed; // the UDP checksum is to be computed again
    bit<1> set_tos;
    bit<8> tos;
    bit<32> ssrc;
    bit<16> group;
    bit<16> branches;
    bit<2> exclude; // the exclusion id of the nodes that are to make no copies, or 0
    bit<1> described;
    bit<8> descriptor_id;
    bit<1> is_empty; // nothing but padding
    bit<16> rid;     // of the receiver

    // The frame, from the descriptor and its template.
    bit<4> slot; // of the descriptor, and one more; 0 for none
    bit<1> named;
    bit<1> known; // its layer is, by its template or as a key frame
    bit<1> starts_frame;
    bit<1> ends_frame;
    bit<6> template_id;
    bit<4> own; // the descriptor has active targets, and its own indications, references and chains
    dependencies_t dependencies;
    reference_t back;      // the frame before it that its template refers to; 0 for none or several
    reference_t reference; // the same by its own references
    bit<4> chain;          // of its layer
    bit<16> frame;
    bit<2> spatial;
    bit<3> temporal;
    bit<3> top;
    bit<3> up;
    bit<1> enters;
    bit<1> above;
    bit<1> key_frame;

    // The replica's entry.
    bit<1> is_here; // there is one
    bit<8> entry_epoch;
    bit<32> replica_ssrc;
    bit<1> start;
    bit<16> newest;
    bit<16> next;
    bit<32> timestamp_offset;
    bit<16> frame_offset;
    bit<2> method;
    bit<2> target_spatial;
    bit<3> target_temporal;
    bit<4> mid_id;
    bit<2> mid_len;
    bit<24> mid;
    bit<4> time_id;
    bit<64> ids; // by four bits for each id: the id that the receiver knows the element by, or 0
    bit<7> payload_type;

    // The replica's state, as the registers hold it.
    bit<1> started;
    bit<1> ended;       // the last packet of the newest frame was seen
    bit<1> is_coming;   // the cadence holds from frame `since` on
    bit<1> has_decided;
    bit<1> decided_send;
    bit<3> skipped; // by size: a frame of the lowest rate was left out since the last key frame
    bit<1> moved;       // the offset changed since the replica started
    bit<1> untold;      // something is to be reported with the next packet
    bit<16> number;     // the source's, of the newest packet of the newest frame
    bit<16> offset;     // the source's number less the replica's
    bit<16> newest_frame;
    bit<16> since;      // METHOD_OFFSET: first number of the source that has the offset
    bit<16> decided;    // the newest frame that was decided about
    bit<2> has_spatial; // the highest layer it gets
    bit<3> has_temporal;
    bit<3> had_temporal; // before this frame
    bit<3> period; // from one frame that it gets to the next
    bit<16> past_frame_0;
    bit<16> past_offset_0;
    bit<16> past_frame_1;
    bit<16> past_offset_1;
    bit<16> past_frame_2;
    bit<16> past_offset_2;

    // The copy.
    bit<4> verdict;
    bit<1> began;
    bit<1> is_told; // a report goes to the controller
    bit<16> offset_before;
    bit<4> new_id; // of an element that stays, else 0
    bit<16> size;   // of its header extension's elements
    bit<16> old_size;
}
