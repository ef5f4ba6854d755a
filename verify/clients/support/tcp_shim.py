"""A way to a TCP port for clients that know only UDP: each of their addresses gets a connection of its own.

aioice has no TCP candidates. To the client, the shim is the server's one candidate; to the server, each of the client's
addresses is a client with ICE-TCP (RFC 6544, RFC 4571).
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator

_HEADER = 2


class TcpShim(asyncio.DatagramProtocol):
    """Frames datagrams in one direction, and takes them out of their frames in the other."""

    def __init__(self, tcp_port: int) -> None:
        self.datagrams = 0
        self._tcp_port = tcp_port
        self._transport: asyncio.DatagramTransport | None = None
        self._queues: dict[tuple[str, int], asyncio.Queue[bytes]] = {}
        self._tasks: list[asyncio.Task] = []

    @property
    def port(self) -> int:
        """Its UDP port."""
        return self._transport.get_extra_info("sockname")[1]

    @property
    def connections(self) -> int:
        """How many connections it has opened."""
        return len(self._queues)

    def redirect(self, sdp: str) -> str:
        """A description of the server's with the shim in place of all candidates."""
        sdp = re.sub(r"(?m)^a=candidate:\S+ 1 tcp .*\r?\n", "", sdp)
        return re.sub(
            r"(?m)^a=candidate:(\S+ 1) udp (\d+) \S+ \d+ ", f"a=candidate:\\1 udp \\2 127.0.0.1 {self.port} ", sdp
        )

    def connection_made(self, transport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if addr not in self._queues:
            self._queues[addr] = asyncio.Queue()
            self._tasks.append(asyncio.create_task(self._carry(addr, self._queues[addr])))
        self._queues[addr].put_nowait(data)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._transport.close()

    async def _carry(self, client: tuple[str, int], queue: asyncio.Queue[bytes]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._tcp_port)
        back = asyncio.create_task(self._carry_back(client, reader))
        try:
            while True:
                datagram = await queue.get()
                writer.write(len(datagram).to_bytes(_HEADER, "big") + datagram)
                await writer.drain()
        finally:
            back.cancel()
            writer.close()

    async def _carry_back(self, client: tuple[str, int], reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                length = int.from_bytes(await reader.readexactly(_HEADER), "big")
                self._transport.sendto(await reader.readexactly(length), client)
                self.datagrams += 1


@contextlib.asynccontextmanager
async def tcp_shim(tcp_port: int) -> AsyncIterator[TcpShim]:
    """A shim in front of a TCP port on loopback, for the length of a block."""
    loop = asyncio.get_running_loop()
    _, shim = await loop.create_datagram_endpoint(lambda: TcpShim(tcp_port), local_addr=("127.0.0.1", 0))
    try:
        yield shim
    finally:
        shim.close()
