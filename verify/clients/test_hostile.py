"""Hostile clients, a full disk and an unread log do not disturb a call beside them."""

import asyncio
import contextlib
import fcntl
import os
import select

import pytest
from livekit.protocol import rtc as protocol
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.exceptions import ConnectionClosed

from support import chatter, descriptions, sluggish
from support.bystander import Bystander, calling
from support.server import server
from support.tokens import token
from support.wait import until

# A short timeout keeps the test short. A request that is served for twice the timeout is taken to
# be served for ever.
REQUEST_TIMEOUT_S = 2
BRIEF = f"limits: {{request_timeout: {REQUEST_TIMEOUT_S}}}\n"


async def test_slow_clients_are_cut_off_and_cost_nobody_anything():
    async with server(config=BRIEF) as weir, calling(weir.url) as call, call.unharmed():
        streams = [(kind, sluggish.connect(weir.port, kind)) for kind in sluggish.KINDS]
        try:
            outlasted = await asyncio.gather(
                *(sluggish.outlasts(stream, kind, 4 * REQUEST_TIMEOUT_S + 2) for kind, stream in streams)
            )
        finally:
            for _, stream in streams:
                stream.close()
        served = [kind.name for (kind, _), lasts in zip(streams, outlasted, strict=True) if lasts]
        assert not served, f"still served: {served}"


async def test_one_address_with_thousands_of_connections_keeps_nobody_out():
    limits = "limits: {connections: 1000, requests_per_address: 400}\n"
    kind = next(kind for kind in sluggish.KINDS if kind.name == "stops within a body")
    async with server(config=limits) as weir, calling(weir.url) as call, call.unharmed():
        streams = []
        try:
            for _ in range(20):
                streams += [sluggish.connect(weir.port, kind) for _ in range(100)]
                await asyncio.sleep(0.05)
            assert (await asyncio.to_thread(weir.get, "/healthz"))[0] == 200
            late = Bystander(weir.url)
            await late.join()
            await late.leave()
            ended = sum(sluggish.has_ended(stream, kind) for stream in streams)
            assert ended >= 2000 - 400, f"{2000 - ended} of 2000 are served at a time"
            assert await weir.figure('weir_http_connections_closed_total{reason="address_limit"}') > 0
        finally:
            for stream in streams:
                stream.close()


async def test_clients_that_read_nothing_cost_a_bounded_amount_of_memory():
    async with server() as weir, calling(weir.url) as call, call.unharmed():
        before = weir.memory_mb
        address = f"{weir.url}/rtc?protocol=16&sdk=python&access_token="
        async with contextlib.AsyncExitStack() as sockets:
            for number in range(20):
                deaf = connect(address + token("deaf", f"deaf-{number}"), proxy=None, max_queue=1, ping_interval=None)
                socket = await sockets.enter_async_context(deaf)
                # A client that sends JSON is answered in JSON, in which each of these characters
                # takes six.
                await socket.send('{"pingReq":{"timestamp":"1"}}')
                socket.transport.pause_reading()
                sockets.callback(socket.transport.abort)
            talker = await sockets.enter_async_context(connect(address + token("deaf", "talker"), proxy=None))
            reading = asyncio.create_task(_drain(talker))
            # Each of its changes also sends the talker a new token; if those arrive faster than it
            # reads, it is cut off as well.
            with contextlib.suppress(ConnectionClosed):
                for number in range(30):
                    metadata = protocol.UpdateParticipantMetadata(
                        metadata="\x01" * 65_000 + str(number), attributes={"key": "\x01" * 60_000}
                    )
                    await talker.send(protocol.SignalRequest(update_metadata=metadata).SerializeToString())
                    await asyncio.sleep(0.1)
            await until("little waits for the deaf", lambda: weir.memory_mb < before + 200, 10, lambda: weir.memory_mb)
            reading.cancel()


async def test_updates_of_a_participant_are_rate_limited():
    async with server() as weir, calling(weir.url) as call, call.unharmed():
        listener = chatter.Listener(weir.url, call.room)
        async with listener.listening():
            await asyncio.sleep(0.5)
            before = listener.received
            await chatter.says_much_at_joining(weir.url, call.room, 20)
            await chatter.says_much_of_a_track(weir.url, call.room)
            few = listener.received - before
            assert few < 100_000, f"{few} bytes about somebody who joins with a million capabilities"
            seconds = await chatter.says_little_often(weir.url, call.room, 300)
            many = listener.received - before - few
            # The whole state of a participant is sent with each change, so the last one before the
            # account is empty may be complete.
            allowed = (1 << 20) + seconds * (128 << 10) + 3 * 130_000
            assert many < allowed, f"{many} bytes about 300 changes of 10 in {seconds:.1f} s"
            assert listener.longest < 500_000


async def test_descriptions_that_grow_when_they_are_read_cost_a_bounded_amount():
    async with server() as weir, calling(weir.url) as call, call.unharmed():
        for number, (kind, sdp) in enumerate(descriptions.bombs()):
            with contextlib.suppress(WebSocketException):
                await descriptions.join_with(weir.url, "descriptions", f"bomber-{number}", sdp)
            assert weir.is_running, f"the server ended with {kind}"
            assert weir.memory_mb < 200, f"{weir.memory_mb} MB with {kind}"


@pytest.mark.parametrize("log", ["full disk", "pipe nobody reads"])
async def test_a_log_that_cannot_be_written_stops_nothing(log):
    with contextlib.ExitStack() as files:
        arguments = []
        if log == "full disk":
            stderr = files.enter_context(open("/dev/full", "w"))
        else:
            unread, stderr = os.pipe()
            files.callback(os.close, unread)
            files.callback(os.close, stderr)
            fcntl.fcntl(stderr, fcntl.F_SETPIPE_SZ, select.PIPE_BUF)
            # Enough lines to fill it several times.
            arguments = ["--log", "trace"]
        async with server(*arguments, stderr=stderr) as weir:
            async with calling(weir.url) as call, call.unharmed():
                for _ in range(2):
                    async with calling(weir.url):
                        pass
                assert (await asyncio.to_thread(weir.get, "/healthz"))[0] == 200
                if log == "full disk":
                    assert await weir.figure("weir_log_lines_lost_total") > 0
                else:
                    writable = select.select([], [stderr], [], 0)[1]
                    assert not writable, "the pipe is full"
            assert await weir.end() == 0


async def _drain(socket) -> None:
    with contextlib.suppress(Exception):
        async for _ in socket:
            pass
