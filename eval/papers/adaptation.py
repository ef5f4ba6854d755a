"""Names of the page's figures that are from records of browsers, and the cells that they are."""

import statistics

from tables import document
from written import number

ADAPTATION = "eval/adaptation/results"


def limited(name, sender):
    """The steps of a video of the limited participant."""
    views = document(f"{ADAPTATION}/{name}.json")["views"]
    return next(view["steps"] for view in views if view["limited"] and view["from"] == sender)


def shown():
    """Layers and lines that the limited participant got."""
    found = {}
    for name, sender, step in (("low", "bob", 1), ("medium", "ada", 1), ("high", "ada", 0)):
        def cell(key, sender=sender, step=step):
            return limited("weir-av1-l1t3", sender)[step][key]

        found[f"shown.cyd.{name}"] = lambda cell=cell: number(cell("fps"), 1)
    for to in ("ada", "cyd"):
        found[f"shown.bob.{to}"] = lambda to=to: each("kbit", view_steps("weir-av1-l1t3", "bob", to))
    for codec in ("vp8", "vp9"):
        for sender in ("ada", "bob"):
            found[f"lines.{codec}.{sender}"] = lambda codec=codec, sender=sender: each(
                "height", limited(f"weir-{codec}", sender)
            )
    return found


def view_steps(name, sender, receiver):
    """The steps of one sender's video at one receiver."""
    views = document(f"{ADAPTATION}/{name}.json")["views"]
    return next(view["steps"] for view in views if (view["from"], view["to"]) == (sender, receiver))


def each(key, steps):
    """A number of every step."""
    numbers = [number(step[key]) for step in steps]
    return f"{', '.join(numbers[:-1])} and {numbers[-1]}"


def readings(name):
    """The frame rates that the limited participant got."""
    views = document(f"{ADAPTATION}/weir-scallop17-{name}.json")["views"]
    return [rate for view in views if view["limited"] for rate in view["distribution"]]


def readings_off(name):
    """The share of frame rates that are more than 10 % off the nearest rate of a layer to their median."""
    rates = readings(name)
    full = document(f"{ADAPTATION}/weir-scallop17-{name}.json")["video"]["fps"]
    layers = [part * full for part in (1, 0.5, 0.25)]
    aim = min(layers, key=lambda layer: abs(layer - statistics.median(rates)))
    return sum(abs(rate - aim) > 0.1 * aim for rate in rates) / len(rates)


def rates():
    """Scallop's figures 16, 17 and 26."""
    run = "weir-scallop16"

    def others():
        views = document(f"{ADAPTATION}/{run}.json")["views"]
        return min(step["fps"] for view in views if not view["limited"] for step in view["steps"])

    found = {
        "scallop16.before": lambda: number(limited(run, "ada")[0]["fps"], 1),
        "scallop16.after": lambda: number(limited(run, "ada")[1]["fps"], 1),
        "scallop16.others": lambda: number(others(), 1),
        "scallop16.share": lambda: number(100 * limited(run, "ada")[1]["fps"] / limited(run, "ada")[0]["fps"]),
    }
    runs = ("on-0", "on-1", "off-0", "off-1")
    for name in runs:
        found[f"scallop17.{name}.off"] = lambda name=name: number(100 * readings_off(name), 1)
        found[f"scallop17.{name}.median"] = lambda name=name: number(statistics.median(readings(name)))
    found["scallop17.seconds"] = lambda: number(document(f"{ADAPTATION}/weir-scallop17-on-1.json")["steps"][0]["to"])
    records = ("av1-l1t3", "vp8", "vp9", run.removeprefix("weir-"), *(f"scallop17-{name}" for name in runs))

    def revisions():
        return {document(f"{ADAPTATION}/weir-{name}.json")["version"] for name in records}

    found["revisions"] = lambda: number(len(revisions()))
    found["revisions.dirty"] = lambda: number(sum(name.endswith("+") for name in revisions()))
    found["revisions.unnamed"] = lambda: number(sum(not name for name in revisions()))
    return found
