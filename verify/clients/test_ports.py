"""Media at several UDP ports: each is one worker's, and participants take them in turn."""

import asyncio

import pytest
from aiortc.sdp import SessionDescription

from support.aiortc_participant import AiortcParticipant
from support.flow import audio_flows, data_flows, video_flows
from support.media import SIGNATURES
from support.server import server
from support.tokens import token

LAYOUTS = pytest.mark.parametrize("single", [False, True], ids=["rtc", "rtc/v1"])


@LAYOUTS
async def test_a_call_passes_between_participants_at_different_ports(single):
    async with server(media_ports=2) as weir:
        people = [AiortcParticipant(name, SIGNATURES[number]) for number, name in enumerate(("alice", "bob"))]
        alice, bob = people
        try:
            for person in people:
                await person.join(weir.url, token("ports", person.identity), single=single)
                await person.publish_video()
                await person.publish_audio()
            await asyncio.gather(
                video_flows(alice, bob), video_flows(bob, alice), audio_flows(alice, bob), audio_flows(bob, alice)
            )
            await data_flows(alice, bob)
            first, second = (_ports(person) for person in people)
            assert len(first) == len(second) == 1 and first != second, (first, second)
        finally:
            await asyncio.gather(*(person.leave() for person in people), return_exceptions=True)


def _ports(person: AiortcParticipant) -> set[int]:
    """The UDP ports in the server's descriptions for one participant."""
    described = [SessionDescription.parse(link.pc.remoteDescription.sdp) for link in person.connection.links()]
    candidates = [candidate for description in described for candidate in description.media[0].ice_candidates]
    return {candidate.port for candidate in candidates if candidate.protocol.lower() == "udp"}
