#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares searches by radius with all distances computed here, and with scikit-learn."""

import pickle
import unittest
import unittest.mock
import warnings

import package_case

package_case.enter_peers()

import numpy  # noqa: E402
import oracle  # noqa: E402
import starling  # noqa: E402
from starling import _library, _radius  # noqa: E402


def lists_of(found):
    """Returns each list as (rows, distances)."""
    return [(found.indices[a:b], found.distances[a:b]) for a, b in zip(found.offsets[:-1], found.offsets[1:])]


class IndexRadius(unittest.TestCase):
    """Compares Index.radius with the oracle and with Index.search."""

    def setUp(self):
        self.random = numpy.random.default_rng(9)

    def test_lists_have_what_a_search_for_all_reports_up_to_the_radius_in_every_metric(self):
        for metric in _library.METRICS:
            for dimension in (1, 2, 3, 5, 33):
                points = self.random.random((300, dimension)) + (0.1 if dimension == 1 else 0)
                asked = self.random.random((20, dimension))
                index = starling.Index(points, metric)
                every = index.search(asked, 300)
                for radius in (*every.distances[:3, 40], every.distances[5, 0], numpy.inf, 0):
                    nearest = index.radius(asked, radius)
                    by_row = index.radius(asked, radius, sort_results=False)
                    self.assertEqual(len(nearest.offsets), 21)
                    for i, (rows, distances) in enumerate(lists_of(nearest)):
                        is_in = every.distances[i] <= radius
                        self.assertEqual(rows.tolist(), every.indices[i][is_in].tolist())
                        self.assertEqual(distances.tolist(), every.distances[i][is_in].tolist())
                    order = numpy.lexsort((nearest.indices, nearest.owners))
                    self.assertEqual(by_row.offsets.tolist(), nearest.offsets.tolist())
                    self.assertEqual(by_row.indices.tolist(), nearest.indices[order].tolist())
                    self.assertEqual(by_row.distances.tolist(), nearest.distances[order].tolist())

    def test_lists_are_those_of_the_oracle_in_every_metric(self):
        for metric in _library.METRICS:
            points = self.random.integers(1, 30, size=(400, 7)).astype(numpy.float32)
            truth = oracle.distances(metric, points, points)
            numpy.fill_diagonal(truth, numpy.inf)
            # The radius is in the widest gap between two distances, so rounding does not matter.
            ordered = numpy.unique(truth[numpy.isfinite(truth)])
            gaps = numpy.diff(ordered[:len(ordered) // 3])
            at = gaps.argmax()
            radius = (ordered[at] + ordered[at + 1]) / 2
            found = starling.Index(points, metric).radius(points, radius, first_row=0, sort_results=False)
            owners, rows = numpy.nonzero(truth <= radius)
            self.assertEqual(found.owners.tolist(), owners.tolist(), metric)
            self.assertEqual(found.indices.tolist(), rows.tolist(), metric)
            numpy.testing.assert_allclose(found.distances, truth[owners, rows], rtol=1e-4, atol=2e-6)

    def test_rows_beyond_sixteen_bits_and_lists_of_all_rows(self):
        points = numpy.arange(70_000, dtype=numpy.float32)[:, None]
        index = starling.Index(points, "l1")
        found = index.radius([[69_999], [0]], 3)
        self.assertEqual(found.indices.tolist(), [69_999, 69_998, 69_997, 69_996, 0, 1, 2, 3])
        self.assertEqual(found.offsets.tolist(), [0, 4, 8])
        every = index.radius(points[:3], numpy.inf, first_row=0, sort_results=False)
        self.assertEqual(every.offsets.tolist(), [0, 69_999, 139_998, 209_997])
        self.assertEqual(every.indices[:69_999].tolist(), list(range(1, 70_000)))

    def test_nothing_is_found_without_queries_points_or_neighbours(self):
        index = starling.Index(numpy.zeros((3, 2)))
        for found, lists in ((index.radius(numpy.zeros((0, 2)), 1), 0), (index.radius([[9, 9]], 1), 1),
                             (starling.Index(numpy.zeros((0, 2))).radius([[9, 9]], numpy.inf), 1)):
            self.assertEqual(found.offsets.tolist(), [0] * (lists + 1))
            self.assertEqual((len(found.indices), len(found.distances)), (0, 0))

    def test_radii_and_rows_that_mean_nothing_are_refused(self):
        index = starling.Index([[1.0, 2], [3, 4]])
        for radius in (-1, numpy.nan, -numpy.inf):
            with self.assertRaisesRegex(ValueError, "radius is"):
                index.radius([[1, 2]], radius)
        for radius in (None, "1", True):
            with self.assertRaises(TypeError):
                index.radius([[1, 2]], radius)
        with self.assertRaisesRegex(ValueError, "first_row is 2"):
            index.radius([[1, 2]], 1, first_row=2)
        products = starling.Index([[1.0, 2], [3, 4]], "inner-product").radius([[1, 1]], -4)
        self.assertEqual((products.indices.tolist(), products.distances.tolist()), ([1], [-7]))


class Radius(unittest.TestCase):
    """Tests that need neither scikit-learn nor SciPy."""

    def setUp(self):
        self.random = numpy.random.default_rng(6)
        self.rows = self.random.integers(0, 20, size=(200, 3)).astype(float)
        self.asked = self.random.integers(0, 20, size=(30, 3)).astype(float)

    def test_all_rows_within_a_radius_are_found_and_no_others(self):
        for metric in ("l2", "l1", "chebyshev"):
            model = starling.NearestNeighbors(radius=6, metric=metric).fit(self.rows)
            for asked, own in ((self.asked, False), (None, True)):
                truth = oracle.plain_distances(metric, self.rows if own else asked, self.rows)
                if own:
                    numpy.fill_diagonal(truth, numpy.inf)
                for radius in (0, 1, 6, 100, numpy.inf):
                    found = model.radius_neighbors(asked, radius)
                    nearest = model.radius_neighbors(asked, radius, sort_results=True)
                    alone = model.radius_neighbors(asked, radius, return_distance=False)
                    self.assertEqual(len(found.indices), len(truth))
                    for i, row in enumerate(truth):
                        is_in = (row <= radius) & (numpy.arange(200) != i if own else True)
                        expected = numpy.flatnonzero(is_in)
                        self.assertEqual(found.indices[i].tolist(), expected.tolist())
                        self.assertEqual(alone[i].tolist(), expected.tolist())
                        self.assertEqual(found.distances[i].tolist(), row[expected].tolist())
                        order = expected[numpy.argsort(row[expected], kind="stable")]
                        self.assertEqual(nearest.indices[i].tolist(), order.tolist())
                        self.assertEqual(nearest.distances[i].tolist(), row[order].tolist())

    def test_candidates_of_the_library_are_confirmed_in_float64(self):
        unit = self.random.normal(size=(400, 3))
        cases = [
            ("l2", self.random.normal(size=(400, 3))),
            ("l2", self.random.normal(size=(400, 40)) * 1e6),
            ("sqeuclidean", self.random.normal(size=(400, 5))),
            ("l1", self.random.normal(size=(400, 4)) + [5e8, -5e8, 0, 1]),
            ("chebyshev", self.random.choice([-1, 1], size=(400, 1)) * 1e9 + self.random.random((400, 2))),
            ("l2", self.random.normal(size=(400, 2)).astype(numpy.float32)),
            ("l2", self.random.normal(size=(400, 2)) * 1e-30),
            ("cosine", unit), ("cosine", numpy.repeat(unit[:20], 20, axis=0) + unit * 1e-5)]
        for metric, rows in cases:
            wide = rows.astype(float)
            if metric == "cosine":
                wide = wide / numpy.sqrt((wide * wide).sum(axis=1, keepdims=True))
            truth = oracle.plain_distances("l2" if metric in ("cosine", "sqeuclidean") else metric, wide, wide)
            if metric in ("cosine", "sqeuclidean"):
                truth = truth * truth / (2 if metric == "cosine" else 1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", starling.RoundingWarning)
                model = starling.NearestNeighbors(metric=metric).fit(rows)
            for place in (1, 7, 200):
                # NumPy may add up in another order, so the radius lies between two distances. The metric
                # chebyshev adds nothing up.
                radius = numpy.partition(truth[3], (place, place + 1))[place:place + 2].mean()
                is_close = abs(truth / radius - 1) < 1e-9
                self.assertTrue(metric == "chebyshev" or not is_close.any(), "draw other rows")
                with unittest.mock.patch.object(_radius, "_within_all", side_effect=AssertionError("all distances")):
                    found = model.radius_neighbors(rows, radius)
                owners, expected = numpy.nonzero(truth <= radius)
                self.assertEqual(numpy.concatenate(found.indices).tolist(), expected.tolist(), (metric, place))
                self.assertEqual([len(each) for each in found.indices], numpy.bincount(owners, minlength=400).tolist())
                numpy.testing.assert_allclose(
                    numpy.concatenate(found.distances), truth[owners, expected], rtol=1e-9, atol=1e-14)

    def test_numpy_searches_where_the_library_cannot(self):
        for metric, rows, asked in (("cosine", [[1, 2], [2, 1.0]], [[1e-40, 2e-40]]), ("l2", [[1.0], [2]], [[1e18]]),
                                    ("correlation", [[1, 2, 4], [3, 1, 1.0]], [[2, 4, 8]])):
            model = starling.NearestNeighbors(metric=metric).fit(rows)
            found = model.radius_neighbors(asked, 1e-9 if metric != "l2" else 1e18)
            self.assertEqual(found.indices[0].tolist(), [0, 1] if metric == "l2" else [0])
        self.assertEqual(starling.NearestNeighbors().fit([[1.0]]).radius_neighbors([[1.0]], -1).indices[0].tolist(), [])

    def test_the_radius_is_inclusive_at_every_distance_that_is_reported(self):
        rows = self.random.normal(size=(300, 2))
        model = starling.NearestNeighbors().fit(rows)
        for i, (distances, indices) in enumerate(zip(*model.radius_neighbors(rows[:20], 1))):
            for distance, row in zip(distances[:10], indices):
                self.assertIn(row, model.radius_neighbors(rows[i:i + 1], distance).indices[0])

    def test_columns_far_from_zero_are_told_apart(self):
        seconds = (1_641_168_600 + numpy.arange(0, 100, 10.0))[:, None]
        found = starling.NearestNeighbors(radius=10).fit(seconds).radius_neighbors([[1_641_168_604.0]])
        self.assertEqual((found.indices[0].tolist(), found.distances[0].tolist()), ([0, 1], [4, 6]))

    def test_one_query_and_lists_of_one_length_give_an_array_of_arrays(self):
        model = starling.NearestNeighbors(radius=0).fit([[0], [1]])
        for asked in ([[0]], [[0], [1]], [[5], [6]]):
            found = model.radius_neighbors(asked)
            self.assertEqual((found.indices.shape, found.indices.dtype), ((len(asked),), object))

    def test_labels_within_a_radius_vote(self):
        model = starling.RadiusNeighborsClassifier(1.5).fit([[0], [1], [2], [9]], ["b", "a", "b", "c"])
        self.assertEqual(model.predict([[1], [0], [9]]).tolist(), ["b", "a", "c"])  # for 0, a and b have one
                                                                                    # vote each, and the first
                                                                                    # wins
        numpy.testing.assert_allclose(model.predict_proba([[1]]), [[1 / 3, 2 / 3, 0]])
        near = starling.RadiusNeighborsClassifier(2, weights="distance").fit([[0], [1], [2]], [1, 2, 2])
        self.assertEqual(near.predict([[0], [0.2]]).tolist(), [1, 1])
        again = pickle.loads(pickle.dumps(near))
        self.assertEqual(again.predict([[0], [0.2]]).tolist(), [1, 1])
        squares = starling.RadiusNeighborsClassifier(2, weights=lambda distances: [d**-2.0 for d in distances])
        self.assertEqual(squares.fit([[0], [1], [2]], [1, 2, 2]).predict([[0.4], [0.6]]).tolist(), [1, 2])

    def test_a_row_without_neighbours_gets_the_outlier_label_or_is_refused(self):
        rows, labels = [[0], [1], [2], [3]], [4, 5, 5, 6]
        with self.assertRaisesRegex(ValueError, r"rows \[1, 3\]"):
            starling.RadiusNeighborsClassifier(0.5).fit(rows, labels).predict([[0], [8], [1], [9]])
        for given, expected, share in (("most_frequent", 5, [0, 1, 0]), (6, 6, [0, 0, 1])):
            model = starling.RadiusNeighborsClassifier(0.5, outlier_label=given).fit(rows, labels)
            self.assertEqual(model.predict([[0], [8]]).tolist(), [4, expected])
            self.assertEqual(model.predict_proba([[8], [0]]).tolist(), [share, [1, 0, 0]])
        unknown = starling.RadiusNeighborsClassifier(0.5, outlier_label=-1).fit(rows, labels)
        with self.assertWarnsRegex(UserWarning, "-1 is not in training classes"):
            self.assertEqual(unknown.predict([[8], [0]]).tolist(), [-1, 4])
        with self.assertWarnsRegex(UserWarning, "-1 is not in training classes"):
            self.assertEqual(unknown.predict_proba([[8]]).tolist(), [[0, 0, 0]])
        two = starling.RadiusNeighborsClassifier(0.5, outlier_label=[4, "x"])
        both = numpy.array([[4, "x"], [5, "y"]], dtype=object)
        self.assertEqual(two.fit([[0], [1]], both).predict([[9], [1]]).tolist(), [[4, "x"], [5, "y"]])
        for given, kind in (([1, 2], ValueError), ([[5]], TypeError), ("a", TypeError), (1.5, TypeError)):
            with self.assertRaises(kind):
                starling.RadiusNeighborsClassifier(outlier_label=given).fit(rows, labels)

    def test_values_within_a_radius_have_a_mean(self):
        model = starling.RadiusNeighborsRegressor(1).fit([[0], [1], [5]], [1.0, 3.0, 8.0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(model.predict([[0], [5]]).tolist(), [2.0, 8.0])
        with self.assertWarnsRegex(UserWarning, "predicting NaN"):
            numpy.testing.assert_array_equal(model.predict([[0], [9]]), [2.0, numpy.nan])
        several = starling.RadiusNeighborsRegressor(2, weights="distance")
        several.fit([[0], [1], [2]], [[0, 5], [1, 5], [1, 6]])
        numpy.testing.assert_allclose(several.predict([[0.25], [2]]), [[10 / 31, 5 + 3 / 31], [1, 6]], atol=1e-12)


@package_case.needs("sklearn")
class BesideScikitLearn(unittest.TestCase):
    def test_answers_are_scikit_learns_on_its_data_sets(self):
        from sklearn import datasets, neighbors
        for load, radius in ((datasets.load_iris, 0.73), (datasets.load_wine, 40), (datasets.load_digits, 22)):
            rows, labels = load(return_X_y=True)
            labels = labels.astype(float)  # scikit-learn cannot put a NaN among whole numbers
            for metric in ("euclidean", "manhattan"):
                options = {"radius": radius, "metric": metric}
                mine = starling.NearestNeighbors(**options).fit(rows)
                other = neighbors.NearestNeighbors(algorithm="brute", **options).fit(rows)
                near, far = mine.radius_neighbors(rows[:90]), other.radius_neighbors(rows[:90])
                for one, two in zip(near.indices, far[1]):
                    self.assertEqual(one.tolist(), sorted(two.tolist()))
                for mode in ("connectivity", "distance"):
                    one, two = mine.radius_neighbors_graph(mode=mode), other.radius_neighbors_graph(mode=mode)
                    self.assertEqual(one.shape, two.shape)
                    self.assertLess(abs(one - two).max(), 1e-6)
                for weights in ("uniform", "distance"):
                    for name in ("RadiusNeighborsClassifier", "RadiusNeighborsRegressor"):
                        ours = getattr(starling, name)(weights=weights, **options).fit(rows, labels)
                        theirs = getattr(neighbors, name)(weights=weights, **options).fit(rows, labels)
                        numpy.testing.assert_allclose(
                            ours.predict(rows[:90]), theirs.predict(rows[:90]), atol=1e-9)
                ours = starling.RadiusNeighborsTransformer(**options).fit_transform(rows)
                theirs = neighbors.RadiusNeighborsTransformer(**options).fit_transform(rows)
                self.assertEqual(ours.nnz, theirs.nnz)
                self.assertLess(abs(ours - theirs).max(), 1e-6)
                for first, last in zip(ours.indptr[:-1], ours.indptr[1:]):
                    self.assertTrue((numpy.diff(ours.data[first:last]) >= 0).all())


if __name__ == "__main__":
    unittest.main()
