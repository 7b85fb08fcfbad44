# SPDX-License-Identifier: Apache-2.0
"""Runs `starling top` as a program against real servers, on a terminal and without one. Run by ctest with
the path of the program as the only argument."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
import unittest

from server_case import PATIENCE_S, ServerCase

ServerCase.program = sys.argv.pop()
HIDE, SHOW, RED = "\x1b[?25l", "\x1b[?25h", "\x1b[1;31m"


class TopTest(ServerCase):
    def view(self, *more):
        return json.loads(self.ask_server("top", "--once", "--refresh", "500ms", "--json", *more).stdout)

    def test_without_a_terminal_it_prints_one_view_and_ends(self):
        self.serve("--tick", "10ms")
        self.ask_server("put", text="id,x,y\na,1,2\nb,2,3\n")
        text = self.ask_server("top", "--refresh", "500ms").stdout
        self.assertIn("  2 objects, 0 queries, 0 streams, ", text)
        self.assertRegex(text, r"\n. ticks/s +[1-9]\d*\.\d, \d+ skipped, 0 failed so far\n")
        self.assertRegex(text, r"\n  so far +4 accepted, 0 late, 0 rejected\n")  # 2 positions and 2 names
        self.assertRegex(text, r"\n  stages .* build [0-9]")
        self.assertRegex(text, r"\n  objects-max +2 +\d+ +0\.0\n")
        self.assertNotIn("\x1b", text)

    def test_json_has_levels_rates_and_rejected_rows_by_reason(self):
        self.serve("--tick", "10ms", "--objects-max", "10")
        rows = "".join(f"{id},{id},0\n" for id in range(12))
        self.ask_server("put", status=1, text="id,x,y\n" + rows)
        view = self.view()
        self.assertEqual(view["objects"], 10)
        self.assertEqual(view["limits"]["objects-max"],
                         {"used": 10, "limit": 10, "nearly_reached": True})
        self.assertEqual(view["rejected"]["total"], 2)
        self.assertEqual(view["reasons"]["too_many_objects"]["total"], 2)
        self.assertGreater(view["ticks"]["per_s"], 0)
        self.assertIn("\n! objects-max", self.ask_server("top", "--refresh", "50ms").stdout)

    def test_json_lines_go_on_until_ctrl_c(self):
        self.serve()
        top = subprocess.Popen([self.program, "top", "--json", "--refresh", "20ms", *self.connect()],
                               stdout=subprocess.PIPE, text=True)
        self.addCleanup(top.stdout.close)
        self.addCleanup(self.end, top)
        ticks = [json.loads(top.stdout.readline())["ticks"]["total"] for _ in range(20)]
        self.assertGreater(ticks[-1], ticks[0])
        self.assertEqual(self.end(top, signal.SIGINT), 0)

    def on_terminal(self, *more, **environment):
        """Starts the program on a new terminal of 24 rows and 80 columns. Returns the process and the
        terminal."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        process = subprocess.Popen([self.program, "top", "--refresh", "20ms", *self.connect(), *more],
                                   stdin=theirs, stdout=theirs, stderr=theirs,
                                   env={**variables, "TERM": "xterm", **environment})
        os.close(theirs)
        self.addCleanup(self.end, process)
        return process, ours

    def read_until(self, terminal, text, count=1):
        shown = ""
        deadline = time.monotonic() + PATIENCE_S
        while shown.count(text) < count:
            self.assertLess(time.monotonic(), deadline, shown)
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 65536).decode()
        return shown

    def read_rest(self, terminal):
        rest = ""
        try:
            while chunk := os.read(terminal, 65536):
                rest += chunk.decode()
        except OSError:  # the program has closed the terminal
            pass
        return rest

    def test_on_a_terminal_views_replace_each_other_and_ctrl_c_gives_the_cursor_back(self):
        self.serve("--objects-max", "1")
        self.ask_server("put", "--id", "1", "--x", "0", "--y", "0")
        top, terminal = self.on_terminal()
        shown = self.read_until(terminal, "\x1b[H", 4)
        self.assertTrue(shown.startswith(HIDE), shown)
        self.assertIn(RED + "! objects-max", shown)
        self.assertEqual(self.end(top, signal.SIGINT), 0)
        self.assertTrue(self.read_rest(terminal).endswith(SHOW))

    def test_no_color_leaves_out_colours(self):
        self.serve("--objects-max", "1")
        self.ask_server("put", "--id", "1", "--x", "0", "--y", "0")
        _, terminal = self.on_terminal(NO_COLOR="1")
        shown = self.read_until(terminal, "\x1b[H", 4)
        self.assertIn("! objects-max", shown)
        self.assertNotRegex(shown, "\x1b\\[[0-9;]*m")

    def test_a_server_that_is_gone_is_said_and_waited_for(self):
        server = self.serve()
        top, terminal = self.on_terminal("--timeout", "2s")
        self.read_until(terminal, "ticks/s")
        self.end(server)
        self.read_until(terminal, "! The server at")
        self.assertIsNone(top.poll())
        self.assertEqual(self.end(top, signal.SIGTERM), 0)

    def test_failures_are_sentences(self):
        self.end(self.serve())
        self.assertIn("did not answer within 50 ms. Start a server with `starling serve`",
                      self.ask_server("top", "--timeout", "50ms", status=1).stderr)
        self.assertIn("is not a duration", self.ask_server("top", "--refresh", "0s", status=2).stderr)

    def test_the_help_has_three_examples(self):
        text = self.run_program("top", "--help").stdout
        self.assertEqual(text.count("\n  starling top"), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
