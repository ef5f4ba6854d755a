"""Waiting for something to become true, with a sentence for when it does not."""

import asyncio
import time
from collections.abc import Callable


async def until(
    what: str, condition: Callable[[], object], seconds: float = 10.0, seen: Callable[[], object] | None = None
):
    """Returns the first truthy value of `condition`; fails with `what`, and what `seen` shows, after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            shown = f"; seen: {seen()}" if seen else ""
            raise AssertionError(f"after {seconds:g} s, not so: {what}{shown}")
        await asyncio.sleep(0.03)
