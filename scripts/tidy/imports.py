"""Imports between modules of a crate, and between crates: loops, and arrows against the order."""

import re
import tomllib
from collections import defaultdict
from pathlib import Path

# The folders of crates; each may depend on itself and on those before it. What is released depends
# on `testkit` in its tests only.
LAYERS = ["third-party", "crates", "backends", "stores", "testkit", "server", "verify", "eval"]
RELEASED = ("crates", "backends", "stores", "server")
USE = re.compile(r"\b(?:use|pub(?:\([\w: ]+\))? use)\s+((?:crate|super|self)::[^;]+);")
# Paths in code name modules as well as imports do; those of `pub(in ..)` do not.
PATH = re.compile(r"\bpub\(in [\w:]+\)|\b((?:crate|super)(?:::\w+)+)")


def loops(paths, root):
    """Sibling modules that import each other, directly or not: (folder, names)."""
    crates = defaultdict(list)
    for path in paths:
        head, found, rest = path.partition("/src/")
        if found and path.endswith(".rs") and not re.search(r"(^|/)tests(/|\.rs$)", rest):
            crates[head].append(path)
    for crate, files in crates.items():
        modules = {module_of(crate, path): path for path in files}
        exports = exported(root / modules[()], modules) if () in modules else {}
        arrows = defaultdict(lambda: defaultdict(set))
        for module, path in modules.items():
            text = re.split(r"#\[cfg\(test\)\]\s*mod tests\b", (root / path).read_text())[0]
            text = re.sub(r"//.*", "", text)
            for target in targets(text, module, modules, exports):
                common = 0
                while common < min(len(module), len(target)) and module[common] == target[common]:
                    common += 1
                if common < min(len(module), len(target)):
                    arrows[module[:common]][module[common]].add(target[common])
        for parent, graph in arrows.items():
            for names in strongly_connected(graph):
                yield "/".join([crate, "src", *parent]), sorted(names)


def against_order(root):
    """Dependencies of a crate on one of a later folder: (manifest, name)."""
    shared = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]
    homes = {name: it["path"] for name, it in shared["dependencies"].items() if isinstance(it, dict) and "path" in it}
    manifests = {path: tomllib.loads((root / path / "Cargo.toml").read_text()) for path in {*shared["members"], *homes.values()}}
    for member in shared["members"]:
        for kind in ("dependencies", "build-dependencies", "dev-dependencies"):
            for name in manifests[member].get(kind, {}):
                if name in homes and not may_depend(member, homes[name], kind, homes, manifests):
                    yield f"{member}/Cargo.toml", name


def may_depend(member, home, kind, homes, manifests):
    """Tests may use a crate of `testkit` whose own dependencies are not later than the tested crate."""
    mine, other = member.split("/")[0], home.split("/")[0]
    if other != "testkit" or mine not in RELEASED:
        return LAYERS.index(other) <= LAYERS.index(mine)
    names = manifests[home].get("dependencies", {})
    return kind == "dev-dependencies" and all(may_depend(member, homes[name], kind, homes, manifests) for name in names if name in homes)


def module_of(crate, path):
    """`a/src/b/mod.rs` is ("b",)."""
    parts = Path(path).relative_to(Path(crate) / "src").with_suffix("").parts
    if parts[-1] in ("mod", "lib", "main"):
        parts = parts[:-1]
    return tuple(parts)


def exported(root_file, modules):
    """The modules that the names of a crate's root come from: name to module."""
    text = re.sub(r"//.*", "", root_file.read_text())
    exports = {}
    for found in re.finditer(r"^(?:pub(?:\([\w: ]+\))? )?use\s+((?:crate::|self::)?\w[^;]*);", text, re.M):
        for path in spread(re.sub(r"\s+as\s+", "=", found.group(1)).replace("\n", "").replace(" ", "")):
            path, _, alias = path.partition("=")
            parts = tuple(part for part in path.split("::") if part not in ("crate", "self"))
            if parts[:1] in modules:
                exports[alias or parts[-1]] = parts[:-1]
    return exports


def targets(text, module, modules, exports):
    """The modules that a text imports from or names; a name of the crate's root counts as its module."""
    imported = [path for found in USE.finditer(text) for path in spread(re.sub(r"\s+", "", found.group(1)))]
    named = [path for path in PATH.findall(USE.sub("", text)) if path]
    for path in imported + named:
        parts = path.split("::")
        if parts[0] == "crate":
            base, parts = (), parts[1:]
        else:
            base = module
            while parts and parts[0] in ("self", "super"):
                base = base[:-1] if parts[0] == "super" else base
                parts = parts[1:]
        full = base + tuple(parts)
        if full[:1] not in modules and full[:1]:
            full = exports.get(full[0], full)
        while full and full not in modules:
            full = full[:-1]
        if full and full != module:
            yield full


def spread(path):
    """`a::{b, c::{d, e}}` as its paths."""
    head, brace, rest = path.partition("{")
    if not brace:
        return [path]
    depth, part, parts = 0, "", []
    for char in rest[: rest.rindex("}")]:
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += char
    return [full for part in [*parts, part] if part for full in spread(head + part)]


def strongly_connected(graph):
    """Groups of more than one name that reach each other."""
    def reach(start):
        seen, todo = set(), [start]
        while todo:
            for after in graph.get(todo.pop(), ()):
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
        return seen
    reached = {name: reach(name) for name in graph}
    done = set()
    for name in graph:
        group = {other for other in reached[name] if name in reached.get(other, ())} | {name}
        if len(group) > 1 and name not in done:
            done |= group
            yield group
