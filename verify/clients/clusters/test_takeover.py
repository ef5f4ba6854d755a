"""Events for webhooks, sessions of WHIP and WHEP, and jobs of agents."""

import asyncio
import functools
import time

import pytest
from livekit.protocol import agent
from support.administrator import EVERYTHING
from support.administrator import call as administrate
from support.call import ROOM, longest_step, owner_of
from support.cluster import KEY, cluster, missing
from support.media import SIGNATURES
from support.receivers import Receiver, receiver
from support.tokens import token
from support.wait import until
from support.whip import FRAGMENT, WhipParticipant, ask, http
from support.workers import raw_worker

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"SKIPPED, clusters were not tested: {missing()} missing")
# aiortc and the receivers of webhooks are at loopback.
at_loopback = functools.partial(cluster, hosts=False)


@pytest.mark.timeout(180)
async def test_events_are_told_once_and_in_order_over_a_killed_controller(tmp_path, call):
    async with receiver(**KEY) as told, at_loopback(tmp_path, config=_told(told)) as running:
        await call.meet(running.url)
        await until("the call is told", lambda: told.names.count("track_published bob") == 1, 10, lambda: told.names)
        owner = owner_of(running)
        # Nobody is told of this before the controller dies.
        told.statuses = [503] * 1_000
        await call.join(running.url, "cat")
        await until("cat has joined", lambda: len(call.people[2].others) == 2, 10)
        await asyncio.sleep(1)
        await call.people.pop(1).leave()
        await asyncio.sleep(1)
        owner.kill()
        refused, told.statuses = 1_000 - len(told.statuses), []
        assert refused, "an attempt has failed before"
        await until("everybody is back", lambda: all(person.reconnected for person in call.people), 20)
        await until("bob's end is told", lambda: "participant_left bob" in told.names, 20, lambda: told.names)
        await call.leave()
        await until("the end is told", lambda: "room_finished" in told.names, 20, lambda: told.names)
        print(told.names)
        assert len({event.id for event in told.events}) == len(told.events), told.names
        assert len({event.room.sid for event in told.events}) == 1
        assert told.names[0] == "room_started" and told.names[-1] == "room_finished"
        for once in ("room_started", "room_finished", *(f"participant_joined {who}" for who in ("ada", "bob", "cat"))):
            assert told.names.count(once) == 1, (once, told.names)
        order = ["participant_joined cat", "track_unpublished bob", "participant_left bob", "participant_left ada"]
        assert [told.names.index(name) for name in order] == sorted(told.names.index(name) for name in order)


@pytest.mark.timeout(180)
async def test_an_event_whose_answer_the_controller_did_not_see_is_told_again_under_its_id(tmp_path, call):
    async with receiver(**KEY) as told, at_loopback(tmp_path, config=_told(told)) as running:
        await call.join(running.url, "ada")
        await until("ada is told", lambda: "participant_joined ada" in told.names, 10, lambda: told.names)
        owner = owner_of(running)
        told.answers.clear()
        await call.join(running.url, "bob")
        await until("bob is told", lambda: "participant_joined bob" in told.names, 10, lambda: told.names)
        owner.kill()
        told.answers.set()
        await until("bob is told again", lambda: told.names.count("participant_joined bob") == 2, 20, lambda: told.names)
        first, second = (event for event in told.events if event.participant.identity == "bob")
        assert first.id == second.id and first.participant.sid == second.participant.sid
        await call.leave()
        await until("the end is told", lambda: "room_finished" in told.names, 20, lambda: told.names)
        assert len({event.id for event in told.events}) == len(told.events) - 1, told.names


@pytest.mark.timeout(180)
async def test_the_end_of_a_room_is_told_although_its_controller_died_after_it(tmp_path, call):
    async with receiver(**KEY) as told, at_loopback(tmp_path, config=_told(told)) as running:
        await call.join(running.url, "ada")
        await until("ada is told", lambda: "participant_joined ada" in told.names, 10, lambda: told.names)
        owner = owner_of(running)
        told.statuses = [503] * 1_000
        await call.leave()
        await until("the room is over", lambda: "room finished" in owner.log, 20, lambda: owner.log[-2000:])
        await asyncio.sleep(0.5)
        owner.kill()
        told.statuses = []
        await until("the end is told", lambda: "room_finished" in told.names, 60, lambda: told.names)
        assert told.names == ["room_started", "participant_joined ada", "participant_left ada", "room_finished"]
        other = next(c for c in running.controllers if c is not owner)
        await until("nothing is left", lambda: other.figure("weir_cluster_rooms_owned ") == 0, 20, other.overview)


def _told(to: Receiver) -> str:
    return f"webhook: {{api_key: {KEY['key']}, urls: ['{to.url}']}}\nroom: {{departure_timeout: 1}}\n"


@pytest.mark.timeout(300)
async def test_sessions_of_whip_and_whep_outlive_their_controller(tmp_path, call):
    async with at_loopback(tmp_path) as running:
        encoder, player = WhipParticipant("encoder", SIGNATURES[2]), WhipParticipant("player", SIGNATURES[3])
        try:
            await encoder.publish_audio()
            await encoder.publish_video()
            good = token(ROOM, "encoder", **KEY)
            assert (await encoder.open(running.url, "/whip/v1", good)).status == 201
            player.expect("encoder")
            opened = await player.open(running.url, "/whep/v1?participant=encoder", token(ROOM, "player", **KEY))
            assert opened.status == 201, opened
            viewer = await call.join(running.url, "ada")
            watchers = (viewer, player)

            def pictures(watcher) -> list[int]:
                witness = watcher.video.get("encoder")
                return witness.numbers if witness else []

            async def flows(frames: int = 15) -> None:
                before = [len(pictures(watcher)) for watcher in watchers]
                enough = lambda: all(len(pictures(w)) >= b + frames for w, b in zip(watchers, before, strict=True))  # noqa: E731
                await until("pictures flow", enough, 20, lambda: [len(pictures(w)) for w in watchers])

            await flows()
            owner = owner_of(running)
            other = next(c for c in running.controllers if c is not owner)
            since = [len(pictures(watcher)) for watcher in watchers]
            owner.kill()
            await until("the viewer is back", lambda: viewer.reconnected, 20)
            # Longer than clients may stay away.
            await asyncio.sleep(65)
            await flows()
            for watcher, before in zip(watchers, since, strict=True):
                numbers = pictures(watcher)[before - 1 :]
                longest = longest_step(numbers)
                print(f"{watcher.identity}: {len(numbers)} pictures, longest step {longest}")
                assert longest <= 2, f"{watcher.identity} misses pictures"
            session = http(other.url) + encoder.reply.headers["location"]
            fragment = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n"
            tag = encoder.reply.headers["etag"]
            kept = await ask("PATCH", session, token=good, body=fragment, Content_Type=FRAGMENT, If_Match=tag)
            assert kept.status == 204, kept
            assert (await ask("DELETE", session, token=token(ROOM, "other", **KEY))).status == 401
            assert (await ask("DELETE", session, token=good)).status == 200
            await until("the encoder is gone", lambda: "encoder" not in viewer.others, 5, lambda: viewer.others)
            assert (await ask("DELETE", session, token=good)).status == 404
            encoder.session = ""
            player.session = http(other.url) + player.reply.headers["location"]
        finally:
            await asyncio.gather(encoder.leave(), player.leave(), return_exceptions=True)


@pytest.mark.timeout(180)
async def test_a_session_is_ended_by_a_controller_that_never_heard_of_it(tmp_path):
    async with at_loopback(tmp_path) as running:
        encoder = WhipParticipant("encoder", SIGNATURES[0])
        try:
            await encoder.publish_video()
            good = token(ROOM, "encoder", **KEY)
            assert (await encoder.open(running.url, "/whip/v1", good)).status == 201
            await until("its media has connected", lambda: encoder.pc.connectionState == "connected", 10)
            owner = owner_of(running)
            other = next(c for c in running.controllers if c is not owner)
            await asyncio.sleep(1)
            killed = time.monotonic()
            owner.kill()
            session = http(other.url) + encoder.reply.headers["location"]
            ended = await ask("DELETE", session, token=good)
            print(f"the session has ended {time.monotonic() - killed:.2f} s after the end of its controller")
            assert ended.status == 200, ended
            assert other.figure('weir_cluster_adoptions_total{outcome="adopted"}') == 1
            encoder.session = ""
        finally:
            await encoder.leave()


@pytest.mark.timeout(180)
async def test_jobs_of_agents_outlive_their_controller(tmp_path, call):
    async with at_loopback(tmp_path) as running:
        await call.join(running.url, "ada")
        owner = owner_of(running)
        other = next(c for c in running.controllers if c is not owner)
        waits, runs = [await _dispatch(running.url, name) for name in ("later", "now")]
        async with raw_worker(other.url, **KEY) as busy:
            await busy.register("now")
            offer = (await busy.hear()).availability
            assert offer.job.dispatch_id == runs
            await busy.say(
                availability=agent.AvailabilityResponse(
                    job_id=offer.job.id, available=True, participant_identity="agent-now", participant_name="now"
                )
            )
            assert (await busy.hear()).assignment.job.id == offer.job.id
            # Nodes do not confirm what they are sent to keep.
            await asyncio.sleep(0.5)
            owner.kill()
            await until("the person is back", lambda: call.people[0].reconnected, 20)
            listed = await _dispatches(running.url)
            names = {one["id"]: one["agent_name"] for one in listed}
            assert (names[waits], names[runs]) == ("later", "now")
            async with raw_worker(other.url, **KEY) as late:
                await late.register("later")
                offered = (await late.hear()).availability.job
                assert offered.dispatch_id == waits
                await late.say(
                    availability=agent.AvailabilityResponse(
                        job_id=offered.id, available=True, participant_identity="agent-later", participant_name="later"
                    )
                )
                assert (await late.hear()).assignment.job.id == offered.id
                # Neither job is offered a second time.
                for worker in (late, busy):
                    with pytest.raises(TimeoutError):
                        print(await worker.hear(seconds=3))
                states = {one["id"]: one["state"]["jobs"] for one in await _dispatches(running.url)}
                assert [job["id"] for job in states[waits]] == [offered.id]
                assert [job["id"] for job in states[runs]] == [offer.job.id]


async def _dispatch(url: str, name: str) -> str:
    answer = await _administrate(url, "CreateDispatch", {"room": ROOM, "agent_name": name})
    return answer["id"]


async def _dispatches(url: str) -> list[dict]:
    return (await _administrate(url, "ListDispatch", {"room": ROOM}))["agent_dispatches"]


async def _administrate(url: str, method: str, body: dict) -> dict:
    access = token(ROOM, "administrator", grants=EVERYTHING, **KEY)
    answer = await administrate(url, method, body, access_token=access, service="AgentDispatchService")
    assert answer.status == 200, answer
    return answer.body
