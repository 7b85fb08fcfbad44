#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares starling.Engine with brute force: random scripts of updates, removals, tags, expiry and filters,
in all spaces.

After each tick, the lists that a reader holds must equal the lists of brute force, and each reported list
must have changed."""

import os
import signal
import unittest

import numpy

import package_case  # noqa: F401, finds the package
import oracle
import starling
from starling._library import METRICS

SECOND = 1_000_000
NEVER = -10**18
SEED = int(os.environ.get("STARLING_SEED", "23"))


class World:
    """The objects after all calls so far, by the rules of event time."""

    def __init__(self, object_ttl_us):
        self.object_ttl_us = object_ttl_us
        self.rows = {}  # id: (time, place, tags)
        self.removed = {}  # id: time

    def update(self, ids, times, places, tags):
        for number, time_us, place, bits in zip(ids, times, places, tags):
            known = self.rows.get(number)
            if time_us >= max(known[0] if known else NEVER, self.removed.get(number, NEVER)):
                self.rows[number] = (time_us, place, bits)
                self.removed.pop(number, None)

    def remove(self, ids, times):
        for number, time_us in zip(ids, times):
            known = self.rows.get(number)
            if known and time_us >= known[0]:
                del self.rows[number]
            if not known or time_us >= known[0]:
                self.removed[number] = max(time_us, self.removed.get(number, NEVER))

    def alive(self, tau_us):
        """Returns the ids, times, places and tags of the objects that have not expired."""
        found = [(number, *row) for number, row in sorted(self.rows.items())
                 if tau_us - row[0] <= self.object_ttl_us]
        ids, times, places, tags = zip(*found) if found else ((), (), (), ())
        return (numpy.array(ids, dtype=numpy.uint64), numpy.array(times, dtype=numpy.int64),
                numpy.array(places, dtype=numpy.float64), numpy.array(tags, dtype=numpy.uint32))


class Reader:
    """Holds the lists of a stream, and applies reports to them."""

    def __init__(self, case, on):
        self.case, self.on = case, on
        self.held = {}

    def essence(self, ids, distances):
        return {"membership": set(ids), "order": tuple(ids),
                "distance": (tuple(ids), tuple(distances))}[self.on]

    def take(self, lists):
        for found in lists:
            key = (found.query, found.subject)
            if found.is_removed:
                self.case.assertIn(key, self.held)
                del self.held[key]
                continue
            essence = self.essence(found.ids.tolist(), found.distances.tolist())
            self.case.assertNotEqual(self.held.get(key), essence, "a list is reported and has not changed")
            self.held[key] = essence


class Script(unittest.TestCase):
    """A random script in one space."""

    def run_script(self, space, on, seed, threads=2, object_ttl_us=6 * SECOND):
        self.random = numpy.random.default_rng(seed)
        self.space, self.on = space, on
        self.origin = (5.0, -3.0, 0.0) if space.startswith("planar") else (0, 0, 0)
        engine = starling.Engine(
            space, threads=threads, object_ttl=object_ttl_us,
            origin=self.origin if space != "wgs84" else None)
        self.world, reader = World(object_ttl_us), Reader(self, on)
        engine.put_stream("s", on)
        self.put_queries(engine)
        for tick in range(1, 12):
            tau_us = tick * SECOND
            self.change(engine, tau_us)
            done = engine.tick(tau_us)
            self.assertEqual((done.tick, done.tau_us), (tick, tau_us))
            reader.take(done.streams["s"])
            alive = self.world.alive(tau_us)
            self.assertEqual(done.object_count, len(alive[0]))
            self.assertEqual(reader.held, self.expected(reader, alive, tau_us), f"seed {seed}, tick {tick}")

    def places(self, count):
        if self.space == "wgs84":
            near = self.random.uniform([179.98, 59.9], [180.02, 60.0], size=(count, 2))
            near[:, 0] = numpy.where(near[:, 0] > 180, near[:, 0] - 360, near[:, 0])
            return near
        size = 2 if self.space == "planar2" else 3
        return self.random.integers(-10, 10, size=(count, size)) * 0.5  # with many ties

    def put_queries(self, engine):
        spots = self.places(6)
        self.queries = {}
        for query, k, where in (
                (1, 1, {"at": spots[0]}),
                (2, 5, {"at": spots[1], "distance_max": 4.0 if self.space != "wgs84" else 2e3}),
                (3, 3, {"at": spots[2], "tags_required": 1, "tags_forbidden": 4}),
                (4, 40, {"at": spots[3], "age_max": 2 * SECOND}), (5, 4, {"follow": 7}),
                (6, 2, {"follow": 8, "tags_forbidden": 1}),
                (7, 3, {"every_object": True, "subject_required": 2, "tags_forbidden": 8})):
            batch = engine.put_queries("s", query, k, **where)
            self.assertEqual(batch.accepted, 1)
            self.queries[query] = (k, where)

    def change(self, engine, tau_us):
        count = int(self.random.integers(0, 40))
        ids = self.random.integers(1, 40, size=count)
        times = tau_us - self.random.integers(0, 3 * SECOND, size=count)
        places = self.places(count)
        tags = self.random.integers(0, 16, size=count)
        before = dict(self.world.rows)
        if count:
            batch = engine.update(ids, places, times, tags)
            self.assertEqual(batch.rejected, 0, batch.reasons())
            self.world.update(ids.tolist(), times.tolist(), places.tolist(), tags.tolist())
        gone = self.random.integers(1, 40, size=2)
        moments = numpy.full(2, tau_us - SECOND // 2)
        engine.remove(gone, moments)
        self.world.remove(gone.tolist(), moments.tolist())
        return before

    def expected(self, reader, alive, tau_us):
        ids, times, places, tags = alive
        places = places.reshape(len(ids), -1)
        points = numpy.zeros((0, 3), int)
        if len(ids):
            points = oracle.to_lattice(places, self.space, origin=self.origin)
        lists = {}
        for query, (k, where) in self.queries.items():
            if "every_object" in where:
                for row in numpy.flatnonzero((tags & 2) == 2):
                    lists[query, int(ids[row])] = (points[row], ids != ids[row], k, where)
            elif "follow" in where:
                row = numpy.flatnonzero(ids == where["follow"])
                lists[query, None] = (points[row[0]], ids != where["follow"], k, where) if len(row) else None
            else:
                place = oracle.to_lattice([where["at"]], self.space, origin=self.origin)[0]
                lists[query, None] = (place, numpy.ones(len(ids), bool), k, where)
        return {key: reader.essence(*self.answer(wanted, alive, points, tau_us))
                for key, wanted in lists.items()}

    def answer(self, wanted, alive, points, tau_us):
        if wanted is None:
            return [], []
        place, passes, k, where = wanted
        ids, times, _, tags = alive
        square = oracle.squares(place[None], points)[0] if len(ids) else numpy.zeros(0, int)
        passes = passes & ((tags & where.get("tags_required", 0)) == where.get("tags_required", 0))
        passes &= (tags & where.get("tags_forbidden", 0)) == 0
        passes &= tau_us - times <= where.get("age_max", tau_us + 10**12)
        passes &= numpy.sqrt(square.astype(float)) * 0.01 <= where.get("distance_max", numpy.inf)
        rows = numpy.flatnonzero(passes)
        rows = rows[oracle.nearest(square[rows], ids[rows], k)]
        return ids[rows].tolist(), (numpy.sqrt(square[rows].astype(float)) * 0.01).tolist()

    def test_planar2_is_brute_force(self):
        for seed in range(SEED, SEED + 6):
            for on in ("membership", "order", "distance"):
                self.run_script("planar2", on, seed, threads=1 + seed % 3)

    def test_planar3_is_brute_force(self):
        for seed in range(SEED, SEED + 6):
            self.run_script("planar3", "distance", seed)

    def test_wgs84_is_brute_force_across_the_date_line(self):
        for seed in range(SEED, SEED + 6):
            self.run_script("wgs84", "distance", seed)


class VectorTicks(unittest.TestCase):
    def test_lists_are_those_of_brute_force_in_all_metrics(self):
        for metric in METRICS:
            self.random = numpy.random.default_rng(SEED)
            engine = starling.Engine("vector", dimension=5, metric=metric, threads=2)
            engine.put_stream("s", "distance")
            at = self.rows(metric, 3)
            engine.put_queries("s", [1, 2, 3], 4, at=at)
            engine.put_queries("s", 4, 3, follow=11)
            held, world = {}, {}
            for tick in range(1, 6):
                ids = self.random.permutation(numpy.arange(1, 30))[:20]
                vectors = self.rows(metric, 20)
                self.assertEqual(engine.update(ids, vectors, tick).accepted, 20)
                world.update(zip(ids.tolist(), vectors))
                for found in engine.tick(tick).streams["s"]:
                    held[found.query] = found
                self.compare(metric, held, at, world)

    def rows(self, metric, count):
        low = 0 if metric in ("hellinger", "jensen-shannon", "kullback-leibler") else -1
        return self.random.uniform(low, 1, size=(count, 5)).astype(numpy.float32)

    def compare(self, metric, held, at, world):
        ids = sorted(world)
        points = numpy.array([world[number] for number in ids])
        asked = {query: at[query - 1] for query in (1, 2, 3)}
        if 11 in world:
            asked[4] = world[11]
        for query, vector in asked.items():
            truth = oracle.distances(metric, vector[None], points)[0]
            if query == 4:
                truth[ids.index(11)] = numpy.inf
            found = held[query]
            self.assertEqual(len(found), 3 if query == 4 else 4)
            numpy.testing.assert_allclose(
                found.distances, numpy.sort(truth)[:len(found)], rtol=1e-5, atol=2e-5, err_msg=metric)
            named = [truth[ids.index(number)] for number in found.ids.tolist()]
            numpy.testing.assert_allclose(found.distances, named, rtol=1e-5, atol=2e-5, err_msg=metric)

    def test_labels_vote_and_values_have_a_mean(self):
        engine = starling.Engine("vector", dimension=1)
        engine.put_stream("s")
        engine.put_queries("s", "q", 3, at=[[0]], vote=True, regress="uniform")
        engine.update([1, 2, 3, 4], [[1], [2], [3], [4]], 1, labels=[5, 6, 6, 5],
                      values=[1.0, 2.0, 6.0, 50.0])
        found = engine.tick(1).streams["s"]["q"]
        self.assertEqual((found.vote, found.mean), (6, 3.0))
        engine.update([2, 3], [[2], [3]], 2, labels=starling.NO_LABEL, values=numpy.nan)
        found = engine.tick(2).streams["s"]["q"]
        self.assertEqual((found.vote, found.mean), (5, 1.0))
        engine.update([1], [[1]], 3, labels=starling.NO_LABEL, values=numpy.nan)
        found = engine.tick(3).streams["s"]["q"]
        self.assertIsNone(found.vote)
        self.assertTrue(numpy.isnan(found.mean))


class ForkTest(unittest.TestCase):
    def in_child(self, work):
        """Returns what `work` returns in a forked child, or the error that it raises, as a text."""
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # a call that waits for threads of the parent would never end
            try:
                said = str(work())
            except starling.StarlingError as error:
                said = str(error)
            os.write(into, said.encode())
            os._exit(0)
        os.close(into)
        with open(out) as file:
            said = file.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        return said

    def test_an_engine_is_refused_in_a_child_and_goes_on_in_its_parent(self):
        engine = starling.Engine(threads=1)
        engine.update([1], [[0, 0]], 1)
        for work in (lambda: engine.update([2], [[1, 1]], 1), lambda: engine.tick(1), lambda: engine.backend):
            self.assertEqual(
                self.in_child(work),
                "The engine belongs to the process before the fork. Make one in this process.")
        self.assertEqual(self.in_child(engine.close), "None")
        self.assertEqual(self.in_child(lambda: starling.Engine(threads=1).tick(1).object_count), "0")
        self.assertEqual(engine.tick(1).object_count, 1)

    def test_an_index_answers_in_a_child(self):
        points = numpy.arange(2000, dtype=numpy.float32).reshape(1000, 2)
        index = starling.Index(points, threads=2)
        here = index.search(points, 3).indices.tolist()
        self.assertEqual(self.in_child(lambda: index.search(points, 3).indices.tolist()), str(here))
        self.assertEqual(index.search(points, 3).indices.tolist(), here)


if __name__ == "__main__":
    print(f"seed {SEED}: STARLING_SEED={SEED}")
    unittest.main()
