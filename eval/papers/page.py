"""Fills in docs/measured/papers.md, and checks that it has every figure and table."""

import re
from collections import Counter

from tables import ROOT
from values import MISSING, all_values, value

TEMPLATE = ROOT / "eval/papers/page.md"
PAGE = ROOT / "docs/measured/papers.md"
NAME = re.compile(r"\{\{([^}]+)\}\}")
NOTE = "<!-- Written by eval/papers/run from eval/papers/page.md. -->\n\n"
ROMAN = {"I": 1, "II": 2}
# Extents to which a row repeats its figure.
EXTENTS = ("full", "part", "not", "none")
# The figures and tables that each section has to list: kind, first and last number.
EXPECTED = {
    "Scallop": [("Figure", 1, 27), ("Table", 1, 4), ("Algorithm", 1, 1)],
    "eXpressSFU": [("Figure", 1, 17), ("Table", 1, 3), ("Algorithm", 1, 2)],
    "The thesis on recirculation": [("Figure", 1, 32), ("Table", 1, 18)],
    "Offloading media traffic to programmable switches": [("Figure", 1, 7), ("Table", 1, 2), ("Pseudocode", 1, 1)],
    "SwiftCall": [],
}


def named_values():
    """Every name of the page, with a function that returns its text."""
    return all_values() | counts()


def filled():
    """The page, from the template and the files of results."""
    values = named_values()
    return NOTE + "".join(filled_line(line, values) for line in TEMPLATE.read_text().splitlines(keepends=True))


def filled_line(line, values):
    """A line with its values. A cell of which nothing was measured says so once."""
    if not line.startswith("|"):
        return filled_text(line, values)
    return " | ".join(filled_text(cell, values) for cell in line.split(" | "))


def filled_text(text, values):
    """A text with its values."""
    found = {name: value(name, values) for name in NAME.findall(text)}
    if len(found) > 1 and set(found.values()) == {MISSING}:
        return MISSING
    return NAME.sub(lambda name: found[name.group(1)], text)


def write():
    """Writes the page."""
    PAGE.write_text(filled())


def faults():
    """Everything that is wrong with the page or the template, a line each."""
    text, values = TEMPLATE.read_text(), named_values()
    named = set(NAME.findall(text))
    yield from (f"{TEMPLATE.name} has the name {name}, which values.py does not" for name in sorted(named - values.keys()))
    if named - values.keys():
        return
    if not PAGE.exists() or PAGE.read_text() != filled():
        yield "docs/measured/papers.md and the files of results differ: run eval/papers/run --draw"
    for title, kinds in EXPECTED.items():
        listed = list(entries(text, title))
        if not listed:
            yield f"there is no section {title}"
        have = {name for cells in listed for name in numbered(cells[0])}
        for kind, first, last in kinds:
            lacking = [str(place) for place in range(first, last + 1) if (kind, place) not in have]
            if lacking:
                yield f"{title} lacks {kind} {', '.join(lacking)}"
        for cells in listed:
            if len(cells) != 6 or not all(cells):
                yield f"{title}, {cells[0]}: a row has six cells, and none is empty"
            elif "{{" not in cells[3] and cells[5] == "none" and cells[3] == "none":
                yield f"{title}, {cells[0]}: neither a number of Weir's nor a reason"


def counts():
    """How many rows of each section repeat their figure in full, in part and not at all."""
    text, found, every = TEMPLATE.read_text(), {}, Counter()
    for title in EXPECTED:
        extents = Counter(extent(cells) for cells in entries(text, title))
        every += extents
        found |= {f"count.{title}.{name}": lambda number=extents[name]: str(number) for name in EXTENTS}
    return found | {f"count.all.{name}": lambda number=every[name]: str(number) for name in EXTENTS}


def extent(cells):
    """The extent to which a row repeats its figure, by its cells."""
    _, _, theirs, ours, _, difference = cells
    if ours == "none":
        is_drawn = theirs == "no numbers" or difference.startswith("drawing")
        return "none" if is_drawn else "not"
    return "full" if re.match(r"(none|equal)\b", difference) else "part"


def entries(text, title):
    """The rows of a section's first table, without its head."""
    section = re.search(rf"^## {re.escape(title)}$(.*?)(?=^##|\Z)", text, re.M | re.S)
    lines = [line for line in section.group(1).splitlines() if line.startswith("|")] if section else []
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def numbered(cell):
    """The figures and tables of a cell such as `Table 1, Figure 23` or `Figures 4-20`."""
    for kind, numbers in re.findall(r"([A-Z][a-z]+?)s? ((?:[0-9]+|[IVX]+)[a-c]?(?:(?:-|, )[0-9]+)*)", cell):
        for part in numbers.split(", "):
            ends = [ROMAN.get(end) or int(end.rstrip("abc")) for end in part.split("-")]
            yield from ((kind, place) for place in range(ends[0], ends[-1] + 1))
