#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the replay oracle with cases worked out by hand: an untested oracle proves nothing."""

import gzip
import io
import pathlib
import tempfile
import unittest

import numpy

import replay_oracle
from replay_oracle import Difference, Result, Trace, compare
from traces import iso_time_us
from xxh64 import id_of_text, xxh64

# Three ships on the equator. The last position of ship 100 is 111 m from ship 3. The rows are out
# of order. One row is at 0,0. One row has no latitude. The last two rows are of the same ship at
# the same time.
SHIPS = """MMSI,BaseDateTime,LAT,LON
20,2022-01-03T00:01:30,0,0.0002
3,2022-01-03T00:00:30,0,0.0001
20,2022-01-03T00:00:10,0,0.0003
100,2022-01-03T00:02:00,0,0
100,2022-01-03T00:02:00,,0.1
100,2022-01-03T00:02:00,0,0.5
100,2022-01-03T00:02:00,0,0.0011
"""
# On the equator, 0.0001, 0.0002 and 0.0003 degrees are 1113, 2226 and 3340 lattice units of 1 cm.
SHIP_LISTS = """tick,time_us,query_id,rank,object_id,distance_m
1,1641168060000000,3,1,20,22.270
1,1641168060000000,20,1,3,22.270
2,1641168120000000,3,1,20,11.130
2,1641168120000000,3,2,100,111.320
2,1641168120000000,20,1,3,11.130
2,1641168120000000,20,2,100,100.190
2,1641168120000000,100,1,20,100.190
2,1641168120000000,100,2,3,111.320
"""
MINUTE_US = 60_000_000


class HandMadeTrace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "ships.csv.gz"
        with gzip.open(self.path, "wt") as file:
            file.write(SHIPS)

    def compare(self, lists, k=8, distance_max_m=numpy.inf, max_age_us=None):
        trace = Trace(self.path, "ais")
        result = Result(k, "the file", io.BytesIO(lists.encode()), distance_max_m)
        return compare(trace, MINUTE_US, [result], max_age_us)

    def test_equal_lists_pass(self):
        self.assertEqual(self.compare(SHIP_LISTS), 2)

    def test_skipped_rows_are_counted(self):
        self.assertEqual(Trace(self.path, "ais").skipped,
                         {"missing field": 1, "out of range": 0, "null island": 1})

    def test_rows_outside_from_and_to_do_not_count(self):
        trace = Trace(self.path, "ais", iso_time_us("2022-01-03T00:00:10"),
                      iso_time_us("2022-01-03T00:01:30"))
        self.assertEqual(trace.names, ["3", "20"])

    def test_a_list_is_cut_at_k(self):
        first_ranks = "".join(line for line in SHIP_LISTS.splitlines(True)
                              if line.split(",")[3] in ("rank", "1"))
        self.assertEqual(self.compare(first_ranks, k=1), 2)

    def test_a_list_without_a_neighbour_is_one_line_of_rank_0(self):
        lines = SHIP_LISTS.splitlines(True)
        near = "".join(lines[:4] + lines[5:6] + ["2,1641168120000000,100,0,,\n"])
        self.assertEqual(self.compare(near, distance_max_m=50), 2)
        self.assertEqual(self.compare(near, k=1, distance_max_m=50), 2)
        # The last row of ship 20 is 50 s old at the first tick. The last row of ship 3 is 90 s old at the
        # second tick.
        fresh = "".join([lines[0], "1,1641168060000000,3,0,,\n", *lines[2:5],
                         "2,1641168120000000,20,1,100,100.190\n", lines[7]])
        self.assertEqual(self.compare(fresh, max_age_us=40_000_000), 2)
        for wrong in (near.replace("2,1641168120000000,100,0,,\n", ""), near.replace(",100,0,,", ",100,,,")):
            with self.assertRaises(Difference):
                self.compare(wrong, distance_max_m=50)

    def test_the_greatest_distance_is_inclusive(self):
        near = [line for line in SHIP_LISTS.splitlines(True) if line[-8:-1] not in ("111.320", "100.190")]
        self.assertEqual(self.compare("".join(near + ["2,1641168120000000,100,0,,\n"]),
                                      distance_max_m=22.27), 2)

    def test_any_difference_is_told(self):
        lines = SHIP_LISTS.splitlines(True)
        wrong = {
            "a distance": SHIP_LISTS.replace("3,2,100,111.320", "3,2,100,111.321"),
            "an id": SHIP_LISTS.replace("100,2,3,", "100,2,4,"),
            "the order": "".join(lines[:5] + [lines[6], lines[5]] + lines[7:]),
            "a line less": "".join(lines[:-1]),
            "a line more": SHIP_LISTS + lines[-1],
            "no header": "".join(lines[1:]),
        }
        for what, lists in wrong.items():
            with self.subTest(what), self.assertRaises(Difference):
                self.compare(lists)

    def test_the_sentence_names_both_lines(self):
        with self.assertRaisesRegex(Difference, "has 2,.*,3,2,100,111.320 where the file has "
                                                "2,.*,3,2,100,5.000"):
            self.compare(SHIP_LISTS.replace("3,2,100,111.320", "3,2,100,5.000"))


class Geometry(unittest.TestCase):
    def test_positions_round_half_away_from_zero(self):
        points, close = replay_oracle.to_lattice(numpy.array([[0.024, -0.026, 0.0]]))
        self.assertEqual(points.tolist(), [[2, -3, 0]])
        self.assertEqual(close, 0)
        points, close = replay_oracle.to_lattice(numpy.array([[0.125, -0.125, 1e-3]]) * 5)
        self.assertEqual(points.tolist(), [[63, -63, 1]])
        self.assertEqual(close, 3)

    def test_the_poles_and_the_equator_are_where_they_are(self):
        metres = replay_oracle.to_metres(numpy.array([[0.0, 0.0], [90.0, 0.0], [7.0, 90.0]]), True)
        self.assertTrue(numpy.allclose(metres, [[6378137, 0, 0], [0, 6378137, 0],
                                                [0, 0, 6356752.314245]], atol=1e-6))

    def test_squared_distances_are_exact_across_the_lattice(self):
        low, high = -2**30, 2**30 - 1
        squares = replay_oracle.squared_distances(numpy.array([[low, low, low]]),
                                                  numpy.array([[high, high, high]]))
        self.assertEqual(int(squares[0, 0]), 3 * (2**31 - 1) ** 2)

    def test_nearest_equals_a_plain_sort_with_ties(self):
        random = numpy.random.default_rng(1)
        for count, k in ((1, 1), (2, 5), (9, 3), (200, 8), (200, 199), (200, 200)):
            points = random.integers(-4, 5, size=(count, 3))
            candidates = numpy.flatnonzero(random.random(count) < 0.8)
            indices, squares = replay_oracle.nearest(points, candidates, k)
            for row in range(count):
                expected = sorted((int(((points[row] - points[other]) ** 2).sum()), int(other))
                                  for other in candidates if other != row)[:k]
                found = [pair for pair in zip(squares[row].tolist(), indices[row].tolist())
                         if pair[0] != 2**64 - 1]
                self.assertEqual(found, expected)


class Ids(unittest.TestCase):
    def test_hashes_are_the_published_ones(self):
        self.assertEqual(xxh64(b""), 0xEF46DB3751D8E999)
        self.assertEqual(xxh64(b"abc"), 0x44BC2CF5AD770999)
        self.assertEqual(xxh64(b"Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1)

    def test_decimal_text_is_its_number(self):
        self.assertEqual(id_of_text("367379190"), 367379190)
        self.assertEqual(id_of_text("18446744073709551615"), 2**64 - 1)
        self.assertEqual(id_of_text("18446744073709551616"), xxh64(b"18446744073709551616"))
        self.assertEqual(id_of_text("car_0"), xxh64(b"car_0"))


if __name__ == "__main__":
    unittest.main()
