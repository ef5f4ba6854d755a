"""aiortc peer connections in the LiveKit protocol's two layouts.

`Dual` is `/rtc`: the server offers what we receive, we offer what we send. `Single` is `/rtc/v1`: one connection, we
always offer, and the server says when it wants more sections to put tracks into.
"""

import asyncio
from abc import ABC, abstractmethod

from aiortc import MediaStreamTrack
from livekit.protocol import rtc

from .link import Link, OnData, OnTrack, Suites
from ..signalling import Signalling

SECTIONS_AT_JOIN = 3
ANSWER_TIMEOUT_S = 10.0


class Connection(ABC):
    """Everything between a participant and the server that is not rooms and names."""

    signalling: Signalling
    sending: Link

    def __init__(self, suites: Suites, on_track: OnTrack, on_data: OnData) -> None:
        self._make_link = lambda target: Link(target, suites, on_track, on_data)
        self._answers: dict[int, asyncio.Future] = {}
        self._offer_id = 0
        self._negotiating = asyncio.Lock()
        self._tasks: list[asyncio.Task] = []

    @abstractmethod
    async def open(self, url: str, token: str, auto_subscribe: bool) -> None:
        """Joins; afterwards the signalling's first message can be read."""

    @abstractmethod
    async def begin(self) -> None:
        """Brings the peer connections up, once messages are being handled."""

    @abstractmethod
    def links(self) -> list[Link]:
        """The peer connections there are."""

    async def handle(self, response: rtc.SignalResponse) -> None:
        """Takes the messages that concern a peer connection and leaves the others."""
        match response.WhichOneof("message"):
            case "answer":
                waiting = self._answers.pop(response.answer.id, None)
                if waiting and not waiting.done():
                    waiting.set_result(response.answer)
            case "trickle":
                for link in self.links():
                    if link.target == response.trickle.target:
                        await link.trickle(response.trickle)

    async def publish(self, track: MediaStreamTrack) -> None:
        self.sending.pc.addTransceiver(track, direction="sendonly")
        await self.negotiate()

    async def negotiate(self) -> None:
        """One offer and its answer on the connection we send on."""
        async with self._negotiating:
            local = await self.sending.set_local()
            answer = self._expect_answer()
            await self.signalling.send(offer=rtc.SessionDescription(type="offer", sdp=local.sdp, id=self._offer_id))
            await self.sending.set_remote(await asyncio.wait_for(answer, ANSWER_TIMEOUT_S))

    def failures(self) -> list[BaseException]:
        """Errors that nobody awaited: in handling a message, or in a negotiation the server asked for."""
        ended = [task.exception() for task in self._tasks if task.done() and not task.cancelled()]
        return [failure for failure in [self.signalling.failure, *ended] if failure]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for link in self.links():
            await link.pc.close()
        await self.signalling.close()

    def _expect_answer(self) -> asyncio.Future:
        self._offer_id += 1
        return self._answers.setdefault(self._offer_id, asyncio.get_running_loop().create_future())

    def _spawn(self, work) -> None:
        self._tasks.append(asyncio.create_task(work))


class Dual(Connection):
    """`/rtc`: we answer on the subscriber connection and offer on the publisher connection."""

    async def open(self, url: str, token: str, auto_subscribe: bool) -> None:
        self.sending = self._make_link(rtc.PUBLISHER)
        self.receiving = self._make_link(rtc.SUBSCRIBER)
        self.signalling = await Signalling.dual(url, token, auto_subscribe=auto_subscribe)
        assert self.signalling.join.subscriber_primary, "on /rtc the server offers first"

    async def begin(self) -> None:
        self.sending.open_channels()
        await self.negotiate()

    def links(self) -> list[Link]:
        return [self.sending, self.receiving]

    async def handle(self, response: rtc.SignalResponse) -> None:
        if response.WhichOneof("message") == "offer":
            await self._answer(response.offer)
        else:
            await super().handle(response)

    async def _answer(self, offer: rtc.SessionDescription) -> None:
        await self.receiving.set_remote(offer)
        local = await self.receiving.set_local()
        await self.signalling.send(answer=rtc.SessionDescription(type="answer", sdp=local.sdp, id=offer.id))


class Single(Connection):
    """`/rtc/v1`: one connection, whose first offer travels in the join request."""

    async def open(self, url: str, token: str, auto_subscribe: bool) -> None:
        self.sending = self._make_link(rtc.PUBLISHER)
        # Media first: aiortc bundles onto the first section and loses the transport when that is
        # not the channels'.
        self._add_sections(SECTIONS_AT_JOIN, SECTIONS_AT_JOIN)
        self.sending.open_channels()
        self._first_offer = await self.sending.pc.createOffer()
        self._first_answer = self._expect_answer()
        offer = rtc.SessionDescription(type="offer", sdp=self._first_offer.sdp, id=self._offer_id)
        self.signalling = await Signalling.single(url, token, offer, auto_subscribe=auto_subscribe)
        assert not self.signalling.join.subscriber_primary, "on /rtc/v1 the client offers"

    async def begin(self) -> None:
        async with self._negotiating:
            await self.sending.pc.setLocalDescription(self._first_offer)
            self.sending.restrict()
            for trickle in self.sending.candidates():
                await self.signalling.send(trickle=trickle)
            await self.sending.set_remote(await asyncio.wait_for(self._first_answer, ANSWER_TIMEOUT_S))

    def links(self) -> list[Link]:
        return [self.sending]

    async def handle(self, response: rtc.SignalResponse) -> None:
        match response.WhichOneof("message"):
            case "media_sections_requirement":
                wanted = response.media_sections_requirement
                self._add_sections(wanted.num_audios, wanted.num_videos)
                # The answer to this offer is received by `handle`, so the offer cannot be awaited
                # in it.
                self._spawn(self.negotiate())
            case "offer":
                raise AssertionError("on /rtc/v1 the server never offers")
            case _:
                await super().handle(response)

    def _add_sections(self, audios: int, videos: int) -> None:
        for kind, count in (("audio", audios), ("video", videos)):
            for _ in range(count):
                self.sending.pc.addTransceiver(kind, direction="recvonly")
