"""aiortc (its own ICE, DTLS, SRTP and SCTP) with the tests' own signalling, beside the SDK and beside itself."""

import asyncio

import pytest
from aiortc.rtcdtlstransport import SRTP_AEAD_AES_128_GCM, SRTP_AEAD_AES_256_GCM, SRTP_AES128_CM_SHA1_80
from livekit.protocol import models, rtc

from support.flow import audio_flows, data_flows, packet_flows, video_flows
from support.wait import until

LAYOUTS = pytest.mark.parametrize("single", [False, True], ids=["rtc", "rtc/v1"])
# Many SCTP chunks, and below the limit of either client for one message.
LARGE_BYTES = 15_000


@LAYOUTS
async def test_aiortc_and_the_sdk_see_and_hear_each_other(joining, single):
    aio = await joining.aiortc("aio", single=single)
    sdk = await joining.sdk("sdk")
    await until("each sees the other", lambda: aio.others == {"sdk"} and sdk.others == {"aio"})
    for participant in (aio, sdk):
        await participant.publish_video()
        await participant.publish_audio()
    await asyncio.gather(video_flows(aio, sdk), video_flows(sdk, aio), audio_flows(aio, sdk), audio_flows(sdk, aio))
    await data_flows(aio, sdk)
    await data_flows(sdk, aio)
    await packet_flows(aio, sdk, reliable=True, size=LARGE_BYTES)
    await packet_flows(sdk, aio, reliable=True, size=LARGE_BYTES)
    assert aio.signalling.pongs, "no ping was answered"


@pytest.mark.parametrize(
    "suite",
    [SRTP_AES128_CM_SHA1_80, SRTP_AEAD_AES_128_GCM, SRTP_AEAD_AES_256_GCM],
    ids=lambda suite: suite.openssl_profile.decode(),
)
async def test_each_srtp_suite_is_served_when_it_is_the_only_one_offered(joining, suite):
    alice = await joining.aiortc("alice", suites=(suite,))
    bob = await joining.aiortc("bob", single=True, suites=(suite,))
    for participant in (alice, bob):
        await participant.publish_video()
        await participant.publish_audio()
    await asyncio.gather(
        video_flows(alice, bob), video_flows(bob, alice), audio_flows(alice, bob), audio_flows(bob, alice)
    )
    await data_flows(alice, bob)
    for line in alice.negotiated() + bob.negotiated():
        assert line.endswith(suite.openssl_profile.decode()), line


async def test_an_aead_suite_is_chosen_when_one_is_offered(joining):
    alice = await joining.aiortc("alice")
    assert all("AEAD" in line for line in alice.negotiated()), alice.negotiated()


@pytest.mark.alone
@pytest.mark.timeout(150)
async def test_four_participants_on_both_stacks_and_both_layouts_share_a_room(joining):
    everyone = [
        await joining.sdk("sdk-v1", single=True),
        await joining.sdk("sdk-v0", single=False),
        await joining.aiortc("aio-v1", single=True),
        await joining.aiortc("aio-v0", single=False),
    ]
    for participant in everyone:
        await participant.publish_video()
        await participant.publish_audio()
    pairs = [(a, b) for a in everyone for b in everyone if a is not b]
    await asyncio.gather(*(video_flows(a, b) for a, b in pairs), *(audio_flows(a, b) for a, b in pairs))
    await asyncio.gather(*(data_flows(a, b) for a, b in pairs))


async def test_a_simulcast_publisher_is_received_at_the_quality_asked_for(joining):
    sdk = await joining.sdk("sdk")
    aio = await joining.aiortc("aio")
    # The SDK sends 320x180, 640x360 and 960x540 for this size.
    await sdk.publish_video(960, 540, simulcast=True)
    await until("aiortc decodes the picture", lambda: "sdk" in aio.video and aio.video["sdk"].frames, 15)
    sid = aio.track_of("sdk", models.VIDEO).sid
    witness = aio.video["sdk"]
    layers = {models.LOW: (320, 180), models.MEDIUM: (640, 360), models.HIGH: (960, 540)}
    for quality in (models.HIGH, models.LOW, models.MEDIUM):
        width, height = size = layers[quality]
        setting = rtc.UpdateTrackSettings(track_sids=[sid], quality=quality, width=width, height=height)
        await aio.signalling.send(track_setting=setting)
        await until(f"aiortc decodes {size}", lambda size=size: witness.size == size, 20, lambda: witness.size)
        await video_flows(sdk, aio)


async def test_a_disabled_track_stops_and_resumes(joining):
    sdk = await joining.sdk("sdk")
    aio = await joining.aiortc("aio")
    await sdk.publish_video()
    await video_flows(sdk, aio)
    sid = aio.track_of("sdk", models.VIDEO).sid
    await aio.signalling.send(track_setting=rtc.UpdateTrackSettings(track_sids=[sid], disabled=True))
    await asyncio.sleep(1)
    frames = aio.video["sdk"].frames
    await asyncio.sleep(1)
    assert aio.video["sdk"].frames == frames, "pictures go on for a disabled track"
    await aio.signalling.send(track_setting=rtc.UpdateTrackSettings(track_sids=[sid], disabled=False))
    await video_flows(sdk, aio)


@LAYOUTS
async def test_a_mute_and_a_leave_are_signalled(joining, single):
    aio = await joining.aiortc("aio", single=single)
    sdk = await joining.sdk("sdk")
    info = await aio.publish_audio()
    await audio_flows(aio, sdk)
    publication = sdk.room.remote_participants["aio"].track_publications[info.sid]
    await aio.signalling.send(mute=rtc.MuteTrackRequest(sid=info.sid, muted=True))
    await until("the SDK sees the mute", lambda: publication.muted, 5)
    await aio.leave()
    await until("aio is gone for the SDK", lambda: "aio" not in sdk.others, 5)
