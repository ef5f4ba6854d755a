"""A service manager that keeps the HTTP port of a Weir that is killed: clients wait for the next process."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.server import BINARY, free_ports
from support.wait import until

SECONDS = 15
# The files of a service begin with number 3, and the process is named by its number.
HAND_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.timeout(60)
async def test_a_request_to_a_killed_server_is_answered_by_the_next_process(tmp_path):
    port = free_ports()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.bind(str(tmp_path / "notify"))
        notices.settimeout(SECONDS)
        with _weir(tmp_path, port) as first:
            kept = await asyncio.to_thread(_kept, notices)
            first.kill()
            first.wait()
        try:
            # The kernel takes the connection, as the port is open without a process.
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
            await writer.drain()
            with _weir(tmp_path, port, kept) as second:
                status = await asyncio.wait_for(reader.readline(), SECONDS)
                assert status.startswith(b"HTTP/1.") and b" 200 " in status, status
                second.terminate()
                await until("the server ends", lambda: second.poll() is not None, SECONDS)
            writer.close()
        finally:
            os.close(kept)


def _kept(notices: socket.socket) -> int:
    """The file that the server asks its manager to keep."""
    while True:
        message, files, _, _ = socket.recv_fds(notices, 4096, 1)
        if message.startswith(b"FDSTORE=1\n"):
            assert message.split(b"FDNAME=")[1].startswith(b"http-127.0.0.1_") and len(files) == 1, message
            return files[0]


@contextlib.contextmanager
def _weir(folder: Path, port: int, kept: int | None = None):
    """A server under a service manager, which hands over the file that it has kept."""
    where = ["--bind", "127.0.0.1", "--node-ip", "127.0.0.1", "--port", str(port), "--rtc-port", str(free_ports())]
    environment = {**os.environ, "NOTIFY_SOCKET": str(folder / "notify")}
    command = [str(BINARY), "serve", "--dev", *where]
    if kept is not None:
        command = [sys.executable, "-c", HAND_OVER, str(kept), *command]
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, pass_fds=() if kept is None else (kept,)
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
