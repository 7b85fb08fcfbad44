# SPDX-License-Identifier: Apache-2.0
"""Runs `starling knn` for knn_test.py and knn_faults_test.py. Each test has a folder of its own."""

import subprocess
import sys

import numpy

from folder_case import FolderCase

PROGRAM = sys.argv.pop()
PATIENCE_S = 120  # how long anything may take before its test fails


class KnnTest(FolderCase):
    def setUp(self):
        super().setUp()
        self.random = numpy.random.default_rng(7)

    def save(self, name, array):
        path = self.folder / name
        numpy.save(path, array)
        return path

    def knn(self, *arguments, status=0, **options):
        done = subprocess.run([PROGRAM, "knn", *map(str, arguments)], capture_output=True,
                              text=True, timeout=PATIENCE_S, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def arrays(self, *arguments):
        ids, distances = self.folder / "ids.npy", self.folder / "distances.npy"
        self.knn(*arguments, "--out-ids", ids, "--out-distances", distances)
        return numpy.load(ids), numpy.load(distances)

    def integers(self, *shape):
        return self.random.integers(-9, 10, size=shape)
