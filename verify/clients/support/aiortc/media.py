"""aiortc's ends of the recognisable media: the tracks that send it and the readers that witness it."""

import asyncio
import contextlib
import fractions

import numpy
from aiortc import MediaStreamTrack
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame, VideoFrame

from ..media import FPS, SAMPLE_RATE, AudioWitness, Signature, VideoWitness, picture, tone
from ..participant import Participant

AUDIO_CHUNK = SAMPLE_RATE // 50
VIDEO_CLOCK = 90_000


class Camera(MediaStreamTrack):
    """The owner's moving picture, one frame each time it is due."""

    kind = "video"

    def __init__(self, owner: Participant, width: int, height: int) -> None:
        super().__init__()
        self._owner, self._width, self._height = owner, width, height
        self._number = 0
        self._start: float | None = None

    async def recv(self) -> VideoFrame:
        await self._wait_for_frame()
        planes = numpy.frombuffer(
            picture(self._owner.signature, self._number, self._width, self._height), dtype=numpy.uint8
        )
        frame = VideoFrame.from_ndarray(planes.reshape(self._height * 3 // 2, self._width), format="yuv420p")
        frame.pts = self._number * VIDEO_CLOCK // FPS
        frame.time_base = fractions.Fraction(1, VIDEO_CLOCK)
        self._number += 1
        self._owner.frames_sent = self._number
        return frame

    async def _wait_for_frame(self) -> None:
        now = asyncio.get_running_loop().time()
        self._start = self._start if self._start is not None else now
        await asyncio.sleep(max(0.0, self._start + self._number / FPS - now))


class Microphone(MediaStreamTrack):
    """The owner's sine, 20 ms at a time."""

    kind = "audio"

    def __init__(self, signature: Signature) -> None:
        super().__init__()
        self._signature = signature
        self._sample = 0
        self._start: float | None = None

    async def recv(self) -> AudioFrame:
        now = asyncio.get_running_loop().time()
        self._start = self._start if self._start is not None else now
        await asyncio.sleep(max(0.0, self._start + self._sample / SAMPLE_RATE - now))
        chunk = tone(self._signature, self._sample, AUDIO_CHUNK)
        frame = AudioFrame.from_ndarray(chunk.reshape(1, -1), format="s16", layout="mono")
        frame.pts = self._sample
        frame.sample_rate = SAMPLE_RATE
        frame.time_base = fractions.Fraction(1, SAMPLE_RATE)
        self._sample += AUDIO_CHUNK
        return frame


async def watch(track: MediaStreamTrack, witness: VideoWitness) -> None:
    """Shows every decoded frame to the witness until the track ends."""
    with contextlib.suppress(MediaStreamError):
        while True:
            frame = await track.recv()
            rows, columns = (frame.height + 1) // 2, (frame.width + 1) // 2
            shapes = ((frame.height, frame.width), (rows, columns), (rows, columns))
            y, u, v = (
                numpy.frombuffer(plane, dtype=numpy.uint8).reshape(-1, plane.line_size)[: shape[0], : shape[1]]
                for plane, shape in zip(frame.planes, shapes, strict=True)
            )
            witness.see(frame.width, frame.height, y, u, v)


async def hear(track: MediaStreamTrack, witness: AudioWitness) -> None:
    """Plays every decoded frame to the witness until the track ends."""
    with contextlib.suppress(MediaStreamError):
        while True:
            frame = await track.recv()
            # Packed stereo: the left channel is every other sample.
            channels = len(frame.layout.channels)
            witness.hear(frame.to_ndarray().reshape(-1)[::channels])
