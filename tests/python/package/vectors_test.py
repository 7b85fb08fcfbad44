#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares starling.knn and starling.Index with brute force, in all metrics."""

import unittest
import warnings

import numpy

import package_case  # noqa: F401, finds the package
import oracle
import starling
from starling._library import METRICS



def pair(found):
    return found.indices, found.distances


EXACT = ("l2", "l1", "chebyshev", "inner-product")  # metrics that are exact for small whole numbers


class Rounding(unittest.TestCase):
    """Searches float64 points that float32 cannot hold."""

    def setUp(self):
        self.random = numpy.random.default_rng(45)

    def surveyed(self, count):
        """Returns places within 100 m, in metres east and north in a UTM zone, to 1/512 m: float32 holds
        their differences and the squares of small ones."""
        return numpy.array([597_000, 6_650_000]) + self.random.integers(0, 51_200, size=(count, 2)) / 512

    def test_lists_of_surveyed_points_are_those_of_float64(self):
        points, asked = self.surveyed(2000), self.surveyed(500)
        for metric in ("l2", "l1", "chebyshev"):
            truth = oracle.plain_distances(metric, points, points)
            numpy.fill_diagonal(truth, numpy.inf)
            expected = numpy.argsort(truth, axis=1, kind="stable")[:, :5]
            rows, distances = pair(starling.knn(points, k=5, metric=metric))
            self.assertEqual((rows != expected).any(axis=1).sum(), 0, metric)
            nearest = numpy.take_along_axis(truth, expected, axis=1)
            numpy.testing.assert_allclose(distances, nearest, rtol=1e-6)

            truth = oracle.plain_distances(metric, asked, points)
            expected = numpy.argsort(truth, axis=1, kind="stable")[:, :5]
            with starling.Index(points, metric) as index:
                rows, distances = pair(index.search(asked, 5))
            self.assertEqual((rows != expected).any(axis=1).sum(), 0, metric)
            once, _ = pair(starling.knn(points, asked, 5, metric))
            numpy.testing.assert_array_equal(once, rows)

    def test_distances_of_points_with_more_digits_are_right_to_a_hundredth_of_a_millimetre(self):
        points = numpy.array([597_000, 6_650_000]) + self.random.uniform(0, 100, size=(2000, 2))
        for metric in ("l2", "l1", "chebyshev"):
            truth = oracle.plain_distances(metric, points, points)
            numpy.fill_diagonal(truth, numpy.inf)
            rows, distances = pair(starling.knn(points, k=5, metric=metric))
            nearest = numpy.sort(truth, axis=1)[:, :5]
            numpy.testing.assert_allclose(distances, nearest, rtol=0, atol=1e-5)
            named = numpy.take_along_axis(truth, rows, axis=1)
            numpy.testing.assert_allclose(named, nearest, rtol=0, atol=1e-5)

    def test_seconds_since_1970_are_told_apart(self):
        seconds = (1_641_168_600 + numpy.arange(0, 100, 10))[:, None]
        rows, distances = pair(starling.knn(seconds, seconds))
        self.assertEqual(rows[:, 0].tolist(), list(range(10)))
        rows, distances = pair(starling.knn(seconds, [[1_641_168_604], [1_641_168_606]], k=2))
        self.assertEqual(rows.tolist(), [[0, 1], [1, 0]])
        self.assertEqual(distances.tolist(), [[4, 6], [4, 6]])

    def test_whole_metres_do_not_round_the_queries(self):
        points = numpy.array([[6_650_000.0], [6_650_001.0], [6_650_002.0]])  # float32 holds them
        rows, distances = pair(starling.knn(points, [[6_650_000.7]], k=2))
        self.assertEqual(rows.tolist(), [[1, 0]])
        numpy.testing.assert_allclose(distances, [[0.3, 0.7]], atol=1e-6)

    def test_float32_and_what_it_holds_keep_their_bits(self):
        for low, high in ((-1, 1), (0, 1), (1, 2), (6_650_000, 6_650_100)):
            small = self.random.uniform(low, high, size=(300, 3)).astype(numpy.float32)
            asked = self.random.uniform(low, high, size=(40, 3)).astype(numpy.float32)
            for metric in METRICS[:1] + ("l1", "chebyshev", "inner-product", "cosine"):
                rows, distances = pair(starling.knn(small, asked, 7, metric))
                wide = starling.knn(small.astype(float), asked.astype(float), 7, metric)
                numpy.testing.assert_array_equal(wide.indices, rows)
                numpy.testing.assert_array_equal(wide.distances, distances)
                # These are exactly the scores of float32, so no offset was subtracted.
                if metric == "chebyshev":
                    truth = numpy.abs(asked[:, None] - small[None]).max(axis=2)
                    self.assertEqual(distances[:, 0].tolist(), truth.min(axis=1).tolist())

    def test_other_metrics_round_and_subtract_nothing(self):
        points, asked = self.surveyed(100), self.surveyed(10)
        for metric in ("cosine", "pearson", "inner-product", "hellinger"):
            rounded = starling.knn(points.astype(numpy.float32), asked.astype(numpy.float32), 4, metric)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", starling.RoundingWarning)
                found = starling.knn(points, asked, 4, metric)
            numpy.testing.assert_array_equal(found.indices, rounded.indices)
            numpy.testing.assert_array_equal(found.distances, rounded.distances)

    def test_a_warning_counts_points_that_rounding_has_made_equal(self):
        points = self.random.uniform(1, 10_000_000, size=(1000, 1))
        points[[3, 5, 8]] = [[9_000_000.1], [9_000_000.2], [9_000_000.1]]
        expected = self.merged(points)
        self.assertGreaterEqual(expected, 3)
        for make in (starling.knn, starling.Index):
            with self.assertWarnsRegex(starling.RoundingWarning,
                                       f"^{expected} of the 1000 points are equal to another") as seen:
                make(points)
            self.assertEqual(seen.filename, __file__)

    def merged(self, points):
        rounded = points.astype(numpy.float32)
        distinct = {}
        for row, small in zip(points.tolist(), rounded.tolist()):
            distinct.setdefault(tuple(small), []).append(tuple(row))
        return sum(len(rows) for rows in distinct.values() if len(set(rows)) > 1)

    def test_no_warning_without_a_loss(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            starling.knn(self.surveyed(300))
            starling.knn(self.random.normal(size=(300, 4)))
            starling.knn(numpy.repeat(self.random.normal(size=(30, 4)), 2, axis=0))
            starling.knn([[1, 2], [3, 4]])
            starling.knn(numpy.zeros((0, 2)), [[1, 2]])

    def test_components_out_of_range_are_refused_by_row_and_column(self):
        for bad in (1e17, -1e17, 1e300, float("inf"), float("nan")):
            for points in ([[1.1, 2], [3, bad]], [[6_650_000.1, 2], [6_650_000.2, bad]]):
                with self.assertRaisesRegex(starling.InvalidArgument, "points, row 2: component 2 is"):
                    starling.knn(points)
            with self.assertRaisesRegex(starling.InvalidArgument, "queries, row 1: component 1 is"):
                starling.knn([[6_650_000.1]], [[bad]])


class Vectors(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(23)

    def rows(self, metric, *shape, whole=False):
        low = 0 if metric in ("hellinger", "jensen-shannon", "kullback-leibler") else -1
        if whole:
            return self.random.integers(low * 3, 4, size=shape).astype(numpy.float32)
        return self.random.uniform(low, 1, size=shape).astype(numpy.float32)

    def test_lists_are_those_of_brute_force_in_whole_numbers(self):
        for metric in EXACT:
            for count, queries, dimension, k in (
                    (1, 1, 1, 1), (31, 5, 3, 7), (257, 40, 5, 33), (64, 3, 2, 64)):
                points = self.rows(metric, count, dimension, whole=True)
                asked = self.rows(metric, queries, dimension, whole=True)
                rows, distances = pair(starling.knn(points, asked, k, metric))
                truth = oracle.distances(metric, asked, points)
                for i in range(queries):
                    places = oracle.nearest(truth[i], numpy.arange(count), k)
                    self.assertEqual(rows[i].tolist(), places.tolist(), (metric, count, i))
                    numpy.testing.assert_array_equal(distances[i], truth[i][places])

    def test_distances_are_those_of_brute_force_in_all_metrics(self):
        for metric in METRICS:
            for dimension in (1, 2, 17, 128):
                points, asked = self.rows(metric, 300, dimension), self.rows(metric, 20, dimension)
                rows, distances = pair(starling.knn(points, asked, 10, metric))
                truth = oracle.distances(metric, asked, points)
                # A distance is a root or half of a score with a relative error of 2^-24 (d + 64) or so, and
                # a root doubles the digits of a score near 0.
                bound = {"rtol": 2e-5, "atol": 2e-5 * (1 + numpy.abs(truth).max())}
                least = numpy.sort(truth, axis=1)[:, :10]
                numpy.testing.assert_allclose(distances, least, **bound, err_msg=metric)
                named = numpy.take_along_axis(truth, rows, axis=1)
                numpy.testing.assert_allclose(distances, named, **bound, err_msg=metric)
                self.assertTrue((numpy.diff(distances, axis=1) >= 0).all())

    def test_a_graph_leaves_out_each_point_itself(self):
        for metric in METRICS:
            points = self.rows(metric, 60, 4)
            points[7] = points[3]
            rows, distances = pair(starling.knn(points, k=5, metric=metric))
            self.assertFalse((rows == numpy.arange(60)[:, None]).any())
            truth = oracle.distances(metric, points, points)
            numpy.fill_diagonal(truth, numpy.inf)
            numpy.testing.assert_allclose(
                distances, numpy.sort(truth, axis=1)[:, :5], rtol=2e-5, atol=3e-5, err_msg=metric)

    def test_missing_neighbours_are_minus_one_at_infinity(self):
        rows, distances = pair(starling.knn([[0.0], [3.0]], [[1.0]], k=4))
        self.assertEqual(rows.tolist(), [[0, 1, -1, -1]])
        self.assertEqual(distances.tolist(), [[1.0, 2.0, numpy.inf, numpy.inf]])
        rows, distances = pair(starling.knn([[0.0]], k=1))
        self.assertEqual((rows.tolist(), distances.tolist()), ([[-1]], [[numpy.inf]]))

    def test_no_points_and_no_queries_are_allowed(self):
        rows, distances = pair(starling.knn(numpy.empty((0, 3)), numpy.zeros((2, 3)), k=2))
        self.assertEqual(rows.tolist(), [[-1, -1]] * 2)
        rows, distances = pair(starling.knn(numpy.zeros((2, 3)), numpy.empty((0, 3)), k=2))
        self.assertEqual((rows.shape, distances.shape), ((0, 2), (0, 2)))

    def test_every_number_of_threads_gives_the_same_bytes(self):
        points, asked = self.rows("cosine", 5000, 24), self.rows("cosine", 64, 24)
        one = starling.knn(points, asked, 12, "cosine", threads=1)
        for threads in (2, 3):
            rows, distances = pair(starling.knn(points, asked, 12, "cosine", threads=threads))
            self.assertEqual(rows.tobytes(), one.indices.tobytes())
            self.assertEqual(distances.tobytes(), one.distances.tobytes())

    def test_an_index_answers_again_and_again(self):
        points = self.rows("l2", 500, 8)
        with starling.Index(points) as index:
            self.assertEqual((len(index), index.dimension), (500, 8))
            for first, count in ((0, 3), (100, 50), (499, 1)):
                rows, _ = pair(index.search(points[first:first + count], 3, first_row=first))
                whole, _ = pair(starling.knn(points, k=3))
                self.assertEqual(rows.tolist(), whole[first:first + count].tolist())
        with self.assertRaisesRegex(starling.StarlingError, "index is closed"):
            index.search(points[:1], 1)

    def test_any_layout_and_type_of_numbers_is_taken(self):
        points = self.random.integers(0, 100, size=(40, 6))
        expected = starling.knn(points.astype(numpy.float32), k=4)
        for kind in ("i1", "u2", "i8", "f2", "f4", "f8", ">f4", ">i4"):
            for array in (points.astype(kind), numpy.asfortranarray(points.astype(kind)),
                          numpy.repeat(points.astype(kind), 2, axis=1)[:, ::2]):
                rows, distances = pair(starling.knn(array, k=4))
                self.assertEqual(rows.tolist(), expected.indices.tolist(), kind)
                self.assertEqual(distances.tolist(), expected.distances.tolist(), kind)
        self.assertEqual(starling.knn(points.tolist(), k=4).indices.tolist(), expected.indices.tolist())

    def test_arrays_of_other_libraries_are_taken_by_dlpack(self):
        class Other:
            def __init__(self, array, device):
                self.array, self.device = array, device

            def __dlpack__(self, **options):
                return self.array.__dlpack__()

            def __dlpack_device__(self):
                return self.device

        points = self.rows("l2", 30, 4)
        rows, _ = pair(starling.knn(Other(points, (1, 0)), k=3))
        self.assertEqual(rows.tolist(), starling.knn(points, k=3).indices.tolist())

    def test_a_bad_component_is_named_by_row_and_column(self):
        points = numpy.ones((4, 3))
        for value, metric in ((numpy.nan, "l2"), (numpy.inf, "l1"), (1e300, "l2"), (-1, "hellinger")):
            points[2, 1] = value
            with self.assertRaisesRegex(starling.InvalidArgument, "row 3.*(column|component) 2"):
                starling.knn(points, numpy.ones((1, 3)), 1, metric)

    def test_wrong_arguments_are_refused_with_a_sentence(self):
        points = numpy.zeros((3, 2))
        for expected, kind, call in (
                ("k is 0", ValueError, lambda: starling.knn(points, k=0)),
                ("k is 2049", ValueError, lambda: starling.knn(points, k=2049)),
                ("k must be an integer", TypeError, lambda: starling.knn(points, k=1.5)),
                ("metric is 'l3'", ValueError, lambda: starling.knn(points, k=1, metric="l3")),
                ("Did you mean manhattan", ValueError, lambda: starling.knn(points, metric="manhatan")),
                ("write k=3", TypeError, lambda: starling.knn(points, 3)),
                ("write k=3", TypeError, lambda: starling.Index(points).search(numpy.int64(3))),
                ("radius is -1; it must be at least 0", ValueError,
                 lambda: starling.Index(points).radius(points, -1)),
                ("radius is not a number", ValueError,
                 lambda: starling.Index(points).radius(points, numpy.nan)),
                ("backend is 'tpu'", ValueError, lambda: starling.knn(points, k=1, backend="tpu")),
                ("threads cannot be -1", ValueError, lambda: starling.knn(points, threads=-1)),
                ("points must have 2 axes", ValueError, lambda: starling.knn([1, 2])),
                ("points must have 2 axes", ValueError, lambda: starling.knn(numpy.zeros((1, 1, 1)))),
                ("queries has 3 columns", ValueError, lambda: starling.knn(points, numpy.zeros((1, 3)))),
                ("real numbers", TypeError, lambda: starling.knn([["a"]])),
                ("real numbers", TypeError, lambda: starling.knn([[1j]])),
                ("real numbers", TypeError, lambda: starling.knn([[1], [1, 2]])),
                ("first_row is 2", ValueError, lambda: starling.Index(points).search(points, first_row=2)),
                ("first_row is -1", ValueError, lambda: starling.Index(points).search(points, first_row=-1))):
            with self.assertRaisesRegex(kind, expected):
                call()
        for shape in ((3, 0), (0, 0), (1, 4097)):
            with self.assertRaises(starling.InvalidArgument, msg=shape):
                starling.knn(numpy.zeros(shape), k=1)


if __name__ == "__main__":
    unittest.main()
