# SPDX-License-Identifier: Apache-2.0
"""Runs `starling journal` on the log that a real server wrote before it was killed. Run by ctest with the
path of the program as the only argument."""

import json
import os
import sys
import time
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
        self.wait_for_ticks(3)
        self.end(server)

    def wait_for_ticks(self, count):
        ticks = self.ticks()
        while self.ticks() < ticks + count:
            time.sleep(0.02)

    def ticks(self):
        """Returns the number of ticks in the log. A record that the server is writing may look unfinished."""
        return json.loads(self.journal("info", self.log, "--json").stdout)["ticks"]

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
        self.assertRegex(text, r"(?m)^last tick +\d+, at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$")
        self.assertIn("--space=planar2", text)
        self.assertIn("--tombstone-ttl=1h\n", text)
        self.assertNotRegex(text, r"\d us\b|\d{6}us")

    def refusal_of_start(self):
        done = self.run_program("serve", "--commands", "tcp://127.0.0.1:*", "--results",
                                "tcp://127.0.0.1:*", "--http", "127.0.0.1:0", "--journal", self.log,
                                status=1)
        return done.stderr

    def test_a_second_server_is_refused_though_the_lock_file_is_removed(self):
        first = self.serve("--journal", self.log, "--tick", "20ms")
        for _ in range(2):
            self.assertIn(f"another process uses the log in {self.log}; stop that server",
                          self.refusal_of_start())
            (self.log / "lock").unlink()
        self.journal("compact", self.log, status=1)
        self.ask_server("put", "--id", "a", "--x", "0", "--y", "0")
        self.end(first)
        self.serve("--journal", self.log, "--tick", "20ms")
        self.assertIn('"name":"a"', self.ask_server("ask", "--x", "0", "--y", "0", "--json").stdout)

    def test_a_folder_that_others_may_write_to_is_refused(self):
        self.write_log()
        self.log.chmod(0o777)
        self.assertIn(f"run chmod 700 {self.log}", self.refusal_of_start())
        self.assertIn(f"run chmod 700 {self.log}", self.journal("compact", self.log, status=1).stderr)
        self.log.chmod(0o700)
        self.journal("compact", self.log)

    def test_a_whole_log_is_whole_and_the_check_changes_nothing(self):
        self.write_log()
        before = self.file().read_bytes()
        self.assertRegex(self.journal("check", self.log).stdout, r"^whole: \d+ records in 1 files\n")
        self.assertEqual(self.file().read_bytes(), before)

    def test_a_changed_bit_is_named_by_file_and_offset(self):
        self.write_log()
        bytes_of_log = bytearray(self.file().read_bytes())
        header = 1 + bytes_of_log.index(b"--neighbors-max=")  # offset in the log's header, before its
                                                              # groups
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
        self.assertIn("A start cuts them", self.journal("check", self.log).stdout)

    def test_compact_leaves_one_snapshot_that_a_server_starts_from(self):
        self.write_log()
        made = json.loads(self.journal("compact", self.log, "--json").stdout)
        self.assertTrue(made["made"])
        snapshot = self.log / made["snapshot"]
        self.assertEqual(snapshot.stat().st_size, made["snapshot_bytes"])
        self.assertIn("nothing to do", self.journal("compact", self.log).stdout)
        self.assertEqual(json.loads(self.journal("info", self.log, "--json").stdout)["snapshot"], snapshot.name)
        self.assertIn("whole", self.journal("check", self.log).stdout)
        server = self.serve("--journal", self.log, "--tick", "20ms")
        rows = self.ask_server("ask", "--x", "0", "--y", "0", "-k", "60", "--csv").stdout.splitlines()
        self.assertEqual(len(rows), 1 + ROWS)
        self.end(server)
        content = bytearray(snapshot.read_bytes())
        content[len(content) // 2] ^= 1
        snapshot.write_bytes(content)
        damage = json.loads(self.journal("check", self.log, "--json", status=1).stdout)["damage"]
        self.assertEqual(damage[0]["file"], snapshot.name)

    def test_compact_needs_a_log_that_no_server_uses(self):
        server = self.serve("--journal", self.log)
        self.assertIn("another process uses the log", self.journal("compact", self.log, status=1).stderr)
        self.end(server)

    def test_a_backup_beside_a_server_is_put_back_as_a_log_that_a_server_starts_from(self):
        server = self.serve("--journal", self.log, "--tick", "20ms")
        self.ask_server("put", text="id,x,y\n" + "".join(f"{row},{row},0\n" for row in range(ROWS)))
        copy, restored = self.folder / "copy", self.folder / "restored"
        made = json.loads(self.journal("backup", self.log, copy, "--json").stdout)
        self.assertEqual(sorted(each.name for each in copy.iterdir()), [self.file().name])
        self.assertEqual(made["files"], 1)
        self.assertEqual(made["bytes"], (copy / self.file().name).stat().st_size)
        self.assertLess(made["bytes"], self.file().stat().st_size)  # without the reserved zeros
        self.end(server)
        self.assertIn("whole", self.journal("check", copy).stdout)
        self.assertIn("It is whole", self.journal("restore", copy, restored).stdout)
        self.assertEqual(restored.stat().st_mode & 0o777, 0o700)
        server = self.serve("--journal", restored, "--tick", "20ms")
        rows = self.ask_server("ask", "--x", "0", "--y", "0", "-k", "60", "--csv").stdout.splitlines()
        self.assertEqual(len(rows), 1 + ROWS)
        self.end(server)

    def test_a_relative_folder_is_in_the_folder_where_the_command_runs(self):
        self.write_log()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.journal("backup", self.log, "copy")
        self.journal("restore", "copy", "restored/")
        self.assertIn("whole", self.journal("check", self.folder / "restored").stdout)

    def test_copies_have_the_snapshot_and_what_is_behind_it(self):
        self.write_log()
        self.journal("compact", self.log)
        copy = self.folder / "copy"
        self.assertIn("2 files", self.journal("backup", self.log, f"{copy}/").stdout)
        before = json.loads(self.journal("info", self.log, "--json").stdout)
        self.assertEqual(json.loads(self.journal("info", copy, "--json").stdout)["snapshot"],
                         before["snapshot"])

    def test_a_copy_that_cannot_be_made_leaves_nothing(self):
        self.write_log()
        full = self.folder / "full"
        full.mkdir()
        (full / "file").write_text("")
        for command in "backup", "restore":
            self.assertIn("is not empty", self.journal(command, self.log, full, status=1).stderr)
            self.assertIn("in the log's own folder",
                          self.journal(command, self.log, self.log / "copy", status=1).stderr)
            self.assertIn("in the log's own folder",
                          self.journal(command, self.log, self.log, status=1).stderr)
            self.assertIn("is a file", self.journal(command, self.log, full / "file", status=1).stderr)
            self.assertIn(str(self.folder / "none"),
                          self.journal(command, self.log, self.folder / "none" / "copy", status=1).stderr)
            self.assertIn("holds no log",
                          self.journal(command, full, self.folder / "copy", status=1).stderr)
            self.journal(command, self.log, status=2)
        content = bytearray(self.file().read_bytes())
        content[len(content.rstrip(b"\0")) // 2] ^= 1
        self.file().write_bytes(content)
        self.assertIn(self.file().name,
                      self.journal("backup", self.log, self.folder / "copy", status=1).stderr)
        self.assertEqual(sorted(each.name for each in self.folder.glob("copy*")), [])

    def test_replay_publishes_the_same_bytes_again(self):
        self.write_log()
        replay = self.run_program("replay", "--journal", self.log, "--stream", "riders",
                                  "--out", self.folder / "lists.csv")
        self.assertRegex(replay.stderr, r"(?m)^hashes +[1-9]\d* ticks published the same bytes, 0 ticks other bytes")
        lists = (self.folder / "lists.csv").read_text().splitlines()
        self.assertEqual([line.split(",")[2:] for line in lists[1:]],
                         [["1", "1", "0", "0.000"], ["1", "2", "1", "1.000"], ["1", "3", "2", "2.000"]])
        exact = self.run_program("replay", "--journal", self.log, "--stream", "riders", "--out", "-",
                                 "--exact")
        self.assertEqual([line.split(",")[5] for line in exact.stdout.splitlines()[1:]], ["0", "1", "2"])
        other = self.run_program("replay", "--journal", self.log, "--stream", "x", "--out", "-", status=1)
        self.assertIn("has a message of the stream", other.stderr)
        self.assertIn("not both", self.run_program("replay", "trace.csv", "--journal", self.log, status=2).stderr)
        self.assertIn("--k", self.run_program("replay", "--k", "3", "--journal", self.log, status=2).stderr)
        self.assertIn("give a trace", self.run_program("replay", status=2).stderr)
        late = self.run_program("replay", "--journal", self.log, "--from", "2100-01-01T00:00:00Z", status=1)
        self.assertIn("no tick of the log is between", late.stderr)

    def test_replay_tells_an_empty_list_from_a_removed_one(self):
        server = self.serve("--journal", self.log, "--tick", "20ms")
        self.ask_server("put", "--id", "5", "--x", "0", "--y", "0")
        self.ask_server("put", "stream", "s")
        self.ask_server("put", "query", "s", "1", "--x", "0", "--y", "0", "--k", "2", "--distance-max", "9")
        self.wait_for_ticks(3)
        self.ask_server("put", "--id", "5", "--x", "30", "--y", "0")
        self.wait_for_ticks(3)
        self.ask_server("remove", "query", "s", "1")
        self.wait_for_ticks(3)
        self.end(server)
        replay = self.run_program("replay", "--journal", self.log, "--stream", "s", "--out", "-")
        self.assertEqual([line.split(",")[2:] for line in replay.stdout.splitlines()[1:]],
                         [["1", "1", "5", "0.000"], ["1", "0", "", ""], ["1", "", "", ""]])

    def test_ask_tells_an_unknown_object_from_an_empty_list(self):
        self.write_log()
        of_object = ["ask", "-k", "2", "--csv", "--journal", self.log, "--at", "2100-01-01T00:00:00Z",
                     "--distance-max", "0.5", "--object"]
        found = self.run_program(*of_object, "3").stdout.splitlines()
        self.assertRegex(found[1], r"^\d+,\d+,0,0,,$")
        self.assertIn("has no object 'nobody': it was never put, was removed or has expired; check the id and --at\n",
                      self.run_program(*of_object, "nobody", status=1).stderr)

    def test_export_writes_a_trace_that_other_commands_read(self):
        self.write_log()
        for _ in range(2):  # from the records, then from a snapshot
            trace = self.folder / "trace.csv"
            self.assertIn(f"{ROWS} rows", self.journal("export", self.log, "--out", trace).stderr)
            lines = trace.read_text().splitlines()
            self.assertEqual(lines[0], "id,time_us,x,y,tags")
            self.assertEqual({line.split(",")[0] for line in lines[1:]}, {str(row) for row in range(ROWS)})
            self.assertIn(f"{ROWS} replayed", self.run_program("replay", trace).stderr)
            self.journal("compact", self.log)

    def test_ask_answers_from_the_past(self):
        self.write_log()
        place = ["ask", "--x", "10", "--y", "0", "-k", "2", "--csv", "--journal", self.log]
        rows = self.run_program(*place, "--at", "2100-01-01T00:00:00Z").stdout.splitlines()
        self.assertEqual([row.split(",")[4] for row in rows[1:]], ["10", "9"])
        self.assertIn("no tick at or before", self.run_program(*place, "--at", "1990-01-01T00:00:00Z", status=1).stderr)
        self.assertIn("--journal needs --at", self.run_program(*place, status=2).stderr)

    def test_a_folder_without_a_log_is_refused_with_a_sentence(self):
        self.log.mkdir()
        for command in "info", "check", "compact":
            self.assertIn("holds no log", self.journal(command, self.log, status=1).stderr)
            self.assertIn(str(self.folder / "none"),
                          self.journal(command, self.folder / "none", status=1).stderr)
        self.journal(status=2)
        self.journal("info", status=2)


if __name__ == "__main__":
    unittest.main()
