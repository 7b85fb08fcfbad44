# SPDX-License-Identifier: Apache-2.0
"""Tests what every command does with its files, its standard output, and files that existed before. Run by
ctest with the path of the program as the only argument."""

import os
import signal
import subprocess
import sys
import time
import unittest

from folder_case import FolderCase, limit_file_size

PROGRAM = sys.argv.pop()
PATIENCE_S = 120  # how long anything may take before its test fails
TRACE = "id,time_us,x,y\na,0,0,0\nb,0,1,1\na,{last_us},2,2\n"
POINTS = "1,2\n3,4\n6,8\n"


class OutputTest(FolderCase):
    def trace(self, last_s=1):
        return self.write("trace.csv", TRACE.format(last_us=last_s * 1_000_000))

    def start(self, *arguments, **options):
        return subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=self.folder, **options)

    def run_program(self, *arguments, status=0, **options):
        done = subprocess.run([PROGRAM, *map(str, arguments)], stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE_S, cwd=self.folder,
                              **{"stdout": subprocess.PIPE, **options})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def names(self):
        return sorted(os.listdir(self.folder))


class FileTest(OutputTest):
    def start_waiting(self, out):
        """Starts a conversion that has opened its output and waits for the rest of its trace."""
        os.mkfifo(self.folder / "pipe")
        program = self.start("convert", "pipe", "--format", "csv", "--columns",
                             "id=id,time=time_us,x=x,y=y", "--to", "csv", "--out", out)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        rows = open(self.folder / "pipe", "w")
        self.addCleanup(rows.close)
        rows.write("id,time_us,x,y\n" + "".join(f"{i},{i},1,2\n" for i in range(300_000)))
        rows.flush()
        deadline = time.monotonic() + PATIENCE_S
        while not self.writes(program):
            self.assertIsNone(program.poll(), "the program ended")
            self.assertLess(time.monotonic(), deadline, "nothing is written")
            time.sleep(0.01)
        return program, rows

    def test_two_programs_with_one_output_each_leave_a_whole_file(self):
        trace = self.trace()
        program, rows = self.start_waiting("out.csv")
        self.run_program("convert", trace, "--to", "csv", "--out", "out.csv")
        self.assertEqual(len((self.folder / "out.csv").read_text().splitlines()), 4)
        rows.close()
        self.assertEqual(program.wait(PATIENCE_S), 0)
        self.assertEqual(len((self.folder / "out.csv").read_text().splitlines()), 300_001)
        self.assertEqual(self.names(), ["out.csv", "pipe", "trace.csv"])

    def test_a_program_that_a_signal_ends_leaves_nothing(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]:
            with self.subTest(number):
                program, rows = self.start_waiting("out.csv")
                program.send_signal(number)
                self.assertEqual(program.wait(PATIENCE_S), -number)
                self.assertEqual(self.names(), ["pipe"])
                (self.folder / "pipe").unlink()

    def test_a_replay_that_a_signal_ends_leaves_the_old_file_and_says_so(self):
        trace = self.write("trace.csv", "id,time_us,x,y\n" + "".join(
            f"{row % 200},{row // 200 * 1_000_000},{row % 7},{row % 11}\n" for row in range(40_000)))
        self.write("lists.csv", "old")
        for number, status in [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, -signal.SIGHUP),
                               (signal.SIGKILL, -signal.SIGKILL)]:
            with self.subTest(number):
                program = self.start("replay", trace, "--engine", "cpu", "-k", 64, "--speed", "50",
                                     "--out", "lists.csv")
                self.addCleanup(program.communicate)
                self.addCleanup(program.kill)
                deadline = time.monotonic() + PATIENCE_S
                while not self.writes(program):
                    self.assertIsNone(program.poll(), "the program ended")
                    self.assertLess(time.monotonic(), deadline, "nothing is written")
                    time.sleep(0.01)
                program.send_signal(number)
                _, errors = program.communicate(timeout=PATIENCE_S)
                self.assertEqual(program.returncode, status, errors)
                if status > 0:
                    self.assertIn("starling: stopped before the end; nothing was written\n", errors)
                self.assertEqual((self.folder / "lists.csv").read_text(), "old")
                self.assertEqual(self.names(), ["lists.csv", "trace.csv"])

    def test_a_search_that_a_signal_ends_leaves_the_old_file_and_says_so(self):
        points = self.write("points.csv", "".join(f"{row % 977},{row % 1009}\n" for row in range(200_000)))
        self.write("lists.csv", "old")
        for flags, number, status in [(["--out", "lists.csv"], signal.SIGINT, 130),
                                      (["--out", "lists.csv"], signal.SIGTERM, 143),
                                      (["--out", "-"], signal.SIGINT, -signal.SIGINT)]:
            with self.subTest(flags, number=number):
                program = self.start("knn", "--points", points, "--graph", "-k", 2000, "--engine", "cpu",
                                     "--metric", "l1", *flags)
                self.addCleanup(program.communicate)
                self.addCleanup(program.kill)
                time.sleep(0.5)  # any moment of the search will do
                self.assertIsNone(program.poll(), "the program ended")
                since = time.monotonic()
                program.send_signal(number)
                _, errors = program.communicate(timeout=PATIENCE_S)
                self.assertLess(time.monotonic() - since, 5)
                self.assertEqual(program.returncode, status, errors)
                said = "starling: stopped before the end; nothing was written\n"
                self.assertEqual(errors, said if status > 0 else "")
                self.assertEqual((self.folder / "lists.csv").read_text(), "old")

    def test_a_signal_that_the_parent_ignores_ends_no_search(self):
        os.mkfifo(self.folder / "points.csv")
        program = self.start("knn", "--points", "points.csv", "--graph", "-k", 1, "--engine", "cpu", "--out",
                             "lists.csv", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        with open(self.folder / "points.csv", "w"):  # open() returns when the program opens the pipe
            program.send_signal(signal.SIGINT)
            program.send_signal(signal.SIGTERM)
            _, errors = program.communicate(timeout=PATIENCE_S)
        self.assertEqual(program.returncode, 143, errors)

    def test_a_replay_without_an_output_says_so(self):
        trace = self.trace()
        self.assertIn("replay: without --out FILE no list is written; the replay only measures\n",
                      self.run_program("replay", trace, "--engine", "cpu").stderr)
        self.assertNotIn("without --out", self.run_program("replay", trace, "--engine", "cpu", "--out",
                                                           "-").stderr)

    def test_names_that_look_like_each_other_are_told_apart(self):
        self.write("points.csv", POINTS)
        self.write("r.csv.partial", "mine")
        self.run_program("knn", "--points", "points.csv", "--graph", "-k", 1, "--engine", "cpu",
                         "--out", "r.csv", "--out-ids", "r.npy", "--out-votes", "r.npy.csv",
                         "--labels", self.write("labels.csv", "1\n2\n3\n"))
        self.assertEqual((self.folder / "r.csv.partial").read_text(), "mine")
        self.assertEqual(self.names(), ["labels.csv", "points.csv", "r.csv", "r.csv.partial",
                                        "r.npy", "r.npy.csv"])

    def test_an_input_is_no_output(self):
        trace = self.trace()
        points, labels = self.write("points.csv", POINTS), self.write("labels.csv", "1\n2\n3\n")
        requests = self.write("requests.csv", "time_us,pick_x,pick_y,drop_x,drop_y\n1,2,3,4,5\n")
        world = self.write("city.net.xml", "<net/>")
        (self.folder / "link.csv").symlink_to("trace.csv")
        os.link(trace, self.folder / "again.csv")
        (self.folder / "traces").mkdir()
        (self.folder / "traces" / "one.csv").write_text(trace.read_text())
        queries = self.write("queries.csv", "query_id,x,y\n1,0,0\n")
        knn = ["knn", "--points", points, "--queries", "points.csv", "--labels", labels]
        cases = [(["replay", trace, "--out", name], f"--out: {name}", "replay")
                 for name in ["trace.csv", "./trace.csv", "link.csv", "again.csv"]]
        cases += [
            (["replay", "traces", "--out", "traces/one.csv"], "--out: traces/one.csv", "replay"),
            (["replay", trace, "--queries", queries, "--out", queries], f"--out: {queries}",
             "replay"),
            (["convert", trace, "--to", "csv", "--out", trace], f"--out: {trace}", "conversion"),
            ([*knn, "--out", points], f"--out: {points}", "run"),
            ([*knn, "--out-votes", labels], f"--out-votes: {labels}", "run"),
            ([*knn, "--out-ids", points], f"--out-ids: {points}", "run"),
            ([*knn, "--out-distances", points], f"--out-distances: {points}", "run"),
            (["simulate", "--out", "run", "--requests", requests, "--trace-out", "requests.csv"],
             "--trace-out: requests.csv", "run"),
            (["simulate", "--out", "run", "--world", world, "--trace-out", world],
             f"--trace-out: {world}", "run"),
        ]
        before = {path: path.read_text() for path in self.folder.rglob("*") if path.is_file()}
        for arguments, output, reader in cases:
            with self.subTest(arguments):
                done = self.run_program(*arguments, status=2)
                self.assertIn(f"{output} is read by this {reader}; name another\n", done.stderr)
                self.assertEqual({path: path.read_text() for path in self.folder.rglob("*")
                                  if path.is_file()}, before)

    def test_a_refused_replay_leaves_the_old_file_or_none(self):
        trace = self.trace(last_s=10**8)
        for old in [True, False]:
            if old:
                self.write("lists.csv", "old")
            else:
                (self.folder / "lists.csv").unlink()
            before = self.names()
            for flags, status, sentence in [
                (["--tick", "1us"], 2, "the trace spans more than"),
                (["--from", "2020-01-01T00:00:00Z"], 1,
                 "there is nothing to replay; rows skipped: 0; rows outside --from and --until: 3"),
                (["--queries", "absent.csv"], 1, "absent.csv"),
                (["--connect", "tcp://127.0.0.1:1", "--connect-timeout", "100ms"], 1, "starling: "),
            ]:
                with self.subTest(flags=flags, old=old):
                    done = self.run_program("replay", trace, "--out", "lists.csv", *flags,
                                            status=status)
                    self.assertIn(sentence, done.stderr)
                    self.assertEqual(self.names(), before)
                    if old:
                        self.assertEqual((self.folder / "lists.csv").read_text(), "old")

    def test_a_replays_output_is_tried_before_the_trace_is_read(self):
        bad = self.write("bad.csv", "id,time_us,x,y\na,0,0,0\n" + 'b,1,"')
        for out, why in [("absent/lists.csv", "No such file or directory"),
                         (".", "Is a directory"), ("bad.csv/x", "Not a directory")]:
            done = self.run_program("replay", bad, "--out", out, status=1)
            self.assertIn(f"starling: {out} cannot be opened: {why}\n", done.stderr)

    def test_a_replay_replaces_what_was_there(self):
        self.write("lists.csv", "old" * 10_000)
        self.run_program("replay", self.trace(), "--out", "lists.csv", "--engine", "cpu", "-k", 1)
        lists = (self.folder / "lists.csv").read_text()
        self.assertTrue(lists.startswith("tick,time_us,"), lists)
        self.assertEqual(len(lists.splitlines()), 5)

    def test_a_replay_can_be_read_from_a_pipe(self):
        os.mkfifo(self.folder / "lists")
        program = self.start("replay", self.trace(), "--out", "lists", "--engine", "cpu", "-k", 1)
        lists = (self.folder / "lists").read_text()
        program.communicate(timeout=PATIENCE_S)
        self.assertEqual(program.returncode, 0)
        self.assertEqual(len(lists.splitlines()), 5)

    def test_a_file_that_may_not_grow_is_one_sentence(self):
        trace = self.write("trace.csv", "id,time_us,x,y\n" + "".join(
            f"{row % 50},{row // 50 * 1_000_000},1,2\n" for row in range(5_000)))
        points = self.write("points.csv", "".join(f"{row}\n" for row in range(3_000)))
        for arguments in [["convert", trace, "--to", "csv", "--out", "o.csv"],
                          ["knn", "--points", points, "--graph", "--engine", "cpu", "--out",
                           "o.csv"]]:
            with self.subTest(arguments):
                done = self.run_program(*arguments, status=1, preexec_fn=limit_file_size(20_000))
                self.assertRegex(done.stderr, "starling: o.csv cannot be .*: File too large\n$")
                self.assertEqual(self.names(), ["points.csv", "trace.csv"])
        done = self.run_program("replay", trace, "--engine", "cpu", "--out", "o.csv", status=1,
                                preexec_fn=limit_file_size(20_000))
        self.assertRegex(done.stderr, "starling: o.csv cannot be .*: File too large\n$")
        self.assertEqual(self.names(), ["points.csv", "trace.csv"])


class StandardOutputTest(OutputTest):
    def test_a_closed_one_gives_its_number_to_no_file(self):
        points = self.write("points.csv", POINTS)
        flags = ["knn", "--points", points, "--graph", "-k", 1, "--engine", "cpu", "--out-ids",
                 "x.npy"]
        done = self.run_program(*flags, "--out", "-", status=1, preexec_fn=lambda: os.close(1))
        self.assertRegex(done.stderr, "^starling: the standard output cannot be .*: "
                         "Bad file descriptor\n$")
        self.assertEqual(self.names(), ["points.csv"])
        self.run_program(*flags, preexec_fn=lambda: os.closerange(0, 2))
        whole = (self.folder / "x.npy").read_bytes()
        self.run_program(*flags, preexec_fn=lambda: os.closerange(0, 3))
        self.assertEqual((self.folder / "x.npy").read_bytes(), whole)

    def test_what_cannot_be_printed_is_said(self):
        run = ["simulate", "--drivers", 20, "--rate", 900, "--side-km", 4, "--for", "5m", "--engine",
               "cpu", "--out"]
        self.run_program(*run, "a")
        for arguments in [["simulate", "--compare", "a", "a"], ["info"], ["--help"], ["--version"],
                          ["knn", "--help"]]:
            with self.subTest(arguments), open("/dev/full", "w") as full:
                done = self.run_program(*arguments, status=1, stdout=full)
                # If the program flushed the output before its end, the reason is lost: the error is then
                # "Input/output error".
                self.assertRegex(done.stderr, "^starling: the standard output cannot be written: "
                                 "(No space left on device|Input/output error)\n$")

    def test_a_closed_one_that_is_not_used_is_no_error(self):
        self.run_program("convert", self.trace(), "--to", "csv", "--out", "o.csv",
                         preexec_fn=lambda: os.close(1))
        self.assertEqual(len((self.folder / "o.csv").read_text().splitlines()), 4)


if __name__ == "__main__":
    unittest.main()
