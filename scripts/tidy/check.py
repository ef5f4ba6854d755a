#!/usr/bin/env python3
"""Checks the form of the tree: widths, sizes of files, folders and types, old names, sentences, imports, links,
glossary.

Usage: scripts/tidy/check.py [--prune | --all]. Prints offences as `rule path:line: detail`.
`allow` beside this file counts the offences that are older than their rule, by rule and folder of
the tree (by path for the sizes of files and folders). A count above its entry fails, and so does
an entry above its count: `--prune` lowers entries. `--all` prints every offence.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import imports
import links
import methods
import prose
import public
import rust
import scripts
import words

FILE_LINES = 400
FOLDER_FILES = 25
METHODS = 60
# Of types that once were one object in many files.
METHODS_OF = {"crates/controller::Room": 39}

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ALLOW = HERE / "allow"
# Generated, recorded or imported text.
SKIPPED = re.compile(r"^(eval/adaptation/results|web/public|LICENSE|scripts/tidy/|third-party/)|package-lock|Cargo\.lock")
SLASHES = {".rs", ".c", ".h", ".mjs", ".js", ".ts", ".tsx"}
HASHES = {".py", ".sh", ".toml", ".yaml", ".yml"}
SOURCES = SLASHES | {".py", ".css", ".sh"}
# A front end speaks the protocol, and so do clients that test and measure it.
PROTOCOL_USERS = ("crates/livekit/", "verify/", "eval/")
# Rules whose entries in `allow` are for one thing, with its size.
WHOLE = ("file", "folder", "loop", "methods")


def offences():
    """Every offence: (rule, path, line, detail)."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [path for path in listed.splitlines() if not SKIPPED.search(path) and (ROOT / path).is_file()]
    retired = words.read(HERE / "words")
    texts = {path: (ROOT / path).read_text() for path in paths if Path(path).suffix in SOURCES | HASHES | {".md"}}
    yield from of_structure(paths, texts)
    for path, text in texts.items():
        yield from of_file(path, text, retired)
    yield from retired.unneeded("scripts/tidy/words")


def of_structure(paths, texts):
    """Offences of folders, imports, dependencies and types."""
    folders = Counter(str(Path(path).parent) for path in paths if Path(path).suffix in SOURCES)
    for folder, count in folders.items():
        if count > FOLDER_FILES:
            yield "folder", folder, 0, f"{count} source files: divide the folder"
    for folder, names in [*imports.loops(paths, ROOT), *scripts.loops(texts)]:
        yield "loop", folder, 0, f"{len(names)} modules import each other: {', '.join(names)}"
    for manifest, name in imports.against_order(ROOT):
        yield "order", manifest, 0, f"{name}: move what is shared to the earlier folder"
    yield from scripts.against_order(texts)
    yield from methods.large(paths, ROOT, METHODS, METHODS_OF)
    yield from public.unused({path: text for path, text in texts.items() if path.endswith(".rs")})


def of_file(path, text, retired):
    """Offences within one file."""
    suffix, lines = Path(path).suffix, text.splitlines()
    if suffix == ".md":
        yield from prose.in_document(path, lines)
        yield from links.dangling(path, text, ROOT)
        if path == prose.GLOSSARY:
            yield from prose.in_glossary(path, lines, ROOT)
        return
    if suffix in SOURCES and len(lines) > FILE_LINES:
        yield "file", path, 0, f"{len(lines)} lines: look for the second idea"
    yield from prose.in_comments(path, lines, r"\s*(//[/!]?|/?\*+)( |$)" if suffix in SLASHES else r"\s*#+( |$)")
    if suffix == ".rs":
        yield from retired.in_rust(path, text)
        yield from protocol(path, text)
        yield from prose.short_comments(path, lines)
        yield from prose.in_strings(path, text)
        yield from prose.in_test_names(path, text, True)
    elif suffix in SLASHES:
        yield from retired.in_script(path, text)
        yield from prose.in_test_names(path, text, False)


def protocol(path, text):
    """Imports of the LiveKit protocol outside its front end."""
    if path.startswith(PROTOCOL_USERS):
        return
    for number, line in enumerate(rust.code_of(text).splitlines(), 1):
        if re.search(r"\blivekit_protocol\b", line):
            yield "protocol", path, number, "livekit_protocol outside crates/livekit: ask the front end"


def place(rule, path):
    """The part of the tree that an entry of the allow list is for."""
    return path if rule in WHOLE else "/".join(Path(path).parts[:2])


def main():
    """Compares what is found with what is allowed."""
    allowed = Counter()
    for line in ALLOW.read_text().splitlines():
        rule, where, count = line.split()
        allowed[rule, where] = int(count)
    found, reports = Counter(), {}
    for rule, path, line, detail in offences():
        key = rule, place(rule, path)
        # A file, a folder or a loop must not grow, however large it is already.
        found[key] += int(detail.split()[0]) if rule in WHOLE else 1
        reports.setdefault(key, []).append(f"{rule} {path}:{line}: {detail}")
    if "--all" in sys.argv:
        print("\n".join(text for texts in reports.values() for text in texts))
    if "--prune" in sys.argv:
        allowed = Counter({key: min(count, found[key]) for key, count in allowed.items() if found[key]})
        ALLOW.write_text("".join(f"{rule} {where} {count}\n" for (rule, where), count in sorted(allowed.items())))
    is_good = True
    for rule, where in sorted(found.keys() | allowed.keys()):
        count, limit = found[rule, where], allowed[rule, where]
        if count > limit:
            print("\n".join(reports[rule, where][:20]))
        if count != limit:
            is_good = False
            print(f"tidy: {rule} {where}: {count} found, {limit} allowed")
    print("tidy" if is_good else "tidy: mend what is new; after mending what is old, --prune the allow list")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
