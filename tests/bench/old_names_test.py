"""Old names of commands and flags go on working, with a word on stderr; no help shows them. Run by
ctest with the program's path as the only argument."""

import subprocess
import sys
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

    def test_no_help_shows_them(self):
        help_text = self.run_program("bench", "--help").stdout
        self.assertIn("vector-ticks", help_text)
        self.assertNotIn("dense", help_text)
        for command in ["serve", "replay", "simulate", "knn"]:
            help_text = self.run_program(command, "--help").stdout
            self.assertIn("--devices", help_text)
            self.assertNotIn("--device ", help_text)


if __name__ == "__main__":
    unittest.main()
