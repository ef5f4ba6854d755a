"""Hosts with an address each, and a hub that routes between them.

    store ---------+
    controller-0 --+
    media-0 -------+-- hub -- the test itself, and its clients
    media-1 -------+
       |           |
       +-- line ---+   (a cable with faults, where a test lays one)

A host is a network namespace. The hub routes, rather than being a bridge, because a rule of routing drops what passes
between two hosts without a word to either, and needs no program that Debian lacks.
"""

import functools
import os
import shutil
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

from .line import Line

TOOLS = ("ip", "ethtool", "sysctl")
_NAMED = Path("/run/netns")
_PREFIX = "weir-hosts"
# From the range set aside for benchmarks (RFC 2544), so that it is nobody's network.
_NETWORK = "198.19"
_HUB, _FIRST, _TEST = 1, 11, 254


class Unavailable(Exception):
    """Why there are no hosts here."""


@dataclass(frozen=True)
class Place:
    """Where a process runs: its address, and the prefix of a command that runs there."""

    address: str = "127.0.0.1"
    within: tuple[str, ...] = ()


class Network:
    """Hosts of these names, until it is removed."""

    def __init__(self, names: list[str]) -> None:
        reason = unavailable()
        if reason:
            raise Unavailable(reason)
        _sweep()
        self._own = f"{_PREFIX}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._places = {}
        self._namespaces: list[str] = []
        self._lines: list[tuple[str, Line]] = []
        self._dropped: list[str] = []
        try:
            self._build(names)
        except BaseException:
            self.remove()
            raise

    def place(self, name: str) -> Place:
        return self._places[name]

    def vanish(self, name: str) -> None:
        """The host is silent from here on, and hears nothing. Its processes run, and nobody is told."""
        for direction in ("from", "to"):
            self._drop(f"{direction} {self.place(name).address}")

    def cut(self, one: str, other: str) -> None:
        """Nothing passes between two hosts through the hub."""
        here, there = self.place(one).address, self.place(other).address
        for way in (f"from {here} to {there}", f"from {there} to {here}"):
            self._drop(way)

    def heal(self) -> None:
        """Undoes all that was dropped."""
        while self._dropped:
            _run(f"ip -n {self._full('hub')} rule delete {self._dropped.pop()} blackhole")

    def lay(self, one: str, other: str) -> Line:
        """Lays a cable between two hosts. What they say to each other goes over it from now on."""
        space = self._add(f"line{len(self._lines)}")
        ends = [(self._full(name), self.place(name).address) for name in (one, other)]
        for side, (host, address), (_, peer) in zip(("near", "far"), ends, reversed(ends), strict=True):
            interface = f"line{len(self._lines)}"
            _join((host, interface), (space, side))
            # A relay passes frames as they are to be on a wire.
            for within, name in ((host, interface), (space, side)):
                _run(f"ip netns exec {within} ethtool -K {name} tx off rx off gso off gro off tso off")
            _run(f"ip -n {space} link set {side} promisc on")
            _run(f"ip -n {host} route add {peer}/32 dev {interface} scope link src {address}")
        line = Line(("ip", "netns", "exec", space))
        self._lines.append((space, line))
        return line

    def clear(self) -> None:
        """Leaves the hosts as they were built."""
        self.heal()
        while self._lines:
            namespace, line = self._lines.pop()
            line.remove()
            # Its interfaces and the routes over them go with it.
            _remove(namespace)

    def remove(self) -> None:
        for namespace in self._namespaces:
            _remove(namespace)

    def _build(self, names: list[str]) -> None:
        hub = self._add("hub")
        _run(f"ip netns exec {hub} sysctl -q -w net.ipv4.ip_forward=1")
        third = _free_network()
        gateway = f"{third}.{_HUB}"
        for number, name in enumerate(names, _FIRST):
            host = self._add(name)
            _join((host, "eth0"), (hub, name))
            address = f"{third}.{number}"
            _run(f"ip -n {host} address add {address} peer {gateway} dev eth0")
            _run(f"ip -n {host} route add default via {gateway}")
            _run(f"ip -n {hub} address add {gateway} peer {address} dev {name}")
            self._places[name] = Place(address, ("ip", "netns", "exec", host))
        own = f"{third}.{_TEST}"
        # It goes with the hub.
        outside = f"weir{os.getpid()}-{third.rsplit('.', 1)[1]}"
        _run(f"ip link add {outside} type veth peer name test netns {hub}")
        _quiet_v6((), outside)
        _run(f"ip address add {own} peer {gateway} dev {outside}")
        _run(f"ip link set {outside} up")
        _run(f"ip -n {hub} address add {gateway} peer {own} dev test")
        _run(f"ip -n {hub} link set test up")
        _run(f"ip route add {third}.0/24 via {gateway} src {own}")

    def _add(self, name: str) -> str:
        namespace = self._full(name)
        _run(f"ip netns add {namespace}")
        self._namespaces.append(namespace)
        _quiet_v6(("ip", "netns", "exec", namespace), "default")
        _run(f"ip -n {namespace} link set lo up")
        return namespace

    def _full(self, name: str) -> str:
        return f"{self._own}-{name}"

    def _drop(self, way: str) -> None:
        _run(f"ip -n {self._full('hub')} rule add {way} blackhole")
        self._dropped.append(way)


@functools.cache
def unavailable() -> str:
    """Why there can be no hosts on this machine, or nothing."""
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"{', '.join(missing)} missing"
    if os.geteuid() != 0:
        return "network namespaces take root"
    probe = f"{_PREFIX}-{os.getpid()}-probe"
    tried = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    _remove(probe)
    return tried.stderr.strip()


def _sweep() -> None:
    """Removes what a run has left that was killed."""
    for path in _NAMED.glob(f"{_PREFIX}-*"):
        owner = path.name.removeprefix(f"{_PREFIX}-").split("-")[0]
        if not Path(f"/proc/{owner}").exists():
            _remove(path.name)


def _remove(namespace: str) -> None:
    """Ends the processes in a namespace, and removes it with its interfaces."""
    there = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    for pid in there.stdout.split():
        subprocess.run(["kill", "-9", pid], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, check=False)


def _free_network() -> str:
    """The first three bytes of addresses to which there is no route yet."""
    for number in range(256):
        network = f"{_NETWORK}.{(os.getpid() + number) % 256}"
        shown = subprocess.run(
            ["ip", "route", "show", "root", f"{network}.0/24"], capture_output=True, text=True, check=True
        )
        if not shown.stdout.strip():
            return network
    raise Unavailable(f"all of {_NETWORK}.0.0/16 is in use")


def _join(first: tuple[str, str], second: tuple[str, str]) -> None:
    """Puts a cable between two namespaces: the namespace and the interface of each end."""
    (near, here), (far, there) = first, second
    _run(f"ip -n {near} link add {here} type veth peer name {there} netns {far}")
    for namespace, interface in (first, second):
        _run(f"ip -n {namespace} link set {interface} up")


def _quiet_v6(within: tuple[str, ...], interface: str) -> None:
    """No address of the other family, by which somebody would reach a host that has vanished."""
    if Path("/proc/sys/net/ipv6").exists():
        _run(" ".join((*within, "sysctl", "-q", "-w", f"net.ipv6.conf.{interface}.disable_ipv6=1")))


def _run(line: str) -> None:
    """Runs a command that must succeed."""
    done = subprocess.run(line.split(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{line}: {done.stderr.strip()}")
