"""A cluster that is upgraded machine by machine while a call goes on."""

import asyncio
import time

import pytest
from support.call import gaps_are_short, nothing_is_missing
from support.cluster import cluster, missing
from support.wait import until

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"SKIPPED, clusters were not tested: {missing()} missing")
BEFORE, NOW = 3, 4
# Machines of the version before, as far as their protocol shows it.
OLD = f"  protocol_version: {BEFORE}\n"
DRAIN = "  move_within: 3\ndrain_timeout: 20\n"
SETTLED_S = 5
MEDIA = [f"media-{number}" for number in range(3)]
CONTROLLERS = [f"controller-{number}" for number in range(2)]


@pytest.mark.timeout(240)
async def test_a_call_goes_on_while_each_machine_is_replaced_by_one_of_the_next_version(tmp_path, call):
    settings = {name: OLD + DRAIN for name in MEDIA} | {name: OLD for name in CONTROLLERS}
    async with cluster(tmp_path, media=3, settings=settings) as running:
        await call.meet(running.url)
        for machine in running.media:
            await _replace(running, call, machine)
            assert f"version={NOW}" not in machine.log, "the controllers are of the version before"
            # Each attempt to reach the one before ends the connection with this one.
            taken = [machine.log.count("a controller is connected") for machine in running.media]
            assert max(taken) <= 2 * 3 * len(CONTROLLERS), taken
        for controller in running.controllers:
            seen = call.seen()
            await _replace(running, call, controller)
            nothing_is_missing(seen)
            # The SDK looks at its media before it is back. If its connection ends meanwhile, it
            # joins anew.
            await asyncio.sleep(SETTLED_S)
            await until(
                "it is connected with all nodes, in the new version",
                lambda controller=controller: controller.log.count(f"version={NOW}") >= len(MEDIA),
                10,
                lambda controller=controller: controller.log[-3000:],
            )
        # Everything speaks the new version, in which people keep their sessions.
        sids = call.sids()
        carrying = next(machine for machine in running.media if machine.figure("weir_receivers ") > 0)
        await _replace(running, call, carrying)
        assert call.sids() == sids, "a media node is replaced without anybody joining anew"


async def _replace(running, call, machine) -> None:
    """Ends a machine, and starts another one at its place that speaks the new version."""
    seen, begun = call.seen(), time.monotonic()
    await machine.end(30)
    ended = time.monotonic()
    config = running.folder / f"{machine.name}.yaml"
    config.write_text(config.read_text().replace(OLD, ""))
    machine.start()
    await machine.is_ready()
    ready = time.monotonic()
    # A node of the version before has its people join again, on another one.
    await call.flows()
    print(f"{machine.name} has ended after {ended - begun:.1f} s and is replaced {ready - ended:.1f} s later")
    gaps_are_short(seen, longest_s=5)
