#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests estimators whose metrics the library does not have. Compares them with formulas written out here, and
with scikit-learn."""

import unittest
import warnings

import package_case

package_case.enter_peers()

import numpy  # noqa: E402
import oracle  # noqa: E402
import starling  # noqa: E402


def apart(queries, points):
    return numpy.abs(queries[:, None, :] - points[None, :, :])


def minkowski(p, weights=1):
    return lambda queries, points: (weights * apart(queries, points) ** p).sum(axis=2) ** (1 / p)


def angle(queries, points):
    """Angles between places of latitude and longitude in radians, from their unit vectors."""
    def unit(places):
        latitude, longitude = places.T
        return numpy.column_stack([numpy.cos(latitude) * numpy.cos(longitude),
                                   numpy.cos(latitude) * numpy.sin(longitude), numpy.sin(latitude)])
    one, other = unit(queries)[:, None, :], unit(points)[None, :, :]
    return numpy.arctan2(numpy.linalg.norm(numpy.cross(one, other), axis=2), (one * other).sum(axis=2))


def mahalanobis(inverse):
    def distances(queries, points):
        difference = queries[:, None, :] - points[None, :, :]
        return numpy.sqrt(numpy.einsum("mnd,de,mne->mn", difference, inverse, difference))
    return distances


class Formulas(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(11)

    def check(self, options, formula, points, queries, whole=False):
        """Compares the nearest rows and their distances with the results of a formula."""
        points, queries = numpy.asarray(points, float), numpy.asarray(queries, float)
        truth, own = formula(queries, points), formula(points, points)
        numpy.fill_diagonal(own, numpy.inf)
        count = len(points)
        for k in (1, 4, count - 1):
            model = starling.NearestNeighbors(n_neighbors=k, **options).fit(points)
            for found, expected in ((model.kneighbors(queries), truth), (model.kneighbors(), own)):
                nearest = numpy.sort(expected, axis=1)[:, :k]
                numpy.testing.assert_allclose(found.distances, nearest, rtol=1e-10, atol=1e-14)
                named = numpy.take_along_axis(expected, found.indices, axis=1)
                numpy.testing.assert_allclose(named, nearest, rtol=1e-10, atol=1e-14)
                if whole:  # ties are exact
                    rows = [oracle.nearest(row, numpy.arange(count), k) for row in expected]
                    self.assertEqual(found.indices.tolist(), numpy.array(rows).tolist())
        model = starling.NearestNeighbors(**options).fit(points)
        radius = float(numpy.median(truth))
        found = model.radius_neighbors(queries, radius)
        sure = numpy.abs(truth - radius) > 1e-9
        for i in range(len(queries)):
            is_in = numpy.isin(numpy.arange(count), found.indices[i])
            self.assertTrue(((truth[i] <= radius) == is_in)[sure[i]].all())
            numpy.testing.assert_allclose(found.distances[i], truth[i][found.indices[i]], rtol=1e-10, atol=1e-14)

    def test_minkowski_distances_of_every_p_are_exact(self):
        points, queries = self.random.normal(size=(60, 5)), self.random.normal(size=(9, 5))
        for p in (0.5, 1.5, 3, 7):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.check({"p": p}, minkowski(p), points, queries)
        weights = self.random.random(5)
        weights[2] = 0
        for p in (1, 2, 3):
            self.check({"p": p, "metric_params": {"w": weights}}, minkowski(p, weights), points, queries)

    def test_ties_are_in_the_order_of_rows(self):
        points, queries = self.random.integers(0, 4, size=(90, 3)), self.random.integers(0, 4, size=(20, 3))
        cubes = lambda queries, points: (apart(queries, points) ** 3).sum(axis=2) ** (1 / 3)  # noqa: E731
        self.check({"p": 3}, cubes, points, queries, whole=True)
        self.check({"metric": lambda x, y: numpy.abs(x - y).max()},
                   lambda queries, points: apart(queries, points).max(axis=2), points, queries, whole=True)

    def test_large_powers_neither_overflow_nor_vanish(self):
        for size in (1e5, 1e-15):
            points = numpy.array([[1, 0], [0, 1], [2, 1], [3, 0]]) * size
            found = starling.NearestNeighbors(n_neighbors=4, p=100).fit(points).kneighbors([[0, 0]])
            self.assertEqual(found.indices.tolist(), [[0, 1, 2, 3]])
            numpy.testing.assert_allclose(found.distances[0] / size, [1, 1, 2, 3])

    def test_fractions_of_sizes_are_exact_for_negative_components_and_for_zeros(self):
        def sizes(queries, points):
            return numpy.abs(queries[:, None, :]) + numpy.abs(points[None, :, :])

        def canberra(queries, points):
            return (apart(queries, points) / numpy.maximum(sizes(queries, points), 1e-300)).sum(axis=2)

        def bray_curtis(queries, points):
            return apart(queries, points).sum(axis=2) / numpy.maximum(sizes(queries, points).sum(axis=2), 1e-300)

        points, queries = self.random.integers(-2, 3, size=(70, 3)), self.random.integers(-2, 3, size=(9, 3))
        self.check({"metric": "canberra"}, canberra, points, queries)
        self.check({"metric": "braycurtis"}, bray_curtis, points, queries)

    def test_the_angle_between_places_is_exact(self):
        places = self.random.uniform([-1.5, -3], [1.5, 3], size=(80, 2))
        self.check({"metric": "haversine"}, angle, places[:60], places[60:])

    def test_squares_are_ordered_as_the_library_orders_them(self):
        points, queries = self.random.integers(0, 9, size=(70, 3)), self.random.integers(0, 9, size=(9, 3))
        self.check({"metric": "sqeuclidean"}, lambda queries, points: (apart(queries, points) ** 2).sum(axis=2),
                   points, queries, whole=True)

    @package_case.needs("scipy")
    def test_variances_and_covariances_are_taken_from_metric_params(self):
        points, queries = self.random.normal(size=(50, 4)), self.random.normal(size=(7, 4))
        variances = self.random.random(4) + 0.1
        self.check({"metric": "seuclidean", "metric_params": {"V": variances}},
                   minkowski(2, 1 / variances), points, queries)
        covariance = numpy.cov(points.T)
        inverse = numpy.linalg.inv(covariance)
        for parameters in ({"V": covariance}, {"VI": inverse}):
            self.check({"metric": "mahalanobis", "metric_params": parameters}, mahalanobis(inverse), points,
                       queries)

    def test_missing_components_are_left_out_by_nan_euclidean(self):
        def formula(queries, points):
            difference = queries[:, None, :] - points[None, :, :]
            return numpy.sqrt(numpy.nanmean(difference**2, axis=2) * difference.shape[2])
        points, queries = self.random.normal(size=(40, 6)), self.random.normal(size=(9, 6))
        points[self.random.random(points.shape) < 0.2] = numpy.nan
        points[:, 0] = self.random.normal(size=40)
        self.check({"metric": "nan_euclidean"}, formula, points, queries)

    def test_a_row_without_a_direction_is_at_the_cosine_distance_1(self):
        rows = numpy.array([[0.0, 0], [1, 0], [0, 2], [3, 3]])
        found = starling.NearestNeighbors(n_neighbors=4, metric="cosine").fit(rows).kneighbors([[1, 0], [0, 0]])
        self.assertEqual(found.indices.tolist(), [[1, 3, 0, 2], [0, 1, 2, 3]])
        numpy.testing.assert_allclose(found.distances, [[0, 1 - 0.5**0.5, 1, 1], [1, 1, 1, 1]], atol=1e-12)
        near = starling.NearestNeighbors(n_neighbors=3, metric="cosine").fit(rows[1:])
        self.assertEqual(near.kneighbors([[0, 0]]).distances.tolist(), [[1, 1, 1]])

    def test_the_metrics_of_the_library_have_radii_too(self):
        points = self.random.uniform(0.01, 1, size=(80, 5)).astype(numpy.float32)
        for metric in ("cosine", "pearson", "hellinger", "inner-product", "jensen-shannon", "kullback-leibler"):
            truth = oracle.distances(metric, points[:9], points)
            radius = float(numpy.median(truth))
            found = starling.NearestNeighbors(metric=metric).fit(points).radius_neighbors(points[:9], radius)
            for i in range(9):
                sure = numpy.abs(truth[i] - radius) > 1e-5
                is_in = numpy.isin(numpy.arange(80), found.indices[i])
                self.assertTrue(((truth[i] <= radius) == is_in)[sure].all(), metric)
                numpy.testing.assert_allclose(
                    found.distances[i], truth[i][found.indices[i]], rtol=1e-4, atol=1e-5, err_msg=metric)

    def test_more_neighbours_and_components_than_the_library_takes_are_computed(self):
        points = self.random.integers(0, 50, size=(2500, 2)).astype(float)
        truth = apart(points[:3], points).sum(axis=2)
        found = starling.NearestNeighbors(metric="manhattan").fit(points).kneighbors(points[:3], 2400)
        for i in range(3):
            self.assertEqual(found.indices[i].tolist(), oracle.nearest(truth[i], numpy.arange(2500), 2400).tolist())
        for metric in ("euclidean", "cosine"):
            points = self.random.random((20, 5000))
            found = starling.NearestNeighbors(n_neighbors=3, metric=metric).fit(points).kneighbors(points[:2])
            truth = oracle.distances("l2" if metric == "euclidean" else metric, points[:2], points)
            self.assertEqual(found.indices.tolist(), numpy.argsort(truth, axis=1)[:, :3].tolist())

    def test_precomputed_distances_are_sorted(self):
        truth = self.random.integers(0, 6, size=(30, 30)).astype(float)
        model = starling.NearestNeighbors(n_neighbors=5, metric="precomputed").fit(truth)
        own = truth.copy()
        numpy.fill_diagonal(own, numpy.inf)
        for found, expected in ((model.kneighbors(truth[:8]), truth[:8]), (model.kneighbors(), own)):
            rows = [oracle.nearest(row, numpy.arange(30), 5) for row in expected]
            self.assertEqual(found.indices.tolist(), numpy.array(rows).tolist())
            self.assertEqual(found.distances.tolist(), numpy.sort(expected, axis=1)[:, :5].tolist())
        for i, rows in enumerate(model.radius_neighbors(truth[:8], 2).indices):
            self.assertEqual(rows.tolist(), numpy.flatnonzero(truth[i] <= 2).tolist())
        for i, rows in enumerate(model.radius_neighbors(None, 2).indices):
            self.assertEqual(rows.tolist(), numpy.flatnonzero(own[i] <= 2).tolist())


@package_case.needs("sklearn")
class BesideScikitLearn(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(12)

    def test_every_metric_of_brute_force_has_scikit_learns_distances(self):
        from sklearn import neighbors
        needed = {"seuclidean": {"V": [1, 2, 3, 4]}, "mahalanobis": {"VI": numpy.eye(4) * 2}}
        for metric in sorted(set(neighbors.VALID_METRICS["brute"]) - {"precomputed", "minkowski"}):
            width = 2 if metric == "haversine" else 4
            points = self.random.random((50, width)) + 0.01
            if metric in starling._metrics._BY_PEERS:  # some of these metrics are of booleans
                points[self.random.random(points.shape) < 0.4] = 0
                points[:, 0] = 1
            options = {"n_neighbors": 5, "metric": metric, "metric_params": needed.get(metric)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mine = starling.NearestNeighbors(**options).fit(points)
                other = neighbors.NearestNeighbors(algorithm="brute", **options).fit(points)
                numpy.testing.assert_allclose(
                    mine.kneighbors(points[:9]).distances, other.kneighbors(points[:9])[0], rtol=1e-5, atol=1e-6,
                    err_msg=metric)
                numpy.testing.assert_allclose(
                    numpy.concatenate(mine.radius_neighbors(points[:9], 0.4, sort_results=True).distances),
                    numpy.concatenate(other.radius_neighbors(points[:9], 0.4, sort_results=True)[0]),
                    rtol=1e-5, atol=1e-6, err_msg=metric)

    def test_sparse_rows_give_the_answers_of_dense_ones(self):
        from scipy import sparse
        points = self.random.integers(0, 3, size=(60, 7)) * (self.random.random((60, 7)) < 0.4)
        for metric in ("euclidean", "manhattan", "cosine", "chebyshev"):
            dense = starling.NearestNeighbors(n_neighbors=4, radius=2, metric=metric).fit(points)
            for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.lil_matrix):
                model = starling.NearestNeighbors(n_neighbors=4, radius=2, metric=metric).fit(kind(points))
                for asked in (points[:9], kind(points[:9]), None):
                    expected = dense.kneighbors(points[:9] if asked is not None else None)
                    self.assertEqual(model.kneighbors(asked).indices.tolist(), expected.indices.tolist())
                    self.assertEqual(model.kneighbors(asked).distances.tolist(), expected.distances.tolist())
                found = model.radius_neighbors(kind(points[:9]))
                for one, other in zip(found.indices, dense.radius_neighbors(points[:9]).indices):
                    self.assertEqual(one.tolist(), other.tolist())

    def test_sparse_queries_of_several_blocks_are_joined(self):
        from scipy import sparse
        from unittest import mock
        points = self.random.integers(0, 3, size=(60, 7)).astype(float)
        model = starling.NearestNeighbors(n_neighbors=4, radius=2).fit(points)
        expected = model.kneighbors(points), model.radius_neighbors(points)
        with mock.patch.object(starling._base, "_BLOCK_BYTES", 500):
            found = model.kneighbors(sparse.csr_matrix(points)), model.radius_neighbors(sparse.csr_matrix(points))
        self.assertEqual(found[0].indices.tolist(), expected[0].indices.tolist())
        for one, other in zip(found[1].indices, expected[1].indices):
            self.assertEqual(one.tolist(), other.tolist())

    def test_sparse_rows_that_would_be_too_large_are_refused(self):
        from scipy import sparse
        rows = sparse.csr_matrix((100_000, 100_000))
        with self.assertRaisesRegex(MemoryError, "100000 rows of 100000 components would take 74.5 GiB"):
            starling.NearestNeighbors().fit(rows)
        with self.assertRaisesRegex(ValueError, "'haversine' not valid for sparse input"):
            starling.NearestNeighbors(metric="haversine").fit(rows[:, :2])
        with self.assertRaisesRegex(TypeError, "points is sparse"):
            starling.knn(rows)

    def test_a_graph_of_distances_is_sorted_and_its_missing_entries_are_no_neighbours(self):
        from scipy import sparse
        points = self.random.random((30, 3))
        base = starling.NearestNeighbors(n_neighbors=6).fit(points)
        graph = base.kneighbors_graph(points, mode="distance")
        graph.sort_indices()  # sorts each row by column, so it is no longer nearest first
        model = starling.NearestNeighbors(n_neighbors=4, metric="precomputed").fit(graph)
        self.assertEqual(model.kneighbors(graph).indices.tolist(), base.kneighbors(points, 4).indices.tolist())
        self.assertEqual(model.kneighbors().indices.tolist(), base.kneighbors(None, 4).indices.tolist())
        with self.assertRaisesRegex(ValueError, "7 neighbors per samples are required"):
            model.kneighbors(graph, 7)
        with self.assertRaisesRegex(TypeError, "explicit zeros"):
            model.kneighbors(sparse.bsr_matrix(graph))
        near = base.radius_neighbors_graph(points, 0.3, mode="distance")
        found = starling.NearestNeighbors(radius=0.2, metric="precomputed").fit(near).radius_neighbors(near)
        expected = base.radius_neighbors(points, 0.2, sort_results=True)
        for one, other in zip(found.indices, expected.indices):
            self.assertEqual(one.tolist(), other.tolist())

    def test_distances_are_split_for_cross_validation_in_both_axes(self):
        from sklearn.metrics import pairwise_distances
        from sklearn.model_selection import cross_val_score
        points = self.random.random((60, 2))
        labels = self.random.integers(0, 2, 60)
        for kind in (starling.KNeighborsClassifier, starling.KNeighborsRegressor,
                     starling.RadiusNeighborsClassifier):
            direct = cross_val_score(kind(), points, labels)
            chained = cross_val_score(kind(metric="precomputed"), pairwise_distances(points), labels)
            numpy.testing.assert_allclose(direct, chained)


if __name__ == "__main__":
    unittest.main()
