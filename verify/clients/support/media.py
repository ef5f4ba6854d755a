"""Media that can be recognised at the far end, so that a test can tell whose track it decoded.

A picture is one publisher's colour with a white bar in its upper half that moves one step a frame, and one in its lower
half that moves whenever the first begins anew: the colour says who, the bars say which frame. A sound is one publisher's sine.
"""

import time
from collections import deque
from dataclasses import dataclass, field
from functools import cache

import numpy

FPS = 15
SAMPLE_RATE = 48_000
BAR_STEPS = 32
NUMBERS = BAR_STEPS * BAR_STEPS
LUMA_BACKGROUND = 90
LUMA_BAR = 230
CHROMA_TOLERANCE = 24
FREQUENCY_TOLERANCE_HZ = 25
# A sine at the amplitude below has an RMS near 7,000; comfort noise and codec residue stay under
# this.
SILENCE_RMS = 500
AMPLITUDE = 10_000


@dataclass(frozen=True)
class Signature:
    """One publisher's colour (U and V) and pitch."""

    name: str
    u: int
    v: int
    pitch_hz: int


SIGNATURES = (
    Signature("red", 90, 220, 440),
    Signature("blue", 220, 110, 700),
    Signature("green", 60, 50, 1000),
    Signature("olive", 30, 140, 1400),
)


def picture(signature: Signature, number: int, width: int, height: int, grain: int = 0) -> bytes:
    """Frame `number` as I420 (planes Y, U, V, no padding). With grain its encoder needs all of its rate."""
    luma = numpy.full((height, width), LUMA_BACKGROUND, dtype=numpy.uint8)
    step = width / BAR_STEPS
    middle = height // 2
    for rows, place in ((slice(middle), number), (slice(middle, height), number // BAR_STEPS)):
        left = int((place % BAR_STEPS) * step)
        luma[rows, left : left + max(int(step), 1)] = LUMA_BAR
    if grain:
        luma += numpy.random.default_rng(number).integers(grain, size=luma.shape, dtype=numpy.uint8)
    chroma = (width // 2) * (height // 2)
    return luma.tobytes() + bytes([signature.u]) * chroma + bytes([signature.v]) * chroma


def tone(signature: Signature, first_sample: int, count: int) -> numpy.ndarray:
    """`count` mono samples of the publisher's sine, starting at sample `first_sample` of the stream."""
    return _second(signature.pitch_hz).take(numpy.arange(first_sample, first_sample + count), mode="wrap")


@cache
def _second(pitch_hz: int) -> numpy.ndarray:
    """A second of a sine, which has a whole number of periods."""
    t = numpy.arange(SAMPLE_RATE) / SAMPLE_RATE
    return (AMPLITUDE * numpy.sin(2 * numpy.pi * pitch_hz * t)).astype(numpy.int16)


@dataclass
class VideoWitness:
    """The frames that one receiver decoded of one video track."""

    sizes: list[tuple[int, int]] = field(default_factory=list)
    signatures: set[str] = field(default_factory=set)
    numbers: list[int] = field(default_factory=list)
    # When each of them was decoded, by the monotonic clock.
    times: list[float] = field(default_factory=list)

    @property
    def frames(self) -> int:
        return len(self.sizes)

    def backward(self, since: int = 0) -> int:
        """How often an earlier picture, or the same, came after frame `since`."""
        deltas = numpy.diff(self.numbers[since:]) % NUMBERS
        return int(numpy.count_nonzero((deltas == 0) | (deltas > NUMBERS // 2)))

    @property
    def size(self) -> tuple[int, int] | None:
        return self.sizes[-1] if self.sizes else None

    def advance(self, since: int, count: int) -> int:
        """How many frames the publisher drew while this receiver decoded `count` of them after frame `since`."""
        numbers = self.numbers[since - 1 : since + count]
        return int(numpy.sum(numpy.diff(numbers) % NUMBERS))

    def see(self, width: int, height: int, y: numpy.ndarray, u: numpy.ndarray, v: numpy.ndarray) -> None:
        """Notes one decoded frame. The planes are arrays of shape (rows, columns), chroma at half size."""
        if width < BAR_STEPS:
            # libwebrtc delivers a tiny black frame when a receiver stops, which nobody sent.
            return
        self.sizes.append((width, height))
        self.times.append(time.monotonic())
        self.signatures.add(_colour(float(u.mean()), float(v.mean())))
        middle = height // 2
        self.numbers.append(_bar(y[:middle]) + BAR_STEPS * _bar(y[middle:]))


@dataclass
class AudioWitness:
    """The audio that one receiver decoded of one track: the newest second, and the total amount."""

    samples: int = 0
    # They are joined when somebody asks: a receiver of many would copy a second for each of 10 ms.
    _newest: deque[numpy.ndarray] = field(default_factory=deque)
    _newest_samples: int = 0

    def hear(self, mono: numpy.ndarray) -> None:
        self.samples += len(mono)
        self._newest.append(mono.copy())
        self._newest_samples += len(mono)
        while self._newest_samples - len(self._newest[0]) >= SAMPLE_RATE:
            self._newest_samples -= len(self._newest.popleft())

    def _recent(self) -> numpy.ndarray:
        """The newest second, or all there is."""
        return numpy.concatenate([numpy.zeros(0, dtype=numpy.int16), *self._newest])[-SAMPLE_RATE:]

    @property
    def rms(self) -> float:
        recent = self._recent()
        if len(recent) == 0:
            return 0.0
        return float(numpy.sqrt(numpy.mean(recent.astype(numpy.float64) ** 2)))

    @property
    def silent(self) -> bool:
        return self.rms < SILENCE_RMS

    def carries(self, signature: Signature) -> bool:
        """Whether the loudest frequency of the newest second is this publisher's."""
        recent = self._recent()
        if len(recent) < SAMPLE_RATE // 2 or self.silent:
            return False
        spectrum = numpy.abs(numpy.fft.rfft(recent * numpy.hanning(len(recent))))
        loudest_hz = float(numpy.argmax(spectrum)) * SAMPLE_RATE / len(recent)
        return abs(loudest_hz - signature.pitch_hz) < FREQUENCY_TOLERANCE_HZ

    def forget(self) -> None:
        """Starts listening afresh, as after an unmute."""
        self.samples = self._newest_samples = 0
        self._newest.clear()


def _bar(half: numpy.ndarray) -> int:
    """The stripe that is the lightest."""
    columns = half.mean(axis=0)
    bounds = numpy.arange(BAR_STEPS + 1) * len(columns) // BAR_STEPS
    return int(numpy.argmax(numpy.add.reduceat(columns, bounds[:-1]) / numpy.diff(bounds)))


def _colour(u: float, v: float) -> str:
    for signature in SIGNATURES:
        if abs(u - signature.u) < CHROMA_TOLERANCE and abs(v - signature.v) < CHROMA_TOLERANCE:
            return signature.name
    return f"unknown (u {u:.0f}, v {v:.0f})"
