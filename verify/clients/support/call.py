"""A call in a cluster, whose pictures are numbered."""

import asyncio
import time

from .cluster import KEY
from .media import NUMBERS, SIGNATURES
from .sdk import SdkParticipant
from .tokens import token
from .wait import until

ROOM = "lobby"


class Call:
    """People of one room who send each other pictures and sound."""

    room = ROOM

    def __init__(self) -> None:
        self.people: list[SdkParticipant] = []

    async def join(self, url: str, identity: str) -> SdkParticipant:
        person = SdkParticipant(identity, SIGNATURES[len(self.people)])
        self.people.append(person)
        await person.join(url, token(ROOM, identity, **KEY), single=True)
        return person

    async def meet(self, url: str) -> None:
        """Two people join, and see each other."""
        for identity in ("ada", "bob"):
            await self.join(url, identity)
        await self.begin()

    async def fill(self, running, people: int) -> list:
        """People join, each on a node of its own (`ONE_EACH`). Returns the node of each."""
        nodes = []
        for number in range(people):
            free = [machine for machine in running.media if machine not in nodes]
            await self.join(running.url, f"person-{number}")
            found = []
            await until("it is on a node", lambda free=free, found=found: found or _busy(free, found), 10)
            nodes += found
        return nodes

    async def begin(self) -> None:
        for person in self.people:
            await person.publish_video()
        await self.flows()

    async def flows(self, frames: int = 15) -> None:
        """Everybody decodes further frames of everybody else."""
        before = {pair: self.frames(*pair) for pair in self.pairs()}

        def late() -> list:
            return [pair for pair in self.pairs() if self.frames(*pair) < before[pair] + frames]

        try:
            await until("everybody sees everybody", lambda: not late(), 20)
        except AssertionError as failure:
            for watcher, publisher in late():
                seen = f"{watcher.identity} sees {self.frames(watcher, publisher) - before[watcher, publisher]}"
                failure.add_note(f"{seen} of {publisher.identity}: {await watcher.received(publisher.identity)}")
            raise

    def pairs(self):
        return [(a, b) for a in self.people for b in self.people if a is not b]

    @staticmethod
    def frames(watcher: SdkParticipant, publisher: SdkParticipant) -> int:
        witness = watcher.video.get(publisher.identity)
        return witness.frames if witness else 0

    async def leave(self) -> None:
        await asyncio.gather(*(person.leave() for person in self.people), return_exceptions=True)

    def sids(self) -> list[str]:
        """The ids of people and of their tracks: those who join anew have others."""
        own = [person.room.local_participant for person in self.people]
        return [sid for person in own for sid in (person.sid, *person.track_publications)]

    def seen(self, pairs: list | None = None) -> dict:
        """How many pictures each has of each other, or some of them of some others."""
        return {pair: len(pair[0].video[pair[1].identity].numbers) for pair in pairs or self.pairs()}


def owner_of(cluster, of: str = "joined"):
    """The controller that serves the room."""
    owners = [c for c in cluster.controllers if c.is_running and of in c.log]
    assert len(owners) == 1, [c.name for c in owners]
    return owners[0]


def owners(overview: dict) -> dict:
    """The name of each room's owner, as a controller knows it."""
    return {room["room"]: room["owner"]["name"] for room in overview["rooms"]}


def signalling_is_back(cluster, owner, since: float, within_s: float) -> None:
    """It was back soon enough. The SDK says so later than the server, since it looks at its media first."""
    other = next(c for c in cluster.controllers if c is not owner)
    took = max(other.times("resumed room")) - since
    print(f"signalling is back after {took:.2f} s, and the SDK says so after {time.time() - since:.2f} s")
    assert took <= within_s


def longest_step(numbers: list[int]) -> int:
    """The greatest distance between two pictures that followed each other."""
    return max((b - a) % NUMBERS for a, b in zip(numbers, numbers[1:], strict=False))


def gaps_are_short(seen: dict, longest_s: float) -> None:
    """Nobody has waited longer than this for the next picture since then.

    Numbers do not tell: what a node sends again after a while is missing to nobody, and late.
    """
    for (watcher, publisher), before in seen.items():
        times = watcher.video[publisher.identity].times[before - 1 :]
        gap = max(b - a for a, b in zip(times, times[1:], strict=False))
        print(f"{watcher.identity} sees nothing of {publisher.identity} for {gap:.2f} s at most")
        assert gap <= longest_s


def shares_decoded(seen: dict) -> list[float]:
    """The share of the pictures that were drawn since then that each has decoded."""
    shares = []
    for (watcher, publisher), before in seen.items():
        numbers = watcher.video[publisher.identity].numbers[before - 1 :]
        drawn = sum((b - a) % NUMBERS for a, b in zip(numbers, numbers[1:], strict=False))
        shares.append((len(numbers) - 1) / drawn)
        print(f"{watcher.identity} has decoded {len(numbers) - 1} of {drawn} pictures of {publisher.identity}")
    return shares


def nothing_is_missing(seen: dict, longest: int = 2) -> None:
    """No picture is missing since then, but for one that the receiver of a moment may have dropped.

    An encoder drops more while somebody joins who shares its processor.
    """
    for (watcher, publisher), before in seen.items():
        numbers = watcher.video[publisher.identity].numbers[before - 1 :]
        step = longest_step(numbers)
        print(f"{watcher.identity} sees {publisher.identity}: {len(numbers)} pictures, longest step {step}")
        assert step <= longest, f"{watcher.identity} misses pictures of {publisher.identity}"


def _busy(machines: list, found: list) -> bool:
    """Adds the machine that has answered a client."""
    found += [machine for machine in machines if machine.figure('weir_agent_total{reason="check_answered"}') > 0]
    return bool(found)
