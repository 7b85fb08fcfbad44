#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds comments that must be read twice (docs/STYLE.md, "Comments and pages"), and prints file, line and
rule of each. Ends with 1 if there are any. pre-commit and scripts/lint run it. tests/docs tests it, and
looks for the same PHRASES in pages and in texts that programs print.
  scripts/lint_comments.py [FILE...]      default: all sources that git knows"""

import dataclasses
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Rule:
    pattern: str
    says: str  # what is wrong and what helps; "{}" stands for the words that were found
    wrong: str  # a sentence that has the pattern
    right: str  # the mended sentence


# Prepositions and conjunctions that begin no noun phrase and no noun clause. Therefore the list lacks the
# first words of "past ticks", "about 3 ms", "whether it is full" and "how many wait".
INCOMPLETE = """
    across after against along among and as at because before behind beside besides between beyond but by
    despite during except for from if in into nor of on onto or over per since so than that though through
    till to toward under unless until upon via when whenever where whereas wherever which while who whom
    whose with within without"""

BEGINNING = Rule(
    rf"(?i)^(?:{'|'.join(INCOMPLETE.split())})\b(?! (?:most|least)\b)(?!-)",
    "'{}' begins neither a noun phrase nor a sentence that stands alone: begin with the thing, or delete the "
    "comment if it only completes the name",
    "of the queries: those of other owners", "number of queries that have another owner")

PHRASES = [
    Rule(r"\b(?i:nobody|whoever|everybody|somebody)\b(?!\()",
         "'{}' does not say which thread, client, principal or caller is meant: name it",
         "of 2k queries, whose filter nobody passes", "a filter that no object passes"),
    Rule(r"\bfor whom\b", "'{}' turns the sentence around: begin with the thing",
         "the client for whom the page was read", "the client that asked for the page"),
    Rule(r"\bso many\b", "'{}' makes the reader look for a number: say which",
         "so many lines are missing before the next one", "number of lines missing before the next one"),
    Rule(r"\bas (?:this|that|these|those) do(?:es)?\b",
         "'{}' makes the reader look for the verb: say what it does",
         "blocks as this does", "waits, too, until the queue has room"),
    Rule(r"\bif it is enough\b", "'{}' names no limit: say which",
         "keeps the memory if it is enough", "keeps the memory if it has at least `bytes` bytes"),
    Rule(r"\bof(?: \w+){1,6}: those of\b", "'{}' is read twice: name both things in one phrase",
         "of the lists: those of the last tick", "the last tick's lists"),
    # A point after a digit does not end a sentence here: it may follow a time, as in "at 12. Of".
    Rule(r"(?:^|(?<!\d)[.!?|] )Of (?!each \|)(?=[a-z\d`])",
         "no sentence begins with 'Of': begin with the thing",
         "Of several I/O threads, how many serve results", "how many of the I/O threads serve results"),
    Rule(r"\bit says itself\b", "'{}' turns the sentence around: begin with the thing",
         "How much a machine can take, it says itself", "The machine reports how much it can take"),
    Rule(r"\blies? then\b", "'{}' turns the sentence around: begin with the thing",
         "In `build/packages` lie then:", "`build/packages` then has:"),
    Rule(r"\bha(?:s|ve) had none\b|\band had none\b", "'{}' makes the reader look for the noun: name it",
         "Requests whose token was wrong, or that needed one and had none",
         "Requests with a wrong token, or without a token that they need"),
    Rule(r"\bcomes? behind\b|\b(?:stands?|ticks?|records?|rows?|places?|bytes|numbers?|digits) behind\b",
         "'{}' can be before or after: write 'after', or 'since'",
         "the log has no tick behind its last snapshot", "the log has no tick after its last snapshot"),
    Rule(r"\bfinds? no room\b", "'{}' does not say what is full: name it",
         "the log finds no room on the disk", "the log's disk is full"),
    Rule(r"\bnames are the \w+: ", "'{}' is read twice: say what the names are",
         "known names are the id: id, object_id", "the id is called id or object_id"),
    Rule(r"\bdue, one each\b", "'{}' is read twice: write 'every'",
         "they were due, one each 100 ms", "one was due every 100 ms"),
]

C_LIKE = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".ts", ".tsx", ".fbs"}
HASH_LIKE = {".sh", ".cmake", ".txt", ".toml", ".yaml"}
# Numbers come first, because 1'000 holds a quote; then texts, in which // begins no comment.
C_TOKENS = re.compile(
    r"""\b\d(?:'?[\w.])*|R"([^(\s]*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""
    r"""|(?P<comment>//[^\n]*|/\*.*?\*/)""", re.DOTALL)
C_MARKS = re.compile(r"^\s*(?:/{2,}<?|/\*+<?|\*+/|\*(?!/))?\s*|\s*\*+/\s*$")


@dataclasses.dataclass
class Comment:
    lines: list  # (number, text without its mark)
    is_trailing: bool  # ///<, which describes the name before it

    def text(self):
        return " ".join(text for _, text in self.lines)

    def line_at(self, offset):
        """Returns the number of the line that has the character at `offset` of text()."""
        for number, text in self.lines:
            if offset <= len(text):
                return number
            offset -= len(text) + 1
        return self.lines[-1][0]

    def paragraphs(self):
        """Returns the parts between blank lines, without the line of the licence."""
        parts = [[]]
        for number, text in self.lines:
            if text and not text.startswith("SPDX-"):
                parts[-1].append((number, text))
            elif parts[-1]:
                parts.append([])
        return [Comment(lines, self.is_trailing) for lines in parts if lines]


def c_comments(text):
    for found in C_TOKENS.finditer(text):
        comment = found["comment"]
        if comment is None:
            continue
        first = text.count("\n", 0, found.start()) + 1
        lines = [(first + index, C_MARKS.sub("", line)) for index, line in enumerate(comment.split("\n"))]
        before = text[text.rfind("\n", 0, found.start()) + 1:found.start()]
        yield Comment(lines, comment.startswith(("///<", "/**<"))), not before.strip()


def python_comments(text):
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            is_alone = not token.line[:token.start[1]].strip()
            yield Comment([(token.start[0], token.string.lstrip("#! "))], False), is_alone
        elif token.type == tokenize.STRING and begins:  # a docstring
            lines = enumerate(token.string.strip("rb\"'").split("\n"), token.start[0])
            yield Comment([(number, line.strip()) for number, line in lines], False), False
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def hash_comments(text):
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.search(r"(^|\s)#\s(.*)", line):
            yield Comment([(number, found[2].strip())], False), not line[:found.start()].strip()


def comments(path, text):
    """Returns the paragraphs of a source's comments. Comments on lines of their own that follow each other
    are one comment, and so is one that begins beside code and goes on below."""
    is_python = path.suffix == ".py" or text.startswith("#!/usr/bin/env python3")
    reader = python_comments if is_python else c_comments if path.suffix in C_LIKE else hash_comments
    joined = []
    for comment, is_alone in reader(text):
        last = joined[-1] if joined else None
        if is_alone and last and comment.lines[0][0] == last.lines[-1][0] + 1 \
                and last.is_trailing == comment.is_trailing:
            last.lines += comment.lines
        else:
            joined.append(comment)
    return [paragraph for comment in joined for paragraph in comment.paragraphs()]


def findings(path, text):
    """Returns (line, what the rule says, the comment) of each comment that breaks a rule."""
    found = []
    for comment in comments(path, text):
        words = comment.text()
        for rule in ([BEGINNING] if comment.is_trailing else []) + PHRASES:
            for match in re.finditer(rule.pattern, words):
                found.append((comment.line_at(match.start()), rule.says.format(match[0].strip(" .|")), words))
    return found


def sources():
    """Returns the sources that git knows: those with a known suffix, and scripts without one."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and not name.startswith("data/")]


def is_source(path):
    if not path.is_file():  # deleted, and the deletion is not committed yet
        return False
    if path.suffix in C_LIKE | HASH_LIKE | {".py"}:
        return path.suffix != ".txt" or path.name == "CMakeLists.txt"
    with path.open("rb") as file:
        return not path.suffix and file.read(2) == b"#!"


def main(arguments):
    count = 0
    for path in [pathlib.Path(name).resolve() for name in arguments] or sources():
        if not is_source(path):
            continue
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for line, says, words in findings(path, path.read_text(encoding="utf-8")):
            print(f"{name}:{line}: {says}\n    {words if len(words) <= 160 else words[:157] + '...'}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
