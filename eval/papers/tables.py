"""Reads CSV and JSON files of results: rows that match, one column, one figure of it."""

import csv
import itertools
import json
import statistics
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Missing(Exception):
    """The file, the row or the cell is not there: it was not measured yet."""


def rows(path, where=None):
    """Rows of a CSV file, as dictionaries; `where` names columns and their texts."""
    file = ROOT / path
    if not file.exists():
        raise Missing(f"{path} does not exist")
    lines = (line for line in file.read_text().splitlines() if not line.startswith("#"))
    found = [row for row in csv.DictReader(lines) if all(row.get(name) == text for name, text in (where or {}).items())]
    if not found:
        raise Missing(f"{path} has no row with {where}")
    return found


def column(path, name, **where):
    """The numbers of one column in the rows that match; empty cells are passed over."""
    cells = [row.get(name) or "" for row in rows(path, where)]
    numbers = [float(cell) for cell in cells if cell]
    if not numbers:
        raise Missing(f"{path} has no {name} with {where}")
    return numbers


def median(path, name, **where):
    """The median of a column."""
    return statistics.median(column(path, name, **where))


def most(path, name, **where):
    """The greatest of a column."""
    return max(column(path, name, **where))


def least(path, name, **where):
    """The least of a column."""
    return min(column(path, name, **where))


def served(path, load, server):
    """The greatest load of a search that held, as the row of that step."""
    steps = [row for row in rows(path, {"server": server, "verdict": "holds"}) if row["load"].startswith(load + " ")]
    if not steps:
        raise Missing(f"{path} has no step of {server} under {load} that held")
    return max(steps, key=lambda row: float(row["replicas_per_second_offered"]))


def shown(path, heading):
    """The rows of the first table below a heading of a page, as dictionaries."""
    file = ROOT / path
    text = file.read_text() if file.exists() else ""
    _, found, rest = text.partition(f"\n{heading}\n")
    after = itertools.dropwhile(lambda line: not line.startswith("|"), rest.partition("\n#")[0].splitlines())
    lines = list(itertools.takewhile(lambda line: line.startswith("|"), after))
    if not found or len(lines) < 3:
        raise Missing(f"{path} has no table below {heading}")
    names, _, *cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(names, row)) for row in cells]


def document(path):
    """A JSON file."""
    file = ROOT / path
    if not file.exists():
        raise Missing(f"{path} does not exist")
    return json.loads(file.read_text())
