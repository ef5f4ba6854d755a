"""A cluster of one's own: a store, controllers, media nodes, and haproxy before the controllers.

Each has a host of its own where there can be hosts (`hosts.network`), and is at loopback otherwise.
"""

import asyncio
import contextlib
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from .hosts.network import Network, Place, unavailable
from .hosts.processes import METRICS_TOKEN, Machine, Process, etcd, redis
from .server import BINARY, free_ports

KEY = {"key": "clusterkey", "secret": "a-secret-of-a-cluster-for-its-tests"}
BALANCER = Path(__file__).parents[3] / "packaging/compose/haproxy.cfg"
PROGRAMS = ("etcd", "redis-server", "haproxy")
CONTROLLERS_MAX, MEDIA_MAX = 2, 4
HOSTS = [
    "store",
    "balancer",
    *(f"{role}-{number}" for role in ("controller", "serve") for number in range(CONTROLLERS_MAX)),
    *(f"media-{number}" for number in range(MEDIA_MAX)),
]
# Media nodes that take one person each: the SDK has one transport with each of them.
ONE_EACH = {f"media-{number}": "  capacity: 1" for number in range(MEDIA_MAX)}
_shared: list[Network] = []


class Cluster:
    """Its processes. Clients are beside the test."""

    def __init__(
        self,
        folder: Path,
        network: Network | None,
        controllers: int,
        media: int,
        machines: int,
        store: str,
        settings: dict[str, str],
        config: str,
    ) -> None:
        self.folder = folder
        self.network = network
        self.settings = settings
        self._config = config
        self._place: Callable[[str], Place] = network.place if network else lambda _: Place()
        self.store = (etcd if store == "etcd" else redis)(folder, self._place("store"))
        subprocess.run([BINARY, "cluster-cert", folder / "certificates"], check=True, stdout=subprocess.DEVNULL)
        # Equal machines are both.
        equal = [self._machine("serve", number) for number in range(machines)]
        self.controllers = equal + [self._machine("controller", number) for number in range(controllers)]
        self.media = [self._machine("media", number) for number in range(media)]
        place, port = self._place("balancer"), free_ports()
        self.url = f"ws://{place.address}:{port}"
        self.balancer = Process(
            folder, "haproxy", place, ["haproxy", "-db", "-f", self._balancing(f"{place.address}:{port}")]
        )

    def everything(self) -> list[Process]:
        return [self.store, *self.media, *self.controllers, self.balancer]

    def log(self) -> str:
        return "\n".join(f"=== {process.name}\n{process.log[-3500:]}" for process in self.everything())

    def _machine(self, role: str, number: int) -> Machine:
        name, port = f"{role}-{number}", free_ports()
        place = self._place(name)
        south, forward, rtc = free_ports(), free_ports(), free_ports()
        certificates = self.folder / "certificates"
        config = self.folder / f"{name}.yaml"
        # Only controllers may read what media nodes keep.
        secrets = f"\n  secrets: {certificates}/secrets" if role != "media" else ""
        config.write_text(
            f"""metrics: {{token: {METRICS_TOKEN}}}
cluster:
  name: {name}
  listen: {place.address}:{south}
  controllers: {{listen: '{place.address}:{forward}'}}
  ca: {certificates}/ca.pem
  certificate: {certificates}/weir.pem
  key: {certificates}/weir.key{secrets}
  store: {self.store.setting}
{self.settings.get(name, "")}
{self._config if role != "media" else ""}"""
        )
        keys = [f"--keys={KEY['key']}: {KEY['secret']}"] if role != "media" else []
        where = ["--bind", place.address, "--node-ip", place.address, "--port", port, "--rtc-port", rtc]
        return Machine(self.folder, name, place, [BINARY, role, "--config", config, *where, *keys], port)

    def _balancing(self, bind: str) -> Path:
        """The balancer's settings: those of the package, with these controllers."""
        servers = "\n".join(
            f"    server {controller.name} {controller.place.address}:{controller.port}\\1"
            for controller in self.controllers
        )
        example = BALANCER.read_text().replace("bind :7880", f"bind {bind}")
        file = self.folder / "haproxy.cfg"
        file.write_text(re.sub(r"(?:    server controller-\d controller-\d:7880(.*)\n)+", f"{servers}\n", example))
        return file


def missing() -> list[str]:
    """The programs that a cluster needs and that this machine does not have."""
    return [program for program in PROGRAMS if not shutil.which(program)]


def hosts_are_missing() -> str:
    """Why there is no cluster here whose machines have hosts of their own, or nothing."""
    return f"{missing()} missing" if missing() else unavailable()


def remove_hosts() -> None:
    """Removes the hosts of all clusters."""
    while _shared:
        _shared.pop().remove()


def _hosts() -> Network | None:
    """Hosts for one cluster at a time; building them takes longer than starting the cluster."""
    if not _shared and not unavailable():
        _shared.append(Network(HOSTS))
    return _shared[0] if _shared else None


@contextlib.asynccontextmanager
async def cluster(
    folder: Path,
    controllers: int = 2,
    media: int = 1,
    machines: int = 0,
    store: str = "etcd",
    settings: dict[str, str] | None = None,
    config: str = "",
    hosts: bool = True,
) -> AsyncIterator[Cluster]:
    """Starts one, with so many equal machines beside those of one role; ends with the block.

    `settings` are lines of YAML at the end of the section `cluster` of the machines that they name,
    and `config` is more YAML for all controllers. Without `hosts` all are at loopback. A failure
    shows the ends of all logs.
    """
    assert BINARY.is_file(), f"{BINARY} is missing: build it (make build), or set WEIR_BINARY"
    network = await asyncio.to_thread(_hosts) if hosts else None
    arguments = (folder, network, controllers, media, machines, store, settings or {}, config)
    running = await asyncio.to_thread(Cluster, *arguments)
    try:
        for process in running.everything():
            process.start()
        for machine in (*running.media, *running.controllers):
            await machine.is_ready()
        yield running
    except BaseException:
        print(running.log())
        raise
    finally:
        for process in reversed(running.everything()):
            process.kill()
        if network:
            network.clear()
