"""The page of results: a table with a row for each place, which runs of some places complete."""

import re
import subprocess

from places import HERE, ROOT, Problem
from suites import BROKEN, NOTICED, SKIPPED, SURVIVED

HEADING = "## Results"
COLUMNS = ["place", "file", "result", "the first test that notices, or the reason", "tree of"]


class Row:
    """The result of a place."""

    def __init__(self, name, file, result, by, revision):
        self.name, self.file, self.result, self.by, self.revision = name, file, result, by, revision

    @classmethod
    def read(cls, line):
        """A row of the table, or None."""
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != len(COLUMNS) or cells == COLUMNS or set(cells[0]) <= set("-"):
            return None
        return cls(*(cell.strip("`") for cell in cells))

    def __str__(self):
        by = f"`{self.by}`" if self.result == NOTICED else self.by
        cells = [self.name, f"`{self.file}`", self.result, by, self.revision]
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(rows):
    """The rows in Markdown."""
    return "\n".join([f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", *map(str, rows)])


def summary(rows, all_places):
    """How many of all places were judged, and how many have each result."""
    count = lambda result: sum(row.result == result for row in rows)
    results = [f"{count(it)} {it}" for it in (NOTICED, SURVIVED, SKIPPED, BROKEN) if count(it) or it in (NOTICED, SURVIVED)]
    return f"{len(rows)} of {all_places} places were judged: {', '.join(results)}."


def revision():
    """The date of the last commit that changed more than the list of places, its programs and documents."""
    others = [".", f":!{HERE.relative_to(ROOT)}", ":!docs", ":!*.md"]
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    if git("status", "--porcelain", "--untracked-files=no", "--", *others):
        raise Problem("results are recorded of a tree without changes only")
    return git("log", "-1", "--format=%cs", "--", *others)


def read(page):
    """The rows of a page by name, and the text before its results."""
    text = page.read_text() if page.is_file() else ""
    before, heading, after = text.partition(HEADING)
    rows = filter(None, map(Row.read, after.splitlines()))
    return {row.name: row for row in rows if heading}, before


def write(page, places, new):
    """Writes the page with new rows. Places without one keep theirs, and those that are gone lose it."""
    rows, before = read(page)
    rows |= {row.name: row for row in new}
    listed = [rows[place.name] for place in places if place.name in rows]
    page.write_text(f"{before}{HEADING}\n\n{summary(listed, len(places))}\n\n{table(listed)}\n")
