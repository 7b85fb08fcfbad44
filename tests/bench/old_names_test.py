# SPDX-License-Identifier: Apache-2.0
"""Tests that old names of commands and flags still work and print the new name to stderr, and that no help
shows the old names. Run by ctest with the path of the program as the only argument."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop()


class OldNamesTest(unittest.TestCase):
    def run_program(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_old_commands_of_bench_say_what_they_are_called_now(self):
        small = {"dense": ["--table", "kato", "--shapes", "1", "--scale", "0.0001"],
                 "vectors": ["--objects", "10", "--dimension", "2", "--queries", "2", "--ticks", "2"]}
        for old, now in [("dense", "knn"), ("vectors", "vector-ticks")]:
            flags = [*small[old], "--engine", "cpu", "--threads", "1", "--json"]
            self.assertEqual(self.run_program("bench", old, *flags).stderr,
                             f"bench: `{old}` is now called `{now}`\n")
            self.assertEqual(self.run_program("bench", now, *flags).stderr, "")

    def test_device_is_now_called_devices(self):
        flags = ["--objects", "10", "--dimension", "2", "--queries", "2", "--ticks", "2", "--engine",
                 "cpu", "--threads", "1", "--json"]
        for name, said in [("--device", "starling: `--device` is now called `--devices`\n"),
                           ("--devices", "")]:
            done = self.run_program("bench", "vector-ticks", name, "0", *flags)
            self.assertEqual(done.stderr, said)

    def test_to_of_replay_is_now_called_until(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "trace.csv"
            trace.write_text("id,time_us,x,y\n" + "".join(f"1,{s}000000,{s},0\n" for s in range(9)))
            flags = ["replay", str(trace), "--engine", "cpu", "--threads", "1", "--out", "-"]
            now = self.run_program(*flags, "--until", "4")
            old = self.run_program(*flags, "--to", "4")
            self.assertNotIn("--until`", now.stderr)
            self.assertIn("replay: `--to` is now called `--until`\n", old.stderr)
            self.assertEqual(old.stdout, now.stdout)
            self.assertIn("5 replayed", old.stderr)
            both = subprocess.run([PROGRAM, *flags, "--until", "4", "--to", "5"],
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual((both.returncode, both.stdout), (2, ""))
            self.assertIn("--to: is the old name of --until; give only --until", both.stderr)

    def test_no_help_shows_them(self):
        help_text = self.run_program("bench", "--help").stdout
        self.assertIn("vector-ticks", help_text)
        self.assertNotIn("dense", help_text)
        for command in ["serve", "replay", "simulate", "knn"]:
            help_text = self.run_program(command, "--help").stdout
            self.assertIn("--devices", help_text)
            self.assertNotIn("--device ", help_text)
        self.assertNotIn("--to ", self.run_program("replay", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
