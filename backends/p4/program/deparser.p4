// Checksums, and the order of headers on the wire.
//
// Checksums are verified before anything is rewritten, so that computing them again cannot hide a
// damaged packet. A UDP checksum of zero is none in IPv4 and stays (RFC 768); one that is computed
// as zero is written as all ones, which IPv6 requires (RFC 8200 section 8.1).
//
// Data and its own checksum are summed together, which gives zero if the checksum is right
// (RFC 1071). Computing the checksum again and comparing would refuse the all ones for zero.
//
// The payload is summed up to the end of the frame, unless that is behind the end of the datagram.
//
// The pseudo header has addresses of 128 bits for IPv4 too: ::ffff:a.b.c.d twice adds nothing to a
// sum in ones' complement.

#define SUMMED_SLOT(I) \
    hdr.gap[I], hdr.one[I], hdr.two[I], hdr.brief[I], hdr.mandatory[I], hdr.extended[I]

#define SUMMED \
    meta.src_addr, meta.dst_addr, 8w0, PROTOCOL_UDP, hdr.udp.len, \
    hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.len, \
    hdr.rtp, hdr.csrcs, hdr.extension, \
    SUMMED_SLOT(0), SUMMED_SLOT(1), SUMMED_SLOT(2), SUMMED_SLOT(3), \
    SUMMED_SLOT(4), SUMMED_SLOT(5), SUMMED_SLOT(6), SUMMED_SLOT(7), \
    hdr.tail, hdr.mid_one, hdr.mid_two, hdr.mid_1, hdr.mid_2, hdr.mid_3, hdr.time_one, hdr.time_two, hdr.time, \
    hdr.fill_1, hdr.fill_2, hdr.fill_3, \
    hdr.rtcp, hdr.blocks, hdr.next_rtcp, hdr.filling, hdr.count

#define SUMMED_IPV4 \
    hdr.ipv4.version, hdr.ipv4.words, hdr.ipv4.tos, hdr.ipv4.len, hdr.ipv4.id, hdr.ipv4.flags, \
    hdr.ipv4.more_fragments, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst, \
    hdr.ipv4_options

control VerifySums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), { hdr.ipv4.checksum, SUMMED_IPV4 }, meta.residue, HashAlgorithm.csum16);
        verify_checksum_with_payload((hdr.rtp.isValid() || hdr.rtcp.isValid()) && meta.checksum != 0 && meta.has_trailer == 0,
                                     { hdr.udp.checksum, SUMMED }, meta.residue, HashAlgorithm.csum16);
        verify_checksum((hdr.rtp.isValid() || hdr.rtcp.isValid()) && meta.checksum != 0 && meta.has_trailer == 1,
                        { hdr.udp.checksum, SUMMED }, meta.residue, HashAlgorithm.csum16);
    }
}

control ComputeSums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), { SUMMED_IPV4 }, hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(meta.is_summed == 1 && meta.has_trailer == 0, { SUMMED }, hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum(meta.is_summed == 1 && meta.has_trailer == 1, { SUMMED }, hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum(meta.is_summed == 1 && hdr.udp.checksum == 0, { 16w0 }, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

#define EMIT_SLOT(I) \
    packet.emit(hdr.gap[I]); \
    packet.emit(hdr.one[I]); \
    packet.emit(hdr.two[I]); \
    packet.emit(hdr.brief[I]); \
    packet.emit(hdr.mandatory[I]); \
    packet.emit(hdr.extended[I]);

control WeirDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.icmp);
        packet.emit(hdr.udp);
        packet.emit(hdr.rtp);
        packet.emit(hdr.csrcs);
        packet.emit(hdr.extension);
        EMIT_SLOT(0)
        EMIT_SLOT(1)
        EMIT_SLOT(2)
        EMIT_SLOT(3)
        EMIT_SLOT(4)
        EMIT_SLOT(5)
        EMIT_SLOT(6)
        EMIT_SLOT(7)
        packet.emit(hdr.tail);
        packet.emit(hdr.mid_one);
        packet.emit(hdr.mid_two);
        packet.emit(hdr.mid_1);
        packet.emit(hdr.mid_2);
        packet.emit(hdr.mid_3);
        packet.emit(hdr.time_one);
        packet.emit(hdr.time_two);
        packet.emit(hdr.time);
        packet.emit(hdr.fill_1);
        packet.emit(hdr.fill_2);
        packet.emit(hdr.fill_3);
        packet.emit(hdr.rtcp);
        packet.emit(hdr.blocks);
        packet.emit(hdr.next_rtcp);
        packet.emit(hdr.filling);
        packet.emit(hdr.count);
    }
}
