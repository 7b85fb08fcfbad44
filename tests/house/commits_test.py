# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/lint_commits.py with messages, and with commits of a repository that it makes. Run by ctest
with the path of the sources."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SOURCES / "scripts"))
import lint_commits  # noqa: E402: its folder is known now


class MessagesTest(unittest.TestCase):
    def expect(self, message, lines, *begins):
        found = lint_commits.faults(message, lines)
        self.assertEqual(len(found), len(begins), found)
        for fault, begin in zip(found, begins):
            self.assertTrue(fault.startswith(begin), fault)

    def test_a_subject_has_at_most_72_characters(self):
        self.expect("a" * 72, 1)
        self.expect("a" * 73 + "\n", 1, "the subject has 73 characters")
        self.expect("é" * 72, 1)

    def test_a_subject_is_one_change(self):
        self.expect("stream: a; b", 1, 'the subject has a ";"')
        self.expect("stream: a\n\nBecause b; c.", 1)

    def test_more_than_50_lines_need_a_body(self):
        self.expect("stream: a", 50)
        self.expect("stream: a", 51, "51 lines change")
        self.expect("stream: a\n\nBecause.", 51)
        self.expect("stream: a\n\nSigned-off-by: A <a@b.c>", 51, "51 lines change")

    def test_a_binary_file_has_no_lines(self):
        self.assertEqual(lint_commits.changed_lines("3\t4\ta.cpp\n-\t-\tb.png\n10\t0\tc.py\n"), 17)


class RepositoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.git("init", "--quiet")
        self.first = self.commit("first; and more", 60)

    def git(self, *arguments):
        names = {f"GIT_{role}_{what}": "a@b.c"
                 for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True,
                              text=True, env={**kept, **names, **alone}).stdout

    def stage(self, lines):
        with pathlib.Path(self.folder, "a").open("a") as file:
            file.write("line\n" * lines)
        self.git("add", "a")

    def commit(self, message, lines):
        self.stage(lines)
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD").strip()

    def test_commits_after_the_first_are_checked(self):
        self.commit("a: right", 50)
        self.assertEqual(lint_commits.commit_faults(self.folder, self.first), [])
        wrong = self.commit("a: wrong", 51)
        found = lint_commits.commit_faults(self.folder, self.first)
        self.assertEqual(len(found), 1)
        self.assertRegex(found[0], f"^{wrong[:8]} a: wrong\n    51 lines change")

    def test_a_clone_without_the_first_commit_passes(self):
        self.commit("a: wrong", 51)
        self.assertEqual(lint_commits.commit_faults(self.folder, "0" * 40), [])

    def test_a_message_is_checked_with_what_is_staged(self):
        self.stage(51)
        found = lint_commits.message_faults(self.folder, "a: wrong\n# A comment of git's.\n")
        self.assertEqual(len(found), 1, found)
        scissors = f"# {'-' * 24} >8 {'-' * 24}\n"
        self.assertEqual(len(lint_commits.message_faults(self.folder, f"a: wrong\n{scissors}diff\n")), 1)
        self.assertEqual(lint_commits.message_faults(self.folder, "a: right\n\nBecause.\n# Comment.\n"), [])
        self.assertEqual(lint_commits.message_faults(self.folder, "# Without a message, git refuses.\n"), [])

    def test_the_message_of_a_merge_is_not_checked(self):
        self.stage(51)
        pathlib.Path(self.folder, ".git/MERGE_HEAD").write_text(self.first + "\n")
        self.assertEqual(lint_commits.message_faults(self.folder, "Merge a; b\n"), [])


if __name__ == "__main__":
    unittest.main()
