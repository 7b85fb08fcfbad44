# SPDX-License-Identifier: Apache-2.0
"""Finds all rows within a radius, by the distances of the float64 rows. All searches by radius of
the estimators call `within`. If RadiusFilter can bound the rounding to float32, the library finds
candidates, and NumPy computes only their distances. Otherwise NumPy computes all distances."""

from __future__ import annotations

import functools
from typing import Any, Optional, Sequence

import numpy as np
import numpy.typing as npt

from ._arrays import slices_of
from ._distances import blocks_of, distances, distances_of_pairs, prepared
from ._metrics import Metric
from ._results import RadiusLists, Rows
from .vectors import Index

_STEP = 1.01 * 2.0**-24  # rounding to float32 changes a number by at most this part of it
_NORM_MAX = 2.0**55  # the library refuses components beyond 2^56
_NORM_MIN = 2.0**-100  # the components of a shorter row may be subnormal in float32
_QUERIES_FIRST = 64
_GROWTH_MAX = 8
_CANDIDATES = 1 << 21  # about this number of candidates for each search by the library


class RadiusFilter:
    """Finds the points within a radius among the points that an Index finds within a larger radius.

    Let x be a row, less the offset of the index, and x' what the index makes of it. By the triangle
    inequality the distances of x, y and of x', y' differ by at most |x - x'| + |y - y'|, and
    `_bound` bounds each of these two terms. Decision 6 (vector sums) has the error of the sum."""

    def __init__(self, metric: Metric, points: Any, index: Index) -> None:
        self._index = index
        self._metric = metric
        self._points = points
        self._offset = index._offset()

    # Both properties are computed at the first search by radius, which many estimators never do.
    @functools.cached_property
    def _points_bound(self) -> Optional[float]:
        return self._bound(self._points)

    @functools.cached_property
    def _prepared_points(self) -> Any:
        return self._prepared(self._points)

    def _prepared(self, rows: Any) -> Any:
        return prepared("cosine", rows) if self._metric.engine == "cosine" else rows

    @staticmethod
    def takes(metric: Metric) -> bool:
        """Whether there is a filter for the metric."""
        return metric.engine in ("l2", "l1", "chebyshev", "cosine")

    def find(self, queries: Any, radius: float, first_row: Optional[int]) -> Optional[RadiusLists]:
        """Returns what `within` returns, or None if the radius is negative or the rounding has no bound."""
        reach = self._reach(queries, radius)
        if reach is None:
            return None
        parts = []
        first, size = 0, _QUERIES_FIRST
        while first < len(queries):
            some = queries[first:first + size]
            found = self._index.radius(
                some, reach, first_row=None if first_row is None else first_row + first,
                sort_results=False)
            exact = distances_of_pairs(
                self._metric, self._prepared(some), self._prepared_points, found.owners,
                found.indices, self._index._threads)
            parts.append(keep_entries(found._replace(distances=exact), exact <= radius))
            first += len(some)
            fitting = _CANDIDATES * len(some) // (len(found.indices) + len(some))
            size = max(1, min(fitting, size * _GROWTH_MAX))
        return join(parts)

    def _reach(self, queries: Any, radius: float) -> Optional[float]:
        """Returns the larger radius, for the search by the index, or None if `radius` is negative or there is no
        bound."""
        queries_bound = self._bound(queries)
        if radius < 0 or queries_bound is None or self._points_bound is None:
            return None
        is_cosine = self._metric.engine == "cosine"
        is_square = self._metric.is_squared
        root = np.sqrt(2 * radius) if is_cosine else np.sqrt(radius) if is_square else radius
        dimension = self._index.dimension
        reach = (root + queries_bound + self._points_bound) * (1 + (dimension + 4) * _STEP)
        reach += np.sqrt(dimension) * 2.0**-70  # squares of float32 may vanish
        return float(reach * reach / 2 * (1 + _STEP) if is_cosine else reach)

    def _bound(self, rows: Any) -> Optional[float]:
        """Returns an upper bound of |x - x'| for all rows; None if rounding has no bound."""
        least, most = np.inf, 0.0
        for block in slices_of(rows):
            less = rows[block].astype(np.float64) - self._offset
            norms = np.linalg.norm(less, ord=self._metric.p or 2, axis=1)
            least, most = min(least, norms.min()), max(most, norms.max())
        if most > _NORM_MAX:
            return None
        if self._metric.engine != "cosine":
            return float(most * _STEP + rows.shape[1] * 2.0**-149)
        # Rounding before and after the division by the norm, both relative to the norm 1.
        return 3 * _STEP if least >= _NORM_MIN else None


def within(
    queries: Any, points: Any, radius: float, metric: Metric, first_row: Optional[int] = None,
    candidates: Optional[RadiusFilter] = None,
) -> RadiusLists:
    """Returns the points whose distance to a query is at most the radius, in the order of rows. If
    first_row is not None, query i is point first_row + i, and is not its own neighbour."""
    found = None if candidates is None else candidates.find(queries, radius, first_row)
    return _within_all(queries, points, radius, metric, first_row) if found is None else found


def _within_all(
    queries: Any, points: Any, radius: float, metric: Metric, first_row: Optional[int]
) -> RadiusLists:
    """Does what `within` does, from all distances."""
    owners, indices, found = [], [], []
    for block in blocks_of(queries.shape[0], points.shape[0]):
        part = distances(metric, queries[block], points)
        is_near = part <= radius
        if first_row is not None:
            each = np.arange(len(part))
            is_near[each, first_row + block.start + each] = False
        places, columns = np.nonzero(is_near)
        owners.append(places + block.start)
        indices.append(columns)
        found.append(part[is_near])
    if not owners:
        return join([])
    counts = np.bincount(np.concatenate(owners), minlength=queries.shape[0])
    return RadiusLists(starts_of(counts), np.concatenate(indices), np.concatenate(found))


def starts_of(counts: npt.NDArray[Any]) -> Rows:
    """Returns the start of each of consecutive parts of these sizes, and the end of the last
    part."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def sort_lists(lists: RadiusLists) -> RadiusLists:
    """Returns the lists nearest first, equal distances in the order of rows."""
    order = np.lexsort((lists.indices, lists.distances, lists.owners))
    return RadiusLists(lists.offsets, lists.indices[order], lists.distances[order])


def keep_entries(lists: RadiusLists, is_kept: npt.NDArray[np.bool_]) -> RadiusLists:
    """Returns the lists without the entries where `is_kept` is False."""
    before = starts_of(is_kept)
    return RadiusLists(before[lists.offsets], lists.indices[is_kept], lists.distances[is_kept])


def join(parts: Sequence[RadiusLists]) -> RadiusLists:
    """Returns all lists of several blocks of queries, in their order."""
    if not parts:
        return RadiusLists(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return RadiusLists(
        starts_of(counts), np.concatenate([part.indices for part in parts]),
        np.concatenate([part.distances for part in parts]))
