# SPDX-License-Identifier: Apache-2.0
"""Looks for phrases that must be read twice (docs/STYLE.md, "Sentences") in the pages and in the texts
that the programs print. What a machine can find is in ODD, with the sentence that was found first. Run by
ctest with the path of the sources."""

import pathlib
import re
import sys
import unittest

SOURCES = pathlib.Path(sys.argv.pop())

# The phrase, and a sentence that had it.
ODD = {
    r"\bso many\b": "so many lines are missing before the next one",
    r"\bnobody\b": "of 2k queries, whose filter nobody passes",
    r"\bfor whom\b": "the client for whom the page was read",
    r"\bit says itself\b": "How much a machine can take, it says itself",
    r"\blies? then\b": "In `build/packages` lie then:",
    r"\bha(s|ve) had none\b": "If the stream has had none, the number before that of its first message",
    r"\band had none\b": "Requests whose token was wrong, or that needed one and had none",
    r"\bcomes? behind\b": "Certificates of its issuers come behind it.",
    r"\b(stands?|tick|records?) behind\b": "the log has no tick behind its last snapshot",
    r"\bfinds? no room\b": "the log finds no room on the disk",
    r"\bnames are the \w+: ": "known names are the id: id, object_id",
    r"(?:^|(?<!\d)[.|] )Of (?!each\b)(?=[a-z])": "Of several I/O threads, how many serve results",
    r"\bdue, one each\b": "they were due, one each 100 ms, before the server had finished its work",
}
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
    """Returns the string literals of a source; those that the compiler joins are one."""
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
            for odd in ODD:
                found = re.search(odd, sentence)
                self.assertIsNone(found, f"{file}: {sentence}")

    def test_each_phrase_is_found_in_its_sentence(self):
        for odd, sentence in ODD.items():
            self.assertRegex(sentence, odd)

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
