# SPDX-License-Identifier: Apache-2.0
"""Looks for phrases that must be read twice (docs/STYLE.md, "Sentences") in the pages and in the texts
that the programs print. scripts/lint_comments.py has the phrases and finds them in comments. Run by ctest
with the path of the sources."""

import pathlib
import re
import sys
import unittest

SOURCES = pathlib.Path(sys.argv.pop())

sys.path.insert(0, str(SOURCES / "scripts"))
from lint_comments import PHRASES  # noqa: E402: its folder is known now

PAGES = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "protocol/README.md", "docs/*.md"]
CODE = ["apps", "clients", "cpu", "gpu", "knn", "log", "protocol", "sim", "stream"]
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".py", ".ts", ".tsx"}
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def prose(page):
    """Returns the lines of a page without code; a paragraph is one line."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "`code`", text)
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\n+|\n(?=[|*-])", text)]


def texts(source):
    """Returns the string literals of a source. Adjacent literals, which the compiler joins, are one text."""
    code = re.sub(r"^\s*//.*$", "", source.read_text(), flags=re.MULTILINE)
    joined, end = [], None
    for found in TEXT.finditer(code):
        if end is not None and not code[end:found.start()].strip():
            joined[-1] += found[1]
        else:
            joined.append(found[1])
        end = found.end()
    return joined


class SentencesTest(unittest.TestCase):
    def expect_plain(self, file, sentences):
        for sentence in sentences:
            for rule in PHRASES:
                found = re.search(rule.pattern, sentence)
                self.assertIsNone(found, f"{file}: {rule.says.format(found and found[0])}: {sentence}")

    def test_the_pages_have_none_of_the_phrases(self):
        pages = [page for pattern in PAGES for page in SOURCES.glob(pattern) if page.name != "STYLE.md"]
        self.assertGreater(len(pages), 20)
        for page in pages:
            with self.subTest(page=page.name):
                self.expect_plain(page, prose(page))

    def test_the_programs_print_none_of_the_phrases(self):
        count = 0
        for room in CODE:
            for source in sorted((SOURCES / room).rglob("*")):
                if source.suffix in SUFFIXES and "tests" not in source.parts:
                    found = texts(source)
                    count += len(found)
                    with self.subTest(source=source.name):
                        self.expect_plain(source, found)
        self.assertGreater(count, 5000)


if __name__ == "__main__":
    unittest.main()
