"""Clients that say much of themselves, or a little of it very often, to a room of others."""

import asyncio
import base64
import contextlib
import gzip
import time

from livekit.protocol import models
from livekit.protocol import rtc as protocol
from websockets.asyncio.client import ClientConnection, connect

from .tokens import token


class Listener:
    """Counts the bytes that one participant of a room is sent."""

    def __init__(self, url: str, room: str) -> None:
        self.received = 0
        self.longest = 0
        self._address = f"{url}/rtc?protocol=16&sdk=python&access_token={token(room, 'chatter-listener')}"

    @contextlib.asynccontextmanager
    async def listening(self):
        async with connect(self._address, proxy=None, max_size=None) as socket:
            reading = asyncio.create_task(self._read(socket))
            yield self
            reading.cancel()

    async def _read(self, socket: ClientConnection) -> None:
        async for message in socket:
            self.received += len(message)
            self.longest = max(self.longest, len(message))


async def says_much_at_joining(url: str, room: str, times: int) -> None:
    """Joins again and again with a million capabilities."""
    client = models.ClientInfo(protocol=16, capabilities=[1] * 1_000_000)
    request = protocol.JoinRequest(client_info=client).SerializeToString()
    wrapped = protocol.WrappedJoinRequest(
        compression=protocol.WrappedJoinRequest.GZIP, join_request=gzip.compress(request)
    )
    packed = base64.urlsafe_b64encode(wrapped.SerializeToString()).decode()
    address = f"{url}/rtc/v1?join_request={packed}&access_token={token(room, 'chatter')}"
    for _ in range(times):
        with contextlib.suppress(Exception):
            async with connect(address, proxy=None, max_size=None):
                await asyncio.sleep(0.05)


async def says_much_of_a_track(url: str, room: str) -> None:
    """Announces a track with more features than there are, and with long names."""
    async with _joined(url, room) as socket:
        track = {"cid": "c", "name": "n", "type": models.AUDIO, "source": models.MICROPHONE}
        for fat in [{"audio_features": [1] * 500_000}, {"name": "x" * 400_000}, {"cid": "x" * 400_000}]:
            request = protocol.AddTrackRequest(**track | fat)
            await socket.send(protocol.SignalRequest(add_track=request).SerializeToString())
        await asyncio.sleep(0.5)


async def says_little_often(url: str, room: str, times: int) -> float:
    """Stores as much as one may, then changes a few bytes of it again and again; returns how long that took."""
    async with _joined(url, room) as socket:
        much = protocol.UpdateParticipantMetadata(metadata="m" * 60_000, attributes={"key": "v" * 60_000})
        await socket.send(protocol.SignalRequest(update_metadata=much).SerializeToString())
        began = time.monotonic()
        for number in range(times):
            little = protocol.UpdateParticipantMetadata(attributes={"n": str(number)})
            await socket.send(protocol.SignalRequest(update_metadata=little).SerializeToString())
            # Each change also sends it a new token, all of which it has to read.
            await asyncio.sleep(0.02)
        return time.monotonic() - began


@contextlib.asynccontextmanager
async def _joined(url: str, room: str):
    address = f"{url}/rtc?protocol=16&sdk=python&access_token={token(room, 'chatter')}"
    async with connect(address, proxy=None, max_size=None) as socket:
        reading = asyncio.create_task(_drop(socket))
        yield socket
        reading.cancel()


async def _drop(socket: ClientConnection) -> None:
    with contextlib.suppress(Exception):
        async for _ in socket:
            pass
