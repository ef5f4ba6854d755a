"""Network namespaces, of which a test enters one."""

import ctypes
import os
import subprocess
from pathlib import Path

from .process import program

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """Why there are no namespaces, or not what the test needs in them."""


class Namespaces:
    """Namespaces with these names, each with its loopback interface."""

    def __init__(self, tools: list[str], *names: str) -> None:
        missing = [tool for tool in tools if not program(tool)]
        if missing or os.geteuid() != 0:
            raise Unavailable(f"this takes root and {', '.join(tools)}")
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self._names = names
        try:
            for name in names:
                self._add(name)
        except BaseException:
            self.remove()
            raise

    def full(self, name: str) -> str:
        """The name for `ip netns`."""
        return f"weir-sip-{os.getpid()}-{name}"

    def within(self, name: str) -> tuple[str, ...]:
        """Prefix of a command that runs in the namespace of this name."""
        return ("ip", "netns", "exec", self.full(name))

    def join(self, first: tuple[str, str], second: tuple[str, str]) -> None:
        """Puts a cable between two namespaces: the namespace and the interface of each end."""
        (near, here), (far, there) = first, second
        run(f"ip -n {self.full(near)} link add {here} type veth peer name {there} netns {self.full(far)}")
        for name, interface in (first, second):
            run(f"ip -n {self.full(name)} link set {interface} up")

    def enter(self, name: str) -> None:
        """From here on the test runs there."""
        opened = os.open(Path("/run/netns") / self.full(name), os.O_RDONLY)
        _setns(opened)
        os.close(opened)

    def remove(self) -> None:
        _setns(self._home)
        os.close(self._home)
        for name in self._names:
            command = [program("ip"), "netns", "delete", self.full(name)]
            subprocess.run(command, stderr=subprocess.DEVNULL, check=False)

    def _add(self, name: str) -> None:
        try:
            run(f"ip netns add {self.full(name)}")
        except RuntimeError as reason:
            raise Unavailable(reason) from None
        run(f"ip -n {self.full(name)} link set lo up")


def run(line: str) -> None:
    """Runs a command that must succeed."""
    name, *words = line.split()
    done = subprocess.run([program(name), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{line}: {done.stderr.strip()}")


def _setns(namespace: int) -> None:
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
