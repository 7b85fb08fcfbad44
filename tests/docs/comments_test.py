# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/lint_comments.py with wrong and right comments, and runs it over the sources. Run by ctest
with the path of the sources."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SOURCES / "scripts"))
import lint_comments  # noqa: E402: its folder is known now


def lines_of(name, text):
    """Returns the lines that break a rule, of a source with this name and text."""
    return sorted({line for line, _, _ in lint_comments.findings(pathlib.Path(name), text)})


class RulesTest(unittest.TestCase):
    def test_each_phrase_is_found_in_its_wrong_sentence_only(self):
        for rule in lint_comments.PHRASES:
            with self.subTest(rule=rule.pattern):
                self.assertEqual(lines_of("a.hpp", f"// {rule.wrong}\n"), [1])
                self.assertEqual(lines_of("a.hpp", f"// {rule.right}\n"), [])

    def test_the_beginning_counts_beside_a_name_only(self):
        rule = lint_comments.BEGINNING
        self.assertEqual(lines_of("a.hpp", f"int a;  ///< {rule.wrong}\n"), [1])
        self.assertEqual(lines_of("a.hpp", f"int a;  ///< {rule.right}\n"), [])
        self.assertEqual(lines_of("a.hpp", "int a;  // for the other thread\n/// In metres.\nint b;\n"), [])

    def test_each_word_that_begins_no_noun_phrase_is_found(self):
        for word in lint_comments.INCOMPLETE.split():
            for begin in (word, word.capitalize()):
                self.assertEqual(lines_of("a.hpp", f"int a;  ///< {begin} x\n"), [1], begin)

    def test_noun_phrases_and_sentences_pass(self):
        for text in ("at most 64", "at least one", "a row", "the key is the session", "[slot]", "empty: all",
                     "whether it is full", "how many wait", "what the loop sends", "why the copy failed",
                     "past ticks", "information about the peer", "format of the file", "ordered by slot",
                     "in-place sort", "0 if the log is empty"):
            self.assertEqual(lines_of("a.hpp", f"int a;  ///< {text}\n"), [], text)

    def test_the_style_page_has_each_rule_with_its_sentences(self):
        page = (SOURCES / "docs/STYLE.md").read_text()
        for rule in [lint_comments.BEGINNING] + lint_comments.PHRASES:
            self.assertIn(f"| {rule.wrong} | {rule.right} |", page)


class ReadingTest(unittest.TestCase):
    def test_a_sentence_may_go_over_lines(self):
        self.assertEqual(lines_of("a.hpp", "\n// There are so\n// many rows. Of\n// these, one.\n"), [2, 3])
        self.assertEqual(lines_of("a.hpp", "/** There are so\n * many rows. */\nint a;\n"), [1])

    def test_a_paragraph_begins_a_sentence_and_a_line_does_not(self):
        self.assertEqual(lines_of("a.hpp", "// The number\n// Of these rows.\n"), [])
        self.assertEqual(lines_of("a.hpp", "// The number\n//\n// Of these rows.\n"), [3])
        self.assertEqual(lines_of("a.hpp", "// SPDX-License-Identifier: MIT\n// Of these rows.\n"), [2])

    def test_a_comment_beside_a_name_goes_on_below_it(self):
        self.assertEqual(lines_of("a.hpp", "int a;  ///< a row\n        ///< of the corpus\n"), [])
        self.assertEqual(lines_of("a.hpp", "int a;  ///< a row\nint b;  ///< of the corpus\n"), [2])

    def test_texts_and_numbers_hide_no_comment(self):
        self.assertEqual(lines_of("a.cpp", 'auto a = "// nobody";\nauto b = R"(// nobody)";\n'), [])
        self.assertEqual(lines_of("a.cpp", "int a = 1'000;  // nobody's\n"), [1])
        self.assertEqual(lines_of("a.cpp", "char a = '\"';  // nobody's\n"), [1])

    def test_it_reads_each_language(self):
        python = "a = '# nobody'  # nobody\n'nobody'\ndef f():\n    '''Of a.'''\n"
        self.assertEqual(lines_of("a.py", python), [1, 2, 4])
        self.assertEqual(lines_of("a.sh", "echo '#nobody' $#  # nobody\n# Nobody.\n"), [1, 2])
        self.assertEqual(lines_of("CMakeLists.txt", "add(a)  # nobody\n"), [1])
        self.assertEqual(lines_of("a.ts", "const a = `// nobody`;  // nobody\n"), [1])
        self.assertEqual(lines_of("a.cu", "__global__ void f();  // nobody\n"), [1])

    def test_it_prints_file_line_and_rule(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong, right = pathlib.Path(folder, "wrong.hpp"), pathlib.Path(folder, "right.hpp")
            wrong.write_text("int a;\nint b;  ///< of rows\n")
            right.write_text("int b;  ///< number of rows\n")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                self.assertEqual(lint_comments.main([str(right)]), 0)
                self.assertEqual(lint_comments.main([str(right), str(wrong)]), 1)
            self.assertRegex(printed.getvalue(), rf"^{wrong}:2: 'of' begins neither .*\n    of rows\n$")


class SourcesTest(unittest.TestCase):
    def test_the_sources_break_no_rule(self):
        sources = [path for path in lint_comments.sources() if lint_comments.is_source(path)]
        self.assertGreater(len(sources), 1000)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = lint_comments.main([str(path) for path in sources])
        self.assertEqual(status, 0, printed.getvalue())


if __name__ == "__main__":
    unittest.main()
