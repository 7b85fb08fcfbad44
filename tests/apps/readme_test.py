# SPDX-License-Identifier: Apache-2.0
"""Runs the `starling` commands of README.md's first sections as they stand there, but on free ports and at
full speed. Run by ctest with the paths of the program and of the source folder as the only arguments."""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import time
import unittest

from server_case import ServerCase

SOURCE = pathlib.Path(sys.argv.pop())
PROGRAM = ServerCase.program = sys.argv.pop()
PATIENCE_S = 60


def lines_of(heading):
    """Returns the lines of the section's code blocks."""
    section = (SOURCE / "README.md").read_text().split("## " + heading)[1].split("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return "".join(blocks).replace("\\\n", " ").splitlines()


def commands():
    """Returns the commands of the section, in order, each as a list of arguments."""
    lines = lines_of("Two commands")
    return [shlex.split(line)[1:] for line in lines if line.startswith("starling ")]


class ReadmeTest(ServerCase):
    def in_source(self, arguments):
        return [str(SOURCE / word) if word.startswith("data/") else word for word in arguments]

    def test_the_replay_without_a_server_writes_its_file(self):
        replay, *_ = commands()
        out = self.folder / "neighbours.csv"
        replay[replay.index("--out") + 1] = str(out)
        subprocess.run([PROGRAM, *self.in_source(replay)], check=True, timeout=PATIENCE_S,
                       capture_output=True)
        self.assertTrue(out.read_text().startswith("tick,time_us,query_id,rank,object_id,distance_m\n"))

    def test_three_objects_are_put_and_the_two_nearest_asked_for(self):
        self.serve("--space", "wgs84")
        shell = 'starling() { "$PROGRAM" "$@" --connect "$SERVER"; }\n'
        put, ask, stream, query, subscribe = lines_of("Put and ask")
        done = subprocess.run(["/bin/sh", "-ec", shell + "\n".join([put, ask, stream, query])],
                              env={"PROGRAM": PROGRAM, "SERVER": self.endpoints["commands"]},
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([line.split()[:2] for line in done.stdout.splitlines()[3:5]],
                         [["1", "truck-7"], ["2", "truck-8"]])
        lists = self.run_program(*shlex.split(subscribe)[1:], *self.connect(), "--results",
                                 self.endpoints["results"], "--ticks", "2", "--format", "csv").stdout
        self.assertIn(",opera,1,truck-7,", lists)

    def test_the_server_the_subscriber_and_the_replay_work_together(self):
        _, serve, subscribe, replay = commands()
        self.assertEqual([serve[0], subscribe[0], replay[0]], ["serve", "subscribe", "replay"])
        endpoints_file = self.folder / "endpoints.json"
        server = subprocess.Popen([PROGRAM, *serve, "--commands", "tcp://127.0.0.1:*", "--results",
                                   "tcp://127.0.0.1:*", "--http", "127.0.0.1:0", "--endpoints-file",
                                   endpoints_file], stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        deadline = time.monotonic() + PATIENCE_S
        while not endpoints_file.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        endpoints = json.loads(endpoints_file.read_text())
        connect = ["--connect", endpoints["commands"], "--results", endpoints["results"]]
        subscriber = subprocess.Popen([PROGRAM, *subscribe, *connect, "--ticks", "5", "--format", "csv"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(subscriber.stderr.close)
        self.addCleanup(subscriber.stdout.close)
        self.addCleanup(subscriber.wait)
        self.addCleanup(subscriber.kill)
        at = replay.index("--connect")
        replay[at:at + 2] = connect
        subprocess.run([PROGRAM, *self.in_source(replay), "--until", "60"], check=True,
                       timeout=PATIENCE_S, capture_output=True)
        table, errors = subscriber.communicate(timeout=PATIENCE_S)
        self.assertEqual(subscriber.returncode, 0, errors)
        self.assertGreater(len(table.splitlines()), 100)


if __name__ == "__main__":
    unittest.main()
