"""Refusals of a server, in the protocol's own terms; a refusal affects nobody else."""

import asyncio
import base64
import json
import os
import urllib.error
import urllib.request

import pytest
from livekit import rtc
from livekit.protocol import models
from livekit.protocol import rtc as protocol
from websockets.asyncio.client import connect

from support.flow import video_flows
from support.tokens import token
from support.wait import until

BAD_TOKENS = pytest.mark.parametrize(
    "claims",
    [{"secret": "another secret"}, {"lifetime_s": -3600}, {"grants": {"roomJoin": False}}, {"key": "nobody"}],
    ids=["wrong secret", "expired", "no roomJoin", "unknown key"],
)


@BAD_TOKENS
async def test_a_bad_token_does_not_join(url, claims):
    room = rtc.Room()
    with pytest.raises(rtc.ConnectError, match="401|403|[Uu]nauthorized"):
        await room.connect(url, token("clients-refused", "mallory", **claims), rtc.RoomOptions(connect_timeout=5.0))


@BAD_TOKENS
async def test_validation_refuses_a_bad_token_legibly_to_any_origin(url, claims):
    status, origin, _ = await _validate(url, token("clients-refused", "mallory", **claims))
    assert status in (401, 403)
    assert origin == "https://meet.example"


async def test_validation_of_a_good_token_succeeds(url):
    assert await _validate(url, token("clients-refused", "alice")) == (200, "https://meet.example", "success")


@pytest.mark.parametrize("may", [False, True])
async def test_signed_fields_are_not_overridden_without_the_grant(url, may):
    signed = token("clients-refused", "mallory", attributes={"role": "guest"}, grants={"canUpdateOwnMetadata": may})
    said = base64.urlsafe_b64encode(json.dumps({"role": "host"}).encode()).decode()
    status, _, _ = await _validate(url, f"{signed}&attributes={said}")
    assert status == (200 if may else 401)


async def test_publishing_without_the_grant_is_refused(joining):
    aio = await joining.aiortc("aio", grants={"canPublish": False})
    request = protocol.AddTrackRequest(cid="camera", name="camera", type=models.VIDEO, source=models.CAMERA)
    await aio.signalling.send(add_track=request)
    refusal = await until("the refusal", lambda: aio.answered("request_response"), 5, lambda: aio.messages)
    assert refusal[0].reason == protocol.RequestResponse.NOT_ALLOWED
    assert not aio.published


async def test_data_without_the_grant_reaches_nobody(joining):
    mute = await joining.aiortc("mute", grants={"canPublishData": False})
    free = await joining.aiortc("free")
    sdk = await joining.sdk("sdk")
    await until("all are there", lambda: len(sdk.others) == 2)
    await mute.send(b"not allowed")
    await asyncio.sleep(0.5)
    await free.send(b"allowed")
    await until("the allowed message arrives", lambda: sdk.heard(b"allowed"), 5)
    assert not sdk.heard(b"not allowed")


async def test_garbage_on_the_signalling_costs_only_its_sender(joining, url):
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")
    await alice.publish_video()
    query = f"access_token={token(joining.room, 'mallory')}&protocol=16&sdk=python"
    async with connect(f"{url}/rtc?{query}", proxy=None) as socket:
        await socket.recv()
        for frame in (b"", b"\xff" * 64, os.urandom(4096), "not json", "{" * 1000):
            try:
                await socket.send(frame)
            except Exception:
                break
    await video_flows(alice, bob)


async def _validate(url: str, access_token: str) -> tuple[int, str | None, str]:
    """Status, allowed origin and body of a validation, asked as a browser page elsewhere would."""
    address = f"{url.replace('ws', 'http', 1)}/rtc/validate?access_token={access_token}"
    request = urllib.request.Request(address, headers={"Origin": "https://meet.example"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask() -> tuple[int, str | None, str]:
        try:
            with opener.open(request, timeout=5) as response:
                return response.status, response.headers["Access-Control-Allow-Origin"], response.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.headers["Access-Control-Allow-Origin"], refused.read().decode()

    return await asyncio.to_thread(ask)
