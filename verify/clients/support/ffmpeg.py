"""FFmpeg's WHIP muxer inside PyAV, which waits for the DTLS handshake (`a=setup:passive`).

It is a process of its own, because the muxer holds the interpreter while it connects: `python -m support.ffmpeg URL TOKEN
NUMBER [CERTIFICATE KEY]` publishes the signature of this number until it is killed. Without a certificate the muxer makes
one: FFmpeg with GnuTLS on P-224, FFmpeg with OpenSSL on P-256.
"""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import av
import numpy
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from .media import AMPLITUDE, FPS, SAMPLE_RATE, SIGNATURES, picture

KEYS = {"its own": None, "RSA": lambda: rsa.generate_private_key(65537, 2048)}
WIDTH, HEIGHT = 320, 180


@dataclass(frozen=True)
class Encoder:
    """A running muxer."""

    process: asyncio.subprocess.Process
    log: Path

    def seen(self) -> str:
        """The end of its log, and whether it has ended."""
        return f"exit {self.process.returncode}: {self.log.read_text()[-1500:]}"


def has_muxer() -> bool:
    """Whether this build of FFmpeg has it."""
    return "whip" in av.formats_available


@contextlib.asynccontextmanager
async def ffmpeg(url: str, token: str, number: int, key: str, folder: Path) -> AsyncIterator[Encoder]:
    """Publishes this signature with a certificate of this kind of key; ends with the block."""
    log = folder / "log"
    arguments = [url.replace("ws", "http", 1) + "/whip/v1", token, str(number)]
    if make_key := KEYS[key]:
        arguments += (certificate := folder / "certificate.pem", private := folder / "key.pem")
        _certify(make_key(), certificate, private)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "support.ffmpeg", *arguments, stdout=log.open("w"), stderr=subprocess.STDOUT
    )
    try:
        yield Encoder(process, log)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _certify(key, certificate: Path, private: Path) -> None:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "encoder")])
    begin = datetime.now() - timedelta(days=1)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + timedelta(days=30))
    certificate.write_bytes(built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    kind = serialization.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()))


def _publish(url: str, token: str, number: int, *files: str) -> None:
    signature = SIGNATURES[number]
    options = {"authorization": token, **dict(zip(("cert_file", "key_file"), files, strict=False))}
    with av.open(url, "w", format="whip", options=options) as out:
        # The muxer takes H.264 without B-frames, and Opus at 48 kHz with two channels.
        video = out.add_stream("libx264", rate=FPS)
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        video.options = {"profile": "baseline", "preset": "ultrafast", "tune": "zerolatency", "g": str(FPS)}
        audio = out.add_stream("libopus", rate=SAMPLE_RATE)
        audio.layout = "stereo"
        begin = time.monotonic()
        for frame in range(sys.maxsize):
            out.mux(video.encode(_picture(signature, frame)))
            out.mux(audio.encode(_sound(signature, frame)))
            time.sleep(max(0.0, begin + frame / FPS - time.monotonic()))


def _picture(signature, number: int) -> av.VideoFrame:
    planes = numpy.frombuffer(picture(signature, number, WIDTH, HEIGHT), dtype=numpy.uint8)
    frame = av.VideoFrame.from_ndarray(planes.reshape(HEIGHT * 3 // 2, WIDTH), format="yuv420p")
    frame.pts = number
    return frame


def _sound(signature, number: int) -> av.AudioFrame:
    count = SAMPLE_RATE // FPS
    instants = (numpy.arange(count) + number * count) / SAMPLE_RATE
    tone = (AMPLITUDE * numpy.sin(2 * numpy.pi * signature.pitch_hz * instants)).astype(numpy.int16)
    frame = av.AudioFrame.from_ndarray(numpy.repeat(tone, 2).reshape(1, -1), format="s16", layout="stereo")
    frame.sample_rate, frame.pts = SAMPLE_RATE, number * count
    return frame


if __name__ == "__main__":
    _publish(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
