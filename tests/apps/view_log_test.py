# SPDX-License-Identifier: Apache-2.0
"""Runs `starling view --journal` on the log of a server whose objects changed at random, and compares the
objects that it shows at each moment with the server's answers at that moment. Run by ctest with the path of
the program as the only argument."""

import json
import random
import signal
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from server_case import PATIENCE_S, LineReader, ServerCase

ServerCase.program = sys.argv.pop()
# A row may have the number of an object instead of its name.
NUMBERS = {"taxi-1": "8998043316866022527", "taxi-2": "6710152465749322355", "taxi-3": "14691719936565251809",
           "bus \N{SNOWMAN}": "11765753525736067306"}
OBJECTS = ["7", "12", *NUMBERS]
TTL_US = 1_000_000


class ViewLogTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"

    def ask(self, method, path, body=None):
        """Returns the JSON that the server or view answers, or None for 404."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.page + urllib.parse.quote(path, safe="/?=&"), data,
                                         {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 404, error.read())
            return None

    def tick_us(self):
        return self.ask("GET", "v1/neighbors?k=1&x=0&y=0")["time_us"]

    def later_tick_us(self):
        begin_us = self.tick_us()
        while self.tick_us() < begin_us + 40_000:
            time.sleep(0.01)
        return self.tick_us()

    def objects(self):
        return {name: self.ask("GET", "v1/objects/" + name) for name in OBJECTS}

    def record(self, *more, rounds=30, rows=()):
        """Puts rows into a server, changes objects at random, and ends the server. Returns the server's
        objects by the time of each tick."""
        server = self.serve("--journal", self.log, "--tick", "20ms", "--durability", "tick", *more)
        self.page = f"http://{self.endpoints['http']}/"
        chance = random.Random(1)
        held = {}
        for row in rows:
            self.ask("POST", "v1/objects", [row])
        for _ in range(rounds):
            for name in chance.sample(OBJECTS, 3):
                if chance.random() < 0.3:
                    self.ask("DELETE", "v1/objects/" + name)
                else:
                    row = {"id": chance.choice([name, NUMBERS.get(name, name)]), "x": chance.randrange(1000), "y": chance.randrange(1000)}
                    if chance.random() < 0.5:
                        row["tags"] = chance.randrange(16)
                    if chance.random() < 0.2:
                        row["time"] = self.tick_us() - chance.randrange(2 * TTL_US)
                    self.ask("POST", "v1/objects", [row])
            now = self.objects()
            held[self.later_tick_us()] = now  # the tick has all changes so far, and no later one
        self.end(server, signal.SIGTERM)
        return held

    def begin(self, *more):
        view = subprocess.Popen([self.program, "view", "--journal", self.log, "--http", "127.0.0.1:0", *more],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(view.stdout.close)
        self.addCleanup(self.end, view)
        self.page = LineReader(view.stdout).line()
        self.assertRegex(self.page, r"^http://127\.0\.0\.1:\d+/$")

    def go_to(self, tick_us):
        self.ask("PUT", "v1/playback", {"time": tick_us, "paused": True})
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                if self.tick_us() == tick_us:
                    return
            except OSError:  # one server has ended and the next one has not begun
                pass
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def expect(self, held, tick_us, object_ttl_us=1 << 60):
        self.go_to(tick_us)
        alive = {name: row and (row if row["time_us"] >= tick_us - object_ttl_us else None)
                 for name, row in held[tick_us].items()}
        self.assertEqual(self.objects(), alive)

    def test_each_moment_has_the_objects_that_the_server_had(self):
        held = self.record()
        nameless = sum(row is not None and "name" not in row and name in NUMBERS
                       for now in held.values() for name, row in now.items())
        self.assertGreater(nameless, 0)
        gone = sum(row is None for now in held.values() for row in now.values())
        self.assertGreater(gone, 10)
        self.assertGreater(len(held) * len(OBJECTS) - gone, 50)
        self.begin()
        for tick_us in held:
            self.expect(held, tick_us)
        for tick_us in random.Random(2).sample(sorted(held), 5):
            self.expect(held, tick_us)

    def test_objects_that_were_forgotten_are_back_with_older_rows(self):
        held = self.record("--tombstone-ttl", "0s", rounds=60)
        times = {}
        returned = 0
        for now in held.values():
            for name, row in now.items():
                if row:
                    returned += row["time_us"] < times.get(name, 0)
                    times[name] = row["time_us"]
        self.assertGreater(returned, 0)
        self.begin()
        for tick_us in list(held)[::3]:
            self.expect(held, tick_us)
        self.go_to(min(held))
        self.expect(held, max(held))

    def test_objects_that_expired_are_gone(self):
        held = self.record("--object-ttl", "1s")
        self.begin()
        for tick_us in held:
            self.expect(held, tick_us, TTL_US)

    def test_it_begins_with_a_snapshot_and_plays_between_from_and_until(self):
        held = self.record(rounds=3, rows=[{"id": "depot", "x": 5, "y": 6}])
        self.run_program("journal", "compact", self.log)
        later = self.record(rounds=6)
        ticks = sorted(later)
        self.begin("--from", str(ticks[1]), "--until", str(ticks[-2]))
        state = self.ask("GET", "v1/playback")
        self.assertEqual((state["begin_us"], state["end_us"]), (ticks[1], ticks[-2]))
        for tick_us in ticks[1:-1]:
            self.expect(later, tick_us)
        depot = self.ask("GET", "v1/objects/depot")
        self.assertEqual((depot["name"], depot["x"], depot["y"]), ("depot", 5, 6))
        self.assertGreater(ticks[0], max(held))

    def test_it_plays_beside_the_server_that_writes_the_log(self):
        held = self.record(rounds=3)
        self.serve("--journal", self.log, "--tick", "20ms")
        self.begin()
        for tick_us in held:
            self.expect(held, tick_us)

    def test_wrong_usage_is_said(self):
        self.record(rounds=1)
        for arguments, status, sentence in (
                (["--journal", self.folder], 1, "no log"),
                (["--journal", self.log, "trace.csv"], 2, "trace excludes --journal"),
                (["--journal", self.log, "--tick", "1s"], 2, "--tick"),
                (["--journal", self.log, "--from", "2100-01-01T00:00:00Z"], 1, "no tick of the log is between"),
                ([], 2, "give a trace, or the folder of a server's log with --journal")):
            self.assertIn(sentence, self.run_program("view", *arguments, status=status).stderr)
        vectors = self.folder / "vectors"
        self.end(self.serve("--journal", vectors, "--space", "vector:4"))
        self.assertIn("starling replay --journal", self.run_program("view", "--journal", vectors, status=1).stderr)


if __name__ == "__main__":
    unittest.main()
