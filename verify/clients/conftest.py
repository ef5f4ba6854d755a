"""Fixtures: where the server is, a room of one's own, and participants that leave when the test ends."""

import asyncio
import logging
import os
import sys
import uuid
from collections import Counter
from dataclasses import dataclass

import pytest

from support.aiortc.participant import AiortcParticipant
from support.call import Call
from support.cluster import remove_hosts
from support.media import SIGNATURES
from support.participant import Participant
from support.sdk import SdkParticipant
from support.tokens import token

NEGOTIATED: Counter[str] = Counter()


@dataclass(frozen=True)
class Joining:
    """Makes participants of one room; each gets the next signature, so that no two look or sound alike."""

    url: str
    room: str
    present: list[Participant]

    async def sdk(self, identity: str, *, single: bool = True, auto_subscribe: bool = True, **claims) -> SdkParticipant:
        participant = SdkParticipant(identity, SIGNATURES[len(self.present)])
        self.present.append(participant)
        await participant.join(
            self.url, token(self.room, identity, **claims), single=single, auto_subscribe=auto_subscribe
        )
        return participant

    async def sdk_with(self, identity: str, access_token: str) -> SdkParticipant:
        """A participant that joins with a token that somebody else made."""
        participant = SdkParticipant(identity, SIGNATURES[len(self.present)])
        self.present.append(participant)
        await participant.join(self.url, access_token, single=True)
        return participant

    async def aiortc(
        self, identity: str, *, single: bool = False, suites: tuple = (), auto_subscribe: bool = True, **claims
    ) -> AiortcParticipant:
        participant = AiortcParticipant(identity, SIGNATURES[len(self.present)], suites=suites)
        self.present.append(participant)
        await participant.join(
            self.url, token(self.room, identity, **claims), single=single, auto_subscribe=auto_subscribe
        )
        return participant


@pytest.fixture(scope="session")
def url() -> str:
    """The server under test, as a WebSocket address."""
    address = os.environ.get("WEIR_URL")
    if not address:
        pytest.exit("set WEIR_URL to a running server, or use ./run, which starts one", returncode=2)
    return address.rstrip("/")


@pytest.fixture
async def joining(url: str):
    """A room nobody else is in."""
    factory = Joining(url, f"clients-{uuid.uuid4().hex[:12]}", [])
    yield factory
    independent = [p for p in factory.present if isinstance(p, AiortcParticipant) and p.connection]
    for participant in independent:
        NEGOTIATED.update(participant.negotiated())
    failures = {p.identity: p.connection.failures() for p in independent if p.connection.failures()}
    await asyncio.gather(*(participant.leave() for participant in factory.present), return_exceptions=True)
    assert not failures, failures


def pytest_sessionfinish(session, exitstatus: int) -> None:
    """Keeps pytest's counts the last line: the SDK's native threads would log that the loop is gone."""
    logging.getLogger("livekit").disabled = True
    session.config.verdict = int(exitstatus)


def pytest_unconfigure(config) -> None:
    """Leaves with the verdict: the SDK's native threads call into an interpreter that is ending, and abort it now and then."""
    if hasattr(config, "verdict"):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.verdict)


def pytest_terminal_summary(terminalreporter) -> None:
    """Says what was negotiated, so that a reader sees which cipher suites the run really covered."""
    for line, count in sorted(NEGOTIATED.items()):
        terminalreporter.write_line(f"aiortc negotiated {line}: {count} transports")


@pytest.fixture
async def call():
    """A call in a cluster that the test starts."""
    call = Call()
    yield call
    await call.leave()


@pytest.fixture(scope="session", autouse=True)
def hosts():
    """Hosts of clusters end with the tests."""
    yield
    remove_hosts()
