# SPDX-License-Identifier: Apache-2.0
"""Tests the shortest programs of examples/, in C++ and in Python: how long they are, and what they print.
Arguments: the folder examples/, and the folder of the built programs `ask` and `tick`. STARLING_LIBRARY is
the library for Python. Builds with a sanitizer leave it out, because Python cannot load their library; then
only the C++ programs run."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop())
EXAMPLES = pathlib.Path(sys.argv.pop())
PATIENCE_S = 60  # how long a program may take before its test fails
LINES_MAX = {"ask": 10, "tick": 20}
PRINTED = {
    "ask": "1 at 1\n0 at 1.41421\n",
    "tick": "rider 1:  taxi 11 in 374.02 m  taxi 13 in 1066.52 m\n"
            "rider 1:  taxi 12 in 0 m  taxi 11 in 374.02 m\n",
}


def lines_of(path, comment):
    """Returns the number of lines of code: lines that are not blank and not only a comment."""
    return sum(1 for line in path.read_text().splitlines() if not re.match(rf"\s*({comment}.*)?$", line))


class ShortExamples(unittest.TestCase):
    def check(self, name, *command, **variables):
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S,
                              env={**os.environ, **variables})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, PRINTED[name])

    def test_they_are_short(self):
        for name, most in LINES_MAX.items():
            for path, comment in ((EXAMPLES / f"{name}.cpp", "//"), (EXAMPLES / f"python/{name}.py", "#")):
                with self.subTest(path):
                    self.assertTrue(3 < lines_of(path, comment) <= most, lines_of(path, comment))

    def test_the_client_is_read_on_one_screen(self):
        self.assertLessEqual(len((EXAMPLES / "client.cpp").read_text().splitlines()), 40)

    def test_those_in_cpp_print_the_answers(self):
        for name in PRINTED:
            self.check(name, PROGRAMS / name)

    @unittest.skipUnless("STARLING_LIBRARY" in os.environ, "there is no library that Python can load")
    def test_those_in_python_print_the_same(self):
        for name in PRINTED:
            self.check(name, sys.executable, "-B", EXAMPLES / f"python/{name}.py",
                       PYTHONPATH=str(EXAMPLES.parent / "clients/python"))


if __name__ == "__main__":
    unittest.main()
