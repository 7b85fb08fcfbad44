#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests starling.Index besides its searches: names of results, points that come and go, files, pickles."""

import copy
import pickle
import unittest
import warnings

import numpy

import package_case
import starling


def answers(index, queries, k=4):
    found = index.search(queries, k)
    return found.indices.tolist(), found.distances.tolist()


class Results(unittest.TestCase):
    def setUp(self):
        points = numpy.random.default_rng(1).random((30, 3))
        self.found = starling.knn(points, points[:5], 2)

    def test_names_give_no_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual((self.found.indices.shape, self.found.distances.shape), ((5, 2), (5, 2)))
            repr(self.found)
            again = pickle.loads(pickle.dumps(self.found))
            self.assertEqual(copy.deepcopy(again).indices.tolist(), self.found.indices.tolist())

    def test_unpacking_keeps_the_old_order_and_warns(self):
        with self.assertWarnsRegex(FutureWarning, r"\(distances, indices\) in a later version") as seen:
            rows, distances = self.found
        self.assertEqual(seen.filename, __file__)
        self.assertIs(rows, self.found.indices)
        self.assertIs(distances, self.found.distances)
        with self.assertWarns(FutureWarning):
            self.assertIs(self.found[1], distances)


class Indexes(package_case.FolderCase):
    def setUp(self):
        super().setUp()
        self.random = numpy.random.default_rng(2)

    def each(self):
        """Yields points, queries and a metric, for both types of numbers, with and without an offset."""
        for metric in ("l2", "cosine"):
            for kind, offset in ((numpy.float32, 0), (numpy.float64, 0), (numpy.float64, 6_650_000)):
                points = (self.random.integers(1, 500, size=(80, 3)) / 16 + offset).astype(kind)
                yield points, points[:9] + 1, metric

    def check(self, index, points, queries, metric):
        self.assertEqual((len(index), index.dimension, index.metric), (len(points), 3, metric))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", starling.RoundingWarning)
            fresh = starling.Index(points, metric)
        self.assertEqual(answers(index, queries), answers(fresh, queries))

    def make(self, points, metric):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", starling.RoundingWarning)
            return starling.Index(points, metric)

    def test_points_that_are_added_get_the_next_rows(self):
        for points, queries, metric in self.each():
            index = self.make(points[:50], metric)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", starling.RoundingWarning)
                index.add(points[50:70])
                index.add(points[70:])
            self.check(index, points, queries, metric)

    def test_points_of_more_digits_may_be_added(self):
        index = starling.Index(numpy.array([[0.5], [2.0]], dtype=numpy.float32))
        index.add([[1e9 + 1]])
        self.assertEqual(answers(index, [[1e9]], 1)[0], [[2]])

    def test_points_that_are_removed_move_the_others_up(self):
        for points, queries, metric in self.each():
            index = self.make(points, metric)
            gone = [0, 5, 79, 5]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", starling.RoundingWarning)
                index.remove(gone)
                index.remove([])
                index.remove(3)
            kept = numpy.delete(numpy.delete(points, gone, axis=0), 3, axis=0)
            self.check(index, kept, queries, metric)

    def test_a_call_that_is_refused_changes_nothing(self):
        index = starling.Index([[0.0, 0], [1, 1]])
        for kind, expected, call in (
                (ValueError, "no row 2", lambda: index.remove([0, 2])),
                (ValueError, "no row -1", lambda: index.remove(-1)),
                (TypeError, "row numbers", lambda: index.remove([0.5])),
                (TypeError, "row numbers", lambda: index.remove("x")),
                (ValueError, "3 columns", lambda: index.add([[1, 2, 3]])),
                (ValueError, "row 3", lambda: index.add([[1, float("nan")]]))):
            with self.assertRaisesRegex(kind, expected):
                call()
        self.assertEqual(answers(index, [[0, 0]], 2), ([[0, 1]], [[0, 2**0.5]]))

    def test_pickles_copies_and_files_give_the_same_answers(self):
        for points, queries, metric in self.each():
            index = self.make(points, metric)
            index.save(self.folder / "index")
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # only the index itself warns of rounding, and its copies do
                                                # not
                made = (pickle.loads(pickle.dumps(index)), copy.copy(index), copy.deepcopy(index),
                        starling.Index.load(self.folder / "index"), starling.Index.load(str(self.folder / "index")))
            for one in made:
                self.check(one, points, queries, metric)
            index.close()
            self.check(made[1], points, queries, metric)

    def test_another_file_is_refused(self):
        path = self.folder / "index"
        for written in (b"", b"points", pickle.dumps([1])):
            path.write_bytes(written)
            with self.assertRaisesRegex(ValueError, "is not a saved index"):
                starling.Index.load(path)
        numpy.savez(path.with_suffix(".npz"), points=numpy.zeros((2, 2)))
        with self.assertRaisesRegex(ValueError, "is not a saved index"):
            starling.Index.load(path.with_suffix(".npz"))
        with self.assertRaises(FileNotFoundError):
            starling.Index.load(self.folder / "nothing")

    def test_a_closed_index_is_not_saved_or_changed(self):
        index = starling.Index([[0.0]])
        index.close()
        for call in (lambda: index.add([[1.0]]), lambda: index.remove(0), lambda: pickle.dumps(index),
                     lambda: index.save(self.folder / "index")):
            with self.assertRaisesRegex(starling.StarlingError, "index is closed"):
                call()

    def test_a_change_of_the_array_changes_no_answer(self):
        for points, queries, metric in self.each():
            index = self.make(points, metric)
            expected = answers(index, queries)
            points[:] = 7
            self.assertEqual(answers(index, queries), expected)
            self.assertEqual(answers(pickle.loads(pickle.dumps(index)), queries), expected)

    def test_names_of_scikit_learn_are_taken(self):
        points = self.random.random((40, 4))
        for name, own in (("euclidean", "l2"), ("manhattan", "l1"), ("cityblock", "l1"),
                          ("infinity", "chebyshev"), ("correlation", "pearson"),
                          ("jensenshannon", "jensen-shannon")):
            index = starling.Index(points, name)
            self.assertEqual(index.metric, own)
            self.assertEqual(answers(index, points), answers(starling.Index(points, own), points))
            self.assertEqual(starling.knn(points, k=2, metric=name).indices.tolist(),
                             starling.knn(points, k=2, metric=own).indices.tolist())

    def test_a_masked_value_is_refused_by_its_place(self):
        masked = numpy.ma.masked_equal([[1.0, 2], [3, -1], [-1, 4]], -1)
        for call in (lambda: starling.knn(masked), lambda: starling.Index(masked)):
            with self.assertRaisesRegex(ValueError, r"points has 2 masked values, the first one at \[1, 1\]"):
                call()
        with self.assertRaisesRegex(ValueError, "queries has 2 masked values"):
            starling.knn([[0.0, 0]], masked)
        whole = numpy.ma.masked_equal([[1.0, 2], [3, 4]], -1)
        self.assertEqual(starling.knn(whole).indices.tolist(), [[1], [0]])

    def test_dir_has_the_public_names(self):
        self.assertEqual([name for name in dir(starling) if not name.startswith("__")], sorted(starling.__all__))


if __name__ == "__main__":
    unittest.main()
