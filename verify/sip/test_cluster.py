"""Calls of a cluster: a proxy sends each request to another relay, and the relay of the call carries it out."""

import itertools
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import ng
from support.cluster import Cluster, Machine, media, phones
from support.process import wait_until

_calls = itertools.count()
UNKNOWN = "Unknown call-id"


@pytest.fixture
def call() -> str:
    return f"call-{next(_calls)}@tests"


def offered(machine: Machine, call: str, both, **flags: str) -> tuple[str, int]:
    """An offer; where the called party is to send media to."""
    reply = machine.ask("offer", call_id=call, from_tag="a", sdp=both.description(0), **flags)
    assert reply["result"] == "ok", reply
    return media(reply["sdp"])


def answered(machine: Machine, call: str, both) -> tuple[str, int]:
    reply = machine.ask("answer", call_id=call, from_tag="a", to_tag="b", sdp=both.description(1))
    assert reply["result"] == "ok", reply
    return media(reply["sdp"])


def owners(cluster: Cluster, call: str) -> list[Machine]:
    return [machine for machine in cluster.machines if machine.process.running() and call in machine.calls()]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_each_request_of_a_call_may_come_to_another_relay(cluster, call, order):
    first, second, third = (cluster.machines[place] for place in order)
    with phones(cluster.network) as both:
        callee_sends_to = offered(first, call, both)
        caller_sends_to = answered(second, call, both)
        assert {callee_sends_to[0], caller_sends_to[0]} == {first.address}, "both are the first relay's"
        assert both.talk([caller_sends_to, callee_sends_to]) == [20, 20]
        query = third.ask("query", call_id=call)
        assert query["result"] == "ok" and query["totals"]["RTP"]["packets"] == 40, query
        assert owners(cluster, call) == [first]
        assert third.ask("delete", call_id=call, from_tag="a")["result"] == "ok"
        assert both.talk([caller_sends_to, callee_sends_to], 5) == [0, 0], "it is over"


def test_an_answer_ten_milliseconds_later_finds_the_call(cluster, call):
    first, second, _ = cluster.machines
    with phones(cluster.network) as both:
        for number in range(50):
            name = f"{call}-{number}"
            offered(first, name, both)
            answered(second, name, both)


def test_each_way_to_a_relay_passes_requests_on(cluster, call):
    first, second, third = cluster.machines
    with phones(cluster.network) as both:
        sdp = both.description(0)
        assert second.ask_over_tcp("offer", call_id=call, from_tag="a", sdp=sdp)["result"] == "ok"
        answer = {"call_id": call, "from_tag": "a", "to_tag": "b", "sdp": both.description(1)}
        reply = third.ask_over_http("answer", **answer)
        assert media(reply["sdp"])[0] == second.address
        assert first.ask_over_tcp("query", call_id=call)["result"] == "ok"
        assert third.ask_over_tcp("delete", call_id=call, from_tag="a")["result"] == "ok"


def test_rtpproxys_protocol_passes_commands_on(cluster, call):
    first, second, third = cluster.machines
    port, address = first.command(f"U {call} 127.0.0.9 6000 a").split()[:2]
    assert address == first.address and int(port) > 0
    assert second.command(f"L {call} 127.0.0.9 7000 a b").split()[1] == first.address
    assert len(third.command(f"Q {call} a b").split()) == 5
    assert third.command(f"D {call} a b") == "0"
    assert second.command(f"L nobodys-{call} 127.0.0.9 7000 a b") == "0"


def test_a_request_that_is_repeated_elsewhere_gets_the_same_bytes(cluster, call):
    cookie = ng.cookie()
    with phones(cluster.network) as both:
        offer = {"call_id": call, "from_tag": "a", "sdp": both.description(0)}
        replies = {machine.repeat(cookie, "offer", **offer) for machine in [*cluster.machines, *cluster.machines]}
    assert len(replies) == 1
    assert len(owners(cluster, call)) == 1


def test_offers_at_all_relays_at_once_begin_one_call(cluster, call):
    with phones(cluster.network) as both, ThreadPoolExecutor(3) as pool:
        for number in range(30):
            name = f"{call}-{number}"
            begun = list(pool.map(lambda machine: offered(machine, name, both), cluster.machines))
            assert len({address for address, _ in begun}) == 1, begun
            assert len(owners(cluster, name)) == 1


def test_commands_without_a_call_are_about_the_relay_that_gets_them(cluster, call):
    first, second, _ = cluster.machines
    with phones(cluster.network) as both:
        offered(first, call, both)
    assert first.ask("ping")["result"] == second.ask("ping")["result"] == "pong"
    assert call in first.calls() and call not in second.calls()
    assert second.ask("delete", call_id=f"nobodys-{call}", from_tag="a")["warning"].startswith("Call-ID not found")
    assert second.ask("query", call_id=f"nobodys-{call}")["error-reason"] == UNKNOWN


def test_what_was_passed_on_is_counted(cluster, call):
    first, second, _ = cluster.machines
    # Counters are published twice a second.
    time.sleep(1)
    before = second.count("peer_passed"), second.count("peer_answered"), first.count("peer_taken")
    with phones(cluster.network) as both:
        offered(first, call, both)
        answered(second, call, both)
    now = [number + 1 for number in before]
    counted = lambda: [second.count("peer_passed"), second.count("peer_answered"), first.count("peer_taken")]
    wait_until(lambda: counted() == now, 3, "counted")


def test_a_relay_that_hangs_is_named_in_an_error(cluster, call):
    first, second, third = cluster.machines
    with phones(cluster.network) as both:
        offered(first, call, both)
        first.process.signal(signal.SIGSTOP)
        try:
            reply, took = second.ask_slowly("delete", call_id=call, from_tag="a")
            assert reply["error-reason"] == "The relay of this call does not answer" and 1.5 < took < 2.5, (reply, took)
            # A new call waits for its word once, if at all, and not for long.
            took = [third.ask_slowly("offer", call_id=f"{call}-{number}", from_tag="a", sdp=both.description(0)) for number in range(3)]
            assert all(reply["result"] == "ok" for reply, _ in took) and sum(seconds for _, seconds in took) < 1, took
        finally:
            first.process.signal(signal.SIGCONT)
        cluster.connected()
        assert second.ask("query", call_id=call)["result"] == "ok"


def test_calls_go_on_while_the_store_is_away(cluster, call):
    first, second, third = cluster.machines
    with phones(cluster.network) as both:
        offered(first, call, both)
        cluster.store.kill()
        try:
            # Longer than the leases of all records.
            time.sleep(8)
            sends_to = [answered(second, call, both), None]
            assert sends_to[0][0] == first.address
            during = f"{call}-during"
            sends_to = [None, offered(second, during, both)]
            sends_to[0] = answered(third, during, both)
            assert both.talk(sends_to) == [20, 20]
            assert owners(cluster, during) == [second]
            assert first.ask("delete", call_id=during, from_tag="a")["result"] == "ok"
        finally:
            cluster.start_store()
        time.sleep(4)
        cluster.connected()
        assert third.ask("query", call_id=call)["result"] == "ok", "no connection was lost by its return"


def test_an_offer_begins_anew_after_its_relay_was_killed(cluster, call):
    first, second, third = cluster.machines
    with phones(cluster.network) as both:
        offered(first, call, both)
        answered(second, call, both)
        first.process.kill()
        try:
            reply, took = second.ask_slowly("query", call_id=call)
            assert reply["error-reason"] == UNKNOWN and took < 1, (reply, took)
            assert third.ask("delete", call_id=call, from_tag="a")["warning"].startswith("Call-ID not found")
            sends_to = [None, offered(third, call, both)]
            sends_to[0] = answered(second, call, both)
            assert {address for address, _ in sends_to} == {third.address}
            assert both.talk(sends_to) == [20, 20]
        finally:
            first.start()
        cluster.connected()
        # The one that has started finds the calls that began meanwhile.
        assert first.ask("query", call_id=call)["result"] == "ok"
        assert first.ask("delete", call_id=call, from_tag="a")["result"] == "ok"


def test_a_relay_that_has_just_started_finds_calls_at_once(cluster, call):
    first, second, _ = cluster.machines
    with phones(cluster.network) as both:
        offered(second, call, both)
        first.process.kill()
        first.start()

        def answers() -> bool:
            try:
                return first.ask("ping")["result"] == "pong"
            except OSError:
                return False

        wait_until(answers, 10, "answered by the relay")
        assert answered(first, call, both)[0] == second.address
        cluster.connected()
