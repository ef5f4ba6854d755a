"""A server of a test's own, for what the one all tests share cannot show: its limits, its log, its end."""

import asyncio
import contextlib
import itertools
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

from .wait import until

BINARY = Path(os.environ.get("WEIR_BINARY") or Path(__file__).parents[3] / "target/release/weir")
# Ports for servers, below those that the system chooses: a client that looks for a server at one of
# the latter can connect to itself, and any other socket may be given it before the server takes it.
_PORTS = range(22_000, 30_000)
# Processes with neighbouring ids start far from each other: this is a prime near the golden section
# of the range.
_STRIDE = 4_943
_next_port = itertools.count(os.getpid() * _STRIDE)


class Server:
    """A running `weir serve --dev` on free ports of loopback."""

    def __init__(self, process: subprocess.Popen, port: int) -> None:
        self.port = port
        self.url = f"ws://127.0.0.1:{port}"
        self._process = process

    @property
    def memory_mb(self) -> int:
        """Resident memory."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) // 1024
        raise AssertionError("the server is gone")

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of an answer; blocks."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    async def figure(self, name: str) -> float:
        """One of its metrics, by the beginning of its line."""
        _, text = await asyncio.to_thread(self.get, "/metrics")
        found = [line.rsplit(" ", 1)[1] for line in text.splitlines() if line.startswith(name)]
        assert found, f"there is no {name} in /metrics"
        return float(found[0])

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    async def end(self, seconds: float = 10.0) -> int:
        """Asks it to end, and returns its exit status."""
        self.signal(signal.SIGTERM)
        await until("the server ends when it is asked to", lambda: not self.is_running, seconds)
        return self._process.returncode

    def kill(self) -> None:
        if self.is_running:
            self._process.kill()
        self._process.wait()


@contextlib.asynccontextmanager
async def server(
    *arguments: str, config: str = "", media_ports: int = 1, stderr=subprocess.DEVNULL
) -> AsyncIterator[Server]:
    """Starts one, with these lines as its configuration file and its log in `stderr`; ends with the block.

    With several UDP ports for media each is one worker's.
    """
    assert BINARY.is_file(), f"{BINARY} is missing: build it (make build), or set WEIR_BINARY"
    port, rtc = free_ports(), free_ports(media_ports)
    rtc_ports = str(rtc) if media_ports == 1 else f"{rtc}-{rtc + media_ports - 1}"
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "weir.yaml"
        settings.write_text(config)
        where = ["--bind", "127.0.0.1", "--node-ip", "127.0.0.1", "--port", str(port), "--rtc-port", rtc_ports]
        process = subprocess.Popen(
            [BINARY, "serve", "--dev", "--config", settings, *where, *arguments], stdout=subprocess.DEVNULL, stderr=stderr
        )
        running = Server(process, port)
        try:
            await until("the server is well", lambda: _is_well(running), 10)
            yield running
        finally:
            running.kill()


def _is_well(server: Server) -> bool:
    assert server.is_running, "the server ended at its start"
    try:
        return server.get("/healthz")[0] == 200
    except OSError:
        time.sleep(0.05)
        return False


def free_ports(count: int = 1) -> int:
    """The first of so many ports in a row that are free for TCP and UDP at all addresses."""
    row = 0
    for number in itertools.islice(_next_port, len(_PORTS)):
        port = _PORTS[number % len(_PORTS)]
        # A row does not go on from the last port of the range to the first.
        row = (row if port > _PORTS.start else 0) + 1 if _is_free(port) else 0
        if row == count:
            return port - count + 1
    raise AssertionError(f"there are no {count} free ports in a row")


def _is_free(port: int) -> bool:
    try:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(socket.AF_INET, kind) as probe:
                probe.bind(("", port))
    except OSError:
        return False
    return True
