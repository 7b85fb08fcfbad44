"""`starling knn` as a program, against NumPy: lists, graphs and votes, files read and written, what
is refused and what a refusal leaves behind. Run by ctest with the program's path as the only
argument."""

import os
import pathlib
import pty
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy

PROGRAM = sys.argv.pop()
PATIENCE_S = 120  # how long anything may take before its test fails
MIB = 1 << 20
NO_LABEL = numpy.iinfo(numpy.int64).min


def limit_file_size(size):
    """For a child: a file may not grow further, as on a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


def write_vecs(path, rows):
    """.fvecs, .ivecs or .bvecs, by the type of the rows."""
    with open(path, "wb") as file:
        for row in rows:
            file.write(numpy.int32(len(row)).tobytes() + row.tobytes())


def read_vecs(path, dtype):
    words = numpy.fromfile(path, dtype="<i4")
    rows = words.reshape(-1, words[0] + 1)
    assert (rows[:, 0] == words[0]).all()
    return rows[:, 1:].copy().view(dtype)


def brute_force(points, queries, k, excluded=None):
    """Ids and squared distances of integers, in integer arithmetic; ties by the smaller id."""
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
    """Most votes, then the least sum of distances, then the smallest label."""
    sums = {}
    for label, distance in zip(labels, distances):
        count, total = sums.get(label, (0, 0.0))
        sums[label] = (count + 1, total + distance)
    return min(sums, key=lambda label: (-sums[label][0], sums[label][1], label))


def distances_by_definition(metric, points, queries):
    x, y = queries.astype(float)[:, None], points.astype(float)[None]
    if metric == "l2":
        return numpy.sqrt(((x - y) ** 2).sum(axis=2))
    if metric == "hellinger":
        return numpy.sqrt(((numpy.sqrt(x) - numpy.sqrt(y)) ** 2).sum(axis=2) / 2)
    if metric == "pearson":
        x, y = x - x.mean(axis=2, keepdims=True), y - y.mean(axis=2, keepdims=True)
    dots = (x * y).sum(axis=2)
    if metric == "inner-product":
        return -dots
    return 1 - dots / numpy.sqrt((x ** 2).sum(axis=2) * (y ** 2).sum(axis=2))


class KnnTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = numpy.random.default_rng(7)

    def save(self, name, array):
        path = self.folder / name
        numpy.save(path, array)
        return path

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
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
        points = self.integers(150, 2)  # many of them equal
        ids, distances = self.arrays("--points", self.save("p.npy", points), "--graph", "-k", 7)
        expected_ids, expected_squares = brute_force(points, points, 7, range(len(points)))
        numpy.testing.assert_array_equal(ids, expected_ids)
        numpy.testing.assert_array_equal(distances, numpy.sqrt(expected_squares))

    def test_distances_are_the_metrics_of_float64_within_the_interval(self):
        points = self.random.normal(size=(200, 24)).astype("f4")
        queries = self.random.normal(size=(30, 24)).astype("f4")
        for metric in ("l2", "cosine", "pearson", "hellinger", "inner-product"):
            with self.subTest(metric):
                p, q = (numpy.abs(points), numpy.abs(queries)) if metric == "hellinger" else (
                    points, queries)
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
        halves = halves[numpy.isfinite(halves)][:63 * 1000].reshape(63, 1000)
        zero = self.save("q.npy", numpy.zeros((1, 1000), "f4"))
        ones = self.save("o.npy", numpy.ones((1, 1000), "f4"))
        for query in (zero, ones):
            halved = self.arrays("--points", self.save("p.npy", halves), "--queries", query)
            whole = self.arrays("--points", self.save("p.npy", halves.astype("f4")), "--queries",
                                query)
            for ours, theirs in zip(halved, whole):
                numpy.testing.assert_array_equal(ours, theirs)

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

    def test_results_are_compressed_as_their_name_says(self):
        points = self.save("p.npy", self.integers(20, 2))
        text = self.knn("--points", points, "--graph", "--out", "-").stdout
        self.knn("--points", points, "--graph", "--out", self.folder / "l.csv.gz")
        done = subprocess.run(["gzip", "-dc", self.folder / "l.csv.gz"], capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout, text)


class VoteTest(KnnTest):
    def classes(self, count):
        """Points of five Gaussian classes, on a lattice, so that distances are exact."""
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

    def test_labels_are_as_many_as_points(self):
        for points in (self.save("p.npy", self.integers(3, 2)),
                       self.write("p.csv", "1,2\n3,4\n5,6\n")):
            labels = self.write("l.csv", "1\n2\n")
            out = self.folder / "v.npy"
            done = self.knn("--points", points, "--graph", "--labels", labels, "--out-votes", out,
                            status=1)
            self.assertEqual(done.stderr, f"starling: {labels}: has 2 labels, and {points} 3 rows; "
                             "each row has one\n")
            self.assertFalse(out.exists())


class BadEndTest(KnnTest):
    def refused(self, *arguments, **options):
        """The one sentence; the old results stay, and nothing else is left."""
        out = self.write("out.csv", "old")
        done = self.knn(*arguments, "--out", out, "--out-ids", self.folder / "ids.npy", status=1,
                        **options)
        self.assertEqual(out.read_text(), "old")
        self.assertFalse((self.folder / "ids.npy").exists())
        self.assertEqual([path for path in self.folder.iterdir() if path.suffix == ".partial"], [])
        self.assertEqual(done.stdout, "")
        sentence, empty = done.stderr.split("\n")
        self.assertEqual(empty, "")
        return sentence

    def test_components_without_a_place_are_named(self):
        large = "is larger than 2^56, the most that sums can bear"
        cases = [("l2", "f4", numpy.nan, "is not a number"),
                 ("l2", "f8", numpy.nan, "is not a number"),
                 ("cosine", "f4", -numpy.inf, "is infinite"),
                 ("cosine", "f8", numpy.inf, "is infinite"),
                 ("inner-product", "f4", 2.0 ** 57, large),
                 ("pearson", "f8", 1e300, large),
                 ("hellinger", "f4", -0.5,
                  "is negative, which the Hellinger distance does not know")]
        good = self.save("good.npy", numpy.ones((4, 3)))
        for metric, dtype, component, why in cases:
            rows = numpy.ones((70_000, 3), dtype)
            rows[69_999, 1] = component
            bad = self.save("bad.npy", rows)
            for flags in (["--points", bad, "--queries", good],
                          ["--points", good, "--queries", bad]):
                self.assertEqual(
                    self.refused(*flags, "--metric", metric),
                    f"starling: {bad}: row 69999, column 1 (counted from 0) {why}")

    def test_components_without_a_place_are_named_in_text(self):
        bad = self.write("bad.csv", "x,y\n1,2\n\n3, -4\n")
        self.assertEqual(
            self.refused("--points", bad, "--graph", "--metric", "hellinger"),
            f"starling: {bad}:4:3: the number is negative, which the Hellinger distance does not "
            "know")

    def test_bad_files_are_refused_by_name(self):
        good = self.save("good.npy", numpy.ones((4, 3), "f4"))
        whole = good.read_bytes()
        cases = {
            "cut.npy": (whole[:-1], "is truncated: its header promises 48 bytes"),
            "long.npy": (whole + b"x", "goes on for 1 bytes behind its array"),
            "short.fvecs": (b"\3\0\0\0aaaa", "is truncated, or its rows differ in dimension"),
            "none.fvecs": (b"\0\0\0\0", "has vectors of no components"),
            "empty.csv": (b"", "has no rows"),
            "ragged.csv": (b"1,2,3\n4,5\n", ":2:4: the row has 2 fields, and the first one 3"),
            "word.csv": (b"1,2,3\n4,five,6\n", ":2:3: 'five' is not a number"),
            "other.csv": (b"1,2\n", f"its vectors have 2 components, and those of {good} 3"),
            "vectors.json": (b"[[1,2,3]]", "its name tells no format"),
        }
        for name, (content, why) in cases.items():
            with self.subTest(name):
                bad = self.write(name, content)
                sentence = self.refused("--points", good, "--queries", bad)
                self.assertTrue(sentence.startswith(f"starling: {bad}"), sentence)
                self.assertIn(why, sentence)

    def test_a_full_disk_is_one_sentence_and_the_old_file(self):
        points = self.save("p.npy", self.integers(5000, 1))
        flags = ["--points", points, "--graph", "-k", 9]
        for name, flag in [("o.csv", "--out"), ("o.npy", "--out-ids"), ("o.ivecs", "--out-ids"),
                           ("o.npy", "--out-distances"), ("o.fvecs", "--out-distances")]:
            with self.subTest(name + flag):
                out = self.write(name, "old")
                done = self.knn(*flags, flag, out, status=1, preexec_fn=limit_file_size(100_000))
                self.assertIn(f"starling: {out} cannot be written: File too large\n", done.stderr)
                self.assertEqual(out.read_text(), "old")
                self.assertFalse((self.folder / (name + ".partial")).exists())
                (self.folder / "full").mkdir(exist_ok=True)
                full = self.folder / "full" / name
                if not full.is_symlink():
                    full.symlink_to("/dev/full")
                done = self.knn(*flags, flag, full, status=1)
                self.assertRegex(done.stderr, f"^starling: {full} cannot be .*: No space left on "
                                 "device\n$")

    def test_results_appear_together_or_not_at_all(self):
        points = self.save("p.npy", self.integers(5000, 1))
        ids, distances = self.folder / "i.ivecs", self.folder / "d.npy"
        self.knn("--points", points, "--graph", "-k", 9, "--out-ids", ids, "--out-distances",
                 distances, status=1, preexec_fn=limit_file_size(250_000))
        self.assertEqual(list(self.folder.iterdir()), [points])

    def test_an_engine_or_method_that_is_not_there_is_said(self):
        points = self.save("p.npy", self.integers(3, 1))
        self.assertIn("--method sbq: the engine cpu does not know this method",
                      self.refused("--points", points, "--graph", "--engine", "cpu", "--method",
                                   "sbq"))


class UsageTest(KnnTest):
    def test_wrong_usage_is_2_and_names_the_flag(self):
        points = self.save("p.npy", self.integers(3, 1))
        given = ["--points", points]
        out = ["--out", self.folder / "o.csv"]
        cases = [
            ([*out, "--graph"], "--points is required"),
            ([*given, *out], "Add --queries FILE, or --graph"),
            ([*given, "--graph"], "add --out, --out-ids, --out-distances or --out-votes"),
            ([*given, *out, "--graph", "--queries", points], "excludes"),
            ([*given, *out, "--graph", "-k", 0], "--k: "),
            ([*given, *out, "--graph", "-k", 2049], "--k: "),
            ([*given, *out, "--graph", "--metric", "l1"], "--metric: "),
            ([*given, *out, "--graph", "--method", "lsh"], "--method: "),
            ([*given, *out, "--graph", "--vote"], "add --labels FILE"),
            ([*given, *out, "--graph", "--labels", points], "--labels: nothing votes"),
            ([*given, "--graph", "--out", "o.npy"], "--out: o.npy: this is written as CSV"),
            ([*given, "--graph", "--out-ids", "o.fvecs"],
             "--out-ids: o.fvecs: its name tells no format; .npy and .ivecs are written"),
            ([*given, "--graph", "--out-distances", "o.csv"], "--out-distances: o.csv: "),
            ([*given, "--graph", "--labels", points, "--out-votes", "o.ivecs"],
             "--out-votes: o.ivecs: its name tells no format; .npy and .csv are written"),
            ([*given, "--graph", "--out-ids", "o.npy", "--out-distances", "o.npy"],
             "o.npy: two results cannot be written to one file"),
        ]
        for flags, sentence in cases:
            with self.subTest(sentence):
                done = self.knn(*flags, status=2, cwd=self.folder)
                self.assertIn(sentence, done.stderr)
                self.assertEqual(list(self.folder.iterdir()), [points])

    def test_flags_may_stand_in_the_environment(self):
        points = self.save("p.npy", self.integers(3, 1))
        done = self.knn("--graph", "--out", "-", "-k", "1",
                        env={**os.environ, "STARLING_KNN_POINTS": str(points)})
        self.assertEqual(len(done.stdout.splitlines()), 4)

    def test_progress_is_for_terminals(self):
        points = self.save("p.npy", self.integers(300, 3))
        flags = [PROGRAM, "knn", "--points", points, "--graph", "--out", "/dev/null"]
        terminal, other_end = pty.openpty()
        subprocess.run(list(map(str, flags)), stderr=other_end, check=True, timeout=PATIENCE_S)
        os.close(other_end)
        self.assertIn(b"reading 300 rows [####", os.read(terminal, 1 << 16))
        os.close(terminal)
        done = self.knn(*flags[2:])
        self.assertTrue(done.stderr.startswith("knn: 300 queries, 10 neighbours each, of 300 points "
                                               "with 3 components by l2; answered by "), done.stderr)


@unittest.skipIf("STARLING_SANITIZE" in os.environ, "sanitizers take memory of their own")
class MemoryTest(KnnTest):
    def peak_bytes(self, *arguments):
        # A process starts with its parent's peak, so the parent must be a small one.
        measure = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run(["/usr/bin/python3", "-c", measure, PROGRAM, "knn",
                               *map(str, arguments)], capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout) * 1024

    def test_more_queries_than_a_batch_take_no_more_memory(self):
        points = self.save("p.npy", self.integers(40, 1))
        out = self.folder / "o.ivecs"
        out.symlink_to("/dev/null")
        peaks = []
        for count in (70_000, 500_000):  # 160 MB of lists
            queries = self.write("q.csv", "".join(f"{row % 97}\n" for row in range(count)))
            peaks.append(self.peak_bytes("--points", points, "--queries", queries, "-k", 40,
                                         "--out-ids", out))
        self.assertLess(peaks[1], peaks[0] + 20 * MIB)


if __name__ == "__main__":
    unittest.main()
