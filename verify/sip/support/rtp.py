"""The packets that phones send: G.711 whose every payload says whose it is, and sender reports."""

import struct
import time

PACKETS_PER_S = 50
_SAMPLES = 160
_HEADER = struct.Struct("!BBHII")
_MARK = struct.Struct("!IHH")
_SENDER = struct.Struct("!BBHIIIIII")
_BLOCK = struct.Struct("!IIIIII")
_NTP_OF_UNIX = 2_208_988_800


def packet(ssrc: int, number: int) -> bytes:
    """20 ms of sound: the header, and (SSRC, number) twenty times."""
    sequence = number & 0xFFFF
    stamp = (number * _SAMPLES) & 0xFFFFFFFF
    return _HEADER.pack(0x80, 0, sequence, stamp, ssrc) + _MARK.pack(ssrc, sequence, 0xA5A5) * 20


def read(data: bytes) -> tuple[int, int] | None:
    """SSRC and sequence number; `None` when it is not what somebody sent."""
    if len(data) != _HEADER.size + _SAMPLES:
        return None
    first, kind, sequence, _, ssrc = _HEADER.unpack_from(data)
    whole = (first, kind) == (0x80, 0) and data[_HEADER.size :] == _MARK.pack(ssrc, sequence, 0xA5A5) * 20
    return (ssrc, sequence) if whole else None


def report(ssrc: int, sent: int, about: tuple[int, int] | None, heard: tuple[int, float] | None) -> bytes:
    """A sender report. `about`: the other's SSRC and highest number; `heard`: its last report's time and when it came.

    Without `about` there is no report block.
    """
    now = time.time() + _NTP_OF_UNIX
    seconds, fraction = int(now), int(now % 1 * 2**32)
    stamp = (sent * _SAMPLES) & 0xFFFFFFFF
    block = b""
    if about:
        last, delay = heard or (0, time.monotonic())
        waited = int((time.monotonic() - delay) * 65536) if heard else 0
        block = _BLOCK.pack(about[0], 0, about[1], 0, last, waited)
    words = (_SENDER.size + len(block)) // 4 - 1
    first = 0x81 if block else 0x80
    return _SENDER.pack(first, 200, words, ssrc, seconds, fraction, stamp, sent, sent * _SAMPLES) + block


def read_report(data: bytes) -> tuple[int, int] | None:
    """Whose report it is and its time, the middle 32 bits."""
    if len(data) < _SENDER.size or data[1] != 200:
        return None
    _, _, _, ssrc, seconds, fraction, *_ = _SENDER.unpack_from(data)
    return ssrc, (seconds << 16 | fraction >> 16) & 0xFFFFFFFF
