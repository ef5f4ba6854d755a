"""A cable between two hosts that loses, delays and narrows what crosses it."""

import json
import os
import subprocess
from pathlib import Path

NETEM = Path(os.environ.get("NETEM_BINARY") or Path(__file__).parents[4] / "target/release/weir-netem")
_END_S = 3


class Line:
    """The relay between the interfaces `near` and `far` of a namespace, until it is removed."""

    def __init__(self, within: tuple[str, ...]) -> None:
        assert NETEM.is_file(), f"{NETEM} is missing: build it (make build), or set NETEM_BINARY"
        # It ends with its input, so it does not outlive the test.
        self._relay = subprocess.Popen(
            [*within, NETEM, "near", "far"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def set(self, **settings: str) -> dict:
        """Conditions of both directions from here on, as `loss="5%"`; returns the frames of each way so far."""
        words = " ".join(f"{name} {value}" for name, value in settings.items())
        self._relay.stdin.write(f"both {words}\n")
        self._relay.stdin.flush()
        return json.loads(self._relay.stdout.readline())

    def remove(self) -> None:
        self._relay.stdin.close()
        try:
            self._relay.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._relay.kill()
            self._relay.wait()
