"""Links of documents that lead nowhere in the tree."""

import re

LINK = re.compile(r"\]\(([^)\s]+)\)")
# The text that a page of figures is made of has the links of that page.
WRITTEN_AS = {"eval/papers/page.md": "docs/measured/papers.md"}


def dangling(path, text, root):
    """Relative links without a file, and anchors without a heading: ("link", path, line, detail)."""
    folder = (root / WRITTEN_AS.get(path, path)).parent
    for number, line in enumerate(without_code(text).splitlines(), 1):
        for target in LINK.findall(line):
            file, _, anchor = target.partition("#")
            if ":" in file:
                continue
            to = folder / file if file else root / path
            if not to.exists():
                yield "link", path, number, f"{target}: there is no such file"
            elif anchor and to.suffix == ".md" and anchor not in anchors(to.read_text()):
                yield "link", path, number, f"{target}: there is no such heading"


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", without_code(text), re.M):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        # Further headings of one name are numbered.
        found.add(next(it for it in (name, *(f"{name}-{n}" for n in range(1, 100))) if it not in found))
    return found


def without_code(text):
    """The text with blocks of code emptied, line by line."""
    return re.sub(r"^```.*?^```", lambda code: "\n" * code.group(0).count("\n"), text, flags=re.S | re.M)
