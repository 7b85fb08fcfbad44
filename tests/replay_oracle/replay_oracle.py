#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the CSV of `starling replay TRACE --queries all --out FILE` with a brute force.

The brute force shares no code with the product. It computes every neighbour list of every tick,
compares ids and distances, and stops at the first difference with a sentence.

    replay_oracle.py TRACE --format ais --tick 60s --result 8=FILE.csv [--result 1=...]

The rules, from the documentation: rows count in event-time order, ties in the file's order; rows
with a missing field, out of range, or at 0,0 in a geographic layout do not count; tau runs over the
multiples of the tick from the first one at or after the first row to the first one at or after the
last row; a snapshot holds every row with time <= tau; degrees become earth-centred WGS84 metres;
positions are rounded to centimetres, half away from zero; lists are the least (squared distance, id),
exact, up to the greatest distance, inclusive; a list without a neighbour is one line of rank 0 without
object and distance.
tests/replay_oracle/run.py runs it for every trace."""

import argparse
import gzip
import pathlib
import re
import sys

import numpy

from traces import GEOGRAPHIC, READERS, iso_time_us
from xxh64 import id_of_text

RESOLUTION_M = 0.01
HEADER = b"tick,time_us,query_id,rank,object_id,distance_m\n"
UNITS_US = {"us": 1, "ms": 1000, "s": 1_000_000, "min": 60_000_000, "m": 60_000_000,
            "h": 3_600_000_000}
FARTHEST = numpy.uint64(2**64 - 1)
BLOCK_CELLS = 4_000_000  # cells of the distance matrix that are in memory at once: 32 MB per array


class Difference(Exception):
    """The text says what the product wrote and what is right."""


def duration_us(text):
    number, unit = re.fullmatch(r"(\d+)([a-z]+)", text).groups()
    return int(number) * UNITS_US[unit]


class Trace:
    """The rows that count, by event time, with positions on the lattice."""

    def __init__(self, path, layout, from_us=None, to_us=None, persons=False):
        options = {"persons": persons} if layout == "sumo" else {}
        self.skipped = {"missing field": 0, "out of range": 0, "null island": 0}
        geographic = layout in GEOGRAPHIC
        names, times, positions = [], [], []
        for name, time_us, x, y in READERS[layout](path, **options):
            if not name or x in (None, "") or y in (None, ""):
                self.skipped["missing field"] += 1
                continue
            x, y = float(x), float(y)
            if geographic and x == 0 and y == 0:
                self.skipped["null island"] += 1
            elif geographic and (abs(x) > 180 or abs(y) > 90):
                self.skipped["out of range"] += 1
            elif (from_us is None or time_us >= from_us) and (to_us is None or time_us <= to_us):
                names.append(name)
                times.append(time_us)
                positions.append((x, y))
        self._name_objects(names)
        order = numpy.argsort(numpy.array(times, dtype=numpy.int64), kind="stable")
        self.times = numpy.array(times, dtype=numpy.int64)[order]
        self.objects = numpy.array([self.index_of[id_of_text(name)] for name in names])[order]
        metres = to_metres(numpy.array(positions, dtype=numpy.float64).reshape(-1, 2), geographic)
        self.points, self.close_calls = to_lattice(metres[order])

    def _name_objects(self, names):
        text_of = {}
        for name in names:
            number = id_of_text(name)
            known = text_of.setdefault(number, name)
            if known != name and not (known.isdigit() and name.isdigit()):
                raise SystemExit(f"{known!r} and {name!r} have the same hash, so they share an id")
        numbers = sorted(text_of)
        self.index_of = {number: index for index, number in enumerate(numbers)}
        self.names = [text_of[number] for number in numbers]
        # Decimal ids come first, by number; other ids follow, by their bytes.
        self.print_rank = sorted(
            range(len(numbers)),
            key=lambda i: (0, numbers[i], b"") if self.names[i].isdigit()
            else (1, 0, self.names[i].encode()))

    def snapshots(self, tick_us):
        """Yields (tick, tau, object indices by id, their points, their times) for every tick."""
        latest = numpy.full(len(self.names), -1)
        tau_us = -(-int(self.times[0]) // tick_us) * tick_us
        begin, tick = 0, 1
        while True:
            end = int(numpy.searchsorted(self.times, tau_us, side="right"))
            latest[self.objects[begin:end]] = numpy.arange(begin, end)
            alive = numpy.flatnonzero(latest >= 0)
            yield tick, tau_us, alive, self.points[latest[alive]], self.times[latest[alive]]
            if end == len(self.times):
                return
            begin, tick, tau_us = end, tick + 1, tau_us + tick_us


def to_metres(positions, geographic):
    if not geographic:
        return numpy.column_stack([positions, numpy.zeros(len(positions))])
    semi_major, flattening = 6378137.0, 1 / 298.257223563
    eccentricity_sq = flattening * (2 - flattening)
    longitude, latitude = numpy.radians(positions[:, 0]), numpy.radians(positions[:, 1])
    normal = semi_major / numpy.sqrt(1 - eccentricity_sq * numpy.sin(latitude) ** 2)
    return numpy.column_stack([normal * numpy.cos(latitude) * numpy.cos(longitude),
                               normal * numpy.cos(latitude) * numpy.sin(longitude),
                               normal * (1 - eccentricity_sq) * numpy.sin(latitude)])


def to_lattice(metres):
    """Returns integer points, and the number of coordinates so close to a half that another correct order of
    float64 operations may round them to the other neighbour."""
    units = metres / RESOLUTION_M
    whole = numpy.floor(numpy.abs(units) + 0.5)
    close = numpy.abs(numpy.abs(units) + 0.5 - numpy.rint(numpy.abs(units) + 0.5)) < 1e-6
    return numpy.copysign(whole, units).astype(numpy.int64), int(close.sum())


def nearest(points, candidates, k):
    """Returns two arrays with a row for each point: the indices of the k nearest candidates other than the
    point, nearest first and ties by index, and the squared distances of these candidates. An entry without a
    candidate has the squared distance 2^64 - 1."""
    count = min(k, len(candidates))
    indices = numpy.empty((len(points), count), dtype=numpy.int64)
    squares = numpy.empty((len(points), count), dtype=numpy.uint64)
    there = points[candidates]
    rows = max(1, BLOCK_CELLS // max(1, len(candidates)))
    for begin in range(0, len(points), rows):
        block = slice(begin, min(begin + rows, len(points)))
        distances = squared_distances(points[block], there)
        own = numpy.arange(block.start, block.stop)[:, None] == candidates[None, :]
        distances[own] = FARTHEST
        best = least(distances, count)
        indices[block] = candidates[best]
        squares[block] = numpy.take_along_axis(distances, best, axis=1)
    return indices, squares


def squared_distances(here, there):
    total = numpy.zeros((len(here), len(there)), dtype=numpy.uint64)
    for axis in range(3):
        difference = here[:, axis, None] - there[None, :, axis]
        total += (difference * difference).view(numpy.uint64)
    return total


def least(distances, count):
    """Returns the column indices of the `count` least values of each row, by (value, column)."""
    if count == 0:
        return numpy.empty((len(distances), 0), dtype=numpy.int64)
    if count == distances.shape[1]:
        return numpy.argsort(distances, axis=1, kind="stable")
    best = numpy.sort(numpy.argpartition(distances, count - 1, axis=1)[:, :count], axis=1)
    values = numpy.take_along_axis(distances, best, axis=1)
    last = values.max(axis=1)
    best = numpy.take_along_axis(best, numpy.argsort(values, axis=1, kind="stable"), axis=1)
    # argpartition may choose any of the values that tie for the last place, so rows with ties are sorted.
    for row in numpy.flatnonzero((distances <= last[:, None]).sum(axis=1) > count):
        tied = numpy.flatnonzero(distances[row] <= last[row])
        best[row] = tied[numpy.argsort(distances[row][tied], kind="stable")][:count]
    return best


def tick_lines(trace, tick, tau_us, alive, indices, squares):
    """Yields each list in the order of the file: how its lines begin, and the distance and the line of
    each neighbour."""
    names = [trace.names[i] for i in alive]
    metres = numpy.sqrt(squares.astype(numpy.float64)) * RESOLUTION_M
    padding = (squares == FARTHEST).sum(axis=1)
    position = {index: row for row, index in enumerate(alive.tolist())}
    for row in (position[i] for i in trace.print_rank if i in position):
        start = f"{tick},{tau_us},{names[row]},"
        count = squares.shape[1] - int(padding[row])
        yield start, [(distance, f"{start}{rank},{names[neighbor]},{distance:.3f}\n")
                      for rank, (neighbor, distance) in
                      enumerate(zip(indices[row, :count].tolist(), metres[row, :count].tolist()), 1)]


class Result:
    """One CSV file of the product, compared while it is read."""

    def __init__(self, k, name, stream, distance_max_m=numpy.inf):
        self.k, self.name, self.stream, self.lines = k, name, stream, 0
        self.distance_max_m = distance_max_m
        if self.stream.readline() != HEADER:
            raise Difference(f"{name} does not begin with the header {HEADER.decode().strip()}")

    def expect_lists(self, lists):
        lines = []
        for start, neighbors in lists:
            lines += [line for distance, line in neighbors[:self.k]
                      if distance <= self.distance_max_m] or [f"{start}0,,\n"]
        self.expect(lines)

    def expect(self, lines):
        expected = "".join(lines).encode()
        actual = self.stream.read(len(expected))
        if actual == expected:
            self.lines += len(lines)
            return
        actual += self.stream.readline()
        for wanted, found in zip(lines, actual.decode(errors="replace").splitlines(True)):
            if wanted != found:
                raise Difference(f"k {self.k}: the oracle has {wanted.strip()} where {self.name} "
                                 f"has {found.strip()}")
        raise Difference(f"k {self.k}: {self.name} ends before {lines[-1].strip()}")

    def expect_end(self):
        rest = self.stream.readline()
        if rest:
            raise Difference(f"k {self.k}: {self.name} goes on after the last tick with "
                             f"{rest.decode(errors='replace').strip()}")


def compare(trace, tick_us, results, max_age_us=None):
    """Compares all results together, so that distances are computed once. Returns the number of
    ticks."""
    k_max = max(result.k for result in results)
    tick = 0
    for tick, tau_us, alive, points, times in trace.snapshots(tick_us):
        fresh = numpy.arange(len(alive))
        if max_age_us is not None:
            fresh = numpy.flatnonzero(tau_us - times <= max_age_us)
        indices, squares = nearest(points, fresh, k_max)
        lists = list(tick_lines(trace, tick, tau_us, alive, indices, squares))
        for result in results:
            result.expect_lists(lists)
    for result in results:
        result.expect_end()
    return tick


def describe(trace, ticks, results):
    skipped = ", ".join(f"{count:,} {reason}" for reason, count in trace.skipped.items() if count)
    lines = ", ".join(f"k {result.k}: {result.lines:,}" for result in results)
    return (f"{len(trace.times):,} rows of {len(trace.names):,} objects"
            f"{f' (skipped: {skipped})' if skipped else ''}, {ticks:,} ticks: "
            f"every line is equal ({lines})"
            f"{f'; {trace.close_calls} coordinates lie close to a half' if trace.close_calls else ''}")


def open_result(path):
    return gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--format", required=True, choices=sorted(READERS))
    parser.add_argument("--tick", required=True, type=duration_us)
    parser.add_argument("--result", required=True, action="append", metavar="K=FILE")
    parser.add_argument("--from", dest="from_us", type=iso_time_us)
    parser.add_argument("--to", dest="to_us", type=iso_time_us)
    parser.add_argument("--max-age", type=duration_us)
    parser.add_argument("--persons", action="store_true")
    arguments = parser.parse_args()
    trace = Trace(pathlib.Path(arguments.trace), arguments.format, arguments.from_us, arguments.to_us,
                  arguments.persons)
    try:
        results = [Result(int(k), path, open_result(path))
                   for k, path in (text.split("=", 1) for text in arguments.result)]
        ticks = compare(trace, arguments.tick, results, arguments.max_age)
    except Difference as difference:
        sys.exit(f"{arguments.trace}: {difference}")
    print(f"{arguments.format}: {describe(trace, ticks, results)}")


if __name__ == "__main__":
    main()
