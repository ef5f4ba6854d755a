"""The claims several tests make about media between two participants."""

from .media import FPS
from .participant import Participant
from .wait import until

# Enough to see steady flow and the bar move through most of the picture.
FRAMES = 2 * FPS


async def video_flows(publisher: Participant, viewer: Participant, seconds: float = 15.0) -> None:
    """`viewer` decodes `publisher`'s own pictures, in order, at no less than 80 % of the rate they are sent."""
    them, us = publisher.identity, viewer.identity
    witness = await until(f"{us} is sent {them}'s video track", lambda: viewer.video.get(them), seconds)
    # The first second holds the key-frame request and the encoder's start; the rate is measured after it.
    first = witness.frames
    more = f"{us} decodes {FPS} more frames of {them}"
    await until(more, lambda: witness.frames - first >= FPS, seconds, lambda: f"{first}, then {witness.frames}")
    decoded = witness.frames
    # Three times as long as the frames take: a busy machine may delay pictures, and only missing ones count.
    await until(more, lambda: witness.frames - decoded >= FRAMES, 3 * FRAMES / FPS, lambda: witness.frames - decoded)
    rate = FRAMES / max(witness.advance(decoded, FRAMES), 1)
    assert rate >= 0.8, f"{us} decoded {rate:.0%} of the frames {them} sent: {witness.steps[decoded:]}"
    assert witness.signatures == {publisher.signature.name}, f"{us} saw {witness.signatures} for {them}"
    assert witness.backward(decoded) == 0, f"{us} saw {them}'s bar move back: {witness.steps[decoded:]}"


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
    """One packet of at least `size` bytes arrives."""
    label = "reliable" if reliable else "lossy"
    payload = f"{label} from {sender.identity} to {receiver.identity}".encode().ljust(size, b".")
    await sender.send(payload, reliable=reliable, topic=label)
    what = f"{receiver.identity} has {sender.identity}'s {label} packet of {len(payload)} bytes"
    heard = await until(what, lambda: receiver.heard(payload), 5, lambda: receiver.inbox)
    assert (heard.sender, heard.reliable, heard.topic) == (sender.identity, reliable, label)
