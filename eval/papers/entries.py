"""The bytes of table entries, from the programs' own definitions.

Writes docs/measured/papers/entries.csv: those of the P4 program from its compiled description, those of the
kernel's program from its layout, beside ICC '20's relay.
"""

import csv
import math
import re

from tables import ROOT

P4INFO = "backends/p4/program/compiled/multicast.p4info.txtpb"
LAYOUT = "backends/ebpf/program/relay/relay_layout.h"
RELAY = "WeirIngress.relays.relay"
PARTICIPANT = "WeirIngress.replicas.participant"
REPLICA = "WeirEgress.copies.replicas.replica"
# A hash of the addresses and ports, and the new ports and destination (section VI-A).
PAPER = ("ICC '20", 32, 64)
WORDS = {"__u8": 1, "__u16": 2, "__u32": 4, "__u64": 8}


def write():
    """Writes the table. An entry of a relay is for one direction of a call."""
    entries = [PAPER, ("P4", *p4_entry(RELAY)), ("kernel", *kernel_entry())]
    entries += [("P4 participant", *p4_entry(PARTICIPANT)), ("P4 replica", *p4_entry(REPLICA))]
    path = ROOT / "docs/measured/papers/entries.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["program", "key_bits", "data_bits", "bytes"])
        for name, key, data in entries:
            writer.writerow([name, key, data, math.ceil((key + data) / 8)])


def blocks(text, kind):
    """The top-level blocks of one kind of a description, by their first id."""
    parts = re.split(rf"\n(?={kind} \{{)", "\n" + text)[1:]
    return {int(re.search(r"\bid: (\d+)", part).group(1)): re.split(r"\n\}", part)[0] for part in parts}


def bits(block, field):
    """The sum of the widths of fields of one kind."""
    return sum(int(width) for width in re.findall(field + r" \{[^}]*?bitwidth: (\d+)", block, re.S))


def p4_entry(name):
    """Bits of key and of the largest action's data."""
    text = (ROOT / P4INFO).read_text()
    actions = blocks(text, "actions")
    table = next(block for block in blocks(text, "tables").values() if f'name: "{name}"' in block)
    taken = [int(number) for number in re.findall(r"action_refs \{\s*id: (\d+)", table)]
    return bits(table, "match_fields"), max(bits(actions[number], "params") for number in taken)


def kernel_entry():
    """Bits of key and value in the map of relays. Fields are aligned, so nothing lies between them."""
    text = (ROOT / LAYOUT).read_text()
    sizes = dict(WORDS)
    for name, body in re.findall(r"struct (\w+) \{(.*?)\n\};", text, re.S):
        fields = re.findall(r"^\s*(?:struct )?(\w+) \w+(?:\[(\d+)\])?;", body, re.M)
        sizes[name] = sum(sizes[kind] * int(count or 1) for kind, count in fields)
    return 8 * sizes["endpoint"], 8 * sizes["relay"]


if __name__ == "__main__":
    write()
