"""A participant on aiortc: ICE, DTLS, SRTP and SCTP that share nothing with libwebrtc."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from aiortc import MediaStreamTrack
from livekit.protocol import models, rtc

from .connection import Connection, Dual, Single
from .media import Camera, Microphone, hear, watch
from ..flow import audio_flows, data_flows, video_flows
from ..media import SIGNATURES, AudioWitness, Signature, VideoWitness
from ..participant import Heard, Participant
from ..tokens import token
from ..wait import until


class AiortcParticipant(Participant):
    """Joins with the tests' own signalling; `suites` limits the SRTP suites it offers (all of aiortc's when empty)."""

    def __init__(self, identity: str, signature: Signature, *, suites: tuple = ()) -> None:
        super().__init__(identity, signature)
        self.members: dict[str, models.ParticipantInfo] = {}
        self.published: dict[str, models.TrackInfo] = {}
        self.messages: list[rtc.SignalResponse] = []
        self.connection: Connection | None = None
        self._suites = suites
        self._unclaimed: list[tuple[str, MediaStreamTrack]] = []
        self._tasks: list[asyncio.Task] = []

    async def join(self, url: str, token: str, *, single: bool, auto_subscribe: bool = True) -> None:
        connection = (Single if single else Dual)(self._suites, self._on_track, self._on_data)
        await connection.open(url, token, auto_subscribe)
        self.connection = connection
        join = self.signalling.join
        self.info = join.participant
        self._note(join.other_participants)
        self.signalling.start(self._handle)
        await self.connection.begin()
        await until(f"{self.identity}'s connections are up", self._connected, 10, self._states)

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self.connection is None:
            return
        with contextlib.suppress(Exception):
            await self.signalling.send(leave=rtc.LeaveRequest(reason=models.CLIENT_INITIATED))
        await self.connection.close()

    @property
    def signalling(self):
        return self.connection.signalling

    @property
    def others(self) -> set[str]:
        return set(self.members)

    async def publish_video(self, width: int = 320, height: int = 180) -> models.TrackInfo:
        track = Camera(self, width, height)
        request = rtc.AddTrackRequest(
            cid=track.id,
            name="camera",
            type=models.VIDEO,
            source=models.CAMERA,
            width=width,
            height=height,
            layers=[models.VideoLayer(quality=models.HIGH, width=width, height=height, bitrate=500_000)],
        )
        return await self._publish(track, request)

    async def publish_audio(self) -> models.TrackInfo:
        track = Microphone(self.signature)
        return await self._publish(
            track, rtc.AddTrackRequest(cid=track.id, name="microphone", type=models.AUDIO, source=models.MICROPHONE)
        )

    async def send(
        self, payload: bytes, *, reliable: bool = True, to: list[str] | None = None, topic: str = ""
    ) -> None:
        channel = self.connection.sending.channels["_reliable" if reliable else "_lossy"]
        await until(f"{channel.label} is open", lambda: channel.readyState == "open", 10)
        packet = models.DataPacket(
            kind=models.DataPacket.RELIABLE if reliable else models.DataPacket.LOSSY,
            destination_identities=to or [],
            user=models.UserPacket(payload=payload, topic=topic),
        )
        channel.send(packet.SerializeToString())

    def track_of(self, identity: str, kind: int) -> models.TrackInfo | None:
        """Another participant's track of a kind, as the server last described it."""
        info = self.members.get(identity)
        return next((track for track in info.tracks if track.type == kind), None) if info else None

    def answered(self, kind: str) -> list:
        """Every message of one kind that the server has sent, oldest first."""
        return [getattr(m, kind) for m in self.messages if m.WhichOneof("message") == kind]

    def negotiated(self) -> list[str]:
        """The DTLS version and SRTP suite of each of this participant's transports."""
        transports = [t for link in self.connection.links() for t in link.transports() if t._ssl]
        return [
            f"{t._ssl.get_protocol_version_name()} with {t._ssl.get_selected_srtp_profile().decode() or 'no SRTP'}"
            for t in transports
        ]

    async def _publish(self, track: MediaStreamTrack, request: rtc.AddTrackRequest) -> models.TrackInfo:
        await self.signalling.send(add_track=request)
        info = await until(f"track_published for {request.name}", lambda: self.published.get(track.id), 5)
        assert info.sid.startswith("TR"), info.sid
        await self.connection.publish(track)
        return info

    def _connected(self) -> bool:
        return all(link.pc.connectionState == "connected" for link in self.connection.links())

    def _states(self) -> list[str]:
        return [f"{rtc.SignalTarget.Name(link.target)} {link.pc.connectionState}" for link in self.connection.links()]

    async def _handle(self, response: rtc.SignalResponse) -> None:
        self.messages.append(response)
        match response.WhichOneof("message"):
            case "update":
                self._note(response.update.participants)
            case "track_published":
                self.published[response.track_published.cid] = response.track_published.track
            case _:
                await self.connection.handle(response)

    def _note(self, participants) -> None:
        for info in participants:
            if info.identity == self.identity:
                continue
            if info.state == models.ParticipantInfo.DISCONNECTED:
                self.members.pop(info.identity, None)
            else:
                self.members[info.identity] = info
        waiting, self._unclaimed = self._unclaimed, []
        for sid, track in waiting:
            self._on_track(sid, track)

    def _on_track(self, sid: str, track: MediaStreamTrack) -> None:
        owner = next((i for i, info in self.members.items() if any(t.sid == sid for t in info.tracks)), None)
        if owner is None:
            self._unclaimed.append((sid, track))
        elif track.kind == "video":
            self._tasks.append(asyncio.create_task(watch(track, self.video.setdefault(owner, VideoWitness()))))
        else:
            self._tasks.append(asyncio.create_task(hear(track, self.audio.setdefault(owner, AudioWitness()))))

    def _on_data(self, label: str, data: bytes) -> None:
        packet = models.DataPacket.FromString(data)
        if packet.WhichOneof("value") == "user":
            sender = packet.participant_identity or packet.user.participant_identity
            self.inbox.append(Heard(sender, packet.user.payload, label == "_reliable", packet.user.topic))


@contextlib.asynccontextmanager
async def aiortc_call(url: str, room: str, *, single: bool) -> AsyncIterator[list[AiortcParticipant]]:
    """Both participants, once video, audio and data have passed between them. They leave at the end."""
    people = [AiortcParticipant(name, SIGNATURES[number]) for number, name in enumerate(("alice", "bob"))]
    alice, bob = people
    try:
        for person in people:
            await person.join(url, token(room, person.identity), single=single)
            await person.publish_video()
            await person.publish_audio()
        await asyncio.gather(
            video_flows(alice, bob), video_flows(bob, alice), audio_flows(alice, bob), audio_flows(bob, alice)
        )
        await data_flows(alice, bob)
        yield people
    finally:
        await asyncio.gather(*(person.leave() for person in people), return_exceptions=True)
