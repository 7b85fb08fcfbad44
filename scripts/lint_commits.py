#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the form of commits (CONTRIBUTING.md, "Commit"), and prints each commit and rule that it breaks.
Ends with 1 if there are any. git's hook commit-msg runs it for one message (.pre-commit-config.yaml),
scripts/lint for all commits after FIRST. A shallow clone may lack FIRST; then there is nothing to check.
  scripts/lint_commits.py                    the commits after FIRST
  scripts/lint_commits.py --message FILE     the message in FILE, with what is staged now"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIRST = "0afc79125a04c12f7f74fd346922bccd34bd2f15"  # commits up to this one are older than the rules
SUBJECT_MAX = 72  # characters
LINES_MAX = 50  # changed lines that need no body
TRAILER = re.compile(r"[A-Z][\w-]*-by: ")
SCISSORS = re.compile(r"^# -+ >8 -+$", re.MULTILINE)


def git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def changed_lines(numstat):
    """Returns the sum of the lines that `git diff --numstat` reports as added or removed."""
    numbers = [number for line in numstat.splitlines() for number in line.split("\t")[:2]]
    return sum(int(number) for number in numbers if number != "-")


def faults(message, lines):
    """Returns a sentence for each rule that a message breaks. Its commit changes `lines` lines."""
    subject, *rest = message.strip().split("\n")
    body = [line for line in rest if line.strip() and not TRAILER.match(line)]
    found = []
    if len(subject) > SUBJECT_MAX:
        found.append(f"the subject has {len(subject)} characters: shorten it to at most {SUBJECT_MAX}")
    if ";" in subject:
        found.append('the subject has a ";": make a commit of each change')
    if lines > LINES_MAX and not body:
        found.append(f"{lines} lines change: write below the subject why; {LINES_MAX} lines need no body")
    return found


def message_faults(folder, message):
    """Returns the faults of the message that git is about to commit. A merge has git's own message."""
    if pathlib.Path(folder, git(folder, "rev-parse", "--git-path", "MERGE_HEAD").strip()).exists():
        return []
    text = re.sub(r"^#.*\n?", "", SCISSORS.split(message)[0], flags=re.MULTILINE)
    return faults(text, changed_lines(git(folder, "diff", "--cached", "--numstat"))) if text.strip() else []


def commit_faults(folder, first):
    """Returns the faults of all commits after `first`, each with its commit, or no faults if `first` is missing."""
    known = subprocess.run(["git", "cat-file", "-e", f"{first}^{{commit}}"], cwd=folder, capture_output=True)
    if known.returncode != 0:
        return []
    found = []
    for commit in git(folder, "rev-list", "--no-merges", f"{first}..HEAD").split():
        message = git(folder, "show", "--no-patch", "--format=%B", commit)
        lines = changed_lines(git(folder, "show", "--numstat", "--format=", commit))
        head = f"{commit[:8]} {message.strip().splitlines()[0]}"
        found += [f"{head}\n    {fault}" for fault in faults(message, lines)]
    return found


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--message":
        found = message_faults(ROOT, pathlib.Path(arguments[1]).read_text(encoding="utf-8"))
    elif not arguments:
        found = commit_faults(ROOT, FIRST)
    else:
        print("usage: scripts/lint_commits.py [--message FILE]", file=sys.stderr)
        return 2
    for fault in found:
        print(f"commit: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
