"""Data between participants while their room has no controller."""

import asyncio
import functools
import signal

import pytest
from livekit import rtc
from support.aiortc.participant import AiortcParticipant
from support.call import ROOM, owner_of
from support.cluster import KEY, Cluster, cluster, missing
from support.media import SIGNATURES
from support.sdk import SdkParticipant
from support.tokens import token
from support.wait import until

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"SKIPPED, clusters were not tested: {missing()} missing")
# aiortc is at loopback.
at_loopback = functools.partial(cluster, hosts=False)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("single", [True, False], ids=["one connection", "two connections"])
async def test_data_goes_on_while_a_room_has_no_controller(tmp_path, single):
    async with at_loopback(tmp_path) as running:
        people = [AiortcParticipant(name, SIGNATURES[n]) for n, name in enumerate(("ada", "bob", "cat"))]
        try:
            for person in people:
                await person.join(running.url, token(ROOM, person.identity, **KEY), single=single)
            ada, bob, cat = people
            await _is_heard(ada, b"before", [bob, cat])
            told = _told(running)
            for controller in running.controllers:
                controller.kill()
            await _all_kinds_arrive(ada, bob, cat)
            await until("the node has counted them", lambda: _told(running) - told >= 203, 10)
        finally:
            await asyncio.gather(*(person.leave() for person in people), return_exceptions=True)


@pytest.mark.timeout(120)
async def test_a_node_passes_data_on_under_the_rights_that_its_next_controller_says(tmp_path, call):
    async with at_loopback(tmp_path) as running:
        people = [AiortcParticipant(name, SIGNATURES[n]) for n, name in enumerate(("ada", "bob"))]
        mute = AiortcParticipant("mute", SIGNATURES[2])
        try:
            for person in people:
                await person.join(running.url, token(ROOM, person.identity, **KEY), single=False)
            await mute.join(running.url, token(ROOM, "mute", grants={"canPublishData": False}, **KEY), single=False)
            ada, bob = people
            await _is_heard(ada, b"before", [bob, mute])
            owner = owner_of(running)
            owner.kill()
            # A person that comes later is served as well: the call is taken over by then.
            viewer = await call.join(running.url, "late")
            await until("the newcomer sees everybody", lambda: viewer.others >= {"ada", "bob", "mute"}, 20)
            await _is_heard(ada, b"after", [bob, mute, viewer])
            await viewer.send(b"from the newcomer")
            await until("the newcomer is heard", lambda: bob.heard(b"from the newcomer"), 5)
            await mute.send(b"not allowed")
            await _is_heard(bob, b"the last", [ada, mute])
            assert not ada.heard(b"not allowed") and not bob.heard(b"not allowed")
        finally:
            await asyncio.gather(*(person.leave() for person in [*people, mute]), return_exceptions=True)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("single", [True, False], ids=["one connection", "two connections"])
async def test_data_goes_to_other_media_nodes_while_a_room_has_no_controller(tmp_path, single):
    # Media nodes that take one person each, of the transports that one has.
    each = {f"media-{number}": f"  capacity: {1 if single else 2}" for number in range(3)}
    async with at_loopback(tmp_path, media=3, settings=each) as running:
        people = [AiortcParticipant(name, SIGNATURES[n]) for n, name in enumerate(("ada", "bob", "cat"))]
        try:
            for person in people:
                await person.join(running.url, token(ROOM, person.identity, **KEY), single=single)
                await asyncio.sleep(3)  # The store learns of the load of its node.
            ada, bob, cat = people
            await _is_heard(ada, b"before", [bob, cat])
            await until("all nodes are linked", lambda: _linked(running, ada, bob, cat), 10)
            for controller in running.controllers:
                controller.kill()
            await _all_kinds_arrive(ada, bob, cat)
            await until("the nodes have counted them", lambda: _taken(running) >= 405, 10)
        finally:
            await asyncio.gather(*(person.leave() for person in people), return_exceptions=True)


@pytest.mark.timeout(120)
async def test_data_tracks_go_to_other_media_nodes_while_the_controllers_are_paused(tmp_path, call):
    each = {f"media-{number}": "  capacity: 1" for number in range(2)}
    async with at_loopback(tmp_path, media=2, settings=each) as running:
        ada = await call.join(running.url, "ada")
        await asyncio.sleep(3)  # The store learns of the load of its node.
        frames = []
        reading = asyncio.create_task(_read_data_track(call, running.url, frames))
        await until("both are there", lambda: ada.others == {"bob"}, 20)
        track = await ada.room.local_participant.publish_data_track(name="positions")
        await _come(track, frames, 20)
        await until("both nodes are linked", lambda: _linked_nodes(running) == 2, 10)
        # The SDK takes its data tracks back as soon as its signalling is lost.
        for controller in running.controllers:
            controller.signal(signal.SIGSTOP)
        taken = _taken(running)
        await _come(track, frames, 100)
        await until("the other node has counted them", lambda: _taken(running) - taken >= 100, 10)
        reading.cancel()
        for controller in running.controllers:
            controller.signal(signal.SIGCONT)


async def _read_data_track(call, url: str, frames: list) -> None:
    """Bob joins, and reads the first data track that somebody publishes."""
    published = asyncio.Queue()
    bob = SdkParticipant("bob", SIGNATURES[1])
    bob.room.on("data_track_published", published.put_nowait)
    call.people.append(bob)
    await bob.join(url, token(ROOM, "bob", **KEY), single=True)
    async for frame in (await published.get()).subscribe():
        frames.append(frame.payload)


async def _come(track, frames: list, count: int) -> None:
    """So many further frames arrive. Single ones may be lost."""
    before = len(frames)
    for number in range(10 * count):
        track.try_push(rtc.DataTrackFrame(payload=b"at %d" % number))
        await asyncio.sleep(0.02)
        if len(frames) >= before + count:
            return
    raise AssertionError(f"{len(frames) - before} frames have come")


def _linked_nodes(running: Cluster) -> int:
    """How many nodes have made a link."""
    return sum("linked to another media node" in node.log for node in running.media)


def _taken(running: Cluster) -> float:
    """How many messages of other nodes the nodes have taken."""
    return sum(node.figure('weir_fence_total{reason="link_taken"}') for node in running.media)


def _linked(running: Cluster, *people) -> bool:
    """Whether each node has the links to the others that it wants."""
    return sum(node.log.count("linked to another media node") for node in running.media) >= len(people) * 2


async def _all_kinds_arrive(ada, bob, cat) -> None:
    """Messages for all, for one and without repetition, and 200 in their order."""
    await _is_heard(ada, b"to all", [bob, cat])
    await _is_heard(bob, b"to one", [ada], to=["ada"])
    await _is_heard(cat, b"in a hurry", [ada, bob], reliable=False)
    assert not cat.heard(b"to one")
    numbered = [f"message {number}".encode() for number in range(200)]
    for payload in numbered:
        await bob.send(payload)
    for person in (ada, cat):
        await until("all messages have arrived", lambda person=person: person.heard(numbered[-1]), 5)
        came = [heard for heard in person.inbox if heard.payload.startswith(b"message")]
        assert [heard.payload for heard in came] == numbered
        assert {heard.sender for heard in came} == {"bob"}


async def _is_heard(sender, payload: bytes, by: list, **how) -> None:
    await sender.send(payload, **how)
    for person in by:
        await until(f"{payload!r} reaches {person.identity}", lambda person=person: person.heard(payload), 3)
        assert person.heard(payload).sender == sender.identity


def _told(running: Cluster) -> float:
    """How many messages the node has passed on by itself."""
    return running.media[0].figure('weir_fence_total{reason="passed_on"}')
