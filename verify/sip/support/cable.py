"""A cable between two network namespaces, the relay at one end and everybody else at the other.

On the loopback interface packets have no checksums yet, so that the kernel's relay leaves them alone; on a cable it
takes them.
"""

from pathlib import Path

from .namespaces import Namespaces, run
from .network import Network

PREFIX = "198.18.77"
# Proxies, phones, the stranger, and where sipp opens ports of its own.
FAR_HOSTS = [*range(2, 9), 103, 104, 105]

# A veth accepts packets that a program on the other end sends only if there is a program at this
# end.
_PASS = """
__attribute__((section("xdp"), used)) int pass(void *context) { return 2; }
char _license[] __attribute__((section("license"), used)) = "Dual MIT/GPL";
"""


class Cable:
    """Two namespaces; from here on the test runs in the far one."""

    def __init__(self, folder: Path) -> None:
        self._namespaces = Namespaces(["ip", "ethtool", "clang", "setpriv"], "near", "far")
        try:
            self._lay(folder)
            self._namespaces.enter("far")
        except BaseException:
            self.remove()
            raise
        # Processes of the relay start at the near end.
        self.network = Network(PREFIX, self._namespaces.within("near"))

    def remove(self) -> None:
        self._namespaces.remove()

    def _lay(self, folder: Path) -> None:
        near, far = (self._namespaces.full(name) for name in ("near", "far"))
        self._namespaces.join(("near", "near0"), ("far", "far0"))
        run(f"ip -n {near} address add {PREFIX}.1/24 dev near0")
        for host in FAR_HOSTS:
            run(f"ip -n {far} address add {PREFIX}.{host}/24 dev far0")
        run(f"ip netns exec {far} ethtool -K far0 tx off")
        (folder / "pass.c").write_text(_PASS)
        run(f"clang -O2 -target bpf -c {folder / 'pass.c'} -o {folder / 'pass.o'}")
        run(f"ip -n {far} link set far0 xdp obj {folder / 'pass.o'} sec xdp")
