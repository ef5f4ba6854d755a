"""Relays of one cluster, each at an address of its own on loopback, and the store that they share."""

import re
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from . import ng, rtp
from .network import Network
from .process import Process, binary, program, wait_until
from .relays import NG_PORT, RTPPROXY_PORT

TCP_PORT = 2224
HTTP_PORT = 2225
HEALTH_PORT = 7880


class Machine:
    """A process of Weir that relays calls."""

    def __init__(self, cluster: "Cluster", role: str, number: int) -> None:
        self.address = f"{cluster.network.prefix}.{20 + number}"
        self._name = f"{role}-{number}"
        self._role = role
        self._folder = cluster.folder
        (cluster.folder / f"{self._name}.yaml").write_text(self._settings(cluster))
        self.start()

    def _settings(self, cluster: "Cluster") -> str:
        certificates, at = cluster.folder / "certificates", self.address
        is_node = self._role == "media"
        beside = "" if is_node else "keys: {tests: of-no-use-to-anybody-but-these-tests}\n"
        secrets = "" if is_node else f"  secrets: {certificates}/secrets\n"
        return f"""bind: [{at}]
{beside}metrics: {{open: true}}
cluster:
  name: {self._name}
  listen: {at}:7890
  controllers: {{listen: "{at}:7891"}}
  sip: {{listen: "{at}:7892"}}
  ca: {certificates}/ca.pem
  certificate: {certificates}/weir.pem
  key: {certificates}/weir.key
{secrets}  store: {{etcd: {{endpoints: ["{cluster.store_url}"]}}}}
sip:
  ng: {{listen: "{at}:{NG_PORT}", tcp: "{at}:{TCP_PORT}", http: "{at}:{HTTP_PORT}"}}
  rtpproxy: {{listen: "{at}:{RTPPROXY_PORT}"}}
  allow: [127.0.0.0/8]
  allow_media: [127.0.0.0/8]
  interfaces: [{{address: {at}, ports: 30000-30999}}]
  learning_window: 0.5
"""

    def control(self) -> str:
        """Its address for Kamailio's module rtpengine."""
        return f"udp:{self.address}:{NG_PORT}"

    def start(self) -> None:
        command = [binary(), self._role, "--config", self._folder / f"{self._name}.yaml", "--node-ip", self.address]
        self.process = Process(command, self._folder / f"{self._name}.log")

    def ask(self, command: str, **keys: str) -> dict:
        """The reply to a request of a proxy."""
        return ng.request((self.address, NG_PORT), command, **keys)

    def repeat(self, cookie: str, command: str, **keys: str) -> bytes:
        """The same under this cookie, as bytes."""
        return ng.exchange((self.address, NG_PORT), cookie, command, **keys)

    def ask_slowly(self, command: str, **keys: str) -> tuple[dict, float]:
        """The same where the reply may take its time, and how long that was."""
        began = time.monotonic()
        reply = ng.exchange((self.address, NG_PORT), ng.cookie(), command, within_s=5, **keys)
        return ng.read(reply), time.monotonic() - began

    def ask_over_tcp(self, command: str, **keys: str) -> dict:
        cookie = ng.cookie()
        with socket.create_connection((self.address, TCP_PORT), timeout=2) as stream:
            stream.sendall(ng.message(cookie, command, **keys))
            said = stream.recv(65536)
        return ng.read(said.partition(b" ")[2])

    def ask_over_http(self, command: str, **keys: str) -> dict:
        body = ng.message("", command, **keys)[1:]
        headers = {"Content-Type": "application/x-rtpengine-ng"}
        request = urllib.request.Request(f"http://{self.address}:{HTTP_PORT}/ng-plain", body, headers)
        with _straight().open(request, timeout=2) as answer:
            return ng.read(answer.read())

    def command(self, line: str) -> str:
        """The reply to a command of rtpproxy's protocol."""
        cookie = ng.cookie()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(2)
            asking.sendto(f"{cookie} {line}".encode(), (self.address, RTPPROXY_PORT))
            said = asking.recv(65536).decode()
        assert said.startswith(f"{cookie} "), said
        return said.removeprefix(f"{cookie} ").strip()

    def calls(self) -> list[str]:
        """The calls that it has itself."""
        return self.ask("list", limit="1000")["calls"]

    def figure(self, name: str) -> int:
        """A sample of its metrics, 0 if it is missing."""
        with _straight().open(f"http://{self.address}:{HEALTH_PORT}/metrics", timeout=2) as answer:
            line = re.search(rf"^{re.escape(name)} (\d+)$", answer.read().decode(), re.MULTILINE)
        return int(line.group(1)) if line else 0

    def count(self, reason: str) -> int:
        """A counter of its relay, which is published twice a second."""
        return self.figure(f'weir_sip_total{{reason="{reason}"}}')

    def is_alone(self) -> bool:
        return self.peers() == 0

    def peers(self) -> int:
        """The other relays that it is connected to; -1 while it does not say."""
        assert self.process.running(), self.process.said()
        try:
            return self.figure("weir_sip_peers")
        except OSError:
            return -1


class Cluster:
    """Three relays: two media nodes, and a server that has rooms as well."""

    def __init__(self, folder: Path, network: Network) -> None:
        self.folder = folder
        self.network = network
        self.store_url = f"http://{network.prefix}.19:2379"
        self._stack = ExitStack()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        authority = self.folder / "certificates"
        subprocess.run([binary(), "cluster-cert", authority], check=True, stdout=subprocess.DEVNULL)
        self.start_store()
        self._stack.callback(lambda: self.store.stop())
        self.machines = []
        for number, role in enumerate(["media", "media", "serve"]):
            machine = Machine(self, role, number)
            self.machines.append(machine)
            self._stack.callback(lambda machine=machine: machine.process.stop())
        self.connected()

    def start_store(self) -> None:
        peer = self.store_url.replace(":2379", ":2380")
        command = [program("etcd"), "--data-dir", self.folder / "etcd", "--listen-client-urls", self.store_url]
        command += ["--advertise-client-urls", self.store_url, "--listen-peer-urls", peer]
        command += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        self.store = Process(command, self.folder / "etcd.log")

    def connected(self) -> None:
        """Waits until each relay is connected to all others."""
        others = len(self.machines) - 1
        for machine in self.machines:
            try:
                wait_until(lambda: machine.peers() == others, 20, "connected to the other relays")
            except AssertionError as failure:
                raise AssertionError(f"{failure}; it said: {machine.process.said()}") from None

    def stop(self) -> None:
        self._stack.close()


class Phones:
    """Two parties that send each other sound through a relay."""

    def __init__(self, network: Network) -> None:
        self._sockets = []
        for address in (network.callers, network.callees):
            phone = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            phone.bind((address, 0))
            phone.settimeout(0.5)
            self._sockets.append(phone)

    def description(self, party: int) -> str:
        address, port = self._sockets[party].getsockname()
        return (
            f"v=0\r\no=- 1 1 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\n"
            f"m=audio {port} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n"
        )

    def talk(self, to: list[tuple[str, int]], packets: int = 20) -> list[int]:
        """How many packets each heard of the other, who sends to the address of `to` at its place."""
        heard = [0, 0]

        def hear(party: int) -> None:
            try:
                while heard[party] < packets:
                    data, source = self._sockets[party].recvfrom(2048)
                    if rtp.read(data) and rtp.read(data)[0] == 1 - party + 0x100:
                        assert source == to[party], (source, to)
                        heard[party] += 1
            except TimeoutError:
                return

        hearing = [threading.Thread(target=hear, args=[party]) for party in range(2)]
        for each in hearing:
            each.start()
        for number in range(packets):
            for party in range(2):
                self._sockets[party].sendto(rtp.packet(party + 0x100, number), to[party])
            time.sleep(0.02)
        for each in hearing:
            each.join()
        return heard

    def close(self) -> None:
        for phone in self._sockets:
            phone.close()


@contextmanager
def phones(network: Network) -> Iterator[Phones]:
    both = Phones(network)
    try:
        yield both
    finally:
        both.close()


def media(sdp: str) -> tuple[str, int]:
    """The address of sound in a description."""
    address = re.search(r"^c=IN IP4 (\S+)", sdp, re.MULTILINE)
    port = re.search(r"^m=audio (\d+) ", sdp, re.MULTILINE)
    assert address and port, sdp
    return address.group(1), int(port.group(1))


def _straight() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))
