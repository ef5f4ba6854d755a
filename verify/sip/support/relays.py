"""Relays under test: Weir, and rtpengine, which these tests must like as well."""

import re
import subprocess
import time
import urllib.request
from abc import ABC, abstractmethod
from pathlib import Path

from . import ng
from .network import Network, UdpSocket
from .process import Process, binary, program, wait_until
from .switch import SETTINGS

NG_PORT = 2223
RTPPROXY_PORT = 22222
MEDIA_PORTS = range(30000, 40000)
# How long Weir learns where a party sends from; rtpengine takes three seconds.
LEARNING_S = 0.5
# A call without media is given up after this time, so that tests need not wait a minute for it.
MEDIA_TIMEOUT_S = 3


class Relay(ABC):
    """A running relay that speaks both protocols."""

    # Whether the first receiver report brings a mean opinion score.
    scores_at_once = True

    def __init__(self, network: Network, folder: Path) -> None:
        self._network = network
        self._folder = folder
        self._start()

    @abstractmethod
    def start(self, folder: Path) -> Process:
        """Starts it with its control sockets and media at `network.relay`."""

    def control(self, module: str) -> str:
        """Its address for Kamailio's module of that name."""
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
        sockets = self._network.sockets(self.process.pid)
        return [each for each in sockets if each.address == self._network.relay and each.port in MEDIA_PORTS]

    def relayed_in_front(self) -> int:
        """How many packets the kernel or a switch has relayed without it."""
        return 0

    def replace(self, gone_s: float) -> None:
        """Kills it, and starts it again after a while."""
        self.process.kill()
        time.sleep(gone_s)
        self._start()

    def stop(self) -> None:
        self.process.stop()

    def _start(self) -> None:
        self.process = self.start(self._folder)
        try:
            wait_until(self._answers, 10, "answered by the relay")
        except AssertionError as failure:
            self.stop()
            raise AssertionError(f"{failure}; it said: {self.process.said()}") from None

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

    scores_at_once = False

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


class Weir(Relay):
    """The program this repository builds."""

    def start(self, folder: Path) -> Process:
        return _weir(self._network, folder, _SECTION)


class WeirInFront(Weir):
    """The same, with an offload in front of it."""

    # The metric of the offload's packets.
    counts = ""

    def metric(self, name: str) -> int:
        """A sample of its metrics, 0 if it is missing."""
        straight = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with straight.open(f"http://{self._network.relay}:7880/metrics", timeout=2) as answer:
            text = answer.read().decode()
        line = re.search(rf"^{re.escape(name)} (\d+)$", text, re.MULTILINE)
        return int(line.group(1)) if line else 0

    def relayed_in_front(self) -> int:
        return self.metric(f'{self.counts}{{reason="relayed"}}')

    def start_with(self, folder: Path, offload: str) -> Process:
        allowed = f"  allow: [{self._network.prefix}.0/24]\n"
        return _weir(self._network, folder, f"{_SECTION}{allowed}{offload}metrics: {{open: true}}\n")


class WeirInKernel(WeirInFront):
    """With the kernel in front of it, on a cable."""

    counts = "weir_ebpf_total"

    def start(self, folder: Path) -> Process:
        self._pins = folder / "bpf"
        if not self._pins.is_mount():
            self._pins.mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", "bpf", "bpf", self._pins], check=True)
        return self.start_with(folder, f'rtc: {{offload: ebpf, ebpf: {{interfaces: [near0], pins: "{self._pins}/weir"}}}}\n')

    def stop(self) -> None:
        super().stop()
        # Pinned objects disappear with their file system.
        subprocess.run(["umount", self._pins], check=True)


class WeirBehindSwitch(WeirInFront):
    """With a P4 switch in front of it."""

    counts = "weir_p4_total"

    def start(self, folder: Path) -> Process:
        return self.start_with(folder, SETTINGS)

    def entries(self) -> int:
        """The entries of relays that the switch has."""
        return self.metric('weir_p4_entries{table="relay"}')

    def connected(self) -> bool:
        return self.metric("weir_p4_connected") == 1

    def relayed(self) -> int:
        """How many packets were relayed anywhere."""
        return self.metric('weir_dataplane_total{reason="relayed"}')

    def places(self) -> list[str]:
        """The place of each relay, as `weir inspect` has it."""
        command = [*self._network.at_relay, binary(), "inspect", "--server", f"{self._network.relay}:7880"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines = [line.split("\t") for line in told.splitlines()]
        return [place for entry, place in lines if entry.startswith("relay ")]


class WeirAsShown(Relay):
    """Weir with the section `sip` that a page shows, at addresses of ours."""

    def __init__(self, network: Network, folder: Path, shown: str) -> None:
        self._shown = shown
        super().__init__(network, folder)

    def start(self, folder: Path) -> Process:
        return _weir(self._network, folder, re.sub(r"127\.0\.0\.1|192\.0\.2\.1", self._network.relay, self._shown))


_SECTION = f"""
sip:
  ng: {{listen: "ADDRESS:{NG_PORT}"}}
  rtpproxy: {{listen: "ADDRESS:{RTPPROXY_PORT}"}}
  interfaces:
    - {{address: ADDRESS, ports: {MEDIA_PORTS.start}-{MEDIA_PORTS.stop - 1}}}
  learning_window: {LEARNING_S}
  media_timeout: {MEDIA_TIMEOUT_S}
  delete_delay: 0
  state: FOLDER/state
"""


def _weir(network: Network, folder: Path, section: str) -> Process:
    beside = f"bind: [{network.relay}]\nkeys: {{tests: of-no-use-to-anybody-but-these-tests}}\n"
    settings = folder / "weir.yaml"
    settings.write_text(beside + section.replace("ADDRESS", network.relay).replace("FOLDER", str(folder)))
    command = [*network.at_relay, binary(), "serve", "--config", settings]
    return Process(command, folder / "weir.log")


RELAYS = {
    "weir": Weir,
    "kernel": WeirInKernel,
    "switch": WeirBehindSwitch,
    "bmv2": WeirBehindSwitch,
    "rtpengine": Rtpengine,
}
