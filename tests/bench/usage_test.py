# SPDX-License-Identifier: Apache-2.0
"""Tests the errors of `starling bench` for benchmarks and instruction sets that do not exist. Run by ctest
with the path of the program as the only argument."""

import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()


class UsageTest(unittest.TestCase):
    def refusal(self, *arguments):
        done = subprocess.run([PROGRAM, "bench", *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_an_unknown_benchmark_is_named_with_the_nearest(self):
        sentence = self.refusal("tik")
        self.assertIn("starling bench: unknown command 'tik'; did you mean 'tick'? The commands are ", sentence)
        self.assertNotIn("dense", sentence)  # "dense" is an old name

    def test_an_instruction_set_that_is_not_there_is_refused_with_those_that_are(self):
        self.assertRegex(self.refusal("tick", "--engine", "cpu", "--simd", "MMX"),
                         "--simd: there is no instruction set 'MMX' in this build and on this machine; "
                         "choose one of best, .*portable")


if __name__ == "__main__":
    unittest.main()
