"""Reliable data: all of it arrives, in order, however fast it is sent and however slowly it is read."""

import asyncio

from support.wait import until

BURST = 3_000


def numbered(number: int, size: int) -> bytes:
    return number.to_bytes(4, "big").ljust(size, b".")


def numbers(participant) -> list[int]:
    return [int.from_bytes(heard.payload[:4], "big") for heard in participant.inbox]


async def test_a_burst_of_reliable_packets_and_a_file_arrive_whole(joining, tmp_path):
    alice = await joining.sdk("alice")
    bob = await joining.sdk("bob")
    await until("both are there", lambda: alice.others == {"bob"} and bob.others == {"alice"})
    files = []
    bob.room.register_byte_stream_handler(
        "files", lambda reader, sender: files.append(asyncio.ensure_future(_whole(reader)))
    )
    for number in range(BURST):
        await alice.send(numbered(number, 100))
    content = bytes(range(256)) * 16_384
    path = tmp_path / "file"
    path.write_bytes(content)
    await alice.room.local_participant.send_file(str(path), topic="files")
    await until("bob has every packet", lambda: len(bob.inbox) == BURST, 30, lambda: len(bob.inbox))
    assert numbers(bob) == list(range(BURST))
    assert await asyncio.wait_for(files[0], 30) == content


async def test_a_slow_receiver_gets_everything_and_stays(joining):
    alice = await joining.sdk("alice")
    bob = await joining.aiortc("bob")
    carol = await joining.sdk("carol")
    await until("all are there", lambda: all(len(p.others) == 2 for p in (alice, bob, carol)))
    for link in bob.connection.links():
        for transport in link.transports():
            _slow_down(transport.transport, bits_per_second=8_000_000)
    count = 200
    for number in range(count):
        await alice.send(numbered(number, 10_000))
    for who in (bob, carol):
        await until(f"{who.identity} has everything", lambda who=who: len(who.inbox) == count, 50, lambda who=who: len(who.inbox))
        assert numbers(who) == list(range(count))
    assert alice.others == {"bob", "carol"}


def _slow_down(transport, bits_per_second: int) -> None:
    """Takes what arrives at a rate, as a narrow link with a long queue would deliver it."""
    receive = transport._recv

    async def later() -> bytes:
        data = await receive()
        await asyncio.sleep(len(data) * 8 / bits_per_second)
        return data

    transport._recv = later


async def _whole(reader) -> bytes:
    return b"".join([chunk async for chunk in reader])
