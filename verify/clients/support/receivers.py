"""Receivers of webhooks: one that checks signatures with LiveKit's SDK, and bad ones."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

from livekit import api
from livekit.protocol.webhook import WebhookEvent

from .tokens import DEV_KEY, DEV_SECRET


class Receiver:
    """The events that came with a good signature, in the order of their arrival."""

    def __init__(self, key: str, secret: str) -> None:
        self.url = ""
        self.events: list[WebhookEvent] = []
        self.failures: list[str] = []
        # Statuses of the next answers; 200 after them. Events with another answer are not kept.
        self.statuses: list[int] = []
        # While this is clear it takes events and answers none.
        self.answers = asyncio.Event()
        self.answers.set()
        self._sdk = api.WebhookReceiver(api.TokenVerifier(key, secret))

    @property
    def names(self) -> list[str]:
        """The events by name, with the participant's identity where there is one."""
        return [f"{event.event} {event.participant.identity}".strip() for event in self.events]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers, body = await _request(reader)
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200:
            self._take(headers, body)
        await self.answers.wait()
        writer.write(f"HTTP/1.1 {status} Answered\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()

    def _take(self, headers: dict[str, str], body: bytes) -> None:
        if headers["content-type"] != "application/webhook+json":
            self.failures.append(f"the type is {headers['content-type']}")
        try:
            self.events.append(self._sdk.receive(body.decode(), headers["authorization"]))
        except Exception as error:
            self.failures.append(repr(error))


@contextlib.asynccontextmanager
async def receiver(
    key: str = DEV_KEY, secret: str = DEV_SECRET, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """A receiver for the length of the block; all that it got was well signed."""
    receiving = Receiver(key, secret)
    async with _listening(receiving.answer, tls) as port:
        receiving.url = f"https://localhost:{port}/hook" if tls else f"http://127.0.0.1:{port}/hook"
        yield receiving
    assert not receiving.failures, receiving.failures


class Bad:
    """A receiver that misbehaves, and the number of requests it has had."""

    def __init__(self, act: Callable[["Bad", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> None:
        self.url = ""
        # The target of its redirections.
        self.elsewhere = ""
        self.requests = 0
        self._act = act

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests += 1
        await self._act(self, reader, writer)


async def _hangs(bad: Bad, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def _answers_slowly(bad: Bad, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    for letter in b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n":
        writer.write(bytes([letter]))
        await writer.drain()
        await asyncio.sleep(1)


async def _redirects(bad: Bad, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    target = bad.elsewhere or bad.url
    writer.write(f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())
    await writer.drain()


async def _answers_for_ever(bad: Bad, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    await _pour(writer, b"10000\r\n" + b"x" * 0x10000 + b"\r\n")


async def _has_endless_headers(bad: Bad, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\n")
    await _pour(writer, b"X-Endless: " + b"x" * 1000 + b"\r\n")


async def _continues_for_ever(bad: Bad, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    await _pour(writer, b"HTTP/1.1 100 Continue\r\n\r\n")


async def _is_no_http(bad: Bad, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    await writer.drain()


async def _hangs_up(bad: Bad, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Closes the connection, as every receiver does in the end."""


KINDS = {
    "hangs": _hangs,
    "answers slowly": _answers_slowly,
    "redirects to itself": _redirects,
    "redirects elsewhere": _redirects,
    "answers for ever": _answers_for_ever,
    "has endless headers": _has_endless_headers,
    "continues for ever": _continues_for_ever,
    "begins no TLS": _hangs,
    "is no HTTP": _is_no_http,
    "hangs up": _hangs_up,
}


@contextlib.asynccontextmanager
async def bad_receivers() -> AsyncIterator[dict[str, Bad]]:
    """One of each kind, by its name."""
    async with contextlib.AsyncExitStack() as stack:
        all_kinds = {name: Bad(act) for name, act in KINDS.items()}
        for bad in all_kinds.values():
            port = await stack.enter_async_context(_listening(bad.answer))
            scheme = "https" if bad is all_kinds["begins no TLS"] else "http"
            bad.url = f"{scheme}://127.0.0.1:{port}/hook"
        yield all_kinds


@contextlib.asynccontextmanager
async def _listening(answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Answers connections, each on a task of its own that ends with the block."""
    tasks = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        try:
            await answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            # The server has hung up.
            pass
        finally:
            tasks.discard(asyncio.current_task())
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _request(reader: asyncio.StreamReader) -> tuple[dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    fields = [line.split(":", 1) for line in head.strip().split("\r\n")[1:]]
    headers = {name.lower(): value.strip() for name, value in fields}
    return headers, await reader.readexactly(int(headers["content-length"]))


async def _pour(writer: asyncio.StreamWriter, piece: bytes) -> None:
    while True:
        writer.write(piece)
        await writer.drain()
        # A receiver in the same loop as the test must not take all of its time.
        await asyncio.sleep(0.02)
