"""A relay and its proxy, and groups of calls through them."""

import socket
import time
from dataclasses import dataclass
from pathlib import Path

from . import rtp
from .network import Network
from .phones import Phone, Phones
from .process import wait_until
from .proxy import PORT, Kamailio
from .relays import Relay
from .sipp import Outcome, Sipp
from .switch import Switch

# Setting up, settling and hanging up, with a machine that is busy with other things.
SLACK_S = 20


@dataclass(frozen=True)
class Group:
    """So many calls that do the same, each saying so many packets whenever it may talk."""

    caller: str
    callee: str
    calls: int
    packets: int
    rate: int = 20
    limit_s: float = SLACK_S
    # The second phone's behaviour, when two ring.
    other: str | None = None


class World:
    """The parts that stay between tests: one relay, and one proxy that speaks one of its protocols."""

    def __init__(self, network: Network, relay: Relay, module: str, folder: Path) -> None:
        self.network = network
        self.relay = relay
        self.module = module
        self._folder = folder
        # The switch in front of the relay, if there is one.
        self.switch: Switch | None = None
        self._groups = 0
        self.proxies = [Kamailio(module, relay.control(module), network, folder)]

    def fork(self) -> None:
        """Starts a second proxy, at which every call rings at two phones."""
        control = self.relay.control(self.module)
        self.proxies.append(Kamailio(self.module, control, self.network, self._folder, forks=True))

    def place(self, group: Group) -> "Calls":
        self._groups += 1
        folder = self._folder / f"{self._groups}"
        folder.mkdir()
        return Calls(self.network, group, folder)

    def complaints(self) -> list[str]:
        return [line for proxy in self.proxies for line in proxy.complaints()]

    def nothing_is_left(self, within_s: float = 3) -> None:
        """No call, no port: and nobody has complained."""
        wait_until(lambda: not self.relay.calls(), within_s, "all calls are gone")
        wait_until(lambda: not self.relay.open_ports(), within_s, "all ports are closed")
        assert not self.complaints()

    def stop(self) -> None:
        for proxy in self.proxies:
            proxy.stop()


@dataclass(frozen=True)
class Conversation:
    """Both phones of a call."""

    call: str
    caller: Phone
    callee: Phone

    def faults(self, packets: int) -> list[str]:
        """The faults when each has sent so many packets."""
        return [*self.faults_of_callee(packets), *self._heard("caller", self.caller, self.callee, packets)]

    def faults_of_callee(self, packets: int) -> list[str]:
        """The same of the one way only."""
        return self._heard("callee", self.callee, self.caller, packets)

    def _heard(self, name: str, phone: Phone, other: Phone, packets: int) -> list[str]:
        mine, theirs = phone.account, other.account
        claims = {
            f"the other sent {theirs.sent}, not {packets}": theirs.sent == packets,
            f"heard {mine.heard}, not {packets} of {other.ssrc:#x}": mine.heard == {other.ssrc: packets},
            "heard one packet twice": all(len(mine.numbers[ssrc]) == count for ssrc, count in mine.heard.items()),
            f"heard {mine.damaged} damaged": mine.damaged == 0,
            f"heard {mine.reports_heard} of {theirs.reports_sent} reports": mine.reports_heard == theirs.reports_sent,
            f"heard from {mine.sources} but talked to {mine.destinations}": mine.sources == mine.destinations,
        }
        return [f"{self.call} {name}: {claim}" for claim, holds in claims.items() if not holds]


class Calls:
    """A group on its way."""

    def __init__(self, network: Network, group: Group, folder: Path) -> None:
        self._network = network
        self._group = group
        self._folder = folder
        self._sipps: list[Sipp] = []
        self.phones = Phones([self._network.callers, self._network.callees], group.calls)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        network, group = self._network, self._group
        callees = self._sipp("callees", group.callee, network.callees)
        if group.other:
            self._sipp("others", group.other, network.others)
        time.sleep(0.2)  # they take a moment to listen
        proxy = network.forking if group.other else network.proxy
        callers = self._sipp("callers", group.caller, network.callers, f"{proxy}:{PORT}")
        for sipp, address in ((callers, network.callers), (callees, network.callees)):
            self.phones.follow(sipp.talks, address, group.packets)

    def _sipp(self, name: str, scenario: str, address: str, proxy: str | None = None) -> Sipp:
        group = self._group
        sipp = Sipp(self._folder, name, scenario, address, group.calls, group.limit_s, proxy, group.rate)
        self._sipps.append(sipp)
        return sipp

    def __enter__(self) -> "Calls":
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def stop(self) -> None:
        for sipp in self._sipps:
            sipp.stop()
        self.phones.stop()

    def succeed(self) -> dict[str, Outcome]:
        """Waits until every call is over, each as its scenario says."""
        outcomes = {sipp.name: sipp.ended() for sipp in reversed(self._sipps)}
        for sipp in self._sipps:
            outcome = outcomes[sipp.name]
            everything = (outcome.successful, outcome.failed, outcome.exit_code) == (self._group.calls, 0, 0)
            assert everything, (sipp.name, outcome, sipp.complaints())
        return outcomes

    def silent(self) -> bool:
        """Whether everybody has said all there is to say."""
        both = self.conversations()
        return len(both) == self._group.calls and all(each.caller.quiet() and each.callee.quiet() for each in both)

    def conversations(self) -> list[Conversation]:
        """The calls in which both sides came to talk."""
        callers, callees = (self.phones.side(each) for each in (self._network.callers, self._network.callees))
        return [Conversation(call, callers[call], callees[call]) for call in callers if call in callees]

    def lost(self) -> list[int]:
        """How many packets of each party did not come to the other."""
        both = [pair for each in self.conversations() for pair in ((each.caller, each.callee), (each.callee, each.caller))]
        return [speaker.account.sent - len(hearer.account.numbers.get(speaker.ssrc, ())) for speaker, hearer in both]

    def intrude(self, packets: int) -> None:
        """Somebody else sends so many packets to every port that a party sends to."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.bind((self._network.stranger, 0))
            for each in self.conversations():
                for address in each.caller.account.destinations | each.callee.account.destinations:
                    for number in range(packets):
                        stranger.sendto(rtp.packet(0xBAD, number), address)

    def heard_both_ways(self, talks: int = 1) -> None:
        """Every call: all that one side sent came to the other, once, unchanged, from where it sends to itself."""
        conversations = self.conversations()
        assert len(conversations) == self._group.calls
        faults = [fault for each in conversations for fault in each.faults(talks * self._group.packets)]
        assert not faults, "\n".join(faults[:20])
