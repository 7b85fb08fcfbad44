# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the commands that talk to a server: starts a real server on free ports of the
loopback, and runs the program with a time limit."""

import json
import os
import select
import signal
import subprocess
import time

from folder_case import FolderCase

PATIENCE_S = 60  # how long anything may take before its test fails


class LineReader:
    """Reads a pipe line by line; each line must come within PATIENCE_S."""

    def __init__(self, pipe):
        self.fd = pipe.fileno()
        self.buffer = b""

    def line(self, timeout_s=PATIENCE_S):
        """Returns the next line, or None if no line came in time or the pipe ended."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.fd, 65536) if ready else b""
            if not chunk:
                return None
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()


class ServerCase(FolderCase):
    program = None  # the path of the program; each test file sets it

    def serve(self, *more):
        """Starts a server and sets self.endpoints. The server ends with the test."""
        path = self.folder / "endpoints.json"
        path.unlink(missing_ok=True)
        server = subprocess.Popen(
            [self.program, "serve", "--commands", "tcp://127.0.0.1:*", "--results",
             "tcp://127.0.0.1:*", "--http", "127.0.0.1:0", "--endpoints-file", path, "--log-level",
             "error", *more], stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, server)
        deadline = time.monotonic() + PATIENCE_S
        while not path.exists():
            self.assertIsNone(server.poll(), "the server ended")
            self.assertLess(time.monotonic(), deadline, "the server does not start")
            time.sleep(0.01)
        self.endpoints = json.loads(path.read_text())
        return server

    def end(self, process, number=signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
        return process.wait(PATIENCE_S)

    def connect(self):
        return ["--connect", self.endpoints["commands"]]

    def run_program(self, *arguments, status=0, text="", environment=()):
        variables = {name: value for name, value in os.environ.items()
                     if not name.startswith("STARLING_") and name != "NO_COLOR"}
        done = subprocess.run([self.program, *map(str, arguments)], input=text, text=True,
                              capture_output=True, timeout=PATIENCE_S,
                              env={**variables, **dict(environment)})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def ask_server(self, *arguments, **options):
        """Runs a command with the flags that connect it to the server."""
        return self.run_program(*arguments, *self.connect(), **options)
