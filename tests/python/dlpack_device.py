#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that arrays in a GPU's memory give the results of numpy's arrays. Run by hand on a machine with an
NVIDIA GPU and a libstarling with the CUDA engine; it needs numpy and libcudart, and no other library:

    STARLING_LIBRARY=build/release/clients/c/libstarling.so LIBCUDART=/usr/local/cuda/lib64/libcudart.so \\
        python3 tests/python/dlpack_device.py"""

import ctypes
import os
import pathlib
import sys
import unittest

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "clients/python"), str(ROOT / "tests/python/package")]

import starling  # noqa: E402
from dlpack_producer import CUDA, MANAGED, PINNED, Producer  # noqa: E402

CUDART = ctypes.CDLL(os.environ.get("LIBCUDART", "libcudart.so"))
HOST_TO_ANY = 4  # cudaMemcpyDefault


def cuda(name, *arguments):
    code = getattr(CUDART, name)(*arguments)
    assert code == 0, f"{name} returned {code}"


class Device(unittest.TestCase):
    def of(self, array, kind=CUDA):
        """Returns a producer of a copy of the array in this kind of memory."""
        array = numpy.ascontiguousarray(array)
        where, size = ctypes.c_void_p(), ctypes.c_size_t(max(1, array.nbytes))
        if kind == CUDA:
            cuda("cudaMalloc", ctypes.byref(where), size)
        elif kind == MANAGED:
            cuda("cudaMallocManaged", ctypes.byref(where), size, ctypes.c_uint(1))
        else:
            cuda("cudaMallocHost", ctypes.byref(where), size)
        self.addCleanup(cuda, "cudaFreeHost" if kind == PINNED else "cudaFree", where)
        cuda("cudaMemcpy", where, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), HOST_TO_ANY)
        return Producer(array, where.value, kind)

    def setUp(self):
        random = numpy.random.default_rng(1)
        self.points = random.random((3000, 40), dtype=numpy.float32)
        self.queries = random.random((50, 40), dtype=numpy.float32)

    def check_equal(self, found, expected):
        self.assertEqual(found.indices.tobytes(), expected.indices.tobytes())
        self.assertEqual(found.distances.tobytes(), expected.distances.tobytes())

    def test_knn_gives_the_same_bytes(self):
        for metric in ("l2", "cosine", "hellinger", "l1"):
            for backend in ("cpu", "cuda"):
                expected = starling.knn(self.points, self.queries, 7, metric, backend=backend)
                for kind in (CUDA, MANAGED, PINNED):
                    points, queries = self.of(self.points, kind), self.of(self.queries, kind)
                    self.check_equal(starling.knn(points, queries, 7, metric, backend=backend), expected)
                    self.assertEqual((points.deletions, queries.deletions), (1, 1))

    def test_other_number_types_give_the_same_bytes(self):
        for kind in ("f2", "f8", "i4", "u1"):
            points = (self.points * 200).astype(kind)
            self.check_equal(starling.knn(self.of(points), k=5), starling.knn(points, k=5))

    def test_a_classifier_and_an_engine_give_the_same_results(self):
        labels = numpy.arange(len(self.points)) % 3
        model = starling.KNeighborsClassifier(5)
        expected = model.fit(self.points, labels).predict(self.queries)
        found = model.fit(self.of(self.points), labels).predict(self.of(self.queries))
        self.assertEqual(found.tolist(), expected.tolist())
        ids, places = numpy.arange(1000), (self.points[:1000, :2] * 1000).astype(numpy.float64)
        lists = []
        for of in (numpy.asarray, self.of):
            with starling.Engine(backend="cuda") as engine:
                engine.put_stream("s")
                engine.put_queries("s", ids=of(ids[:9]), k=4, at=of(places[:9]))
                engine.update(of(ids), of(places), of(ids))
                found = engine.tick(2000).streams["s"]
                lists.append((found.object_ids.tolist(), found.distances.tolist()))
        self.assertEqual(lists[0], lists[1])

    def test_memory_that_is_not_of_a_device_or_too_short_is_refused(self):
        producer = Producer(self.points, self.points.ctypes.data, CUDA)
        with self.assertRaises((starling.StarlingError, TypeError)):
            starling.knn(producer, k=1)
        self.assertEqual(producer.deletions, 1)
        short = self.of(self.points[:2])
        longer = numpy.lib.stride_tricks.as_strided(self.points[:2], (1 << 18, 40), (0, 4))
        producer = Producer(longer, short._managed.tensor.data, CUDA)
        with self.assertRaises((starling.StarlingError, TypeError)):
            starling.knn(producer, k=1)
        self.assertEqual(producer.deletions, 1)

    def test_an_absent_device_is_refused(self):
        producer = Producer(self.points, self.points.ctypes.data, CUDA, number=99)
        with self.assertRaisesRegex(starling.StarlingError, "no GPU 99"):
            starling.knn(producer, k=1)


if __name__ == "__main__":
    unittest.main()
