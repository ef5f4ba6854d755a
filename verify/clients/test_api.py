"""The server API as LiveKit's SDK calls it; a real client in the room notices each effect."""

import asyncio
import uuid

import pytest
from livekit import api, rtc
from livekit.api import ServerError

from conftest import Joining
from support.administrator import Answer, call, sdk
from support.flow import audio_flows, video_flows
from support.server import server
from support.wait import until


@pytest.fixture
async def admin(url):
    """The SDK of the server API, with the development key."""
    async with sdk(url) as client:
        yield client


async def refused(call) -> tuple[str, int]:
    """Code and status of a call that fails."""
    with pytest.raises(ServerError) as error:
        await call
    return error.value.code, error.value.status


async def test_a_room_is_created_listed_changed_and_deleted(admin, joining):
    made = await admin.room.create_room(
        api.CreateRoomRequest(
            name=joining.room, empty_timeout=77, departure_timeout=7, max_participants=2, metadata="agenda"
        )
    )
    assert made.name == joining.room and made.sid.startswith("RM_") and made.creation_time > 0
    assert (made.empty_timeout, made.departure_timeout, made.max_participants) == (77, 7, 2)
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")
    assert alice.room.metadata == "agenda"
    with pytest.raises(rtc.ConnectError):
        await joining.sdk("carol")
    listed = await admin.room.list_rooms(api.ListRoomsRequest(names=[joining.room]))
    assert [(room.sid, room.num_participants) for room in listed.rooms] == [(made.sid, 2)]
    changed = await admin.room.update_room_metadata(
        api.UpdateRoomMetadataRequest(room=joining.room, metadata="minutes")
    )
    assert changed.metadata == "minutes"
    await until("alice sees the new metadata", lambda: alice.room.metadata == "minutes", 5)
    await admin.room.delete_room(api.DeleteRoomRequest(room=joining.room))
    for participant in (alice, bob):
        reason = await until("it is told why", lambda p=participant: p.disconnect_reason, 5)
        assert reason == rtc.DisconnectReason.ROOM_DELETED
    assert not (await admin.room.list_rooms(api.ListRoomsRequest(names=[joining.room]))).rooms
    assert await refused(admin.room.delete_room(api.DeleteRoomRequest(room=joining.room))) == ("not_found", 404)


async def test_participants_are_listed_found_and_removed(admin, joining):
    alice = await joining.sdk("alice", name="Alice", attributes={"role": "speaker"})
    bob = await joining.sdk("bob")
    await alice.publish_audio()
    await until("bob sees the track", lambda: bob.room.remote_participants["alice"].track_publications)
    listed = (await admin.room.list_participants(api.ListParticipantsRequest(room=joining.room))).participants
    assert [participant.identity for participant in listed] == ["alice", "bob"]
    assert (listed[0].name, dict(listed[0].attributes), len(listed[0].tracks)) == ("Alice", {"role": "speaker"}, 1)
    who = api.RoomParticipantIdentity(room=joining.room, identity="alice")
    assert (await admin.room.get_participant(who)).sid == alice.room.local_participant.sid
    await admin.room.remove_participant(who)
    reason = await until("alice is told why", lambda: alice.disconnect_reason, 5)
    assert reason == rtc.DisconnectReason.PARTICIPANT_REMOVED
    assert await refused(admin.room.get_participant(who)) == ("not_found", 404)
    assert await refused(admin.room.remove_participant(who)) == ("not_found", 404)
    nowhere = await admin.room.list_participants(api.ListParticipantsRequest(room=uuid.uuid4().hex))
    assert not nowhere.participants


async def test_a_track_is_muted_and_not_unmuted(admin, joining):
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")
    published = await alice.publish_audio()
    await audio_flows(alice, bob)

    def mute(track_sid: str, muted: bool):
        return admin.room.mute_published_track(
            api.MuteRoomTrackRequest(room=joining.room, identity="alice", track_sid=track_sid, muted=muted)
        )

    answer = await mute(published.sid, True)
    assert (answer.track.sid, answer.track.muted) == (published.sid, True)
    await until("alice is muted", lambda: published.muted, 5)
    await until("bob hears nothing", lambda: bob.audio["alice"].silent, 5, lambda: bob.audio["alice"].rms)
    assert await refused(mute(published.sid, False)) == ("failed_precondition", 412)
    assert await refused(mute("TR_none", True)) == ("not_found", 404)


async def test_a_track_is_unmuted_where_the_operator_permits_it():
    async with server(config="room: {enable_remote_unmute: true}") as running, sdk(running.url) as admin:
        joining = Joining(running.url, "unmuted", [])
        alice, bob = await joining.sdk("alice"), await joining.sdk("bob")
        published = await alice.publish_audio()
        await audio_flows(alice, bob)
        for muted in (True, False):
            request = api.MuteRoomTrackRequest(
                room="unmuted", identity="alice", track_sid=published.sid, muted=muted
            )
            assert (await admin.room.mute_published_track(request)).track.muted == muted
            await until("alice is told", lambda m=muted: published.muted == m, 5)
        bob.audio["alice"].forget()
        await audio_flows(alice, bob)
        await asyncio.gather(*(participant.leave() for participant in joining.present))


async def test_a_participant_is_changed_and_everybody_sees_it(admin, joining):
    alice = await joining.sdk("alice", attributes={"role": "guest", "seat": "1"})
    bob = await joining.sdk("bob")
    seen = await until("bob sees alice", lambda: bob.room.remote_participants.get("alice"))
    changed = await admin.room.update_participant(
        api.UpdateParticipantRequest(
            room=joining.room,
            identity="alice",
            name="Alice",
            metadata="host",
            attributes={"role": "host", "seat": ""},
        )
    )
    assert (changed.name, changed.metadata, dict(changed.attributes)) == ("Alice", "host", {"role": "host"})
    for what in (seen, alice.room.local_participant):
        await until("the change is seen", lambda w=what: (w.name, w.metadata) == ("Alice", "host"), 5)
        await until("so are the attributes", lambda w=what: dict(w.attributes) == {"role": "host"}, 5)


async def test_permissions_change_during_the_call(admin, joining):
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")
    published = await alice.publish_video()
    await video_flows(alice, bob)

    def permit(**permission):
        return admin.room.update_participant(
            api.UpdateParticipantRequest(
                room=joining.room, identity="alice", permission=api.ParticipantPermission(**permission)
            )
        )

    changed = await permit(can_subscribe=True, can_publish=False)
    assert not changed.permission.can_publish and not changed.tracks
    tracks = bob.room.remote_participants["alice"].track_publications
    await until("the track is gone for bob", lambda: published.sid not in tracks, 5)
    await alice.send(b"not allowed")
    await asyncio.sleep(0.5)
    await permit(can_subscribe=True, can_publish=True, can_publish_data=True)
    await alice.send(b"allowed")
    await until("the allowed message arrives", lambda: bob.heard(b"allowed"), 5)
    assert not bob.heard(b"not allowed")
    await permit(can_subscribe=True, can_publish_data=True, hidden=True)
    await until("alice has gone from bob's view", lambda: "alice" not in bob.others, 5)


async def test_subscriptions_are_begun_and_ended(admin, joining):
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob", auto_subscribe=False)
    published = await alice.publish_video()

    def subscribe(subscribe: bool, **tracks):
        return admin.room.update_subscriptions(
            api.UpdateSubscriptionsRequest(room=joining.room, identity="bob", subscribe=subscribe, **tracks)
        )

    await subscribe(True, track_sids=[published.sid])
    await video_flows(alice, bob)
    of_alice = api.ParticipantTracks(
        participant_sid=alice.room.local_participant.sid, track_sids=[published.sid]
    )
    await subscribe(False, participant_tracks=[of_alice])
    await asyncio.sleep(1)
    frames = bob.video["alice"].frames
    await asyncio.sleep(1)
    assert bob.video["alice"].frames == frames, "frames arrive after the subscription has ended"


async def test_data_goes_to_everybody_or_to_those_who_are_named(admin, joining, url):
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")

    async def send(data: bytes, kind=api.DataPacket.Kind.RELIABLE, **to):
        await admin.room.send_data(api.SendDataRequest(room=joining.room, data=data, kind=kind, **to))

    await send(b"to all", topic="news")
    await send(b"to bob", destination_identities=["bob"])
    await send(b"to alice", destination_sids=[alice.room.local_participant.sid])
    # Lossy packets need an open channel, and these two have just joined.
    for _ in range(20):
        await send(b"lossy", kind=api.DataPacket.Kind.LOSSY)
        await asyncio.sleep(0.25)
        if alice.heard(b"lossy") and bob.heard(b"lossy"):
            break
    for participant in (alice, bob):
        assert participant.heard(b"lossy"), "a lossy packet arrives"
        await until("both have what is for all", lambda p=participant: p.heard(b"to all"), 5)
        assert participant.heard(b"to all").topic == "news"
    await until("bob has his", lambda: bob.heard(b"to bob"), 5)
    await until("alice has hers", lambda: alice.heard(b"to alice"), 5)
    assert not alice.heard(b"to bob") and not bob.heard(b"to alice")
    short = await call(url, "SendData", {"room": joining.room, "nonce": "c2hvcnQ="}, room=joining.room)
    assert (short.status, short.body["code"]) == (400, "invalid_argument")
    too_long = admin.room.send_data(api.SendDataRequest(room=joining.room, data=bytes(70_000)))
    assert await refused(too_long) == ("invalid_argument", 400)
    nowhere = admin.room.send_data(api.SendDataRequest(room=uuid.uuid4().hex, data=b"x"))
    assert await refused(nowhere) == ("not_found", 404)


async def test_a_method_of_a_participant_is_called(joining, url):
    alice = await joining.sdk("alice")

    async def greet(call: rtc.RpcInvocationData) -> str:
        if call.payload == "nobody":
            raise rtc.RpcError(7, "there is nobody", "at all")
        if call.payload == "later":
            await asyncio.sleep(3)
        return f"hello {call.payload}"

    alice.room.local_participant.register_rpc_method("greet", greet)

    async def perform(method: str, payload: str, identity: str = "alice", **more):
        request = {"room": joining.room, "destinationIdentity": identity, "method": method, "payload": payload}
        return await call(url, "PerformRpc", request | more, room=joining.room)

    assert await perform("greet", "there") == Answer(200, {"payload": "hello there"})
    answers = await asyncio.gather(*(perform("greet", str(number)) for number in range(20)))
    assert [answer.body["payload"] for answer in answers] == [f"hello {number}" for number in range(20)]
    for answer, status, code, message in (
        (await perform("greet", "nobody"), 500, "internal", "RpcError 7: there is nobody: at all"),
        (await perform("greet", "later", responseTimeoutMs=1000), 408, "canceled", "RpcError 1502: Response timeout"),
        (await perform("greet", "x" * 15_361), 400, "malformed", "RpcError 1402: Request payload too large"),
        (await perform("sing", ""), 400, "invalid_argument", "RpcError 1400: "),
        (await perform("greet", "", identity="bob"), 404, "not_found", "participant does not exist"),
        (await perform("greet", "", identity=""), 400, "invalid_argument", "destination identity is required"),
    ):
        assert (answer.status, answer.body["code"]) == (status, code)
        assert answer.body["msg"].startswith(message)


async def test_a_participant_that_leaves_ends_the_calls_to_it(joining, url):
    alice = await joining.sdk("alice")
    called = asyncio.Event()

    async def wait(call: rtc.RpcInvocationData) -> str:
        called.set()
        await asyncio.sleep(30)
        return ""

    alice.room.local_participant.register_rpc_method("wait", wait)
    request = {"room": joining.room, "destinationIdentity": "alice", "method": "wait"}
    answer = asyncio.create_task(call(url, "PerformRpc", request, room=joining.room))
    await asyncio.wait_for(called.wait(), 5)
    await alice.leave()
    assert (await answer).body["code"] == "unavailable"


async def test_a_token_sets_up_the_room_that_joining_creates(admin, joining):
    config = {"metadata": "agenda", "maxParticipants": 1, "departureTimeout": 9, "emptyTimeout": 99}
    alice = await joining.sdk("alice", room_config=config)
    assert alice.room.metadata == "agenda"
    room = (await admin.room.list_rooms(api.ListRoomsRequest(names=[joining.room]))).rooms[0]
    assert (room.max_participants, room.departure_timeout, room.empty_timeout) == (1, 9, 99)
    with pytest.raises(rtc.ConnectError):
        await joining.sdk("bob", room_config={"maxParticipants": 5})


async def test_without_auto_create_only_some_create_rooms():
    config = "room: {auto_create: false, empty_timeout: 2, departure_timeout: 1, max_participants: 2}"
    async with server(config=config) as running, sdk(running.url) as admin:
        joining = Joining(running.url, "made", [])
        with pytest.raises(rtc.ConnectError):
            await joining.sdk("alice")
        made = await admin.room.create_room(api.CreateRoomRequest(name="made", max_participants=9))
        assert (made.max_participants, made.empty_timeout, made.departure_timeout) == (2, 2, 1)
        await joining.sdk("alice")
        elsewhere = Joining(running.url, "elsewhere", [])
        await elsewhere.sdk("bob", grants={"roomCreate": True})
        assert len((await admin.room.list_rooms(api.ListRoomsRequest())).rooms) == 2
        await asyncio.gather(*(participant.leave() for participant in joining.present + elsewhere.present))
        async with asyncio.timeout(10):
            while (await admin.room.list_rooms(api.ListRoomsRequest())).rooms:
                await asyncio.sleep(0.2)


async def test_services_that_are_absent_are_unimplemented(admin):
    for call in (
        admin.egress.list_egress(api.ListEgressRequest()),
        admin.ingress.list_ingress(api.ListIngressRequest()),
        admin.sip.list_inbound_trunk(api.ListSIPInboundTrunkRequest()),
    ):
        assert await refused(call) == ("unimplemented", 501)
