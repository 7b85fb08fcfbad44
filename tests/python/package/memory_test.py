#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""knn takes at most one prepared copy of the points and 64 MiB beside the array, for every metric, each way to
search, and rows that no filter tells apart. Each case has a process of its own, because a peak never falls."""

import os
import resource
import subprocess
import sys
import unittest

import numpy

import package_case  # noqa: F401, finds the package
import starling

ARRAY_BYTES = 160 << 20
BESIDE_BYTES = 64 << 20
METRICS = ("l2", "cosine", "pearson", "hellinger", "inner-product", "l1", "chebyshev", "jensen-shannon",
           "kullback-leibler")


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(metric, components, shape):
    """Prints how many bytes a search adds to the peak."""
    points = numpy.empty((ARRAY_BYTES // (4 * components), components), dtype=numpy.float32)
    random = numpy.random.default_rng(1)
    for first in range(0, len(points), 1024):
        rows = points[first:first + 1024]
        rows[:] = 0.5 if shape == "equal" else random.random(rows.shape, dtype=numpy.float32)
    before = peak_bytes()
    starling.knn(points, points[:3] + 1, 5, metric, backend="cpu", threads=2)
    print(peak_bytes() - before)


class Memory(unittest.TestCase):
    def check(self, metric, components, shape):
        with self.subTest(metric=metric, components=components, shape=shape):
            done = subprocess.run([sys.executable, "-B", __file__, metric, str(components), shape],
                                  env=os.environ, stdout=subprocess.PIPE, check=True, text=True)
            self.assertLess(int(done.stdout), ARRAY_BYTES + BESIDE_BYTES)

    def test_every_metric_needs_at_most_one_copy(self):
        for metric in METRICS:
            self.check(metric, 32, "different")

    def test_so_does_a_search_with_a_filter(self):
        for metric in ("l2", "cosine", "pearson", "hellinger", "inner-product"):
            self.check(metric, 256, "different")

    def test_so_do_rows_that_no_filter_tells_apart(self):
        for metric in ("l2", "cosine"):
            self.check(metric, 256, "equal")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        measure(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        unittest.main()
