#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the oracle of the package's tests with known values and with SciPy."""

import unittest

import package_case

package_case.enter_peers()

import numpy  # noqa: E402
import oracle  # noqa: E402


class Oracle(unittest.TestCase):
    def test_halves_are_rounded_away_from_zero(self):
        values = numpy.array([0.5, -0.5, 1.5, 0.49999999999999994, -2.5, 2.4, 0.0])
        self.assertEqual(oracle.rounded(values).tolist(), [1, -1, 2, 0, -3, 2, 0])

    def test_the_earth_has_its_known_axes(self):
        metres = oracle.earth_centred(numpy.array([[0, 0, 0], [90, 0, 5], [7, 90, 0], [180, -90, 2]], float))
        expected = [[6378137, 0, 0], [0, 6378142, 0], [0, 0, 6356752.3142], [0, 0, -6356754.3142]]
        numpy.testing.assert_allclose(metres, expected, atol=1e-4)

    def test_a_planar_position_loses_its_origin_and_its_height(self):
        points = oracle.to_lattice([[5.5, -3, 9]], "planar2", 0.01, (5, -3, 0))
        self.assertEqual(points.tolist(), [[50, 0, 0]])
        self.assertEqual(oracle.squares(points, numpy.array([[53, 4, 0]])).tolist(), [[25]])

    def test_equal_scores_go_by_id(self):
        scores, ids = numpy.array([2, 1, 2, 1]), numpy.array([9, 8, 1, 7])
        self.assertEqual(oracle.nearest(scores, ids, 3).tolist(), [3, 1, 2])

    @package_case.needs("scipy")
    def test_distances_are_those_of_scipy(self):
        from scipy.spatial.distance import cdist
        from scipy.stats import entropy
        random = numpy.random.default_rng(3)
        x, y = random.uniform(0.1, 1, (6, 5)), random.uniform(0.1, 1, (7, 5))
        for metric, name in (("l2", "euclidean"), ("l1", "cityblock"), ("chebyshev", "chebyshev"),
                             ("cosine", "cosine"), ("pearson", "correlation"),
                             ("jensen-shannon", "jensenshannon")):
            numpy.testing.assert_allclose(oracle.distances(metric, x, y), cdist(x, y, name), atol=1e-6)
        numpy.testing.assert_allclose(oracle.distances("inner-product", x, y), -x @ y.T, atol=1e-6)
        numpy.testing.assert_allclose(oracle.distances("hellinger", x, y),
                                      cdist(numpy.sqrt(x), numpy.sqrt(y)) / numpy.sqrt(2), atol=1e-6)
        expected = [[entropy(one, other) for other in y] for one in x]
        numpy.testing.assert_allclose(oracle.distances("kullback-leibler", x, y), expected, atol=1e-6)

    def test_rows_without_a_direction_or_a_sum_stay_zero(self):
        self.assertEqual(oracle.prepared("cosine", [[0, 0]]).tolist(), [[0, 0]])
        self.assertEqual(oracle.prepared("pearson", [[3, 3]]).tolist(), [[0, 0]])
        self.assertEqual(oracle.prepared("jensen-shannon", [[0, 0], [1, 3]]).tolist(), [[0, 0], [0.25, 0.75]])


if __name__ == "__main__":
    unittest.main()
