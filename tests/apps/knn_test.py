# SPDX-License-Identifier: Apache-2.0
"""Runs `starling knn` as a program and compares it with NumPy: lists, graphs, votes, and the files that it
reads and writes. Run by ctest with the path of the program as the only argument."""

import os
import subprocess
import unittest

import numpy

from knn_program import KnnTest

NO_LABEL = numpy.iinfo(numpy.int64).min


def write_vecs(path, rows):
    """Writes .fvecs, .ivecs or .bvecs; the type of the rows decides."""
    with open(path, "wb") as file:
        for row in rows:
            file.write(numpy.int32(len(row)).tobytes() + row.tobytes())


def read_vecs(path, dtype):
    words = numpy.fromfile(path, dtype="<i4")
    rows = words.reshape(-1, words[0] + 1)
    assert (rows[:, 0] == words[0]).all()
    return rows[:, 1:].copy().view(dtype)


def brute_force(points, queries, k, excluded=None):
    """Returns ids and squared distances in integer arithmetic; ties go to the smaller id."""
    ids, squares = [], []
    for number, query in enumerate(queries.astype(numpy.int64)):
        square = ((points.astype(numpy.int64) - query) ** 2).sum(axis=1)
        order = numpy.lexsort((numpy.arange(len(points)), square))
        if excluded is not None:
            order = order[order != excluded[number]]
        ids.append(order[:k])
        squares.append(square[order[:k]])
    return numpy.array(ids), numpy.array(squares)


def majority(labels, distances):
    """Returns the label with most votes, then the smallest sum of distances, then the smallest label."""
    sums = {}
    for label, distance in zip(labels, distances):
        count, total = sums.get(label, (0, 0.0))
        sums[label] = (count + 1, total + distance)
    return min(sums, key=lambda label: (-sums[label][0], sums[label][1], label))


def weighted_mean(values, distances, weights):
    """Returns the mean that scikit-learn's KNeighborsRegressor computes."""
    if weights == "uniform":
        return values.mean()
    if (distances == 0).any():
        return values[distances == 0].mean()
    return numpy.average(values, weights=1 / distances)


def distances_by_definition(metric, points, queries):
    x, y = queries.astype(float)[:, None], points.astype(float)[None]
    if metric == "l2":
        return numpy.sqrt(((x - y) ** 2).sum(axis=2))
    if metric == "hellinger":
        return numpy.sqrt(((numpy.sqrt(x) - numpy.sqrt(y)) ** 2).sum(axis=2) / 2)
    if metric == "l1":
        return numpy.abs(x - y).sum(axis=2)
    if metric == "chebyshev":
        return numpy.abs(x - y).max(axis=2)
    if metric in ("jensen-shannon", "kullback-leibler"):
        x, y = x / x.sum(axis=2, keepdims=True), y / y.sum(axis=2, keepdims=True)
    if metric == "kullback-leibler":
        return (x * numpy.log(x / y)).sum(axis=2)
    if metric == "jensen-shannon":
        m = (x + y) / 2
        return numpy.sqrt((x * numpy.log(x / m) + y * numpy.log(y / m)).sum(axis=2) / 2)
    if metric == "pearson":
        x, y = x - x.mean(axis=2, keepdims=True), y - y.mean(axis=2, keepdims=True)
    dots = (x * y).sum(axis=2)
    if metric == "inner-product":
        return -dots
    return 1 - dots / numpy.sqrt((x ** 2).sum(axis=2) * (y ** 2).sum(axis=2))


class RadiusTest(KnnTest):
    """Compares searches within a radius with all distances computed by NumPy."""

    def rows(self, *arguments):
        """Returns the rows of the CSV as a list of (query, rank, row, distance)."""
        out = self.folder / "near.csv"
        self.said = self.knn(*arguments, "--out", out).stderr
        header, *lines = out.read_text().splitlines()
        self.assertEqual(header, "query_id,rank,object_id,distance")
        return [(*map(int, line.split(",")[:3]), float(line.split(",")[3])) for line in lines]

    def expected(self, truth, radius, excludes_own=False):
        found = []
        for query, row in enumerate(truth):
            order = numpy.argsort(row, kind="stable")
            order = order[row[order] <= radius]
            if excludes_own:
                order = order[order != query]
            found += [(query, rank, number, row[number]) for rank, number in enumerate(order.tolist(), 1)]
        return found

    def test_lists_are_all_points_up_to_the_radius(self):
        points, asked = self.integers(500, 3), self.integers(90, 3)
        files = [(self.save("p.npy", points.astype("f4")), self.save("q.npy", asked.astype("f4")))]
        write_vecs(self.folder / "p.fvecs", points.astype("<f4"))
        write_vecs(self.folder / "q.fvecs", asked.astype("<f4"))
        files.append((self.folder / "p.fvecs", self.folder / "q.fvecs"))
        for metric in ("l2", "l1", "chebyshev", "inner-product"):
            truth = distances_by_definition(metric, points, asked)
            of_points = distances_by_definition(metric, points, points)
            for radius in (0, 5, -50 if metric == "inner-product" else numpy.sqrt(29), 1e300):
                for points_file, asked_file in files:
                    found = self.rows("--points", points_file, "--queries", asked_file, "--metric", metric,
                                      f"--radius={radius}")
                    self.assertEqual(found, self.expected(truth, float(radius)), (metric, radius))
                    self.assertIn(f"90 queries, {len(found)} neighbours within the radius in all, of 500", self.said)
            found = self.rows("--points", files[0][0], "--graph", "--metric", metric, "--radius", 4)
            self.assertEqual(found, self.expected(of_points, 4, True), metric)

    def test_distances_are_those_that_k_neighbours_have_in_every_metric(self):
        points = self.save("p.npy", self.random.random((300, 17)))
        asked = self.save("q.npy", self.random.random((20, 17)))
        for metric in ("l2", "cosine", "pearson", "hellinger", "inner-product", "l1", "chebyshev", "jensen-shannon",
                       "kullback-leibler"):
            every = self.rows("--points", points, "--queries", asked, "--metric", metric, "-k", 300)
            radius = every[300 * 7 + 25][3]
            found = self.rows("--points", points, "--queries", asked, "--metric", metric, f"--radius={radius!r}")
            self.assertEqual(found, [row for row in every if row[3] <= radius], metric)

    def test_labels_vote_and_values_have_a_mean_within_the_radius(self):
        points, asked = self.save("p.npy", [[0.0], [1], [2], [9]]), self.save("q.npy", [[1.0], [20], [9]])
        labels, values = self.save("l.npy", [5, 6, 5, 7]), self.save("v.npy", [1.0, 2, 6, 8])
        self.knn("--points", points, "--queries", asked, "--radius", 1, "--labels", labels, "--vote",
                 "--out", self.folder / "o.csv")
        self.assertEqual((self.folder / "o.csv").read_text(), "query_id,label\n0,5\n1,\n2,7\n")
        self.knn("--points", points, "--queries", asked, "--radius", 1, "--values", values, "--regress", "uniform",
                 "--out", self.folder / "o.csv")
        self.assertEqual((self.folder / "o.csv").read_text(), "query_id,value\n0,3\n1,\n2,8\n")

    def test_what_does_not_go_with_a_radius_is_refused(self):
        points, out = self.save("p.npy", numpy.ones((2, 2))), self.folder / "o.csv"
        for flags, why in ((["-k", 3], "-k do not go together"), (["--out-ids", "i.npy"], "writes CSV alone"),
                           (["--engine", "cuda"], "no search by radius"), (["--devices", 0], "no search by radius")):
            said = self.knn("--points", points, "--graph", "--radius", 1, "--out", out, *flags, status=2).stderr
            self.assertIn(why, said)
        for radius, why in ((-1, "a distance by l2 is at least 0"), ("nan", "not a finite number")):
            said = self.knn("--points", points, "--graph", f"--radius={radius}", "--out", out, status=2).stderr
            self.assertIn(why, said)
        said = self.knn("--points", points, "--graph", "--radius", 1, status=2).stderr
        self.assertIn("no output is named: add --out FILE", said)
        self.assertNotIn("--out-ids", said)
        self.assertFalse(out.exists())

    def test_the_command_line_chooses_between_k_and_a_radius_from_elsewhere(self):
        points = self.save("p.npy", numpy.arange(5)[:, None])
        config = self.folder / "starling.toml"
        for name, arguments, lengths in (("k", ["--radius", 1], [1, 2, 2, 2, 1]), ("radius", ["-k", 3], [3] * 5)):
            config.write_text(f"[knn]\n{name} = 1\n")
            for more, env in ((["--config", config], {}), ([], {f"STARLING_KNN_{name.upper()}": "1"})):
                self.knn("--points", points, "--graph", *arguments, *more, "--out", self.folder / "o.csv",
                         env={**os.environ, **env})
                rows = (self.folder / "o.csv").read_text().splitlines()[1:]
                found = [sum(row.startswith(f"{query},") for row in rows) for query in range(5)]
                self.assertEqual(found, lengths, (name, more))


class RoundingTest(KnnTest):
    """Searches float64 values that float32 cannot hold."""

    def surveyed(self, count):
        """Returns places within 100 m, in metres east and north in a UTM zone, to 1/512 m: float32 holds
        their differences and the squares of small ones."""
        return numpy.array([597_000, 6_650_000]) + self.random.integers(0, 51_200, size=(count, 2)) / 512

    def write_csv(self, name, rows):
        path = self.folder / name
        path.write_text("".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()))
        return path

    def test_lists_of_surveyed_points_are_those_of_float64(self):
        points, asked = self.surveyed(2000), self.surveyed(300)
        files = [(self.save("p.npy", points), self.save("q.npy", asked)),
                 (self.write_csv("p.csv", points), self.write_csv("q.csv", asked)),
                 (self.save("f.npy", numpy.asfortranarray(points)), self.save("b.npy", asked.astype(">f8")))]
        for metric in ("l2", "l1", "chebyshev"):
            truth = distances_by_definition(metric, points, asked)
            expected = numpy.argsort(truth, axis=1, kind="stable")[:, :5]
            nearest = numpy.take_along_axis(truth, expected, axis=1)
            for points_file, asked_file in files:
                ids, distances = self.arrays("--points", points_file, "--queries", asked_file, "-k", 5,
                                             "--metric", metric)
                self.assertEqual((ids != expected).any(axis=1).sum(), 0, (metric, points_file))
                numpy.testing.assert_allclose(distances, nearest, rtol=1e-6)
            truth = distances_by_definition(metric, points, points)
            numpy.fill_diagonal(truth, numpy.inf)
            ids, _ = self.arrays("--points", files[1][0], "--graph", "-k", 5, "--metric", metric)
            self.assertEqual((ids != numpy.argsort(truth, axis=1, kind="stable")[:, :5]).any(axis=1).sum(), 0, metric)

    def test_a_warning_counts_points_that_rounding_has_made_equal(self):
        points = self.random.uniform(1, 1_000, size=(50, 1))
        points[[3, 5, 8], 0] = [9_000_000.1, 9_000_000.2, 9_000_000.1]
        for file in (self.save("p.npy", points), self.write_csv("p.csv", points)):
            said = self.knn("--points", file, "--graph", "-k", 2, "--out", self.folder / "o.csv").stderr
            self.assertIn(f"warning: 3 of the 50 rows of {file} are equal to another row", said)

    def test_nothing_is_said_without_a_loss(self):
        for points in (self.surveyed(50), self.random.normal(size=(50, 3)), self.integers(50, 3),
                       self.random.normal(size=(50, 3)).astype("f4")):
            for file in (self.save("p.npy", points), self.write_csv("p.csv", points)):
                said = self.knn("--points", file, "--graph", "-k", 2, "--out", self.folder / "o.csv").stderr
                self.assertNotIn("warning", said)

    def test_columns_of_text_that_float32_holds_keep_their_bits(self):
        points = numpy.array([[4_208_292, 2_335_623.5], [4_208_843.5, 2_334_869.5], [4_208_000, 2_334_000]])
        asked = numpy.array([[4_208_848.1, 2_334_863.5]])
        for points_file, rounded in ((self.write_csv("p.csv", points), asked.astype("f4").astype("f8")),
                                     (self.save("p.npy", points), asked)):
            _, distances = self.arrays("--points", points_file, "--queries", self.write_csv("q.csv", asked), "-k", 1)
            expected = numpy.linalg.norm(points[1] - rounded)
            self.assertAlmostEqual(distances[0, 0], expected, delta=1e-5)

    def test_queries_of_float32_lose_the_same_offset(self):
        ids, distances = self.arrays(
            "--points", self.save("p.npy", numpy.array([[6_650_000.1], [6_650_000.4]])),
            "--queries", self.save("q.npy", numpy.array([[6_650_000.0], [6_650_000.5]], dtype="f4")), "-k", 1)
        self.assertEqual(ids.tolist(), [[0], [1]])
        numpy.testing.assert_allclose(distances, [[0.1], [0.1]], atol=1e-6)


class ListsTest(KnnTest):
    def test_lists_are_those_of_integer_arithmetic(self):
        points, queries = self.integers(300, 5), self.integers(40, 5)
        ids, distances = self.arrays("--points", self.save("p.npy", points.astype("f4")),
                                     "--queries", self.save("q.npy", queries.astype("f4")),
                                     "-k", 12)
        expected_ids, expected_squares = brute_force(points, queries, 12)
        self.assertEqual((ids.dtype, distances.dtype), (numpy.int64, numpy.float64))
        numpy.testing.assert_array_equal(ids, expected_ids)
        numpy.testing.assert_array_equal(distances, numpy.sqrt(expected_squares))

    def test_the_graph_leaves_each_point_itself_out_and_not_its_equals(self):
        points = self.integers(150, 2)  # many points are equal
        ids, distances = self.arrays("--points", self.save("p.npy", points), "--graph", "-k", 7)
        expected_ids, expected_squares = brute_force(points, points, 7, range(len(points)))
        numpy.testing.assert_array_equal(ids, expected_ids)
        numpy.testing.assert_array_equal(distances, numpy.sqrt(expected_squares))

    def test_distances_are_the_metrics_of_float64_within_the_interval(self):
        points = self.random.normal(size=(200, 24)).astype("f4")
        queries = self.random.normal(size=(30, 24)).astype("f4")
        of_any_sign = ("l2", "cosine", "pearson", "inner-product", "l1", "chebyshev")
        for metric in (*of_any_sign, "hellinger", "jensen-shannon", "kullback-leibler"):
            with self.subTest(metric):
                p, q = (points, queries) if metric in of_any_sign else (
                    numpy.abs(points), numpy.abs(queries))
                ids, distances = self.arrays(
                    "--points", self.save("p.npy", p), "--queries", self.save("q.npy", q),
                    "-k", 9, "--metric", metric)
                true = distances_by_definition(metric, p, q)
                numpy.testing.assert_allclose(
                    distances, numpy.take_along_axis(true, ids, axis=1), rtol=1e-5, atol=1e-5)
                numpy.testing.assert_allclose(
                    distances, numpy.sort(true, axis=1)[:, :9], rtol=1e-5, atol=1e-5)
                self.assertTrue((numpy.diff(distances, axis=1) >= 0).all())

    def test_zero_and_constant_rows_have_no_direction(self):
        points = self.save("p.npy", numpy.array([[0, 0, 0], [3, 3, 3], [1, 2, 3]], "f4"))
        queries = self.save("q.npy", numpy.array([[0, 0, 0], [5, 7, 9]], "f4"))
        flags = ["--points", points, "--queries", queries, "-k", 3]
        ids, distances = self.arrays(*flags, "--metric", "cosine")
        self.assertEqual(ids[0].tolist(), [0, 1, 2])
        numpy.testing.assert_allclose(distances[0], [0, 0.5, 0.5], rtol=1e-6)
        ids, distances = self.arrays(*flags, "--metric", "pearson")
        self.assertEqual(ids.tolist(), [[0, 1, 2], [2, 0, 1]])
        numpy.testing.assert_allclose(distances, [[0, 0, 0.5], [0, 0.5, 0.5]], rtol=1e-6)

    def test_a_k_beyond_the_points_gives_short_lists(self):
        points, queries = self.integers(3, 2), self.integers(5, 2)
        flags = ["--points", self.save("p.npy", points), "--queries", self.save("q.npy", queries),
                 "-k", 5]
        ids, distances = self.arrays(*flags)
        numpy.testing.assert_array_equal(ids[:, :3], brute_force(points, queries, 3)[0])
        self.assertTrue((ids[:, 3:] == -1).all() and numpy.isinf(distances[:, 3:]).all())
        lines = self.knn(*flags, "--out", "-").stdout.splitlines()
        self.assertEqual(len(lines), 1 + 5 * 3)

    def test_csv_and_arrays_say_the_same_to_the_bit(self):
        points = self.save("p.npy", self.random.normal(size=(100, 8)).astype("f4"))
        flags = ["--points", points, "--graph", "-k", 4]
        ids, distances = self.arrays(*flags)
        lines = self.knn(*flags, "--out", "-").stdout.splitlines()
        self.assertEqual(lines[0], "query_id,rank,object_id,distance")
        rows = [line.split(",") for line in lines[1:]]
        self.assertEqual([(int(row[0]), int(row[1])) for row in rows],
                         [(query, rank) for query in range(100) for rank in range(1, 5)])
        numpy.testing.assert_array_equal([int(row[2]) for row in rows], ids.ravel())
        numpy.testing.assert_array_equal([float(row[3]) for row in rows], distances.ravel())
        self.assertTrue(all(row[3] == repr(float(row[3])).removesuffix(".0") for row in rows))

    def test_no_queries_are_answered_too(self):
        ids, distances = self.arrays(
            "--points", self.save("p.npy", self.integers(3, 2)),
            "--queries", self.save("q.npy", numpy.empty((0, 2), "f4")), "-k", 2)
        self.assertEqual((ids.shape, distances.shape), ((0, 2), (0, 2)))

    def test_no_points_leave_empty_lists(self):
        ids, _ = self.arrays("--points", self.save("p.npy", numpy.empty((0, 2), "f4")),
                             "--queries", self.save("q.npy", self.integers(2, 2)), "-k", 2)
        self.assertEqual(ids.tolist(), [[-1, -1], [-1, -1]])


class FilesTest(KnnTest):
    def test_every_type_and_order_of_npy_gives_the_same_lists(self):
        points, queries = self.random.integers(0, 100, (60, 6)), self.save(
            "q.npy", self.random.integers(0, 100, (20, 6)).astype("f4"))
        expected = self.arrays("--points", self.save("p.npy", points.astype("f4")), "--queries",
                               queries)
        for dtype in ("<f4", "<f8", "<f2", "u1", "i1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8",
                      ">f4", ">f8", ">f2", ">i2", ">u4", ">i8"):
            for order in "CF":
                with self.subTest(dtype=dtype, order=order):
                    path = self.save("p.npy", numpy.asarray(points, dtype, order))
                    for ours, theirs in zip(self.arrays("--points", path, "--queries", queries),
                                            expected):
                        numpy.testing.assert_array_equal(ours, theirs)

    def test_every_float16_is_the_number_that_numpy_takes_it_for(self):
        halves = numpy.arange(1 << 16, dtype="u2").view("f2")
        halves = halves[numpy.isfinite(halves)].reshape(-1, 1)
        one = self.save("p.npy", numpy.ones((1, 1), "f4"))
        _, distances = self.arrays("--points", one, "--queries", self.save("q.npy", halves), "-k",
                                   1, "--metric", "inner-product")
        numpy.testing.assert_array_equal(distances, -halves.astype("f8"))

    def test_versions_of_npy(self):
        points = self.integers(5, 2).astype("f4")
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(self.folder / "p.npy", "wb") as file:
                numpy.lib.format.write_array(file, points, version=version)
            ids, _ = self.arrays("--points", self.folder / "p.npy", "--graph", "-k", 4)
            numpy.testing.assert_array_equal(ids, brute_force(points, points, 4, range(5))[0])

    def test_vecs_and_csv_are_read_as_npy_is(self):
        points = self.random.integers(0, 100, (50, 7))
        expected = self.arrays("--points", self.save("p.npy", points), "--graph", "-k", 5)
        write_vecs(self.folder / "p.fvecs", points.astype("<f4"))
        write_vecs(self.folder / "p.ivecs", points.astype("<i4"))
        write_vecs(self.folder / "p.bvecs", points.astype("u1"))
        numpy.savetxt(self.folder / "p.csv", points, delimiter=",", header="a,b,c,d,e,f,g")
        numpy.savetxt(self.folder / "h.csv", points, delimiter=";", header="a;b;c;d;e;f;g",
                      comments="", newline="\r\n")
        numpy.savetxt(self.folder / "p.csv.gz", points, delimiter=",")
        numpy.savetxt(self.folder / "p.txt", points)
        for name in ("p.fvecs", "p.ivecs", "p.bvecs", "p.csv", "h.csv", "p.csv.gz", "p.txt"):
            with self.subTest(name):
                for ours, theirs in zip(
                        self.arrays("--points", self.folder / name, "--graph", "-k", 5), expected):
                    numpy.testing.assert_array_equal(ours, theirs)

    def test_float32_as_text_is_the_same_number_again(self):
        points = self.random.normal(size=(50, 3)).astype("f4")
        text = "".join(",".join(map(str, row)) + "\n" for row in points)
        for ours, theirs in zip(
                self.arrays("--points", self.write("p.csv", text), "--graph", "-k", 5),
                self.arrays("--points", self.save("p.npy", points), "--graph", "-k", 5)):
            numpy.testing.assert_array_equal(ours, theirs)

    def test_ivecs_and_fvecs_hold_what_npy_does(self):
        points = self.save("p.npy", self.integers(4, 2))
        flags = ["--points", points, "--graph", "-k", 6]
        ids, distances = self.arrays(*flags)
        self.knn(*flags, "--out-ids", self.folder / "i.ivecs", "--out-distances",
                 self.folder / "d.fvecs")
        numpy.testing.assert_array_equal(read_vecs(self.folder / "i.ivecs", "<i4"), ids)
        numpy.testing.assert_array_equal(read_vecs(self.folder / "d.fvecs", "<f4"),
                                         distances.astype("f4"))

    def test_queries_of_unknown_number_make_a_whole_npy(self):
        queries = self.integers(70_000, 1)  # more than one batch
        points = self.integers(3, 1)
        text = "x\n" + "".join(f"{row[0]}\n" for row in queries)
        ids, _ = self.arrays("--points", self.save("p.npy", points), "--queries",
                             self.write("q.csv", text), "-k", 2)
        self.assertEqual(ids.shape, (70_000, 2))
        numpy.testing.assert_array_equal(ids[65_530:65_550],
                                         brute_force(points, queries[65_530:65_550], 2)[0])

    def test_a_graph_of_several_batches_leaves_each_point_itself_out(self):
        points = numpy.arange(3000).reshape(3000, 1)
        ids, _ = self.arrays("--points", self.save("p.npy", points), "--graph", "-k", 2048)
        numpy.testing.assert_array_equal(ids[1, :2], [0, 2])
        numpy.testing.assert_array_equal(ids[2500, :4], [2499, 2501, 2498, 2502])
        self.assertFalse((ids == points).any())

    def test_every_method_finds_the_same_graph_in_several_tiles(self):
        points = self.integers(3000, 2)
        ids, distances = self.folder / "ids.npy", self.folder / "distances.npy"
        flags = ["--points", self.save("p.npy", points), "--graph", "-k", 2000, "--out-ids", ids,
                 "--out-distances", distances]
        expected_ids, expected_squares = brute_force(points, points, 2000, range(len(points)))
        done = self.knn(*flags)
        methods = ["kato", "cuknn", "iterative", "insertion", "multiselect", "sbq"]
        for method in ["auto"] + (methods if "answered by cuda" in done.stderr else []):
            with self.subTest(method):
                self.knn(*flags, "--method", method)
                numpy.testing.assert_array_equal(numpy.load(ids), expected_ids)
                numpy.testing.assert_array_equal(numpy.load(distances),
                                                 numpy.sqrt(expected_squares))

    def test_results_are_compressed_as_their_name_says(self):
        points = self.save("p.npy", self.integers(20, 2))
        text = self.knn("--points", points, "--graph", "--out", "-").stdout
        self.knn("--points", points, "--graph", "--out", self.folder / "l.csv.gz")
        done = subprocess.run(["gzip", "-dc", self.folder / "l.csv.gz"], capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout, text)


class VoteTest(KnnTest):
    def classes(self, count):
        """Returns points of five Gaussian classes and their labels. The points are on a lattice, so that
        distances are exact."""
        labels = self.random.integers(0, 5, count) * 10 - 20
        centres = self.random.integers(-40, 41, (5, 4))
        points = centres[labels // 10 + 2] + numpy.round(self.random.normal(0, 12, (count, 4)))
        return points.astype("f4"), labels

    def test_votes_are_those_of_another_classifier(self):
        points, labels = self.classes(900)
        known, new = points[:800], points[800:]
        flags = ["--points", self.save("p.npy", known), "--queries", self.save("q.npy", new),
                 "--labels", self.save("l.npy", labels[:800])]
        for k in (1, 2, 4, 7, 16):
            with self.subTest(k=k):
                ids, squares = brute_force(known, new, k)
                expected = [majority(labels[row], numpy.sqrt(square))
                            for row, square in zip(ids, squares)]
                out = self.folder / "votes.npy"
                self.knn(*flags, "-k", k, "--out-votes", out)
                votes = numpy.load(out)
                self.assertEqual(votes.dtype, numpy.int64)
                numpy.testing.assert_array_equal(votes, expected)
                self.assertGreater((votes == labels[800:]).mean(), 0.7)

    def test_votes_go_where_they_are_wanted(self):
        points = self.save("p.npy", numpy.array([[0], [1], [10], [11]]))
        queries = self.save("q.npy", numpy.array([[0.25], [10.75]]))
        labels = self.write("l.csv", "class\n3\n3\n-4\n-4\n")
        flags = ["--points", points, "--queries", queries, "--labels", labels, "-k", 2]
        self.assertEqual(self.knn(*flags, "--vote", "--out", "-").stdout,
                         "query_id,label\n0,3\n1,-4\n")
        self.knn(*flags, "--out", self.folder / "l.csv.out", "--out-votes", self.folder / "v.csv")
        self.assertEqual((self.folder / "v.csv").read_text(), "query_id,label\n0,3\n1,-4\n")
        self.assertEqual((self.folder / "l.csv.out").read_text().splitlines()[1], "0,1,0,0.25")

    def test_a_point_without_neighbours_gets_no_label(self):
        points = self.save("p.npy", numpy.array([[1.5]]))
        labels = self.save("l.npy", numpy.array([5], "u1"))
        flags = ["--points", points, "--graph", "--labels", labels]
        self.assertEqual(self.knn(*flags, "--vote", "--out", "-").stdout, "query_id,label\n0,\n")
        self.knn(*flags, "--out-votes", self.folder / "v.npy")
        self.assertEqual(numpy.load(self.folder / "v.npy").tolist(), [NO_LABEL])

    def test_values_are_those_of_another_regression(self):
        points, _ = self.classes(900)
        values = self.random.normal(size=900) * 100
        known, new = points[:800], numpy.concatenate([points[800:], points[:3]])
        flags = ["--points", self.save("p.npy", known), "--queries", self.save("q.npy", new),
                 "--values", self.save("v.npy", values[:800])]
        out = self.folder / "means.npy"
        for k in (1, 2, 5, 16):
            ids, squares = brute_force(known, new, k)
            for weights in ("uniform", "distance"):
                with self.subTest(k=k, weights=weights):
                    self.knn(*flags, "-k", k, "--regress", weights, "--out-values", out)
                    means = numpy.load(out)
                    self.assertEqual(means.dtype, numpy.float64)
                    expected = [weighted_mean(values[row], numpy.sqrt(square), weights)
                                for row, square in zip(ids, squares)]
                    numpy.testing.assert_allclose(means, expected, rtol=1e-12)

    def test_values_go_where_they_are_wanted(self):
        points = self.save("p.npy", numpy.array([[0], [1], [10], [11]]))
        queries = self.save("q.npy", numpy.array([[-1], [10]]))
        values = self.write("v.csv", "price\n3\n6\n-4\n8.5\n")
        flags = ["--points", points, "--queries", queries, "--values", values, "-k", 2]
        self.assertEqual(self.knn(*flags, "--regress", "uniform", "--out", "-").stdout,
                         "query_id,value\n0,4.5\n1,2.25\n")
        self.assertEqual(self.knn(*flags, "--regress", "distance", "--out", "-").stdout,
                         "query_id,value\n0,4\n1,-4\n")
        self.knn(*flags, "--regress", "uniform", "--out", self.folder / "l.csv.out", "--out-values",
                 self.folder / "m.csv")
        self.assertEqual((self.folder / "m.csv").read_text(), "query_id,value\n0,4.5\n1,2.25\n")
        self.assertEqual((self.folder / "l.csv.out").read_text().splitlines()[1], "0,1,0,1")

    def test_a_point_without_neighbours_gets_no_value(self):
        points = self.save("p.npy", numpy.array([[1.5]]))
        values = self.save("v.npy", numpy.array([5.0]))
        flags = ["--points", points, "--graph", "--values", values, "--regress", "distance"]
        self.assertEqual(self.knn(*flags, "--out", "-").stdout, "query_id,value\n0,\n")
        self.knn(*flags, "--out-values", self.folder / "m.npy")
        self.assertTrue(numpy.isnan(numpy.load(self.folder / "m.npy")).all())

    def test_labels_are_as_many_as_points(self):
        for points in (self.save("p.npy", self.integers(3, 2)),
                       self.write("p.csv", "1,2\n3,4\n5,6\n")):
            labels = self.write("l.csv", "1\n2\n")
            out = self.folder / "v.npy"
            done = self.knn("--points", points, "--graph", "--labels", labels, "--out-votes", out,
                            status=1)
            self.assertEqual(done.stderr, f"starling: {labels}: has 2 labels, and {points} has 3 "
                             "rows; each row needs one label\n")
            self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
