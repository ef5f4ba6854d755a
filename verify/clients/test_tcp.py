"""Media over TCP: an independent client's call, and connections that are of no use."""

import asyncio

import pytest

from support.aiortc import link
from support.aiortc.participant import aiortc_call
from support.server import Server, free_ports, server
from support.tcp_shim import tcp_shim

LAYOUTS = pytest.mark.parametrize("single", [False, True], ids=["rtc", "rtc/v1"])


@LAYOUTS
async def test_a_call_passes_over_tcp_alone(single, monkeypatch):
    port = free_ports()
    async with server(config=f"rtc: {{tcp_port: {port}}}\n") as weir, tcp_shim(port) as shim:
        prepare = link._without_placeholders
        monkeypatch.setattr(link, "_without_placeholders", lambda sdp: prepare(shim.redirect(sdp)))
        async with aiortc_call(weir.url, "tcp", single=single) as people:
            assert shim.connections >= 2 and shim.datagrams > 100
            assert 2 <= await weir.figure("weir_tcp_connections") <= shim.connections
            failures = {person.identity: person.connection.failures() for person in people}
            assert not any(failures.values()), failures
        # Connections end with the transports that they belonged to.
        await _all_closed(weir)


async def test_useless_connections_are_closed():
    port = free_ports()
    async with server(config=f"rtc: {{tcp_port: {port}}}\n") as weir:
        useless = {
            "nothing": b"",
            "a part of a frame": b"\x00\x14\x00",
            "another protocol": b"GET / HTTP/1.1\r\n\r\n",
            "a long frame": b"\xff\xff",
            "media": b"\x00\x0c" + b"\x80\x60" + bytes(10),
        }
        # A check of nobody's, which is taken and leads to nothing.
        useless["a check of nobody's"] = b"\x00\x14" + b"\x00\x01\x00\x00\x21\x12\xa4\x42" + bytes(12)
        ended = await asyncio.gather(*(_is_closed(port, sent) for sent in useless.values()))
        left = [name for name, is_closed in zip(useless, ended, strict=True) if not is_closed]
        assert not left, f"still open: {left}"
        for reason in ("no_frame", "not_stun", "too_long", "unclaimed"):
            assert await weir.figure(f'weir_tcp_events_total{{reason="{reason}"}}') >= 1, reason
        await _all_closed(weir)


async def _all_closed(weir: Server, seconds: float = 60.0) -> None:
    """Waits until the server has no connection."""
    async with asyncio.timeout(seconds):
        while await weir.figure("weir_tcp_connections") > 0:
            await asyncio.sleep(0.5)


async def _is_closed(port: int, sent: bytes, seconds: float = 60.0) -> bool:
    """Whether the server closes a connection on which only this is sent, without having said anything."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        async with asyncio.timeout(seconds):
            return await reader.read(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    finally:
        writer.close()
