"""Counts the UDP packets that arrive at a port of an interface, by type.

Usage: capture.py INTERFACE PORT SECONDS. Prints the time from the first packet to the
last, and by type the packets and the bytes of their UDP payloads. It needs root, IPv4 and media
without encryption.
"""

import json
import socket
import struct
import sys
import time
from collections import Counter

ETH_P_IP = 0x0800
# Sees packets before the programs of the kernel do.
ETH_P_ALL = 0x0003
OPUS = (111, 63)
STRUCTURE_MIN = 4


def main(interface, port, seconds):
    """Captures, and prints the counts."""
    packets, times, until = [], [], time.monotonic() + seconds
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as tap:
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        tap.bind((interface, ETH_P_ALL))
        tap.settimeout(0.2)
        while time.monotonic() < until:
            try:
                packet, (_, protocol, direction, *_) = tap.recvfrom(65_535)
            except TimeoutError:
                continue
            payload = datagram(packet, port) if protocol == ETH_P_IP else None
            if direction == socket.PACKET_HOST and payload:
                packets.append(payload)
                times.append(time.monotonic())
    descriptor = descriptor_id(packets)
    counts, lengths = Counter(), Counter()
    for payload in packets:
        kind = kind_of(payload, descriptor)
        counts[kind] += 1
        lengths[kind] += len(payload)
    passed = round(times[-1] - times[0], 1) if times else 0
    print(json.dumps({"seconds": passed, "counts": {kind: [counts[kind], lengths[kind]] for kind in counts}}))


def datagram(packet, port):
    """The payload of a UDP datagram to this port, or None."""
    start = 4 * (packet[0] & 15)
    if packet[9] != socket.IPPROTO_UDP or len(packet) < start + 8:
        return None
    _, destination, length = struct.unpack_from("!HHH", packet, start)
    return packet[start + 8:start + length] if destination == port else None


def kind_of(payload, descriptor):
    """The type of a datagram (RFC 7983 section 7, RFC 5761 section 4)."""
    if payload[0] < 4:
        return "stun"
    if not 128 <= payload[0] < 192 or len(payload) < 12:
        return "other"
    if 192 <= payload[1] < 224:
        return report(payload)
    if payload[1] & 127 in OPUS:
        return "audio"
    is_structure = any(name == descriptor and length >= STRUCTURE_MIN for name, length in elements(payload))
    return "structure" if is_structure else "video"


def report(payload):
    """The type of a compound RTCP packet: that of its rarest part."""
    kinds, at = set(), 0
    while at + 4 <= len(payload):
        form, kind, words = payload[at] & 31, payload[at + 1], struct.unpack_from("!H", payload, at + 2)[0]
        kinds.add((kind, form if kind in (205, 206) else 0))
        at += 4 * (words + 1)
    if (205, 15) in kinds:
        return "transport-wide"
    if (206, 15) in kinds:
        return "remb"
    if kinds & {(205, 1), (206, 1), (206, 4)}:
        return "request"
    return "sender report" if {(200, 0), (202, 0)} & kinds else "receiver report"


def elements(payload):
    """The header extension elements of an RTP packet, by id and length (RFC 8285 section 4)."""
    at = 12 + 4 * (payload[0] & 15)
    if not payload[0] & 16 or len(payload) < at + 4:
        return
    profile, words = struct.unpack_from("!HH", payload, at)
    at += 4
    end = min(at + 4 * words, len(payload))
    while at < end:
        if payload[at] == 0:
            at += 1
            continue
        if profile == 0xBEDE:
            name, length, at = payload[at] >> 4, (payload[at] & 15) + 1, at + 1
        else:
            name, length, at = payload[at], payload[at + 1] if at + 1 < end else 0, at + 2
        yield name, length
        at += length


def descriptor_id(packets):
    """The id of the dependency descriptor: mostly three bytes, and more with a structure."""
    lengths = {}
    for payload in packets:
        if 128 <= payload[0] < 192 and not 192 <= payload[1] < 224:
            for name, length in elements(payload):
                lengths.setdefault(name, Counter())[length] += 1
    named = [name for name, found in lengths.items() if found.most_common(1)[0][0] == 3 and max(found) > 3]
    return max(named, key=lambda name: sum(lengths[name].values()), default=None)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
