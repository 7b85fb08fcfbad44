# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of clients that are not C++: runs the hostile server (hostile_server_main.cpp)."""

import subprocess
import unittest


class HostileCase(unittest.TestCase):
    server = None  # the path of the program; each test file sets it

    def names(self):
        return subprocess.run([self.server], text=True, capture_output=True,
                              check=True).stdout.splitlines()

    def misbehave(self, name):
        """Starts a server, and returns it with its endpoints of commands and results."""
        server = subprocess.Popen([self.server, name], text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        return server, *server.stdout.readline().split()

    def end(self, server):
        server.stdin.close()
        self.assertEqual(server.wait(60), 0)
        server.stdout.close()
