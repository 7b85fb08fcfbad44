# SPDX-License-Identifier: Apache-2.0
"""Installs the pages as the packages do (packaging/documents.cmake), and looks there for each page that an alert,
a text of the program or the Python package names. Run by ctest with the paths of CMake and of the sources."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(sys.argv.pop())
CMAKE = sys.argv.pop()
sys.path.insert(0, str(SOURCES / "docs/site"))

import pages  # noqa: E402

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(documents NONE)
set(CMAKE_INSTALL_DOCDIR share/doc/starling)
include({sources}/packaging/documents.cmake)
"""
# A page, perhaps with a heading: docs/limits.md#memory. Not a part of a longer path or address.
NAMED = re.compile(r"(?<![\w/.-])((?:docs|protocol)/[\w./-]*\w\.(?:md|json))(?:#([\w-]+))?")
MONITORING = ["packaging/prometheus/*.yml", "packaging/grafana/*.json", "packaging/systemd/*.service"]
PYTHON = ["clients/python/starling/**/*.py", "clients/python/README.md"]
CODE = ["apps", "clients/c", "clients/page/src", "cpu", "gpu", "knn", "log", "protocol", "sim", "stream"]
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".ts", ".tsx"}
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def literals(source):
    """Returns the string literals of a source. Adjacent literals, which the compiler joins, are one text."""
    code = re.sub(r"^\s*//.*$", "", source.read_text(), flags=re.MULTILINE)
    code = re.sub(r'"\s*\n\s*"', "", code)
    return [found[1] for found in TEXT.finditer(code)]


def named_by():
    """Returns the pages that are named, each with its heading (or None) and a file that names it."""
    found = {}
    for pattern in MONITORING + PYTHON:
        for path in SOURCES.glob(pattern):
            for page in NAMED.findall(path.read_text()):
                found[page] = path
    for folder in CODE:
        for path in sorted((SOURCES / folder).rglob("*")):
            if path.suffix in SUFFIXES and "node_modules" not in path.parts:
                for text in literals(path):
                    for page in NAMED.findall(text):
                        found[page] = path
    return {page: path.relative_to(SOURCES) for page, path in found.items()}


class DocumentsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        (root / "CMakeLists.txt").write_text(PROJECT.format(sources=SOURCES))
        for command in ([CMAKE, "-S", root, "-B", root / "build"],
                        [CMAKE, "--install", root / "build", "--prefix", root / "stage", "--component", "program"]):
            subprocess.run(command, check=True, capture_output=True, timeout=60)
        cls.installed = root / "stage/share/doc/starling"

    def test_each_page_that_is_named_is_installed_with_its_heading(self):
        named = named_by()
        self.assertGreater(len(named), 8)
        for page in ("docs/limits.md", "protocol/README.md", "docs/http.md", "docs/python.md"):
            self.assertIn((page, ""), named)
        for (page, heading), path in sorted(named.items()):
            with self.subTest(page=page, named_by=str(path)):
                self.assertTrue((self.installed / page).is_file(), "the packages do not have this page")
                if heading:
                    self.assertIn(heading, pages.headings((self.installed / page).read_text()))

    def test_the_users_pages_are_installed_and_no_others(self):
        installed = {path.relative_to(self.installed).as_posix() for path in self.installed.rglob("*")
                     if path.is_file()}
        for page in [*(SOURCES / "docs").glob("*.md"), *(SOURCES / "docs/recipes").glob("*.md")]:
            self.assertIn(page.relative_to(SOURCES).as_posix(), installed)
        for folder in ("docs/decisions", "docs/measurements", "docs/site"):
            self.assertFalse((self.installed / folder).exists(), folder)
        self.assertLessEqual({"SECURITY.md", "examples/prometheus.yml", "examples/starling.rules.yml",
                              "examples/starling.json"}, installed)

    def test_a_name_is_found_in_a_sentence_and_not_in_an_address(self):
        self.assertEqual(NAMED.findall("an error (docs/traces.md#spellings). See docs/limits.md."),
                         [("docs/traces.md", "spellings"), ("docs/limits.md", "")])
        self.assertEqual(NAMED.findall("https://example.org/docs/limits.md x/docs/a.md"), [])


if __name__ == "__main__":
    unittest.main()
