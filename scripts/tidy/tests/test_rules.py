"""Each rule of `tidy` on a text that it refuses, and on the text after the cure."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import imports
import links
import methods
import prose
import public
import rust
import scripts
import words


def rules(offences):
    return [(rule, line) for rule, _, line, _ in offences]


def tree(files):
    """A folder with these files, and its paths."""
    root = Path(tempfile.mkdtemp())
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root, list(files)


class Rust(unittest.TestCase):
    def test_comments_and_strings_are_no_code(self):
        text = 'let a = "x // y"; // z\nlet b = r#"one "two""#; let c = \'"\'; f(b"d");'
        self.assertNotIn("x", rust.code_of(text))
        self.assertEqual([it for _, it in rust.strings_of(text)], ["x // y", 'one "two"', "d"])
        self.assertIn("let c", rust.code_of(text))

    def test_tests_are_no_product(self):
        text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {} }"
        self.assertNotIn("fn b", rust.product_text("crates/a/src/lib.rs", text))
        self.assertEqual(rust.product_text("crates/a/src/tests/lib.rs", text), "")


class Documents(unittest.TestCase):
    def test_tables_have_no_hashes_of_commits(self):
        self.assertEqual(rules(prose.in_document("a.md", ["| run | 1a2b3c4 |"])), [("commit", 1)])
        self.assertEqual(rules(prose.in_document("a.md", ["| run | 1.2 |"])), [])

    def test_sentences_in_tables_begin_with_the_component(self):
        self.assertEqual(rules(prose.in_document("a.md", ["| a | What is old is dropped. |"])), [("clause", 1)])
        self.assertEqual(rules(prose.in_document("a.md", ["| Where it runs | Old packets are dropped. |"])), [])

    def test_lines_have_a_width(self):
        self.assertEqual(rules(prose.in_document("a.md", ["word " * 21])), [("width", 1)])


class Strings(unittest.TestCase):
    def test_errors_begin_with_the_component(self):
        self.assertEqual(rules(prose.in_strings("crates/a/src/a.rs", 'f("what is old is dropped")')), [("clause", 1)])
        self.assertEqual(rules(prose.in_strings("crates/a/src/a.rs", 'f("old packets are dropped")')), [])

    def test_errors_do_not_ask(self):
        self.assertEqual(rules(prose.in_strings("server/src/a.rs", '\nf("a token, please")')), [("clause", 2)])
        self.assertEqual(rules(prose.in_strings("server/src/a.rs", 'f("the request needs a token")')), [])


class TestNames(unittest.TestCase):
    def test_they_begin_with_the_component(self):
        text = "#[test]\nfn who_leaves_is_gone() {}\n#[tokio::test(start_paused = true)]\nasync fn a_leaver_is_gone() {}"
        self.assertEqual(rules(prose.in_test_names("a.rs", text, True)), [("test", 2)])
        self.assertEqual(rules(prose.in_test_names("a.mjs", 'test("who leaves is gone")', False)), [("test", 1)])
        self.assertEqual(rules(prose.in_test_names("a.mjs", 'test("a leaver is gone")', False)), [])


class RetiredWords(unittest.TestCase):
    def setUp(self):
        self.words = words.Words("# list\nDesk Context -crates/b\nplace slot +crates/c")

    def test_they_are_retired_everywhere_but_in_named_folders(self):
        self.assertEqual(rules(self.words.in_rust("crates/a/src/a.rs", "\nstruct Desk;")), [("word", 2)])
        self.assertEqual(rules(self.words.in_rust("crates/b/src/a.rs", "struct Desk;")), [])

    def test_a_common_word_is_retired_in_named_folders_only(self):
        self.assertEqual(rules(self.words.in_rust("crates/c/src/a.rs", "let place = 1;")), [("word", 1)])
        self.assertEqual(rules(self.words.in_rust("crates/a/src/a.rs", "let place = 1;")), [])

    def test_strings_and_comments_are_seen_as_far_as_they_name_code(self):
        self.assertEqual(rules(self.words.in_rust("crates/a/src/a.rs", 'f("{Desk:?} and `Desk`");')), [("word", 1)] * 2)
        self.assertEqual(rules(self.words.in_rust("crates/a/src/a.rs", 'f("Desk with three legs");')), [])
        self.assertEqual(rules(self.words.in_rust("crates/a/src/a.rs", "/// See [`Desk`].")), [("word", 1)])

    def test_an_exception_that_nothing_needs_is_refused(self):
        self.assertEqual(rules(self.words.unneeded("words")), [("word", 2)])
        list(self.words.in_rust("crates/b/src/a.rs", "struct Desk;"))
        self.assertEqual(rules(self.words.unneeded("words")), [])


class Public(unittest.TestCase):
    def test_an_item_that_nothing_names_is_unused(self):
        item = "\npub fn lonely() {}\npub use inner::lonely;"
        self.assertEqual(rules(public.unused({"crates/a/src/lib.rs": item})), [("unused", 2)])
        self.assertEqual(rules(public.unused({"crates/a/src/lib.rs": item, "server/src/a.rs": "lonely();"})), [])


class Scripts(unittest.TestCase):
    def test_a_loop_of_folders_is_found_at_their_parent(self):
        texts = {"eval/a/x.mjs": 'import { y } from "../../verify/y.mjs";', "verify/y.mjs": 'import("../eval/a/x.mjs")'}
        self.assertEqual(list(scripts.loops(texts)), [(".", ["eval", "verify"])])
        self.assertEqual(rules(scripts.against_order(texts)), [("order", 1)])

    def test_a_loop_of_files_is_found(self):
        texts = {"web/a.ts": 'import type { B } from "./b";', "web/b.tsx": 'export { a } from "./a";'}
        self.assertEqual(list(scripts.loops(texts)), [("web", ["a.ts", "b.tsx"])])
        self.assertEqual(list(scripts.loops({**texts, "web/b.tsx": ""})), [])


class Imports(unittest.TestCase):
    def test_a_loop_through_the_root_is_found(self):
        root, paths = tree({
            "crates/a/src/lib.rs": "mod one;\nmod two;\npub use one::One;",
            "crates/a/src/one.rs": "use crate::two::Two;",
            "crates/a/src/two.rs": "use crate::One;",
        })
        self.assertEqual(list(imports.loops(paths, root)), [("crates/a/src", ["one", "two"])])

    def test_a_loop_through_a_path_in_code_is_found(self):
        root, paths = tree({
            "crates/a/src/lib.rs": "mod one;\nmod two;",
            "crates/a/src/one.rs": "use crate::two::Two;",
            "crates/a/src/two.rs": "pub(in crate::one) fn two() { crate::one::one() }",
        })
        self.assertEqual(list(imports.loops(paths, root)), [("crates/a/src", ["one", "two"])])
        (root / "crates/a/src/two.rs").write_text("pub(in crate::one) fn two() {}")
        self.assertEqual(list(imports.loops(paths, root)), [])

    def order(self, dependencies):
        root, _ = tree({
            "Cargo.toml": '[workspace]\nmembers = ["crates/a", "server", "testkit/low", "testkit/high"]\n'
            '[workspace.dependencies]\na = {path = "crates/a"}\nweir = {path = "server"}\n'
            'low = {path = "testkit/low"}\nhigh = {path = "testkit/high"}',
            "crates/a/Cargo.toml": dependencies,
            "server/Cargo.toml": "[dev-dependencies]\nlow = {}",
            "testkit/low/Cargo.toml": "[dependencies]\na = {}",
            "testkit/high/Cargo.toml": "[dependencies]\nweir = {}",
        })
        return sorted(imports.against_order(root))

    def test_nothing_below_the_server_depends_on_it_and_testkit_is_below(self):
        above = [("testkit/high/Cargo.toml", "weir")]
        self.assertEqual(self.order("[dev-dependencies]\nlow = {}"), above)
        self.assertEqual(self.order("[dependencies]\nlow = {}"), [("crates/a/Cargo.toml", "low"), *above])

    def test_tests_reach_no_later_folder_through_testkit(self):
        self.assertIn(("crates/a/Cargo.toml", "high"), self.order("[dev-dependencies]\nhigh = {}"))


class Methods(unittest.TestCase):
    def test_methods_of_all_files_of_a_crate_count_together(self):
        text = "impl Room {\n    fn a(&self) {}\n    pub fn b(&self) {}\n}\n"
        root, paths = tree({"crates/a/src/one.rs": text, "crates/a/src/two.rs": text})
        self.assertEqual([name for _, name, _, _ in methods.large(paths, root, 3, {})], ["crates/a::Room"])
        self.assertEqual(list(methods.large(paths, root, 4, {})), [])

    def test_a_type_may_have_a_lower_limit_of_its_own(self):
        root, paths = tree({"crates/a/src/one.rs": "impl Room {\n    fn a(&self) {}\n    fn b(&self) {}\n}\n"})
        self.assertEqual(len(list(methods.large(paths, root, 4, {"crates/a::Room": 1}))), 1)


class Links(unittest.TestCase):
    def test_files_and_headings_exist(self):
        root, _ = tree({"docs/a.md": "", "docs/b.md": "# A b, c\n"})

        def refused(text):
            return rules(links.dangling("docs/a.md", text, root))

        self.assertEqual(refused("[x](c.md)\n[x](b.md#d)"), [("link", 1), ("link", 2)])
        self.assertEqual(refused("[x](b.md#a-b-c) [x](https://b) [x](b.md)\n```\n[x](c.md)\n```"), [])


if __name__ == "__main__":
    unittest.main()
