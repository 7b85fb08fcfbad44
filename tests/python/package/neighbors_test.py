#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""If scikit-learn is installed, compares starling's estimators with it and runs scikit-learn's estimator checks.
Otherwise tests the estimators alone."""

import os
import pickle
import subprocess
import sys
import unittest
import warnings

import package_case

package_case.enter_peers()

import numpy  # noqa: E402
import oracle  # noqa: E402
import starling  # noqa: E402

# Checks of check_estimator that may fail, each with its reason. There are none.
EXPECTED_FAILURES = {}

ALONE = """
import sys
for name in [name for name in sys.modules if name.startswith("sklearn")]: del sys.modules[name]
sys.modules["sklearn"] = None
import unittest
sys.path.insert(0, %r)
import metrics_test, neighbors_test, radius_test
assert not hasattr(neighbors_test.starling.NearestNeighbors, "_validate_data")
kinds = metrics_test.Formulas, neighbors_test.Plain, radius_test.Radius
suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, kinds))
sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())
"""


class Plain(unittest.TestCase):
    """Tests that need neither scikit-learn nor SciPy."""

    def setUp(self):
        self.random = numpy.random.default_rng(5)
        self.rows = self.random.integers(0, 20, size=(200, 3)).astype(float)
        self.asked = self.random.integers(0, 20, size=(30, 3)).astype(float)

    def test_columns_far_from_zero_are_told_apart(self):
        seconds = (1_641_168_600 + numpy.arange(0, 100, 10.0))[:, None]
        labels = numpy.arange(10)
        for rows in (seconds, seconds.astype(numpy.int64)):
            model = starling.KNeighborsClassifier(1).fit(rows, labels)
            for each in (model, pickle.loads(pickle.dumps(model))):
                self.assertEqual(each.predict(rows + 4).tolist(), labels.tolist())
        places = numpy.array([597_000, 6_650_000]) + self.random.integers(0, 51_200, size=(2000, 2)) / 512
        truth = oracle.plain_distances("l2", places, places)
        numpy.fill_diagonal(truth, numpy.inf)
        found = starling.NearestNeighbors(n_neighbors=5).fit(places).kneighbors(return_distance=False)
        expected = numpy.argsort(truth, axis=1, kind="stable")[:, :5]
        self.assertEqual((found != expected).any(axis=1).sum(), 0)

    def test_neighbours_are_those_of_brute_force(self):
        for metric, named in (("euclidean", "l2"), ("manhattan", "l1"), ("chebyshev", "chebyshev")):
            found = starling.NearestNeighbors(n_neighbors=4, metric=metric).fit(self.rows)
            distances, rows = found.kneighbors(self.asked)
            truth = oracle.distances(named, self.asked, self.rows)
            for i in range(30):
                self.assertEqual(rows[i].tolist(), oracle.nearest(truth[i], numpy.arange(200), 4).tolist())
            numpy.testing.assert_allclose(distances, numpy.sort(truth, axis=1)[:, :4], rtol=1e-12)
            two = found.kneighbors(self.asked, 2, return_distance=False)
            self.assertEqual(two.tolist(), rows[:, :2].tolist())

    def test_a_result_has_names_and_the_order_of_scikit_learn(self):
        model = starling.NearestNeighbors(n_neighbors=2).fit(self.rows)
        found = model.kneighbors(self.asked)
        distances, rows = found
        self.assertIs(found.distances, distances)
        self.assertIs(found.indices, rows)
        near = model.radius_neighbors(self.asked, 4)
        distances, rows = near
        self.assertIs(near.distances, distances)
        self.assertIs(near.indices, rows)

    def test_every_algorithm_and_name_gives_the_same_answer(self):
        for names in (("euclidean", "l2", "minkowski"), ("manhattan", "l1", "cityblock"),
                      ("chebyshev", "infinity")):
            first = starling.NearestNeighbors(metric=names[0]).fit(self.rows).kneighbors(self.asked)
            for name in names:
                for algorithm in ("auto", "ball_tree", "brute", "kd_tree"):
                    found = starling.NearestNeighbors(
                        metric=name, algorithm=algorithm, leaf_size=7).fit(self.rows).kneighbors(self.asked)
                    self.assertEqual(found.indices.tobytes(), first.indices.tobytes())
                    self.assertEqual(found.distances.tobytes(), first.distances.tobytes())
        for p, name in ((1, "manhattan"), (2, "euclidean"), (numpy.inf, "chebyshev")):
            model = starling.NearestNeighbors(p=p).fit(self.rows)
            self.assertEqual((model.effective_metric_, model.effective_metric_params_), (name, {}))

    def test_a_p_in_metric_params_counts_and_warns(self):
        model = starling.NearestNeighbors(p=2, metric_params={"p": 1})
        with self.assertWarnsRegex(SyntaxWarning, "metric_params has a p"):
            model.fit(self.rows)
        self.assertEqual(model.effective_metric_, "manhattan")
        with self.assertWarnsRegex(UserWarning, "not distance metrics"):
            starling.NearestNeighbors(p=0.5).fit(self.rows)

    def test_a_change_of_the_rows_after_fit_changes_no_answer(self):
        for kind in (numpy.float32, numpy.float64):
            for metric in ("euclidean", "cosine", "canberra"):
                rows = self.rows.astype(kind) + 1
                model = starling.NearestNeighbors(metric=metric).fit(rows)
                expected = model.kneighbors(self.asked), model.kneighbors()
                rows[:] = 0
                for one, other in zip(expected, (model.kneighbors(self.asked), model.kneighbors())):
                    self.assertEqual(one.indices.tolist(), other.indices.tolist())

    def test_merged_rows_are_told_at_fit_and_not_after_a_pickle(self):
        rows = self.random.uniform(1, 10_000_000, size=(50, 1))
        rows[:2] = [[9_000_000.1], [9_000_000.2]]
        with self.assertWarns(starling.RoundingWarning):
            model = starling.NearestNeighbors().fit(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pickle.loads(pickle.dumps(model)).kneighbors(rows)

    def test_fitted_rows_are_taken_from_another_estimator(self):
        model = starling.NearestNeighbors(n_neighbors=3, p=1).fit(self.rows)
        again = starling.NearestNeighbors(n_neighbors=3).fit(model)
        direct = starling.NearestNeighbors(n_neighbors=3).fit(self.rows)
        self.assertEqual(again.kneighbors(self.asked).indices.tolist(),
                         direct.kneighbors(self.asked).indices.tolist())

    def test_without_rows_no_fitted_row_is_its_own_neighbour(self):
        found = starling.NearestNeighbors(n_neighbors=199).fit(self.rows)
        self.assertFalse((found.kneighbors(return_distance=False) == numpy.arange(200)[:, None]).any())
        with self.assertRaisesRegex(ValueError, "no row is its own neighbour"):
            found.kneighbors(n_neighbors=200)

    def test_parameters_are_got_and_set(self):
        model = starling.KNeighborsClassifier(3, weights="distance")
        self.assertEqual(model.get_params(), {
            "n_neighbors": 3, "weights": "distance", "algorithm": "auto", "leaf_size": 30, "metric": "minkowski",
            "p": 2, "metric_params": None, "n_jobs": None, "backend": "auto"})
        self.assertEqual(model.set_params(n_neighbors=4).n_neighbors, 4)
        self.assertEqual(repr(starling.NearestNeighbors(n_neighbors=7)), "NearestNeighbors(n_neighbors=7)")
        with self.assertRaisesRegex(ValueError, "Invalid parameter 'q'"):
            model.set_params(q=1)

    def test_labels_are_voted_for(self):
        model = starling.KNeighborsClassifier(3).fit([[0], [1], [2], [9]], ["b", "a", "b", "c"])
        self.assertEqual(model.predict([[0], [8]]).tolist(), ["b", "a"])  # for 8, a, b and c have one vote
                                                                          # each, and the first wins
        self.assertEqual(model.classes_.tolist(), ["a", "b", "c"])
        numpy.testing.assert_allclose(model.predict_proba([[0]]), [[1 / 3, 2 / 3, 0]])
        self.assertEqual(model.score([[0], [8]], ["b", "c"]), 0.5)
        near = starling.KNeighborsClassifier(3, weights="distance").fit([[0], [1], [2]], [1, 2, 2])
        self.assertEqual(near.predict([[0], [0.1]]).tolist(), [1, 1])

    def test_several_outputs_are_predicted_at_once(self):
        y = numpy.array([[0, 5], [1, 5], [1, 6]])
        model = starling.KNeighborsClassifier(1).fit([[0], [1], [2]], y)
        self.assertEqual(model.predict([[0], [2]]).tolist(), [[0, 5], [1, 6]])
        self.assertEqual([part.tolist() for part in model.predict_proba([[2]])], [[[0, 1]], [[0, 1]]])
        mean = starling.KNeighborsRegressor(2, weights="distance").fit([[0], [1], [2]], y)
        numpy.testing.assert_allclose(mean.predict([[0.25], [2]]), [[0.25, 5], [1, 6]])

    def test_values_have_a_mean(self):
        model = starling.KNeighborsRegressor(2).fit([[0], [1], [5]], [1.0, 3.0, 8.0])
        self.assertEqual(model.predict([[0], [9]]).tolist(), [2.0, 5.5])
        self.assertEqual(model.score([[0], [9]], [2.0, 5.5]), 1.0)

    def test_a_fitted_model_is_pickled(self):
        model = starling.KNeighborsRegressor(2).fit(self.rows, self.rows[:, 0])
        again = pickle.loads(pickle.dumps(model))
        self.assertEqual(again.predict(self.asked).tolist(), model.predict(self.asked).tolist())

    def test_wrong_arguments_are_refused_with_a_sentence(self):
        fitted = starling.NearestNeighbors().fit(self.rows)
        fit = starling.NearestNeighbors
        for expected, kind, call in (
                ("is not fitted yet", ValueError, lambda: fit().kneighbors([[0]])),
                ("2 features", ValueError, lambda: fitted.kneighbors([[0, 0]])),
                ("NaN", ValueError, lambda: fit().fit([[numpy.nan]])),
                ("too large", ValueError, lambda: fit().fit([[1e300]])),
                ("Expected 2D", ValueError, lambda: fit().fit([1, 2])),
                ("Expected n_neighbors <= n_samples", ValueError, lambda: fitted.kneighbors(self.asked, 201)),
                ("Expected n_neighbors > 0", ValueError, lambda: fitted.kneighbors(self.asked, 0)),
                ("integer", TypeError, lambda: fitted.kneighbors(self.asked, 1.5)),
                ("metric is 'l3'", ValueError, lambda: fit(metric="l3").fit(self.rows)),
                ("Did you mean canberra", ValueError, lambda: fit(metric="canbera").fit(self.rows)),
                ("p is 0", ValueError, lambda: fit(p=0).fit(self.rows)),
                ("p is 'x'", ValueError, lambda: fit(p="x").fit(self.rows)),
                ("algorithm is 'tree'", ValueError, lambda: fit(algorithm="tree").fit(self.rows)),
                ("not valid for algorithm 'kd_tree'", ValueError,
                 lambda: fit(algorithm="kd_tree", metric="cosine").fit(self.rows)),
                ("does not support 0 < p < 1", ValueError,
                 lambda: fit(algorithm="kd_tree", p=0.5).fit(self.rows)),
                ("does not take the metric_params q", ValueError,
                 lambda: fit(metric="euclidean", metric_params={"q": 1}).fit(self.rows)),
                ("needs metric_params with V", ValueError, lambda: fit(metric="seuclidean").fit(self.rows)),
                ("3 components", ValueError,
                 lambda: fit(metric_params={"w": [1, 2]}).fit(self.rows).kneighbors(self.asked)),
                ("only valid in 2 dimensions", ValueError,
                 lambda: fit(metric="haversine").fit(self.rows).kneighbors(self.asked)),
                ("square", ValueError, lambda: fit(metric="precomputed").fit(self.rows)),
                ("Negative values", ValueError, lambda: fit(metric="precomputed").fit(-numpy.ones((2, 2)))),
                ("X has 1 masked values, the first one at \\[2, 1\\]", ValueError,
                 lambda: fit().fit(numpy.ma.masked_equal([[1, 2], [3, 4], [5, -1]], -1))),
                ("y has 1 masked values", ValueError, lambda: starling.KNeighborsRegressor().fit(
                    [[0], [1]], numpy.ma.masked_equal([1, -1], -1))),
                ("return_distance must be True", ValueError,
                 lambda: fitted.radius_neighbors(self.asked, 1, False, True)),
                ("radius must be a number", TypeError, lambda: fitted.radius_neighbors(self.asked, "far")),
                ("Unsupported mode", ValueError, lambda: fitted.kneighbors_graph(self.asked, mode="x")),
                ("weights is 'heavy'", ValueError,
                 lambda: starling.KNeighborsRegressor(weights="heavy").fit([[0]], [0])),
                ("negative", starling.StarlingError, lambda: fit(metric="hellinger").fit([[-1.0]])),
                ("inner product", ValueError, lambda: starling.KNeighborsRegressor(
                    1, metric="inner-product", weights="distance").fit([[1]], [0]).predict([[1]])),
                ("continuous", ValueError, lambda: starling.KNeighborsClassifier().fit([[0]], [0.5])),
                ("inconsistent", ValueError, lambda: starling.KNeighborsClassifier().fit([[0]], [1, 2])),
                ("y", ValueError, lambda: starling.KNeighborsRegressor().fit([[0]], None))):
            with self.subTest(expected), self.assertRaisesRegex(kind, expected):
                call()


class Alone(unittest.TestCase):
    def test_the_estimators_work_where_scikit_learn_is_not_installed(self):
        done = subprocess.run(
            [sys.executable, "-B", "-c", ALONE % os.path.dirname(os.path.abspath(__file__))], text=True,
            capture_output=True, env={**os.environ, "STARLING_IN_PEERS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Ran 0 tests", done.stderr)


@package_case.needs("sklearn")
class BesideScikitLearn(unittest.TestCase):
    def test_scikit_learns_own_checks_pass(self):
        from sklearn.utils.estimator_checks import check_estimator
        for kind in (starling.NearestNeighbors, starling.KNeighborsTransformer, starling.KNeighborsClassifier,
                     starling.KNeighborsRegressor, starling.RadiusNeighborsClassifier,
                     starling.RadiusNeighborsRegressor, starling.RadiusNeighborsTransformer):
            count = 0
            for estimator, check in check_estimator(kind(), generate_only=True):
                name = getattr(check, "func", check).__name__
                count += 1
                with self.subTest(kind.__name__, check=name):
                    if (kind.__name__, name) in EXPECTED_FAILURES:
                        with self.assertRaises(Exception):
                            check(estimator)
                    else:
                        check(estimator)
            self.assertGreater(count, 20)

    def both(self, name, **options):
        from sklearn import neighbors
        ours = {key: value for key, value in options.items() if key != "algorithm"}
        return getattr(starling, name)(**ours), getattr(neighbors, name)(algorithm="brute", **options)

    def data(self):
        from sklearn import datasets
        for load in (datasets.load_digits, datasets.load_iris, datasets.load_wine):
            rows, labels = load(return_X_y=True)
            order = numpy.random.default_rng(3).permutation(len(rows))
            rows, labels = rows[order].astype(numpy.float32).astype(numpy.float64), labels[order]
            half = len(rows) // 2
            yield rows[:half], labels[:half], rows[half:], labels[half:]

    def test_distances_are_scikit_learns_on_its_data_sets(self):
        for rows, _, asked, _ in self.data():
            for metric in ("euclidean", "manhattan", "chebyshev", "cosine"):
                mine, other = self.both("NearestNeighbors", n_neighbors=12, metric=metric)
                # Cosine distances of nearly parallel rows cancel in scikit-learn's float64.
                bound = {"rtol": 1e-5, "atol": 1e-6 if metric == "cosine" else 1e-9}
                mine, other = mine.fit(rows), other.fit(rows)
                numpy.testing.assert_allclose(mine.kneighbors(asked)[0], other.kneighbors(asked)[0], **bound)
                numpy.testing.assert_allclose(mine.kneighbors()[0], other.kneighbors()[0], **bound)

    def test_graphs_are_scikit_learns(self):
        for rows, _, asked, _ in self.data():
            mine, other = self.both("NearestNeighbors", n_neighbors=3)
            mine, other = mine.fit(rows), other.fit(rows)
            for where in (None, asked):
                near, far = mine.kneighbors_graph(where, mode="distance"), other.kneighbors_graph(
                    where, mode="distance")
                self.assertEqual((near.shape, near.nnz), (far.shape, far.nnz))
                numpy.testing.assert_allclose(near.data, far.data, rtol=1e-5)
            self.assertTrue((mine.kneighbors_graph(asked).data == 1).all())
            from sklearn.neighbors import KNeighborsTransformer
            ours = starling.KNeighborsTransformer(n_neighbors=3).fit_transform(rows)
            theirs = KNeighborsTransformer(n_neighbors=3).fit_transform(rows)
            self.assertEqual(ours.shape, theirs.shape)
            numpy.testing.assert_allclose(
                numpy.sort(ours.data), numpy.sort(theirs.data), rtol=1e-5, atol=1e-6)

    def test_predictions_are_scikit_learns_where_distances_decide(self):
        for rows, labels, asked, truth in self.data():
            for weights in ("uniform", "distance"):
                mine, other = self.both("KNeighborsClassifier", n_neighbors=5, weights=weights)
                mine, other = mine.fit(rows, labels), other.fit(rows, labels)
                distances, _ = other.kneighbors(asked, 6)
                decided = distances[:, 5] > distances[:, 4] * (1 + 1e-6)
                self.assertGreater(decided.mean(), 0.7)
                numpy.testing.assert_allclose(
                    mine.predict_proba(asked)[decided], other.predict_proba(asked)[decided], atol=1e-4)
                self.assertAlmostEqual(mine.score(asked, truth), other.score(asked, truth), delta=0.03)
                values, means = self.both("KNeighborsRegressor", n_neighbors=5, weights=weights)
                numpy.testing.assert_allclose(
                    values.fit(rows, labels).predict(asked)[decided],
                    means.fit(rows, labels).predict(asked)[decided], atol=1e-3)

    def test_it_stands_in_pipelines_and_searches_of_scikit_learn(self):
        from sklearn.datasets import load_iris
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        rows, labels = load_iris(return_X_y=True)
        chain = make_pipeline(StandardScaler(), starling.KNeighborsClassifier())
        search = GridSearchCV(chain, {"kneighborsclassifier__n_neighbors": [1, 5, 9]}, cv=3)
        self.assertGreater(search.fit(rows, labels).best_score_, 0.9)


if __name__ == "__main__":
    unittest.main()
