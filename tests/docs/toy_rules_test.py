# SPDX-License-Identifier: Apache-2.0
"""Tests the rules that hacking_toys_test.py holds toys to, with a page and sources of its own."""

import pathlib
import subprocess
import tempfile
import types
import unittest

from toys.edits import ToyError, Tree, after, new
from toys.page import Page

PAGE = """# Hacking

## Before you change something

- A new file goes into the `CMakeLists.txt` of its top folder.
- What others call is declared in the header beside it.

## Add a thing

1. `a/first.cpp`: and
   `a/other.py`.
2. `b/2020/model.cu`: the model.
"""


def toy(*steps, left_out=()):
    steps = [(number, [after(file, "x", "y") if isinstance(file, str) else file for file in files])
             for number, *files in steps]
    return types.SimpleNamespace(SECTION="Add a thing", STEPS=steps, LEFT_OUT=dict.fromkeys(left_out, "why"))


class PageTest(unittest.TestCase):
    def refusal(self, *arguments, **more):
        with self.assertRaises(ToyError) as refused:
            Page(PAGE).check("duck", toy(*arguments, **more))
        return str(refused.exception)

    def test_a_toy_that_follows_the_page_is_good(self):
        page = Page(PAGE)
        model = new("b/2026/toy.cuh", "", like="b/2020/model.cu")
        page.check("duck", toy((1, "a/first.cpp", "a/first.hpp", "a/other.py", "a/CMakeLists.txt"),
                               (2, model)))
        page.check("duck", toy((2, "b/2020/model.cu"), left_out=[1]))

    def test_a_file_that_the_page_does_not_name_is_told(self):
        self.assertIn("the toy 'duck' touches a/third.cpp in step 1, where \"Add a thing\" of "
                      "docs/HACKING.md does not name it", self.refusal((1, "a/third.cpp"), left_out=[2]))
        self.assertIn("touches a/other.py in step 2", self.refusal((2, "a/other.py"), left_out=[1]))
        self.assertIn("touches b/toy.cu in step 2",
                      self.refusal((2, new("b/toy.cu", "", like="b/2020/model.cu")), left_out=[1]))

    def test_steps_are_taken_in_order_and_left_out_with_a_reason(self):
        self.assertIn("in order: [2, 1]", self.refusal((2, "b/2020/model.cu"), (1, "a/first.cpp")))
        self.assertIn("step 2 of \"Add a thing\" of docs/HACKING.md, b/2020/model.cu, or say why",
                      self.refusal((1, "a/first.cpp")))
        self.assertIn("has no step 3", self.refusal((1, "a/first.cpp"), (2, "b/2020/model.cu"), left_out=[3]))

    def test_headers_and_lists_of_files_need_their_rules(self):
        page = Page(PAGE.replace("header beside it", "header").replace("CMakeLists", "other"))
        for file in ("a/first.hpp", "a/CMakeLists.txt"):
            with self.assertRaises(ToyError):
                page.check("duck", toy((1, file), left_out=[2]))


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.sources = pathlib.Path(folder.name) / "sources"
        self.sources.mkdir()
        (self.sources / "a.cpp").write_text("one\ntwo\ntwo\n")
        (self.sources / "b.cpp").write_text("b\n")
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", "-C", self.sources, *command], check=True)
        (self.sources / "unknown").write_text("git does not know it")
        self.copy = pathlib.Path(folder.name) / "copy"

    def test_an_anchor_is_there_once(self):
        tree = Tree(self.sources)
        for anchor, said in (("three\nfour", "no longer has the text 'three ...': bring toys/duck.py and "
                              "docs/HACKING.md up to date"), ("two", "has 2 times the text 'two'")):
            with self.assertRaisesRegex(ToyError, f"^a.cpp {said}"):
                tree.apply(after("a.cpp", anchor, ""), "toys/duck.py")

    def test_a_second_copy_keeps_what_is_the_same_and_removes_what_is_gone(self):
        tree = Tree(self.sources)
        tree.apply(after("a.cpp", "one\n", "more\n"), "")
        tree.apply(new("c/new.cpp", "new", like=""), "")
        tree.write(self.copy)
        self.assertEqual((self.copy / "a.cpp").read_text(), "one\nmore\ntwo\ntwo\n")
        (self.copy / "build").mkdir()
        (self.copy / "build/object").write_text("")
        before_ns = (self.copy / "b.cpp").stat().st_mtime_ns
        Tree(self.sources).write(self.copy)
        files = sorted(str(path.relative_to(self.copy)) for path in self.copy.rglob("*") if path.is_file())
        self.assertEqual(files, [".toys", "a.cpp", "b.cpp", "build/object"])
        self.assertEqual((self.copy / "a.cpp").read_text(), "one\ntwo\ntwo\n")
        self.assertEqual((self.copy / "b.cpp").stat().st_mtime_ns, before_ns)

    def test_a_folder_with_other_files_is_left_alone(self):
        self.copy.mkdir(exist_ok=True)
        (self.copy / "letter").write_text("dear")
        with self.assertRaisesRegex(ToyError, "has files that are no copy made here"):
            Tree(self.sources).write(self.copy)
        self.assertEqual((self.copy / "letter").read_text(), "dear")


if __name__ == "__main__":
    unittest.main()
