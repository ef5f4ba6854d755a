"""Many people leave a media node that drains, in rooms of two, and keep their sessions."""

import csv
import os
import time
from pathlib import Path

import pytest
from support.call import Call
from support.cluster import KEY, cluster, missing
from support.media import SIGNATURES
from support.sdk import SdkParticipant
from support.tokens import token
from support.wait import until

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"SKIPPED, clusters were not tested: {missing()} missing")
# `eval/drain/run` sets these for 100 people, and writes their gaps.
ROOMS = int(os.environ.get("WEIR_DRAIN_ROOMS", "4"))
WITHIN_S = int(os.environ.get("WEIR_DRAIN_WITHIN", "8"))
RESULTS = os.environ.get("WEIR_DRAIN_RESULTS")
SIZE = (160, 90)


@pytest.mark.timeout(300)
async def test_everybody_moves_off_a_media_node_that_drains(tmp_path, call):
    # People come to the first one, which is in their region.
    north = "  region: north\n"
    drain = f"  move_within: {WITHIN_S}\ndrain_timeout: {2 * WITHIN_S + 20}\n"
    settings = {"controller-0": north, "controller-1": north, "media-0": north + drain, "media-1": "  region: south\n"}
    async with cluster(tmp_path, media=2, settings=settings) as running:
        rooms = [[await _join(call, running.url, f"room-{room}", who) for who in ("ada", "bob")] for room in range(ROOMS)]
        for person in call.people:
            await person.publish_video(*SIZE)
        watching = [pair for ada, bob in rooms for pair in ((ada, bob), (bob, ada))]
        await _flow(watching)
        sids = call.sids()
        leaving, other = running.media
        assert other.figure("weir_receivers ") == 0
        before = {pair: Call.frames(*pair) for pair in watching}
        begun = time.monotonic()
        await leaving.end(2 * WITHIN_S + 20)
        took = time.monotonic() - begun
        print(f"{len(call.people)} people have left the node {took:.1f} s after it was asked to end")
        assert "drained: everybody has left" in leaving.log
        assert took <= WITHIN_S + 12
        await _flow(watching)
        assert call.sids() == sids, "nobody has joined anew"
        assert other.figure("weir_receivers ") > 0
    gaps = [(watcher, _longest(watcher, publisher, before[watcher, publisher])) for watcher, publisher in watching]
    longest = sorted(gap for _, gap in gaps)
    print(f"the longest gap of each: {[round(gap, 2) for gap in longest]} s")
    if RESULTS:
        with Path(RESULTS).open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["person", "longest_gap_ms"])
            rows.writerows((number, round(1000 * gap)) for number, (_, gap) in enumerate(gaps))
    assert longest[-1] <= 3


async def _join(call: Call, url: str, room: str, identity: str) -> SdkParticipant:
    person = SdkParticipant(identity, SIGNATURES[0])
    call.people.append(person)
    await person.join(url, token(room, identity, **KEY), single=True)
    return person


async def _flow(watching: list, frames: int = 15) -> None:
    before = {pair: Call.frames(*pair) for pair in watching}
    await until("everybody sees the other", lambda: all(Call.frames(*p) >= before[p] + frames for p in watching), 30)


def _longest(watcher: SdkParticipant, publisher: SdkParticipant, since: int) -> float:
    times = watcher.video[publisher.identity].times[since - 1 :]
    return max(b - a for a, b in zip(times, times[1:], strict=False))
