"""`/metrics` in the eyes of Prometheus: its own linter, and the parser of OpenMetrics of its client library."""

import asyncio
import shutil
import urllib.request

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from support.flow import audio_flows
from support.media import SIGNATURES
from support.sdk import SdkParticipant
from support.server import Server, server
from support.tokens import token

TOKEN = "0123456789abcdef"
# Everything that has metrics of its own.
CONFIG = f"metrics: {{names: true, token: {TOKEN}}}\nsip: {{ng: {{listen: '127.0.0.1:0'}}, interfaces: [{{address: 127.0.0.1}}]}}\n"
OPEN_METRICS = "application/openmetrics-text"


@pytest.fixture
async def call():
    """A server with two participants in a call."""
    async with server(config=CONFIG) as weir:
        alice, bob = (SdkParticipant(who, SIGNATURES[n]) for n, who in enumerate(("alice", 'b"o\\b')))
        for participant in (alice, bob):
            await participant.join(weir.url, token("metrics", participant.identity), single=True)
        await alice.publish_audio()
        await audio_flows(alice, bob)
        try:
            yield weir
        finally:
            await asyncio.gather(alice.leave(), bob.leave())


def _metrics(weir: Server, accept: str) -> str:
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": accept}
    request = urllib.request.Request(f"http://127.0.0.1:{weir.port}/metrics", headers=headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5) as answer:
        return answer.read().decode()


async def test_open_metrics_can_be_parsed(call):
    text = await asyncio.to_thread(_metrics, call, OPEN_METRICS)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families["weir_participants"].samples[0].value == 2
    identities = {sample.labels["identity"] for sample in families["weir_downlink_loss_ratio"].samples}
    assert identities <= {"alice", 'b"o\\b'}


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (Debian: prometheus)")
async def test_promtool_has_no_complaint(call):
    text = await asyncio.to_thread(_metrics, call, "text/plain")
    linter = await asyncio.create_subprocess_exec(
        "promtool",
        "check",
        "metrics",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await linter.communicate(text.encode())
    assert (linter.returncode, said.decode()) == (0, "")
