"""The claims several tests make about media between two participants."""

from .media import FPS, VideoWitness
from .participant import Participant
from .wait import until

# Enough frames to see steady flow and the bar move through most of the image.
FRAMES = 2 * FPS
# A server that loses frames loses them in every window; a busy machine starves an encoder or a
# decoder in one.
WINDOWS = 3
LOSSY_TRIES = 5


async def video_flows(publisher: Participant, viewer: Participant, seconds: float = 15.0) -> None:
    """`viewer` decodes `publisher`'s own pictures, in order, and in some window at least 9 in 10 of those drawn."""
    them, us = publisher.identity, viewer.identity
    witness = await until(f"{us} is sent {them}'s video track", lambda: viewer.video.get(them), seconds)
    # The first second contains the key-frame request and the encoder's start; windows follow it.
    await _decodes(witness, FPS, seconds, f"{us} decodes more frames of {them}")
    rates = []
    while len(rates) < WINDOWS and max(rates, default=0) < 0.9:
        start = witness.frames
        await _decodes(witness, FRAMES, seconds, f"{us} goes on decoding {them}")
        assert witness.backward(start) == 0, f"{us} saw {them}'s pictures go back: {witness.numbers[start:]}"
        rates.append(FRAMES / max(witness.advance(start, FRAMES), 1))
    assert max(rates) >= 0.9, f"{us} decoded {rates} of the frames {them} drew: {witness.numbers[-WINDOWS * FRAMES :]}"
    assert witness.signatures == {publisher.signature.name}, f"{us} saw {witness.signatures} for {them}"


async def _decodes(witness: VideoWitness, count: int, seconds: float, what: str) -> None:
    start = witness.frames
    await until(what, lambda: witness.frames - start >= count, seconds, lambda: f"{witness.frames - start} of {count}")


async def audio_flows(publisher: Participant, listener: Participant, seconds: float = 15.0) -> None:
    """`listener` hears `publisher`'s own pitch."""
    them, us = publisher.identity, listener.identity
    witness = await until(f"{us} is sent {them}'s audio track", lambda: listener.audio.get(them), seconds)
    await until(
        f"{us} hears {them}'s {publisher.signature.pitch_hz} Hz",
        lambda: witness.carries(publisher.signature),
        seconds,
        lambda: f"{witness.samples} samples, rms {witness.rms:.0f}",
    )


async def data_flows(sender: Participant, receiver: Participant) -> None:
    """A reliable and a lossy packet arrive as what they were sent as, under the sender's identity."""
    await packet_flows(sender, receiver, reliable=True)
    await packet_flows(sender, receiver, reliable=False)


async def packet_flows(sender: Participant, receiver: Participant, *, reliable: bool, size: int = 0) -> None:
    """One packet of at least `size` bytes arrives: a reliable one at once, one of a few lossy ones.

    A receiver that decodes several videos on a busy machine overruns its socket, and what is lost
    there of a lossy channel is not repeated.
    """
    label = "reliable" if reliable else "lossy"
    payload = f"{label} from {sender.identity} to {receiver.identity}".encode().ljust(size, b".")
    what = f"{receiver.identity} has {sender.identity}'s {label} packet of {len(payload)} bytes"
    tries = 1 if reliable else LOSSY_TRIES
    for left in reversed(range(tries)):
        await sender.send(payload, reliable=reliable, topic=label)
        try:
            heard = await until(what, lambda: receiver.heard(payload), 10 / tries, lambda: receiver.inbox)
            break
        except AssertionError:
            if left == 0:
                raise
    assert (heard.sender, heard.reliable, heard.topic) == (sender.identity, reliable, label)
