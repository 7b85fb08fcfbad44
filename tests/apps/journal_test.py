# SPDX-License-Identifier: Apache-2.0
"""Runs `starling journal` on the log that a real server wrote before it was killed. Run by ctest with the
path of the program as the only argument."""

import json
import sys
import unittest

from server_case import ServerCase

ServerCase.program = sys.argv.pop()
ROWS = 50


class JournalTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"

    def write_log(self):
        """Has a server acknowledge objects, a stream and a query, and kills it."""
        server = self.serve("--journal", self.log, "--tick", "20ms")
        self.ask_server("put", text="id,x,y\n" + "".join(f"{row},{row},0\n" for row in range(ROWS)))
        self.ask_server("put", "stream", "riders")
        self.ask_server("put", "query", "riders", "1", "--x", "0", "--y", "0", "--k", "3")
        self.end(server)

    def journal(self, *arguments, status=0):
        return self.run_program("journal", *arguments, status=status)

    def file(self):
        files = sorted(self.log.glob("*.log"))
        self.assertEqual(len(files), 1)
        return files[0]

    def test_info_says_what_the_log_holds_and_with_which_options(self):
        self.write_log()
        found = json.loads(self.journal("info", self.log, "--json").stdout)
        self.assertEqual(found["files"], 1)
        self.assertGreater(found["ticks"], 0)
        self.assertEqual(found["last_tick"], found["ticks"])
        self.assertGreater(found["records"], found["ticks"])
        text = self.journal("info", self.log).stdout
        self.assertRegex(text, r"(?m)^log +[0-9a-f]{32}$")
        self.assertRegex(text, r"(?m)^  requests +\d+$")
        self.assertIn("--space=planar2", text)

    def test_a_whole_log_is_whole_and_the_check_changes_nothing(self):
        self.write_log()
        before = self.file().read_bytes()
        self.assertRegex(self.journal("check", self.log).stdout, r"^whole: \d+ records in 1 files\n")
        self.assertEqual(self.file().read_bytes(), before)

    def test_a_changed_bit_is_named_by_file_and_offset(self):
        self.write_log()
        bytes_of_log = bytearray(self.file().read_bytes())
        header = 1 + bytes_of_log.index(b"--neighbors-max=")  # in the header; groups follow
        place = bytes_of_log.index(b"riders", header)
        bytes_of_log[place] ^= 1
        self.file().write_bytes(bytes_of_log)
        found = json.loads(self.journal("check", self.log, "--json", status=1).stdout)
        self.assertFalse(found["whole"])
        [damage] = found["damage"]
        self.assertEqual(damage["file"], self.file().name)
        self.assertLess(place - 4096, damage["offset"])
        self.assertLessEqual(damage["offset"], place)
        self.assertIn(self.file().name, self.journal("info", self.log, status=1).stderr)

    def test_an_unfinished_end_is_no_damage(self):
        self.write_log()
        content = self.file().read_bytes()
        end = len(content.rstrip(b"\0"))
        self.file().write_bytes(content[:end - 20] + bytes(len(content) - end + 20))
        self.assertIn("the next start cuts them", self.journal("check", self.log).stdout)

    def test_a_folder_without_a_log_is_refused_with_a_sentence(self):
        self.log.mkdir()
        for command in "info", "check":
            self.assertIn("holds no log", self.journal(command, self.log, status=1).stderr)
            self.assertIn(str(self.folder / "none"),
                          self.journal(command, self.folder / "none", status=1).stderr)
        self.journal(status=2)
        self.journal("info", status=2)


if __name__ == "__main__":
    unittest.main()
