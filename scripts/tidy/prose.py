"""Prose: documents with their tables, comments, strings that people read, and the names of tests."""

import re

import rust

DOC_WIDTH = 100
COMMENT_WIDTH = 100
# A comment of so few words says hardly more than the name that it belongs to.
COMMENT_WORDS = 3
CLAUSE = re.compile(r"^(Who|Whoever|Whose|What|Whatever|Where|Wherever)\b")
TEST_CLAUSE = re.compile(r"^(who|whoever|whose|what|whatever|where|wherever)[_ ]", re.I)
COMMIT = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
SCRIPT_TEST = re.compile(r"^\s*(?:test|it|describe)\(\s*([\"'`])(.+?)\1", re.M)
GLOSSARY = "docs/design/glossary.md"
# The folders of modules in the glossary's last column; all others are those of crates.
MODULES = {name: f"backends/{name}/src" for name in ("afxdp", "ebpf", "gcm", "layered", "p4", "udp")}
MODULES |= {"model": "crates/dataplane/src/model", "server": "server/src"}


def in_document(path, lines):
    """Width, hashes of commits and sentences of a document; of its tables all but the width."""
    paragraph, fenced = [], False
    for number, line in enumerate(lines + [""], 1):
        is_fence = line.lstrip().startswith("```")
        fenced ^= is_fence
        if not is_fence and not fenced and line.lstrip().startswith("|"):
            yield from in_row(path, number, line)
        if is_fence or fenced or re.match(r"\s*(\||<|#|$)", line):
            yield from sentences(path, paragraph)
            paragraph = []
            continue
        if re.match(r"\s*([-*]|\d+\.) ", line):
            yield from sentences(path, paragraph)
            paragraph = []
        paragraph.append((number, re.sub(r"^\s*([-*]|\d+\.) ", "", line)))
        if len(re.sub(r"\]\([^)]*\)|https?://\S+|^\[.*\]: .*", "", line)) > DOC_WIDTH:
            yield "width", path, number, f"{len(line)} columns: wrap at {DOC_WIDTH}"
        for commit in COMMIT.findall(line):
            yield "commit", path, number, f"{commit}: name the version or the date"


def in_row(path, number, line):
    """Hashes of commits and sentences in the cells of a table's row; a cell may name what it is about."""
    for commit in COMMIT.findall(line):
        yield "commit", path, number, f"{commit}: name the version or the date"
    for cell in re.split(r"(?<!\\)\|", line):
        # A cell without an end is a label, as "Where it runs".
        if cell.strip()[-1:] in (".", "!"):
            yield from sentences(path, [(number, cell.strip())])


def in_glossary(path, lines, root):
    """Locations in the last column that are neither a file nor a folder."""
    for number, line in enumerate(lines, 1):
        for location in re.findall(r"`([^`]+)`", line.rpartition(" | ")[2] if line[:1] == "|" else ""):
            crate, *modules = location.split("::")
            module = "/".join([MODULES.get(crate, f"crates/{crate}/src"), *modules])
            if not any((root / place).exists() for place in (location, module, module + ".rs")):
                yield "glossary", path, number, f"{location} does not exist: name the file or module of the term"


def in_comments(path, lines, comment):
    """Width and sentences of comments that have their lines to themselves."""
    paragraph = []
    for number, line in enumerate(lines + [""], 1):
        start = re.match(comment, line)
        text = line[start.end():] if start else ""
        if start and len(line) > COMMENT_WIDTH and "://" not in text and " " in text.strip() and text[:1] != "|":
            yield "width", path, number, f"{len(line)} columns: wrap at {COMMENT_WIDTH}"
        if not text.strip():
            yield from sentences(path, paragraph)
            paragraph = []
        else:
            paragraph.append((number, text))


def in_strings(path, text):
    """Sentences of errors and logs of the product."""
    for number, content in rust.strings_of(rust.product_text(path, text)):
        yield from courtesy(path, number, content)
        if " " in content and content[:1].islower() and TEST_CLAUSE.match(content) and content[-1:] != "?":
            yield "clause", path, number, f"{content[:60]}: begin with the component"
        yield from sentences(path, [(number, content)])


def in_test_names(path, text, is_rust):
    """Names of tests that begin as no sentence may; questions may."""
    if is_rust:
        names = rust.test_names(text)
    else:
        names = ((text.count("\n", 0, it.start(2)) + 1, it.group(2)) for it in SCRIPT_TEST.finditer(text))
    for number, name in names:
        if TEST_CLAUSE.match(name) and name[-1:] != "?":
            yield "test", path, number, f"{name}: begin with the component"


def courtesy(path, number, content):
    """Errors state what is wrong or needed; they do not ask for it."""
    if re.search(r"\bplease\b", content, re.I):
        yield "clause", path, number, f"{content.strip()[:60]}: say what is needed, without please"


def short_comments(path, lines):
    """Comments of items that hardly say more than the item's name, as "Its name."."""
    for number, (before, line, after) in enumerate(zip([""] + lines, lines, lines[1:] + [""]), 1):
        is_alone = not re.match(r"\s*///", before) and not re.match(r"\s*///", after)
        text = re.match(r"\s*/// (.*)", line) if is_alone else None
        if text and len(text.group(1).split()) <= COMMENT_WORDS:
            yield "short", path, number, f"{text.group(1)} Say what the name does not"


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
            yield "clause", path, line, f"{sentence[:60]}: begin with the component"
