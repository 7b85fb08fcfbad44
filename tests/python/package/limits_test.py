#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests distances that an engine or a server reported. Given back as distance_max, each keeps its neighbour,
and the float64 below it does not."""

import os
import unittest

import numpy

from package_case import PATIENCE_S, ServerCase
import starling

SEED = int(os.environ.get("STARLING_SEED", "23"))
PAIRS = int(os.environ.get("STARLING_LIMIT_PAIRS", "50000"))  # pairs of a place and a neighbour in each space
K = 10


class Limits:
    """Random objects in a space, and random places to search from."""

    def __init__(self, case, space, resolution_m):
        self.case, self.space, self.resolution_m = case, space, resolution_m
        self.random = numpy.random.default_rng(SEED)

    def places(self, count):
        """Returns places on the ellipsoid, or on a lattice at extents from one unit to the whole lattice."""
        if self.space == "wgs84":
            return self.random.uniform([-180, -90], [180, 90], size=(count, 2))
        size = (count, 2 if self.space == "planar2" else 3)
        extents = self.resolution_m * 2.0 ** self.random.uniform(0, 29.9, size=(count, 1))
        return extents * self.random.uniform(-1, 1, size=size)

    def check(self, put, ask, pairs, at_once):
        """put(ids, places) adds objects. ask(places, k, limits) searches from at most `at_once` places."""
        put(numpy.arange(1, 1001), self.places(1000))
        while pairs > 0:
            places = self.places(at_once // K)
            reported = ask(places, K, numpy.inf)
            ids = numpy.array(reported.object_ids).reshape(-1, K)
            distances = numpy.array(reported.distances).reshape(-1, K)
            places = numpy.repeat(places, K, axis=0)
            for limits in distances, numpy.nextafter(distances, 0):
                kept = ask(places, K, limits.ravel())
                within = distances[:, None, :] <= limits[:, :, None]
                self.case.assertEqual(kept.offsets.tolist(),
                                      [0, *numpy.cumsum(within.sum(axis=2)).tolist()])
                expected = numpy.broadcast_to(ids[:, None, :], within.shape)[within]
                self.case.assertEqual(kept.object_ids.tolist(), expected.tolist())
            pairs -= distances.size


class OfAnEngine(unittest.TestCase):
    def test_a_distance_that_was_reported_keeps_its_neighbour(self):
        for space, resolution_m in (("planar2", 0.01), ("planar2", 0.3), ("planar3", 0.001), ("wgs84", 0.01)):
            engine = starling.Engine(space, resolution_m=resolution_m, threads=2)

            def put(ids, places):
                self.assertEqual(engine.update(ids, places, 0).accepted, len(ids))
                engine.tick(0)

            def ask(places, k, limits):
                return engine.neighbors(places, k, distance_max=limits)

            with self.subTest(space=space, resolution_m=resolution_m):
                Limits(self, space, resolution_m).check(put, ask, PAIRS, 10_000)


class OfAServer(ServerCase):
    def test_a_distance_that_was_reported_keeps_its_neighbour(self):
        for space in "planar2", "planar3", "wgs84":
            self.serve("--tick", "manual", "--space", space)
            client = starling.Client(self.endpoints["commands"], self.endpoints["results"],
                                     timeout=PATIENCE_S)
            self.addCleanup(client.close)
            self.endpoints = {}  # the next server uses other endpoints

            def put(ids, places):
                self.assertEqual(client.update(ids, places, 0).accepted, len(ids))
                client.advance(0)

            def ask(places, k, limits):
                return client.neighbors(places, k, distance_max=limits)

            with self.subTest(space=space):
                Limits(self, space, 0.01).check(put, ask, PAIRS, 1000)


if __name__ == "__main__":
    unittest.main()
