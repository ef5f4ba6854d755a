"""A cable between two network namespaces, the relay at one end and everybody else at the other.

On the loopback interface packets have no checksums yet, so that the kernel's relay leaves them alone; on a cable it
takes them.
"""

import ctypes
import os
import subprocess
from pathlib import Path

from .network import Network
from .process import program

_PREFIX = "198.18.77"
# Proxies, phones, the stranger, and where sipp opens ports of its own.
_FAR_HOSTS = [*range(2, 9), 103, 104, 105]
_NEEDED = ["ip", "ethtool", "clang", "setpriv"]
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)

# A veth accepts packets that a program on the other end sends only if there is a program at this
# end.
_PASS = """
__attribute__((section("xdp"), used)) int pass(void *context) { return 2; }
char _license[] __attribute__((section("license"), used)) = "Dual MIT/GPL";
"""


class Unavailable(Exception):
    """Why there is no cable."""


class Cable:
    """Two namespaces; from here on the test runs in the far one."""

    def __init__(self, folder: Path) -> None:
        missing = [name for name in _NEEDED if not program(name)]
        if missing or os.geteuid() != 0:
            raise Unavailable(f"a cable takes root and {', '.join(_NEEDED)}")
        self._near, self._far = (f"weir-sip-{os.getpid()}-{end}" for end in ("near", "far"))
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY)
        try:
            self._lay(folder)
            self._enter(Path("/run/netns") / self._far)
        except BaseException:
            self.remove()
            raise
        # Processes of the relay start at the near end.
        self.network = Network(_PREFIX, ("ip", "netns", "exec", self._near))

    def remove(self) -> None:
        _setns(self._home)
        os.close(self._home)
        for namespace in (self._near, self._far):
            subprocess.run([program("ip"), "netns", "delete", namespace], stderr=subprocess.DEVNULL, check=False)

    def _lay(self, folder: Path) -> None:
        for namespace in (self._near, self._far):
            try:
                _run(f"ip netns add {namespace}")
            except RuntimeError as reason:
                raise Unavailable(reason) from None
            _run(f"ip -n {namespace} link set lo up")
        _run(f"ip -n {self._near} link add near0 type veth peer name far0 netns {self._far}")
        _run(f"ip -n {self._near} address add {_PREFIX}.1/24 dev near0")
        for host in _FAR_HOSTS:
            _run(f"ip -n {self._far} address add {_PREFIX}.{host}/24 dev far0")
        _run(f"ip netns exec {self._far} ethtool -K far0 tx off")
        _run(f"ip -n {self._near} link set near0 up")
        _run(f"ip -n {self._far} link set far0 up")
        (folder / "pass.c").write_text(_PASS)
        _run(f"clang -O2 -target bpf -c {folder / 'pass.c'} -o {folder / 'pass.o'}")
        _run(f"ip -n {self._far} link set far0 xdp obj {folder / 'pass.o'} sec xdp")

    def _enter(self, namespace: Path) -> None:
        opened = os.open(namespace, os.O_RDONLY)
        _setns(opened)
        os.close(opened)


def _setns(namespace: int) -> None:
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _run(line: str) -> None:
    name, *words = line.split()
    done = subprocess.run([program(name), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{line}: {done.stderr.strip()}")
