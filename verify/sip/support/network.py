"""Addresses of one's own: a part of the loopback network in which every port is free."""

import os
import random
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Network:
    """The first three bytes of the addresses; everybody in a test has the same ports at different ones."""

    prefix: str
    # Prefix of a command that runs at the relay's place.
    at_relay: tuple[str, ...] = ()

    @staticmethod
    def find() -> "Network":
        """One of loopback that nobody uses, as far as a try can tell."""
        chosen = random.Random(os.getpid())
        while True:
            network = Network(f"127.{chosen.randrange(16, 250)}.{chosen.randrange(250)}")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                if not network.sockets():
                    probe.bind((network.relay, 5060))
                    return network

    @property
    def relay(self) -> str:
        return f"{self.prefix}.1"

    @property
    def proxy(self) -> str:
        return f"{self.prefix}.2"

    @property
    def forking(self) -> str:
        """A proxy that rings at two phones."""
        return f"{self.prefix}.6"

    @property
    def callers(self) -> str:
        return f"{self.prefix}.3"

    @property
    def callees(self) -> str:
        return f"{self.prefix}.4"

    @property
    def others(self) -> str:
        """The address of the second phone of a callee."""
        return f"{self.prefix}.5"

    @property
    def stranger(self) -> str:
        """An address that no description mentions."""
        return f"{self.prefix}.7"

    @property
    def nowhere(self) -> str:
        """The private address of a phone behind a NAT."""
        return f"{self.prefix}.8"

    def sockets(self, process: int | str = "self") -> list["UdpSocket"]:
        """Those at these addresses, as that process sees it."""
        return [each for each in udp_sockets(process) if each.address.startswith(f"{self.prefix}.")]


@dataclass(frozen=True)
class UdpSocket:
    """A UDP socket, as the kernel lists it."""

    address: str
    port: int


def udp_sockets(process: int | str) -> list[UdpSocket]:
    """Every UDP socket of IPv4 in the network namespace of a process, of any process."""
    lines = Path(f"/proc/{process}/net/udp").read_text().splitlines()[1:]
    return [_read(line.split()) for line in lines]


def _read(words: list[str]) -> UdpSocket:
    address, port = words[1].split(":")
    return UdpSocket(socket.inet_ntoa(int(address, 16).to_bytes(4, "little")), int(port, 16))
