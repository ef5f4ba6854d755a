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

DOC_WIDTH = 100
COMMENT_WIDTH = 100
FILE_LINES = 400
FOLDER_FILES = 25
METHODS = 60
# Of types that once were one object in many files.
METHODS_OF = {"crates/controller::Room": 39}
# A comment of so few words says hardly more than the name that it belongs to.
COMMENT_WORDS = 3

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ALLOW = HERE / "allow"
# Generated, recorded or imported text.
SKIPPED = re.compile(r"^(eval/adaptation/results|web/public|LICENSE|scripts/tidy/|third-party/)|package-lock|Cargo\.lock")
SLASHES = {".rs", ".c", ".h", ".mjs", ".js", ".ts", ".tsx"}
HASHES = {".py", ".sh", ".toml", ".yaml", ".yml"}
SOURCES = SLASHES | {".py", ".css", ".sh"}
CLAUSE = re.compile(r"^(Who|Whoever|Whose|What|Whatever|Where|Wherever)\b")
COMMIT = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
# A front end speaks the protocol, and so do clients that test and measure it.
PROTOCOL_USERS = ("crates/livekit/", "verify/", "eval/")
# Rules whose entries in `allow` are for one thing, with its size.
WHOLE = ("file", "folder", "loop", "methods")
GLOSSARY = "docs/glossary.md"
# The folders of modules in the glossary's last column; all others are those of crates.
MODULES = {name: f"backends/{name}/src" for name in ("afxdp", "ebpf", "gcm", "layered", "p4", "udp")}
MODULES |= {"model": "crates/dataplane/src/model", "server": "server/src"}


def offences():
    """Every offence: (rule, path, line, detail)."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [path for path in listed.splitlines() if not SKIPPED.search(path) and (ROOT / path).is_file()]
    words = [line.split() for line in (HERE / "words").read_text().splitlines() if line and line[0] != "#"]
    folders = Counter(str(Path(path).parent) for path in paths if Path(path).suffix in SOURCES)
    for folder, count in folders.items():
        if count > FOLDER_FILES:
            yield "folder", folder, 0, f"{count} source files"
    for folder, names in imports.loops(paths, ROOT):
        yield "loop", folder, 0, f"{len(names)} modules import each other: {', '.join(names)}"
    for manifest, name in imports.against_order(ROOT):
        yield "order", manifest, 0, name
    yield from methods.large(paths, ROOT, METHODS, METHODS_OF)
    for path in paths:
        suffix = Path(path).suffix
        if suffix not in SOURCES | HASHES | {".md"}:
            continue
        lines = (ROOT / path).read_text().splitlines()
        if suffix == ".md":
            yield from in_document(path, lines)
            yield from links.dangling(path, "\n".join(lines), ROOT)
            if path == GLOSSARY:
                yield from in_glossary(path, lines)
            continue
        if suffix in SOURCES and len(lines) > FILE_LINES:
            yield "file", path, 0, f"{len(lines)} lines"
        yield from in_comments(path, lines, r"\s*(//[/!]?|/?\*+)( |$)" if suffix in SLASHES else r"\s*#+( |$)")
        if suffix in (".rs", ".c", ".h"):
            yield from in_code(path, lines, words)
        if suffix == ".rs":
            yield from short_comments(path, lines)


def in_document(path, lines):
    """Width, hashes of commits and sentences of a document; not of its tables and code."""
    paragraph, fenced = [], False
    for number, line in enumerate(lines + [""], 1):
        is_fence = line.lstrip().startswith("```")
        fenced ^= is_fence
        if is_fence or fenced or re.match(r"\s*(\||<|#|$)", line):
            yield from sentences(path, paragraph)
            paragraph = []
            continue
        if re.match(r"\s*([-*]|\d+\.) ", line):
            yield from sentences(path, paragraph)
            paragraph = []
        paragraph.append((number, re.sub(r"^\s*([-*]|\d+\.) ", "", line)))
        if len(re.sub(r"\]\([^)]*\)|https?://\S+|^\[.*\]: .*", "", line)) > DOC_WIDTH:
            yield "width", path, number, f"{len(line)} columns"
        for commit in COMMIT.findall(line):
            yield "commit", path, number, commit


def in_glossary(path, lines):
    """Locations in the last column that are neither a file nor a folder."""
    for number, line in enumerate(lines, 1):
        for location in re.findall(r"`([^`]+)`", line.rpartition(" | ")[2] if line[:1] == "|" else ""):
            crate, *modules = location.split("::")
            module = "/".join([MODULES.get(crate, f"crates/{crate}/src"), *modules])
            if not any((ROOT / place).exists() for place in (location, module, module + ".rs")):
                yield "glossary", path, number, f"{location} does not exist"


def in_comments(path, lines, comment):
    """Width and sentences of comments that have their lines to themselves."""
    paragraph = []
    for number, line in enumerate(lines + [""], 1):
        start = re.match(comment, line)
        text = line[start.end():] if start else ""
        if start and len(line) > COMMENT_WIDTH and "://" not in text and " " in text.strip() and text[:1] != "|":
            yield "width", path, number, f"{len(line)} columns"
        if not text.strip():
            yield from sentences(path, paragraph)
            paragraph = []
        else:
            paragraph.append((number, text))


def short_comments(path, lines):
    """Comments of items that hardly say more than the item's name, as "Its name."."""
    for before, line, after in zip([""] + lines, lines, lines[1:] + [""]):
        is_alone = not re.match(r"\s*///", before) and not re.match(r"\s*///", after)
        text = re.match(r"\s*/// (.*)", line) if is_alone else None
        if text and len(text.group(1).split()) <= COMMENT_WORDS:
            yield "short", path, 0, text.group(1)


def sentences(path, paragraph):
    """Sentences that begin with a clause about who, what or where; questions may."""
    text, begins = "", []
    for number, line in paragraph:
        begins.append((len(text), number))
        text += line.strip() + " "
    for found in re.finditer(r"(?:^|(?<=[.!?:] )|(?<=[.!?:]\*{2} ))[*_(\"]*([A-Z](?:[^.!?]|[.!?](?! ))*[.!?]?)", text):
        sentence = found.group(1)
        if CLAUSE.match(sentence) and not sentence.endswith("?"):
            line = max(number for begin, number in begins if begin <= found.start(1))
            yield "clause", path, line, sentence[:60]


def in_code(path, lines, words):
    """Names that were given up, and imports of the LiveKit protocol outside its front end."""
    mine = {word[0]: word[1] for word in words if len(word) < 3 or path.startswith(word[2])}
    is_outside = not path.startswith(PROTOCOL_USERS)
    for number, line in enumerate(lines, 1):
        code = re.sub(r"//.*|\"(\\.|[^\"\\])*\"", "", line)
        for name in re.findall(r"[A-Za-z_]\w*", code):
            if name in mine:
                yield "word", path, number, f"{name}, now {mine[name]}"
            if name == "livekit_protocol" and is_outside:
                yield "protocol", path, number, "livekit_protocol outside crates/livekit"


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
