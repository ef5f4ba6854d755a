"""Calls of sipp through Kamailio: everybody hears everybody, and afterwards there is nothing left."""

import math
import time

import pytest

from support import scenarios as step
from support.process import wait_until
from support.relays import LEARNING_S, MEDIA_TIMEOUT_S
from support.rtp import PACKETS_PER_S
from support.switch import SWITCHES
from support.world import SLACK_S, Group

TALK_MS = 800
PACKETS = TALK_MS * PACKETS_PER_S // 1000
CALLEE = step.scenario(step.invited(), step.ring(), step.accept(), step.acknowledged(step.TALK), step.hung_up())


def test_every_call_is_heard_both_ways(world, request, figures):
    calls, rate, talk_s = (request.config.getoption(name) for name in ("calls", "rate", "talk"))
    packets = int(talk_s * PACKETS_PER_S)
    # All calls are to exist at once, at any rate of setup.
    held_ms = int(1000 * max(talk_s, calls / rate)) + 2 * step.SETTLE_MS
    caller = step.scenario(
        step.invite(), step.accepted(step.TALK), step.acknowledge(), step.pause(held_ms), step.hang_up()
    )
    limit_s = calls / rate + held_ms / 1000 + SLACK_S
    began_s = world.relay.process.cpu_s()
    with world.place(Group(caller, CALLEE, calls, packets, rate, limit_s)) as placed:
        wait_until(lambda: len(world.relay.calls()) == calls, calls / rate + 3, f"{calls} calls at once")
        wait_until(lambda: len(world.relay.open_ports()) == 4 * calls, 2, "four ports for each")
        placed.succeed()
        figures(_figures(world, placed, packets, world.relay.process.cpu_s() - began_s))
        placed.heard_both_ways()
    if request.config.getoption("relay") in ("kernel", *SWITCHES):
        # All packets except those before the parties' addresses were learned. A switch is asked
        # once in a second.
        most = 2 * calls * (packets - 2 * LEARNING_S * PACKETS_PER_S)
        wait_until(lambda: world.relay.relayed_in_front() > most, 3, "most packets relayed in front")
    world.nothing_is_left()


def _figures(world, placed, packets: int, used_s: float) -> str:
    conversations = placed.conversations()
    there = sum(each.callee.account.heard.get(each.caller.ssrc, 0) for each in conversations)
    back = sum(each.caller.account.heard.get(each.callee.ssrc, 0) for each in conversations)
    sent = packets * len(conversations)
    return (
        f"{world.module}: {len(conversations)} calls; to callees {there} of {sent} packets,"
        f" to callers {back} of {sent}; the relay's processor time {used_s:.2f} s,"
        f" {1e6 * used_s / max(1, there + back):.1f} us a packet"
    )


def test_an_acceptance_that_comes_again_changes_nothing(world):
    late = step.pause(1200)
    caller = step.scenario(
        *[step.invite(), step.accepted(step.TALK), late, step.acknowledge()],
        *[step.pause(TALK_MS + 2 * step.SETTLE_MS), step.hang_up()],
    )
    with world.place(Group(caller, CALLEE, calls=5, packets=PACKETS)) as placed:
        assert placed.succeed()["callees"].repeated >= 5
        placed.heard_both_ways()
    world.nothing_is_left()


def test_a_call_on_hold_comes_back(world):
    talk = step.pause(TALK_MS + 2 * step.SETTLE_MS)
    # Longer than another call may be without media; rtpproxy's protocol does not tell of hold, so
    # there it is shorter.
    held_ms = 1000 * MEDIA_TIMEOUT_S + (1500 if world.module == "rtpengine" else -2000)
    caller = step.scenario(
        *[step.invite(1), step.accepted(step.TALK), step.acknowledge(1), talk],
        *[step.invite(2, "sendonly"), step.accepted(), step.acknowledge(2), step.pause(held_ms)],
        *[step.invite(3, "sendrecv"), step.accepted(step.TALK), step.acknowledge(3), talk],
        step.hang_up(),
    )
    callee = step.scenario(
        *[step.invited(), step.ring(), step.accept(), step.acknowledged(step.TALK)],
        *[step.changed(), step.accept("recvonly", within=True), step.acknowledged()],
        *[step.changed(), step.accept("sendrecv", within=True), step.acknowledged(step.TALK)],
        step.hung_up(),
    )
    with world.place(Group(caller, callee, calls=5, packets=PACKETS)) as placed:
        placed.succeed()
        placed.heard_both_ways(talks=2)
        phones = [phone for each in placed.conversations() for phone in (each.caller, each.callee)]
        assert all(len(phone.account.destinations) == 1 for phone in phones), "ports stay over a change"
    world.nothing_is_left()


def test_the_callee_may_hang_up(world):
    caller = step.scenario(step.invite(), step.accepted(step.TALK), step.acknowledge(), step.hung_up_on())
    callee = step.scenario(
        *[step.invited(), step.ring(), step.accept(), step.acknowledged(step.TALK)],
        *[step.pause(TALK_MS + 2 * step.SETTLE_MS), step.hang_up_on_caller()],
    )
    with world.place(Group(caller, callee, calls=5, packets=PACKETS)) as placed:
        placed.succeed()
        placed.heard_both_ways()
    world.nothing_is_left()


def test_calls_that_are_refused_or_cancelled_leave_nothing(world):
    cancelled = (
        step.scenario(step.invite(), step.ringing(), step.cancel(), step.refused(487)),
        step.scenario(step.invited(), step.ring(), step.cancelled()),
    )
    refused = (
        step.scenario(step.invite(), step.refused(486)),
        step.scenario(step.invited(), step.refuse("486 Busy Here")),
    )
    for caller, callee in (cancelled, refused):
        with world.place(Group(caller, callee, calls=5, packets=0)) as placed:
            placed.succeed()
            assert not placed.conversations()
        world.nothing_is_left()


def test_a_stranger_is_not_heard(world, request):
    if request.config.getoption("relay") == "rtpengine":
        pytest.skip("rtpengine takes packets from anybody unless the proxy says strict-source")
    packets = int(4 * LEARNING_S * PACKETS_PER_S)
    caller = step.scenario(
        *[step.invite(), step.accepted(step.TALK), step.acknowledge()],
        *[step.pause(1000 * packets // PACKETS_PER_S + 2 * step.SETTLE_MS), step.hang_up()],
    )
    with world.place(Group(caller, CALLEE, calls=5, packets=packets)) as placed:
        wait_until(lambda: len(placed.conversations()) == 5, 5, "talking")
        time.sleep(2 * LEARNING_S)
        placed.intrude(packets=20)
        placed.succeed()
        placed.heard_both_ways()
    world.nothing_is_left()


def test_a_caller_who_says_a_wrong_address_is_found_by_its_packets(world):
    caller = step.scenario(
        *[step.invite(address=world.network.nowhere), step.accepted(step.TALK), step.acknowledge()],
        *[step.pause(TALK_MS + 2 * step.SETTLE_MS), step.hang_up()],
    )
    with world.place(Group(caller, CALLEE, calls=5, packets=PACKETS)) as placed:
        placed.succeed()
        conversations = placed.conversations()
        assert [fault for each in conversations for fault in each.faults_of_callee(PACKETS)] == []
        # Packets that the callee sent until the caller's first one are lost.
        heard = [each.caller.account.heard for each in conversations]
        assert all(list(senders) == [each.callee.ssrc] for senders, each in zip(heard, conversations))
        assert all(sum(senders.values()) >= PACKETS - 5 for senders in heard)
    world.nothing_is_left()


def test_a_change_that_is_refused_changes_nothing(world):
    caller = step.scenario(
        *[step.invite(1), step.accepted(step.TALK), step.acknowledge(1), step.pause(300)],
        *[step.invite(2), step.refused(488, 2), step.pause(TALK_MS + 2 * step.SETTLE_MS), step.hang_up()],
    )
    callee = step.scenario(
        *[step.invited(), step.ring(), step.accept(), step.acknowledged(step.TALK)],
        *[step.changed(), step.refuse("488 Not Acceptable Here", within=True), step.hung_up()],
    )
    with world.place(Group(caller, callee, calls=5, packets=PACKETS)) as placed:
        placed.succeed()
        placed.heard_both_ways()
    world.nothing_is_left()


def test_calls_outlive_the_relay(world, request, figures):
    chosen = request.config.getoption("relay")
    if chosen == "rtpengine":
        pytest.skip("rtpengine keeps its calls in Redis, which is not there")
    calls, rate = (request.config.getoption(name) for name in ("calls", "rate"))
    gone_s, set_up_s = 1, calls / rate
    # The first calls are still in progress when the last ones have been found again.
    packets = int((6 + set_up_s) * PACKETS_PER_S)
    talk = step.pause(1000 * packets // PACKETS_PER_S + 2 * step.SETTLE_MS)
    caller = step.scenario(step.invite(), step.accepted(step.TALK), step.acknowledge(), talk, step.hang_up())
    with world.place(Group(caller, CALLEE, calls, packets, rate, limit_s=2 * (SLACK_S + set_up_s))) as placed:
        wait_until(lambda: len(placed.conversations()) == calls, set_up_s + 5, "talking")
        time.sleep(3 * LEARNING_S)
        world.relay.replace(gone_s)
        assert len(world.relay.calls()) == calls
        wait_until(lambda: len(world.relay.open_ports()) == 4 * calls, 2, "four ports for each again")
        placed.succeed()
        lost = placed.lost()
        figures(f"{world.module}: killed for {gone_s} s during {calls} calls: {sum(lost)} of {2 * calls * packets} packets lost")
        assert len(lost) == 2 * calls
        if chosen == "kernel":
            assert lost == [0] * len(lost)
        else:
            # Sockets are gone meanwhile, and no longer than that. A switch forwards meanwhile, and
            # so does the kernel where a BPF file system keeps its programs.
            assert all(each < 3 * gone_s * PACKETS_PER_S for each in lost), lost
    world.nothing_is_left()


def test_calls_whose_end_is_lost_are_gone_after_a_while(world):
    caller = step.scenario(step.invite(), step.accepted(step.TALK), step.acknowledge())
    callee = step.scenario(step.invited(), step.accept(), step.acknowledged(step.TALK))
    with world.place(Group(caller, callee, calls=10, packets=PACKETS)) as placed:
        placed.succeed()
        wait_until(placed.silent, 5, "silent")
        told = []

        def counted() -> bool:
            told[:] = [world.relay.query(call) for call in world.relay.calls()]
            totals = [(each["totals"]["RTP"]["packets"], each["totals"]["RTCP"]["packets"]) for each in told]
            return totals == [(2 * PACKETS, 2)] * 10

        # The relay may not have counted the last packet yet.
        wait_until(counted, 2, "all packets counted")
        if world.relay.scores_at_once:
            # No packet was lost, and the path is short, so the score is the best of G.711.
            scores = [stream["average MOS"]["MOS"] for each in told for stream in each["SSRC"].values()]
            assert len(scores) == 20 and min(scores) >= 43
        world.nothing_is_left(within_s=math.ceil(MEDIA_TIMEOUT_S * 2) + 1)
        placed.heard_both_ways()


def test_two_phones_ring_and_one_has_the_call(world):
    world.fork()
    caller = step.scenario(
        *[step.invite(), step.accepted(step.TALK), step.acknowledge()],
        *[step.pause(TALK_MS + 2 * step.SETTLE_MS), step.hang_up()],
    )
    callee = step.scenario(
        *[step.invited(), step.ring(), step.pause(300), step.accept(), step.acknowledged(step.TALK), step.hung_up()]
    )
    other = step.scenario(step.invited(), step.ring(), step.cancelled())
    with world.place(Group(caller, callee, calls=5, packets=PACKETS, other=other)) as placed:
        placed.succeed()
        placed.heard_both_ways()
    world.nothing_is_left()
