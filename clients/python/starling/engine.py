# SPDX-License-Identifier: Apache-2.0
"""The engine in this process: objects that move, standing queries, ticks and changed lists."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import _arrays, _library
from ._arrays import Duration, Time
from ._metrics import library_name
from ._names import Names
from ._queries import make_queries
from ._rows import Handle, index_of, make_rows, make_stream, to_bytes
from ._tables import Tables
from .errors import check, text_of
from .lists import Batch, Lists, Result, Tick, make_answers, make_tick


class Engine(Tables):
    """A streaming k-nearest-neighbour engine. Its answers are exact, and the same as a server's.

    Rows wait for the next tick. A tick returns the lists that changed. Ids are integers or texts.
    Times are whole microseconds or datetime64. Durations are whole microseconds, timedelta64 or
    timedelta. Positions are metres, or in wgs84 degrees of longitude and latitude, and metres of
    altitude. One thread at a time may use an engine.

    Args:
        space: "planar2", "planar3", "wgs84" or "vector".
        resolution_m: the spacing of the lattice to which positions are rounded (1 cm).
        origin: metres, subtracted from positions first; not in wgs84.
        dimension: the number of components in a vector space, 1 to 4096.
        metric: the metric of a vector space; docs/vectors.md defines the metrics.
        backend: "cpu", "cuda", or "auto": cuda if its library and the GPU are available, else cpu.
        device: the number of the GPU.
        threads: the number of threads that compute on the CPU; 0: one per core.
        update_threads: the number of threads that take rows.
        objects_max, queries_max, neighbors_max: limits. Memory for them is taken at once.
        object_ttl: an object expires if it is older than this; None: never.
        tombstone_ttl: how long a removal keeps late rows out.

    Raises StarlingError if the library refuses an option, and ValueError for an unknown word.
    """

    _prefix = "engine"
    _has_statuses = True

    def __init__(
        self,
        space: str = "planar2",
        *,
        resolution_m: Optional[float] = None,
        origin: Optional[Sequence[float]] = None,
        dimension: int = 0,
        metric: str = "l2",
        backend: str = "auto",
        device: int = 0,
        threads: int = 0,
        update_threads: Optional[int] = None,
        objects_max: Optional[int] = None,
        queries_max: Optional[int] = None,
        neighbors_max: Optional[int] = None,
        object_ttl: Optional[Duration] = None,
        tombstone_ttl: Optional[Duration] = None,
    ) -> None:
        call = _library.library()
        self._handle = Handle("engine", call.engine_destroy)
        options = _library.EngineOptions()
        check(call.engine_options_init(ctypes.byref(options), options.size))
        options.space = index_of(space, _library.SPACES, "space")
        options.metric = index_of(library_name(metric), _library.METRICS, "metric")
        options.backend = index_of(backend, _library.BACKENDS, "backend")
        if origin is not None:
            options.origin = (ctypes.c_double * 3)(*origin)
        for name, value in (
            ("resolution_m", resolution_m), ("dimension", dimension), ("device", device),
            ("threads", threads), ("update_threads", update_threads),
            ("objects_max", objects_max), ("queries_max", queries_max),
            ("neighbors_max", neighbors_max),
        ):
            if value is not None:
                _library.set_member(options, name, value)
        if object_ttl is not None:
            options.object_ttl_us = _arrays.to_duration_us(object_ttl, "object_ttl", 0)
        if tombstone_ttl is not None:
            options.tombstone_ttl_us = _arrays.to_duration_us(tombstone_ttl, "tombstone_ttl", 0)
        raw = ctypes.c_void_p()
        check(call.engine_create(ctypes.byref(options), ctypes.byref(raw)))
        self._handle.take(raw)
        self._call = call
        self._dimension = int(options.dimension)
        self.space = space
        self.metric = library_name(metric) if space == "vector" else None
        self.names = Names()

    @property
    def backend(self) -> str:
        """Returns "cpu" or "cuda"."""
        return text_of(self._call.engine_name(self._handle.raw))

    def update(
        self,
        ids: npt.ArrayLike,
        positions: npt.ArrayLike,
        times: Any = None,
        tags: Any = None,
        *,
        labels: Any = None,
        values: Any = None,
        time_max: Optional[Time] = None,
    ) -> Batch:
        """Puts positions or vectors for the next tick.

        Args:
            ids: (n,), integers or texts.
            positions: (n, 2) or (n, 3); in a vector space (n, dimension). float32 and float64 that
                are contiguous are not copied.
            times: (n,), or one for all; None: now.
            tags: (n,) or one, 32 bits each; None: tags stay.
            labels: (n,) or one, int64, NO_LABEL for none; None: labels stay; vector spaces only.
            values: (n,) or one, float64, NaN for none; None: values stay; vector spaces only.
            time_max: rows with a later time are rejected; None: any time.

        Returns what became of the rows; a bad row does not stop the others. Raises StarlingError,
        ValueError or TypeError if the call as a whole is wrong.
        """
        rows = make_rows(self.names, self._dimension, ids, positions, times, tags, labels, values)
        latest = _library.FOREVER if time_max is None else _arrays.to_time_us(time_max, "time_max")
        return self._send("update", len(rows), ctypes.byref(rows.struct), latest)

    def put_stream(
        self,
        name: str,
        on: str = "order",
        *,
        with_distance: bool = True,
        with_position: bool = False,
        with_tags: bool = False,
    ) -> None:
        """Adds a stream, or changes what it reports.

        Args:
            name: 1 to 255 bytes.
            on: when a list is reported: "membership": if an object entered or left; "order": also
                if two objects swapped places; "distance": also if a distance changed.
            with_distance, with_position, with_tags: what lists carry besides ids.
        """
        stream = make_stream(name, on, with_distance, with_position, with_tags)
        check(self._call.engine_put_stream(self._handle.raw, ctypes.byref(stream)))

    def remove_stream(self, name: str) -> None:
        """Removes a stream and its queries. The next tick reports the removals."""
        check(self._call.engine_remove_stream(self._handle.raw, to_bytes(name, "name")))

    def put_queries(
        self,
        stream: str,
        ids: npt.ArrayLike,
        k: Any,
        *,
        at: Any = None,
        follow: Any = None,
        every_object: bool = False,
        tags_required: Any = 0,
        tags_forbidden: Any = 0,
        distance_max: Any = np.inf,
        age_max: Any = None,
        subject_required: Any = 0,
        subject_forbidden: Any = 0,
        lease: Any = None,
        vote: bool = False,
        regress: Optional[str] = None,
    ) -> Batch:
        """Adds standing queries to a stream, or replaces the queries with the same ids.

        Args:
            stream: its name.
            ids: (n,), integers or texts, unique within the stream.
            k: (n,) or one, 1 to 1024.
            at: (n, 2 or 3), or in a vector space (n, dimension): the place of each query. Give one
                of at, follow and every_object.
            follow: (n,), the object that each query follows. The query's list excludes it.
            every_object: True: one list for each object.
            tags_required, tags_forbidden: (n,) or one; bits that neighbours must or must not have.
            distance_max: (n,) or one, in metres or by the metric; inclusive, so a distance that was
                reported keeps its object.
            age_max: (n,) or one; neighbours are not older than this.
            subject_required, subject_forbidden: bits of the objects that get a list.
            lease: (n,) or one; how long the query stays; None: until it is removed.
            vote: lists carry the label for which they vote; vector spaces only.
            regress: "uniform" or "distance": lists carry the mean of values; vector spaces only.

        Returns which queries were accepted. Raises StarlingError if a query is malformed.
        """
        queries = make_queries(
            self.names, self._dimension, k, ids=ids, at=at, follow=follow,
            every_object=every_object, tags_required=tags_required, tags_forbidden=tags_forbidden,
            distance_max=distance_max, age_max=age_max, subject_required=subject_required,
            subject_forbidden=subject_forbidden, lease=lease, vote=vote, regress=regress)
        return self._send(
            "put_queries", len(queries), to_bytes(stream, "stream"), queries.address, len(queries))

    def tick(self, tau: Optional[Time] = None) -> Tick:
        """Runs a tick at the time tau (None: now) and returns the lists that changed.

        Raises StarlingError if tau is less than the last tick's, or if the tick failed."""
        raw = ctypes.c_void_p()
        check(self._call.engine_tick(self._handle.raw, _tau_us(tau), ctypes.byref(raw)))
        return make_tick(Result(raw, self.names))

    def begin_tick(self, tau: Optional[Time] = None) -> None:
        """Begins a tick. Rows that are put before finish_tick belong to the next tick."""
        check(self._call.engine_begin_tick(self._handle.raw, _tau_us(tau)))

    def finish_tick(self) -> Tick:
        """Waits for the tick and returns the lists that changed."""
        raw = ctypes.c_void_p()
        check(self._call.engine_finish_tick(self._handle.raw, ctypes.byref(raw)))
        return make_tick(Result(raw, self.names))

    def neighbors(
        self,
        at: Any = None,
        k: Any = 1,
        *,
        follow: Any = None,
        tags_required: Any = 0,
        tags_forbidden: Any = 0,
        distance_max: Any = np.inf,
        age_max: Any = None,
        vote: bool = False,
        regress: Optional[str] = None,
    ) -> Lists:
        """Answers questions from the last finished tick.

        Takes `at` or `follow`, and the filters, vote and regress of put_queries. The result has one
        list for each question, in the order of the questions.

        An object of `follow` is unknown if that tick does not have it: it was never put, was
        removed, or has expired. Raises UnknownObject if `follow` is one id; for an array,
        `is_unknown` of the result has True for the question."""
        questions = make_queries(
            self.names, self._dimension, k, at=at, follow=follow, tags_required=tags_required,
            tags_forbidden=tags_forbidden, distance_max=distance_max, age_max=age_max, vote=vote,
            regress=regress)
        raw = ctypes.c_void_p()
        check(self._call.engine_neighbors(
            self._handle.raw, questions.address, len(questions), ctypes.byref(raw)))
        return make_answers(Result(raw, self.names), follow)

    def close(self) -> None:
        """Ends the engine. Lists that it returned stay valid."""
        self._handle.close()

    def __repr__(self) -> str:
        return f"<Engine: {self.space}>"


def _tau_us(tau: Optional[Time]) -> int:
    return _arrays.now_us() if tau is None else _arrays.to_time_us(tau, "tau")
