#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the arguments of starling.Engine, the contents of its results, and the calls that it refuses."""

import datetime
import unittest

import numpy

import package_case  # noqa: F401, finds the package
import starling

SECOND = 1_000_000


class Words(unittest.TestCase):
    """Tests arguments of several types: texts, numbers and datetimes."""

    def setUp(self):
        self.engine = starling.Engine()
        self.engine.put_stream("s", with_position=True, with_tags=True)

    def test_texts_are_ids_and_come_back(self):
        self.engine.put_queries("s", ["harbour", "12"], 2, at=[[0, 0], [9, 9]])
        self.engine.update(["truck-7", "12", "bus"], [[1, 1], [2, 2], [9, 9]], 1)
        lists = self.engine.tick(1).streams["s"]
        self.assertEqual(lists["harbour"].texts.tolist(), ["truck-7", "12"])
        self.assertEqual(lists["harbour"].ids.tolist(), [starling.text_id("truck-7"), 12])
        self.assertEqual(lists[12].texts.tolist(), ["bus", "12"])
        self.assertIn("harbour", lists)
        self.assertNotIn("elsewhere", lists)
        self.assertEqual(starling.text_id("007"), 7)
        with self.assertRaisesRegex(KeyError, "no list of the query 'elsewhere'"):
            lists["elsewhere"]

    def test_two_texts_with_the_same_hash_are_refused(self):
        self.engine.names._texts[starling.text_id("truck")] = "ship"  # a made-up collision, because no real
                                                                      # one is known
        with self.assertRaisesRegex(ValueError, "'truck' and 'ship' have the same hash"):
            self.engine.update(["truck"], [[0, 0]], 1)

    def test_texts_and_numbers_may_be_mixed(self):
        for ids in (["a", 7, "8"], (numpy.str_("a"), numpy.int64(7), 8),
                    numpy.array(["a", 7, 8], dtype=object)):
            self.assertEqual(self.engine.names.ids_of(ids).tolist(), [starling.text_id("a"), 7, 8])

    def test_times_are_microseconds_or_datetimes(self):
        moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 6)
        number = 1767323045000006
        oslo = datetime.timezone(datetime.timedelta(hours=1))
        for time in (number, numpy.datetime64(moment), moment, [number], [moment],
                     numpy.array([moment], "datetime64[ns]"), moment.replace(hour=4, tzinfo=oslo)):
            engine = starling.Engine(object_ttl=datetime.timedelta(seconds=1))
            self.assertEqual(engine.update([1], [[0, 0]], time).accepted, 1)
            self.assertEqual(engine.tick(number + 1_000_000).object_count, 1, time)
            self.assertEqual(engine.tick(number + 1_000_001).object_count, 0, time)
        later = moment + datetime.timedelta(seconds=9)
        self.assertEqual(engine.tick(later).time, numpy.datetime64(later))

    def test_without_times_it_is_now(self):
        engine = starling.Engine(object_ttl=numpy.timedelta64(60, "s"))
        engine.update([1], [[0, 0]])
        tick = engine.tick()
        self.assertEqual(tick.object_count, 1)
        self.assertLess(abs(tick.time - numpy.datetime64("now")), numpy.timedelta64(60, "s"))

    def test_positions_and_tags_are_reported(self):
        self.engine.put_queries("s", 1, 2, at=(0, 0))
        self.engine.update([5, 6], numpy.array([[1.004, 2], [3, 4]], dtype=numpy.float32), 1, tags=[9, 0])
        self.engine.update_tags(6, 2, set=6)
        self.engine.update_tags([5], 2, set=2, clear=8)
        found = self.engine.tick(2).streams["s"][1]
        self.assertEqual(found.positions.tolist(), [[1.0, 2, 0], [3, 4, 0]])
        self.assertEqual(found.tags.tolist(), [3, 6])

    def test_a_bad_row_does_not_stop_the_others(self):
        batch = self.engine.update([1, 2, 3], [[0, 0], [numpy.nan, 0], [1e300, 0]], [5, 5, 5])
        self.assertEqual((batch.accepted, batch.late, batch.rejected), (1, 0, 2))
        self.assertEqual(len(batch.reasons()), 2)
        batch = self.engine.update([1, 4], [[0, 0], [1, 1]], [4, 9], time_max=6)
        self.assertEqual((batch.accepted, batch.late, batch.rejected), (0, 1, 1))
        self.assertEqual(self.engine.update_tags(99, 1, set=1).rejected, 1)
        batch = self.engine.put_queries("s", [1, 2], 1, at=[[0, 0], [0, numpy.nan]])
        self.assertEqual((batch.accepted, batch.rejected), (1, 1))

    def test_questions_are_answered_from_the_last_tick(self):
        self.engine.update([1, 2, 3], [[0, 0], [1, 0], [2, 0]], 1)
        self.assertEqual(len(self.engine.neighbors([0, 0], 3)[0]), 0)
        self.engine.tick(1)
        lists = self.engine.neighbors([[0, 0], [2, 0]], [1, 2])
        self.assertEqual([found.ids.tolist() for found in lists], [[1], [3, 2]])
        self.assertEqual(self.engine.neighbors(follow=2, k=5)[0].ids.tolist(), [1, 3])
        self.assertEqual(len(self.engine.neighbors(numpy.empty((0, 2)), 1)), 0)

    def test_an_unknown_object_is_told_from_an_empty_list(self):
        self.engine.update(["ann", "bob"], [[0, 0], [3, 4]], 1)
        with self.assertRaisesRegex(starling.UnknownObject, "No tick has finished yet"):
            self.engine.neighbors(follow="ann")
        self.engine.tick(1)
        self.assertEqual(len(self.engine.neighbors(follow="ann", distance_max=1)[0]), 0)
        with self.assertRaisesRegex(starling.UnknownObject, "Tick 1 has no object 'nobody'") as raised:
            self.engine.neighbors(follow="nobody")
        self.assertIsInstance(raised.exception, KeyError)
        self.assertEqual(raised.exception.name, "unknown_object")
        with self.assertRaises(starling.UnknownObject):
            self.engine.neighbors(follow=numpy.uint64(99))
        lists = self.engine.neighbors(follow=["bob", "nobody", "ann"], k=1, distance_max=[9, 9, 1])
        self.assertEqual(lists.is_unknown.tolist(), [False, True, False])
        self.assertEqual([(found.is_unknown, found.texts.tolist()) for found in lists],
                         [(False, ["ann"]), (True, []), (False, [])])
        self.assertIn("unknown object", lists._repr_html_())
        self.assertEqual(self.engine.neighbors([0, 0]).is_unknown.tolist(), [False])
        self.engine.remove("ann", 2)
        self.assertEqual(self.engine.neighbors(follow="ann")[0].texts.tolist(), ["bob"])
        self.engine.tick(2)
        with self.assertRaises(starling.UnknownObject):
            self.engine.neighbors(follow="ann")

    def test_rows_wait_while_a_tick_is_under_way(self):
        self.engine.put_queries("s", 1, 9, at=(0, 0))
        self.engine.update([1], [[0, 0]], 1)
        self.engine.begin_tick(1)
        self.engine.update([2], [[0, 1]], 2)
        self.assertEqual(self.engine.finish_tick().streams["s"][1].ids.tolist(), [1])
        self.assertEqual(self.engine.tick(2).streams["s"][1].ids.tolist(), [1, 2])

    def test_removed_streams_and_queries_are_reported_once(self):
        self.engine.put_queries("s", [1, 2], 1, at=[[0, 0], [1, 1]])
        self.engine.tick(1)
        self.engine.remove_queries("s", [1])
        lists = self.engine.tick(2).streams["s"]
        self.assertEqual([(found.query, found.is_removed) for found in lists], [(1, True)])
        self.engine.remove_stream("s")
        lists = self.engine.tick(3).streams["s"]
        self.assertTrue(lists.is_last)
        self.assertEqual(dict(self.engine.tick(4).streams), {})

    def test_a_lease_ends(self):
        self.engine.tick(0)
        self.engine.put_queries("s", 1, 1, at=(0, 0), lease=datetime.timedelta(seconds=1))
        self.engine.tick(1)
        self.assertEqual(len(self.engine.tick(2).streams["s"]), 0)
        self.assertTrue(self.engine.tick(2 * SECOND).streams["s"][1].is_removed)

    def test_wrong_calls_are_refused_with_a_sentence(self):
        engine, refusal = self.engine, starling.StarlingError
        engine.put_queries("s", 1, 1, at=(0, 0))
        engine.tick(10)
        for expected, kind, call in (
                ("unknown|no stream", refusal, lambda: engine.put_queries("t", 1, 1, at=(0, 0))),
                ("k", refusal, lambda: engine.put_queries("s", 2, 1025, at=(0, 0))),
                ("k", refusal, lambda: engine.put_queries("s", 2, 0, at=(0, 0))),
                ("k must be from 0", ValueError, lambda: engine.put_queries("s", 2, -1, at=(0, 0))),
                ("one of at, follow", ValueError, lambda: engine.put_queries("s", 2, 1)),
                ("one of at, follow", ValueError, lambda: engine.put_queries("s", 2, 1, at=(0, 0), follow=1)),
                ("2 ids and 1 places", ValueError, lambda: engine.put_queries("s", [2, 3], 1, at=(0, 0))),
                ("at has 4 columns", ValueError, lambda: engine.put_queries("s", 2, 1, at=[[0, 0, 0, 0]])),
                (".", refusal, lambda: engine.put_queries("s", 2, 1, at=(0, 0), distance_max=-1)),
                (".", refusal, lambda: engine.put_queries("s", 2, 1, at=(0, 0), vote=True)),
                ("regress is 'median'", ValueError,
                 lambda: engine.put_queries("s", 2, 1, at=(0, 0), regress="median")),
                ("tau", refusal, lambda: engine.tick(9)),
                ("whole microseconds", TypeError, lambda: engine.tick(1.5)),
                ("on is 'always'", ValueError, lambda: engine.put_stream("t", "always")),
                ("name must be a text", TypeError, lambda: engine.put_stream(7)),
                (".", refusal, lambda: engine.put_stream("")),
                ("NUL", ValueError, lambda: engine.put_stream("a\0b")),
                ("2 ids and 1 positions", ValueError, lambda: engine.update([1, 2], [[0, 0]])),
                ("positions has 1 columns", ValueError, lambda: engine.update([1, 2], [[0], [0]])),
                ("positions must be real", TypeError, lambda: engine.update([1], [["x", "y"]])),
                ("ids are not negative", ValueError, lambda: engine.update([-1], [[0, 0]])),
                ("ids must be integers", TypeError, lambda: engine.update([1.5], [[0, 0]])),
                ("ids must have one axis", ValueError, lambda: engine.update([[1]], [[0, 0]])),
                ("is no id", ValueError, lambda: engine.update([""], [[0, 0]])),
                ("is no id", TypeError, lambda: engine.update([None], [[0, 0]])),
                ("times must have the shape", ValueError, lambda: engine.update([1], [[0, 0]], [1, 2])),
                ("NaT", ValueError, lambda: engine.update([1], [[0, 0]], numpy.datetime64("NaT"))),
                ("whole microseconds", TypeError, lambda: engine.update([1], [[0, 0]], [0.5])),
                ("tags must be from 0", ValueError, lambda: engine.update([1], [[0, 0]], 1, tags=-1)),
                (".", refusal, lambda: engine.update([1], [[0, 0]], 1, labels=1)),
                ("space is 'flat'", ValueError, lambda: starling.Engine("flat")),
                ("dimension", refusal, lambda: starling.Engine("vector")),
                ("resolution", refusal, lambda: starling.Engine(resolution_m=0)),
                (".", refusal, lambda: starling.Engine("wgs84", resolution_m=1e-9)),
                ("threads cannot be", ValueError, lambda: starling.Engine(threads=-1)),
                ("objects_max must be an integer", TypeError, lambda: starling.Engine(objects_max="many"))):
            with self.subTest(expected):
                with self.assertRaisesRegex(kind, expected) as caught:
                    call()
                self.assertGreater(len(str(caught.exception).split()), 3)

    def test_a_closed_engine_is_refused_and_its_lists_stay(self):
        self.engine.put_queries("s", 1, 1, at=(0, 0))
        self.engine.update([1], [[3, 4]], 1)
        lists = self.engine.tick(1).streams["s"]
        with self.engine:
            pass
        self.engine.close()
        with self.assertRaisesRegex(starling.StarlingError, "The engine is closed"):
            self.engine.tick(2)
        self.assertEqual(lists[1].distances.tolist(), [5.0])


if __name__ == "__main__":
    unittest.main()
