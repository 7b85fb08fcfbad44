# SPDX-License-Identifier: Apache-2.0
"""Runs `starling subscribe` as a program against real servers: what it prints, and that it survives and
reports the restart of a server. Run by ctest with the path of the program as the only argument."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from server_case import PATIENCE_S, LineReader

PROGRAM = sys.argv.pop()
CSV_HEAD = "tick,time_us,query_id,rank,object_id,distance_m"


class SubscribeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.time_s = 0

    def start(self, *arguments):
        process = subprocess.Popen(
            [PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    def end(self, process, number=signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
        status = process.wait(PATIENCE_S)
        process.stdout.close()
        process.stderr.close()
        return status

    def serve(self, commands="tcp://127.0.0.1:*", results="tcp://127.0.0.1:*"):
        path = os.path.join(self.folder.name, "endpoints.json")
        if os.path.exists(path):
            os.remove(path)
        server = self.start("serve", "--tick", "manual", "--commands", commands, "--results",
                            results, "--http", "127.0.0.1:0", "--endpoints-file", path,
                            "--log-level", "error")
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(path):
            self.assertIsNone(server.poll(), "the server ended")
            self.assertLess(time.monotonic(), deadline, "the server does not start")
            time.sleep(0.01)
        with open(path) as file:
            self.endpoints = json.load(file)
        return server

    def connect(self):
        return ["--connect", self.endpoints["commands"], "--results", self.endpoints["results"]]

    def subscribe(self, *more):
        process = self.start("subscribe", "pairs", *self.connect(), *more)
        return process, LineReader(process.stdout), LineReader(process.stderr)

    def replay(self, distance_m, ids=("1", "2"), more=()):
        """Replays ten ticks of two objects, later in time than all earlier replays."""
        path = os.path.join(self.folder.name, "trace.csv")
        with open(path, "w") as file:
            file.write("id,t,x,y\n")
            for _ in range(10):
                self.time_s += 1
                file.write(f"{ids[0]},{self.time_s},0,0\n"
                           f"{ids[1]},{self.time_s},{distance_m + self.time_s},0\n")
        subprocess.run([PROGRAM, "replay", path, "--columns", "id=id,time=t,x=x,y=y", "--queries",
                        "all", "--tick", "1s", "--stream", "pairs", *self.connect(), *more],
                       check=True, timeout=PATIENCE_S, capture_output=True)

    def replay_until(self, lines, text, distance_m):
        """Replays until a line with `text` comes, and returns that line. A replay that runs before the
        subscriber has joined, or joined again, does not reach the subscriber, so several replays may be
        needed."""
        for _ in range(200):
            self.replay(distance_m)
            while (line := lines.line(timeout_s=0.2)) is not None:
                if text in line:
                    return line
        self.fail(f"'{text}' never comes")

    def line_with(self, lines, text):
        while True:
            line = lines.line()
            self.assertIsNotNone(line, f"'{text}' is never said")
            if text in line:
                return line

    def test_ndjson_begins_with_everything_held(self):
        self.serve()
        subscriber, lines, _ = self.subscribe("--format", "ndjson")
        first = json.loads(self.replay_until(lines, "", 100))
        self.assertEqual(first["event"], "whole")
        self.replay(100)
        one = json.loads(self.line_with(lines, '"subject":"1","neighbors":[{'))
        self.assertEqual(one["neighbors"][0]["object"], "2")
        self.assertEqual(one["neighbors"][0]["distance_m"], 100 + one["time_us"] / 1_000_000)
        self.assertEqual(self.end(subscriber, signal.SIGTERM), 0)

    def test_the_lists_of_a_chosen_subject_alone_are_shown(self):
        self.serve()
        subscriber, lines, _ = self.subscribe("--format", "ndjson", "--subject", "2")
        first = json.loads(self.replay_until(lines, "", 100))
        self.assertEqual(first["event"], "whole")
        for _ in range(5):
            self.replay(100)
        for _ in range(5):
            self.assertIn('"subject":"2"', self.line_with(lines, '"neighbors":[{'))
        self.assertEqual(self.end(subscriber, signal.SIGTERM), 0)

    def test_csv_has_the_one_format_and_ticks_ends_it(self):
        self.serve()
        subscriber, lines, _ = self.subscribe("--format", "csv", "--ticks", "5")
        self.assertEqual(self.replay_until(lines, "", 100), CSV_HEAD + ",subject")
        self.replay(100)
        self.assertEqual(subscriber.wait(PATIENCE_S), 0)
        row = lines.line().split(",")
        self.assertEqual(row[2:5], ["0", "1", "2"])
        self.assertEqual(row[5:], [f"{100 + int(row[1]) // 1_000_000}.000", "1"])

    def test_exact_csv_has_no_rounded_distances(self):
        self.serve()
        subscriber, lines, _ = self.subscribe("--format", "csv", "--exact", "--ticks", "5")
        self.replay_until(lines, "", 100.01)
        self.replay(100.01)
        self.assertEqual(subscriber.wait(PATIENCE_S), 0)
        row = lines.line().split(",")
        units = 10_001 + int(row[1]) // 10_000
        self.assertEqual(float(row[5]), units * 0.01)
        self.assertIn(".", row[5])
        self.assertEqual(self.start("subscribe", "pairs", "--exact").wait(PATIENCE_S), 2)

    def test_csv_and_ndjson_and_the_table_show_a_list_that_became_empty(self):
        self.serve()
        near = ("--distance-max", "150")
        self.replay(100, more=near)
        subscriber, lines, _ = self.subscribe("--format", "csv")
        self.assertEqual([lines.line() for _ in range(2)],
                         [CSV_HEAD + ",subject", "10,10000000,0,1,2,110.000,1"])
        other, objects, _ = self.subscribe("--format", "ndjson")
        self.line_with(objects, '"neighbors":[{"object":"2"')
        self.replay(200, more=near)
        self.assertEqual(self.line_with(lines, ",0,0,"), "11,11000000,0,0,,,1")
        self.assertEqual(lines.line(), "11,11000000,0,0,,,2")
        self.line_with(objects, '"query":"0","subject":"1","neighbors":[]')
        table, shown, _ = self.subscribe("--refresh", "1ms")
        self.assertEqual(self.line_with(shown, f"{'1':22}-").split(), ["0", "1", "-"])
        for process in subscriber, other, table:
            self.assertEqual(self.end(process, signal.SIGTERM), 0)

    def test_csv_and_ndjson_tell_a_removed_list_from_an_empty_one(self):
        self.serve()
        self.replay(100, more=("--distance-max", "5"))
        subscriber, lines, _ = self.subscribe("--format", "csv")
        self.assertEqual([lines.line() for _ in range(3)],
                         [CSV_HEAD + ",subject", "10,10000000,0,0,,,1", "10,10000000,0,0,,,2"])
        other, objects, _ = self.subscribe("--format", "ndjson")
        self.line_with(objects, '"subject":"2","neighbors":[]')
        subprocess.run([PROGRAM, "remove", "query", "pairs", "0", *self.connect()[:2]], check=True,
                       timeout=PATIENCE_S, capture_output=True)
        path = os.path.join(self.folder.name, "other.csv")
        with open(path, "w") as file:
            file.write("id,time,x,y\n1,11,0,0\n")
        subprocess.run([PROGRAM, "replay", path, "--stream", "other", "--tick", "1s", *self.connect()],
                       check=True, timeout=PATIENCE_S, capture_output=True)
        self.assertEqual([lines.line() for _ in range(2)], ["11,11000000,0,,,,1", "11,11000000,0,,,,2"])
        self.line_with(objects, '"event":"removed","query":"0"')
        for process in subscriber, other:
            self.assertEqual(self.end(process, signal.SIGTERM), 0)

    def test_on_an_idle_server_what_is_held_shows_at_once(self):
        self.serve()
        self.replay(100)  # no tick follows
        subscriber, lines, _ = self.subscribe("--format", "ndjson")
        whole = json.loads(lines.line())
        self.assertEqual((whole["event"], whole["tick"], whole["lists"]), ("whole", 10, 2))
        self.assertEqual(json.loads(lines.line())["neighbors"],
                         [{"object": "2", "distance_m": 110}])
        self.assertEqual(self.end(subscriber, signal.SIGTERM), 0)
        subscriber, lines, _ = self.subscribe("--format", "csv", "--ticks", "1")
        self.assertEqual([lines.line() for _ in range(3)],
                         [CSV_HEAD + ",subject", "10,10000000,0,1,2,110.000,1",
                          "10,10000000,0,1,1,110.000,2"])
        self.assertEqual(subscriber.wait(PATIENCE_S), 0)
        subscriber, lines, _ = self.subscribe()
        self.assertIn("pairs  tick 10", lines.line())
        self.assertEqual(self.line_with(lines, "2 (110.0)").split(), ["0", "1", "2", "(110.0)"])

    def test_a_query_that_the_stream_does_not_have_is_said_and_waited_for(self):
        self.serve()
        self.replay(100)
        subscriber, lines, said = self.subscribe("--query", "0", "--query", "999", "--format",
                                                 "ndjson")
        self.assertEqual(said.line(), "starling subscribe: the stream 'pairs' has no list of query "
                         "'999' yet; still listening")
        self.replay_until(lines, '"event":"updated"', 200)
        self.assertIsNone(subscriber.poll())
        self.assertEqual(self.end(subscriber, signal.SIGTERM), 0)

    def test_text_ids_are_shown_by_their_names(self):
        self.serve()
        self.replay(100, ids=("tram 7", "bus"))
        subscriber, lines, _ = self.subscribe("--format", "csv", "--ticks", "1")
        self.assertEqual([lines.line() for _ in range(3)],
                         [CSV_HEAD + ",subject", "10,10000000,0,1,tram 7,110.000,bus",
                          "10,10000000,0,1,bus,110.000,tram 7"])
        subscriber, lines, _ = self.subscribe("--format", "ndjson")
        line = json.loads(self.line_with(lines, '"subject_name":"bus"'))
        self.assertEqual(line["neighbors"][0]["name"], "tram 7")
        subscriber, lines, _ = self.subscribe()
        self.line_with(lines, "tram 7                bus (110.0)")

    def test_a_replay_into_a_server_names_objects_that_others_put_there(self):
        self.serve()
        self.replay(100, ids=("tram 7", "bus"))
        out = os.path.join(self.folder.name, "out.csv")
        self.replay(100, ids=("car", "van"), more=("--out", out))
        with open(out) as file:
            self.assertIn(",tram 7,", file.read())

    def test_a_servers_restart_is_survived_and_said(self):
        server = self.serve()
        subscriber, lines, said = self.subscribe("--format", "ndjson")
        self.replay_until(lines, '"neighbors":[{', 100)
        self.assertEqual(self.end(server, signal.SIGTERM), 0)

        self.serve(self.endpoints["commands"], self.endpoints["results"])
        self.time_s = 0
        self.replay_until(said, "restarted", 500)
        self.replay(500)
        while True:
            line = json.loads(self.line_with(lines, '"subject":"1","neighbors":[{'))
            if line["neighbors"][0]["distance_m"] == 500 + line["time_us"] / 1_000_000:
                break
        self.assertEqual(self.end(subscriber, signal.SIGINT), 0)

    def test_an_unreachable_server_is_said_and_sigterm_still_ends_it(self):
        server = self.serve()
        self.end(server, signal.SIGTERM)
        subscriber, _, said = self.subscribe()
        self.line_with(said, "Nothing listens at")
        self.assertEqual(self.end(subscriber, signal.SIGTERM), 0)

    def test_connect_alone_suffices(self):
        self.serve()
        subscriber = self.start("subscribe", "pairs", *self.connect()[:2], "--format", "ndjson")
        self.replay_until(LineReader(subscriber.stdout), '"neighbors":[{', 100)
        self.assertEqual(self.end(subscriber, signal.SIGINT), 0)

    def test_another_servers_results_are_said_and_the_lists_still_follow(self):
        self.serve()
        other = self.endpoints["results"]
        self.serve()
        self.replay(100)
        subscriber = self.start("subscribe", "pairs", *self.connect()[:2], "--results", other,
                                "--format", "ndjson")
        lines, said = LineReader(subscriber.stdout), LineReader(subscriber.stderr)
        self.line_with(lines, f'"distance_m":{100 + self.time_s}')
        self.replay(300)
        self.assertIn(f"none comes from {other}; it says that its results listen on "
                      f"{self.endpoints['results']}.", self.line_with(said, "none comes from"))
        self.line_with(lines, f'"distance_m":{300 + self.time_s}')
        self.assertEqual(self.end(subscriber, signal.SIGINT), 0)

    def test_what_is_no_endpoint_is_named(self):
        self.serve()
        flags = self.connect()
        for command in (["subscribe", "pairs", "--connect", "nonsense"],
                        ["subscribe", "pairs", *flags[:2], "--results", "nonsense"],
                        ["info", "--connect", "nonsense"]):
            done = subprocess.run([PROGRAM, *command], capture_output=True, text=True,
                                  timeout=PATIENCE_S)
            self.assertEqual((done.returncode, done.stderr),
                             (1, "starling: cannot connect to 'nonsense': Invalid argument; an "
                              "endpoint looks like tcp://127.0.0.1:7411\n"), command)

    def test_wrong_usage_exits_2(self):
        for arguments in ([], ["pairs", "--format", "xml"], ["pairs", "--refresh", "often"]):
            process = self.start("subscribe", *arguments)
            self.assertEqual(process.wait(PATIENCE_S), 2, arguments)


if __name__ == "__main__":
    unittest.main(verbosity=2)
