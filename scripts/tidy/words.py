"""Retired names in code, and in strings and comments where these name code."""

import re
from pathlib import Path

import rust


class Words:
    """The list of retired names, and which of its exceptions were needed."""

    def __init__(self, text):
        self.entries, self.needed = {}, set()
        for number, line in enumerate(text.splitlines(), 1):
            if line and line[0] != "#":
                old, new, *folders = line.split()
                others = [folder[1:] for folder in folders if folder[0] == "-"]
                only = tuple(folder[1:] for folder in folders if folder[0] == "+")
                self.entries[old] = (number, new, others, only)

    def found(self, path, name):
        """The new name, if this one is retired here."""
        if name not in self.entries:
            return None
        _, new, others, only = self.entries[name]
        for folder in others:
            if path.startswith(folder):
                self.needed.add((name, folder))
                return None
        return None if only and not path.startswith(only) else new

    def in_rust(self, path, text):
        """Retired names in code, strings and comments: (rule, path, line, detail)."""
        for number, line in enumerate(rust.code_of(text).splitlines(), 1):
            yield from self.each(path, number, re.findall(r"[A-Za-z_]\w*", line))
        for number, content in [*rust.strings_of(text), *rust.comments_of(text)]:
            # In prose only names of code are retired: a retired word may be right in a sentence.
            names = re.findall(r"`(\w+)`|\{(\w+)[:}]", content)
            yield from self.each(path, number, [one or other for one, other in names])

    def in_script(self, path, text):
        """Retired names in JavaScript, TypeScript and C, whose comments are as in Rust."""
        code = re.sub(r"//[^\n]*|/\*.*?\*/", lambda it: re.sub(r"[^\n]", " ", it.group(0)), text, flags=re.S)
        for number, line in enumerate(code.splitlines(), 1):
            yield from self.each(path, number, re.findall(r"[A-Za-z_]\w*", re.sub(r"\"(\\.|[^\"\\])*\"", "", line)))

    def each(self, path, number, names):
        for name in names:
            new = self.found(path, name)
            if new:
                yield "word", path, number, f"{name}: write {new}"

    def unneeded(self, path):
        """Exceptions for a folder that has no such name: the exception has to go."""
        for old, (number, _, others, _) in self.entries.items():
            for folder in others:
                if (old, folder) not in self.needed:
                    yield "word", path, number, f"{folder} has no {old}: delete the exception"


def read(path):
    return Words(Path(path).read_text())
