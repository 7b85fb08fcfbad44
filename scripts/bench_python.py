# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench-python, which runs this program."""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import starling

ROUNDS = 7


def seconds(call):
    """Returns the seconds that call() takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def show(*cells):
    print("".join(f"{cell:>16}" for cell in cells), flush=True)


def rates(count, durations):
    """Returns the median and the best rate in millions a second."""
    return [f"{count / duration / 1e6:.1f}" for duration in (statistics.median(durations), min(durations))]


def update():
    """A million objects move; arrays of float32 or float64 with a time for each row."""
    count = 1_000_000
    ids, times = numpy.arange(count), numpy.zeros(count, dtype=numpy.int64)
    places = numpy.random.default_rng(1).uniform(0, 1e4, size=(count, 2))
    show("Engine.update", "type", "batch", "Mrows/s median", "best")
    for kind in (numpy.float64, numpy.float32):
        for batch in (1_000, 10_000, 100_000):
            with starling.Engine(objects_max=count, threads=2) as engine:
                rows, durations = places.astype(kind), []

                def put():
                    for i in range(0, count, batch):
                        engine.update(ids[i:i + batch], rows[i:i + batch], times[i:i + batch])

                for moment in range(ROUNDS + 1):  # the first round makes the objects
                    times[:] = moment
                    durations.append(seconds(put))
                    engine.tick(moment)
                show("", kind.__name__, batch, *rates(count, durations[1:]))


def server():
    """A million objects move; every row is acknowledged over the loopback."""
    count = 1_000_000
    ids = numpy.arange(count)
    places = numpy.random.default_rng(1).uniform(0, 1e4, size=(count, 2)).astype(numpy.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "endpoints.json")
        running = subprocess.Popen(
            [os.environ["STARLING_PROGRAM"], "serve", "--commands", "tcp://127.0.0.1:*", "--results",
             "tcp://127.0.0.1:*", "--http", "127.0.0.1:0", "--endpoints-file", path, "--log-level", "error"])
        try:
            while not path.exists():
                time.sleep(0.01)
            client = starling.Client(json.loads(path.read_text())["commands"])
            show("Client", "call", "batch", "Mrows/s median", "best")
            for batch in (1_000, 10_000, 100_000):
                for name in ("update", "post"):
                    durations = []

                    def put():
                        for i in range(0, count, batch):
                            getattr(client, name)(ids[i:i + batch], places[i:i + batch])
                        done = client.flush()
                        assert name == "update" or done.accepted == count, done

                    for _ in range(ROUNDS + 1):
                        durations.append(seconds(put))
                    show("", name, batch, *rates(count, durations[1:]))
        finally:
            running.kill()
            running.wait()


def classifier():
    """Both packages classify 1,000 queries among 70,000 x 784 points, with k 64 and two threads, in turn."""
    from sklearn.neighbors import KNeighborsClassifier
    random = numpy.random.default_rng(1)
    points = random.integers(0, 256, size=(70_000, 784)).astype(numpy.float32)
    queries = random.integers(0, 256, size=(1_000, 784)).astype(numpy.float32)
    labels = random.integers(0, 10, size=70_000)
    mine = starling.KNeighborsClassifier(64, n_jobs=2)
    other = KNeighborsClassifier(64, algorithm="brute", n_jobs=2)
    fits = [seconds(lambda: model.fit(points, labels)) for model in (mine, other)]
    mine.predict(queries), other.predict(queries)
    pairs = [[seconds(lambda: model.predict(queries)) for model in (mine, other)] for _ in range(ROUNDS)]
    assert (mine.predict(queries) == other.predict(queries)).all()
    show("classifier", "fit s", "predict s", "best s")
    for name, fit, each in zip(("starling", "scikit-learn"), fits, zip(*pairs)):
        show(name, f"{fit:.3f}", f"{statistics.median(each):.3f}", f"{min(each):.3f}")
    print(f"predict, median of ratios: {statistics.median(one / two for one, two in pairs):.2f}")


def radius():
    """Both packages find the rows within a radius, with two threads, in turn. Index does so in float32."""
    from sklearn.neighbors import NearestNeighbors
    show("radius", "points", "components", "queries", "entries", "Index s", "starling s", "sklearn brute", "auto")
    random = numpy.random.default_rng(1)
    for count, components, asked, wanted in (
            (200_000, 3, 20_000, 30), (100_000, 8, 5_000, 30), (50_000, 64, 2_000, 30), (50_000, 64, 2_000, 1_000),
            (20_000, 784, 1_000, 30)):
        points = random.normal(size=(count, components))
        queries = random.normal(size=(asked, components))
        nearest = starling.knn(points, queries[:200], wanted, threads=2).distances
        within = float(numpy.median(nearest[:, -1]))
        index = starling.Index(points, threads=2)
        models = [starling.NearestNeighbors(radius=within, n_jobs=2),
                  *(NearestNeighbors(radius=within, algorithm=name, n_jobs=2) for name in ("brute", "auto"))]
        calls = [lambda: index.radius(queries, within, sort_results=False)]
        calls += [lambda model=model.fit(points): model.radius_neighbors(queries) for model in models]
        rows = [call()[1] for call in calls[1:]]
        assert all(one.tolist() == sorted(other) for each in rows[1:] for one, other in zip(rows[0], each))
        rounds = [[seconds(call) for call in (calls if turn % 2 else calls[::-1])] for turn in range(3)]
        rounds = [each if turn % 2 else each[::-1] for turn, each in enumerate(rounds)]
        show("", count, components, asked, sum(map(len, rows[0])),
             *(f"{statistics.median(each):.3f}" for each in zip(*rounds)))


def memory(metric=None, components=256):
    """Shows knn's peak of memory over 1 GiB of points, minus the array and one copy. Each case has a process."""
    if metric is None:
        show("knn", "metric", "components", "beyond copy MiB")
        for name in starling._library.METRICS:
            for components in (32, 256):
                subprocess.run([sys.executable, "-B", __file__, "memory", name, str(components)], check=True)
        return
    points = numpy.empty((2**28 // components, components), dtype=numpy.float32)
    random = numpy.random.default_rng(1)
    for part in points.reshape(256, -1):
        part[:] = random.random(part.size, dtype=numpy.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    starling.knn(points, points[:16], 10, metric, threads=2)
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    show("", metric, components, round((more * 1024 - points.nbytes) / 2**20))


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "memory":
        return memory(sys.argv[2], int(sys.argv[3]))
    for name in sys.argv[1:] or ("update", "server", "classifier", "radius", "memory"):
        {"update": update, "server": server, "classifier": classifier, "radius": radius, "memory": memory}[name]()


if __name__ == "__main__":
    main()
