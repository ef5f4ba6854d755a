"""Workers of agents: that of LiveKit's SDK as a process, and one spoken by hand."""

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from livekit.protocol import agent
from websockets.asyncio.client import ClientConnection, connect

from .tokens import DEV_KEY, DEV_SECRET, token
from .wait import until

AGENTS = Path(__file__).parents[1] / "agents"


class SdkWorker:
    """A process of `livekit-agents`, with its jobs' processes in its group."""

    def __init__(self, process: subprocess.Popen, log: Path) -> None:
        self._process = process
        self.log = log

    def kill(self) -> None:
        """Ends it and its jobs without a word."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextlib.asynccontextmanager
async def sdk_worker(url: str) -> AsyncIterator[SdkWorker]:
    """A worker that has registered."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        environment = os.environ | {
            "LIVEKIT_URL": url,
            "LIVEKIT_API_KEY": DEV_KEY,
            "LIVEKIT_API_SECRET": DEV_SECRET,
        }
        command = [AGENTS / ".venv/bin/python", AGENTS / "echo.py", "start"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        worker = SdkWorker(process, log)
        try:
            await until("the worker registers", lambda: "registered worker" in log.read_text(), 60, log.read_text)
            yield worker
        finally:
            worker.kill()


class RawWorker:
    """A worker that says what a test has it say."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def say(self, **message) -> None:
        """Sends one message, by the name of its kind."""
        await self.socket.send(agent.WorkerMessage(**message).SerializeToString())

    async def hear(self, seconds: float = 20) -> agent.ServerMessage:
        """The next message."""
        frame = await asyncio.wait_for(self.socket.recv(), seconds)
        return agent.ServerMessage.FromString(frame)

    async def register(self, name: str, job_type: int = agent.JobType.JT_ROOM) -> None:
        await self.say(register=agent.RegisterWorkerRequest(agent_name=name, type=job_type))
        assert (await self.hear()).register.worker_id.startswith("AW_")

    async def close_code(self, seconds: float = 40) -> int | None:
        """The code that the server closes the connection with."""
        await asyncio.wait_for(self.socket.wait_closed(), seconds)
        return self.socket.close_code


@contextlib.asynccontextmanager
async def raw_worker(url: str, **claims) -> AsyncIterator[RawWorker]:
    """A connection that has not registered."""
    grants = claims.pop("grants", {"agent": True, "roomJoin": False})
    headers = {"Authorization": f"Bearer {token('', 'worker', grants=grants, **claims)}"}
    async with connect(f"{url}/agent", additional_headers=headers, proxy=None, max_size=None) as socket:
        yield RawWorker(socket)
