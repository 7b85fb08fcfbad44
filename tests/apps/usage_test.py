# SPDX-License-Identifier: Apache-2.0
"""Tests the program's errors for commands and settings that do not exist. Run by ctest with the path of the
program as the only argument."""

import os
import subprocess
import sys
import unittest

from folder_case import FolderCase

PROGRAM = sys.argv.pop()
PATIENCE_S = 60  # how long anything may take before its test fails
COMMANDS = ("ask, bench, convert, info, journal, keygen, knn, put, remove, replay, serve, simulate, streams, "
            "subscribe, top, view")


class UsageTest(FolderCase):
    def run_program(self, *arguments, status=2, environment=(), stdin=None):
        variables = {name: value for name, value in os.environ.items()
                     if not name.startswith("STARLING_")}
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              stdin=stdin, timeout=PATIENCE_S, env={**variables, **dict(environment)})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_an_unknown_command_is_named_with_the_nearest_and_all_others(self):
        for arguments, word, nearest in [(["serv"], "serv", "serve"),
                                         (["serv", "--tick", "1s"], "serv", "serve"),
                                         (["replya", "trace.csv"], "replya", "replay")]:
            self.assertEqual(self.run_program(*arguments).stderr,
                             f"starling: unknown command '{word}'; did you mean '{nearest}'? The "
                             f"commands are {COMMANDS}\n")
        self.assertEqual(self.run_program("frobnicate").stderr,
                         f"starling: unknown command 'frobnicate'; the commands are {COMMANDS}\n")

    def test_an_unknown_flag_is_named_with_the_nearest(self):
        for arguments, sentence in [
                (["serve", "--jurnal", "log"],
                 "starling serve: unknown flag '--jurnal'; did you mean --journal? starling serve "
                 "--help shows all flags\n"),
                (["top", "--onec=1"],
                 "starling top: unknown flag '--onec'; did you mean --once? starling top --help shows "
                 "all flags\n"),
                (["put", "stream", "rider", "--conect", "x"],
                 "starling put stream: unknown flag '--conect'; did you mean --connect? starling put "
                 "stream --help shows all flags\n"),
                (["knn", "-q", "x"], "starling knn: unknown flag '-q'; starling knn --help shows all flags\n"),
                (["info", "--frobnicate"],
                 "starling info: unknown flag '--frobnicate'; starling info --help shows all flags\n")]:
            self.assertEqual(self.run_program(*arguments).stderr, sentence)

    def test_an_unknown_key_of_the_file_is_named_with_its_line_and_the_nearest(self):
        for text, line, sentence in [
                ('# a\n\n[serve]\ntick = "1s"\njurnal = "log"\n', 5,
                 "[serve] has the unknown key 'jurnal'; did you mean journal?"),
                ('[replay]\nk = 3\n[serve]\norigin = [1.0,\n 2.0]\nobject_ttl="3s"', 6,
                 "[serve] has the unknown key 'object_ttl'; did you mean object-ttl?"),
                ('[serve]  # mine\n"jurnal" = "log"  # too\n', 2,
                 "[serve] has the unknown key 'jurnal'; did you mean journal?"),
                ('[knn]\nk = 3\nfrobnicate = 1\n', 3, "[knn] has the unknown key 'frobnicate'"),
                ('serve.tik = "1s"\n', 1, "[serve] has the unknown key 'tik'; did you mean tick?"),
                ('[knn]\nk = 3\n\n[serv]\ntick = "1s"\n', 4,
                 "there is no command 'serv'; did you mean serve?"),
                ('\ntick = "1s"\n', 2, "the key 'tick' stands under no command; write it under its "
                 "command's name, such as [serve]")]:
            path = self.write("starling.toml", text)
            self.assertEqual(self.run_program("info", "--config", path).stderr.splitlines()[0],
                             f"--config: {path}:{line}: {sentence}")

    def test_without_a_command_the_help_is_named(self):
        self.assertIn("--help", self.run_program().stderr)
        self.assertIn("Usage: starling", self.run_program("--help", status=0).stdout)

    def test_an_unknown_variable_of_the_command_is_an_error_that_names_it(self):
        trace = self.write("trace.csv", "id,time_us,x,y\na,0,0,0\nb,0,1,1\n")
        replay = ["replay", trace, "--engine", "cpu", "--out", "-"]
        done = self.run_program(*replay, environment={"STARLING_REPLAY_KK": "3"})
        self.assertIn("STARLING_REPLAY_KK: starling replay has no such environment variable",
                      done.stderr)
        self.assertEqual(done.stdout, "")
        done = self.run_program("serve", environment={"STARLING_SERVE_JURNAL": "log"})
        self.assertEqual(done.stderr.splitlines()[0],
                         "STARLING_SERVE_JURNAL: starling serve has no such environment variable; did "
                         "you mean STARLING_SERVE_JOURNAL? Unset it, or see starling serve --help")
        self.run_program(*replay, status=0, environment={
            "STARLING_REPLAY_K": "1", "STARLING_SERVE_TIK": "1s", "STARLING_TRACES": "/nowhere",
            "STARLING_SANITIZE": "address", "STARLING_REPLAYS": "1"})
        self.run_program("replay", "--help", status=0, environment={"STARLING_REPLAY_KK": "3"})

    def test_progress_needs_a_descriptor_that_is_open_for_writing(self):
        trace = self.write("trace.csv", "id,time_us,x,y\na,0,0,0\n")
        with open(trace) as to_read:
            for text in ("99", "-1", "x", "0"):
                self.assertIn(f"--progress-fd: {text} is not a file descriptor that is open for writing",
                              self.run_program("replay", trace, "--progress-fd", text, stdin=to_read).stderr)

    def test_the_old_name_of_a_flag_is_not_taken_beside_the_new_one(self):
        for command in ("serve", "knn", "replay"):
            self.assertIn("--device: is the old name of --devices; use --devices alone",
                          self.run_program(command, "--device", "0", "--devices", "0").stderr)

    def test_a_gpu_that_is_named_and_not_there_is_refused_also_with_auto(self):
        trace = self.write("trace.csv", "id,time_us,x,y\na,0,0,0\nb,0,1,1\n")
        done = self.run_program("replay", trace, "--devices", "1023", "--out", "-", status=1)
        self.assertRegex(done.stderr, "no GPU|the CUDA engine is not installed"
                         "|NVIDIA's driver is not installed")
        self.assertEqual(done.stdout, "")

    def test_the_defaults_that_the_help_of_replay_shows_are_accepted(self):
        trace = self.write("trace.csv", "id,time_us,x,y\na,0,0,0\nb,0,1,1\n")
        replay = ["replay", trace, "--engine", "cpu", "--tick", "1s", "--connect-timeout", "5s",
                  "--sort-memory", "256MiB", "--origin", "0,0,0", "--time-unit", "auto"]
        self.run_program(*replay, status=0)


if __name__ == "__main__":
    unittest.main()
