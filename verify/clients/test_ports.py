"""Media at several UDP ports: each is one worker's, and participants take them in turn."""

import pytest
from aiortc.sdp import SessionDescription

from support.aiortc.participant import AiortcParticipant, aiortc_call
from support.server import server

LAYOUTS = pytest.mark.parametrize("single", [False, True], ids=["rtc", "rtc/v1"])


@LAYOUTS
async def test_a_call_passes_between_participants_at_different_ports(single):
    async with server(media_ports=2) as weir, aiortc_call(weir.url, "ports", single=single) as people:
        first, second = (_ports(person) for person in people)
        assert len(first) == len(second) == 1 and first != second, (first, second)


def _ports(person: AiortcParticipant) -> set[int]:
    """The UDP ports in the server's descriptions for one participant."""
    described = [SessionDescription.parse(link.pc.remoteDescription.sdp) for link in person.connection.links()]
    candidates = [candidate for description in described for candidate in description.media[0].ice_candidates]
    return {candidate.port for candidate in candidates if candidate.protocol.lower() == "udp"}
