"""aiortc peer connections for the LiveKit protocol's two layouts.

`Dual` is `/rtc`: the server offers what we receive, we offer what we send. `Single` is `/rtc/v1`: one connection, we
always offer, and the server says when it wants more sections to put tracks into.
"""

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import aioice.ice
from aiortc import (
    MediaStreamTrack,
    RTCBundlePolicy,
    RTCConfiguration,
    RTCDataChannel,
    RTCPeerConnection,
    RTCRtpReceiver,
    RTCSessionDescription,
)
from aiortc.rtcdtlstransport import RTCDtlsTransport, SRTPProtectionProfile
from aiortc.sdp import SessionDescription, candidate_from_sdp, candidate_to_sdp
from livekit.protocol import rtc

from .signalling import Signalling

SECTIONS_AT_JOIN = 3
ANSWER_TIMEOUT_S = 10.0

# aioice leaves the loopback address out of its host candidates; on a machine without a network it is the only one.
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]

OnTrack = Callable[[str, MediaStreamTrack], None]
OnData = Callable[[str, bytes], None]


class Link:
    """One peer connection, the suites it may offer, and the candidates exchanged beside its descriptions."""

    def __init__(self, target: int, suites: tuple[SRTPProtectionProfile, ...], on_track: OnTrack, on_data: OnData) -> None:
        self.target = target
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        self.channels: dict[str, RTCDataChannel] = {}
        self._suites = suites
        self._on_track = on_track
        self._on_data = on_data
        self._early: list[rtc.TrickleRequest] = []
        self._sids: dict[str, str] = {}
        self.pc.on("datachannel", self._adopt)

    def open_channels(self) -> None:
        """Creates the client's two channels, with the labels and reliability the protocol gives them."""
        self._adopt(self.pc.createDataChannel("_reliable"))
        self._adopt(self.pc.createDataChannel("_lossy", ordered=False, maxRetransmits=0))

    async def set_local(self) -> RTCSessionDescription:
        self._restrict()
        await self.pc.setLocalDescription()
        return self.pc.localDescription

    async def set_remote(self, description: rtc.SessionDescription) -> None:
        sdp = _without_placeholders(description.sdp)
        await self.pc.setRemoteDescription(RTCSessionDescription(sdp=sdp, type=description.type))
        self._restrict()
        self._announce(sdp, description.mid_to_track_id)
        for trickle in self._early:
            await self.trickle(trickle)
        self._early.clear()

    async def trickle(self, trickle: rtc.TrickleRequest) -> None:
        """Adds the server's candidate; before there is a remote description it waits for one."""
        if self.pc.remoteDescription is None:
            self._early.append(trickle)
            return
        init = json.loads(trickle.candidateInit) if trickle.candidateInit else {}
        if not init.get("candidate"):
            return
        candidate = candidate_from_sdp(init["candidate"].removeprefix("candidate:"))
        candidate.sdpMid = init.get("sdpMid")
        candidate.sdpMLineIndex = init.get("sdpMLineIndex")
        if candidate.protocol.lower() == "udp":
            await self.pc.addIceCandidate(candidate)

    def candidates(self) -> list[rtc.TrickleRequest]:
        """Our own candidates, as the messages a trickling client sends."""
        section = SessionDescription.parse(self.pc.localDescription.sdp).media[0]
        inits = [
            {"candidate": f"candidate:{candidate_to_sdp(candidate)}", "sdpMid": section.rtp.muxId, "sdpMLineIndex": 0}
            for candidate in section.ice_candidates
        ]
        return [rtc.TrickleRequest(candidateInit=json.dumps(init), target=self.target) for init in inits]

    def transports(self) -> set[RTCDtlsTransport]:
        found = {transceiver.receiver.transport for transceiver in self.pc.getTransceivers()}
        if self.pc.sctp:
            found.add(self.pc.sctp.transport)
        return found

    def receiver(self, sid: str) -> RTCRtpReceiver | None:
        """The receiver that a server-side track id is bound to."""
        mid = next((mid for mid, bound in self._sids.items() if bound == sid), None)
        return next((t.receiver for t in self.pc.getTransceivers() if t.mid == mid), None)

    def _restrict(self) -> None:
        if self._suites:
            for transport in self.transports():
                transport._srtp_profiles = list(self._suites)

    def _announce(self, sdp: str, named: Mapping[str, str]) -> None:
        """Reports each section that now carries a track, by the server's id for it."""
        sections = {media.rtp.muxId: media for media in SessionDescription.parse(sdp).media}
        for transceiver in self.pc.getTransceivers():
            section = sections.get(transceiver.mid)
            if section is None or section.direction not in ("sendonly", "sendrecv"):
                continue
            # An answer names the track beside the SDP, an offer names it in the section's msid.
            sid = named.get(transceiver.mid) or (section.msid or "").partition(" ")[2]
            if sid.startswith("TR_") and self._sids.get(transceiver.mid) != sid:
                self._sids[transceiver.mid] = sid
                self._on_track(sid, transceiver.receiver.track)

    def _adopt(self, channel: RTCDataChannel) -> None:
        self.channels[channel.label] = channel
        channel.on("message", lambda data: self._on_data(channel.label, data))


def _without_placeholders(sdp: str) -> str:
    """Makes sections that will carry a track only later inactive until they do.

    aiortc learns a section's SSRCs once, when it first may receive there, so a section must not become receiving before
    its SSRCs are known.
    """
    head, *sections = re.split(r"(?m)^(?=m=)", sdp)
    return head + "".join(
        section if "a=ssrc:" in section else section.replace("a=sendonly", "a=inactive") for section in sections
    )


class Connection(ABC):
    """Everything between a participant and the server that is not rooms and names."""

    signalling: Signalling
    sending: Link

    def __init__(self, suites: tuple[SRTPProtectionProfile, ...], on_track: OnTrack, on_data: OnData) -> None:
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
        """What went wrong where nobody was waiting: in handling a message, or in a negotiation the server asked for."""
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
        # Media first: aiortc bundles onto the first section and loses the transport when that is not the channels'.
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
            self.sending._restrict()
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
                # The answer to this offer comes through `handle`, so the offer cannot be awaited in it.
                self._spawn(self.negotiate())
            case "offer":
                raise AssertionError("on /rtc/v1 the server never offers")
            case _:
                await super().handle(response)

    def _add_sections(self, audios: int, videos: int) -> None:
        for kind, count in (("audio", audios), ("video", videos)):
            for _ in range(count):
                self.sending.pc.addTransceiver(kind, direction="recvonly")
