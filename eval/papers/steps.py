"""The measurements of `make papers`, each of which writes files of results."""

import csv
import re
import shutil
import subprocess
from collections import namedtuple

import entries
from tables import ROOT

# minutes: how long it takes; tools: programs that have to be there; parts: commands, or functions.
Step = namedtuple("Step", "name minutes root tools parts")

SWIFTCALL = ROOT / "target/papers/swiftcall"
# A benchmark's names, and the page's.
FORWARDING = {"in clear": "clone", "sent and received": "io"}
PROFILE = "SRTP_AEAD_AES_128_GCM"


def run(*command):
    """Runs a command at the top of the tree."""
    subprocess.run(command, cwd=ROOT, check=True)


def operations():
    """Reads the benchmarks of the userspace data plane: nanoseconds of each operation."""
    forwarding = re.findall(r"^(\S.*?) {2,}(\d+) ns", benchmark("forward"), re.M)
    found = {FORWARDING[name]: figure for name, figure in forwarding if name in FORWARDING}
    # The first line of the profile is for packets of video.
    sealing = re.search(rf"^{PROFILE} +(\d+) ns +\d+ i +(\d+) ns", benchmark("srtp"), re.M)
    found["seal"], found["open"] = sealing.groups()
    with (ROOT / "docs/measured/papers/operations.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["operation", "nanoseconds"])
        writer.writerows([name, found[name]] for name in ("clone", "open", "seal", "io"))


def benchmark(name):
    """Runs a benchmark; returns what it prints."""
    command = ["cargo", "bench", "--locked", "-p", "backend-udp", "--bench", name]
    said = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(said)
    return said


def swiftcall(*options):
    """Measures copies in a folder of its own, since the program adds to what it finds there."""
    shutil.rmtree(SWIFTCALL, ignore_errors=True)
    run("eval/swiftcall/run", "--out", str(SWIFTCALL), *options)


def keep(name, to):
    """A part that copies a file of the last measurement."""
    return lambda: shutil.copy(SWIFTCALL / name, ROOT / to)


def cores():
    """Measures a copy on one core and on several; the device files that come with it are not kept."""
    folder = ROOT / "target/papers"
    folder.mkdir(parents=True, exist_ok=True)
    run("cargo", "build", "--release", "--locked", "-p", "costs")
    run("target/release/weir-costs", str(folder / "here.yaml"), "--curve", "docs/measured/performance/cores.csv")


def relays(*experiments):
    """Measures relays, one experiment after the other."""
    return ["eval/media-relay/run", *experiments]


def compare(*words):
    """Compares servers."""
    return ["eval/compare/run", *words]


STEPS = [
    Step("entries", 0, False, [], [entries.write]),
    Step("planning", 1, False, ["cargo"], [["cargo", "run", "--release", "--locked", "-p", "figures", "--bin", "figures18-20"]]),
    Step("rewriting", 1, False, ["cargo"], [["cargo", "run", "--release", "--locked", "-p", "figures", "--bin", "figure27"]]),
    Step("operations", 2, False, ["cargo"], [operations]),
    Step("cores", 2, True, ["cargo", "ip"], [cores]),
    Step("burst", 1, True, ["ip"], [lambda: swiftcall("--burst"), keep("burst.csv", "docs/measured/papers/burst.csv")]),
    Step(
        "swiftcall",
        3,
        True,
        ["ip"],
        [
            swiftcall,
            keep("results.csv", "docs/measured/papers/swiftcall.csv"),
        ],
    ),
    Step("packets", 2, True, ["ip", "node"], [["node", "eval/papers/packets.mjs"]]),
    Step("two-party", 10, True, ["ip"], [compare("two-party", *(f"--only={name}" for name in ("weir-afxdp", "livekit", "janus")))]),
    Step("relays", 13, True, ["ip"], [relays("calls"), relays("ramp", "--calls", "900")]),
    Step("adaptation", 10, True, ["ip", "node"], [["eval/adaptation/run", "scallop"], ["eval/adaptation/run", "report"]]),
    Step("recirculation", 11, True, ["ip", "simple_switch_grpc"], [["eval/recirculation/run", "--write"]]),
    Step("rooms", 8, True, ["ip"], [compare("rooms", "--seconds", "3", "--settle", "2")]),
    # Beyond the hour.
    Step(
        "layers",
        7,
        True,
        ["ip", "node"],
        [["eval/adaptation/run", name] for name in ("av1-l1t3", "vp8", "vp9")] + [["eval/adaptation/run", "report"]],
    ),
    Step("hd", 15, True, ["ip"], [compare("hd", "--seconds", "3", "--settle", "2")]),
    Step("sessions", 10, True, ["ip"], [relays("sessions")]),
    Step("conferences", 45, True, ["ip"], [compare("conferences", "--seconds", "3", "--settle", "2")]),
]


def perform(step):
    """Runs all parts of a step."""
    for part in step.parts:
        if callable(part):
            part()
        else:
            run(*part)
