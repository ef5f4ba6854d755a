"""Public items that nothing uses: the compiler does not see them, because another crate might."""

import re
from collections import Counter

import rust

DEFINED = re.compile(r"^\s*pub (?:const |async |unsafe )*(?:fn|struct|enum|trait|type|const|static) (\w+)", re.M)
NAMED = re.compile(r"\b(?:fn|struct|enum|trait|type|const|static|mod) \w+|\b(?:pub(?:\([\w: ]+\))? )?use [^;]*;")


def unused(texts):
    """Items of product code whose name is used nowhere: ("unused", path, line, name)."""
    uses, items = Counter(), []
    for path, text in texts.items():
        code = rust.code_of(text)
        uses.update(re.findall(r"[A-Za-z_]\w*", NAMED.sub("", code)))
        for _, content in rust.strings_of(text):
            uses.update(re.findall(r"\{(\w+)", content))
        product = rust.code_of(rust.product_text(path, text))
        items += [(path, product.count("\n", 0, it.start(1)) + 1, it.group(1)) for it in DEFINED.finditer(product)]
    for path, line, name in items:
        if not uses[name]:
            yield "unused", path, line, f"{name}: nothing uses it; delete it"
