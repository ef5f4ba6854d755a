"""sipp, playing one side of many calls."""

import csv
from dataclasses import dataclass
from pathlib import Path

from .process import Process, program

PORT = 5060
MEDIA_PORT = 10000
# sipp gives call N the port MEDIA_PORT + PORTS_APART * (N - 1), which is where its phone listens.
PORTS_APART = 4


@dataclass(frozen=True)
class Outcome:
    """The counters of sipp."""

    exit_code: int
    successful: int
    failed: int
    repeated: int


class Sipp:
    """One side: callers when told whom to call and how fast, else callees."""

    def __init__(
        self,
        folder: Path,
        name: str,
        scenario: str,
        address: str,
        calls: int,
        limit_s: float,
        proxy: str | None = None,
        rate: int = 10,
    ) -> None:
        self.name = name
        self.talks = folder / f"{name}.talks"
        self._errors = folder / f"{name}.errors"
        self._counts = folder / f"{name}.csv"
        self._limit_s = limit_s
        file = folder / f"{name}.xml"
        file.write_text(scenario)
        # It opens the first media ports itself, and those of `address` are the phones'.
        network, _, host = address.rpartition(".")
        media = f"{network}.{int(host) + 100}"
        where = [proxy, "-r", str(rate)] if proxy else []
        self.process = Process(
            [
                *[program("sipp"), *where, "-sf", file, "-m", str(calls), "-l", str(calls)],
                *["-i", address, "-mi", media, "-p", str(PORT), "-mp", str(MEDIA_PORT), "-nostdin"],
                *["-timeout", f"{int(limit_s)}s", "-timeout_error", "-default_behaviors", "none"],
                *["-trace_logs", "-log_file", self.talks, "-trace_err", "-error_file", self._errors],
                *["-trace_stat", "-stf", self._counts, "-fd", "1"],
            ],
            folder / f"{name}.log",
        )

    def ended(self) -> Outcome:
        """Waits until all its calls are over."""
        code = self.process.wait(self._limit_s + 5)
        if not self._counts.exists():
            raise AssertionError(f"sipp as {self.name} did not start: {self.complaints()}")
        with self._counts.open() as file:
            *_, last = csv.DictReader(file, delimiter=";")
        return Outcome(
            code,
            int(last["SuccessfulCall(C)"]),
            int(last["FailedCall(C)"]),
            int(last["Retransmissions(C)"]),
        )

    def complaints(self) -> str:
        return self._errors.read_text(errors="replace")[:4000] if self._errors.exists() else ""

    def stop(self) -> None:
        self.process.stop()
