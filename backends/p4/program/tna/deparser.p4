// Checksums, and the order of headers on the wire.
//
// The switch cannot read payloads, so the UDP checksum is not verified. It is updated: the parser
// subtracts what is rewritten, and the deparser adds what is sent. A damaged packet stays damaged.

#define SUMMED_IPV4 \
    hdr.ipv4.version, hdr.ipv4.words, hdr.ipv4.tos, hdr.ipv4.len, hdr.ipv4.id, hdr.ipv4.flags, \
    hdr.ipv4.more_fragments, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst

control IngressDeparser(packet_out packet, inout headers_t hdr, in ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t deparser) {
    Checksum() ipv4_sum;
    Checksum() udp_sum;
    Mirror(MIRROR_HOST) host;

    apply {
        if (deparser.mirror_type == MIRROR_HOST) {
            host.emit<host_t>(meta.session, {REASON_HOST, meta.host_src_mac, meta.host_dst_mac});
        }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = ipv4_sum.update({SUMMED_IPV4});
        }
        if (meta.is_summed == 1) {
            hdr.udp.checksum = udp_sum.update({hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv6.src, hdr.ipv6.dst,
                                               hdr.udp.src_port, hdr.udp.dst_port, meta.residue}, true);
        }
        packet.emit(hdr.packet_in);
        packet.emit(hdr.found);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.udp);
        packet.emit(hdr.rtp);
        packet.emit(hdr.extension);
        packet.emit(hdr.rtcp);
    }
}

control EgressDeparser(packet_out packet, inout headers_t hdr, in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t deparser) {
    Checksum() ipv4_sum;
    Checksum() udp_sum;
    Mirror(MIRROR_NUMBERS) numbers;

    apply {
        if (deparser.mirror_type == MIRROR_NUMBERS) {
            numbers.emit<packet_in_t>(CPU_SESSION, meta.report);
        }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = ipv4_sum.update({SUMMED_IPV4});
        }
        if (meta.is_summed == 1) {
            hdr.udp.checksum = udp_sum.update({hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv6.src, hdr.ipv6.dst,
                                               hdr.udp.src_port, hdr.udp.dst_port, hdr.rtp, hdr.extension,
                                               hdr.mid, hdr.time, meta.grown_twice, meta.residue}, true);
        }
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.udp);
        packet.emit(hdr.rtp);
        packet.emit(hdr.extension);
        packet.emit(hdr.mid);
        packet.emit(hdr.time);
    }
}
