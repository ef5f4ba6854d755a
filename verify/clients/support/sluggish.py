"""HTTP clients that are slow on purpose, on plain sockets: what each sends, and whether it is still served."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass

from .tokens import token

# Their source address, which no well-behaved client shares.
ADDRESS = "127.0.0.2"

_BODY = b"POST /api/dev-token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
_ELSEWHERE = b"POST /elsewhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n{"
_UPGRADE = (
    b"GET /rtc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
)
# Requests whose bodies are read: only those with a good token are.
_BEARER = token("sluggish", "sluggish", grants={"roomList": True}, lifetime_s=3600)
_WORKER = token("", "", grants={"agent": True}, lifetime_s=3600)


def _request(line: str, kind: str) -> bytes:
    """The header of a request with a body of 60,000 bytes."""
    fields = ("Host: localhost", f"Authorization: Bearer {_BEARER}", f"Content-Type: {kind}", "Content-Length: 60000")
    return "\r\n".join((f"{line} HTTP/1.1", *fields, "", "")).encode()


_CALL = _request("POST /twirp/livekit.RoomService/ListRooms", "application/json")
_PUBLISHER = _request("POST /whip/v1", "application/sdp")
_PLAYER = _request("POST /whep/v1", "application/sdp")
_FRAGMENT = _request("PATCH /whip/v1/PA_nobody", "application/trickle-ice-sdpfrag").replace(b" 60000", b" 16000")
_AGENT = _UPGRADE.replace(b"/rtc", b"/agent") + f"Authorization: Bearer {_WORKER}\r\n".encode()
_KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"


@dataclass(frozen=True)
class Kind:
    """One way to be slow: what is sent at once, what is sent every now and then, whether answers are read, whether its half is closed."""

    name: str
    first: bytes
    drip: bytes = b""
    reads: bool = True
    half: bool = False


KINDS = (
    Kind("says nothing", b""),
    Kind("stops within the header", b"GET / HTTP/1.1\r\nHost: x\r\n"),
    Kind("stops within the header of a WebSocket", _UPGRADE),
    Kind("drips its header", b"GET /", b"a"),
    Kind("keeps the connection after an answer", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Kind("stops within a body", _BODY + b"{"),
    Kind("stops within a body nobody wants", _ELSEWHERE),
    Kind("drips its body", _BODY, b" "),
    Kind("does not read answers", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3000, reads=False),
    Kind("stops within a call of the API", _CALL + b"{"),
    Kind("drips a call of the API", _CALL, b" "),
    Kind("stops within a publisher's offer", _PUBLISHER + b"v=0\r\n"),
    Kind("drips a publisher's offer", _PUBLISHER, b"a"),
    Kind("drips a player's offer", _PLAYER, b"a"),
    Kind("stops within a fragment", _FRAGMENT + b"a=ice-lite\r\n"),
    Kind("stops within the header of a worker", _AGENT),
    Kind("closes its half at once", b"", half=True),
    Kind("closes its half within the header", b"GET / HTTP/1.1\r\nHost: x\r\n", half=True),
    Kind("closes its half within a call of the API", _CALL + b"{", half=True),
    Kind("closes its half within an offer", _PUBLISHER + b"v=0\r\n", half=True),
    Kind("closes its half as a worker", _AGENT + _KEY, half=True),
)


def connect(port: int, kind: Kind) -> socket.socket:
    """A connection that has sent what this kind sends at once, as far as the server takes it."""
    stream = socket.socket()
    if not kind.reads:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    stream.bind((ADDRESS, 0))
    stream.connect(("127.0.0.1", port))
    stream.setblocking(False)
    _quietly(lambda: stream.send(kind.first))
    if kind.half:
        stream.shutdown(socket.SHUT_WR)
    return stream


async def outlasts(stream: socket.socket, kind: Kind, seconds: float) -> bool:
    """Goes on being slow; whether the server still serves it after so long."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.25)
        if has_ended(stream, kind):
            return False
        if kind.drip:
            _quietly(lambda: stream.send(kind.drip))
    return True


def has_ended(stream: socket.socket, kind: Kind) -> bool:
    """Whether the server has closed the connection. Of one that does not read, its state tells."""
    if not kind.reads:
        established = 1
        return stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != established
    try:
        return stream.recv(1 << 16) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _quietly(send: Callable[[], object]) -> None:
    try:
        send()
    except OSError:
        # The buffer is full, or the server has hung up, which `has_ended` sees.
        pass
