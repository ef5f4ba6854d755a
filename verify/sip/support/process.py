"""Programs that run beside a test and end with it, however it ends."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STOP_S = 5.0
# Processes that the tests start end with them, however the tests end.
_WITH_US = ["setpriv", "--pdeathsig", "TERM", "--"]


def program(name: str) -> str | None:
    """The path of a program; daemons are often outside the search path of users other than root."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def binary() -> Path:
    """The program that this repository builds."""
    found = Path(os.environ.get("WEIR_BINARY", ROOT / "target" / "release" / "weir"))
    assert found.exists(), f"{found} is missing: build it (make build), or set WEIR_BINARY"
    return found


class Process:
    """A program with a group of its own and a file for all it says."""

    def __init__(self, command: Sequence[str | Path], log: Path) -> None:
        self.log = log
        self._name = log.stem
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                [*_WITH_US, *(str(word) for word in command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    def running(self) -> bool:
        return self._child.poll() is None

    def wait(self, timeout_s: float) -> int:
        """Its exit code; one that takes longer is stopped, and that is a failure."""
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.stop()
            raise AssertionError(f"{self._name} did not end within {timeout_s} s: {self.said()}") from None

    def signal(self, number: int) -> None:
        self._child.send_signal(number)

    def kill(self) -> None:
        """Ends it without a word: nothing of it runs any more."""
        self._child.kill()
        self._child.wait()

    def stop(self) -> None:
        """Ends it and all it started."""
        if self.running():
            self._child.terminate()
            try:
                self._child.wait(STOP_S)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._child.wait()

    def said(self) -> str:
        """The end of what it said."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])

    def cpu_s(self) -> float:
        """Processor time of it and of its children that still run."""
        ticks = sum(_ticks(stat) for stat in _stats() if _group(stat) == self._child.pid)
        return ticks / os.sysconf("SC_CLK_TCK")


def wait_until(condition, timeout_s: float, what: str) -> None:
    """Waits for something that is looked at twenty times a second."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"after {timeout_s} s: not {what}"
        time.sleep(0.05)


def _stats() -> list[list[str]]:
    """/proc/PID/stat of every process, from the third field on; names in the second may hold anything."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found.append(path.read_text().rpartition(") ")[2].split())
        except OSError:
            continue
    return found


def _group(stat: list[str]) -> int:
    return int(stat[2])


def _ticks(stat: list[str]) -> int:
    return int(stat[11]) + int(stat[12])
