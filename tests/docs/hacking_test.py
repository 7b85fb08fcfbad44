# SPDX-License-Identifier: Apache-2.0
"""Compares docs/HACKING.md with the sources. Each file that it names must exist. A name beside a file, in an
item of its lists, must be in that file. Run by ctest with the path of the sources."""

import pathlib
import re
import sys
import unittest

SOURCES = pathlib.Path(sys.argv.pop())
PAGE = (SOURCES / "docs/HACKING.md").read_text()
FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)*(?:/|\.\w+)")
NAME = re.compile(r"[A-Za-z]\w*(?:::\w+)?(?<!_)")


def codes(text):
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", text)]


def items():
    """Returns the numbered items of the lists, each with its further lines."""
    return re.findall(r"^\d+\. (.*(?:\n +.*)*)", PAGE, re.MULTILINE)


class HackingTest(unittest.TestCase):
    def test_each_file_exists(self):
        prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
        files = {code for code in codes(prose) if FILE.fullmatch(code) and "/" in code}
        self.assertGreater(len(files), 50)
        for file in files:
            self.assertTrue((SOURCES / file).exists(), file)

    def test_each_item_begins_with_its_file(self):
        self.assertGreater(len(items()), 30)
        for item in items():
            self.assertRegex(item, rf"^`{FILE.pattern}`: ", item)

    def test_each_name_is_in_a_file_of_its_item(self):
        count = 0
        for item in items():
            files = [SOURCES / code for code in codes(item) if FILE.fullmatch(code)]
            text = "".join(file.read_text() for file in files if file.is_file())
            for name in codes(item):
                if NAME.fullmatch(name):
                    self.assertTrue(re.search(rf"\b{re.escape(name)}\b", text), f"{name} in: {item}")
                    count += 1
        self.assertGreater(count, 20)


if __name__ == "__main__":
    unittest.main()
