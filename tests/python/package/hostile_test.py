#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that no argument crashes a program: each call works, or raises ValueError, TypeError or
StarlingError."""

import gc
import os
import threading
import unittest

import numpy

import package_case  # noqa: F401, finds the package
import starling

THINGS = (
    object(), None, "x", "", b"ab", 5, -1, 2**64, 2**70, 1.5, float("nan"), float("inf"), True,
    [[]], [], [[[]]], {"a": 1}, (x for x in ()), numpy.array([]), numpy.zeros((0, 2)),
    numpy.zeros((2, 0)), numpy.zeros((1, 4097)),
    numpy.array([[1, 2]], dtype=object), numpy.array([[None, 2]], dtype=object), numpy.array([["1", "2"]]),
    numpy.zeros((1, 2), "datetime64[s]"), numpy.array([(1, 2)], "i4,i4"), numpy.zeros((1, 2), ">f8"),
    numpy.zeros((1, 2), "f2"), numpy.zeros((1, 2), "c8"), numpy.zeros((2, 2))[::-1],
    numpy.broadcast_to(numpy.zeros(2), (3, 2)), numpy.zeros((4, 4))[::2, ::2], memoryview(b"ab"),
    numpy.float64(4), numpy.array(7), numpy.datetime64("NaT"), numpy.timedelta64(3, "Y"),
    numpy.datetime64(2**62, "s"), ["a", 1, None], numpy.array([2**63], numpy.uint64),
    numpy.array(["a\0b"]), ["\ud800"], "x" * 300, numpy.full((1, 2), 1e308),
)


class Hostile(unittest.TestCase):
    def test_any_thing_in_any_place_is_taken_or_refused(self):
        engine = starling.Engine(threads=1, object_ttl=10)
        engine.put_stream("s")
        engine.put_queries("s", 1, 1, at=(0, 0))
        vectors = starling.Engine("vector", dimension=2, threads=1)
        vectors.put_stream("s")
        index = starling.Index([[0.0, 0], [1, 1]], threads=1)
        lists = engine.neighbors((0, 0), 1)
        rows = [[0.0, 0], [1, 1], [2, 5]]
        nearest = starling.NearestNeighbors(n_neighbors=1, n_jobs=1).fit(rows)

        def fit(**parameters):
            return starling.NearestNeighbors(n_neighbors=1, n_jobs=1, **parameters).fit(rows).kneighbors(rows)

        calls = {
            "index add": lambda thing: index.add(thing),
            "index remove": lambda thing: index.remove(thing),
            "fit": lambda thing: starling.NearestNeighbors().fit(thing),
            "rows": lambda thing: nearest.kneighbors(thing),
            "n_neighbors": lambda thing: nearest.kneighbors(rows, thing),
            "radius": lambda thing: nearest.radius_neighbors(rows, thing),
            "algorithm": lambda thing: fit(algorithm=thing),
            "metric": lambda thing: fit(metric=thing),
            "p": lambda thing: fit(p=thing),
            "metric_params": lambda thing: fit(metric_params=thing),
            "w": lambda thing: fit(metric_params={"w": thing}),
            "weights": lambda thing: starling.KNeighborsClassifier(1, weights=thing).fit(rows, [1, 2, 3]),
            "outlier_label": lambda thing: starling.RadiusNeighborsClassifier(
                outlier_label=thing).fit(rows, [1, 2, 3]).predict([[90, 90]]),
            "knn": lambda thing: starling.knn(thing, k=1, threads=1),
            "knn queries": lambda thing: starling.knn([[0, 0]], thing),
            "knn k": lambda thing: starling.knn([[0, 0]], k=thing),
            "knn metric": lambda thing: starling.knn([[0, 0]], metric=thing),
            "knn device": lambda thing: starling.knn([[0, 0]], device=thing),
            "first_row": lambda thing: index.search([[0, 0]], 1, first_row=thing),
            "ids": lambda thing: engine.update(thing, [[0, 0]], 1),
            "positions": lambda thing: engine.update([1], thing, 1),
            "times": lambda thing: engine.update([1], [[0, 0]], thing),
            "tags": lambda thing: engine.update([1], [[0, 0]], 1, tags=thing),
            "time_max": lambda thing: engine.update([1], [[0, 0]], 1, time_max=thing),
            "labels": lambda thing: vectors.update([1], [[0, 0]], 1, labels=thing),
            "values": lambda thing: vectors.update([1], [[0, 0]], 1, values=thing),
            "vectors": lambda thing: vectors.update([1], thing, 1),
            "set": lambda thing: engine.update_tags([1], 1, set=thing),
            "remove": lambda thing: engine.remove(thing, 1),
            "stream": lambda thing: engine.put_stream(thing),
            "on": lambda thing: engine.put_stream("s", thing),
            "stream of queries": lambda thing: engine.put_queries(thing, 1, 1, at=(0, 0)),
            "query ids": lambda thing: engine.put_queries("s", thing, 1, at=(0, 0)),
            "k": lambda thing: engine.put_queries("s", 1, thing, at=(0, 0)),
            "at": lambda thing: engine.put_queries("s", 1, 1, at=thing),
            "at of vectors": lambda thing: vectors.put_queries("s", 1, 1, at=thing),
            "follow": lambda thing: engine.put_queries("s", 1, 1, follow=thing),
            "tags_required": lambda thing: engine.put_queries("s", 1, 1, at=(0, 0), tags_required=thing),
            "distance_max": lambda thing: engine.put_queries("s", 1, 1, at=(0, 0), distance_max=thing),
            "age_max": lambda thing: engine.put_queries("s", 1, 1, at=(0, 0), age_max=thing),
            "lease": lambda thing: engine.put_queries("s", 1, 1, at=(0, 0), lease=thing),
            "regress": lambda thing: engine.put_queries("s", 1, 1, at=(0, 0), regress=thing),
            "question": lambda thing: engine.neighbors(thing, 1),
            "space": lambda thing: starling.Engine(thing),
            "origin": lambda thing: starling.Engine(origin=thing, objects_max=10),
            "resolution_m": lambda thing: starling.Engine(resolution_m=thing, objects_max=10),
            "objects_max": lambda thing: starling.Engine(objects_max=thing),
            "object_ttl": lambda thing: starling.Engine(object_ttl=thing, objects_max=10),
            "text_id": lambda thing: starling.text_id(thing),
            "lists": lambda thing: thing in lists,
            "list": lambda thing: lists[thing],
            "timeout": lambda thing: starling.Client("nonsense", timeout=thing),
        }
        for name, call in calls.items():
            for thing in THINGS:
                with self.subTest(name, thing=repr(thing)[:60]):
                    try:
                        call(thing)
                    except (ValueError, TypeError, KeyError, starling.StarlingError) as error:
                        self.assertGreater(len(str(error)), 5)
        engine.tick(10**15)

    def test_a_second_thread_is_refused_and_harms_nothing(self):
        engine = starling.Engine(objects_max=500_000, threads=1)
        ids, places = numpy.arange(400_000), numpy.zeros((400_000, 2))
        done, refused = [], []

        def update():
            for _ in range(10):
                try:
                    done.append(engine.update(ids, places, 1).accepted)
                except starling.StarlingError as error:
                    refused.append(error.code)

        threads = [threading.Thread(target=update) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(done), {400_000})
        self.assertEqual(set(refused) - {starling.ErrorCode.IN_USE}, set())
        self.assertEqual(len(done) + len(refused), 30)
        self.assertEqual(engine.tick(1).object_count, 400_000)

    def test_threads_take_turns_at_an_index_and_at_an_estimator(self):
        points = numpy.random.default_rng(1).random((3000, 16)).astype(numpy.float32)
        index, model = starling.Index(points), starling.NearestNeighbors().fit(points)
        expected, found = index.search(points, 5).indices, []

        def search():
            for _ in range(5):
                found.append(index.search(points, 5).indices)
                found.append(model.kneighbors(points, return_distance=False))

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 40)
        for rows in found:
            numpy.testing.assert_array_equal(rows, expected)

    def test_different_engines_work_in_different_threads(self):
        counts = []

        def run(seed):
            random = numpy.random.default_rng(seed)
            with starling.Engine(threads=1, objects_max=1000) as engine:
                for tau in range(50):
                    engine.update(numpy.arange(500), random.random((500, 2)), tau)
                    counts.append(engine.tick(tau).object_count)

        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counts, [500] * 200)

    def test_handles_are_freed(self):
        for _ in range(200):
            engine = starling.Engine(threads=1, objects_max=10, queries_max=10, neighbors_max=100)
            engine.put_stream("s")
            engine.put_queries("s", 1, 1, at=(0, 0))
            engine.update([1], [[0, 0]], 1)
            lists = engine.tick(1).streams["s"]
        del engine
        gc.collect()
        self.assertEqual(lists[1].ids.tolist(), [1])
        self.assertLess(threading.active_count(), 10)
        self.assertLess(len(os.listdir("/proc/self/task")), 40)


if __name__ == "__main__":
    unittest.main()
