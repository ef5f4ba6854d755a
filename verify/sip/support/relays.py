"""Relays under test: Weir, and rtpengine, which these tests must like as well."""

import os
from abc import ABC, abstractmethod
from pathlib import Path

from . import ng
from .network import Network, UdpSocket
from .process import Process, program, wait_until

NG_PORT = 2223
RTPPROXY_PORT = 22222
MEDIA_PORTS = range(30000, 40000)
# A call in which nothing moves is given up after this time, so that tests need not wait a minute for it.
MEDIA_TIMEOUT_S = 2
ROOT = Path(__file__).resolve().parents[3]


class Relay(ABC):
    """A running relay that speaks both protocols."""

    def __init__(self, network: Network, folder: Path) -> None:
        self._network = network
        self.process = self.start(folder)
        wait_until(self._answers, 10, f"an answer from the relay: {self.process.said()}")

    @abstractmethod
    def start(self, folder: Path) -> Process:
        """Starts it with its control sockets and media at `network.relay`."""

    def control(self, module: str) -> str:
        """Where Kamailio's module of that name finds it."""
        port = {"rtpengine": NG_PORT, "rtpproxy": RTPPROXY_PORT}[module]
        return f"udp:{self._network.relay}:{port}"

    def calls(self) -> list[str]:
        """The calls it knows."""
        return self._ask("list", limit="10000")["calls"]

    def query(self, call: str) -> dict:
        """All it knows of a call."""
        return self._ask("query", call_id=call)

    def open_ports(self) -> list[UdpSocket]:
        """The ports it has open for media, as the operating system sees it."""
        sockets = self._network.sockets()
        return [each for each in sockets if each.address == self._network.relay and each.port in MEDIA_PORTS]

    def keeps_ports(self, module: str) -> bool:
        """Whether the ports of a call stay when its description changes."""
        return True

    def stop(self) -> None:
        self.process.stop()

    def _ask(self, command: str, **keys: str) -> dict:
        return ng.request((self._network.relay, NG_PORT), command, **keys)

    def _answers(self) -> bool:
        assert self.process.running(), self.process.said()
        try:
            return self._ask("ping")["result"] == "pong"
        except OSError:
            return False


class Rtpengine(Relay):
    """Debian's rtpengine without its kernel module."""

    def start(self, folder: Path) -> Process:
        at = self._network.relay
        return Process(
            [
                program("rtpengine"),
                "--foreground",
                "--log-stderr",
                "--log-level=5",
                "--table=-1",
                f"--interface={at}",
                f"--listen-ng={at}:{NG_PORT}",
                f"--listen-udp={at}:{RTPPROXY_PORT}",
                f"--port-min={MEDIA_PORTS.start}",
                f"--port-max={MEDIA_PORTS.stop - 1}",
                f"--timeout={MEDIA_TIMEOUT_S}",
                "--delete-delay=0",
            ],
            folder / "rtpengine.log",
        )

    def keeps_ports(self, module: str) -> bool:
        return module == "rtpengine"


class Weir(Relay):
    """The program this repository builds."""

    def start(self, folder: Path) -> Process:
        binary = Path(os.environ.get("WEIR_BIN", ROOT / "target" / "release" / "weir"))
        assert binary.exists(), f"{binary} is missing: build it (make build), or set WEIR_BIN"
        at = self._network.relay
        settings = folder / "weir.yaml"
        settings.write_text(
            f"""
bind: {at}
keys: {{ tests: only-for-tests-and-never-in-the-wild }}
rtc: {{ node_ip: ["{at}"] }}
sip:
  ng: {{ listen: "{at}:{NG_PORT}" }}
  rtpproxy: {{ listen: "{at}:{RTPPROXY_PORT}" }}
  interfaces: [{{ address: "{at}", ports: {MEDIA_PORTS.start}-{MEDIA_PORTS.stop - 1} }}]
  media_timeout: {MEDIA_TIMEOUT_S}
  delete_delay: 0
"""
        )
        return Process([binary, "serve", "--config", settings], folder / "weir.log")


RELAYS = {"weir": Weir, "rtpengine": Rtpengine}
