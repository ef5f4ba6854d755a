"""Agents: a worker of LiveKit's SDK is dispatched, answers, dies and is replaced; bad workers harm nobody."""

import asyncio
import uuid

import pytest
from livekit import api, rtc
from livekit.protocol import agent, agent_dispatch
from websockets.exceptions import InvalidStatus

from support.administrator import call, sdk
from support.wait import until
from support.workers import AGENTS, raw_worker, sdk_worker

needs_sdk = pytest.mark.skipif(
    not (AGENTS / ".venv/requirements.txt").exists(), reason="LiveKit's agents SDK is not installed (scripts/venv verify/clients/agents)"
)


@pytest.fixture
async def admin(url):
    """The SDK of the server API, with the development key."""
    async with sdk(url) as client:
        yield client


def agents_in(participant) -> list[str]:
    """The identities of the agents that a participant sees."""
    others = participant.room.remote_participants.values()
    return [other.identity for other in others if other.kind == 4]


def dispatch(room: str, name: str, metadata: str = "") -> agent_dispatch.CreateAgentDispatchRequest:
    return agent_dispatch.CreateAgentDispatchRequest(room=room, agent_name=name, metadata=metadata)


async def echoes(participant) -> None:
    """An agent answers over text streams and over data, once it has registered its handlers."""
    texts, packets, reading = [], [], set()

    def heard(reader, sender: str) -> None:
        async def read() -> None:
            texts.append(await reader.read_all())

        task = asyncio.create_task(read())
        reading.add(task)
        task.add_done_callback(reading.discard)

    def received(packet: rtc.DataPacket) -> None:
        packets.append((packet.topic, bytes(packet.data)))

    async def repeated(say, answers: list) -> None:
        deadline = asyncio.get_running_loop().time() + 30
        while not answers and asyncio.get_running_loop().time() < deadline:
            await say()
            await asyncio.sleep(0.5)

    room = participant.room
    room.register_text_stream_handler("echo", heard)
    room.on("data_received", received)
    try:
        await repeated(lambda: room.local_participant.send_text("hello", topic="echo"), texts)
        assert texts and texts[0] == "polite: hello"
        await repeated(lambda: room.local_participant.publish_data(b"abc", reliable=True, topic="echo"), packets)
        assert packets and packets[0] == ("answer", b"cba")
    finally:
        room.unregister_text_stream_handler("echo")
        room.off("data_received", received)


@needs_sdk
@pytest.mark.timeout(120)
async def test_an_agent_is_dispatched_answers_and_leaves(url, admin, joining):
    async with sdk_worker(url):
        alice = await joining.sdk("alice")
        made = await admin.agent_dispatch.create_dispatch(dispatch(joining.room, "echo", "polite"))
        assert made.id.startswith("AD_") and made.agent_name == "echo"
        await until("the agent joins", lambda: agents_in(alice), 60)
        await echoes(alice)
        listed = await admin.agent_dispatch.list_dispatch(joining.room)
        jobs = [job for each in listed if each.id == made.id for job in each.state.jobs]
        assert [job.state.status for job in jobs] == [agent.JobStatus.JS_RUNNING]
        await admin.agent_dispatch.delete_dispatch(made.id, joining.room)
        await until("the agent leaves", lambda: not agents_in(alice), 30)


@needs_sdk
@pytest.mark.timeout(180)
async def test_a_worker_that_dies_is_replaced(url, admin, joining):
    async with sdk_worker(url) as first:
        config = {"agents": [{"agentName": "echo", "metadata": "polite"}]}
        alice = await joining.sdk("alice", room_config=config)
        identity = (await until("the agent joins", lambda: agents_in(alice), 60))[0]
        sid = alice.room.remote_participants[identity].sid
        await echoes(alice)
        first.kill()
        async with sdk_worker(url):
            others = alice.room.remote_participants
            await until(
                "another agent joins", lambda: identity in others and others[identity].sid != sid, 90, lambda: others
            )
            await echoes(alice)


async def test_a_job_is_offered_declined_accepted_and_its_token_joins(url, admin, joining):
    name = f"agent-{uuid.uuid4().hex[:8]}"
    async with raw_worker(url) as first, raw_worker(url) as second:
        await first.register(name)
        await admin.agent_dispatch.create_dispatch(dispatch(joining.room, name, "m"))
        job = (await first.hear()).availability.job
        assert (job.room.name, job.agent_name, job.metadata) == (joining.room, name, "m")
        await second.register(name)
        await first.say(availability=agent.AvailabilityResponse(job_id=job.id, available=False))
        assert (await second.hear()).availability.job.id == job.id
        answer = agent.AvailabilityResponse(
            job_id=job.id, available=True, participant_identity="helper", participant_name="Helper"
        )
        await second.say(availability=answer)
        assignment = (await second.hear()).assignment
        assert assignment.job.id == job.id
        alice = await joining.sdk("alice")
        helper = await joining.sdk_with("helper", assignment.token)
        await until("alice sees the agent", lambda: agents_in(alice) == ["helper"], 30)
        assert alice.room.remote_participants["helper"].name == "Helper"
        await helper.leave()
        assert (await second.hear()).termination.job_id == job.id


async def test_jobs_of_participants_and_publishers(url, admin, joining):
    name = f"agent-{uuid.uuid4().hex[:8]}"
    async with raw_worker(url) as guide, raw_worker(url) as scribe:
        await guide.register(name, agent.JobType.JT_PARTICIPANT)
        await scribe.register(name, agent.JobType.JT_PUBLISHER)
        alice = await joining.sdk("alice", room_config={"agents": [{"agentName": name}]})
        assert (await guide.hear()).availability.job.participant.identity == "alice"
        await alice.publish_audio()
        assert (await scribe.hear()).availability.job.participant.identity == "alice"


async def test_only_administrators_of_a_room_dispatch_agents_to_it(url, joining):
    body = {"room": joining.room, "agentName": "echo"}
    service = "AgentDispatchService"
    answer = await call(url, "CreateDispatch", body, room="another", service=service)
    assert (answer.status, answer.body["code"]) == (401, "unauthenticated")
    nothing = await call(url, "ListDispatch", {"room": joining.room}, room=joining.room, service=service)
    assert (nothing.status, nothing.body["code"]) == (404, "not_found")
    made = await call(url, "CreateDispatch", body, room=joining.room, service=service)
    assert made.status == 200
    bad = body | {"deployment": "a_b"}
    answer = await call(url, "CreateDispatch", bad, room=joining.room, service=service)
    assert (answer.status, answer.body["code"]) == (400, "invalid_argument")


async def test_a_worker_needs_the_grant(url):
    with pytest.raises(InvalidStatus) as refused:
        async with raw_worker(url, grants={"roomAdmin": True}):
            pass
    assert refused.value.response.status_code == 401


async def test_bad_workers_are_closed(url):
    async with raw_worker(url) as worker:
        await worker.say(update_job=agent.UpdateJobStatus(job_id="AJ_1"))
        assert await worker.close_code() == 1008
    async with raw_worker(url) as worker:
        await worker.socket.send(b"\xff" * 9)
        assert await worker.close_code() == 1007
    async with raw_worker(url) as worker:
        await worker.socket.send(bytes((256 << 10) + 1))
        assert await worker.close_code() == 1009
    async with raw_worker(url) as worker:
        status = agent.WorkerMessage(update_worker=agent.UpdateWorkerStatus(load=0.1)).SerializeToString()

        async def flood() -> None:
            while True:
                await worker.socket.send(status)

        flooding = asyncio.create_task(flood())
        # The code is lost if its connection is reset while it still sends.
        assert await worker.close_code() in (1006, 1008)
        await asyncio.gather(flooding, return_exceptions=True)


async def test_a_worker_that_takes_jobs_and_does_nothing_keeps_nobody_from_its_room(url, admin, joining):
    name = f"agent-{uuid.uuid4().hex[:8]}"
    async with raw_worker(url) as idle, raw_worker(url) as silent:
        await idle.register(name)
        for _ in range(3):
            await admin.agent_dispatch.create_dispatch(dispatch(joining.room, name))
        alice = await joining.sdk("alice")
        bob = await joining.sdk("bob")
        await until("they see each other", lambda: alice.others == {"bob"} and bob.others == {"alice"}, 30)
        assert await idle.close_code() == 1008, "three offers without an answer"
        assert await silent.close_code() == 1008, "it has not registered in time"


async def test_a_token_with_agents_over_a_limit_is_refused(url, joining):
    config = {"agents": [{"agentName": "x"}] * 65}
    with pytest.raises(rtc.ConnectError):
        await joining.sdk("alice", room_config=config)


async def test_agents_of_create_room_are_dispatched(url, admin, joining):
    name = f"agent-{uuid.uuid4().hex[:8]}"
    async with raw_worker(url) as worker:
        await worker.register(name)
        agents = [agent_dispatch.RoomAgentDispatch(agent_name=name, metadata="m")]
        await admin.room.create_room(api.CreateRoomRequest(name=joining.room, agents=agents))
        job = (await worker.hear()).availability.job
        assert (job.room.name, job.metadata) == (joining.room, "m")
