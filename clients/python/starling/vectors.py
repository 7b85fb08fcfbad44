# SPDX-License-Identifier: Apache-2.0
"""Exact batch k-NN of vectors: `knn` for one search, `Index` for several."""

from __future__ import annotations

import ctypes
import operator
import sys
import threading
import warnings
from types import FrameType, TracebackType
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _arrays, _library
from ._rows import Handle, index_of
from .errors import RoundingWarning, check, text_of

Rows = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float64]

K_MAX = 2048


def knn(
    points: Any,
    queries: Any = None,
    k: int = 1,
    metric: str = "l2",
    *,
    backend: str = "auto",
    device: int = 0,
    threads: int = 0,
) -> tuple[Rows, Distances]:
    """Finds the exact k nearest points of each query.

    Args:
        points: (n, dimension). Contiguous float32 is taken as it is and not copied. Everything
            else is rounded from float64 to float32; by l2, l1 and chebyshev, a column whose numbers
            are far from 0 and near each other loses an offset first, and so do the queries
            (docs/vectors.md). A RoundingWarning says how many points that differ became equal.
        queries: (m, dimension); None: each point, and no point is its own neighbour.
        k: 1 to 2048.
        metric: docs/vectors.md defines the metrics.
        backend: "cpu", "cuda", or "auto": cuda where its library and a GPU are here.
        device: the number of the GPU.
        threads: that search on the CPU; 0: one per core.

    Returns rows of points, int64 (m, k), and distances, float64 (m, k), nearest first. Equal
    scores are in the order of rows. If there are fewer than k points, the last rows are -1 and
    their distances infinity.

    Raises StarlingError if a component is not finite or not allowed by the metric; the sentence
    names its row and column, counted from 1.
    """
    rows = _arrays.to_vectors(points, "points")
    options = make_options(metric, backend, device, threads)
    options.borrows = 1  # `rows` outlives the index
    with Index._made(rows, metric, options) as index:
        if queries is None:
            return index.search(rows, k, first_row=0)
        return index.search(queries, k)


class Index:
    """Points that are searched several times. The arguments are those of `knn`.

    The index holds a copy of the points, prepared for the metric. Several threads take turns.
    """

    def __init__(
        self,
        points: Any,
        metric: str = "l2",
        *,
        backend: str = "auto",
        device: int = 0,
        threads: int = 0,
    ) -> None:
        self._make(_arrays.to_vectors(points, "points"), metric,
                   make_options(metric, backend, device, threads))

    @classmethod
    def _made(cls, rows: _arrays.Reals, metric: str, options: _library.IndexOptions) -> Index:
        index = cls.__new__(cls)
        index._make(rows, metric, options)
        return index

    def _make(self, rows: _arrays.Reals, metric: str, options: _library.IndexOptions) -> None:
        self._call = _library.library()
        self._handle = Handle("index", self._call.index_destroy)
        self._turn = threading.Lock()
        raw = ctypes.c_void_p()
        is_small = rows.dtype == np.float32
        create = self._call.index_create if is_small else self._call.index_create_f64
        check(create(
            ctypes.byref(options), rows.ctypes.data, len(rows), rows.shape[1], ctypes.byref(raw)))
        self._handle.take(raw)
        self._count, self.dimension = rows.shape
        self.metric = metric
        if not is_small:
            self._warn_of_merged_rows()

    def _warn_of_merged_rows(self) -> None:
        merged = ctypes.c_uint64()
        check(self._call.index_rounding(self._handle.raw, None, ctypes.byref(merged)))
        if merged.value:
            warnings.warn(
                f"{merged.value} of the {self._count} points are equal to another one once rounded "
                "to float32, although they differ. Subtract a number from each column, so that its "
                "numbers lie near 0.", RoundingWarning, stacklevel=_outside())

    def __len__(self) -> int:
        return self._count

    def search(
        self, queries: Any, k: int = 1, *, first_row: Optional[int] = None
    ) -> tuple[Rows, Distances]:
        """Returns the rows and the distances of the k nearest points: (m, k) each, as `knn`.

        If the queries are the points first_row, first_row + 1, ..., say so: then no point is its
        own neighbour."""
        rows = _arrays.to_vectors(queries, "queries", self.dimension)
        count = to_count(k, "k", K_MAX)
        first = _library.NOT_A_ROW if first_row is None else operator.index(first_row)
        if first_row is not None and not 0 <= first <= self._count - len(rows):
            raise ValueError(
                f"first_row is {first}, but the index has {self._count} rows, so these "
                f"{len(rows)} queries are not its rows from there on.")
        found = np.empty((len(rows), count), dtype=np.uint32)
        distances = np.empty((len(rows), count), dtype=np.float64)
        is_small = rows.dtype == np.float32
        search = self._call.index_search if is_small else self._call.index_search_f64
        with self._turn:
            check(search(
                self._handle.raw, rows.ctypes.data, len(rows), count, first, found.ctypes.data,
                distances.ctypes.data))
        nearest = found.astype(np.int64)
        if count > self._count - (first_row is not None):
            missing = found == _library.NO_ROW
            nearest[missing] = -1
            distances[missing] = np.inf
        return nearest, distances

    def close(self) -> None:
        """Frees the copy of the points."""
        with self._turn:
            self._handle.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Index: {self._count} points of {self.dimension} components, {self.metric}>"


def _outside() -> int:
    """Returns the stacklevel of the caller's first frame outside of this package."""
    level = 1
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
        level += 1
    return level


def make_options(metric: str, backend: str, device: int, threads: int) -> _library.IndexOptions:
    """Returns a starling_index_options. Raises ValueError for an unknown word."""
    options = _library.IndexOptions()
    check(_library.library().index_options_init(ctypes.byref(options), options.size))
    options.metric = index_of(metric, _library.METRICS, "metric")
    options.backend = index_of(backend, _library.BACKENDS, "backend")
    _library.set_member(options, "device", device)
    _library.set_member(options, "threads", threads)
    return options


def to_count(value: Any, argument: str, most: int) -> int:
    """Returns an integer from 1 to `most`. Raises TypeError or ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{argument} must be an integer, not {value!r}.")
    if not 1 <= value <= most:
        raise ValueError(f"{argument} is {value}; it must be from 1 to {most}.")
    return int(value)


def version() -> str:
    """Returns the version of the library, such as "0.2.0"."""
    return text_of(_library.library().version())
