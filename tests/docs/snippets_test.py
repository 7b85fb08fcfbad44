# SPDX-License-Identifier: Apache-2.0
"""Runs the code blocks of the pages, block after block as a reader would: shell commands in a temporary
folder with the program on the PATH and servers on free ports, Python in one interpreter for each page. CTest
sets STARLING_PROGRAM and STARLING_LIBRARY.

The language of a block says what it is for. A comment above it may say more:

    <!-- not run: REASON -->      the block is not run
    <!-- in the background -->    the command runs until the page ends, such as a server
    <!-- needs MODULE -->         the block is run if Python has this module
    <!-- run with NAME=VALUE -->  the command runs with this variable
    <!-- file NAME -->            the block is written to this file before the first block runs

sh, console, python  the block is run, and must succeed
text                 the output of the block before it; "..." stands for anything
json                 the output of the block before it; if that is empty, any JSON, one document or one a line
toml                 a file for --config, which `serve --check-config` accepts
"""

import doctest
import functools
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs/site"), str(ROOT / "tests/python/package")]

import package_case  # noqa: E402

package_case.enter_peers()

import example_files  # noqa: E402
import pages  # noqa: E402

PROGRAM = pathlib.Path(os.environ["STARLING_PROGRAM"])
PATIENCE_S = 60  # how long anything may take before its test fails
BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*?) -->\n\n?)?^```(?P<language>[^\n]*)\n(?P<code>.*?)^```$",
                   re.MULTILINE | re.DOTALL)
MARK = re.compile(r"not run: .{8,}|in the background|needs \w+|run with [A-Z_]+=\S+|file [\w.]+")
LANGUAGES = {"sh", "console", "python", "text", "json", "toml"}

# Blocks that other tests run: the pages, their sections ("" is all), and the languages there.
ELSEWHERE = [
    ("docs/http.md", "", {"sh", "json", "text"}, "tests/stream/http/page_test.cpp"),
    ("docs/c.md", "", {"c", "make", "cmake", "rust"}, "tests/house/pages_test.cpp"),
    ("docs/embedding.md", "", {"cpp", "cmake"}, "tests/house/pages_test.cpp"),
    ("docs/operating.md", "Behind nginx", {"nginx"}, "tests/packaging/nginx_test.py"),
    ("README.md", "Two commands", {"sh"}, "tests/apps/readme_test.py"),
    ("README.md", "Put and ask", {"sh"}, "tests/apps/readme_test.py"),
]

# Commands, and the flags with which they find a server.
CONNECT = {command: ["--connect"] for command in ("put", "remove", "streams", "ask", "top")}
CONNECT["subscribe"] = ["--connect", "--results"]

# Reads blocks of Python as JSON, one a line, runs them one after the other, and answers with what they print.
INTERPRETER = """
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    printed, failure = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(json.loads(line), "snippet", "exec"), names)
        except BaseException:
            failure = traceback.format_exc()
    print(json.dumps([printed.getvalue(), failure]), flush=True)
"""


class Block:
    def __init__(self, path, text, found):
        self.page = path.relative_to(ROOT).as_posix()
        self.line = text.count("\n", 0, found.start("language")) + 1
        self.mark = found["mark"] or ""
        self.language = found["language"]
        self.code = found["code"]
        sections = re.findall(r"^## (.*)$", text[:found.start()], re.MULTILINE)
        self.section = sections[-1] if sections else ""

    def __str__(self):
        return f"{self.page}, line {self.line} ({self.language or 'no language'})"

    def elsewhere(self):
        """Returns the test of ELSEWHERE that runs this block, or None."""
        for page, section, languages, test in ELSEWHERE:
            if self.page == page and section in ("", self.section) and self.language in languages:
                return test
        return None


@functools.cache
def blocks():
    """Returns all blocks by page, without the pages of measurements: their blocks record past output."""
    found = {}
    for path in [*pages.pages().values(), ROOT / "clients/python/README.md"]:
        if "docs/measurements" not in path.as_posix():
            text = path.read_text()
            found[path] = [Block(path, text, each) for each in BLOCK.finditer(text)]
    return found


def is_same(wanted, said):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted.strip() + "\n", said.strip() + "\n", flags)


class Page:
    """Runs the blocks of one page. They share a folder, servers and an interpreter."""

    def __init__(self, test):
        self.test = test
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.here = self.folder / "here"
        for made in (self.here, self.folder / "bin", self.here / "build"):
            made.mkdir()
        for name in ("data", "examples", "clients"):
            (self.here / name).symlink_to(ROOT / name)
        example_files.write(self.here)
        self.endpoints = {}
        self.interpreter = None
        self.last = None  # what the last block printed: a text, or a function that returns it
        self.variables = {
            **{name: value for name, value in os.environ.items() if not name.startswith("STARLING_")},
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "NO_COLOR": "1",
            "STARLING_LIBRARY": os.environ["STARLING_LIBRARY"], "STARLING_PROGRAM": str(PROGRAM),
            "STARLING_SERVE_COMMANDS": "tcp://127.0.0.1:*", "STARLING_SERVE_RESULTS": "tcp://127.0.0.1:*",
            "STARLING_SERVE_HTTP": "127.0.0.1:0", "STARLING_SERVE_LOG_LEVEL": "error",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "clients/python"), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1"}
        self.write_program()

    def write_program(self):
        """Writes the `starling` of the PATH, which connects to the server of this page."""
        lines = ["#!/bin/bash", 'case "${1:-} $*" in']
        values = {"--connect": self.endpoints.get("commands"), "--results": self.endpoints.get("results")}
        if self.endpoints:
            lines += ['  "simulate "*--connect*|"replay "*--connect*)',
                      f'    set -- "$@" --results {values["--results"]} ;;']
        lines.append("  *--connect*) ;;")
        for command, flags in CONNECT.items() if self.endpoints else ():
            more = " ".join(f"{flag} {values[flag]}" for flag in flags)
            lines.append(f'  "{command} "*) set -- "$@" {more} ;;')
        path = self.folder / "bin/starling"
        path.write_text("\n".join([*lines, "esac", f'exec {PROGRAM} "$@"', ""]))
        path.chmod(0o755)

    def on_free_ports(self, code):
        """Returns the code with the default ports replaced by the ports of this page's server."""
        if self.endpoints:
            http = self.endpoints["http"].split("//")[-1]
            for port, place in (("7411", self.endpoints["commands"]), ("7412", self.endpoints["results"])):
                code = code.replace(f"tcp://127.0.0.1:{port}", place)
            code = re.sub(r"(127\.0\.0\.1|localhost):7413", http, code)
        return code

    def run(self, block):
        if block.mark == "in the background":
            self.start(block)
        elif block.language in ("sh", "console"):
            self.last = self.run_shell(block)
        elif block.language == "python":
            self.last = self.run_python(block)
        elif block.language == "toml":
            file = self.here / "starling.toml"
            file.write_text(block.code)
            self.command(["starling", "serve", "--config", file, "--check-config"], block)
            self.last = None
        else:
            self.compare(block)

    def command(self, command, block, variables=()):
        done = subprocess.run([str(word) for word in command], cwd=self.here, stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, timeout=PATIENCE_S,
                              env={**self.variables, **dict(variables)})
        self.test.assertEqual(done.returncode, 0, f"{block}:\n{block.code}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def run_shell(self, block):
        name, _, value = block.mark.removeprefix("run with ").partition("=")
        more = {name: value} if block.mark.startswith("run with ") else {}
        return self.command(["bash", "-euo", "pipefail", "-c", self.on_free_ports(block.code)], block, more)

    def run_python(self, block):
        if self.interpreter is None:
            self.interpreter = subprocess.Popen([sys.executable, "-c", INTERPRETER], cwd=self.here,
                                                text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                env=self.variables)
            self.test.addCleanup(self.interpreter.stdout.close)
            self.test.addCleanup(self.end, self.interpreter)
            self.test.addCleanup(self.interpreter.stdin.close)
        clock = threading.Timer(PATIENCE_S, self.interpreter.kill)
        clock.start()
        self.interpreter.stdin.write(json.dumps(self.on_free_ports(block.code)) + "\n")
        self.interpreter.stdin.flush()
        answer = self.interpreter.stdout.readline()
        clock.cancel()
        self.test.assertTrue(answer, f"{block}: Python ended, or took longer than {PATIENCE_S} s")
        printed, failure = json.loads(answer)
        self.test.assertEqual(failure, "", f"{block}:\n{block.code}\n{failure}")
        return printed

    def start(self, block):
        """Starts a command that runs until the page ends. After a server, waits for its endpoints."""
        is_server = block.code.startswith("starling serve")
        lines = block.code.replace("\\\n", "").count("\n")
        self.test.assertEqual(lines, 1, f"{block} has more than one command")
        out = self.folder / f"out-{block.line}"
        endpoints = self.folder / f"endpoints-{block.line}.json"
        more = {"STARLING_SERVE_ENDPOINTS_FILE": str(endpoints)} if is_server else {}
        with out.open("w") as file:
            running = subprocess.Popen(["bash", "-c", "exec " + self.on_free_ports(block.code)],
                                       cwd=self.here, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                       env={**self.variables, **more})
        self.test.addCleanup(self.end, running)
        self.last = out.read_text
        if is_server:
            self.wait(endpoints.exists, lambda: f"{block}: no server starts: {out.read_text()}", running)
            self.endpoints = json.loads(endpoints.read_text())
            self.write_program()

    def end(self, running):
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
        running.wait(PATIENCE_S)

    def wait(self, is_done, why_not, running=None):
        deadline = time.monotonic() + PATIENCE_S
        while not is_done():
            if running is not None:
                self.test.assertIsNone(running.poll(), why_not())
            self.test.assertLess(time.monotonic(), deadline, why_not())
            time.sleep(0.02)

    def compare(self, block):
        """Compares a block with the output of the block before it."""
        said, self.last = self.last, None
        if block.language == "json" and said == "":
            said = None
        if callable(said):
            self.wait(lambda: is_same(block.code, said()), lambda: f"{block}: it prints\n{said()}")
        elif said is not None:
            self.test.assertTrue(is_same(block.code, said), f"{block}: it prints\n{said}")
        elif block.language == "json":
            try:
                json.loads(block.code)
            except json.JSONDecodeError:
                for line in block.code.splitlines():
                    json.loads(line)
        else:
            self.test.fail(f"{block}: no block before it prints this")


class SnippetsTest(unittest.TestCase):
    def test_every_block_is_run_or_says_why_not(self):
        counts = {"run here": 0, "run by other tests": 0, "not run": 0}
        for page in blocks().values():
            for block in page:
                with self.subTest(block=str(block)):
                    self.assertTrue(not block.mark or MARK.fullmatch(block.mark), f"<!-- {block.mark} -->")
                    if block.mark.startswith("not run: "):
                        counts["not run"] += 1
                    elif block.elsewhere():
                        counts["run by other tests"] += 1
                    else:
                        self.assertIn(block.language, LANGUAGES, "give it a language, or a comment: not run")
                        counts["run here"] += 1
        print(", ".join(f"{count} {name}" for name, count in counts.items()))
        self.assertGreater(counts["run here"], 70)

    def test_the_other_tests_name_the_pages_whose_blocks_they_run(self):
        for page, _, _, test in ELSEWHERE:
            self.assertIn(page.removeprefix("docs/"), (ROOT / test).read_text(), test)

    def test_a_block_that_prints_something_else_or_fails_is_found(self):
        for code, wanted in (("echo one", "two"), ("false", None)):
            text = f"```sh\n{code}\n```\n" + (f"```text\n{wanted}\n```\n" if wanted else "")
            page = Page(self)
            with self.assertRaises(AssertionError):
                for found in BLOCK.finditer(text):
                    page.run(Block(ROOT / "docs/none.md", text, found))


def test_of(path):
    def test(self):
        page = Page(self)
        for block in blocks()[path]:
            if block.mark.startswith("file "):
                (page.here / block.mark.removeprefix("file ")).write_text(block.code)
        for block in blocks()[path]:
            needed = block.mark.startswith("needs ") and block.mark.removeprefix("needs ")
            if needed and importlib.util.find_spec(needed) is None:
                print(f"{block} is not run: it needs {needed}, which scripts/python-peers unpacks")
            elif block.mark.startswith(("not run: ", "file ")) or block.elsewhere():
                page.last = None
            else:
                page.run(block)
    return test


for each in blocks():
    name = re.sub(r"\W+", "_", each.relative_to(ROOT).with_suffix("").as_posix())
    if blocks()[each]:
        setattr(SnippetsTest, f"test_{name}", test_of(each))

if __name__ == "__main__":
    unittest.main()
