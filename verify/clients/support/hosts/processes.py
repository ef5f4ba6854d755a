"""Programs of a cluster, each at its place."""

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from datetime import datetime
from pathlib import Path

from ..server import free_ports
from ..wait import until
from .network import Place

START_S = 20
# Machines answer questions about themselves only to those who have it, as they come from elsewhere.
METRICS_TOKEN = "a-token-of-the-tests-for-metrics"
# Debian's haproxy is not where a user's programs are.
os.environ["PATH"] += os.pathsep + "/usr/sbin"


class Process:
    """A program that runs, and may run again."""

    def __init__(self, folder: Path, name: str, place: Place, command: list) -> None:
        self.name = name
        self.place = place
        # `ip netns exec` becomes the program, so signals reach that.
        self._command = [str(part) for part in (*place.within, *command)]
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def times(self, event: str) -> list[float]:
        """The Unix times of the lines of its log that have an event in them."""
        lines = [line.split() for line in self.log.splitlines() if event in line]
        return [datetime.fromisoformat(line[0].replace("Z", "+00:00")).timestamp() for line in lines]

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        if self.is_running:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
        if self._process is not None:
            self._process.wait()

    async def end(self, seconds: float = 10) -> None:
        """Asks it to end."""
        self.signal(signal.SIGTERM)
        await until(f"{self.name} ends when it is asked to", lambda: not self.is_running, seconds)


class Store(Process):
    """The store of a cluster. `data` is where it keeps what it has, `setting` how machines find it."""

    def __init__(self, folder: Path, name: str, place: Place, command: list, data: Path, setting: str) -> None:
        super().__init__(folder, name, place, command)
        self.setting = setting
        self._data = data

    def forget(self) -> None:
        """Loses everything that it has."""
        self.kill()
        shutil.rmtree(self._data, ignore_errors=True)
        self._data.mkdir()
        self.start()


def etcd(folder: Path, place: Place) -> Store:
    client, peer = (f"http://{place.address}:{free_ports()}" for _ in range(2))
    data = folder / "etcd"
    command = ["etcd", "--data-dir", data, "--listen-client-urls", client, "--advertise-client-urls", client]
    command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
    command += ["--initial-cluster", f"default={peer}"]
    return Store(folder, "etcd", place, command, data, f"{{etcd: {{endpoints: ['{client}']}}}}")


def redis(folder: Path, place: Place) -> Store:
    port = free_ports()
    data = folder / "redis"
    data.mkdir()
    command = ["redis-server", "--bind", place.address, "--port", port, "--dir", data, "--save", ""]
    # Without it nobody may come from another machine, as there is no password.
    command += ["--protected-mode", "no"]
    return Store(folder, "redis", place, command, data, f"{{redis: {{address: '{place.address}:{port}'}}}}")


class Machine(Process):
    """A process of Weir, which has a port for HTTP."""

    def __init__(self, folder: Path, name: str, place: Place, command: list, port: int) -> None:
        super().__init__(folder, name, place, command)
        self.port = port
        self.url = f"ws://{place.address}:{port}"

    def status(self, path: str) -> int:
        """The status of an answer, 0 for none; blocks."""
        try:
            with self._ask(path) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code
        except OSError:
            return 0

    def figure(self, name: str) -> float:
        """The sum of a metric; blocks."""
        with self._ask("/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))

    def overview(self) -> dict:
        """The cluster as this controller knows it; blocks."""
        with self._ask("/api/cluster") as answer:
            return json.load(answer)

    async def is_ready(self) -> None:
        await until(f"{self.name} is ready", lambda: self._is_there("/readyz"), START_S, lambda: self.log[-2000:])

    def _is_there(self, path: str) -> bool:
        assert self.is_running, f"{self.name} ended:\n{self.log[-2000:]}"
        time.sleep(0.05)
        return self.status(path) == 200

    def _ask(self, path: str):
        headers = {"Accept": "application/json", "Authorization": f"Bearer {METRICS_TOKEN}"}
        request = urllib.request.Request(f"http://{self.place.address}:{self.port}{path}", headers=headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return opener.open(request, timeout=3)
