# SPDX-License-Identifier: Apache-2.0
"""Runs `starling view` as a program, on a terminal and without one, and sends questions to its HTTP server
while the recording is played. Run by ctest with the path of the program as the only argument."""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

from folder_case import FolderCase

PROGRAM = sys.argv.pop()
PATIENCE_S = 60
HOUR_US = 3_600_000_000
START_US = 1_772_366_400_000_000


class ViewTest(FolderCase):
    def recording(self, seconds):
        """Writes a recording. `walker` moves 1 m each second, and `post` stands where `walker` begins."""
        lines = ["id,time,x,y\n"]
        for second in range(seconds):
            lines.append(f"walker,{START_US // 1_000_000 + second},{second},0\n")
        lines.insert(1, f"post,{START_US // 1_000_000},0,0\n")
        return self.write("walk.csv", "".join(lines))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def begin(self, path, *more):
        view = subprocess.Popen([PROGRAM, "view", path, "--http", "127.0.0.1:0", *more],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, view)
        self.page = view.stdout.readline().strip()
        self.assertRegex(self.page, r"^http://127\.0\.0\.1:\d+/$")
        return view

    def end(self, view, number=signal.SIGINT):
        if view.poll() is None:
            view.send_signal(number)
        return view.communicate(timeout=PATIENCE_S)[1]

    def nearest_of_post(self):
        """Returns the answer. It has no neighbours before the recording's first tick, which adds the post."""
        try:
            with urllib.request.urlopen(self.page + "v1/neighbors?k=1&object=post", timeout=PATIENCE_S) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 404)
            with error:
                return {**json.load(error), "neighbors": []}

    def wait_for(self, met):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.nearest_of_post()
            if met(answer):
                return answer
            self.assertLess(time.monotonic(), deadline, answer)
            time.sleep(0.02)

    def test_the_server_has_the_recording_at_the_moment_that_is_played(self):
        view = self.begin(self.recording(3600), "--speed", "1000")
        answer = self.wait_for(lambda answer: answer["time_us"] > START_US + 100_000_000)
        seconds = (answer["time_us"] - START_US) / 1e6
        self.assertEqual(answer["neighbors"][0]["name"], "walker")
        self.assertAlmostEqual(answer["neighbors"][0]["distance_m"], seconds, delta=0.01)
        self.end(view)
        self.assertEqual(view.returncode, 0)

    def test_at_the_end_the_server_stays_until_a_signal(self):
        view = self.begin(self.recording(10), "--speed", "4096")
        self.assertIn("9", str(self.wait_for(
            lambda answer: answer["time_us"] == START_US + 9_000_000)["neighbors"][0]["distance_m"]))
        time.sleep(0.2)
        self.assertEqual(self.nearest_of_post()["time_us"], START_US + 9_000_000)
        self.assertIn("the recording has ended", self.end(view, signal.SIGTERM))
        self.assertEqual(view.returncode, 0)

    def change(self, change):
        request = urllib.request.Request(self.page + "v1/playback", json.dumps(change).encode(),
                                         {"Content-Type": "application/json"}, method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
            return json.load(reply)

    def test_the_recording_is_moved_paused_and_sped_up_over_http(self):
        self.begin(self.recording(7200), "--speed", "2")
        state = self.change({"time": "2026-03-01T13:00:00Z", "paused": True})
        self.assertEqual(state, {"time_us": START_US + HOUR_US, "begin_us": START_US,
                                 "end_us": START_US + 7199 * 1_000_000, "speed": 2, "paused": True})
        self.wait_for(lambda answer: answer["time_us"] == START_US + HOUR_US)
        self.change({"time": START_US + HOUR_US // 2})
        self.wait_for_back(START_US + HOUR_US // 2)
        self.change({"speed": 1000, "paused": False})
        self.wait_for(lambda answer: answer["time_us"] > START_US + HOUR_US)

    def test_keys_pause_go_back_and_end(self):
        child, terminal = pty.fork()
        if child == 0:
            os.execv(PROGRAM, [PROGRAM, "view", str(self.recording(7200)), "--http", "127.0.0.1:0",
                               "--speed", "100"])
        self.addCleanup(self.kill, child)
        self.page = re.search(r"http://127\.0\.0\.1:\d+/", self.read_until(terminal, "q ends")).group()
        os.write(terminal, b"\x1b[C" * 60)  # one hour forward
        self.wait_for(lambda answer: answer["time_us"] > START_US + HOUR_US)
        os.write(terminal, b" ")
        self.read_until(terminal, "paused")
        time.sleep(0.2)
        held = self.nearest_of_post()
        time.sleep(0.3)
        self.assertEqual(self.nearest_of_post(), held)
        os.write(terminal, b"\x1b[D" * 30)  # half an hour back: a new server begins at the same address
        self.wait_for_back(held["time_us"] - HOUR_US // 2)
        os.write(terminal, b"+")
        self.read_until(terminal, "200 times real time")
        os.write(terminal, b"q")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def wait_for_back(self, time_us):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                if abs(self.nearest_of_post()["time_us"] - time_us) < 300_000_000:
                    return
            except OSError:  # one server has ended and the next one has not begun
                pass
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def read_until(self, terminal, text):
        deadline = time.monotonic() + PATIENCE_S
        seen = ""
        while text not in seen:
            self.assertLess(time.monotonic(), deadline, seen)
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 65536).decode()
        return seen

    @staticmethod
    def kill(child):
        try:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass

    def test_roads_are_served(self):
        network = pathlib.Path(__file__).parents[1] / "sim" / "city" / "spider.net.xml"
        self.begin(self.recording(10), "--page-network", network)
        with urllib.request.urlopen(self.page + "v1/network", timeout=PATIENCE_S) as reply:
            roads = json.load(reply)
        self.assertEqual(roads["name"], "spider.net.xml")
        self.assertGreater(len(roads["lines"]), 20)
        for line in roads["lines"]:
            self.assertGreaterEqual(len(line), 4)
            self.assertEqual(len(line) % 2, 0)

    def test_roads_need_a_network_and_metres(self):
        network = pathlib.Path(__file__).parents[1] / "sim" / "city" / "spider.net.xml"
        ships = self.write("ships.csv", "id,time,lat,lon\na,1772366400,54.1,8.2\na,1772366401,54.1,8.3\n")
        for recording, roads, sentence in (
                (ships, network, "--page-network: a SUMO network is in metres"),
                (self.recording(3), "absent.net.xml", "absent.net.xml"),
                (self.recording(3), self.recording(3), "walk.csv")):
            done = subprocess.run([PROGRAM, "view", recording, "--page-network", roads, "--http",
                                   "127.0.0.1:0"], capture_output=True, text=True, timeout=PATIENCE_S,
                                  stdin=subprocess.DEVNULL)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(sentence, done.stderr)

    def test_wrong_usage_is_said(self):
        for arguments, sentence in (
                (["absent.csv"], "absent.csv"),
                ([self.recording(3), "--speed", "0"], "--speed"),
                ([self.recording(3), "--http", "7413"], '"7413" is not HOST:PORT'),
                ([self.write("empty.csv", "id,time,x,y\n")], "there is nothing to view")):
            done = subprocess.run([PROGRAM, "view", *map(str, arguments)], capture_output=True, text=True,
                                  timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
