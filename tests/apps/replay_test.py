# SPDX-License-Identifier: Apache-2.0
"""Tests how `starling replay` treats its queries and flags, and what it writes and prints. Run by ctest with
the path of the program as the only argument."""

import csv
import math
import os
import pathlib
import random
import subprocess
import sys
import unittest

from folder_case import FolderCase

PROGRAM = sys.argv.pop()
PATIENCE_S = 120  # how long anything may take before its test fails
TRACES = pathlib.Path(os.environ.get("STARLING_TRACES",
                                     pathlib.Path(__file__).resolve().parents[3] / "shared" / "traces"))
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
                         {(1, "a"): "bc", (1, "b"): "ac", (1, "c"): "ba", (1, "d"): ""})
        self.assertEqual(self.lists(trace, "--tags-required", "0x1", "--tags-forbidden", 2),
                         {(1, "a"): "", (1, "b"): "a", (1, "c"): "a", (1, "d"): "a"})
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


class ExactTest(ReplayCase):
    PAIRS = int(os.environ.get("STARLING_LIMIT_PAIRS", "10000"))  # pairs of a query and a neighbour in each
                                                                  # space
    K = 10

    def exact(self, trace, header, queries, *flags):
        """Returns (object, text of the distance) of each neighbour, by query. Queries without neighbours are
        left out."""
        path = self.write("queries.csv", "\n".join([header, *queries, ""]))
        found = {}
        text = self.replay(trace, "--queries", path, "-k", self.K, "--out", "-", "--exact", *flags).stdout
        for row in csv.DictReader(text.splitlines()):
            if row["rank"] != "0":
                found.setdefault(row["query_id"], []).append((row["object_id"], row["distance_m"]))
        return found

    def test_a_distance_of_exact_keeps_its_neighbour_as_the_limit_and_the_number_below_does_not(self):
        draw = random.Random(5)

        def planar(axes, resolution_m):
            extent_m = 2 ** draw.uniform(0, 29.9) * resolution_m
            return [draw.uniform(-extent_m, extent_m) for _ in range(axes)]

        for header, flags, place in [
                ("x,y", [], lambda: planar(2, 0.01)),
                ("x,y", ["--resolution", 0.3], lambda: planar(2, 0.3)),
                ("x,y,z", [], lambda: planar(3, 0.01)),
                ("lat,lon", [], lambda: [draw.uniform(-90, 90), draw.uniform(-180, 180)])]:
            trace = self.write("trace.csv", f"id,time_us,{header}\n" + "".join(
                f"{i},0,{','.join(map(repr, place()))}\n" for i in range(500)))
            for first in range(0, self.PAIRS, 100_000):
                count = min(100_000, self.PAIRS - first) // self.K
                places = {str(query): ",".join(map(repr, place())) for query in range(count)}
                reported = self.exact(trace, f"query_id,{header}",
                                      [f"{query},{at}" for query, at in places.items()], *flags)
                limited, expected = [], {}
                for query, found in reported.items():
                    for rank, (_, text) in enumerate(found):
                        for name, limit in ((f"{query}at{rank}", text),
                                            (f"{query}below{rank}", repr(math.nextafter(float(text), 0)))):
                            limited.append(f"{name},{places[query]},{limit}")
                            within = [each for each in found if float(each[1]) <= float(limit)]
                            if within:
                                expected[name] = within
                self.assertEqual(len(limited), 2 * self.K * count)
                kept = self.exact(trace, f"query_id,{header},distance_max_m", limited, *flags)
                self.assertEqual(kept, expected)

    def test_without_exact_a_distance_has_three_decimals(self):
        trace = self.write("trace.csv", "id,time_us,x,y\na,0,0,0\nb,0,1,1\n")
        for flags, distance in ([], "1.414"), (["--exact"], str(math.sqrt(20_000) * 0.01)):
            lines = self.replay(trace, "-k", 1, "--out", "-", *flags).stdout.splitlines()[1:]
            self.assertEqual([line.split(",")[5] for line in lines], [distance, distance])
        self.assertIn("add --out FILE", self.replay(trace, "--exact", status=2).stderr)

    def test_the_flag_distance_max_is_inclusive(self):
        trace = self.write("trace.csv", "id,time_us,x,y\na,0,0,0\nb,0,0.29,0\n")
        self.assertEqual(self.lists(trace, "--distance-max", "0.29"), {(1, "a"): "b", (1, "b"): "a"})


class ColumnsTest(ReplayCase):
    HEADER = "tick,time_us,query_id,rank,object_id,distance_m"
    TRACE = ("id,time_us,x,y\na,0,0,0\nb,0,1,0\nc,0,9,9\nc,1000000,0,0.5\nb,1000000,50,50\n"
             "b,3000000,60,50\n")

    def test_time_position_and_change_follow_the_columns_of_always(self):
        trace = self.write("trace.csv", self.TRACE)
        queries = self.write("queries.csv", "query_id,x,y,distance_max_m\nq,0,0,5\n")
        flags = [trace, "--queries", queries, "--out", "-"]
        self.assertEqual(self.replay(*flags, "--with", "time,position,change").stdout.splitlines(), [
            f"{self.HEADER},time,x,y,change",
            "1,0,q,1,a,0.000,1970-01-01T00:00:00Z,0,0,entered",
            "1,0,q,2,b,1.000,1970-01-01T00:00:00Z,1,0,entered",
            "2,1000000,q,1,a,0.000,1970-01-01T00:00:01Z,0,0,stayed",
            "2,1000000,q,2,c,0.500,1970-01-01T00:00:01Z,0,0.5,entered",
            "2,1000000,q,,b,,1970-01-01T00:00:01Z,,,left",
            "4,3000000,q,1,a,0.000,1970-01-01T00:00:03Z,0,0,stayed",
            "4,3000000,q,2,c,0.500,1970-01-01T00:00:03Z,0,0.5,stayed"])
        plain = self.replay(*flags).stdout.splitlines()
        self.assertEqual(plain[0], self.HEADER)
        timed = self.replay(*flags, "--with", "time").stdout.splitlines()
        self.assertEqual([line.rsplit(",", 1)[0] for line in timed], plain)

    def test_positions_are_those_of_the_tick_in_whole_lists_that_report_nothing(self):
        # Both objects move in step, so that no distance and no list changes.
        trace = self.write("trace.csv", "id,time_us,x,y\n" + "".join(
            f"a,{s}000000,{s},0\nb,{s}000000,{s},1\n" for s in range(50)))
        rows = list(csv.DictReader(self.replay(trace, "--out", "-", "--with", "position")
                                   .stdout.splitlines()))
        self.assertEqual([(row["object_id"], row["x"], row["y"]) for row in rows],
                         [row for s in range(50) for row in (("b", f"{s}", "1"), ("a", f"{s}", "0"))])

    def test_changes_tell_of_lists_that_end(self):
        trace = self.write("trace.csv", "id,time_us,x,y\na,0,0,0\nb,0,1,0\nc,9000000,2,0\n")
        for flags in ([], ["--changes"]):
            rows = list(csv.DictReader(self.replay(trace, "--out", "-", "--object-ttl", "5s", "--with",
                                                   "change", *flags).stdout.splitlines()))
            self.assertEqual([(row["query_id"], row["object_id"], row["change"]) for row in rows
                              if row["change"] == "left"], [("a", "b", "left"), ("b", "a", "left")])

    def test_columns_that_cannot_be_are_refused(self):
        trace = self.write("trace.csv", self.TRACE)
        for flags, sentence in [
                (["--out", "-", "--with", "speed"], "--with: speed not in"),
                (["--with", "time"], "add --out FILE"),
                (["--out", "-", "--with", "position", "--order", "file"], "order of time"),
                (["--out", "-", "--with", "position", "--connect", "tcp://127.0.0.1:1"],
                 "leave out --connect")]:
            self.assertIn(sentence, self.replay(trace, *flags, status=2).stderr)


class EmptyListTest(ReplayCase):
    """The CSV of a list without a neighbour, written out by hand from docs/replay.md."""

    HEADER = ["tick,time_us,query_id,rank,object_id,distance_m"]
    FULL = ["{},{},1,1,2,5.000", "{},{},2,1,1,5.000"]
    EMPTY = ["{},{},1,0,,", "{},{},2,0,,"]

    def setUp(self):
        super().setUp()
        # From 2 s on, the two objects are 50 m apart.
        self.trace = self.write("trace.csv", "id,time_us,x,y\n1,1000000,0,0\n2,1000000,3,4\n"
                                "2,2000000,30,40\n2,5000000,30,40\n")
        self.flags = [self.trace, "--tick", "1s", "--distance-max", 10, "--out", "-"]

    @staticmethod
    def at(tick, rows):
        return [row.format(tick, tick * 1_000_000) for row in rows]

    def expected(self, *ticks):
        return self.HEADER + [line for tick, rows in ticks for line in self.at(tick, rows)]

    def check(self, flags, *ticks):
        self.assertEqual(self.replay(*self.flags, *flags).stdout.splitlines(), self.expected(*ticks))

    def test_a_list_that_becomes_empty_is_a_row_of_rank_0_in_each_tick_that_is_written(self):
        self.check([], (1, self.FULL), (2, self.EMPTY), (5, self.EMPTY))

    def test_with_every_tick_it_is_a_row_in_each_tick(self):
        self.check(["--every-tick"], (1, self.FULL), *((tick, self.EMPTY) for tick in range(2, 6)))

    def test_with_changes_it_is_a_row_in_the_tick_in_which_it_became_empty(self):
        self.check(["--changes"], (1, self.FULL), (2, self.EMPTY))

    def test_a_first_list_without_a_neighbour_is_a_row_too(self):
        queries = self.write("queries.csv", "query_id,x,y\nfar,900,900\n")
        self.check(["--queries", queries, "--changes"], (1, ["{},{},far,0,,"]))

    def test_a_list_that_is_removed_is_told_from_an_empty_one(self):
        flags = [self.trace, "--tick", "1s", "--out", "-", "--object-ttl", "2500ms"]
        self.assertEqual(self.replay(*flags, "--changes").stdout.splitlines(), self.expected(
            (1, self.FULL), (4, ["{},{},1,,,", "{},{},2,0,,"])))
        # A file of all lists has no row for a list that was removed.
        self.assertEqual(self.replay(*flags, "--every-tick").stdout.splitlines()[-2:],
                         self.at(4, self.EMPTY[1:]) + self.at(5, self.EMPTY[1:]))

    def test_further_columns_are_blank_and_what_left_follows(self):
        lines = self.replay(*self.flags, "--changes", "--with", "time,position,change").stdout.splitlines()
        self.assertEqual(lines[3:], [
            "2,2000000,1,0,,,1970-01-01T00:00:02Z,,,", "2,2000000,1,,2,,1970-01-01T00:00:02Z,,,left",
            "2,2000000,2,0,,,1970-01-01T00:00:02Z,,,", "2,2000000,2,,1,,1970-01-01T00:00:02Z,,,left"])

    def test_the_rows_of_empty_lists_count_among_those_foretold(self):
        trace = self.write("one.csv", "id,time_us,x,y\n1,0,0,0\n1,1000000,1,0\n")
        done = self.replay(trace, "--out", "-")
        self.assertEqual(len(done.stdout.splitlines()), 1 + 2)
        self.assertIn("at most 2 rows to write\n", done.stderr)


class SizeTest(ReplayCase):
    def rows_far_ahead(self):
        return self.write("trace.csv", "id,time_us,x,y\n" + "".join(
            f"{row % 10},{row // 10 * 1_000_000},{row},0\n" for row in range(1_000)) +
            "3,40000000000,5,5\n")

    def test_the_size_is_said_before_and_rows_far_ahead_are_named_with_a_flag_that_helps(self):
        trace = self.rows_far_ahead()
        errors = self.replay(trace, "--out", "lists.csv", "--tick", "10s", "-k", 3).stderr
        self.assertIn("replay: 4001 ticks from 1970-01-01T00:00:00Z to 1970-01-01T11:06:40Z, at most "
                      "10 lists a tick, at most 360 rows to write\n", errors)
        self.assertIn("replay: warning: 1 of the 1001 rows, from 1970-01-01T11:06:40Z to "
                      "1970-01-01T11:06:40Z, are stamped far after the others and make 3990 of the "
                      "4001 ticks; --until 1970-01-01T00:01:39Z leaves them out\n", errors)
        errors = self.replay(trace, "--out", "lists.csv", "--tick", "10s", "-k", 3, "--until",
                             "1970-01-01T00:01:39Z").stderr
        self.assertIn("replay: 11 ticks from", errors)
        self.assertNotIn("warning", errors)

    def test_ticks_without_rows_and_changes_are_written_only_if_asked(self):
        trace = self.rows_far_ahead()
        flags = [trace, "--tick", "10s", "-k", 3]
        done = self.replay(*flags, "--out", "-")
        brief = done.stdout.splitlines()
        self.assertEqual(len(brief), 1 + 12 * 30)  # a header, and 12 ticks with rows
        self.assertIn("3989 ticks without rows and changes; --every-tick writes them too", done.stderr)
        done = self.replay(*flags, "--out", "-", "--every-tick")
        self.assertIn("at most 120030 rows to write", done.stderr)
        whole = done.stdout.splitlines()
        self.assertEqual(len(whole), 1 + 4_001 * 30)
        self.assertNotIn("not written", done.stderr)
        written = {line.split(",")[0] for line in brief}
        self.assertEqual([line for line in whole if line.split(",")[0] in written], brief)
        last = {}
        for line in whole[1:]:  # a tick that `brief` leaves out has the lists of the tick before it
            tick, _, rest = line.split(",", 2)
            last.setdefault(tick, []).append(rest)
        for tick in range(2, 4_002):
            if str(tick) not in written:
                self.assertEqual(last[str(tick)], last[str(tick - 1)])

    def test_a_list_that_time_changes_is_written_without_rows(self):
        trace = self.write("trace.csv", "id,time_us,x,y\na,0,0,0\nb,0,1,0\nc,90000000,2,0\n")
        lists = self.lists(trace, "--tick", "10s", "--max-age", "45s", "--changes")
        self.assertEqual(lists, {(1, "a"): "b", (1, "b"): "a", (6, "a"): "", (6, "b"): "",
                                 (10, "a"): "c", (10, "b"): "c", (10, "c"): ""})
        lists = self.lists(trace, "--tick", "10s", "--object-ttl", "45s")
        self.assertEqual(lists, {(1, "a"): "b", (1, "b"): "a", (10, "c"): ""})

    def test_flags_that_contradict_are_refused(self):
        trace = self.rows_far_ahead()
        self.assertIn("give one", self.replay(trace, "--every-tick", "--changes", "--out", "o.csv",
                                              status=2).stderr)
        self.assertIn("add --out FILE", self.replay(trace, "--every-tick", status=2).stderr)

    def test_the_recorded_ships_are_foretold_and_stay_small(self):
        trace = TRACES / "ais_marinecadastre_2022-01-03.csv.gz"
        if not trace.exists():
            self.skipTest(f"{trace} is not there; set STARLING_TRACES to the folder of the traces")
        errors = self.replay(trace, "--tick", "10m", "-k", 1, "--out", "lists.csv").stderr
        self.assertIn("replay: 145 ticks from 2022-01-03T00:00:00Z to 2022-01-04T00:00:00Z, at most "
                      "10631 lists a tick, at most 74417 rows to write\n", errors)
        self.assertIn("replay: warning: 352 of the 99999 rows, from 2022-01-03T14:21:06Z to "
                      "2022-01-03T23:59:59Z, are stamped far after the others and make 141 of the 145 "
                      "ticks; --until 2022-01-03T00:25:16Z leaves them out\n", errors)
        self.assertLess((self.folder / "lists.csv").stat().st_size, 5_000_000)


if __name__ == "__main__":
    unittest.main()
