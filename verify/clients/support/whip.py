"""WHIP and WHEP clients: aiortc with single HTTP requests."""

import asyncio
from dataclasses import dataclass

import aiohttp
from aiortc import RTCBundlePolicy, RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from .aiortc.link import add_bundled_candidates
from .aiortc.media import Camera, Microphone, hear, watch
from .media import AudioWitness, Signature, VideoWitness
from .participant import Participant

SDP = "application/sdp"
FRAGMENT = "application/trickle-ice-sdpfrag"


def http(url: str) -> str:
    """The same server by HTTP."""
    return url.replace("ws", "http", 1)


@dataclass
class Reply:
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    text: str


async def ask(method: str, url: str, *, token: str | None = None, body: str = "", **headers: str) -> Reply:
    """One request; `headers` are written with `_` for `-`."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        sent["Authorization"] = f"Bearer {token}"
    async with aiohttp.ClientSession() as session, session.request(method, url, data=body, headers=sent) as answer:
        return Reply(answer.status, {name.lower(): value for name, value in answer.headers.items()}, await answer.text())


class WhipParticipant(Participant):
    """One peer connection that is opened by POST and ended by DELETE: a publisher or a player."""

    def __init__(self, identity: str, signature: Signature) -> None:
        super().__init__(identity, signature)
        self.pc = RTCPeerConnection(RTCConfiguration(bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        self.reply: Reply | None = None
        self.session = ""
        self._token: str | None = None
        self._readers: list[asyncio.Task] = []

    @property
    def others(self) -> set[str]:
        return set(self.video) | set(self.audio)

    async def publish_video(self, width: int = 320, height: int = 180):
        self.pc.addTransceiver(Camera(self, width, height), direction="sendonly")

    async def publish_audio(self):
        self.pc.addTransceiver(Microphone(self.signature), direction="sendonly")

    async def send(self, payload: bytes, *, reliable: bool = True, to: list[str] | None = None, topic: str = "") -> None:
        raise NotImplementedError("there are no data channels")

    def expect(self, publisher: str) -> None:
        """Adds sections to receive this publisher on."""

        @self.pc.on("track")
        def on_track(track):
            if track.kind == "video":
                witness = self.video.setdefault(publisher, VideoWitness())
                self._readers.append(asyncio.create_task(watch(track, witness)))
            else:
                witness = self.audio.setdefault(publisher, AudioWitness())
                self._readers.append(asyncio.create_task(hear(track, witness)))

        self.pc.addTransceiver("audio", direction="recvonly")
        self.pc.addTransceiver("video", direction="recvonly")

    async def open(self, url: str, path: str, token: str | None) -> Reply:
        """Opens the session at `path` of the server; the answer is applied if there is one."""
        self._token = token
        await self.pc.setLocalDescription(await self.pc.createOffer())
        offer = self.pc.localDescription.sdp
        self.reply = await ask("POST", http(url) + path, token=token, body=offer, Content_Type=SDP)
        if self.reply.status == 201:
            self.session = http(url) + self.reply.headers["location"]
            await self.pc.setRemoteDescription(RTCSessionDescription(self.reply.text, "answer"))
            await add_bundled_candidates(self.pc, self.reply.text)
        return self.reply

    async def leave(self) -> None:
        for reader in self._readers:
            reader.cancel()
        if self.session:
            await ask("DELETE", self.session, token=self._token)
        await self.pc.close()
