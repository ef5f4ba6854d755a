"""A cluster of controllers and media nodes beside a real etcd: rooms outlive their controllers."""

import asyncio
import signal
import time

import pytest
from support.administrator import EVERYTHING
from support.administrator import call as administrate
from support.call import ROOM, Call, gaps_are_short, nothing_is_missing, owner_of, owners, signalling_is_back
from support.cluster import KEY, cluster, hosts_are_missing, missing
from support.media import SIGNATURES
from support.sdk import SdkParticipant
from support.tokens import token
from support.wait import until

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"SKIPPED, clusters were not tested: {missing()} missing")
# A node with little room tells of each participant.
SMALL = "  capacity: 9\n"


@pytest.mark.timeout(120)
async def test_people_meet_through_either_controller(tmp_path, call):
    async with cluster(tmp_path) as running:
        for number, controller in enumerate(running.controllers):
            await call.join(controller.url, f"person-{number}")
        await call.begin()
        owner_of(running)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("store", ["etcd", "redis"])
async def test_a_killed_controller_interrupts_no_media(tmp_path, call, store):
    async with cluster(tmp_path, store=store) as running:
        await call.meet(running.url)
        owner = owner_of(running)
        seen = call.seen()
        killed = time.time()
        owner.kill()
        await until(
            "everybody is back at the other controller",
            lambda: all(person.reconnected for person in call.people),
            20,
            lambda: [(person.identity, person.reconnected, person.disconnect_reason) for person in call.people],
        )
        signalling_is_back(running, owner, killed, within_s=2)
        await call.flows()
        nothing_is_missing(seen)
        await call.people[0].send(b"still here")
        await until("data arrives", lambda: call.people[1].heard(b"still here"), 10)


@pytest.mark.timeout(180)
async def test_a_controller_that_is_replaced_hands_its_rooms_over(tmp_path, call):
    async with cluster(tmp_path) as running:
        await call.meet(running.url)
        owner = owner_of(running)
        seen = call.seen()
        begun = time.time()
        await owner.end()
        await until("everybody is back", lambda: all(person.reconnected for person in call.people), 20)
        signalling_is_back(running, owner, begun, within_s=2)
        await call.flows()
        nothing_is_missing(seen)


@pytest.mark.timeout(180)
async def test_a_paused_controller_that_comes_back_harms_nobody(tmp_path, call):
    async with cluster(tmp_path) as running:
        await call.meet(running.url)
        owner = owner_of(running)
        other = next(c for c in running.controllers if c is not owner)
        seen = call.seen()
        owner.signal(signal.SIGSTOP)
        paused = time.monotonic()
        late = await call.join(other.url, "cat")
        print(f"somebody joins {time.monotonic() - paused:.1f} s after the owner has paused")
        # Longer than its lease.
        await asyncio.sleep(max(0.0, paused + 8 - time.monotonic()))
        owner.signal(signal.SIGCONT)
        await until("it learns that it is not the owner", lambda: "another controller" in owner.log, 20)
        await until("all three are in the room", lambda: len(late.others) == 2, 20, lambda: late.others)
        await late.publish_video()
        await call.flows()
        nothing_is_missing(seen, longest=5)


@pytest.mark.timeout(180)
async def test_people_of_a_killed_media_node_are_on_another_one(tmp_path, call):
    async with cluster(tmp_path, media=2) as running:
        await call.meet(running.url)
        carrying = _carrying(running)
        killed = time.monotonic()
        carrying.kill()
        await call.flows(frames=5)
        took = time.monotonic() - killed
        print(f"media is back {took:.1f} s after the end of its node")
        assert took <= 5


@pytest.mark.timeout(180)
async def test_people_leave_a_media_node_that_drains(tmp_path, call):
    drains = {f"media-{number}": "drain_timeout: 40" for number in range(2)}
    async with cluster(tmp_path, media=2, settings=drains) as running:
        await call.meet(running.url)
        leaving = _carrying(running)
        seen, sids = call.seen(), call.sids()
        begun = time.monotonic()
        await leaving.end(30)
        print(f"the node has ended {time.monotonic() - begun:.1f} s after it was asked to")
        assert "drained: everybody has left" in leaving.log
        await call.flows()
        gaps_are_short(seen, longest_s=2)
        assert call.sids() == sids, "they have moved, and nobody has joined anew"
        # Their data channels have moved along.
        for person, other in (call.people, reversed(call.people)):
            for reliable in (True, False):
                text = f"{person.identity} is here, {reliable}".encode()
                await person.send(text, reliable=reliable)
                await until("data arrives", lambda other=other, text=text: other.heard(text), 10)


@pytest.mark.timeout(180)
async def test_equal_machines_that_drain_take_no_newcomers(tmp_path, call):
    drains = {f"serve-{number}": SMALL + "drain_timeout: 40" for number in range(2)}
    async with cluster(tmp_path, controllers=0, media=0, machines=2, settings=drains) as running:
        one, two = running.controllers
        await call.join(two.url, "ada")
        await until("ada's machine says that it has her", lambda: 1 in _loads(two).values(), 15, two.overview)
        leaving, staying = (one, two) if _loads(two)[one.name] else (two, one)
        leaving.signal(signal.SIGTERM)
        await until("the other one knows", lambda: _drains(staying.overview(), leaving.name), 10, staying.overview)
        await _join_room(call, staying.url, "attic", "bob")
        await until("bob is at the other one", lambda: _loads(staying)[staying.name] >= 1, 15, staying.overview)


@pytest.mark.timeout(180)
async def test_each_comes_to_a_media_node_of_its_region_and_pinned_rooms_to_none_else(tmp_path, call):
    eu, us = "  region: eu\n", "  region: us\n"
    pinned = "  pinned: [{rooms: 'us-*', regions: [us]}, {rooms: moon, regions: [moon]}]\n"
    regions = {"controller-0": eu + pinned, "controller-1": us + pinned, "media-0": eu + SMALL, "media-1": us + SMALL}
    async with cluster(tmp_path, media=2, settings=regions) as running:
        (in_eu, in_us), on = running.controllers, {"media-0": 0, "media-1": 0}

        async def comes_to(number: int, controller, room: str, identity: str) -> None:
            await _join_room(call, controller.url, room, identity)
            on[f"media-{number}"] += 1
            await until(f"{identity} is on media-{number}", lambda: _loads(in_eu) == on, 15, lambda: _loads(in_eu))

        await comes_to(1, in_us, "attic", "ada")
        # The controller of the room learns the region from that which the client has reached.
        await comes_to(0, in_eu, "attic", "bob")
        await comes_to(0, in_eu, "cellar", "cat")
        await comes_to(1, in_eu, "us-1", "dan")
        with pytest.raises(Exception, match="connect|503|signal"):
            await _join_room(call, in_eu.url, "moon", "eve")
        counter = 'weir_controller_total{reason="participant_no_media_node"}'
        counted = [controller.figure(counter) for controller in running.controllers]
        assert sum(counted) > 0, counted


@pytest.mark.timeout(180)
@pytest.mark.parametrize("store", ["etcd", "redis"])
@pytest.mark.parametrize("fault", ["stopped", "vanished"])
async def test_a_store_that_is_away_is_missed_by_nobody(tmp_path, call, store, fault):
    if fault == "vanished" and hosts_are_missing():
        pytest.skip(f"SKIPPED, a store that vanishes was not tested: {hosts_are_missing()}")
    async with cluster(tmp_path, media=2, store=store) as running:
        await call.meet(running.url)
        owner, seen = owner_of(running), call.seen()
        if fault == "vanished":
            running.network.vanish("store")
        else:
            running.store.signal(signal.SIGSTOP)
        # Longer than all leases.
        await asyncio.sleep(10)
        for machine in (*running.controllers, *running.media):
            assert machine.status("/livez") == 200
        assert [controller.status("/readyz") for controller in running.controllers] == [503, 503]
        # Nobody tells this one who owns the room but its nodes.
        other = next(c for c in running.controllers if c is not owner)
        await (await call.join(other.url, "cat")).publish_video()
        await call.flows()
        with pytest.raises(Exception, match="connect|503|signal"):
            await SdkParticipant("dan", SIGNATURES[3]).join(running.url, token("attic", "dan", **KEY), single=True)
        create = token("", "administrator", grants=EVERYTHING, **KEY)
        refused = await administrate(running.url, "CreateRoom", {"name": "attic"}, access_token=create)
        print(f"a new room is refused: {refused}")
        assert refused.status == 503 and refused.body["msg"]
        if fault == "vanished":
            running.network.heal()
        else:
            running.store.signal(signal.SIGCONT)
        back = time.monotonic()
        for controller in running.controllers:
            await controller.is_ready()
        took = time.monotonic() - back
        print(f"both controllers are ready {took:.1f} s after the store is back")
        assert took <= 5
        assert not any(person.reconnected for person in call.people)
        await call.flows()
        nothing_is_missing(seen, longest=5)


@pytest.mark.timeout(180)
async def test_calls_go_on_when_the_store_loses_everything(tmp_path, call):
    async with cluster(tmp_path) as running:
        await call.meet(running.url)
        seen = call.seen()
        await asyncio.to_thread(running.store.forget)
        for machine in (*running.controllers, *running.media):
            await machine.is_ready()
        other = next(c for c in running.controllers if c is not owner_of(running))
        late = await call.join(other.url, "cat")
        await until("all three are in one room", lambda: len(late.others) == 2, 20, lambda: late.others)
        await late.publish_video()
        await call.flows()
        nothing_is_missing(seen, longest=5)


@pytest.mark.timeout(180)
async def test_equal_machines_need_no_others(tmp_path, call):
    async with cluster(tmp_path, controllers=0, media=0, machines=2) as running:
        for number, machine in enumerate(running.controllers):
            await call.join(machine.url, f"person-{number}")
        await call.begin()


@pytest.mark.timeout(180)
async def test_both_controllers_name_the_owner_and_what_it_took(tmp_path, call):
    async with cluster(tmp_path) as running:
        await call.join(running.url, "ada")
        owner = owner_of(running)
        other = next(c for c in running.controllers if c is not owner)
        for asked in running.controllers:
            await until(
                f"{asked.name} names the owner",
                lambda asked=asked: owners(asked.overview()) == {ROOM: owner.name},
                10,
                asked.overview,
            )
            seen = asked.overview()
            names = {seen["controller"]["name"], *(c["name"] for c in seen["controllers"])}
            assert names == {c.name for c in running.controllers}
            assert [(n["name"], n["connection"]) for n in seen["nodes"]] == [("media-0", "connected")]
            assert asked.figure("weir_cluster_rooms_owned ") == (asked is owner)
            assert asked.figure("weir_cluster_lease_held ") == 1
            assert asked.figure("weir_cluster_controllers ") == 2
        assert running.media[0].status("/api/cluster") == 404
        first = owner.overview()
        owner.kill()
        await until(
            "the other one has taken the room",
            lambda: owners(other.overview()) == {ROOM: other.name},
            20,
            other.overview,
        )
        change = other.overview()["changes"][0]
        assert (change["room"], change["what"]) == (ROOM, {"kind": "adopted"})
        assert change["other"]["controller"]["id"] == first["controller"]["id"]
        assert change["epoch"] > change["other"]["epoch"] == first["rooms"][0]["epoch"]
        assert other.figure('weir_cluster_adoptions_total{outcome="adopted"}') == 1


async def _join_room(call: Call, url: str, room: str, identity: str) -> SdkParticipant:
    person = SdkParticipant(identity, SIGNATURES[0])
    call.people.append(person)
    await person.join(url, token(room, identity, **KEY), single=True)
    return person


def _drains(overview: dict, name: str) -> bool:
    return any(node["name"] == name and node["draining"] for node in overview["nodes"])


def _loads(controller) -> dict[str, int]:
    """The transports at each media node, by its name."""
    return {node["name"]: node["load"] for node in controller.overview()["nodes"]}


def _carrying(running):
    """The machine that the only room is on."""
    carrying = [machine for machine in running.media or running.controllers if machine.figure("weir_receivers ") > 0]
    assert len(carrying) == 1, "a room is on one node"
    return carrying[0]
