"""Phones: a pair of ports for each call of a side, which talk when sipp says so and keep account of all they hear."""

import resource
import selectors
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import rtp
from .sipp import MEDIA_PORT, PORTS_APART

_TICK_S = 0.001
_TICKS = int(1 / rtp.PACKETS_PER_S / _TICK_S)
# After a pause of this process, packets that are overdue are sent at this many times their rate,
# not at once: queues of a switch are short.
_CATCH_UP = 4
_LOOK_S = 0.005
_REPORT_EVERY = 50


@dataclass
class Account:
    """The packets that one phone sent and received in its call."""

    sent: int = 0
    reports_sent: int = 0
    reports_heard: int = 0
    damaged: int = 0
    # Packets by sender and source address, and each sender's numbers.
    heard: dict[int, int] = field(default_factory=dict)
    numbers: dict[int, set[int]] = field(default_factory=dict)
    sources: set[tuple[str, int]] = field(default_factory=set)
    destinations: set[tuple[str, int]] = field(default_factory=set)


class Phone:
    """One side of one call."""

    def __init__(self, address: str, number: int, ssrc: int) -> None:
        port = MEDIA_PORT + PORTS_APART * (number - 1)
        self.account = Account()
        self.call: str | None = None
        self.ssrc = ssrc
        self.rtp, self.rtcp = _bound(address, port), _bound(address, port + 1)
        self._remote: tuple[str, int] | None = None
        self._number = 65_530  # so that numbers wrap early
        self._left = 0
        self._last_heard: tuple[int, int] | None = None
        self._last_report: tuple[int, float] | None = None

    def talk(self, call: str, remote: tuple[str, int], packets: int) -> None:
        self.call = call
        self._remote = remote
        self._left += packets
        self.account.destinations.add(remote)

    def tick(self) -> None:
        """Sends the packet that is due, if there is something left to say."""
        if not self._left:
            return
        account = self.account
        self._left -= 1
        self.rtp.sendto(rtp.packet(self.ssrc, self._number), self._remote)
        self._number += 1
        account.sent += 1
        if account.sent % _REPORT_EVERY == _REPORT_EVERY // 2:
            report = rtp.report(self.ssrc, account.sent, self._last_heard, self._last_report)
            self.rtcp.sendto(report, (self._remote[0], self._remote[1] + 1))
            account.reports_sent += 1

    def quiet(self) -> bool:
        return not self._left

    def hear(self) -> None:
        data, source = self.rtp.recvfrom(2048)
        account = self.account
        read = rtp.read(data)
        if read is None:
            account.damaged += 1
            return
        ssrc, sequence = read
        account.heard[ssrc] = account.heard.get(ssrc, 0) + 1
        account.numbers.setdefault(ssrc, set()).add(sequence)
        account.sources.add(source)
        self._last_heard = (ssrc, sequence)

    def hear_report(self) -> None:
        read = rtp.read_report(self.rtcp.recv(2048))
        if read is None:
            self.account.damaged += 1
            return
        self.account.reports_heard += 1
        self._last_report = (read[1], time.monotonic())

    def close(self) -> None:
        self.rtp.close()
        self.rtcp.close()


class Phones:
    """All phones of a test, on a thread of their own."""

    def __init__(self, addresses: list[str], calls: int) -> None:
        _allow_files(4 * calls * len(addresses) + 200)
        self._sides = {
            address: [Phone(address, number, (side + 1) << 24 | number) for number in range(1, calls + 1)]
            for side, address in enumerate(addresses)
        }
        self._selector = selectors.EpollSelector()
        for phone in self._all():
            self._selector.register(phone.rtp, selectors.EVENT_READ, phone.hear)
            self._selector.register(phone.rtcp, selectors.EVENT_READ, phone.hear_report)
        # Phones send one after the other within 20 ms, not all at once.
        self._turns = [self._all()[turn::_TICKS] for turn in range(_TICKS)]
        self._orders: list[tuple[Path, int, list[Phone], int]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: BaseException | None = None
        self._thread.start()

    def follow(self, talks: Path, address: str, packets: int) -> None:
        """Each time sipp writes that a call of that side may talk, its phone says so many packets."""
        self._orders = [*self._orders, (talks, 0, self._sides[address], packets)]

    def side(self, address: str) -> dict[str, Phone]:
        """The phones of a side that were in a call, by the call."""
        assert self._failure is None, self._failure
        return {phone.call: phone for phone in self._sides[address] if phone.call}

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()
        self._selector.close()
        for phone in self._all():
            phone.close()

    def _all(self) -> list[Phone]:
        return [phone for side in self._sides.values() for phone in side]

    def _run(self) -> None:
        try:
            self._loop()
        except BaseException as failure:  # told to whoever asks for accounts
            self._failure = failure

    def _loop(self) -> None:
        start = time.monotonic()
        ticks, looked = 0, start
        while not self._ended.is_set():
            now = time.monotonic()
            due = int((now - start) / _TICK_S)
            for turn in range(ticks, min(due, ticks + _CATCH_UP)):
                for phone in self._turns[turn % _TICKS]:
                    phone.tick()
                ticks = turn + 1
            if now - looked > _LOOK_S:
                looked = now
                self._orders = [self._read(*order) for order in self._orders]
            for key, _ in self._selector.select(_TICK_S):
                key.data()

    def _read(self, talks: Path, offset: int, phones: list[Phone], packets: int) -> tuple[Path, int, list[Phone], int]:
        if not talks.exists():
            return talks, offset, phones, packets
        with talks.open() as file:
            file.seek(offset)
            text = file.read()
        whole = text[: text.rfind("\n") + 1]
        for line in whole.splitlines():
            words = line.split()
            if words[:1] == ["talk"]:
                call, number, address, port = words[1:]
                phones[int(number) - 1].talk(call, (address, int(port)), packets)
        return talks, offset + len(whole), phones, packets


def _bound(address: str, port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.setblocking(False)
    opened.bind((address, port))
    return opened


def _allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
