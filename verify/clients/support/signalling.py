"""A small LiveKit signalling client: a WebSocket of protobuf messages, and nothing the tests do not need."""

import asyncio
import base64
import contextlib
import gzip
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from livekit.protocol import models, rtc
from websockets.asyncio.client import ClientConnection, connect

PROTOCOL_VERSION = 16
SDK_VERSION = "1.0.0"
JOIN_TIMEOUT_S = 5.0
MESSAGE_BYTES_MAX = 2 << 20


class Signalling:
    """One participant's signalling connection. Every message after `join` goes to the handler given to `start`."""

    def __init__(self, socket: ClientConnection, first: rtc.SignalResponse) -> None:
        self.first = first
        self.pongs = 0
        self.failure: BaseException | None = None
        self._socket = socket
        self._tasks: list[asyncio.Task] = []

    @classmethod
    async def dual(cls, url: str, token: str, *, auto_subscribe: bool = True) -> "Signalling":
        """`/rtc`: the parameters and the token are the query's."""
        query = {
            "access_token": token,
            "auto_subscribe": int(auto_subscribe),
            "sdk": "python",
            "version": SDK_VERSION,
            "protocol": PROTOCOL_VERSION,
        }
        return await cls._open(f"{url}/rtc?{urlencode(query)}", {})

    @classmethod
    async def single(
        cls, url: str, token: str, offer: rtc.SessionDescription, *, auto_subscribe: bool = True
    ) -> "Signalling":
        """`/rtc/v1`: a compressed join request with the first offer in it; the token is a header here."""
        join = rtc.JoinRequest(
            client_info=models.ClientInfo(sdk=models.ClientInfo.PYTHON, version=SDK_VERSION, protocol=PROTOCOL_VERSION),
            connection_settings=rtc.ConnectionSettings(auto_subscribe=auto_subscribe),
            publisher_offer=offer,
        )
        wrapped = rtc.WrappedJoinRequest(
            compression=rtc.WrappedJoinRequest.GZIP, join_request=gzip.compress(join.SerializeToString())
        )
        query = {"join_request": base64.urlsafe_b64encode(wrapped.SerializeToString()).decode()}
        return await cls._open(f"{url}/rtc/v1?{urlencode(query)}", {"Authorization": f"Bearer {token}"})

    @classmethod
    async def _open(cls, url: str, headers: dict[str, str]) -> "Signalling":
        socket = await connect(url, additional_headers=headers, max_size=MESSAGE_BYTES_MAX, proxy=None)
        try:
            first = await asyncio.wait_for(socket.recv(), JOIN_TIMEOUT_S)
        except TimeoutError:
            raise AssertionError(f"no first message within {JOIN_TIMEOUT_S:g} s of the upgrade") from None
        return cls(socket, rtc.SignalResponse.FromString(first))

    @property
    def join(self) -> rtc.JoinResponse:
        """The server's first message, which must be `join`."""
        kind = self.first.WhichOneof("message")
        assert kind == "join", f"the first message is {kind}, not join"
        return self.first.join

    def start(self, handle: Callable[[rtc.SignalResponse], Awaitable[None]]) -> None:
        """Hands every further message to `handle`, one at a time, and pings as often as the server asked."""
        self._tasks = [asyncio.create_task(self._read(handle)), asyncio.create_task(self._ping())]

    async def send(self, **message) -> None:
        """Sends one `SignalRequest`, named by its field: `send(mute=...)`."""
        await self._socket.send(rtc.SignalRequest(**message).SerializeToString())

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self._socket.close()

    async def _read(self, handle: Callable[[rtc.SignalResponse], Awaitable[None]]) -> None:
        try:
            async for data in self._socket:
                response = rtc.SignalResponse.FromString(data)
                if response.WhichOneof("message") == "pong_resp":
                    self.pongs += 1
                await handle(response)
        except Exception as failure:
            self.failure = failure

    async def _ping(self) -> None:
        with contextlib.suppress(Exception):
            while True:
                await self.send(ping_req=rtc.Ping(timestamp=int(time.time() * 1000)))
                await asyncio.sleep(self.join.ping_interval)
