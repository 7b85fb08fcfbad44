# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that talk to a server against each hostile server. A command must end in time and
within its memory, and neither crash nor write control characters of the server to the terminal. Run by
ctest with the paths of the hostile server and of the program."""

import resource
import signal
import subprocess
import sys
import unittest

from hostile_case import HostileCase

HostileCase.server, PROGRAM = sys.argv.pop(1), sys.argv.pop(1)
PATIENCE_S = 60
FOLLOW_S = 2  # how long `subscribe` may follow a stream that sends nothing of use
MEMORY_BYTES = 3 << 30
ASK = ["ask", "--x", "0", "--y", "0", "-k", "10"]
COMMANDS = (ASK, [*ASK, "--json"], [*ASK, "--csv"], ["put", "--id", "ship", "--x", "0", "--y", "0"],
            ["put", "stream", "riders"], ["put", "query", "1", "--stream", "riders", "--x", "0", "--y", "0"],
            ["remove", "--id", "ship"], ["streams"], ["top", "--once", "--refresh", "10ms"],
            ["subscribe", "riders", "--ticks", "3"])
# Each command waits for its whole --timeout.
SLOW = {"a_frame_that_never_ends", "announces_more_than_all_memory", "busy_for_ever", "closes", "damaged",
        "garbage", "no_frames", "other_ids", "sessions_that_are_never_known", "silent",
        "silent_from_the_start", "strays_without_end", "no_hello_reply_but_others_without_end"}


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


class Commands(HostileCase):
    def run_command(self, command, endpoint):
        program = subprocess.Popen(
            [PROGRAM, *command, "--connect", endpoint,
             *(() if command[0] == "subscribe" else ("--timeout", "1s"))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            preexec_fn=limit_memory)
        try:
            out, error = program.communicate(timeout=FOLLOW_S if command[0] == "subscribe" else PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.assertEqual(command[0], "subscribe", "the command hangs")
            program.send_signal(signal.SIGINT)
            out, error = program.communicate(timeout=PATIENCE_S)
        self.assertIn(program.returncode, (0, 1, 2, 128 + signal.SIGINT), error)
        self.assertNotIn(b"\x1b", error)
        self.assertLess(len(out) + len(error), 1 << 20)
        if program.returncode == 1:
            self.assertRegex(error.decode(), r"^starling.*: .+")

    def test_no_server_harms_a_command(self):
        for name in self.names():
            server, endpoint, _ = self.misbehave(name)
            for command in COMMANDS[:1] + COMMANDS[-1:] if name in SLOW else COMMANDS:
                with self.subTest(name=name, command=" ".join(command)):
                    self.run_command(command, endpoint)
            self.end(server)


if __name__ == "__main__":
    unittest.main()
