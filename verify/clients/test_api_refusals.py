"""The server API under wrong tokens, routes and bodies: Twirp's errors, and no effect on anybody."""

import asyncio
import json
import socket

import pytest
from livekit import api
from livekit.api import ServerError

from conftest import Joining
from support.administrator import EVERYTHING, call, sdk
from support.flow import video_flows
from support.server import server
from support.tokens import token
from support.wait import until

GRANTS = (
    ("CreateRoom", "roomCreate"),
    ("DeleteRoom", "roomCreate"),
    ("ListRooms", "roomList"),
    ("ListParticipants", "roomAdmin"),
    ("GetParticipant", "roomAdmin"),
    ("RemoveParticipant", "roomAdmin"),
    ("MutePublishedTrack", "roomAdmin"),
    ("UpdateParticipant", "roomAdmin"),
    ("UpdateSubscriptions", "roomAdmin"),
    ("SendData", "roomAdmin"),
    ("UpdateRoomMetadata", "roomAdmin"),
    ("ForwardParticipant", "roomAdmin"),
    ("MoveParticipant", "roomAdmin"),
    ("PerformRpc", "roomAdmin"),
)


@pytest.mark.parametrize(("method", "grant"), GRANTS)
async def test_a_method_without_its_grant_is_unauthenticated(url, method, grant):
    others = {name: True for name in EVERYTHING if name != grant}
    for grants in ({}, others):
        answer = await call(url, method, {"room": "api-refused"}, room="api-refused", grants=grants)
        assert (answer.status, answer.body["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize(
    "access_token",
    [
        "",
        "nonsense",
        token("r", "a", grants=EVERYTHING, secret="another secret"),
        token("r", "a", grants=EVERYTHING, lifetime_s=-3600),
        token("r", "a", grants=EVERYTHING, key="nobody"),
    ],
    ids=["none", "nonsense", "wrong secret", "expired", "unknown key"],
)
async def test_a_bad_token_is_unauthenticated(url, access_token):
    answer = await call(url, "ListRooms", {}, access_token=access_token)
    assert (answer.status, answer.body["code"]) == (401, "unauthenticated")


async def test_the_sdk_understands_a_wrong_secret(url):
    async with sdk(url, secret="another secret of thirty-two characters") as client:
        with pytest.raises(ServerError) as error:
            await client.room.list_rooms(api.ListRoomsRequest())
    assert (error.value.code, error.value.status) == ("unauthenticated", 401)


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        ({"method": "ListRooms", "verb": "GET"}, 404, "bad_route"),
        ({"method": "ListRooms", "verb": "DELETE"}, 404, "bad_route"),
        ({"method": "ListRooms", "content_type": "text/plain"}, 404, "bad_route"),
        ({"method": "Rooms"}, 404, "bad_route"),
        ({"method": "List", "service": "Weather"}, 404, "bad_route"),
        ({"method": "ListRooms", "body": b""}, 400, "malformed"),
        ({"method": "ListRooms", "body": b"["}, 400, "malformed"),
        ({"method": "ListRooms", "body": b"[1]"}, 400, "malformed"),
        ({"method": "ListRooms", "body": b'{"names": 1}'}, 400, "malformed"),
        ({"method": "ListRooms", "body": b'{"names": ["\xff"]}'}, 400, "malformed"),
        ({"method": "ListRooms", "body": b'{"x": ' + b"[" * 100_000}, 400, "malformed"),
        ({"method": "ListRooms", "body": b"\xff\xff", "content_type": "application/protobuf"}, 400, "malformed"),
        ({"method": "CreateRoom", "body": b'{"emptyTimeout": -1}'}, 400, "malformed"),
        ({"method": "CreateRoom", "body": b"{}"}, 400, "invalid_argument"),
        ({"method": "CreateRoom", "body": json.dumps({"name": "x" * 257}).encode()}, 400, "invalid_argument"),
        ({"method": "CreateRoom", "body": b'{"name": "x", "roomPreset": "y"}'}, 400, "invalid_argument"),
        ({"method": "CreateRoom", "body": b" " * ((1 << 20) + 1)}, 413, "malformed"),
    ],
)
async def test_a_wrong_request_gets_the_protocols_error(url, request_, status, code):
    request = {"body": b"{}"} | request_
    answer = await call(url, request.pop("method"), request.pop("body"), **request)
    assert (answer.status, answer.body["code"]) == (status, code)


async def test_a_flood_of_large_bodies_takes_bounded_memory_and_disturbs_no_call():
    async with server(config="limits: {request_timeout: 4}") as running:
        joining = Joining(running.url, "calm", [])
        alice, bob = await joining.sdk("alice"), await joining.sdk("bob")
        await alice.publish_video()
        await video_flows(alice, bob)
        before = running.memory_mb
        bearer = token("", "administrator", grants=EVERYTHING)
        stalled = [_stall(running.port, bearer) for _ in range(200)]
        bodies = [b'{"names": [' + b'"",' * 300_000 + b'""]}', b'{"x": ' + b"[" * 400_000]
        answers = await asyncio.gather(*(call(running.url, "ListRooms", bodies[n % 2]) for n in range(40)))
        codes = {answer.body["code"] for answer in answers}
        assert codes <= {"invalid_argument", "malformed", "deadline_exceeded"}, codes
        assert running.memory_mb < before + 400
        await video_flows(alice, bob)
        await until("those that stall are given up", lambda: all(_has_ended(stream) for stream in stalled), 15)
        assert await running.figure('weir_api_failed_total{code="deadline_exceeded"}') > 0
        await asyncio.gather(*(participant.leave() for participant in joining.present))


def _stall(port: int, bearer: str) -> socket.socket:
    """A client that announces a large body and sends half of it."""
    stream = socket.create_connection(("127.0.0.1", port))
    head = (
        "POST /twirp/livekit.RoomService/ListRooms HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {bearer}\r\nContent-Length: 1000000\r\n\r\n"
    )
    stream.setblocking(False)
    for part in (head.encode(), b" " * 400_000):
        try:
            stream.send(part)
        except BlockingIOError:
            break
    return stream


def _has_ended(stream: socket.socket) -> bool:
    """Whether the server has answered, and closed the connection."""
    try:
        while part := stream.recv(65536):
            assert part
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
