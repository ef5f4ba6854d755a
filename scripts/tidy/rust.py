"""The parts of a Rust file: code, comments and strings, each at its own line."""

import re

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?:b|c)?r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)|(?:b|c)?"(?P<plain>(?:\\.|[^"\\])*)\""""
    r"""|'(?:\\[^\n]{1,10}?|[^\\'\n])'""",
    re.S,
)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{")
TEST_NAME = re.compile(r"#\[(?:tokio::)?test(?:\([^\]]*\))?\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn (\w+)")


def is_test_file(path):
    """Whether a file is compiled for tests and measurements only."""
    product = path.startswith(("crates/", "backends/", "server/")) and "/src/" in path
    return not product or re.search(r"/tests?(/|\.rs$)|/fake\.rs$", path) is not None


def product_text(path, text):
    """The text of a file without its tests; nothing of a file of tests."""
    return "" if is_test_file(path) else TESTS.split(text)[0]


def code_of(text):
    """The text with blanks in place of comments and of the content of strings."""
    return TOKEN.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), text)


def strings_of(text):
    """The strings of a text: (line, content). The end of a line within one is a space."""
    for found in TOKEN.finditer(text):
        content = found.group("plain") if found.group("raw") is None else found.group("raw")
        if content:
            yield text.count("\n", 0, found.start()) + 1, re.sub(r"\\\n\s*", "", content)


def comments_of(text):
    """The comments of a text: (line, comment)."""
    for found in TOKEN.finditer(text):
        if found.group("comment"):
            yield text.count("\n", 0, found.start()) + 1, found.group("comment")


def test_names(text):
    """The names of tests: (line, name)."""
    for found in TEST_NAME.finditer(code_of(text)):
        yield text.count("\n", 0, found.start(1)) + 1, found.group(1)
