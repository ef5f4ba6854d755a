"""A participant on the LiveKit Python SDK: libwebrtc without a browser."""

import asyncio
import contextlib

import numpy
from livekit import rtc
from livekit.rtc._ffi_client import FfiClient
from livekit.rtc._proto import ffi_pb2, video_frame_pb2

from .media import FPS, SAMPLE_RATE, AudioWitness, Signature, VideoWitness, picture, tone
from .participant import Heard, Participant

AUDIO_CHUNK = SAMPLE_RATE // 50


class SdkParticipant(Participant):
    """Joins with the SDK's own signalling; `single` chooses `/rtc/v1` (one peer connection) or `/rtc` (two)."""

    def __init__(self, identity: str, signature: Signature) -> None:
        super().__init__(identity, signature)
        self.room = rtc.Room()
        self.disconnect_reason = None
        self.reconnected = 0
        self._sources: list[asyncio.Task] = []
        self._streams: list[asyncio.Task] = []
        self._listen()

    async def join(self, url: str, token: str, *, single: bool, auto_subscribe: bool = True) -> None:
        options = rtc.RoomOptions(auto_subscribe=auto_subscribe, single_peer_connection=single, connect_timeout=10.0)
        await self.room.connect(url, token, options)

    async def leave(self) -> None:
        tasks = self._sources + self._streams
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=2)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.room.disconnect(), 5)

    @property
    def others(self) -> set[str]:
        return set(self.room.remote_participants)

    async def received(self, identity: str) -> list[str]:
        """The counts of the SDK about each video track that it has of somebody, for a failure's message."""
        publisher = self.room.remote_participants.get(identity)
        tracks = [it.track for it in publisher.track_publications.values() if it.track] if publisher else []
        counts = []
        for track in tracks:
            state = rtc.StreamState.Name(track.stream_state)
            inbound = [it.inbound_rtp for it in await track.get_stats() if it.HasField("inbound_rtp")]
            shown = [f"{it.stream} {it.received} {it.inbound}".replace("\n", " ") for it in inbound]
            counts.append(f"{track.sid} {state} {shown}")
        return counts

    async def publish_video(
        self,
        width: int = 320,
        height: int = 180,
        *,
        simulcast: bool = False,
        codec: int | None = None,
        grain: int = 0,
    ):
        """Publishes the moving picture; returns its publication."""
        source = rtc.VideoSource(width, height)
        track = rtc.LocalVideoTrack.create_video_track("camera", source)
        options = rtc.TrackPublishOptions(
            source=rtc.TrackSource.SOURCE_CAMERA,
            simulcast=simulcast,
            video_codec=rtc.VideoCodec.VP8 if codec is None else codec,
            video_encoding=rtc.VideoEncoding(max_bitrate=700_000, max_framerate=FPS),
        )
        publication = await self.room.local_participant.publish_track(track, options)
        self._sources.append(asyncio.create_task(self._film(source, width, height, grain)))
        return publication

    async def publish_audio(self):
        """Publishes the sine; returns its publication."""
        source = rtc.AudioSource(SAMPLE_RATE, 1, queue_size_ms=100)
        track = rtc.LocalAudioTrack.create_audio_track("microphone", source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
        publication = await self.room.local_participant.publish_track(track, options)
        self._sources.append(asyncio.create_task(self._sound(source)))
        return publication

    async def send(
        self, payload: bytes, *, reliable: bool = True, to: list[str] | None = None, topic: str = ""
    ) -> None:
        await self.room.local_participant.publish_data(
            payload, reliable=reliable, destination_identities=to or [], topic=topic
        )

    async def _film(self, source: rtc.VideoSource, width: int, height: int, grain: int) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        number = 0
        while True:
            drawn = picture(self.signature, number, width, height, grain)
            frame = rtc.VideoFrame(width, height, rtc.VideoBufferType.I420, drawn)
            source.capture_frame(frame)
            number += 1
            self.frames_sent = number
            # An encoder drops the first of two pictures that come at once, as after a pause.
            due = max(due + 1 / FPS, loop.time() + 0.5 / FPS)
            await asyncio.sleep(due - loop.time())

    async def _sound(self, source: rtc.AudioSource) -> None:
        sample = 0
        while True:
            chunk = tone(self.signature, sample, AUDIO_CHUNK)
            # The source's queue is the clock: this returns when there is room for the next chunk.
            await source.capture_frame(rtc.AudioFrame(chunk.tobytes(), SAMPLE_RATE, 1, AUDIO_CHUNK))
            sample += AUDIO_CHUNK

    def _listen(self) -> None:
        room = self.room
        room.on("track_subscribed", self._subscribed)
        room.on("data_received", self._received)
        room.on("disconnected", lambda reason: setattr(self, "disconnect_reason", reason))
        room.on("reconnected", lambda: setattr(self, "reconnected", self.reconnected + 1))

    def _subscribed(self, track, publication, participant) -> None:
        if track.kind == rtc.TrackKind.KIND_VIDEO:
            witness = self.video.setdefault(participant.identity, VideoWitness())
            self._streams.append(asyncio.create_task(_watch(track, witness)))
        else:
            witness = self.audio.setdefault(participant.identity, AudioWitness())
            self._streams.append(asyncio.create_task(_hear(track, witness)))

    def _received(self, packet: rtc.DataPacket) -> None:
        sender = packet.participant.identity if packet.participant else ""
        reliable = packet.kind == rtc.DataPacketKind.KIND_RELIABLE
        self.inbox.append(Heard(sender, packet.data, reliable, packet.topic or ""))


class _EveryFrame(rtc.VideoStream):
    """The SDK's stream without its queue of one frame, which drops pictures whenever Python is late to fetch them."""

    def _create_owned_stream(self):
        request = ffi_pb2.FfiRequest()
        request.new_video_stream.track_handle = self._track._ffi_handle.handle
        request.new_video_stream.type = video_frame_pb2.VideoStreamType.VIDEO_STREAM_NATIVE
        request.new_video_stream.format = rtc.VideoBufferType.I420
        request.new_video_stream.normalize_stride = True
        request.new_video_stream.queue_size_frames = 0
        return FfiClient.instance.request(request).new_video_stream.stream


async def _watch(track, witness: VideoWitness) -> None:
    stream = _EveryFrame(track)
    try:
        async for event in stream:
            frame = event.frame
            rows, columns = (frame.height + 1) // 2, (frame.width + 1) // 2
            y, u, v = (numpy.frombuffer(frame.get_plane(i), dtype=numpy.uint8) for i in range(3))
            y = y[: frame.height * frame.width].reshape(frame.height, frame.width)
            witness.see(frame.width, frame.height, y, u[: rows * columns], v[: rows * columns])
    finally:
        await stream.aclose()


async def _hear(track, witness: AudioWitness) -> None:
    stream = rtc.AudioStream(track, sample_rate=SAMPLE_RATE, num_channels=1)
    try:
        async for event in stream:
            witness.hear(numpy.frombuffer(event.frame.data, dtype=numpy.int16))
    finally:
        await stream.aclose()
