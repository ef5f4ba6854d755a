"""Webhooks as LiveKit's SDK receives them, and receivers that fail, hang and never end."""

import asyncio
import json

from livekit import api
from livekit.protocol import models

from conftest import Joining
from support.administrator import sdk
from support.bystander import calling
from support.certificates import authority_and_server
from support.receivers import KINDS, Receiver, bad_receivers, receiver
from support.server import Server, server
from support.tokens import DEV_KEY
from support.wait import until

# Rooms that are created and deleted, two events each.
ROOMS = 40


def config(urls: list, **more) -> str:
    """A configuration with these receivers. JSON is YAML."""
    webhook = {"api_key": DEV_KEY, "urls": urls} | more.pop("webhook", {})
    return json.dumps({"webhook": webhook} | more)


async def create_and_delete(admin: api.LiveKitAPI, name: str) -> None:
    await admin.room.create_room(api.CreateRoomRequest(name=name))
    await admin.room.delete_room(api.DeleteRoomRequest(room=name))


async def figure(weir: Server, result: str) -> float:
    return await weir.figure(f'weir_webhooks_total{{result="{result}"}}')


async def counted(weir: Server, result: str, count: int | None = None) -> None:
    """The server counts this many, or any. It does so once it has the answer, which is after the receiver has given it."""
    found = None
    for _ in range(300):
        found = await figure(weir, result)
        if found == count or (count is None and found):
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{found} and not {count} are {result}")


def of_room(told: Receiver, name: str) -> list[str]:
    """The events of one room."""
    return [event.event for event in told.events if event.room.name == name]


async def test_a_call_is_told_in_order_to_every_receiver():
    room = {"departure_timeout": 1}
    async with receiver() as first, receiver() as second:
        async with server(config=config([first.url, second.url], room=room)) as weir:
            joining = Joining(weir.url, "told", [])
            alice = await joining.sdk("alice", metadata="agenda")
            await alice.publish_audio()
            await until("the track is told", lambda: "track_published alice" in first.names, 30, lambda: first.names)
            bob = await joining.sdk("bob", single=False)
            await until("bob is told", lambda: "participant_joined bob" in first.names, 30, lambda: first.names)
            for participant in (bob, alice):
                await participant.leave()
            for told in (first, second):
                await until("the end is told", lambda r=told: "room_finished" in r.names, 30, lambda r=told: r.names)
        assert first.names == [
            "room_started",
            "participant_joined alice",
            "track_published alice",
            "participant_joined bob",
            "participant_left bob",
            "track_unpublished alice",
            "participant_left alice",
            "room_finished",
        ]
        assert second.names == first.names
        assert [event.id for event in second.events] == [event.id for event in first.events]
        assert len({event.id for event in first.events}) == len(first.events)
        assert len({event.room.sid for event in first.events}) == 1
        assert all(event.room.name == "told" and event.created_at > 0 for event in first.events)
        _, joined, published, _, left = first.events[:5]
        assert (joined.participant.metadata, joined.room.num_participants) == ("agenda", 1)
        assert (published.track.source, published.participant.sid) == (models.MICROPHONE, joined.participant.sid)
        assert left.participant.disconnect_reason == models.CLIENT_INITIATED


async def test_each_receiver_has_its_key():
    keys = {"one": "first-secret", "two": "second-secret"}
    async with receiver("one", keys["one"]) as first, receiver("two", keys["two"]) as second:
        urls = [first.url, {"url": second.url, "api_key": "two"}]
        settings = config(urls, webhook={"api_key": "one", "include_events": ["room_started"]}, keys=keys)
        async with server(config=settings) as weir:
            joining = Joining(weir.url, "keys", [])
            alice = await joining.sdk("alice", key="one", secret=keys["one"])
            for told in (first, second):
                await until("it is told", lambda r=told: r.names == ["room_started"], 30, lambda r=told: r.names)
            await alice.leave()
    assert first.names == second.names == ["room_started"]


async def test_a_receiver_that_fails_for_a_while_gets_everything_in_order():
    async with receiver() as failing:
        failing.statuses = [503, 500]
        async with server(config=config([failing.url])) as weir, sdk(weir.url) as admin:
            await create_and_delete(admin, "retried")
            told = ["room_started", "room_finished"]
            await until("both are told", lambda: failing.names == told, 30, lambda: failing.names)
            await counted(weir, "delivered", 2)
            await counted(weir, "failed", 2)


async def test_bad_receivers_delay_nobody_and_cost_little():
    async with bad_receivers() as bad, receiver() as good:
        bad["redirects elsewhere"].elsewhere = good.url
        urls = [good.url, *(each.url for each in bad.values())]
        # An event is dropped for a bad receiver while the test still runs.
        brief = config(urls, webhook={"max_age": 10})
        async with server(config=brief) as weir, sdk(weir.url) as admin, calling(weir.url) as call, call.unharmed():
            before = weir.memory_mb
            rooms = [f"churn-{number}" for number in range(ROOMS)]
            await asyncio.gather(*(create_and_delete(admin, name) for name in rooms))
            for name in rooms:
                await until("the good one is told", lambda n=name: len(of_room(good, n)) == 2, 30)
                assert of_room(good, name) == ["room_started", "room_finished"]
            redirecting = [bad["redirects to itself"], bad["redirects elsewhere"]]
            await until("all are sent to a redirection", lambda: all(b.requests >= 2 * ROOMS for b in redirecting), 30)
            await counted(weir, "too_old")
            assert weir.memory_mb < before + 64
            assert all(bad[kind].requests for kind in KINDS)
            # A redirection that was followed would be another request or another event.
            await counted(weir, "refused", sum(each.requests for each in redirecting))
            assert len(good.events) == len({event.id for event in good.events})


async def test_https_needs_a_certificate_that_is_trusted(tmp_path, monkeypatch):
    trusted, good_tls = authority_and_server(tmp_path / "good")
    _, other_tls = authority_and_server(tmp_path / "other")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    async with receiver(tls=good_tls) as good, receiver(tls=other_tls) as other:
        async with server(config=config([good.url, other.url])) as weir, sdk(weir.url) as admin:
            await create_and_delete(admin, "secure")
            told = ["room_started", "room_finished"]
            await until("the trusted one is told", lambda: good.names == told, 30, lambda: good.names)
            await counted(weir, "failed")
        assert not other.events
