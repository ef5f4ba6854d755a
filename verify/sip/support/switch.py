"""A P4 switch between the relay and everybody else, as their router, and a cable beside it:

    relay ("near") ---- the switch ---- everybody else ("far")
       |      +--- P4Runtime --+             |
       +----------- the cable beside it -----+

Routes lead through the switch. While it is down, they can be laid along the other cable.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from .cable import FAR_HOSTS, PREFIX
from .namespaces import Namespaces, Unavailable, run
from .network import Network
from .process import Process, binary, program, wait_until

_RUNTIME_PORT = 9559
_MANAGEMENT, _MANAGED = "198.19.77.1", "198.19.77.2"
# The switch's own address at each of its ports, and the port behind which the relay is.
_GATEWAYS = {1: f"{PREFIX}.253", 2: f"{PREFIX}.254"}
_HOST_PORT = 1
_CPU_PORT = 510
_START_S = 15


def _simulator(folder: Path) -> list[str | Path]:
    ports = [word for port in _GATEWAYS for word in ("--port", f"{port}@port{port}")]
    simulator = binary().with_name("weir-switch-sim")
    assert simulator.exists(), f"{simulator} is missing: build it (cargo build -p switch-sim), beside WEIR_BINARY"
    return [simulator, "--listen", f"{_MANAGED}:{_RUNTIME_PORT}", *ports]


def _bmv2(folder: Path) -> list[str | Path]:
    switch = program("simple_switch_grpc")
    if not switch:
        raise Unavailable("there is no simple_switch_grpc on the path")
    ports = [word for port in _GATEWAYS for word in ("-i", f"{port}@port{port}")]
    own = ["--no-p4", "--device-id", "1", "--log-level", "off"]
    # One that was built without nanomsg does not know the option.
    help_text = subprocess.run([switch, "--help"], capture_output=True, text=True, check=False)
    if "--notifications-addr" in help_text.stdout + help_text.stderr:
        own += ["--notifications-addr", f"ipc://{folder}/bmv2.ipc"]
    target = ["--grpc-server-addr", f"{_MANAGED}:{_RUNTIME_PORT}", "--cpu-port", f"{_CPU_PORT}"]
    # It drops packets once 64 wait for one of its threads, as on a machine that is busy with other
    # things.
    first = ["chrt", "--rr", "10"] if program("chrt") else []
    return [*first, switch, *own, *ports, "--", *target]


# How each kind of switch is started.
SWITCHES: dict[str, Callable[[Path], list[str | Path]]] = {"switch": _simulator, "bmv2": _bmv2}


def _mac(port: int, last: str) -> str:
    return f"02:00:00:00:0{port}:{last}"


# Weir's settings for this network.
SETTINGS = f"""
rtc:
  offload: p4
  p4:
    switch: {_MANAGED}:{_RUNTIME_PORT}
    host: {_HOST_PORT}
    ports:
      - {{port: 1, mac: "{_mac(1, "fe")}", addresses: [{_GATEWAYS[1]}], routes: [{{to: {PREFIX}.1/32, via: "{_mac(1, "01")}"}}]}}
      - {{port: 2, mac: "{_mac(2, "fe")}", addresses: [{_GATEWAYS[2]}], routes: [{{to: {PREFIX}.0/24, via: "{_mac(2, "01")}"}}]}}
"""


class Switch:
    """The namespaces and the switch, without a program in it; from here on the test runs in the far one."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._command = SWITCHES[kind](folder)
        self._log = folder / "switch.log"
        self._namespaces = Namespaces(["ip", "ethtool", "setpriv", "sysctl"], "near", "far", "switch")
        self._process: Process | None = None
        try:
            self._lay()
            self.start()
            self.route_through()
            self._namespaces.enter("far")
        except BaseException:
            self.remove()
            raise
        self.network = Network(PREFIX, self._namespaces.within("near"))

    def start(self) -> None:
        self._process = Process([*self._namespaces.within("switch"), *self._command], self._log)
        wait_until(self._listens, _START_S, "the switch listening")

    def kill(self) -> None:
        self._process.kill()

    def route_through(self) -> None:
        """Everybody sends through the switch."""
        self._ip("near", f"route replace {PREFIX}.0/24 via {_GATEWAYS[1]} dev near0")
        self._ip("far", f"route replace {PREFIX}.1/32 via {_GATEWAYS[2]} dev far0")

    def route_beside(self) -> None:
        """Everybody sends along the other cable."""
        self._ip("near", f"route replace {PREFIX}.0/24 dev near1")
        self._ip("far", f"route replace {PREFIX}.1/32 dev far1")

    def remove(self) -> None:
        if self._process:
            self._process.stop()
        self._namespaces.remove()

    def _lay(self) -> None:
        for name, port in (("near", 1), ("far", 2)):
            self._namespaces.join((name, f"{name}0"), ("switch", f"port{port}"))
            self._ip(name, f"link set {name}0 address {_mac(port, '01')}")
            # A switch gets whole packets with whole checksums.
            self._run(name, f"ethtool -K {name}0 tx off tso off gso off")
        self._namespaces.join(("near", "near1"), ("far", "far1"))
        self._namespaces.join(("near", "manage"), ("switch", "manage"))
        self._ip("near", f"address add {_MANAGEMENT}/24 dev manage")
        self._ip("switch", f"address add {_MANAGED}/24 dev manage")
        self._ip("near", f"address add {PREFIX}.1/32 dev near0")
        self._ip("near", f"route add {_GATEWAYS[1]}/32 dev near0")
        for host in FAR_HOSTS:
            self._ip("far", f"address add {PREFIX}.{host}/24 dev far0")
        # Packets arrive by another cable than answers leave by, while routes change.
        for name in ("near", "far"):
            for which in ("all", f"{name}0", f"{name}1"):
                self._run(name, f"sysctl -q -w net.ipv4.conf.{which}.rp_filter=0")

    def _ip(self, name: str, words: str) -> None:
        run(f"ip -n {self._namespaces.full(name)} {words}")

    def _run(self, name: str, line: str) -> None:
        run(f"{' '.join(self._namespaces.within(name))} {line}")

    def _listens(self) -> bool:
        assert self._process.running(), self._process.said()
        sockets = [Path(f"/proc/{self._process.pid}/net/{family}").read_text() for family in ("tcp", "tcp6")]
        return any(re.search(rf":{_RUNTIME_PORT:04X} 0+:0000 0A", lines) for lines in sockets)
