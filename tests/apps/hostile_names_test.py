# SPDX-License-Identifier: Apache-2.0
"""Shows names that steer terminals with every command that prints text of a server, to pipes and to a
terminal. Run by ctest with the path of the program as the only argument."""

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
import unittest

from server_case import PATIENCE_S, ServerCase

ServerCase.program = sys.argv.pop()
# A title, a clear screen, C1, a line break, DEL, bidi controls, a line separator and invisible tags.
HOSTILE = "\x1b]0;pwned\x07\x1b[2J\u009b31m\r\n\tforged,\"row\"\x7f\u202etxt\u2066\u2028\u200b\ufeff\U000e0041"
ESCAPED = (r"\x1b]0;pwned\x07\x1b[2J\u009b31m\r\n\tforged,"
           r'"row"\x7f\u202etxt\u2066\u2028\u200b\ufeff\U000e0041')
MARKS = set(HOSTILE) - set("]0;pwned[2J31mforged,\"row\"txt")
PLACE = ["--x", "0", "--y", "0"]

TABLES = {
    "ask": ["ask", *PLACE],
    "streams": ["streams"],
    "subscribe": ["subscribe", HOSTILE, "--ticks", "2"],
    "top": ["top", "--once"],
    "info": ["info"],
}
JSON = {
    "ask": ["ask", *PLACE, "--json"],
    "streams": ["streams", "--json"],
    "subscribe": ["subscribe", HOSTILE, "--ticks", "2", "--format", "ndjson"],
    "top": ["top", "--once", "--json"],
    "put stream": ["put", "stream", HOSTILE, "--json"],
    "put query": ["put", "query", HOSTILE, HOSTILE, *PLACE, "-k", "1", "--json"],
}
CSV = {
    "ask": ["ask", *PLACE, "--csv"],
    "subscribe": ["subscribe", HOSTILE, "--ticks", "2", "--format", "csv"],
}
REFUSED = {
    "put query": ["put", "query", "none" + HOSTILE, "1", *PLACE, "-k", "1"],
    "remove query": ["remove", "query", "none" + HOSTILE, "1"],
    "remove stream": ["remove", "stream", "none" + HOSTILE],
    "remove object": ["remove", "object", "a", "--time", HOSTILE],
    "ask object": ["ask", "--object", "none" + HOSTILE],
    "ask at": ["ask", *PLACE, "--at", HOSTILE],
    "subscribe": ["subscribe", "plain", "--query", "none" + HOSTILE, "--ticks", "2"],
    "put time": ["put", "--id", "a", *PLACE, "--time", HOSTILE],
    "no such file": ["put", "none" + HOSTILE],
}


class HostileNamesTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.serve("--tick", "20ms")
        self.ask_server("put", "--id", HOSTILE, *PLACE)
        self.ask_server("put", "stream", HOSTILE)
        self.ask_server("put", "stream", "plain")
        self.ask_server("put", "query", HOSTILE, HOSTILE, *PLACE, "-k", "1")
        self.ask_server("put", "query", "plain", HOSTILE, *PLACE, "-k", "1")

    def on_terminal(self, *arguments):
        """Returns what the command writes to a terminal."""
        ours, its = pty.openpty()
        with subprocess.Popen([self.program, *arguments, *self.connect()], stdin=its, stdout=its,
                              stderr=its, env={**os.environ, "TERM": "dumb"}) as process:
            os.close(its)
            text = b""
            deadline = time.monotonic() + PATIENCE_S
            while time.monotonic() < deadline:
                try:
                    chunk = os.read(ours, 65536)
                except OSError:  # the program has ended
                    break
                text += chunk
            self.end(process, signal.SIGTERM)
        os.close(ours)
        return text.decode().replace("\r\n", "\n")

    def expect_harmless(self, text, but=""):
        found = {letter for letter in MARKS - set("\n" + but) if letter in text}
        self.assertEqual(found, set(), text)
        self.assertNotIn("\nforged", text)
        self.assertNotIn("\n\tforged", text)

    def test_tables_show_names_escaped(self):
        for name, command in TABLES.items():
            with self.subTest(name):
                done = self.ask_server(*command)
                self.expect_harmless(done.stdout + done.stderr)
                if name not in ("top", "info", "subscribe"):
                    self.assertIn(ESCAPED, done.stdout)

    def test_json_is_ascii_of_such_names_and_gives_them_back(self):
        for name, command in JSON.items():
            with self.subTest(name):
                done = self.ask_server(*command)
                self.expect_harmless(done.stdout + done.stderr)
                for line in done.stdout.splitlines():
                    json.loads(line)
        [near] = json.loads(self.ask_server(*JSON["ask"]).stdout)["neighbors"]
        self.assertEqual(near["name"], HOSTILE)
        names = [stream["name"] for stream in json.loads(self.ask_server(*JSON["streams"]).stdout)]
        self.assertIn(HOSTILE, names)

    def test_csv_in_a_pipe_is_lossless(self):
        for name, command in CSV.items():
            with self.subTest(name):
                done = subprocess.run([self.program, *command, *self.connect()], check=True,
                                      capture_output=True, timeout=PATIENCE_S)
                rows = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))
                self.assertEqual(rows[1][4], HOSTILE)
                self.expect_harmless(done.stderr.decode())

    def test_csv_on_a_terminal_is_escaped(self):
        for name, command in CSV.items():
            with self.subTest(name):
                text = self.on_terminal(*command)
                self.assertIn(r"\x1b]0;pwned\x07", text)
                # Within quotes, a line break stays a line break.
                self.assertEqual({letter for letter in MARKS - {"\n"} if letter in text}, set())

    def test_what_a_terminal_gets_has_no_sequence_of_a_name(self):
        for name, command in {**TABLES, **JSON}.items():
            with self.subTest(name):
                text = self.on_terminal(*command)
                for sequence in ("\x1b]0;", "\x1b[2J\u009b", "\u009b", "\u202e", "\u2066", "\x7f"):
                    self.assertNotIn(sequence, text)

    def test_refusals_quote_names_escaped(self):
        for name, command in REFUSED.items():
            with self.subTest(name):
                done = subprocess.run([self.program, *command, *self.connect()], text=True,
                                      capture_output=True, timeout=PATIENCE_S)
                self.expect_harmless(done.stdout + done.stderr)
                self.assertIn("pwned", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
