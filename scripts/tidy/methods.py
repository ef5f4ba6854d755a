"""Types with many methods, which are one object in many files."""

import re
from collections import Counter

IMPL = re.compile(r"^impl(?:<[^{]*?>)?\s+([^{]*?)\s*\{", re.M)
FN = re.compile(r"^    (?:pub(?:\([\w: ]+\))? )?(?:const |async |unsafe )*fn \w+", re.M)


def large(paths, root, most, lower):
    """Types of product code with more than so many methods of their own: ("methods", name, 0, detail).

    `lower` has the limits of types that once had too many, by `crate::Type`."""
    counts = Counter()
    for path in paths:
        is_product = path.startswith(("crates/", "backends/", "server/")) and "/src/" in path
        if not is_product or not path.endswith(".rs") or re.search(r"/tests(/|\.rs$)", path):
            continue
        text = re.split(r"#\[cfg\(test\)\]\s*mod tests\b", (root / path).read_text())[0]
        for found in IMPL.finditer(text):
            if " for " in found.group(1):
                continue
            body = text[found.end() : text.find("\n}", found.end())]
            name = re.match(r"[\w:]+", found.group(1))
            if name:
                counts[path.partition("/src/")[0], name.group(0)] += len(FN.findall(body))
    for (crate, name), count in sorted(counts.items()):
        full = f"{crate}::{name}"
        if count > lower.get(full, most):
            yield "methods", full, 0, f"{count} methods"
