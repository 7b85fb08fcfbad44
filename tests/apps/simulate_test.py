# SPDX-License-Identifier: Apache-2.0
"""`starling simulate` as a program: the same bytes on every engine, wrong usage in one sentence, a full
disk, the trace, the comparison, and what the report holds with and without the live page. Run by ctest
with the path of the program as the only argument."""

import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from folder_case import FolderCase, limit_file_size

PROGRAM = sys.argv.pop()
PATIENCE_S = 120  # how long anything may take before its test fails
SMALL = ["--drivers", "80", "--rate", "900", "--side-km", "4", "--for", "10m", "--engine", "cpu"]
SAME_FILES = ["rides.csv", "periods.csv", "summary.json", "report.html"]
ALL_FILES = sorted(SAME_FILES + ["timings.csv", "timings.json"])


def give_up_override():
    """Called in a child process: makes file permissions apply, even if the process runs as root."""
    drop_from_bounding_set, override_permissions = 24, 1
    if ctypes.CDLL(None).prctl(drop_from_bounding_set, override_permissions, 0, 0, 0) != 0 and (
            os.geteuid() == 0):
        raise OSError("root's privileges cannot be given up")


class SimulateTest(FolderCase):
    def simulate(self, *arguments, status=0, **options):
        done = subprocess.run([PROGRAM, "simulate", *map(str, arguments)], capture_output=True,
                              text=True, timeout=PATIENCE_S, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def run_into(self, name, *arguments, **options):
        out = self.folder / name
        self.simulate("--out", out, *SMALL, *arguments, **options)
        return out

    def texts(self, out):
        return {name: (out / name).read_text() for name in SAME_FILES}

    def serve(self, *more):
        endpoints = self.folder / "endpoints.json"
        server = subprocess.Popen(
            [PROGRAM, "serve", "--tick", "manual", "--commands", "tcp://127.0.0.1:*", "--results",
             "tcp://127.0.0.1:*", "--http", "127.0.0.1:0", "--endpoints-file", str(endpoints),
             "--log-level", "error", *more], stderr=subprocess.DEVNULL)

        def end():
            server.kill()
            server.wait(PATIENCE_S)
            endpoints.unlink()
        self.addCleanup(end)
        deadline = time.monotonic() + PATIENCE_S
        while not endpoints.exists():
            self.assertIsNone(server.poll(), "the server ended")
            self.assertLess(time.monotonic(), deadline, "the server does not start")
            time.sleep(0.01)
        found = json.loads(endpoints.read_text())
        return ["--connect", found["commands"], "--results", found["results"]]

    def test_one_and_two_threads_and_a_server_give_the_same_bytes(self):
        for policy in ["nearest", "batch"]:
            first = self.texts(self.run_into("one", "--policy", policy, "--threads", 1))
            self.assertEqual(
                self.texts(self.run_into("two", "--policy", policy, "--threads", 2)), first)
        self.assertEqual(self.texts(self.run_into("served", "--policy", "batch", *self.serve())),
                         first)
        self.assertNotEqual(self.texts(self.run_into("other", "--policy", policy, "--seed", 2)),
                            first)

    def test_a_speed_takes_its_time_and_changes_nothing(self):
        first = self.texts(self.run_into("max"))
        begin = time.monotonic()
        paced = self.run_into("paced", "--speed", 20000)
        elapsed_s = time.monotonic() - begin
        self.assertEqual(self.texts(paced), first)
        times_us = [int(line.split(",")[0])
                    for line in (paced / "periods.csv").read_text().splitlines()[1:]]
        self.assertGreaterEqual(elapsed_s, (times_us[-1] - times_us[0]) / 1e6 / 20000)

    def write_policy(self, text):
        policy = self.folder / "policy.py"
        policy.write_text(text)
        return ["--policy", "command", "--policy-command", f"'{sys.executable}' '{policy}'"]

    def test_the_policy_of_the_documentation_decides_like_nearest(self):
        page = pathlib.Path(__file__).parents[2] / "docs" / "simulate.md"
        code = re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL).group(1)
        few = ["--k", "2", "--k-max", "16"]  # so that lists are widened
        own = self.texts(self.run_into("own", *few, *self.write_policy(code)))
        nearest = self.texts(self.run_into("nearest", *few, "--policy", "nearest"))
        for name in ["rides.csv", "periods.csv"]:
            self.assertEqual(own[name], nearest[name])
        widened = nearest["periods.csv"].splitlines()[0].split(",").index("lists_widened")
        self.assertGreater(
            sum(int(row.split(",")[widened]) for row in nearest["periods.csv"].splitlines()[1:]), 0)

    def test_a_policy_that_errs_ends_the_run_with_a_sentence(self):
        for answer, sentence in [
                ("pass", "the program ended before"),
                ("print('hello')", "is no JSON object: hello"),
                ("print('{\"offers\":[[999999,0]]}')", "ride 999999 does not wait"),
                ("print('{\"offers\":[3]}')", r"an offer must be \[RIDE, DRIVER\]"),
                ("print('{\"offers\":7}')", '"offers" must be an array'),
                ("print('{\"uncertain\":[-1]}')", "no whole number"),
                ("r = q['riders'][0]['ride']; print(json.dumps({'offers': [[r, 1000000]]}))",
                 "not among the rider's candidates")]:
            with self.subTest(answer):
                flags = self.write_policy("import json\nimport sys\nwhile line := sys.stdin.readline():\n"
                                          "    q = json.loads(line)\n"
                                          f"    {answer}\n    sys.stdout.flush()\n" if answer != "pass"
                                          else "pass\n")
                done = self.simulate("--out", self.folder / "wrong", *SMALL, *flags, status=1)
                self.assertRegex(done.stderr, rf"starling: --policy-command: .*{sentence}")

    def test_a_policy_command_needs_its_policy(self):
        for flags, sentence in [(["--policy", "command"], "add --policy-command"),
                                (["--policy-command", "cat"], "is a flag for --policy command")]:
            done = self.simulate("--out", self.folder / "wrong", *SMALL, *flags, status=2)
            self.assertIn(sentence, done.stderr)

    def test_a_server_of_others_is_refused(self):
        connect = self.serve()
        self.run_into("first", *connect)
        done = self.simulate("--out", self.folder / "again", *SMALL, *connect, status=1)
        self.assertRegex(done.stderr, r"^starling: .*\n$")

    def test_a_server_with_too_little_room_is_named_with_its_limit(self):
        done = self.simulate("--out", self.folder / "full", *SMALL,
                             *self.serve("--objects-max", "50"), status=1)
        self.assertRegex(done.stderr, r"^starling: the server at \S+ rejects 30 of the positions: "
                         r".*; its limit is objects-max \(50\)\n$")

    def test_what_is_no_endpoint_is_named(self):
        for flags in (["--connect", "nonsense"], [*self.serve()[:2], "--results", "nonsense"]):
            done = self.simulate("--out", self.folder / "x", *SMALL, *flags, status=1)
            self.assertEqual(done.stderr, "starling: cannot connect to 'nonsense': Invalid argument; "
                             "an endpoint looks like tcp://127.0.0.1:7411\n")

    def test_whoever_subscribes_sees_the_riders(self):
        connect = self.serve()
        out = self.folder / "watched"
        watcher = subprocess.Popen([PROGRAM, "subscribe", "riders", *connect, "--format", "csv"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(watcher.stdout.close)
        # The stream exists while the simulation runs. That is long enough for the watcher to find
        # the stream.
        self.simulate("--out", out, "--drivers", 80, "--rate", 900, "--side-km", 4, "--for", "3h",
                      "--engine", "cpu", *connect)
        give_up = threading.Timer(PATIENCE_S, watcher.kill)
        give_up.start()
        self.addCleanup(give_up.cancel)
        line = next((line for line in watcher.stdout
                     if re.match(r"\d+,\d+,\d+,1,\d+,", line)), None)
        watcher.kill()
        self.assertIsNotNone(line, "the watcher saw no rider")
        watcher.wait(PATIENCE_S)
        ride, driver = line.split(",")[2], line.split(",")[4]
        rides = (out / "rides.csv").read_text().splitlines()
        self.assertTrue(rides[int(ride)].startswith(ride + ","))
        self.assertLessEqual(int(driver), 80)

    def test_every_file_is_there_and_nothing_else(self):
        out = self.run_into("run")
        self.assertEqual(sorted(os.listdir(out)), ALL_FILES)
        summary = json.loads((out / "summary.json").read_text())
        results = summary["results"]
        rides = (out / "rides.csv").read_text().splitlines()[1:]
        self.assertEqual(len(rides), results["requests"])
        states = [ride.split(",")[2] for ride in rides]
        self.assertEqual(states.count("dropped_off"), results["served"])
        self.assertEqual(states.count("gave_up"), results["cancelled"])
        self.assertEqual(set(states) - {"dropped_off", "gave_up"}, set())
        timings = json.loads((out / "timings.json").read_text())
        self.assertAlmostEqual(sum(timings[part + "_share"] for part in
                                   ["engine", "dispatch", "movement", "other"]), 1, places=2)

    def test_a_full_disk_leaves_the_old_run(self):
        out = self.run_into("run")
        before = {name: (out / name).read_text() for name in ALL_FILES}
        done = self.simulate("--out", out, *SMALL, "--seed", 5, status=1,
                             preexec_fn=limit_file_size(20_000))
        self.assertRegex(done.stderr, r"^starling: .*rides\.csv cannot be .*: File too large\n$")
        self.assertEqual({name: (out / name).read_text() for name in ALL_FILES}, before)
        self.assertEqual(sorted(os.listdir(out)), ALL_FILES)

    def test_a_full_disk_under_the_trace_leaves_the_old_run(self):
        out = self.run_into("run")
        before = {name: (out / name).read_text() for name in ALL_FILES}
        for trace in ["/dev/full", "/dev/stdout"]:
            with open("/dev/full", "w") as full:
                done = subprocess.run(
                    [PROGRAM, "simulate", "--out", out, *SMALL, "--seed", "5", "--trace-out", trace],
                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr,
                             rf"^starling: {trace} cannot be .*: No space left on device\n$")
        self.assertEqual({name: (out / name).read_text() for name in ALL_FILES}, before)
        self.assertEqual(sorted(os.listdir(out)), ALL_FILES)

    def listing(self):
        return sorted((str(path), path.is_dir() or path.read_text())
                      for path in self.folder.rglob("*"))

    # The file of requests is missing too. But the program opens its outputs before it reads its inputs.
    def test_outputs_that_cannot_be_made_are_found_first(self):
        try:
            subprocess.run(["true"], preexec_fn=give_up_override)
        except subprocess.SubprocessError:
            self.skipTest("root here may write everywhere")
        for name in ["file", "taken/report.html/x", "locked/rides.csv", "plain/rides.csv"]:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text("old")
        (self.folder / "locked").chmod(0o555)
        remedy = "; name a new folder, or one that you may write to"
        trace_remedy = "; name a file that you may write"
        good = ["--out", self.folder / "new"]
        for flag, name, why, what_to_do in [
            ("--out", "file", ": the folder cannot be created: ", remedy),
            ("--out", "file/x/y", ": the folder cannot be created: ", remedy),
            ("--out", "locked", "/rides.csv cannot be opened: Permission denied", remedy),
            ("--out", "locked/x", ": the folder cannot be created: Permission denied", remedy),
            ("--out", "new/" + 300 * "x", ": the folder cannot be created: File name too long",
             remedy),
            ("--out", "taken", "/report.html cannot be opened: Is a directory", remedy),
            ("--trace-out", "nowhere/trace.csv", " cannot be opened: No such file", trace_remedy),
            ("--trace-out", "file/trace.csv", " cannot be opened: Not a directory", trace_remedy),
            ("--trace-out", "taken", " cannot be opened: Is a directory", trace_remedy),
            ("--trace-out", "locked/trace.csv.gz", " cannot be opened: Permission denied",
             trace_remedy),
        ]:
            with self.subTest(flag=flag, name=name):
                before = self.listing()
                arguments = [*(good if flag == "--trace-out" else []), flag, self.folder / name]
                done = self.simulate(*arguments, "--requests", "nowhere.csv", status=1,
                                     preexec_fn=give_up_override)
                self.assertRegex(done.stderr, "^starling: " + re.escape(
                    f"{flag}: {self.folder / name}{why}") + ".*" + re.escape(what_to_do) + r"\n$")
                self.assertEqual(self.listing(), before)

    def test_an_error_in_the_inputs_leaves_no_trace(self):
        out = self.run_into("run")
        before = self.listing()
        for arguments in [["--requests", "nowhere.csv"], ["--world", "nowhere.net.xml"],
                          ["--connect", "tcp://127.0.0.1:1", "--connect-timeout", "100ms"],
                          ["--compare", out, "nowhere"]]:
            for folder in [out, self.folder / "new", self.folder / "new" / "deep" / "er"]:
                with self.subTest(arguments=arguments, folder=folder):
                    trace = [] if "--compare" in arguments else ["--trace-out", folder / "trace.csv"]
                    self.simulate("--out", folder, *trace, *arguments, status=1)
                    self.assertEqual(self.listing(), before)

    def test_the_trace_may_lie_in_the_new_folder(self):
        out = self.folder / "new" / "run"
        self.run_into("new/run", "--trace-out", out / "trace.csv")
        self.assertEqual(sorted(os.listdir(out)), sorted(ALL_FILES + ["trace.csv"]))

    def test_the_trace_is_no_file_of_the_run(self):
        out = self.folder / "own"
        done = self.simulate("--out", out, "--trace-out", self.folder / "own/../own/rides.csv",
                             status=2)
        self.assertIn("/own/rides.csv is a file of the run itself; name another\n", done.stderr)
        self.assertFalse(out.exists())

    def test_a_run_does_not_replace_what_it_reads(self):
        out = self.folder / "own"
        out.mkdir()
        (out / "rides.csv").write_text("old")
        done = self.simulate("--out", out, "--requests", out / "rides.csv", status=2)
        self.assertIn("is read by this run, which would replace it; name another folder", done.stderr)
        self.assertEqual((out / "rides.csv").read_text(), "old")

    def test_a_folder_is_one_runs_at_a_time(self):
        out = self.folder / "shared"
        first = subprocess.Popen([PROGRAM, "simulate", "--out", str(out), "--for", "200h",
                                  "--engine", "cpu"], stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not out.exists():
                self.assertIsNone(first.poll(), "the first run ended")
                self.assertLess(time.monotonic(), deadline, "the first run does not begin")
                time.sleep(0.01)
            time.sleep(0.5)  # until the first run has also locked the folder
            done = self.simulate("--out", out, *SMALL, status=1)
            self.assertIn(f"--out: {out} is in use by another run; wait until it ends, or name "
                          "another folder", done.stderr)
            self.assertIsNone(first.poll())
        finally:
            first.terminate()
            first.wait(PATIENCE_S)
        self.simulate("--out", out, *SMALL)

    def test_the_trace_is_one_that_replay_reads(self):
        trace = self.folder / "movement.csv.gz"
        self.run_into("run", "--trace-out", trace)
        lists = self.folder / "lists.csv"
        done = subprocess.run([PROGRAM, "replay", trace, "--tick", "2s", "--k", "3", "--out", lists],
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"objects +80\n")
        self.assertRegex(done.stderr, r"skipped +0\n")
        self.assertGreater(lists.stat().st_size, 100_000)

    def test_roads_and_pick_up_times(self):
        grid = self.run_into("grid", "--world", "grid", "--block-m", 250, "--policy", "batch-time")
        results = json.loads((grid / "summary.json").read_text())["results"]
        self.assertGreater(results["served"], 50)
        self.assertEqual(results["periods_uncertain"], 0)

    def test_whole_minutes_are_spread_unless_told_otherwise(self):
        requests = self.folder / "requests.csv"
        requests.write_text("time_us,pick_x,pick_y,drop_x,drop_y\n" + "".join(
            f"{60_000_000 * (i % 5)},{i},{i},{100 * i + 500},900\n" for i in range(100)))
        for flags, spread_s in [([], 60), (["--whole-minutes"], 0)]:
            out = self.folder / f"spread{spread_s}"
            self.simulate("--out", out, "--drivers", 20, "--engine", "cpu", "--requests", requests,
                          *flags)
            settings = json.loads((out / "summary.json").read_text())["settings"]
            self.assertEqual(settings["spread_s"], spread_s)
            times_us = [int(ride.split(",")[1])
                        for ride in (out / "rides.csv").read_text().splitlines()[1:]]
            whole = sum(time_us % 60_000_000 == 0 for time_us in times_us)
            self.assertEqual((len(times_us), whole), (100, 0 if spread_s else 100))

    def test_a_network_of_sumo(self):
        network = pathlib.Path(__file__).parents[1] / "sim" / "city" / "spider.net.xml"
        out = self.run_into("net", "--world", network, "--policy", "batch-time")
        summary = json.loads((out / "summary.json").read_text())
        self.assertIn("spider.net.xml", summary["settings"]["world"])
        self.assertGreater(summary["results"]["served"], 50)

    def test_two_runs_side_by_side(self):
        a = self.run_into("a", "--policy", "nearest", "--period", "10s")
        b = self.run_into("b", "--policy", "batch", "--period", "10s")
        done = self.simulate("--compare", a, b, "--out", self.folder / "both")
        self.assertRegex(done.stdout, r"policy +nearest +batch\n")
        self.assertRegex(done.stdout, r"wait_mean_s +[\d.]+ +[\d.]+ +[+-][\d.]+ \([+-][\d.]+ %\)")
        page = (self.folder / "both" / "compare.html").read_text()
        self.assertEqual(page.count("<svg"), 16)
        done = self.simulate("--compare", a, self.folder, status=1)
        self.assertRegex(done.stderr, r"^starling: .*summary\.json.*\n$")

    def test_wrong_usage_is_one_sentence(self):
        out = ["--out", self.folder / "x"]
        net = self.folder / "half.net.xml"
        net.write_text("<net><edge id='e' from='a' to='b'><lane speed='1' length='1'/></edge></net>")
        way = self.folder / "way.net.xml"
        way.write_text("<net><edge id='e' from='a' to='b'><lane id='e_0' index='0' speed='10' "
                       "length='100' shape='0,0 100,0'/></edge><junction id='a' x='0' y='0'/>"
                       "<junction id='b' x='100' y='0'/></net>")
        columns = "time=time,pick_x=px,pick_y=py,drop_x=dx,drop_y=dy"
        late = self.folder / "late.csv"
        late.write_text("time,px,py,dx,dy\n2013-01-01 00:00:30,0,0,100,100\n"
                        "2013-01-01 00:00:40,5,5,500,600\n")
        away = ["--requests", late, "--request-columns", columns, "--area", "1,1,2,2"]
        years = self.folder / "years.csv"
        years.write_text("time,px,py,dx,dy\n1970-01-01 00:00:01,0,0,100,100\n"
                         "2013-01-01 00:00:40,5,5,500,600\n")
        for arguments, status, sentence in [
            ([*out, "--world", way], 1, "no way leads on from its only edge 'e'"),
            ([*out, "--requests", late, "--request-columns", columns, "--for", "10s"], 2,
             "has no request in so short a time"),
            ([*out, *away], 1, "usable request; 2 rows were skipped: 2 outside the area"),
            ([*out, "--requests", years, "--request-columns", columns], 1,
             "its requests span 15706 days"),
            ([*out, "--stream", "", "--drivers", "5"], 2, "--stream: "),
            ([*out, "--rate", "nan"], 2, "--rate"),
            ([], 2, "--out: a folder is needed"),
            ([*out, "--period", "soon"], 2, "--period: 'soon' is not a positive duration"),
            ([*out, "--patience", "0s"], 2, "--patience: '0s' is not"),
            ([*out, "--answer-time", "-1s"], 2, "--answer-time: '-1s' is not"),
            ([*out, "--k", "20", "--k-max", "10"], 2, "--k-max: lists cannot be widened"),
            ([*out, "--policy", "best"], 2, "--policy"),
            ([*out, "--drivers", "0"], 2, "--drivers"),
            ([*out, "--speed", "0"], 2, "--speed: '0' is not a positive number or max"),
            ([*out, "--idle", "sleep"], 2, "--idle"),
            ([*out, "--side-km", "nan"], 2, "--side-km: nan is not a finite number"),
            ([*out, "--decline-per-km", "nan"], 2, "--decline-per-km: nan is not a finite number"),
            ([*out, "--rate", "inf"], 2, "--rate: inf is not a finite number"),
            ([*out, "--seed", "-1"], 2, "--seed: -1 is less than 0"),
            ([*out, "--area", "1,2,3"], 2, "--area is a flag for --requests"),
            ([*out, "--whole-minutes"], 2, "--whole-minutes is a flag for --requests"),
            ([*out, "--requests", "nowhere.csv", "--area", "1,2,3"], 2, "--area: '1,2,3' is not"),
            ([*out, "--requests", "nowhere.csv"], 1, "nowhere.csv"),
            ([*out, "--requests", PROGRAM], 1, "--request-columns"),
            ([*out, "--world", "nowhere.net.xml"], 1, "nowhere.net.xml"),
            ([*out, "--world", net], 1, "edge 'e' names junction 'a', which does not exist"),
            ([*out, "--world", "grid", "--largest-part"], 2, "--largest-part is a flag for"),
            ([*out, "--world", "grid", "--side-km", "900", "--block-m", "20"], 2, "--block-m: "),
            (["--out", "/dev/null/x"], 1, "--out: /dev/null/x: the folder cannot be created"),
            (["--compare", "a"], 2, "--compare"),
            ([*out, "--rate", "1e9"], 2, "--rate: that makes more than 100 million"),
            ([*out, "--period", "1us", "--for", "10m"], 2, "--period: the requests span"),
            ([*out, "--connect", "tcp://127.0.0.1:1", "--connect-timeout", "100ms"], 1, "starling: "),
        ]:
            with self.subTest(arguments=arguments):
                done = self.simulate(*arguments, status=status)
                self.assertIn(sentence, done.stderr)

    def test_a_city_of_one_block_has_a_way_for_all(self):
        self.simulate("--out", self.folder / "block", "--world", "grid", "--side-km", "0.2",
                      "--drivers", 20, "--rate", 500, "--for", "10m", "--engine", "cpu")

    def test_who_is_stopped_leaves_nothing_half_written(self):
        out = self.folder / "stopped"
        trace = self.folder / "movement.csv"
        run = subprocess.Popen([PROGRAM, "simulate", "--out", str(out), "--trace-out", str(trace),
                                "--drivers", "3000", "--rate", "20000", "--for", "20h", "--engine",
                                "cpu"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)

        deadline = time.monotonic() + PATIENCE_S
        while not self.writes(run):
            self.assertIsNone(run.poll(), "the run ended")
            self.assertLess(time.monotonic(), deadline, "the run does not begin")
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 128 + signal.SIGINT, said)
        self.assertIn("stopped before the end", said)
        self.assertEqual([path.name for path in self.folder.rglob("*") if path.is_file()], [])

    def test_who_is_stopped_while_it_prepares_ends_at_once(self):
        out = self.folder / "new"
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        run = subprocess.Popen([PROGRAM, "simulate", "--out", str(out), "--connect",
                                f"tcp://127.0.0.1:{silent.getsockname()[1]}", "--connect-timeout", "1h"],
                               stderr=subprocess.PIPE, text=True)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not out.exists():
                self.assertLess(time.monotonic(), deadline, "the run does not begin")
                time.sleep(0.01)
            run.terminate()
            _, stderr = run.communicate(timeout=10)
        finally:
            run.kill()
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)
        self.assertEqual(stderr, "starling: stopped before the end; nothing was written\n")
        self.assertFalse(out.exists())

    def test_without_the_page_the_report_has_drawings_and_fetches_nothing(self):
        alone = self.folder / "bin" / "starling"  # no page is beside this copy of the program
        alone.parent.mkdir()
        shutil.copy(PROGRAM, alone)
        out = self.folder / "run"
        subprocess.run([alone, "simulate", "--out", out, *SMALL], check=True, capture_output=True,
                       timeout=PATIENCE_S)
        text = (out / "report.html").read_text()
        self.assertNotRegex(text, r"https?://|<script>|<link|<img|<iframe|@import|url\(")
        self.assertIn("build Starling with Node.js 18", text)
        for title in ["Wait until pick-up", "Pick-up distance", "Service rate", "Utilisation",
                      "Riders waiting", "Unmet demand"]:
            self.assertIn(f'aria-label="{title}', text)
        self.assertEqual(text.count("<svg"), 8)
        self.assertGreaterEqual(text.count('<path class="line"'), 7)
        self.assertGreater(text.count('<rect class="bar"'), 5)
        self.assertGreater(text.count('<rect class="unmet"'), 1)

    def test_with_the_page_the_report_holds_its_script(self):
        alone = self.folder / "bin" / "starling"
        page = self.folder / "share" / "starling" / "page"
        for folder in (alone.parent, page):
            folder.mkdir(parents=True)
        shutil.copy(PROGRAM, alone)
        (page / "index.html").write_text("the page")
        (page / "report.js").write_text("f('</script>')")
        (page / "report.css").write_text("b{}")
        out = self.folder / "run"
        subprocess.run([alone, "simulate", "--out", out, *SMALL], check=True, capture_output=True,
                       timeout=PATIENCE_S)
        text = (out / "report.html").read_text()
        self.assertIn("<script>f('<\\/script>')</script>", text)
        self.assertIn("<style>b{}</style>", text)
        self.assertNotIn("build Starling", text)
        data = re.search(r'<script type="application/json">(.*?)</script>', text).group(1)
        self.assertEqual([plot["kind"] for plot in json.loads(data)],
                         ["lines", "bars"] * 2 + ["lines"] * 3 + ["map"])


if __name__ == "__main__":
    unittest.main()
