"""The places that are broken, and the copies by which their files are restored."""

import shutil
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIST = HERE / "places.toml"
COPIES = ROOT / "target" / "mutations"
PROGRAM = ROOT / "backends" / "p4" / "program"


class Problem(Exception):
    """The list does not fit the tree, or the tree does not pass its tests."""


class Place:
    """One change of one file."""

    def __init__(self, entry, suites):
        known = {"name", "path", "before", "after", "tests", "reason"}
        missing = {"name", "path", "before", "after", "tests"} - entry.keys()
        name = entry.get("name", "a place without a name")
        if missing or entry.keys() - known:
            raise Problem(f"{name}: missing {sorted(missing)}, unknown {sorted(entry.keys() - known)}")
        self.name, self.before, self.after = name, entry["before"], entry["after"]
        self.path = ROOT / entry["path"]
        self.reason = entry.get("reason")
        unknown = [suite for suite in entry["tests"] if suite not in suites]
        if unknown or not entry["tests"]:
            raise Problem(f"{name}: unknown tests {unknown}")
        self.suites = entry["tests"]

    def file(self):
        """The path in the tree."""
        return str(self.path.relative_to(ROOT))

    def text(self):
        """The file's text, in which the place is once."""
        if not self.path.is_file():
            raise Problem(f"{self.name}: there is no {self.file()}")
        text = self.path.read_text()
        count = text.count(self.before)
        if count != 1:
            raise Problem(f"{self.name}: the text before is in {self.file()} {count} times")
        if self.before == self.after:
            raise Problem(f"{self.name}: nothing changes")
        return text

    def is_of_p4(self):
        """Whether the P4 program has to be compiled."""
        return self.path.parent == PROGRAM

    def is_chosen(self, words):
        """Whether the name or the file contains one of the words. Without words, each is chosen."""
        return not words or any(word in f"{self.name} {self.file()}" for word in words)


def read():
    """The commands of suites by name, and the places. Each place is once in the tree."""
    listed = tomllib.loads(LIST.read_text())
    suites = listed["tests"]
    places = [Place(entry, suites) for entry in listed["place"]]
    names = [place.name for place in places]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Problem(f"there twice: {sorted(twice)}")
    problems = []
    for place in places:
        try:
            place.text()
        except Problem as problem:
            problems.append(str(problem))
    if problems:
        raise Problem("\n".join(problems))
    return suites, places


class Copies:
    """Copies of the files that are changed, by which they are restored."""

    def __init__(self, folder=COPIES):
        self.folder = folder

    def keep(self, files):
        """Copies files, of which all are restored together."""
        part = self.folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        for file in files:
            copy = part / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
        # Half of a copy would restore half of the tree.
        part.rename(self.folder)

    def restore(self):
        """Puts back all that was copied. Returns the paths of files that had changed."""
        restored = []
        for copy in sorted(it for it in self.folder.rglob("*") if it.is_file()):
            file = ROOT / copy.relative_to(self.folder)
            if not file.is_file() or file.read_bytes() != copy.read_bytes():
                file.write_bytes(copy.read_bytes())
                restored.append(str(file.relative_to(ROOT)))
        shutil.rmtree(self.folder, ignore_errors=True)
        return restored
