"""Names of figures on the page, and the cells of files of results that they are."""

import itertools
import json
import re
import statistics

import adaptation
import tables
from tables import ROOT, column, least, median, most, rows, served
from written import number, places

PERFORMANCE = "docs/measured/performance"
RELAY = "docs/measured/media-relay"
PAPERS = "docs/measured/papers"
RECIRCULATION = "eval/recirculation/summary.csv"
DEADLINE_US = 20_000
BURST = 6_400
# The share of lost packets from which on a relay is saturated.
SATURATED = 0.001
# Of one direction of G.711 with its headers, as the paper counts.
CALL_KBITS = 87.2
BOTH_WAYS = 2
MISSING = "*not measured*"


def all_values():
    """Every name, with a function that returns its text."""
    values = {}
    for part in (rooms, adaptation.shown, planning, packets, latency, adaptation.rates, switch, rewriting, hd, stages, cores, conferences, thesis, relays, swiftcall):
        values.update(part())
    return values


def rooms():
    """The first room of many, at the last step that held."""
    found = {}
    for server, name in (("weir-plain", "weir"), ("livekit", "livekit")):
        def step(server=server):
            return served(f"{PERFORMANCE}/rooms.csv", "rooms of 5, 2 Mbit/s", server)

        found[f"rooms.{name}"] = lambda step=step: number(5 * int(re.search(r"(\d+)\*5x5$", step()["load"]).group(1)))
        found[f"rooms.{name}.fps"] = lambda step=step: number(float(step()["first_room_frames_per_second"]), 1)
        found[f"rooms.{name}.jitter"] = lambda step=step: number(float(step()["first_room_jitter_ms"]), 1)
    return found


def planning():
    """The sweep of meetings on a switch."""
    sizes, parts, worth = (f"docs/operate/planning/{name}.csv" for name in ("figures18-19", "figure20", "worth"))

    def ten(path, name):
        return lambda: number(median(path, name, participants="10"))

    def over(name, pick, chosen):
        return lambda: places(pick(float(row[name]) for row in rows(sizes) if int(row["participants"]) in chosen))

    def worth_of(server, rewriter):
        return lambda: number(median(worth, f"ratio_{rewriter}", server=server, network="not counted"), 1)

    found = {f"planning.{name}": ten(parts, name) for name in ("nra", "ra_r", "ra_sr", "s_lm", "s_lr", "bandwidth")}
    for side in ("device", "server"):
        for end in ("least", "most"):
            found[f"planning.{side}.{end}"] = ten(sizes, f"{side}_{end}")
    for name, part in (("planning.three", "nra"), ("planning.three.bandwidth", "bandwidth")):
        found[name] = lambda part=part: number(median(parts, part, participants="3"))
    found["planning.ratio.least"] = over("ratio_least", min, range(10, 101))
    found["planning.ratio.most"] = over("ratio_most", max, range(10, 101))
    found["planning.ratio.small"] = over("ratio_least", min, range(3, 101))
    for name, server in (("ebpf", "weir-ebpf, in clear"), ("udp", "weir-udp, SRTP")):
        for rewriter in ("s_lm", "s_lr"):
            found[f"planning.worth.{name}.{rewriter}"] = worth_of(server, rewriter)
    return found


def packets():
    """Packets of one participant by type and kind of feedback; shares are of everything that she sends."""
    path = f"{PAPERS}/packets.csv"
    kinds = ("audio", "video", "structure", "sender report", "receiver report", "remb", "transport-wide", "request", "stun")

    def total(feedback, name, chosen):
        return sum(float(row[name]) for row in rows(path, {"feedback": feedback}) if chosen(row))

    def share(feedback, name, chosen):
        return lambda: number(100 * total(feedback, name, chosen) / total(feedback, name, lambda row: True), 2)

    def rate(feedback, kind):
        def cell(name):
            return median(path, name, feedback=feedback, type=kind)

        return lambda: number(cell("packets") / cell("seconds") / cell("participants"), 2)

    found = {}
    for feedback in ("REMB", "transport-wide"):
        for kind in kinds:
            found[f"packets.{feedback}.{kind}.rate"] = rate(feedback, kind)
            for name in ("packets", "bytes"):
                found[f"packets.{feedback}.{kind}.{name}"] = share(feedback, name, lambda row, kind=kind: row["type"] == kind)
        for name in ("packets", "bytes"):
            found[f"packets.{feedback}.data.{name}"] = share(feedback, name, lambda row: row["plane"] == "data")
            found[f"packets.{feedback}.control.{name}"] = share(feedback, name, lambda row: row["plane"] == "control")
            found[f"packets.{feedback}.weir.{name}"] = share(feedback, name, lambda row: row["type"] in ("audio", "video"))
    return found


def latency():
    """Latency of a call of two, by sealed and by clear packets."""
    found = {}
    for server in ("weir", "weir-afxdp", "livekit", "janus"):
        for name in ("p50", "p99"):
            found[f"two.{server}.{name}"] = lambda server=server, name=name: number(
                median(f"{PERFORMANCE}/two-party.csv", f"latency_{name}_us", server=server)
            )
    calls = f"{RELAY}/calls.csv"
    found["calls.count"] = lambda: number(most(calls, "calls"))
    for relay in ("weir-ebpf", "rtpengine", "weir", "weir-afxdp", "cable"):
        for name in ("p50", "p99"):
            found[f"calls.{relay}.{name}"] = lambda relay=relay, name=name: number(
                median(calls, f"delay_{name}_us", relay=relay), 1
            )
        found[f"calls.{relay}.variation"] = lambda relay=relay: number(median(calls, "variation_p99_us", relay=relay), 1)
    for name in ("p50", "p99"):
        found[f"calls.ratio.{name}"] = lambda name=name: places(
            median(calls, f"delay_{name}_us", relay="rtpengine") / median(calls, f"delay_{name}_us", relay="weir-ebpf")
        )
    return found


def switch():
    """The P4 program, and the bytes of its entries."""
    def compiled():
        return json.loads((ROOT / "backends/p4/program/compiled/multicast.json").read_text())

    def state(without=None):
        """Bytes of registers for one replica. S-LR alone uses those whose names have `past_`."""
        cells = [array for array in compiled()["register_arrays"] if ".numbering." in array["name"]]
        return sum(array["bitwidth"] for array in cells if not without or without not in array["name"]) / 8

    found = {
        "p4.states": lambda: number(sum(len(parser["parse_states"]) for parser in compiled()["parsers"])),
        "p4.registers": lambda: number(len(compiled()["register_arrays"])),
        "p4.state.least": lambda: number(state("past_")),
        "p4.state.most": lambda: number(state()),
    }
    for name, program in (
        ("icc", "ICC '20"),
        ("p4", "P4"),
        ("kernel", "kernel"),
        ("participant", "P4 participant"),
        ("replica", "P4 replica"),
    ):
        found[f"entries.{name}"] = lambda program=program: number(median(f"{PAPERS}/entries.csv", "bytes", program=program))
    for name, program in (("p4", "P4"), ("kernel", "kernel")):
        # A million entries of so many bytes are as many megabytes.
        found[f"entries.{name}.million"] = found[f"entries.{name}"]
    return found


def rewriting():
    """Scallop's figure 27."""
    def overhead(**where):
        return lambda: number(median(f"{PAPERS}/rewriting.csv", "overhead_percent", rewriter="S-LR", **where), 1)

    found = {}
    for loss in ("10", "20"):
        for packets_known in ("1", "3"):
            found[f"rewriting.paper.{packets_known}.{loss}"] = overhead(
                conditions="paper", least_packets=packets_known, loss_percent=loss
            )
        found[f"rewriting.15fps.{loss}"] = overhead(conditions="15fps", loss_percent=loss)
    return found


def hd():
    """Receivers of one sender on one core, and costs of operations."""
    path = f"{PERFORMANCE}/hd.csv"
    servers = {"weir": "weir-plain", "livekit": "livekit", "janus": "janus"}
    loads = {"48": "48 packets/s", "3": "3 Mbit/s"}

    def receivers(row):
        return int(row["load"].rsplit("1x", 1)[1])

    def cost(name, wanted):
        found = [row for row in rows(path, {"server": servers[name], "verdict": "holds"}) if row["load"].startswith(loads["48"])]
        nearest = min(found, key=lambda row: abs(receivers(row) - wanted))
        return float(nearest["process_us_per_replica"])

    def at(name, load):
        return served(path, loads[load], servers[name])

    found = {}
    for name in servers:
        found[f"budget.{name}"] = lambda name=name: number(cost(name, 125) * 125 / 1e3, 2)
        for wanted in (100, 200, 400):
            found[f"hd.cost.{name}.{wanted}"] = lambda name=name, wanted=wanted: number(cost(name, wanted), 1)
        for load in loads:
            found[f"hd.{name}.{load}"] = lambda name=name, load=load: number(receivers(at(name, load)))
        found[f"hd.ratio.{name}"] = lambda name=name: number(cost(name, 100) / cost("weir", 100), 1)
    found["hd.weir.48.last"] = lambda: number(float(at("weir", "48")["to_last_p99_us"]) / 1e3, 1)
    found["hd.goodput"] = lambda: number(3 * receivers(at("weir", "3")))
    found["hd.goodput.ratio"] = lambda: number(receivers(at("weir", "3")) / receivers(at("livekit", "3")), 1)
    found["hd.cost.weir.served"] = lambda: number(float(at("weir", "48")["process_us_per_replica"]), 2)
    found["burst.arithmetic"] = lambda: number(min(BURST, DEADLINE_US / float(at("weir", "48")["process_us_per_replica"])))
    for operation in ("clone", "open", "seal", "io"):
        found[f"operations.{operation}"] = lambda operation=operation: number(
            median(f"{PAPERS}/operations.csv", "nanoseconds", operation=operation)
        )
    for way in ("Weir UDP", "Weir TC", "bare TC"):
        found[f"burst.{way}"] = lambda way=way: number(100 * median(f"{PAPERS}/burst.csv", "share_within", way=way), 1)
    return found


def stages():
    """Shares of the processor's cycles for a replica, in the last account of the lab notes."""
    def cycles(*names):
        rows = tables.shown("eval/lab.md", "## Stages")
        # Dictionaries keep the last of the columns of one name.
        found = {row["stage"]: float(row["cycles"]) for row in rows}
        return 100 * sum(found[name] for name in names) / found["all"]

    parts = {"crypto": ("unprotect", "seal"), "copy": ("rewrite",), "io": ("receive", "send")}
    found = {f"stages.{name}": lambda names=names: number(cycles(*names)) for name, names in parts.items()}
    found["stages.all"] = lambda: number(cycles(*sum(parts.values(), ())))
    return found


def cores():
    """The most busy cores of a machine beside one of them, by the time of a copy."""
    path = f"{PERFORMANCE}/cores.csv"

    def gain():
        workers = f"{most(path, 'workers'):.0f}"
        pairs = zip(column(path, "copy_ns", workers="1"), column(path, "copy_ns", workers=workers), strict=True)
        return int(workers) / statistics.median(several / one for one, several in pairs)

    return {"cores.most": lambda: number(most(path, "workers")), "cores.gain": lambda: number(gain(), 2)}


def conferences():
    """Conferences of one sender each, on one core."""
    found = {}
    for server, name in (("weir-plain", "weir"), ("livekit", "livekit")):
        for load in (f"{lines} of {users}" for lines in ("1080p", "720p") for users in (15, 50, 100)):
            found[f"conferences.{name}.{load}"] = lambda server=server, load=load: number(
                int(re.search(r"(\d+)\*1x\d+$", served(f"{PERFORMANCE}/conferences.csv", load, server)["load"]).group(1))
            )
    return found


def thesis():
    """Delay of copies, in milliseconds, and packets lost."""
    found = {}

    def delay(sfu, rate, viewers):
        return median(RECIRCULATION, "average_ms", sfu=sfu, rate_mbps=rate, viewers=viewers)

    def lost(sfu, rate, viewers):
        return median(RECIRCULATION, "lost", sfu=sfu, rate_mbps=rate, viewers=viewers)

    def beside(userspace, sfu, rate, viewers):
        """The average delay over that of a userspace SFU, from averages that were not rounded."""
        rows = tables.shown("eval/recirculation/README.md", f"### Beside {userspace}")
        return next(float(row[sfu]) for row in rows if (row["Mbit/s"], row["viewers"]) == (rate, viewers))

    def slower():
        """The fewest viewers from which on the tree is always slower than a pass for each."""
        sfus = ("BMv2 tree", "BMv2 recirculation")
        measured = sorted({int(row["viewers"]) for row in rows(RECIRCULATION, {"sfu": sfus[0], "rate_mbps": "4"})})
        pairs = [(viewers, *(delay(sfu, "4", str(viewers)) for sfu in sfus)) for viewers in measured]
        at = next(at for at in range(len(pairs)) if all(tree > linear for _, tree, linear in pairs[at:]))
        return pairs[at][0]

    found["tree.slower"] = lambda: number(slower())
    ends = {"4": (1, 5, 11), "2.5": (1, 11), "0.15": (1, 5, 19), "0.076": (1, 7)}
    sfus = {"thesis P4": "thesis.P4", "thesis Python": "thesis.Python"}
    for sfu in ("BMv2 recirculation", "BMv2 tree", "naive Rust", "Weir TC", "Weir UDP"):
        sfus[sfu] = f"recirculation.{sfu}"
    for rate, all_viewers in ends.items():
        for viewers in map(str, all_viewers):
            for sfu, name in sfus.items():
                found[f"{name}.{rate}.{viewers}"] = lambda cell=(sfu, rate, viewers): places(delay(*cell))
                found[f"{name}.{rate}.{viewers}.lost"] = lambda cell=(sfu, rate, viewers): number(lost(*cell))
            ratios = {
                "thesis.ratio": "thesis P4",
                "naive.ratio": "BMv2 recirculation",
                "naive.sockets": "Weir UDP",
                "naive.kernel": "Weir TC",
            }
            for name, sfu in ratios.items():
                found[f"{name}.{rate}.{viewers}"] = lambda cell=("the naive SFU", sfu, rate, viewers): places(beside(*cell))
    for rate in ends:
        found[f"recirculation.packets.{rate}"] = lambda rate=rate: number(
            median(RECIRCULATION, "packets", sfu="BMv2 recirculation", rate_mbps=rate)
        )
    found["recirculation.rows"] = lambda: number(sum(not row["sfu"].startswith("thesis") for row in rows(RECIRCULATION)))
    return found


def relays():
    """Relays of SIP calls: processors, loss and opinion."""
    sessions, ramp = f"{RELAY}/sessions.csv", f"{RELAY}/ramp.csv"
    found = {"ramp.calls": lambda: number(most(ramp, "calls"))}
    # Pairs of so many entries, over the values of a hash of 32 bits.
    found["icc.collisions"] = lambda: number(1e6 * (1e6 - 1) / 2 / 2**32)

    def is_held(row):
        """Whether less than 0.1 % of the packets are lost."""
        return float(row["lost"] or 1) < SATURATED * float(row["sent"] or 0)

    def generator():
        """The most calls that the cable alone carries: beyond them the generator is measured."""
        return max((int(row["calls"]) for row in rows(sessions, {"relay": "cable"}) if is_held(row)), default=0)

    found["sessions.generator"] = lambda: number(generator())
    for relay in ("rtpengine", "weir", "weir-afxdp", "weir-ebpf"):
        def farthest(relay=relay):
            return f"{min(generator(), most(sessions, 'calls', relay=relay)):.0f}"

        def cell(name, relay=relay, farthest=farthest):
            return median(sessions, name, relay=relay, calls=farthest())

        def held(relay=relay):
            """The most calls up to which it holds."""
            steps = sorted(rows(sessions, {"relay": relay}), key=lambda row: int(row["calls"]))
            good = itertools.takewhile(is_held, steps)
            return min(generator(), max((int(row["calls"]) for row in good), default=0))

        found[f"sessions.{relay}.held"] = lambda held=held: number(held())
        found[f"sessions.{relay}.rate"] = lambda held=held: number(held() * BOTH_WAYS * CALL_KBITS / 1e3)
        found[f"sessions.{relay}.calls"] = lambda farthest=farthest: number(int(farthest()))
        found[f"sessions.{relay}.cores"] = lambda relay=relay: number(
            100 * median(sessions, "relay_cores", relay=relay, calls="800"), 1
        )
        found[f"sessions.{relay}.lost"] = lambda cell=cell: number(100 * cell("lost") / cell("sent"), 2)
        found[f"sessions.{relay}.mos"] = lambda cell=cell: number(cell("score_median"), 2)
        found[f"ramp.{relay}"] = lambda relay=relay: number(100 * median(ramp, "relay_cores", relay=relay), 1)
        found[f"ramp.{relay}.arriving"] = lambda relay=relay: number(
            100 * median(ramp, "relay_cores_while_calls_arrive", relay=relay), 1
        )
    return found


def swiftcall():
    """The kernel beside sockets, over all numbers of receivers."""
    path = f"{PAPERS}/swiftcall.csv"

    def receivers():
        return sorted({int(row["receivers"]) for row in rows(path)})

    def both(name, count):
        return [median(path, name, way=way, receivers=str(count)) for way in ("Weir TC", "Weir UDP")]

    def change(name):
        """The mean over the numbers of receivers, in percent."""
        pairs = [both(name, count) for count in receivers()]
        return statistics.mean(100 * (kernel / sockets - 1) for kernel, sockets in pairs)

    def text(value, digits):
        return f"{number(abs(value), digits)} % {'above' if value > 0 else 'below'}"

    def later_us():
        pairs = [both("delta_min_ms", count) for count in receivers()]
        return 1e3 * statistics.mean(kernel - sockets for kernel, sockets in pairs)

    def paced_ms():
        source = (ROOT / "eval/swiftcall/src/measure.rs").read_text()
        return int(re.search(r"PACED: Duration = Duration::from_millis\(([0-9_]+)\)", source).group(1).replace("_", ""))

    def flooded():
        kernel, sockets = both("flood_copies_per_s", max(receivers()))
        return kernel / sockets

    return {
        "swiftcall.seconds": lambda: number(paced_ms() / 1e3, 1),
        "swiftcall.receivers": lambda: f"{min(receivers())} to {max(receivers())}",
        "swiftcall.least": lambda: f"{number(later_us(), 1)} us above",
        "swiftcall.greatest": lambda: text(change("delta_max_ms"), 2),
        "swiftcall.mean": lambda: text(change("delta_mean_ms"), 3),
        "swiftcall.arrived": lambda: number(100 * least(path, "arrived", way="Weir TC"), 2),
        "swiftcall.arrived.udp": lambda: number(100 * least(path, "arrived", way="Weir UDP"), 2),
        "swiftcall.flood": lambda: number(flooded(), 2),
        "swiftcall.busy": lambda: number(both("busy_us_per_copy", max(receivers()))[0], 2),
        "swiftcall.busy.udp": lambda: number(both("busy_us_per_copy", max(receivers()))[1], 2),
    }


def value(name, values):
    """The text of a name."""
    try:
        return values[name]()
    except tables.Missing:
        return MISSING
