#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each test named in docs/security.md exists, as a GoogleTest of tests/ or as a test of CTest."""
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))


def names_in_the_page():
    page = (SOURCE / "docs" / "security.md").read_text(encoding="utf-8")
    table = page.split("## Threats", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [(row, re.findall(r"`([\w.]+\.\w+)`", row.split("|")[4])) for row in rows]


def tests_in_the_sources():
    found = set()
    for file in (SOURCE / "tests").rglob("*.cpp"):
        text = file.read_text(encoding="utf-8")
        found.update(f"{suite}.{name}" for suite, name in
                     re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", text))
    for file in (SOURCE / "tests").rglob("CMakeLists.txt"):
        found.update(re.findall(r"add_test\(NAME ([\w.]+)", file.read_text(encoding="utf-8")))
    found.update(f"page.{kind.name}" for kind in (SOURCE / "clients" / "page" / "tests").iterdir())
    return found


class Threats(unittest.TestCase):
    def test_each_row_names_tests_that_exist(self):
        rows = names_in_the_page()
        self.assertGreater(len(rows), 20)
        tests = tests_in_the_sources()
        for row, names in rows:
            self.assertTrue(names, f"no test is named in: {row}")
            for name in names:
                self.assertIn(name, tests, f"docs/security.md names it in: {row}")


if __name__ == "__main__":
    unittest.main()
