"""What the tests of every command share: a folder of their own, and a disk that is full."""

import os
import pathlib
import resource
import tempfile
import unittest


def limit_file_size(size):
    """For a child: a file may not grow further, as on a full disk."""
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
        """Whether it has written into a file of this folder, which has no name yet."""
        try:
            return any(os.readlink(link).startswith(f"{self.folder}/#") and link.stat().st_size > 0
                       for link in pathlib.Path(f"/proc/{program.pid}/fd").iterdir())
        except FileNotFoundError:  # a file that was closed meanwhile
            return False
