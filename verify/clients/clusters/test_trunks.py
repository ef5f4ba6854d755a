"""A room on several media nodes: what one person sends crosses a trunk once, and reaches everybody."""

import asyncio
import time

import pytest
from support.administrator import EVERYTHING
from support.administrator import call as administrate
from support.call import ROOM, nothing_is_missing, owner_of
from support.cluster import KEY, ONE_EACH, cluster, missing
from support.tokens import token
from support.wait import until

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"SKIPPED, clusters were not tested: {missing()} missing")


@pytest.mark.timeout(180)
async def test_people_on_three_media_nodes_meet_and_outlive_their_controller(tmp_path, call):
    async with cluster(tmp_path, media=3, settings=ONE_EACH) as running:
        await call.fill(running, 3)
        for person in call.people:
            await person.publish_audio()
        await call.begin()
        carrying = [machine for machine in running.media if machine.figure("weir_receivers ") > 0]
        assert len(carrying) == 3, "each has a node of its own"
        await until("everybody hears everybody", lambda: all(_hears(a, b) for a, b in call.pairs()), 20)
        await call.people[0].send(b"over all nodes")
        await until("data arrives", lambda: all(p.heard(b"over all nodes") for p in call.people[1:]), 10)
        owner = owner_of(running)
        seen = call.seen()
        owner.kill()
        await until("everybody is back", lambda: all(person.reconnected for person in call.people), 20)
        await call.flows()
        nothing_is_missing(seen)
        # Trunks that the other controller opened go on as well for what is published from now on.
        await call.people[2].publish_video(640, 360, simulcast=True)
        await call.flows()


@pytest.mark.timeout(180)
async def test_a_killed_media_node_costs_the_others_nothing(tmp_path, call):
    async with cluster(tmp_path, media=4, settings=ONE_EACH) as running:
        nodes = await call.fill(running, 3)
        await call.begin()
        lost = call.people[0]
        seen = {pair: count for pair, count in call.seen().items() if lost not in pair}
        killed = time.monotonic()
        nodes[0].kill()
        await call.flows(frames=5)
        took = time.monotonic() - killed
        print(f"media is back {took:.1f} s after the end of its node")
        assert took <= 5
        nothing_is_missing(seen)


@pytest.mark.timeout(180)
async def test_a_node_whose_last_person_leaves_changes_nothing_for_the_others(tmp_path, call):
    config = "room: {departure_timeout: 1}\n"
    async with cluster(tmp_path, media=3, settings=ONE_EACH, config=config) as running:
        nodes = await call.fill(running, 3)
        await call.begin()
        before = await _listed(running.url)
        await call.people.pop(0).leave()
        seen, left = call.seen(), time.monotonic()
        await until("nobody is on the node", lambda: nodes[0].figure("weir_receivers ") == 0, 10)
        # Longer than an empty room stays.
        await asyncio.sleep(max(0.0, left + 5 - time.monotonic()))
        assert await _listed(running.url) == {sid: [who for who in of if who != "person-0"] for sid, of in before.items()}
        assert all(len(person.others) == 1 for person in call.people)
        await call.flows()
        nothing_is_missing(seen)
        # The node takes the next one, who sees everybody.
        await (await call.join(running.url, "dan")).publish_video()
        await call.flows()


async def _listed(url: str) -> dict[str, list[str]]:
    """The people of each room, by its id, as the server API lists them."""

    async def ask(method: str, body: dict) -> dict:
        access = token(ROOM, "administrator", grants=EVERYTHING | {"room": ROOM}, **KEY)
        answer = await administrate(url, method, body, access_token=access)
        assert answer.status == 200, answer
        return answer.body

    people = await ask("ListParticipants", {"room": ROOM})
    names = sorted(person["identity"] for person in people["participants"])
    return {room["sid"]: names for room in (await ask("ListRooms", {}))["rooms"]}


def _hears(listener, speaker) -> bool:
    witness = listener.audio.get(speaker.identity)
    return witness is not None and witness.carries(speaker.signature)
