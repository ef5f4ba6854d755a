"""Machines of a cluster that vanish: their connections break for nobody, and nothing is said."""

import asyncio
import time

import pytest
from support.call import gaps_are_short, nothing_is_missing, owner_of, owners, signalling_is_back
from support.cluster import ONE_EACH, cluster, hosts_are_missing
from support.wait import until

pytestmark = pytest.mark.skipif(
    bool(hosts_are_missing()), reason=f"SKIPPED, machines that vanish were not tested: {hosts_are_missing()}"
)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("store", ["etcd", "redis"])
async def test_a_controller_that_vanishes_interrupts_no_media(tmp_path, call, store):
    async with cluster(tmp_path, media=3, store=store) as running:
        await call.meet(running.url)
        owner = owner_of(running)
        other = next(c for c in running.controllers if c is not owner)
        seen, sids = call.seen(), call.sids()
        vanished = time.time()
        running.network.vanish(owner.name)
        await until("everybody is back", lambda: all(person.reconnected for person in call.people), 40)
        signalling_is_back(running, owner, vanished, within_s=8)
        await call.flows()
        nothing_is_missing(seen)
        assert call.sids() == sids, "nobody has joined anew"
        running.network.heal()
        await until(
            "the one that is there again knows that it is not the owner",
            lambda: owners(owner.overview()) == {call.room: other.name},
            20,
            owner.overview,
        )
        await call.flows()
        nothing_is_missing(seen)


@pytest.mark.timeout(180)
async def test_a_media_node_that_vanishes_costs_the_others_nothing(tmp_path, call):
    async with cluster(tmp_path, media=4, settings=ONE_EACH) as running:
        nodes = await call.fill(running, 3)
        await call.begin()
        lost, seen = call.people[0], call.seen()
        others = {pair: count for pair, count in seen.items() if lost not in pair}
        vanished = time.monotonic()
        running.network.vanish(nodes[0].name)
        await call.flows(frames=5)
        took = time.monotonic() - vanished
        print(f"media is back {took:.1f} s after the machine of its node has vanished")
        assert took <= 12
        nothing_is_missing(others)
        gaps_are_short({pair: count for pair, count in seen.items() if lost in pair}, longest_s=6)
        running.network.heal()
        await running.media[0].is_ready()
        await call.flows()


@pytest.mark.timeout(180)
async def test_a_media_node_that_vanishes_holds_senders_back_for_a_moment(tmp_path, call):
    async with cluster(tmp_path, media=4, settings=ONE_EACH) as running:
        nodes = await call.fill(running, 3)
        ada, bob, _ = call.people
        await until("all nodes are linked", lambda: _links(running) == 6, 20, lambda: _links(running))
        talking = asyncio.create_task(_talk(ada))
        await until("bob hears her", lambda: len(bob.inbox) > 50, 10)
        running.network.vanish(nodes[2].name)
        silent = await _longest_silence(bob, 15)
        print(f"bob hears nothing for {silent:.1f} s after the node of somebody else has vanished")
        talking.cancel()
        running.network.heal()
        assert silent <= 4


async def _talk(person) -> None:
    """About 1 MB/s for everybody, which fills the sender's window in half a second."""
    while True:
        await person.send(bytes(10_000))
        await asyncio.sleep(0.01)


async def _longest_silence(person, within_s: float) -> float:
    begun = last = time.monotonic()
    heard, longest = len(person.inbox), 0.0
    while time.monotonic() < begun + within_s:
        await asyncio.sleep(0.02)
        if len(person.inbox) > heard:
            heard, last = len(person.inbox), time.monotonic()
        longest = max(longest, time.monotonic() - last)
    return longest


def _links(running) -> int:
    return sum(node.log.count("linked to another media node") for node in running.media)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("store", ["etcd", "redis"])
async def test_a_store_that_only_one_controller_does_not_reach_is_missed_by_nobody(tmp_path, call, store):
    async with cluster(tmp_path, media=2, store=store) as running:
        await call.meet(running.url)
        owner = owner_of(running)
        other = next(c for c in running.controllers if c is not owner)
        seen = call.seen()
        running.network.cut("store", owner.name)
        # Longer than its lease, and than it is still asked for its rooms without a record.
        await asyncio.sleep(18)
        assert owner.status("/livez") == 200 and owner.status("/readyz") == 503
        late = await call.join(other.url, "cat")
        await until("all three are in one room", lambda: len(late.others) == 2, 20, lambda: late.others)
        print(f"{owner.name} had the room, and the owner now is: {owners(other.overview())}")
        await late.publish_video()
        await call.flows()
        running.network.heal()
        healed = time.monotonic()
        await owner.is_ready()
        took = time.monotonic() - healed
        print(f"the controller is ready {took:.1f} s after it reaches the store again")
        assert took <= 5
        await call.flows()
        nothing_is_missing(seen, longest=5)
