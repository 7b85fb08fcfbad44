# SPDX-License-Identifier: Apache-2.0
"""Exact batch k-NN of vectors: `knn` for one search, `Index` for several, also by radius."""

from __future__ import annotations

import ctypes
import operator
import os
import sys
import threading
import warnings
import zipfile
from contextlib import contextmanager
from types import FrameType
from typing import Any, Callable, Iterator, Optional, Union

import numpy as np

from . import _arrays, _library
from ._metrics import OTHER_NAMES, library_name
from ._progress import Progress, Watch
from ._results import RadiusLists, SearchResult
from ._rows import Closing, Handle, index_of
from .errors import ErrorCode, RoundingWarning, StarlingError, check, text_of

K_MAX = 2048
DIMENSION_MAX = 4096


def knn(
    points: Any,
    queries: Any = None,
    k: int = 1,
    metric: str = "l2",
    *,
    backend: str = "auto",
    device: int = 0,
    threads: int = 0,
    progress: Progress = None,
) -> SearchResult:
    """Finds the exact k nearest points of each query.

    Args:
        points: (n, dimension). Contiguous float32 is taken as it is and not copied. Everything else
            is rounded from float64 to float32; with l2, l1 and chebyshev, an offset is first
            subtracted from each column whose numbers are far from 0 and near each other, and from
            the queries (docs/vectors.md). A RoundingWarning says how many points that differ became
            equal.
        queries: (m, dimension); None: each point, and no point is its own neighbour.
        k: 1 to 2048.
        metric: docs/vectors.md defines the metrics; "euclidean", "manhattan", "cityblock",
            "correlation" and "jensenshannon" are other names.
        backend: "cpu", "cuda", or "auto": cuda if its library and the GPU are available, else cpu.
        device: the number of the GPU.
        threads: the number of threads that search on the CPU; 0: one per core.
        progress: a function that gets two numbers a few times a second and at the end, `done` and
            `total` queries; both are 0 while points are prepared. An exception that it raises ends
            the search. The function must not use the index. None: a bar on stderr in searches of
            the main thread that take more than two seconds, if stderr is a terminal; True: in each
            search that takes more than 0.05 seconds; False: none.

    Returns a result with .indices, the rows of points, int64 (m, k), and .distances, float64
    (m, k), nearest first. Equal scores are in the order of rows. If there are fewer than k points,
    the last rows are -1 and their distances infinity. Unpacked, the result is (indices, distances)
    and warns, because a later version will have the distances first.

    Raises StarlingError if a component is not finite or not allowed by the metric; the sentence
    names its row and column, counted from 1.
    """
    rows = _arrays.to_vectors(points, "points")
    _check_queries(queries)
    made = Index._made(rows, metric, backend, device, threads, progress=progress)
    with made as index:
        if queries is None:
            return index.search(rows, k, first_row=0, progress=progress)
        return index.search(queries, k, progress=progress)


class Index(Closing):
    """Points that are searched several times. The arguments are those of `knn`.

    The index holds a copy of the points, and the data that the metric needs. Threads that use the
    same index take turns. An index can be pickled, copied and saved; an index that is made again
    from its points gives the same answers.
    """

    def __init__(
        self,
        points: Any,
        metric: str = "l2",
        *,
        backend: str = "auto",
        device: int = 0,
        threads: int = 0,
        progress: Progress = None,
    ) -> None:
        rows = _arrays.to_vectors(points, "points")
        is_fresh = isinstance(points, (list, tuple)) or (
            isinstance(points, np.ndarray) and points.dtype != rows.dtype)
        self._start(rows if is_fresh else _arrays.to_copy(rows), metric, backend, device, threads,
            progress=progress)

    def _start(
        self, rows: _arrays.Reals, metric: str, backend: str, device: int, threads: int,
        warns: bool = True, progress: Progress = None,
    ) -> None:
        """Makes the index. `rows` must not change afterwards."""
        self._settings = (backend, device, threads)
        self._lock = threading.Lock()
        self._caller: Optional[int] = None  # the thread that has the lock
        self._take(rows, library_name(metric), warns, progress)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Waits until no other thread uses the index. Raises StarlingError if this thread does."""
        thread = threading.get_ident()
        if self._caller == thread:
            raise StarlingError(
                ErrorCode.IN_USE,
                "A call of this thread with this index is under way: a progress function or a "
                "signal handler must not use the index. Use it after that call.")
        with self._lock:
            try:
                self._caller = thread
                yield
            finally:
                self._caller = None

    @classmethod
    def _made(
        cls, rows: _arrays.Reals, metric: str, backend: str, device: int, threads: int,
        warns: bool = True, progress: Progress = None,
    ) -> Index:
        index = cls.__new__(cls)
        index._start(rows, metric, backend, device, threads, warns, progress)
        return index

    def _take(
        self, rows: _arrays.Reals, metric: str, warns: bool, progress: Progress = None
    ) -> None:
        call = _library.library()
        options = make_options(metric, *self._settings)
        options.borrows = 1  # self._rows keeps the rows as long as the handle
        create = call.index_create if rows.dtype == np.float32 else call.index_create_f64
        handle = Handle("index", call.index_destroy, works_in_child=True)
        with handle.taking() as raw, Watch(progress, "preparing the points") as watch:
            watch.check(create(
                ctypes.byref(options), rows.ctypes.data, len(rows), rows.shape[1],
                ctypes.byref(raw)))
        if warns and rows.dtype != np.float32:
            _warn_of_merged_rows(handle, len(rows))
        # Nothing fails from here on.
        self._call, self._handle, self._rows = call, handle, rows
        self._count, self.dimension = rows.shape
        self.metric = metric

    def __len__(self) -> int:
        return self._count

    def search(
        self, queries: Any, k: int = 1, *, first_row: Optional[int] = None,
        progress: Progress = None,
    ) -> SearchResult:
        """Returns the rows and the distances of the k nearest points, as `knn`: .indices and
        .distances, (m, k) each. `progress` works as in `knn`.

        If the queries are the points first_row, first_row + 1, ..., pass first_row: then no point
        is its own neighbour."""
        _check_queries(queries)
        rows = _arrays.to_vectors(queries, "queries", self.dimension)
        count = to_count(k, "k", K_MAX)
        first = _library.NOT_A_ROW if first_row is None else operator.index(first_row)
        found = np.empty((len(rows), count), dtype=np.uint32)
        distances = np.empty((len(rows), count), dtype=np.float64)
        is_small = rows.dtype == np.float32
        with self._turn():
            self._check_first(first, len(rows))
            search = self._call.index_search if is_small else self._call.index_search_f64
            with Watch(progress, "searching", len(rows)) as watch:
                watch.check(search(
                    self._handle.raw, rows.ctypes.data, len(rows), count, first,
                    found.ctypes.data, distances.ctypes.data))
            has_missing = count > self._count - (first_row is not None)
        nearest = _arrays.to_copy(found, np.int64)
        if has_missing:
            missing = found == _library.NO_ROW
            nearest[missing] = -1
            distances[missing] = np.inf
        return SearchResult(nearest, distances)

    def radius(
        self, queries: Any, radius: float, *, first_row: Optional[int] = None,
        sort_results: bool = True, progress: Progress = None,
    ) -> RadiusLists:
        """Returns all points whose distance to a query is at most the radius, as lists.

        Args:
            queries, first_row: as for `search`. Distances are those that `search` returns.
            radius: a distance of the metric, at least 0, or infinity; with "inner-product" it may
                be negative: -4 means products of 4 or more.
            sort_results: True: nearest first, equal scores in the order of rows. False: in the
                order of rows.
            progress: as in `knn`.

        The CPU answers for every backend.
        """
        rows = _arrays.to_vectors(queries, "queries", self.dimension)
        if isinstance(radius, bool) or not isinstance(radius, (int, float, np.number)):
            raise TypeError(f"radius must be a number, not {radius!r}.")
        first = _library.NOT_A_ROW if first_row is None else operator.index(first_row)
        order = _library.NEAREST_FIRST if sort_results else _library.BY_ROW
        is_small = rows.dtype == np.float32
        result = Handle("result", self._call.radius_result_destroy)
        with self._turn():
            self._check_first(first, len(rows))
            search = self._call.index_radius if is_small else self._call.index_radius_f64
            with result.taking() as raw, Watch(progress, "searching", len(rows)) as watch:
                watch.check(search(
                    self._handle.raw, rows.ctypes.data, len(rows), float(radius), first, order,
                    ctypes.byref(raw)))
        lists = _library.RadiusLists()
        check(self._call.radius_result_lists(result.raw, ctypes.byref(lists)))
        entries = (int(lists.entry_count),)
        found = RadiusLists(
            _arrays.view(lists.offsets, (len(rows) + 1,), np.uint64, result).astype(np.int64),
            _arrays.view(lists.rows, entries, np.uint32, result).astype(np.int64),
            _arrays.view(lists.distances, entries, np.float64, result).copy())
        result.close()
        return found

    def _check_first(self, first: int, count: int) -> None:
        if first != _library.NOT_A_ROW and not 0 <= first <= self._count - count:
            raise ValueError(
                f"first_row is {first}, but the index has {self._count} rows, so these {count} "
                "queries are not its rows from there on.")

    @property
    def _threads(self) -> int:
        """Returns how many threads search on the CPU."""
        return self._settings[2] or os.cpu_count() or 1

    def _offset(self) -> _arrays.Reals:
        """Returns what the index subtracts from all rows, float64 (dimension,)."""
        offset = np.zeros(self.dimension)
        with self._turn():
            check(self._call.index_rounding(self._handle.raw, offset.ctypes.data, None))
        return offset

    def add(self, points: Any) -> None:
        """Adds points; the first one has the row number len(index).

        The index is made again from all its points, so add many at a time."""
        more = _arrays.to_vectors(points, "points", self.dimension)
        with self._turn():
            self._handle.raw  # raises if the index is closed
            self._take(np.concatenate((self._rows, more)), self.metric, True)

    def remove(self, rows: Any) -> None:
        """Removes the points with these row numbers. The points after them move up: their row
        numbers become smaller.

        The index is made again from the points that stay, so remove many at a time."""
        numbers = np.atleast_1d(_arrays.as_array(rows))
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu" and numbers.size:
            raise TypeError(f"rows must be row numbers, not {rows!r}.")
        with self._turn():
            self._handle.raw
            bad = numbers[(numbers < 0) | (numbers >= self._count)]
            if bad.size:
                raise ValueError(f"There is no row {bad[0]}: the index has {self._count} rows.")
            kept = np.delete(self._rows, numbers.astype(np.intp), axis=0)
            self._take(kept, self.metric, True)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the points and the metric to a file, which `Index.load` reads."""
        with self._turn():
            self._handle.raw
            with open(path, "wb") as file:
                np.savez(file, starling_index=1, metric=np.array(self.metric), points=self._rows)

    @classmethod
    def load(
        cls,
        path: Union[str, os.PathLike[str]],
        *,
        backend: str = "auto",
        device: int = 0,
        threads: int = 0,
    ) -> Index:
        """Returns the index of a file that `save` wrote. Raises ValueError for another file."""
        with open(path, "rb") as file:
            try:
                found = np.load(file, allow_pickle=False)
                rows, metric = found["points"], str(found["metric"])
                version = int(found["starling_index"])
            except (AttributeError, EOFError, IndexError, KeyError, TypeError, ValueError,
                    zipfile.BadZipFile) as error:
                raise ValueError(f"{os.fspath(path)} is not a saved index: {error}.") from error
        if version != 1:
            raise ValueError(
                f"{os.fspath(path)} is of the format {version}; this version reads 1.")
        rows = _arrays.to_vectors(rows, "points")
        return cls._made(rows, metric, backend, device, threads, warns=False)

    def __reduce__(self) -> tuple[Callable[..., Index], tuple[Any, ...]]:
        with self._turn():
            self._handle.raw
            return _remade, (type(self), self._rows, self.metric, *self._settings)

    def close(self) -> None:
        """Frees the index and its copy of the points."""
        with self._turn():
            self._handle.close()
            self._rows = self._rows[:0].copy()

    def __repr__(self) -> str:
        return f"<Index: {self._count} points of {self.dimension} components, {self.metric}>"


def _check_queries(queries: Any) -> None:
    if isinstance(queries, (int, np.integer)):
        raise TypeError(
            f"queries is {queries}; to set the number of neighbours, write k={queries}.")


def _remade(
    kind: type[Index], rows: _arrays.Reals, metric: str, backend: str, device: int, threads: int
) -> Index:
    """Returns the index of a pickle. Does not warn of points that rounding makes equal: the first
    index has warned."""
    return kind._made(rows, metric, backend, device, threads, warns=False)


def _warn_of_merged_rows(handle: Handle, count: int) -> None:
    merged = ctypes.c_uint64()
    check(_library.library().index_rounding(handle.raw, None, ctypes.byref(merged)))
    if merged.value:
        warnings.warn(
            f"{merged.value} of the {count} points are equal to another one once rounded to "
            "float32, although they differ. Subtract a number from each column, so that its "
            "numbers lie near 0.", RoundingWarning, stacklevel=_outside())


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
    options.metric = index_of(library_name(metric), _library.METRICS, "metric", OTHER_NAMES)
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
