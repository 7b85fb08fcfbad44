# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the Python package: paths, servers, and scikit-learn from a folder
(scripts/python-peers)."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "clients/python"
PEERS = pathlib.Path(os.environ.get("STARLING_PYTHON_PEERS", ROOT / "build/python-peers"))
PATIENCE_S = 60  # how long anything may take before its test fails

# CTest sets both variables. A test that is run by hand takes the files of the release build.
for variable, built in (("STARLING_LIBRARY", "clients/c/libstarling.so"),
                        ("STARLING_PROGRAM", "apps/starling")):
    path = ROOT / "build/release" / built
    if "STARLING_INSTALLED" not in os.environ and path.exists():
        os.environ.setdefault(variable, str(path))
if str(PACKAGE) not in sys.path and "STARLING_INSTALLED" not in os.environ:
    sys.path.insert(0, str(PACKAGE))


def enter_peers():
    """Starts this program again with scikit-learn and pandas on its paths, if these are in the folder."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        if (PEERS / "complete").exists() and "STARLING_IN_PEERS" not in os.environ:
            said = subprocess.run([ROOT / "scripts/python-peers", "--environment", PEERS], text=True,
                                  capture_output=True, check=True).stdout
            more = dict(word.split("=", 1) for word in shlex.split(said) if "=" in word)
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]],
                      {**os.environ, **more, "STARLING_IN_PEERS": "1"})


def needs(module):
    """Skips a test or a class unless a module is there."""
    try:
        __import__(module)
    except ImportError:
        return unittest.skip(f"{module} is not installed: run scripts/setup and scripts/python-peers {PEERS}")
    return lambda test: test


class FolderCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


@unittest.skipUnless("STARLING_PROGRAM" in os.environ, "STARLING_PROGRAM does not name the program")
class ServerCase(FolderCase):
    def serve(self, *more):
        """Starts a server and sets self.endpoints. The server ends with the test."""
        path = self.folder / "endpoints.json"
        path.unlink(missing_ok=True)
        known = getattr(self, "endpoints", {})
        server = subprocess.Popen(
            [os.environ["STARLING_PROGRAM"], "serve",
             "--commands", known.get("commands", "tcp://127.0.0.1:*"),
             "--results", known.get("results", "tcp://127.0.0.1:*"),
             "--http", "127.0.0.1:0", "--endpoints-file", path, "--log-level", "error", *more],
            stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, server)
        deadline = time.monotonic() + PATIENCE_S
        while not path.exists():
            self.assertIsNone(server.poll(), "the server ended")
            self.assertLess(time.monotonic(), deadline, "the server does not start")
            time.sleep(0.01)
        self.endpoints = json.loads(path.read_text())
        return server

    def end(self, server):
        if server.poll() is None:
            server.kill()
        server.wait(PATIENCE_S)
