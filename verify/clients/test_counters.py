"""Counters that name a failure stay where they are while clients do nothing but what clients do."""

import asyncio
import re
import urllib.request

import pytest

from support.flow import audio_flows, data_flows, video_flows
from support.wait import until

FAILURE = re.compile("failed|unexpected|malformed|refused|full|overflow|overload|bad|contested|collision|too_slow|held")


@pytest.mark.parametrize("single", [True, False], ids=["rtc/v1", "rtc"])
async def test_an_ordinary_call_counts_no_failure(joining, url, single):
    before = await asyncio.to_thread(_failures, url)
    alice = await joining.sdk("alice", single=single)
    bob = await joining.sdk("bob", single=single)
    carol = await joining.aiortc("carol", single=single)
    await until("all are there", lambda: all(len(p.others) == 2 for p in (alice, bob, carol)))
    await alice.publish_video()
    await bob.publish_audio()
    await asyncio.gather(video_flows(alice, bob), audio_flows(bob, alice), audio_flows(bob, carol))
    await asyncio.gather(data_flows(alice, bob), data_flows(carol, alice))
    for participant in (bob, carol, alice):
        await participant.leave()
    # They are gone, and the fixture need not see whether they are well.
    joining.present.clear()
    await asyncio.sleep(1.5)
    after = await asyncio.to_thread(_failures, url)
    assert {name: count for name, count in after.items() if count != before.get(name, 0)} == {}


def _failures(url: str) -> dict[str, float]:
    """The server's counters that name a failure."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url.replace("ws", "http", 1) + "/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    counters = (line.rsplit(" ", 1) for line in lines if "_total{" in line)
    return {name: float(count) for name, count in counters if FAILURE.search(name.partition("{")[2])}
