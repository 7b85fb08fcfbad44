# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of all commands: a temporary folder for each test, and a simulated full disk."""

import os
import pathlib
import resource
import tempfile
import unittest


def limit_file_size(size):
    """Returns a function to call in a child process. After that, no file can grow beyond this size, as on a
    full disk."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


class FolderCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def writes(self, program):
        """Returns whether the program has written into an unnamed file of this folder."""
        try:
            return any(os.readlink(link).startswith(f"{self.folder}/#") and link.stat().st_size > 0
                       for link in pathlib.Path(f"/proc/{program.pid}/fd").iterdir())
        except FileNotFoundError:  # the program closed the file meanwhile
            return False
