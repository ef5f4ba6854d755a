"""Calls through a P4 switch: their RTP is forwarded by it from answer to BYE, and by the relay while it is down."""

import pytest

from support import scenarios as step
from support.process import wait_until
from support.relays import LEARNING_S
from support.rtp import PACKETS_PER_S
from support.switch import SWITCHES
from support.world import SLACK_S, Group

CALLS = 5
# Each has an entry in either direction; RTCP goes to the relay.
ENTRIES = 2 * CALLS
RING_MS = 1000


@pytest.fixture(autouse=True)
def has_switch(request) -> None:
    if request.config.getoption("relay") not in SWITCHES:
        pytest.skip("nothing was tested: there is no switch in front of this relay")


def group(talk_s: float) -> Group:
    """Calls that ring for a while."""
    packets = int(talk_s * PACKETS_PER_S)
    talk = step.pause(int(1000 * talk_s) + 2 * step.SETTLE_MS)
    caller = step.scenario(step.invite(), step.accepted(step.TALK), step.acknowledge(), talk, step.hang_up())
    callee = step.scenario(
        *[step.invited(), step.ring(), step.pause(RING_MS), step.accept()],
        *[step.acknowledged(step.TALK), step.hung_up()],
    )
    return Group(caller, callee, CALLS, packets, limit_s=SLACK_S + talk_s)


def test_a_call_is_in_the_switch_from_its_answer_to_its_end(world, figures):
    relay, calls = world.relay, group(talk_s=5)
    before = relay.relayed_in_front()
    with world.place(calls) as placed:
        wait_until(lambda: len(relay.calls()) == CALLS, 5, "ringing")
        assert relay.entries() == 0, "nobody has answered"
        wait_until(lambda: relay.entries() == ENTRIES, 5, "an entry for each direction")
        assert relay.places().count("switch") == ENTRIES, relay.places()
        placed.succeed()
        placed.heard_both_ways()
    world.nothing_is_left()
    wait_until(lambda: relay.entries() == 0, 3, "no entry is left")
    assert relay.places() == []
    sent = ENTRIES * calls.packets
    # All packets except those before the parties' addresses were learned. The switch is asked once
    # in a second.
    most = sent - ENTRIES * 2 * LEARNING_S * PACKETS_PER_S
    wait_until(lambda: relay.relayed_in_front() - before > most, 3, "most packets relayed by the switch")
    figures(f"{world.module}: the switch relayed {relay.relayed_in_front() - before} of {sent} packets, none was lost")


def test_calls_go_on_beside_a_switch_that_is_down_and_return_to_it(world, figures):
    relay, switch, calls = world.relay, world.switch, group(talk_s=20)

    def goes_down() -> None:
        switch.kill()
        switch.route_beside()
        wait_until(lambda: not relay.connected(), 5, "the switch is missed")

    def comes_back() -> None:
        switch.start()
        # Until it has a program it forwards nothing.
        wait_until(relay.connected, 10, "connected")
        switch.route_through()
        wait_until(lambda: relay.entries() == ENTRIES, 5, "all entries are there again")
        counted = relay.relayed_in_front()
        wait_until(lambda: relay.relayed_in_front() > counted + PACKETS_PER_S, 3, "the switch forwards")
        assert relay.places().count("switch") == ENTRIES, relay.places()

    goes_down()
    with world.place(calls) as placed:
        wait_until(lambda: len(placed.conversations()) == CALLS, 5, "talking")
        # The switch does not answer in time.
        wait_until(lambda: relay.places().count("base (gone)") == ENTRIES, 8, "refused")
        comes_back()
        goes_down()
        counted = relay.relayed()
        wait_until(lambda: relay.relayed() > counted + PACKETS_PER_S, 3, "relayed by Weir")
        comes_back()
        placed.succeed()
        lost = placed.lost()
        figures(f"{world.module}: switch killed during {CALLS} calls: {sum(lost)} of {ENTRIES * calls.packets} packets lost")
        # Those from the kill until the routes have changed.
        assert len(lost) == ENTRIES and max(lost) < PACKETS_PER_S, lost
    world.nothing_is_left()
