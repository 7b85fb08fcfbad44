# SPDX-License-Identifier: Apache-2.0
# Measures the rounds of scripts/bench-dense-cpu, which sets the paths of the peers and runs this program.
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(prog="scripts/bench-dense-cpu")
parser.add_argument("starling")
parser.add_argument("--simd", default="best")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--rows", type=int, default=70_000)
parser.add_argument("--dimension", type=int, default=784)
parser.add_argument("--queries", type=int, default=1000)
parser.add_argument("-k", type=int, default=64)
parser.add_argument("--data", choices=["uniform", "clustered"], default="uniform")
flags = parser.parse_args()

# OpenBLAS reads its variables when it is loaded. Haswell is the name of its code for AVX2.
for name in [name for name in os.environ if name.startswith("OPENBLAS_")]:
    del os.environ[name]
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(flags.threads)
if flags.simd == "AVX2":
    os.environ["OPENBLAS_CORETYPE"] = "Haswell"

import faiss  # noqa: E402
import numpy  # noqa: E402
import sklearn  # noqa: E402
import threadpoolctl  # noqa: E402
from sklearn.neighbors import NearestNeighbors  # noqa: E402

CLUSTERS = 100


def draw(random, centres, rows):
    """Returns rows with uniform components in [-1, 1), or normal rows with deviation 0.5 around the centres."""
    shape = (rows, flags.dimension)
    if flags.data == "uniform":
        return random.random(shape, dtype=numpy.float32) * 2 - 1
    near = centres[random.integers(0, CLUSTERS, rows)]
    return near + random.standard_normal(shape, dtype=numpy.float32) / 2


def starling_s(folder):
    command = [flags.starling, "knn", "--engine", "cpu", "--simd", flags.simd,
               "--threads", str(flags.threads), "-k", str(flags.k),
               "--points", f"{folder}/points.npy", "--queries", f"{folder}/queries.npy",
               "--out-ids", f"{folder}/ids.npy"]
    own = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    said = subprocess.run(command, env=own, check=True, stderr=subprocess.PIPE, text=True).stderr
    return float(re.search(r"queries answered in ([0-9.]+) s", said).group(1))


def peer_s(search):
    start = time.perf_counter()
    found = search()
    return time.perf_counter() - start, found


def share_of_same_ids(ours, theirs):
    """Returns the share of equal ids. It may be below 1, because the peers' float sums by a matrix product may
    confuse rows with nearly equal distances."""
    same = sum(len(numpy.intersect1d(a, b)) for a, b in zip(ours, theirs))
    return same / ours.size


random = numpy.random.default_rng(1)
centres = 3 * random.standard_normal((CLUSTERS, flags.dimension), dtype=numpy.float32)
points = draw(random, centres, flags.rows)
queries = draw(random, centres, flags.queries)
brute = NearestNeighbors(n_neighbors=flags.k, algorithm="brute", n_jobs=flags.threads).fit(points)
faiss.omp_set_num_threads(flags.threads)
flat = faiss.IndexFlatL2(flags.dimension)
flat.add(points)

names = ["starling", "scikit-learn", "faiss"]
times = {name: [] for name in names}
with tempfile.TemporaryDirectory() as folder:
    numpy.save(f"{folder}/points.npy", points)
    numpy.save(f"{folder}/queries.npy", queries)
    for number in range(flags.rounds + 1):
        print(f"bench-dense-cpu: round {number} of {flags.rounds}", file=sys.stderr)
        ours = starling_s(folder)
        theirs, ids_brute = peer_s(lambda: brute.kneighbors(queries, return_distance=False))
        flats, (_, ids_flat) = peer_s(lambda: flat.search(queries, flags.k))
        if number > 0:  # the first round warms up
            for name, seconds in zip(names, [ours, theirs, flats]):
                times[name].append(seconds)
    ids = numpy.load(f"{folder}/ids.npy")

pools = {pool["internal_api"]: pool for pool in threadpoolctl.threadpool_info()}
blas = pools.get("openblas")
if blas is None:
    sys.exit("bench-dense-cpu: the peers do not use OpenBLAS")
print(f"{flags.rows} x {flags.dimension}, {flags.queries} queries, k {flags.k}, {flags.data}, L2: "
      f"seconds of search, medians of {flags.rounds} rounds")
medians = {name: statistics.median(times[name]) for name in names}
notes = {
    "starling": f"{flags.threads} threads, {flags.simd}",
    "scikit-learn": f"{sklearn.__version__}; OpenBLAS {blas['version']} {blas['architecture']}: "
                    f"{blas['num_threads']} threads; same ids {share_of_same_ids(ids, ids_brute):.6f}",
    "faiss": f"{faiss.__version__}; the same OpenBLAS; OpenMP: {faiss.omp_get_max_threads()} threads; "
             f"same ids {share_of_same_ids(ids, ids_flat):.6f}",
}
for name in names:
    print(f"  {name:13} {medians[name]:7.3f}   ({min(times[name]):.3f} to {max(times[name]):.3f})  "
          f"{notes[name]}")
faster = min(medians["scikit-learn"], medians["faiss"])
print(f"  ratio to the faster peer {medians['starling'] / faster:.2f}")
