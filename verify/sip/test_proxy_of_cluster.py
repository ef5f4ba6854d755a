"""Kamailio in front of several relays of a cluster, all of them in one set of its module rtpengine."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support import scenarios as step
from support.balancer import Balancer
from support.process import program, wait_until
from support.proxy import DISABLED_S, KamailioOfCluster
from support.relays import NG_PORT
from support.rtp import PACKETS_PER_S
from support.world import Calls, Group

TALK_MS = 500
PACKETS = TALK_MS * PACKETS_PER_S // 1000
# Three calls of each relay: Kamailio and the balancer spread calls by a sum over their ids.
CALLS = 9
# From the first words of a call to its re-INVITE; meanwhile a relay goes.
CHANGE_MS = 3000
CALLER = step.scenario(
    *[step.invite(1), step.accepted(step.TALK), step.acknowledge(1), step.pause(CHANGE_MS)],
    *[step.invite(2), step.accepted(step.TALK), step.acknowledge(2)],
    *[step.pause(TALK_MS + step.SETTLE_MS), step.hang_up()],
)
CALLEE = step.scenario(
    *[step.invited(), step.ring(), step.accept(), step.acknowledged(step.TALK)],
    *[step.changed(), step.accept("sendrecv", within=True), step.acknowledged(step.TALK), step.hung_up()],
)


@pytest.fixture
def programs() -> None:
    """What the calls of these tests need."""
    missing = [name for name in ("kamailio", "kamcmd", "sipp") if not program(name)]
    if missing:
        names = ", ".join(missing)
        pytest.skip(f"nothing was tested: not installed: {names} (Debian: apt-get install kamailio sip-tester)")


@contextmanager
def kamailio(cluster, places: list[str], folder) -> Iterator[KamailioOfCluster]:
    """Kamailio that uses what answers at these places, each of which has to answer by now.

    A worker of it that still waits for the first answer of a place may note it as missing at any
    time afterwards.
    """
    running = KamailioOfCluster(places, cluster.network, folder)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def proxy(programs, cluster, tmp_path) -> Iterator[KamailioOfCluster]:
    """Kamailio that uses each relay by itself."""
    with kamailio(cluster, [machine.control() for machine in cluster.machines], tmp_path) as running:
        yield running


@contextmanager
def talking(cluster, folder):
    """Calls that have said their first words, and the calls of each relay."""
    with Calls(cluster.network, Group(CALLER, CALLEE, CALLS, PACKETS, rate=40), folder) as placed:
        wait_until(placed.silent, 2.5, "the first words of all calls are said")
        begun = {pair.call for pair in placed.conversations()}
        calls = [begun.intersection(machine.calls()) for machine in cluster.machines]
        assert all(calls) and sum(map(len, calls)) == CALLS, f"each relay has calls: {calls}"
        yield placed, calls


def moved(placed) -> set[str]:
    """The calls whose parties were told of another relay in the meantime."""

    def relays(pair) -> set[str]:
        told = pair.caller.account.destinations | pair.callee.account.destinations
        return {address for address, _ in told}

    return {pair.call for pair in placed.conversations() if len(relays(pair)) > 1}


def test_a_killed_relay_takes_no_call_of_another_with_it(cluster, proxy, tmp_path):
    killed = cluster.machines[0]
    with talking(cluster, tmp_path) as (placed, calls):
        killed.process.kill()
        try:
            # Each call is changed and ended. Kamailio knows the relay of a call, and says nothing
            # of the calls of one that it has disabled.
            placed.succeed()
            living = [pair for pair in placed.conversations() if pair.call not in calls[0]]
            assert [fault for pair in living for fault in pair.faults(2 * PACKETS)] == []
            assert moved(placed) <= calls[0]
            assert proxy.disabled() == [killed.control()]
        finally:
            killed.start()
    cluster.connected()


def test_a_relay_that_comes_back_gets_calls_again(cluster, proxy, tmp_path):
    killed = cluster.machines[0]
    killed.process.kill()
    # Kamailio notices with the next call for it.
    caller = step.scenario(step.invite(), step.accepted(), step.acknowledge(), step.hang_up())
    callee = step.scenario(step.invited(), step.accept(), step.acknowledged(), step.hung_up())
    groups = iter(range(10))

    def call() -> list[str]:
        """Places calls, and returns the relays that Kamailio does not use afterwards."""
        folder = tmp_path / f"{next(groups)}"
        folder.mkdir()
        with Calls(cluster.network, Group(caller, callee, 6, packets=0, rate=40), folder) as placed:
            placed.succeed()
        return proxy.disabled()

    try:
        assert call() == [killed.control()]
    finally:
        killed.start()
    cluster.connected()
    wait_until(lambda: call() == [], DISABLED_S + 5, "all relays have calls")


def test_a_change_and_an_end_reach_a_call_by_any_relay(programs, cluster, tmp_path):
    place = (cluster.network.relay, NG_PORT)
    balancer = Balancer(place, [(machine.address, NG_PORT) for machine in cluster.machines])
    taken = counted(cluster, "peer_taken")
    try:
        with kamailio(cluster, ["udp:{}:{}".format(*place)], tmp_path), talking(cluster, tmp_path) as (placed, _):
            placed.succeed()
            placed.heard_both_ways(talks=2)
            assert moved(placed) == set(), "media stays where it was"
    finally:
        balancer.stop()
    # An offer, an answer, both again, and the end: the second, third and fifth at another relay
    # than the first.
    assert list(balancer.commands.values()) == [5] * CALLS
    wait_until(lambda: counted(cluster, "peer_taken") == taken + 3 * CALLS, 3, "taken from others")


def counted(cluster, reason: str) -> int:
    """A counter of all relays together."""
    return sum(machine.count(reason) for machine in cluster.machines)
