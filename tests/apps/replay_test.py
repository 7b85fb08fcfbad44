# SPDX-License-Identifier: Apache-2.0
"""What `starling replay` makes of its queries, flags and outputs, and what it says. Run by ctest with the
path of the program as the only argument."""

import csv
import subprocess
import sys
import unittest

from folder_case import FolderCase

PROGRAM = sys.argv.pop()
PATIENCE_S = 120  # how long anything may take before its test fails
LINE = "id,time_us,x,y,tags\na,0,0,0,1\nb,0,1,0,2\nc,0,3,0,3\nd,0,7,0,0\n"


class ReplayCase(FolderCase):
    def replay(self, *arguments, status=0):
        done = subprocess.run([PROGRAM, "replay", *map(str, arguments), "--engine", "cpu"],
                              capture_output=True, text=True, timeout=PATIENCE_S, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def lists(self, *arguments):
        """Returns the lists by tick and query, each as a text of object ids."""
        lists = {}
        for row in csv.DictReader(self.replay(*arguments, "--out", "-").stdout.splitlines()):
            lists.setdefault((int(row["tick"]), row["query_id"]), []).append(row["object_id"])
        return {key: "".join(ids) for key, ids in lists.items()}


class QueryTest(ReplayCase):
    def test_a_file_of_queries_gives_each_its_length_and_filter(self):
        trace = self.write("trace.csv", LINE + "e,500000,100,0,1\n")
        queries = self.write("queries.csv",
                             "query_id,x,y,k,distance_max_m,age_max,tags_required,tags_forbidden\n"
                             "near,0,0,,3,,,\n"
                             "two,0,0,2,,,,\n"
                             "first,0,0,,,,1,\n"
                             "second,0,0,,,,0x2,1\n"
                             "new,0,0,,,600ms,,\n"
                             "all,0,0,,,,,\n")
        self.assertEqual(self.lists(trace, "--queries", queries, "-k", 5, "--tick", "1s"), {
            (1, "near"): "abc", (1, "two"): "ab", (1, "first"): "ac", (1, "second"): "b",
            (1, "new"): "abcd", (1, "all"): "abcd",
            (2, "near"): "abc", (2, "two"): "ab", (2, "first"): "ace", (2, "second"): "b",
            (2, "new"): "e", (2, "all"): "abcde"})

    def test_flags_filter_the_lists_of_all_queries_without_a_filter_of_their_own(self):
        trace = self.write("trace.csv", LINE)
        self.assertEqual(self.lists(trace, "--distance-max", 3),
                         {(1, "a"): "bc", (1, "b"): "ac", (1, "c"): "ba"})
        self.assertEqual(self.lists(trace, "--tags-required", "0x1", "--tags-forbidden", 2),
                         {(1, "b"): "a", (1, "c"): "a", (1, "d"): "a"})
        queries = self.write("queries.csv", "query_id,x,y,distance_max_m\n1,0,0,\n2,0,0,inf\n")
        self.assertEqual(self.lists(trace, "--queries", queries, "--distance-max", 1),
                         {(1, "1"): "ab", (1, "2"): "abcd"})

    def test_filters_that_are_none_are_refused(self):
        trace = self.write("trace.csv", LINE)
        for flag, value, wanted in [("--distance-max", "5km", "a distance in metres, such as 500"),
                                    ("--distance-max", "-1", "a distance in metres, such as 500"),
                                    ("--tags-required", "free", "tag bits, such as 5 or 0x5"),
                                    ("--tags-forbidden", "1.5", "tag bits, such as 5 or 0x5")]:
            self.assertIn(f"{flag}: '{value}' is not {wanted}",
                          self.replay(trace, f"{flag}={value}", status=2).stderr)

    def test_an_unknown_column_is_an_error_that_names_the_known_ones(self):
        trace = self.write("trace.csv", LINE)
        queries = self.write("queries.csv", "query_id,x,y,radius\n1,0,0,1\n")
        done = self.replay(trace, "--queries", queries, "--out", "lists.csv", status=1)
        self.assertIn(f"{queries}:1:14: there is no column 'radius' in a file of queries for this "
                      "trace; the columns are query_id, follow, x, y, k, distance_max_m, age_max, "
                      "tags_required, tags_forbidden\n", done.stderr)
        self.assertFalse((self.folder / "lists.csv").exists())

    def test_a_followed_object_that_never_appears_gets_a_warning(self):
        trace = self.write("trace.csv", LINE)
        queries = self.write("queries.csv", "query_id,follow\n" + "".join(
            f"{number},{whom}\n" for number, whom in enumerate(["a", "A", "x", "y", "z", "b"])))
        done = self.replay(trace, "--queries", queries, "--out", "-")
        self.assertEqual([line for line in done.stderr.splitlines() if "warning" in line], [
            *(f"replay: warning: query '{number}' follows '{whom}', but the trace has no row of this "
              "object" for number, whom in [(1, "A"), (2, "x"), (3, "y")]),
            "replay: warning: the same is true of 1 more of the queries"])
        queries = self.write("queries.csv", "query_id,follow\n1,a\n")
        self.assertNotIn("warning", self.replay(trace, "--queries", queries, "--out", "-").stderr)


if __name__ == "__main__":
    unittest.main()
