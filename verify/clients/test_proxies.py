"""Calls through the reverse proxies that the package has examples of, and through the balancer of a cluster."""

import asyncio
import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from support.flow import audio_flows, video_flows
from support.media import SIGNATURES
from support.sdk import SdkParticipant
from support.server import free_ports, server
from support.tokens import token
from support.wait import until
from support.whip import WhipParticipant

PACKAGING = Path(__file__).parents[2] / "packaging"
EXAMPLES = PACKAGING / "proxies"
PATHS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])


def program(name: str) -> str | None:
    """Where a proxy is installed."""
    return shutil.which(name, path=PATHS)


def proxies(*names: str):
    """Runs a test with each of these proxies that is installed."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=pytest.mark.skipif(not program(name), reason=f"{name} is not installed"))
            for name in names
        ],
    )


@proxies("nginx", "caddy", "haproxy")
@pytest.mark.timeout(60)
async def test_calls_and_whip_go_through_the_example_of_a_proxy(name):
    async with server(config="trusted_proxies: [127.0.0.1]\n") as weir, proxy(name, weir.port) as port:
        url = f"ws://127.0.0.1:{port}"
        alice, bob = (SdkParticipant(who, SIGNATURES[n]) for n, who in enumerate(("alice", "bob")))
        encoder = WhipParticipant("encoder", SIGNATURES[2])
        try:
            for single, participant in enumerate((alice, bob)):
                await participant.join(url, token("proxied", participant.identity), single=bool(single))
            await alice.publish_video()
            await alice.publish_audio()
            await asyncio.gather(video_flows(alice, bob), audio_flows(alice, bob))
            await encoder.publish_video()
            reply = await encoder.open(url, "/whip/v1", token("proxied", "encoder"))
            assert reply.status == 201, reply
            await video_flows(encoder, bob)
            await encoder.leave()
            await until("the encoder's end goes through the proxy", lambda: "encoder" not in bob.others, 5)
        finally:
            await asyncio.gather(alice.leave(), bob.leave())


# HAProxy's checks have an address, too, and would count among the clients here.
@proxies("nginx", "caddy")
@pytest.mark.parametrize("trusted", [True, False], ids=["named", "not named"])
@pytest.mark.timeout(60)
async def test_clients_of_a_proxy_have_limits_of_their_own_once_it_is_named(name, trusted):
    # Two requests at once of one address; one of them is held by each of four clients.
    limits = "limits: {connections_per_address: 2, requests_per_address: 2}\n"
    config = limits + ("trusted_proxies: [127.0.0.1]\n" if trusted else "")
    async with server(config=config) as weir, proxy(name, weir.port) as port:
        clients = [aiohttp.TCPConnector(local_addr=(f"127.0.0.{number}", 0)) for number in (2, 3, 4, 5)]
        sessions = [aiohttp.ClientSession(connector=connector) for connector in clients]
        try:
            joined = await asyncio.gather(
                *(_join(session, port, f"client-{number}") for number, session in enumerate(sessions))
            )
            assert joined.count(True) == (4 if trusted else 2), joined
        finally:
            await asyncio.gather(*(session.close() for session in sessions))


async def _join(session: aiohttp.ClientSession, port: int, identity: str) -> bool:
    """Whether a client joins, and stays."""
    query = {"access_token": token("limited", identity), "protocol": "16", "sdk": "js", "auto_subscribe": "1"}
    try:
        socket = await session.ws_connect(f"ws://127.0.0.1:{port}/rtc", params=query, timeout=aiohttp.ClientWSTimeout(5))
        await socket.receive(timeout=5)
        await asyncio.sleep(1)
        return not socket.closed and not (await _is_over(socket))
    except (aiohttp.ClientError, TimeoutError):
        return False


async def _is_over(socket: aiohttp.ClientWebSocketResponse) -> bool:
    try:
        kinds = aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR
        while True:
            if (await socket.receive(timeout=0.3)).type in kinds:
                return True
    except TimeoutError:
        return False


@contextlib.asynccontextmanager
async def proxy(name: str, weir_port: int) -> AsyncIterator[int]:
    """Runs a proxy by its example; gives its port."""
    port = free_ports()
    with tempfile.TemporaryDirectory() as folder:
        command = {"nginx": _nginx, "caddy": _caddy, "haproxy": _haproxy}[name](Path(folder), port, weir_port)
        home = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        with open(f"{folder}/output", "wb") as output:
            process = subprocess.Popen(command, env=home, stdout=output, stderr=subprocess.STDOUT)
        try:
            await until(f"{name} listens", lambda: _listens(port) or _ended(process, folder), 10)
            yield port
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, 10)


def _nginx(folder: Path, port: int, weir_port: int) -> list[str]:
    example = (EXAMPLES / "nginx.conf").read_text().replace("127.0.0.1:7880", f"127.0.0.1:{weir_port}")
    example = re.sub(r"\n *(listen \[::\]|ssl_certificate).*", "", example).replace("listen 443 ssl", f"listen {port}")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    settings = f"daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {temporary} {example} }}"
    (folder / "nginx.conf").write_text(settings)
    return [program("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")]


def _caddy(folder: Path, port: int, weir_port: int) -> list[str]:
    example = (EXAMPLES / "Caddyfile").read_text().replace("127.0.0.1:7880", f"127.0.0.1:{weir_port}")
    example = example.replace("\nmeet.example.com {", f"\n{{\n\tadmin off\n}}\nhttp://127.0.0.1:{port} {{")
    (folder / "Caddyfile").write_text(example)
    return [program("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def _haproxy(folder: Path, port: int, weir_port: int) -> list[str]:
    example = (PACKAGING / "compose/haproxy.cfg").read_text().replace("bind :7880", f"bind 127.0.0.1:{port}")
    (folder / "haproxy.cfg").write_text(re.sub(r"controller-\d:7880", f"127.0.0.1:{weir_port}", example))
    return [program("haproxy"), "-db", "-f", str(folder / "haproxy.cfg")]


def _ended(process: subprocess.Popen, folder: str) -> bool:
    assert process.poll() is None, Path(folder, "output").read_text()
    return False


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
