"""A call of two participants by aiortc."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from .aiortc_participant import AiortcParticipant
from .flow import audio_flows, data_flows, video_flows
from .media import SIGNATURES
from .tokens import token


@asynccontextmanager
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
