#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests arrays that other libraries pass by DLPack. Host memory stands for a GPU's memory."""

import ctypes
import unittest
from unittest import mock

import numpy

import package_case  # noqa: F401, finds the package
import starling
from dlpack_producer import CPU, CUDA, MANAGED, PINNED, Producer
from starling import _dlpack, _library


class FakeCopies:
    """A copy_from_device that reads the host's memory."""

    def __init__(self):
        self.copies = []

    def copy(self, to, start, size, device):
        self.copies.append((size, device))
        ctypes.memmove(to, start, size)
        return 0


class Dlpack(unittest.TestCase):
    def setUp(self):
        self.points = numpy.random.default_rng(3).normal(size=(40, 5)).astype(numpy.float32)
        self.expected = starling.knn(self.points, k=3, threads=1)

    def of(self, device, array=None, **more):
        array = self.points if array is None else array
        return Producer(array, array.ctypes.data, device, **more)

    def check_equal(self, found):
        self.assertEqual(found.indices.tolist(), self.expected.indices.tolist())
        self.assertEqual(found.distances.tobytes(), self.expected.distances.tobytes())

    def faking(self):
        fake = FakeCopies()
        patch = mock.patch.object(_library.library(), "copy_from_device", fake.copy)
        patch.start()
        self.addCleanup(patch.stop)
        return fake

    def test_memory_of_the_host_is_not_copied_and_deleted_once(self):
        for device in (CPU, PINNED):
            producer = self.of(device)
            array = _dlpack.to_numpy(producer)
            self.assertEqual(array.ctypes.data, self.points.ctypes.data)
            self.assertEqual(producer.deletions, 0)
            del array
            self.assertEqual(producer.deletions, 1)
            producer = self.of(device)
            self.check_equal(starling.knn(producer, k=3, threads=1))
            self.assertEqual(producer.deletions, 1)

    def test_memory_of_a_device_is_copied_and_deleted_once(self):
        fake = self.faking()
        for device in (CUDA, MANAGED):
            for more in ({}, {"strides": (5, 1)}, {"byte_offset": 64}, {"number": 3}):
                producer = self.of(device, **more)
                self.check_equal(starling.knn(producer, k=3, threads=1))
                self.assertEqual((producer.deletions, producer.streams), (1, [1]))
                self.assertEqual(fake.copies.pop(), (self.points.nbytes, more.get("number", 0)))

    def test_every_argument_may_be_in_a_device_s_memory(self):
        self.faking()
        ids, places = numpy.arange(40), self.points[:, :2].astype(numpy.float64)
        times, tags = numpy.arange(40), numpy.arange(40, dtype=numpy.uint32)
        ticks = []
        for of in (lambda array: array, lambda array: self.of(CUDA, numpy.ascontiguousarray(array))):
            with starling.Engine(threads=1) as engine:
                engine.put_stream("s")
                engine.put_queries("s", ids=of(ids[:2]), k=3, at=of(places[:2]))
                engine.update(of(ids), of(places), of(times), tags=of(tags))
                lists = engine.tick(100).streams["s"]
                ticks.append((lists.object_ids.tolist(), lists.distances.tolist()))
        self.assertEqual(ticks[0], ticks[1])

    def test_estimators_take_a_device_s_memory(self):
        self.faking()
        model = starling.NearestNeighbors(n_neighbors=3, n_jobs=1).fit(self.of(CUDA))
        found = model.kneighbors(self.of(CUDA))
        expected = starling.NearestNeighbors(n_neighbors=3, n_jobs=1).fit(self.points).kneighbors(self.points)
        self.assertEqual(found[1].tolist(), expected[1].tolist())

    def test_without_a_cuda_engine_a_device_s_memory_is_refused(self):
        for device in (CUDA, MANAGED):
            producer = self.of(device)
            with self.assertRaises(starling.StarlingError) as caught:
                starling.knn(producer, k=3)
            self.assertEqual(caught.exception.code, starling.ErrorCode.UNAVAILABLE)
            self.assertIn(caught.exception.sentence.split()[0], ("This", "The", "from"))
            self.assertEqual(producer.deletions, 1)

    def test_other_types_layouts_and_devices_are_refused_with_a_sentence(self):
        self.faking()
        for producer, sentence, deletions in (
                (self.of(CUDA, code=4), "DLPack's type 4 with 32 bits", 1),
                (self.of(CUDA, lanes=2), "DLPack's type 2", 1),
                (self.of(CUDA, strides=(1, 40)), "not contiguous", 1),
                (self.of(CUDA, strides=(10, 1)), "not contiguous", 1),
                (self.of(7), "kind 7", 0)):
            with self.assertRaisesRegex(TypeError, f"points must be .*{sentence}"):
                starling.knn(producer, k=3)
            self.assertEqual(producer.deletions, deletions, sentence)

    def test_a_used_capsule_is_refused(self):
        self.faking()
        producer = self.of(CUDA)
        starling.knn(producer, k=3)
        with self.assertRaisesRegex(TypeError, "used before"):
            starling.knn(producer, k=3)
        self.assertEqual(producer.deletions, 1)

    def test_empty_arrays_are_not_read(self):
        fake = self.faking()
        producer = self.of(CUDA, numpy.zeros((0, 5), dtype=numpy.float32), strides=(9, 9))
        self.assertEqual(starling.knn(self.points, producer, k=1).indices.shape, (0, 1))
        self.assertEqual((fake.copies, producer.deletions), ([], 1))


if __name__ == "__main__":
    unittest.main()
