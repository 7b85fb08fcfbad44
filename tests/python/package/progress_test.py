#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests Ctrl-C, progress functions and the bar of long calls: knn, Index, the estimators and replay.

STARLING_INTERRUPTS is the number of interrupts of each call.
"""

import io
import os
import pty
import select
import signal
import statistics
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import numpy

from package_case import PACKAGE, PATIENCE_S, FolderCase, enter_peers, needs
import starling

# Each call takes far longer than any test waits.
CALLS = {
    "knn": "starling.knn(rows(400_000, 256), k=20)",
    "a metric without shadows": "starling.knn(rows(60_000, 400), k=20, metric='jensen-shannon')",
    "few queries": "[index.search(index._rows[:1], k=5) for index in [starling.Index(rows(200_000, 100))]"
                   " for _ in range(1_000_000)]",
    "float64": "starling.knn(rows(400_000, 40, dtype=float), k=20)",
    "a tree": "[starling.Index(rows(2_000_000, 3)) for _ in range(100)]",
    "fit": "[starling.NearestNeighbors(metric='cosine').fit(rows(300_000, 30)) for _ in range(1000)]",
    "radius": "[index.radius(index._rows[:500], 1e9) for index in [starling.Index(rows(1_000_000, 3))]"
              " for _ in range(1000)]",
    "radius without a tree": "[index.radius(index._rows[:500], 1e9, sort_results=False)"
                             " for index in [starling.Index(rows(300_000, 20))] for _ in range(1000)]",
    "kneighbors": "starling.NearestNeighbors().fit(rows(400_000, 100)).kneighbors()",
}
PROGRAM = """
import sys
import numpy, starling
made = {{}}
def rows(*shape, dtype=numpy.float32):
    if shape not in made:
        made[shape] = numpy.random.default_rng(1).random(size=shape, dtype=dtype)
        made[shape] += 1
        print("go", flush=True)
    return made[shape]
try:
    {call}
    print("finished")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
INTERRUPTS = int(os.environ.get("STARLING_INTERRUPTS", "1"))
MEDIAN_S = 0.2  # limit for the median of several calls, from docs/python.md
SLACK_S = 2.0  # limit for one call on a busy machine; the calls take far longer


class Interrupted(FolderCase):
    def start(self, call, **options):
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(call=call)], text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), *sys.path])},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        return program

    def interrupt(self, call, after_s, **options):
        program = self.start(call, **options)
        self.assertEqual(program.stdout.readline(), "go\n", "it does not begin")
        # The moment is arbitrary: it may be early or late in the call.
        with self.assertRaises(subprocess.TimeoutExpired, msg="the call is too short"):
            program.wait(after_s)
        since = time.monotonic()
        program.send_signal(signal.SIGINT)
        self.assertEqual(program.stdout.readline(), "interrupted\n")
        took_s = time.monotonic() - since
        self.assertEqual(program.communicate(timeout=PATIENCE_S), ("", ""))
        self.assertLess(took_s, SLACK_S)
        return took_s

    def test_ctrl_c_ends_each_call_at_any_moment(self):
        for name, call in CALLS.items():
            with self.subTest(name):
                took_s = [self.interrupt(call, after_s) for after_s in numpy.linspace(0.02, 1.3, INTERRUPTS)]
                if INTERRUPTS > 1:
                    self.assertLess(statistics.median(took_s), MEDIAN_S, took_s)

    @needs("pandas")
    def test_ctrl_c_ends_a_replay_and_its_program(self):
        trace = self.folder / "trace.csv"
        trace.write_text("id,time_us,x,y\n" + "".join(
            f"{row % 200},{row // 200 * 1_000_000},{row % 7},{row % 11}\n" for row in range(40_000)))
        out = self.folder / "pid"
        # pandas starts uname when it is first imported, so that comes before.
        call = (f"import pandas, subprocess as s; s.Popen, old = (lambda *a, **k: (p := old(*a, **k), "
                f"open({str(out)!r}, 'w').write(str(p.pid)), print('go', flush=True))[0]), s.Popen; "
                f"starling.replay({str(trace)!r}, k=5, engine='cpu', speed='1')")
        self.interrupt(call, 0.5)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(out.read_text()), 0)

    def test_a_terminal_shows_a_bar_and_a_pipe_nothing(self):
        call = ("setattr(starling._progress, '_BAR_AFTER', 0.1), "
                "starling.knn(rows(15_000, 256), k=5, threads=1, progress={})")
        for wish in ("None", "True"):
            with self.subTest(wish):
                self.assertRegex(self.on_a_terminal(call.format(wish)), r"searching [\d,]+ \[#* *\] \d+ %")
        self.assertEqual(self.on_a_terminal(call.format("False")), "")
        program = self.start(call.format("True"))
        self.assertEqual(program.communicate(timeout=PATIENCE_S)[1], "")

    def on_a_terminal(self, call):
        """Returns what the program writes to a terminal on its stderr."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        with open(theirs, "wb", buffering=0) as terminal:
            program = subprocess.Popen(
                [sys.executable, "-c", PROGRAM.format(call=call)], stdout=subprocess.DEVNULL, stderr=terminal,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), *sys.path])})
        self.addCleanup(program.kill)
        shown = b""
        while program.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    shown += os.read(ours, 4096)
                except OSError:  # the program has closed the terminal
                    break
        self.assertEqual(program.wait(PATIENCE_S), 0)
        return shown.decode()


class Functions(FolderCase):
    def test_a_function_gets_the_queries_that_are_done_and_all(self):
        rows = numpy.random.default_rng(2).random(size=(15_000, 256), dtype=numpy.float32)
        seen = []
        found = starling.knn(rows, k=3, threads=1, progress=lambda *numbers: seen.append(numbers))
        searching = [(done, total) for done, total in seen if total]
        self.assertGreater(len(searching), 1)
        self.assertEqual({total for _, total in searching}, {len(rows)})
        self.assertEqual(searching, sorted(searching))
        self.assertGreater(searching[-2][0], 0)
        self.assertEqual(searching[-1], (len(rows), len(rows)))
        self.assertTrue(numpy.array_equal(found.indices, starling.knn(rows, k=3).indices))

    def test_what_a_function_raises_ends_the_call_and_the_index_stays(self):
        rows = numpy.random.default_rng(2).random(size=(15_000, 256), dtype=numpy.float32)

        def stop(done, total):
            raise LookupError("enough")

        with starling.Index(rows, threads=1) as index:
            with self.assertRaisesRegex(LookupError, "enough"):
                index.search(rows, k=3, progress=stop)
            self.assertEqual(index.search(rows[:2], k=1).indices.tolist(), [[0], [1]])

    def test_a_short_call_tells_its_end(self):
        seen = []
        with starling.Index([[0.0], [1.0]]) as index:
            index.search([[2.0]], progress=lambda *numbers: seen.append(numbers))
            index.radius([[2.0], [1.0]], 5, progress=lambda *numbers: seen.append(numbers))
        self.assertEqual(seen, [(1, 1), (2, 2)])

    def test_a_function_that_uses_its_index_is_refused(self):
        rows = numpy.random.default_rng(2).random(size=(15_000, 256), dtype=numpy.float32)
        index = starling.Index(rows, threads=1)
        for use in (lambda *_: index.search(rows[:1]), lambda *_: index.radius(rows[:1], 1),
                    lambda *_: index.add(rows), lambda *_: index.close()):
            with self.assertRaisesRegex(starling.StarlingError, "a progress function") as caught:
                index.search(rows, k=3, progress=use)
            self.assertEqual(caught.exception.code, starling.ErrorCode.IN_USE)
            self.assertEqual(index.search(rows[:2]).indices.tolist(), [[0], [1]])

    def test_a_stderr_that_is_no_terminal_does_not_matter(self):
        class Broken:
            def isatty(self):
                return True

            def write(self, text):
                raise OSError("gone")

        closed = open(os.devnull, "w")
        closed.close()
        rows = numpy.random.default_rng(2).random(size=(15_000, 256), dtype=numpy.float32)
        for stderr in (None, closed, object(), Broken()):
            with self.subTest(stderr), unittest.mock.patch("sys.stderr", stderr):
                self.assertEqual(len(starling.knn(rows, k=3, threads=1, progress=True).indices), 15_000)

    def test_only_the_main_thread_shows_a_bar_unasked(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        rows = numpy.random.default_rng(2).random(size=(15_000, 256), dtype=numpy.float32)
        for wish, is_shown in ((None, False), (True, True)):
            with self.subTest(wish), unittest.mock.patch("sys.stderr", Terminal()) as shown, \
                    unittest.mock.patch("starling._progress._BAR_AFTER", 0.0):
                thread = threading.Thread(
                    target=lambda: starling.knn(rows, k=3, threads=1, progress=wish))
                thread.start()
                thread.join(PATIENCE_S)
                self.assertEqual("searching" in shown.getvalue(), is_shown)

    def test_progress_is_a_function_or_a_wish(self):
        with self.assertRaisesRegex(TypeError, "progress must be a function of two numbers"):
            starling.knn([[0.0]], k=1, progress="bar")

    @needs("pandas")
    def test_a_replay_tells_its_ticks(self):
        trace = self.folder / "trace.csv"
        trace.write_text("id,time_us,x,y\na,0,0,0\nb,1000000,1,1\na,9000000,2,2\n")
        seen = []
        starling.replay(trace, k=1, engine="cpu", speed="10", progress=lambda *numbers: seen.append(numbers))
        self.assertIn(10, {total for _, total in seen})

        def stop(done, total):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            starling.replay(trace, k=1, engine="cpu", speed="1", progress=stop)


if __name__ == "__main__":
    enter_peers()
    unittest.main()
