"""WHIP and WHEP: publishing into a room with SDKs in it, playing from it, and each refusal."""

import asyncio
import re
import uuid

import pytest

from support.ffmpeg import KEYS, ffmpeg, has_muxer
from support.flow import audio_flows, video_flows
from support.media import SIGNATURES
from support.server import server
from support.tokens import token
from support.wait import until
from support.whip import FRAGMENT, SDP, WhipParticipant, ask, http


@pytest.fixture
async def opening(url, joining):
    """Opens sessions in the room of `joining`; they end with the test."""

    async def publish(identity: str) -> WhipParticipant:
        participant = WhipParticipant(identity, SIGNATURES[len(joining.present)])
        joining.present.append(participant)
        await participant.publish_audio()
        await participant.publish_video()
        reply = await participant.open(url, "/whip/v1", token(joining.room, identity))
        assert reply.status == 201, reply
        return participant

    async def play(identity: str, publisher: str) -> WhipParticipant:
        participant = WhipParticipant(identity, SIGNATURES[len(joining.present)])
        joining.present.append(participant)
        participant.expect(publisher)
        reply = await participant.open(url, f"/whep/v1?participant={publisher}", token(joining.room, identity))
        assert reply.status == 201, reply
        return participant

    class Opening:
        pass

    opening = Opening()
    opening.publish, opening.play = publish, play
    return opening


async def test_a_publisher_by_whip_is_seen_by_the_sdk_and_by_whep(joining, opening):
    sdk = await joining.sdk("sdk")
    publisher = await opening.publish("encoder")
    player = await opening.play("player", "encoder")
    await asyncio.gather(
        video_flows(publisher, sdk),
        audio_flows(publisher, sdk),
        video_flows(publisher, player),
        audio_flows(publisher, player),
    )
    await publisher.leave()
    await until("the encoder is gone for the SDK", lambda: "encoder" not in sdk.others, 5)


async def test_the_sdk_is_played_by_whep(joining, opening):
    sdk = await joining.sdk("sdk")
    await sdk.publish_video()
    await sdk.publish_audio()
    player = await opening.play("player", "sdk")
    await asyncio.gather(video_flows(sdk, player), audio_flows(sdk, player))


@pytest.mark.skipif(not has_muxer(), reason="this FFmpeg has no WHIP muxer")
@pytest.mark.parametrize("key", KEYS)
async def test_ffmpeg_publishes(url, joining, tmp_path, key):
    sdk = await joining.sdk("sdk")
    async with ffmpeg(url, token(joining.room, "ffmpeg"), 1, key, tmp_path) as encoder:
        # Its frames and its sound are witnessed as those of any publisher.
        publisher = WhipParticipant("ffmpeg", SIGNATURES[1])
        joining.present.append(publisher)
        await until("the SDK has its tracks", lambda: {"ffmpeg"} <= set(sdk.video) & set(sdk.audio), 15, encoder.seen)
        await asyncio.gather(video_flows(publisher, sdk), audio_flows(publisher, sdk))
        assert encoder.process.returncode is None, encoder.seen()


async def test_ice_is_restarted_by_patch(url, joining, opening):
    publisher = await opening.publish("encoder")
    good = token(joining.room, "encoder")
    offer = publisher.pc.localDescription.sdp
    ufrag, password = (re.search(f"a=ice-{name}:(.*)", offer).group(1).strip() for name in ("ufrag", "pwd"))
    tag = publisher.reply.headers["etag"]
    section = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n"
    same = f"a=ice-ufrag:{ufrag}\r\na=ice-pwd:{password}\r\n{section}"
    other = f"a=ice-ufrag:abcd\r\na=ice-pwd:{'0' * 22}\r\n{section}"

    async def patch(body: str, **headers: str):
        return await ask("PATCH", publisher.session, token=good, body=body, Content_Type=FRAGMENT, **headers)

    assert (await patch(same)).status == 204, "clients leave the header out"
    assert (await patch(other)).status == 428
    assert (await patch(same, If_Match='"none"')).status == 412
    assert (await patch(same, If_Match=tag)).status == 204
    restarted = await patch(other, If_Match="*")
    assert restarted.status == 200 and restarted.headers["etag"] != tag
    assert "a=ice-ufrag:" in restarted.text and "a=candidate:" in restarted.text
    assert (await patch(same, If_Match=tag)).status == 412


async def test_each_bad_request_has_its_status(url, joining):
    endpoint, good = http(url) + "/whip/v1", token(joining.room, "encoder")
    encoder = WhipParticipant("encoder", SIGNATURES[0])
    joining.present.append(encoder)
    await encoder.publish_audio()
    await encoder.publish_video()
    await encoder.pc.setLocalDescription(await encoder.pc.createOffer())
    offer = encoder.pc.localDescription.sdp

    async def status(body: str, bearer: str | None = good, kind: str = SDP, **headers: str) -> int:
        return (await ask("POST", endpoint, token=bearer, body=body, Content_Type=kind, **headers)).status

    assert await status(offer, None) == 401
    assert await status(offer, "a.b.c") == 401
    assert await status(offer, token(joining.room, "listener", grants={"canPublish": False})) == 403
    assert await status(offer, kind="application/json") == 415
    assert await status(offer, Accept="text/html") == 406
    assert await status("hello") == 400
    assert await status("v=0\r\n") == 422, "an offer without media"
    assert await status(re.sub("a=group:BUNDLE.*\r\n", "", offer)) == 422
    assert await status("v=0\r\n" * 20_000) == 413
    video = offer[offer.index("m=video") :]
    second = re.sub("a=mid:.*", "a=mid:9", video)
    two = re.sub("(a=group:BUNDLE [^\r]*)", r"\1 9", offer) + second
    assert await status(two) == 422, "an offer with two videos"
    first = await ask("POST", endpoint, token=good, body=offer, Content_Type=SDP)
    again = await ask("POST", endpoint, token=good, body=offer, Content_Type=SDP)
    assert (first.status, again.status) == (201, 201)
    gone = http(url) + first.headers["location"]
    fragment = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n"
    reply = await ask("PATCH", gone, token=good, body=fragment, Content_Type=FRAGMENT, If_Match="*")
    assert reply.status == 404, "the second session took the place of the first"
    session = http(url) + again.headers["location"]
    assert (await ask("DELETE", session, token=token(joining.room, "other"))).status == 401
    assert (await ask("GET", session, token=good)).status == 405
    assert (await ask("DELETE", session, token=good)).status == 200
    assert (await ask("DELETE", session, token=good)).status == 404


async def test_a_player_without_a_publisher_is_asked_to_come_back(url, joining):
    player = WhipParticipant("player", SIGNATURES[0])
    joining.present.append(player)
    player.expect("nobody")
    reply = await player.open(url, "/whep/v1", token(joining.room, "player"))
    assert reply.status == 409 and int(reply.headers["retry-after"]) > 0


async def test_anybody_may_watch_a_room_that_allows_it():
    room = f"show-{uuid.uuid4().hex[:8]}"
    async with server(config='room: {watch: ["show-*"]}\n') as own:
        publisher, viewer = WhipParticipant("encoder", SIGNATURES[0]), WhipParticipant("viewer", SIGNATURES[1])
        await publisher.publish_audio()
        await publisher.publish_video()
        viewer.expect("encoder")
        try:
            assert (await publisher.open(own.url, "/whip/v1", token(room, "encoder"))).status == 201
            assert (await viewer.open(own.url, f"/whep/v1?room={room}", None)).status == 201
            await asyncio.gather(video_flows(publisher, viewer), audio_flows(publisher, viewer))
        finally:
            await asyncio.gather(publisher.leave(), viewer.leave())
        other = WhipParticipant("viewer", SIGNATURES[1])
        other.expect("encoder")
        assert (await other.open(own.url, "/whep/v1?room=lobby", None)).status == 401
        await other.leave()
