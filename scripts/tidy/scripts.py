"""Imports of JavaScript and TypeScript: loops, and arrows against the order of the folders."""

import posixpath
import re
from collections import defaultdict

import imports

# Each may import from itself and from those before it.
LAYERS = ["web", "testkit", "verify", "eval"]
SUFFIXES = ("", ".ts", ".tsx", ".js", ".mjs", "/index.ts", "/index.tsx")
IMPORT = re.compile(r"(?:\bfrom|\bimport)\s*\(?\s*[\"'](\.[^\"'?]+)")


def arrows(texts):
    """Relative imports: (importer, line, imported)."""
    for path, text in texts.items():
        if not path.endswith((".ts", ".tsx", ".js", ".mjs")):
            continue
        for found in IMPORT.finditer(text):
            base = posixpath.normpath(posixpath.join(posixpath.dirname(path), found.group(1)))
            target = next((base + suffix for suffix in SUFFIXES if base + suffix in texts), None)
            if target and target != path:
                yield path, text.count("\n", 0, found.start()) + 1, target


def loops(texts):
    """Files or folders beside each other that import each other, directly or not: (folder, names)."""
    graphs = defaultdict(lambda: defaultdict(set))
    for path, _, target in arrows(texts):
        here, there = path.split("/"), target.split("/")
        common = next(index for index, (one, other) in enumerate(zip(here, there)) if one != other)
        graphs["/".join(here[:common]) or "."][here[common]].add(there[common])
    for folder, graph in graphs.items():
        for names in imports.strongly_connected(graph):
            yield folder, sorted(names)


def against_order(texts):
    """Imports from a later folder: ("order", importer, line, detail)."""
    for path, line, target in arrows(texts):
        here, there = path.split("/")[0], target.split("/")[0]
        if here in LAYERS and there in LAYERS and LAYERS.index(there) > LAYERS.index(here):
            yield "order", path, line, f"imports {target}: move what is shared to {here} or before it"
