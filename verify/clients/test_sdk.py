"""Two participants on the LiveKit Python SDK (libwebrtc), on each of the protocol's two connection layouts."""

import asyncio

import pytest
from livekit import rtc

from support.flow import audio_flows, data_flows, video_flows
from support.wait import until

LAYOUTS = pytest.mark.parametrize("single", [True, False], ids=["rtc/v1", "rtc"])


@LAYOUTS
async def test_two_participants_see_and_hear_each_other(joining, single):
    alice = await joining.sdk("alice", single=single)
    bob = await joining.sdk("bob", single=single)
    await until("each sees the other", lambda: alice.others == {"bob"} and bob.others == {"alice"})
    for participant in (alice, bob):
        await participant.publish_video()
        await participant.publish_audio()
    await asyncio.gather(
        video_flows(alice, bob), video_flows(bob, alice), audio_flows(alice, bob), audio_flows(bob, alice)
    )
    assert bob.video["alice"].size == (320, 180)


@LAYOUTS
async def test_a_late_joiner_receives_what_is_already_published(joining, single):
    alice = await joining.sdk("alice", single=single)
    await alice.publish_video()
    await alice.publish_audio()
    await asyncio.sleep(1)
    bob = await joining.sdk("bob", single=single)
    await asyncio.gather(video_flows(alice, bob), audio_flows(alice, bob))


@LAYOUTS
async def test_data_packets_reach_everyone_or_only_those_named(joining, single):
    alice = await joining.sdk("alice", single=single)
    bob = await joining.sdk("bob", single=single)
    carol = await joining.sdk("carol", single=single)
    await until("all are there", lambda: all(len(p.others) == 2 for p in (alice, bob, carol)))
    await data_flows(alice, bob)
    await data_flows(bob, alice)
    await alice.send(b"for bob alone", to=["bob"])
    await alice.send(b"for all", reliable=True)
    await until("carol has what was for all", lambda: carol.heard(b"for all"))
    await until("bob has both", lambda: bob.heard(b"for bob alone") and bob.heard(b"for all"))
    assert not carol.heard(b"for bob alone")
    assert not alice.heard(b"for all"), "a sender does not hear itself"


async def test_metadata_and_attributes_of_the_token_and_their_changes_are_seen(joining):
    alice = await joining.sdk("alice", name="Alice", metadata="first", attributes={"role": "speaker"})
    bob = await joining.sdk("bob")
    seen = await until("bob sees alice", lambda: bob.room.remote_participants.get("alice"))
    assert (seen.name, seen.metadata, dict(seen.attributes)) == ("Alice", "first", {"role": "speaker"})
    await alice.room.local_participant.set_metadata("second")
    await alice.room.local_participant.set_attributes({"hand": "raised"})
    await until("bob sees the new metadata", lambda: seen.metadata == "second", 5)
    await until("bob sees both attributes", lambda: dict(seen.attributes) == {"role": "speaker", "hand": "raised"}, 5)


async def test_a_mute_is_seen_and_silences_and_an_unmute_restores(joining):
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")
    published = await alice.publish_audio()
    await audio_flows(alice, bob)
    remote = bob.room.remote_participants["alice"].track_publications[published.sid]
    published.track.mute()
    await until("bob sees the mute", lambda: remote.muted, 5)
    await until("bob hears nothing", lambda: bob.audio["alice"].silent, 5, lambda: bob.audio["alice"].rms)
    published.track.unmute()
    await until("bob sees the unmute", lambda: not remote.muted, 5)
    bob.audio["alice"].forget()
    await audio_flows(alice, bob)


async def test_an_unpublished_track_and_a_participant_who_leaves_disappear(joining):
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")
    published = await alice.publish_video()
    await video_flows(alice, bob)
    await alice.room.local_participant.unpublish_track(published.sid)
    tracks = bob.room.remote_participants["alice"].track_publications
    await until("the track is gone for bob", lambda: published.sid not in tracks, 5)
    seen = bob.room.remote_participants["alice"]
    await alice.leave()
    await until("alice is gone for bob", lambda: "alice" not in bob.others, 5)
    assert rtc.DisconnectReason.Name(seen.disconnect_reason) == "CLIENT_INITIATED"


async def test_without_auto_subscribe_a_track_comes_when_asked_for_and_stops_when_declined(joining):
    alice = await joining.sdk("alice")
    published = await alice.publish_video()
    bob = await joining.sdk("bob", auto_subscribe=False)
    await until("bob sees alice's track", lambda: published.sid in _publications(bob, "alice"))
    await asyncio.sleep(1)
    assert not bob.video, "nothing was asked for yet"
    _publications(bob, "alice")[published.sid].set_subscribed(True)
    await video_flows(alice, bob)
    _publications(bob, "alice")[published.sid].set_subscribed(False)
    await asyncio.sleep(1)
    frames = bob.video["alice"].frames
    await asyncio.sleep(1)
    assert bob.video["alice"].frames == frames, "pictures go on after the subscription ended"


@pytest.mark.parametrize("scenario", ["SIMULATE_SIGNAL_RECONNECT", "SIMULATE_FULL_RECONNECT"])
async def test_media_flows_again_after_a_reconnect(joining, scenario):
    kind = rtc.SimulateScenarioKind.Value(scenario)
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")
    await alice.publish_video()
    await video_flows(alice, bob)
    await bob.room.simulate_scenario(kind)
    await until("bob is reconnected", lambda: bob.reconnected, 15)
    await video_flows(alice, bob)


async def test_the_second_participant_of_one_identity_displaces_the_first(joining):
    first = await joining.sdk("alice")
    second = await joining.sdk("alice")
    reason = await until("the first is told why", lambda: first.disconnect_reason, 10)
    assert reason == rtc.DisconnectReason.DUPLICATE_IDENTITY
    assert second.room.isconnected()


@pytest.mark.parametrize("codec", ["VP9", "H264", "AV1"])
async def test_other_codecs_are_forwarded(joining, codec):
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")
    published = await alice.publish_video(codec=rtc.VideoCodec.Value(codec))
    await video_flows(alice, bob)
    assert _publications(bob, "alice")[published.sid].mime_type.lower() == f"video/{codec.lower()}"


def _publications(viewer, identity):
    participant = viewer.room.remote_participants.get(identity)
    return participant.track_publications if participant else {}
