"""A call beside the one a test disturbs: it shows whether anybody else lost anything meanwhile."""

import asyncio
import contextlib
import itertools
import math
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from livekit.protocol import rtc as protocol

from .media import SIGNATURES
from .sdk import SdkParticipant
from .signalling import Signalling
from .tokens import token
from .wait import until

# Interval of the speaker's numbered data packets, and of checks that signalling answers.
DATA_INTERVAL_S = 0.05
PING_INTERVAL_S = 0.05
# An answer later than this is slow. A stall of half a second makes ten of them.
PING_S_MAX = 0.2
# So large a part of the answers may be slow, because the server shares a machine with others.
SLOW_PART_MAX = 0.1
# Packets under way at the end have this long to arrive.
ARRIVAL_S_MAX = 5.0


@dataclass
class Watch:
    """One observation of the call."""

    sent: list[bytes] = field(default_factory=list)
    # Times from which and until which this process itself did not run.
    pauses: list[tuple[float, float]] = field(default_factory=list)
    pings: list[float] = field(default_factory=list)
    unanswered: int = 0
    sound_lost: int = 0
    sound_received: int = 0

    @property
    def slow(self) -> int:
        """How many questions were not answered in time."""
        return sum(ping > PING_S_MAX for ping in self.pings) + self.unanswered

    @property
    def asked(self) -> int:
        return len(self.pings) + self.unanswered


class Bystander:
    """Two participants on the SDK, `speaker` with sound and numbered data, `listener` who takes both, and a third on bare signalling.

    Use it as `async with bystander.unharmed(): ...`, with whatever should harm nobody inside. Its room is `room`, for tests whose attacker
    is in the same one.
    """

    def __init__(self, url: str, room: str | None = None) -> None:
        self.room = room or f"bystander-{uuid.uuid4().hex[:12]}"
        self.speaker = SdkParticipant("bystander-speaker", SIGNATURES[0])
        self.listener = SdkParticipant("bystander-listener", SIGNATURES[1])
        self._url = url
        self._asker: Signalling | None = None
        self._asked: dict[int, float] = {}
        # The times of questions and of their answers.
        self._answers: list[tuple[float, float]] = []
        self._numbers: Iterator[int] = itertools.count(1)

    async def join(self) -> None:
        """Sets the call up, and returns once sound and data flow."""
        for participant in (self.speaker, self.listener):
            await participant.join(self._url, token(self.room, participant.identity), single=True)
        await self.speaker.publish_audio()
        self._asker = await Signalling.dual(self._url, token(self.room, "bystander-asker"), auto_subscribe=False)
        self._asker.start(self._take)
        await until("the bystanders hear each other", self._hears, 20)
        await self.speaker.send(b"first")
        await until("the bystanders' data flows", lambda: self.listener.heard(b"first"), 10)

    async def leave(self) -> None:
        if self._asker:
            await self._asker.close()
        await asyncio.gather(self.speaker.leave(), self.listener.leave(), return_exceptions=True)

    @contextlib.asynccontextmanager
    async def unharmed(self) -> AsyncIterator[Watch]:
        """Watches the call while the block runs, and fails if anything of it was lost, late or cut off."""
        watch = Watch()
        before = await self._sound()
        tasks = [asyncio.create_task(self._speak(watch)), asyncio.create_task(self._ask(watch))]
        try:
            yield watch
            await asyncio.sleep(10 * PING_INTERVAL_S)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await self._settle(watch, before)
        self._judge(watch)

    async def _settle(self, watch: Watch, before: tuple[int, int]) -> None:
        arrived = lambda: not self._missing(watch)  # noqa: E731
        with contextlib.suppress(AssertionError):
            await until("all data has come", arrived, ARRIVAL_S_MAX)
        with contextlib.suppress(AssertionError):
            await until("all questions are answered", lambda: not self._asked, ARRIVAL_S_MAX)
        watch.pings = [until - since - _within(watch.pauses, since, until) for since, until in self._answers]
        self._answers = []
        watch.unanswered = len(self._asked)
        self._asked.clear()
        received, lost = await self._sound()
        watch.sound_received, watch.sound_lost = received - before[0], lost - before[1]

    def _judge(self, watch: Watch) -> None:
        for participant in (self.speaker, self.listener):
            assert participant.disconnect_reason is None, f"{participant.identity} was cut off"
            assert participant.reconnected == 0, f"{participant.identity} had to come back"
        assert self._asker.failure is None, f"the bystander's signalling failed: {self._asker.failure!r}"
        missing = self._missing(watch)
        assert not missing, f"{len(missing)} of {len(watch.sent)} data packets did not come, the first {missing[0]!r}"
        assert watch.sound_received > 0, "the sound stopped"
        assert watch.sound_lost <= 0, f"{watch.sound_lost} of {watch.sound_received} packets of sound were lost"
        slow_max = math.ceil(SLOW_PART_MAX * watch.asked)
        assert watch.slow <= slow_max, (
            f"{watch.slow} of {watch.asked} questions took longer than {PING_S_MAX:g} s, {watch.unanswered} had no answer; "
            f"the longest took {max(watch.pings, default=0):.2f} s"
        )

    def _missing(self, watch: Watch) -> list[bytes]:
        heard = {heard.payload for heard in self.listener.inbox}
        return [payload for payload in watch.sent if payload not in heard]

    def _hears(self) -> bool:
        witness = self.listener.audio.get(self.speaker.identity)
        return bool(witness and witness.carries(self.speaker.signature))

    async def _sound(self) -> tuple[int, int]:
        """How many packets of the speaker's sound the listener's WebRTC stack has received, and how many it counts as lost."""
        participant = self.listener.room.remote_participants[self.speaker.identity]
        tracks = [publication.track for publication in participant.track_publications.values() if publication.track]
        reports = [report for track in tracks for report in await asyncio.wait_for(track.get_stats(), 5)]
        received = [report.inbound_rtp.received for report in reports if report.HasField("inbound_rtp")]
        return sum(it.packets_received for it in received), sum(it.packets_lost for it in received)

    async def _speak(self, watch: Watch) -> None:
        while True:
            payload = f"bystander {next(self._numbers)}".encode()
            await self.speaker.send(payload)
            watch.sent.append(payload)
            await asyncio.sleep(DATA_INTERVAL_S)

    async def _ask(self, watch: Watch) -> None:
        # It asks at fixed times, even without the last answer, so that a stall counts for its whole
        # duration.
        while True:
            number = next(self._numbers)
            self._asked[number] = time.monotonic()
            await self._asker.send(ping_req=protocol.Ping(timestamp=number))
            due = time.monotonic() + PING_INTERVAL_S
            await asyncio.sleep(PING_INTERVAL_S)
            woken = time.monotonic()
            if woken - due > PING_INTERVAL_S:
                watch.pauses.append((due, woken))

    async def _take(self, response: protocol.SignalResponse) -> None:
        if response.WhichOneof("message") == "pong_resp":
            asked = self._asked.pop(response.pong_resp.last_ping_timestamp, None)
            if asked is not None:
                self._answers.append((asked, time.monotonic()))


def _within(pauses: list[tuple[float, float]], since: float, until: float) -> float:
    """How much of that time was in pauses, in which no answer could be taken."""
    return sum(max(0.0, min(until, end) - max(since, begin)) for begin, end in pauses)


@contextlib.asynccontextmanager
async def calling(url: str) -> AsyncIterator[Bystander]:
    """A bystander's call on a server of the test's own."""
    call = Bystander(url)
    try:
        await call.join()
        yield call
    finally:
        await call.leave()
