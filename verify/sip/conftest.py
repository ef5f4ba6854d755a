"""Fixtures: a relay and Kamailio before it, once for each of its modules; how many calls; what is said at the end."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.cable import Cable
from support.cluster import Cluster
from support.namespaces import Unavailable
from support.network import Network
from support.process import program
from support.relays import MEDIA_TIMEOUT_S, RELAYS
from support.switch import SWITCHES, Switch
from support.world import World

FIGURES: list[str] = []


def pytest_addoption(parser) -> None:
    parser.addoption("--relay", default="weir", choices=RELAYS, help="which; kernel: Weir where the kernel relays; switch, bmv2: where a P4 switch does")
    parser.addoption("--calls", type=int, default=10, help="calls at a time in test_calls.py")
    parser.addoption("--rate", type=int, default=10, help="how many of them are set up in a second")
    # More than twice the time after which a silent call ends: a relay looks whether it is silent
    # more than once.
    parser.addoption("--talk", type=float, default=2.5 * MEDIA_TIMEOUT_S, help="seconds that both sides of each talk")


@pytest.fixture(scope="module", params=["rtpengine", "rtpproxy"])
def world(request, tmp_path_factory) -> World:
    """A relay that Kamailio controls by its module of that name."""
    missing = [name for name in ("kamailio", "sipp") if not program(name)]
    if missing:
        names = ", ".join(missing)
        pytest.skip(f"nothing was tested: not installed: {names} (Debian: apt-get install kamailio sip-tester)")
    with ExitStack() as stack:
        folder: Path = tmp_path_factory.mktemp(request.param)
        chosen = request.config.getoption("relay")
        place = _place(stack, chosen, folder)
        network = place.network if place else Network.find()
        relay = RELAYS[chosen](network, folder)
        stack.callback(relay.stop)
        world = World(network, relay, request.param, folder)
        world.switch = place if chosen in SWITCHES else None
        stack.callback(world.stop)
        yield world


@pytest.fixture(scope="session")
def cluster(request, tmp_path_factory) -> Cluster:
    """Three relays that are one cluster, for all tests that need one."""
    if request.config.getoption("relay") != "weir":
        pytest.skip("nothing was tested: this relay is no cluster")
    if not program("etcd"):
        pytest.skip("nothing was tested: not installed: etcd (Debian: apt-get install etcd-server)")
    running = Cluster(tmp_path_factory.mktemp("cluster"), Network.find())
    yield running
    running.stop()


def _place(stack: ExitStack, chosen: str, folder: Path) -> Cable | Switch | None:
    """Where an offload is in front of the relay."""
    if chosen != "kernel" and chosen not in SWITCHES:
        return None
    try:
        place = Cable(folder) if chosen == "kernel" else Switch(chosen, folder)
    except Unavailable as reason:
        # `make p4-check` is to have everything, and a skipped test would count as passed.
        stop = pytest.fail if "P4_CHECK" in os.environ else pytest.skip
        stop(f"nothing was tested: {reason}")
    stack.callback(place.remove)
    return place


@pytest.fixture
def figures():
    """Lines to be printed when all is done."""
    return FIGURES.append


def pytest_terminal_summary(terminalreporter) -> None:
    for line in FIGURES:
        terminalreporter.write_line(line)
