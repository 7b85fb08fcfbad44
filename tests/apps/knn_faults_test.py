# SPDX-License-Identifier: Apache-2.0
"""What `starling knn` refuses, and which files a refusal leaves; its usage, its output, and its memory. Run
by ctest with the path of the program as the only argument."""

import os
import pty
import resource
import subprocess
import unittest

import numpy

from folder_case import limit_file_size
from knn_program import PATIENCE_S, PROGRAM, KnnTest

MIB = 1 << 20


class BadEndTest(KnnTest):
    def refused(self, *arguments, **options):
        """Returns the one sentence of the refusal, and checks that only the old results are left."""
        out = self.write("out.csv", "old")
        before = sorted(self.folder.iterdir())
        done = self.knn(*arguments, "--out", out, "--out-ids", self.folder / "ids.npy", status=1,
                        **options)
        self.assertEqual(out.read_text(), "old")
        self.assertEqual(sorted(self.folder.iterdir()), before)
        self.assertEqual(done.stdout, "")
        sentence, empty = done.stderr.split("\n")
        self.assertEqual(empty, "")
        return sentence

    def test_components_without_a_place_are_named(self):
        large = "is beyond 2^56, the limit that keeps sums finite"
        cases = [("l2", "f4", numpy.nan, "is not a number"),
                 ("l2", "f8", numpy.nan, "is not a number"),
                 ("cosine", "f4", -numpy.inf, "is infinite"),
                 ("cosine", "f8", numpy.inf, "is infinite"),
                 ("inner-product", "f4", 2.0 ** 57, large),
                 ("pearson", "f8", 1e300, large),
                 ("hellinger", "f4", -0.5,
                  "is negative, which this metric does not allow")]
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
            f"starling: {bad}:4:3: the component is negative, which this metric does not allow")

        bad = self.write("bad.csv", "1,nan\n")
        self.assertEqual(self.refused("--points", bad, "--graph"),
                         f"starling: {bad}:1:3: the component is not a number")

    def test_bad_files_are_refused_by_name(self):
        good = self.save("good.npy", numpy.ones((4, 3), "f4"))
        whole = good.read_bytes()
        cases = {
            "cut.npy": (whole[:-1], "is truncated: its header promises 48 bytes"),
            "long.npy": (whole + b"x", "has 1 bytes after its array"),
            "short.fvecs": (b"\3\0\0\0aaaa", "is truncated or its rows differ in dimension"),
            "none.fvecs": (b"\0\0\0\0", "has vectors of 0 components"),
            "empty.csv": (b"", "has no rows"),
            "ragged.csv": (b"1,2,3\n4,5\n", ":2:4: the row has 2 fields, but the first row has 3"),
            "word.csv": (b"1,2,3\n4,five,6\n", ":2:3: 'five' is not a number"),
            "nul.csv": (b"1,2,3\n4,x\0\x1b[2Jy\xff,6\n",
                        r":2:3: 'x\x00\x1b[2Jy\xff' is not a number"),
            "other.csv": (b"1,2\n", f"its vectors have 2 components, and those of {good} have 3"),
            "vectors.json": (b"[[1,2,3]]", "the file's ending names no known format"),
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
                self.assertEqual({path.name for path in self.folder.iterdir()} - {"full"},
                                 {name, "p.npy"})
                out.unlink()
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
        self.assertIn("--method sbq: the engine cpu does not have this method",
                      self.refused("--points", points, "--graph", "--engine", "cpu", "--method",
                                   "sbq"))

    def test_the_summary_names_the_engine_and_no_fault(self):
        points = self.save("p.npy", self.integers(3, 1))
        flags = ["--points", points, "--graph", "-k", 1, "--out", self.folder / "out.csv"]
        self.assertIn("answered by cpu (chosen by --engine cpu): ",
                      self.knn(*flags, "--engine", "cpu").stderr)
        self.assertRegex(self.knn(*flags).stderr,
                         r"answered by (cuda \(on device |cpu \(chosen by --engine auto: (no GPU is "
                         r"available|the CUDA engine is not installed)\): )")

    def test_a_gpu_that_is_not_there_is_said(self):
        points = self.save("p.npy", self.integers(3, 1))
        for engine in ([], ["--engine", "cuda"]):
            # With GPUs the sentence names the missing GPU. Without GPUs the sentence says why there is no
            # GPU.
            self.assertRegex(self.refused("--points", points, "--graph", *engine, "--devices",
                                          "0,1023"),
                             "^starling: --engine cuda: (--devices: there is no GPU 1023 that the "
                             "CUDA engine has code for|NVIDIA's driver is not installed|no GPU can be used|there is no NVIDIA GPU|this "
                             "build has no|the CUDA engine is not installed)")


class UsageTest(KnnTest):
    def test_wrong_usage_is_2_and_names_the_flag(self):
        points = self.save("p.npy", self.integers(3, 1))
        given = ["--points", points]
        out = ["--out", self.folder / "o.csv"]
        cases = [
            ([*out, "--graph"], "--points is required"),
            ([*given, *out], "add --queries FILE, or --graph"),
            ([*given, "--graph"], "add --out, --out-ids, --out-distances, --out-votes or --out-values"),
            ([*given, *out, "--graph", "--queries", points], "do not go together"),
            ([*given, *out, "--graph", "-k", 0], "--k: "),
            ([*given, *out, "--graph", "-k", 2049], "--k: "),
            ([*given, *out, "--graph", "--metric", "l3"], "--metric: "),
            ([*given, *out, "--graph", "--method", "lsh"], "--method: "),
            ([*given, *out, "--graph", "--devices", "0,0"], "--devices: 0 is named twice"),
            ([*given, *out, "--graph", "--devices", "1,0,1", "--engine", "cpu"],
             "--devices: 1 is named twice"),
            ([*given, *out, "--graph", "--devices", "1024"], "--devices: "),
            ([*given, *out, "--graph", "--vote"], "add --labels FILE"),
            ([*given, *out, "--graph", "--labels", points], "--labels: no output needs them"),
            ([*given, *out, "--graph", "--values", points], "--values: no output needs them"),
            ([*given, *out, "--graph", "--regress", "uniform"], "add --values FILE"),
            ([*given, *out, "--graph", "--out-values", "v.npy"], "--out-values: add --regress"),
            ([*given, "--graph", "--out-ids", "i.npy", "--values", points, "--regress", "uniform"],
             "--regress: add --out FILE or --out-values FILE"),
            ([*given, *out, "--graph", "--values", points, "--regress", "distance", "--metric",
              "inner-product"], "--regress distance: an inner product may be negative"),
            ([*given, *out, "--graph", "--values", points, "--regress", "uniform", "--labels", points,
              "--vote"], "--out writes votes or values, not both"),
            ([*given, "--graph", "--out", "o.npy"], "--out: o.npy: --out writes CSV"),
            ([*given, "--graph", "--out-ids", "o.fvecs"],
             "--out-ids: o.fvecs: the file's ending names no known format; .npy and .ivecs are "
             "written"),
            ([*given, "--graph", "--out-distances", "o.csv"], "--out-distances: o.csv: "),
            ([*given, "--graph", "--labels", points, "--out-votes", "o.ivecs"],
             "--out-votes: o.ivecs: the file's ending names no known format; .npy and .csv are "
             "written"),
            ([*given, "--graph", "--out-ids", "o.npy", "--out-distances", "o.npy"],
             "o.npy: two results cannot be written to one file"),
            ([*given, "--graph", "--out-ids", "o.npy", "--out-distances", "./o.npy"],
             "./o.npy: two results cannot be written to one file"),
            ([*given, "--graph", "--labels", points, "--out", "-", "--out-votes", "-"],
             "-: two results cannot be written to one file"),
        ]
        for flags, sentence in cases:
            with self.subTest(sentence):
                done = self.knn(*flags, status=2, cwd=self.folder)
                self.assertIn(sentence, done.stderr)
                self.assertEqual(list(self.folder.iterdir()), [points])

    def test_numbers_are_decimal(self):
        points = self.save("p.npy", self.integers(20, 1))
        for number in ["010", "0x10", "08"]:
            done = self.knn("--points", points, "--graph", "--out", "-", "-k", number, status=2)
            self.assertIn("write a decimal number without it", done.stderr)
        done = self.knn("--points", points, "--graph", "--out", "-", "--threads", "-1", status=2)
        self.assertIn("-1 is less than 0", done.stderr)

    def test_a_graph_that_is_not_wanted_excludes_no_queries(self):
        points = self.save("p.npy", self.integers(3, 1))
        flags = ["--points", points, "--queries", points, "--out", "-", "-k", "1"]
        self.knn(*flags, "--graph=false")
        self.knn(*flags, env={**os.environ, "STARLING_KNN_GRAPH": "0"})
        self.knn(*flags, status=2, env={**os.environ, "STARLING_KNN_GRAPH": "1"})

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
        # A child process starts with its parent's peak of memory, so the parent must be small.
        measure = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run(["/usr/bin/python3", "-c", measure, PROGRAM, "knn",
                               *map(str, arguments)], capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout) * 1024

    def test_points_that_do_not_fit_are_one_sentence(self):
        points = self.folder / "p.npy"
        with open(points, "wb") as file:
            numpy.lib.format.write_array_header_1_0(
                file, {"descr": "|u1", "fortran_order": False, "shape": (1 << 22, 1 << 10)})
            file.truncate(file.tell() + (1 << 32))  # a hole, which uses no disk space
        limit = 6 << 30  # as float32, the rows would take 16 GiB
        done = self.knn(
            "--points", points, "--graph", "--out", self.folder / "o.csv", status=1,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.stderr, f"starling: {points}: its vectors do not fit into memory; split "
                         "the file and merge the lists by distance\n")
        self.assertEqual(list(self.folder.iterdir()), [points])

    def test_threads_that_the_system_does_not_give_are_one_sentence(self):
        points = self.save("p.npy", self.integers(3000, 2))
        limit = 1 << 30  # each thread has a stack of 8 MiB
        done = self.knn(
            "--points", points, "--graph", "--threads", 1024, "--out", self.folder / "o.csv",
            status=1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertRegex(done.stderr, r"^starling: the system gives this program \d+ of 1024 threads "
                                      r"\(.*\); ask for fewer threads\n$")
        self.assertEqual(list(self.folder.iterdir()), [points])

    def test_more_queries_than_a_batch_take_no_more_memory(self):
        points = self.save("p.npy", self.integers(40, 1))
        out = self.folder / "o.ivecs"
        out.symlink_to("/dev/null")
        peaks = []
        for count in (70_000, 500_000):  # 500,000 queries have 160 MB of lists
            queries = self.write("q.csv", "".join(f"{row % 97}\n" for row in range(count)))
            peaks.append(self.peak_bytes("--points", points, "--queries", queries, "-k", 40,
                                         "--out-ids", out))
        self.assertLess(peaks[1], peaks[0] + 20 * MIB)


if __name__ == "__main__":
    unittest.main()
