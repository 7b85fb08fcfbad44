# SPDX-License-Identifier: Apache-2.0
"""Neighbour lists as compressed rows: read-only arrays over the library's memory, without copies."""

from __future__ import annotations

import ctypes
import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _arrays, _library
from ._names import Id, Ids, Names
from .errors import ErrorCode, UnknownObject, check, text_of

if TYPE_CHECKING:
    import pandas

_SHOWN_LISTS = 10
_SHOWN_NEIGHBORS = 8


class Result:
    """A starling_result. It is destroyed when nothing refers to it or its arrays any more."""

    def __init__(self, handle: ctypes.c_void_p, names: Names) -> None:
        self.names = names
        self._handle = handle
        self._destroy = _library.library().result_destroy

    def __del__(self) -> None:
        self._destroy(self._handle)

    def info(self) -> _library.TickInfo:
        info = _library.TickInfo()
        check(_library.library().result_info(self._handle, ctypes.byref(info)))
        return info

    def lists(self, index: int) -> Lists:
        """Returns the lists of the stream with this index."""
        raw = _library.Lists()
        check(_library.library().result_lists(self._handle, index, ctypes.byref(raw)))
        return Lists(raw, self)


@dataclass(frozen=True, eq=False)
class NeighborList:
    """One list: the neighbours of a query, or of one object of an every-object query.

    Attributes:
        query: the query's id.
        subject: the object whose list this is, or None.
        is_removed: whether the list is gone. It has no neighbours then.
        is_unknown: whether the question follows an object that the tick does not have: it was never
            put, was removed or has expired. The list has no neighbours then.
        ids: uint64 (n,), the objects, nearest first.
        distances: float64 (n,), in metres or by the metric, or None.
        positions: float64 (n, 3), or None.
        tags: uint32 (n,), or None.
        vote: the label that the list votes for, or None.
        mean: the mean of the objects' values; NaN if no object has a value; None if the query asks
            for no mean.
    """

    query: int
    subject: Optional[int]
    is_removed: bool
    is_unknown: bool
    ids: Ids
    distances: Optional[npt.NDArray[np.float64]]
    positions: Optional[npt.NDArray[np.float64]]
    tags: Optional[npt.NDArray[np.uint32]]
    vote: Optional[int]
    mean: Optional[float]
    names: Names = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def texts(self) -> npt.NDArray[np.object_]:
        """Returns the ids as texts, object (n,)."""
        return self.names.texts_of(self.ids)


class Lists:
    """The lists of one stream or of questions.

    `len(lists)` is the number of lists, and iterating yields each as a NeighborList. `lists[query]`
    is the list of a query, by its id or its text, and `lists[query, subject]` is the list of one
    object of an every-object query; both raise KeyError if there is no such list. The "query" of a
    question is its index. List i has the entries offsets[i]:offsets[i + 1].

    There are n lists and m entries. All arrays are read-only. An optional array is None if the
    stream does not report it. If there are no entries, it is an empty array in any case.

    Attributes:
        stream: the name of the stream; "" in answers to questions.
        is_last: whether the stream was removed, and these are its last lists.
        query_ids: uint64 (n,).
        subject_ids: uint64 (n,), 0 where has_subject is False.
        has_subject: bool (n,).
        is_removed: bool (n,), whether the list is gone.
        is_unknown: bool (n,), whether question i follows an object that the tick does not have:
            it was never put, was removed or has expired. Its list is empty.
        offsets: uint64 (n + 1,).
        object_ids: uint64 (m,).
        distances: float64 (m,), in metres or by the metric, or None.
        positions: float64 (m, 3), or None.
        tags: uint32 (m,), or None.
        votes: int64 (n,), NO_LABEL where a list has no vote, or None.
        means: float64 (n,), NaN where a list has no mean, or None.
    """

    def __init__(self, raw: _library.Lists, result: Result) -> None:
        lists, entries = int(raw.list_count), int(raw.entry_count)

        def array(where: Optional[int], shape: tuple[int, ...], kind: Any) -> npt.NDArray[Any]:
            return _arrays.view(where, shape, kind, result)

        def optional(where: Optional[int], shape: tuple[int, ...], kind: Any) -> Any:
            # The library has no address for an array without entries.
            return array(where, shape, kind) if where or shape[0] == 0 else None

        self.names = result.names
        self.stream = text_of(raw.stream)
        self.is_last = bool(raw.is_last)
        self.query_ids: Ids = array(raw.query_ids, (lists,), np.uint64)
        self.subject_ids: Ids = array(raw.subject_ids, (lists,), np.uint64)
        self.has_subject: npt.NDArray[np.bool_] = array(raw.has_subject, (lists,), np.bool_)
        self.is_removed: npt.NDArray[np.bool_] = array(raw.events, (lists,), np.bool_)
        self.is_unknown: npt.NDArray[np.bool_] = (
            array(raw.is_unknown, (lists,), np.bool_) if raw.is_unknown
            else np.zeros(lists, dtype=np.bool_))
        self.offsets: Ids = array(raw.offsets, (lists + 1,), np.uint64)
        self.object_ids: Ids = array(raw.object_ids, (entries,), np.uint64)
        self.distances: Optional[npt.NDArray[np.float64]] = optional(
            raw.distances, (entries,), np.float64)
        self.positions: Optional[npt.NDArray[np.float64]] = optional(
            raw.positions, (entries, 3), np.float64)
        self.tags: Optional[npt.NDArray[np.uint32]] = optional(raw.tags, (entries,), np.uint32)
        self.votes: Optional[npt.NDArray[np.int64]] = optional(raw.votes, (lists,), np.int64)
        self.means: Optional[npt.NDArray[np.float64]] = optional(raw.means, (lists,), np.float64)
        self._places: Optional[Mapping[tuple[int, Optional[int]], int]] = None

    def __len__(self) -> int:
        return len(self.query_ids)

    def __iter__(self) -> Iterator[NeighborList]:
        return (self.at(place) for place in range(len(self)))

    def __getitem__(self, key: Union[Id, tuple[Id, Id]]) -> NeighborList:
        query, subject = key if isinstance(key, tuple) else (key, None)
        number = self.names.id_of(query)
        whose = None if subject is None else self.names.id_of(subject)
        place = self._place_of().get((number, whose))
        if place is None:
            of = "" if subject is None else f" and the subject {subject!r}"
            raise KeyError(f"There is no list of the query {query!r}{of} here.")
        return self.at(place)

    def __contains__(self, key: Union[Id, tuple[Id, Id]]) -> bool:
        try:
            self[key]
        except (KeyError, TypeError, ValueError):
            return False
        return True

    def at(self, place: int) -> NeighborList:
        """Returns the list at a place, 0 to len - 1. Raises IndexError for other places."""
        if not 0 <= place < len(self):
            raise IndexError(f"There are {len(self)} lists, and none at {place}.")
        entries = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        vote = None if self.votes is None else int(self.votes[place])
        return NeighborList(
            query=int(self.query_ids[place]),
            subject=int(self.subject_ids[place]) if self.has_subject[place] else None,
            is_removed=bool(self.is_removed[place]),
            is_unknown=bool(self.is_unknown[place]),
            ids=self.object_ids[entries],
            distances=None if self.distances is None else self.distances[entries],
            positions=None if self.positions is None else self.positions[entries],
            tags=None if self.tags is None else self.tags[entries],
            vote=None if vote == _library.NO_LABEL else vote,
            mean=None if self.means is None else float(self.means[place]),
            names=self.names,
        )

    @property
    def counts(self) -> Ids:
        """Returns the number of neighbours of each list, uint64 (n,)."""
        return np.diff(self.offsets)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a frame with one row for each neighbour, nearest first within each list.

        The columns are query_id, subject_id if a list has one (nullable), rank from 1 (nullable),
        object_id (nullable), object_text if texts were used as ids, and what the stream reports:
        distance, x, y, z (in wgs84 degrees of longitude and latitude, and metres) and tags
        (nullable). An empty list has one row of rank 0, where object_id and all that follows are
        missing. A removed list, or the list of a question about an unknown object, has one row
        where rank is missing, too. Needs pandas."""
        import pandas

        counts = self.counts.astype(np.intp)
        sizes = np.maximum(counts, 1)
        place = np.repeat(np.arange(len(self)), sizes)
        has_object = counts[place] > 0

        def spread(values: npt.NDArray[Any], missing: Any) -> npt.NDArray[Any]:
            column = np.full(len(place), missing, dtype=values.dtype)
            column[has_object] = values
            return column

        def nullable(values: npt.NDArray[Any]) -> Any:
            return pandas.arrays.IntegerArray(spread(values, 0), ~has_object)

        columns: dict[str, Any] = {"query_id": self.query_ids[place]}
        if self.has_subject.any():
            columns["subject_id"] = pandas.arrays.IntegerArray(
                self.subject_ids[place], ~self.has_subject[place])
        ranks = np.arange(len(place)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        columns["rank"] = pandas.arrays.IntegerArray(
            np.where(has_object, ranks, 0), (self.is_removed | self.is_unknown)[place])
        columns["object_id"] = nullable(self.object_ids)
        if len(self.names):
            columns["object_text"] = spread(self.names.texts_of(self.object_ids), None)
        if self.distances is not None:
            columns["distance"] = spread(self.distances, np.nan)
        if self.positions is not None:
            columns.update(zip("xyz", (spread(axis, np.nan) for axis in self.positions.T)))
        if self.tags is not None:
            columns["tags"] = nullable(self.tags)
        return pandas.DataFrame(columns)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Returns capsules of a struct array with one row for each list, without copies of the
        entries: pyarrow.record_batch(lists), polars.DataFrame(lists)."""
        from ._arrow import export_array

        return export_array(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns a capsule of a stream of one batch: pyarrow.table(lists)."""
        from ._arrow import export_stream

        return export_stream(self)

    def __repr__(self) -> str:
        of = f" of {self.stream!r}" if self.stream else ""
        return f"<Lists{of}: {len(self)} lists, {len(self.object_ids)} neighbours>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(self._title(found))}</td>"
            f"<td>{html.escape(self._summary(found))}</td></tr>"
            for found in (self.at(place) for place in range(min(len(self), _SHOWN_LISTS))))
        return (
            f"<table><caption>{html.escape(repr(self)[1:-1])}</caption>"
            f"<tr><th>query</th><th>neighbours, nearest first</th></tr>{rows}</table>")

    def _title(self, found: NeighborList) -> str:
        query = self.names.text_of(found.query)
        return query if found.subject is None else f"{query}, {self.names.text_of(found.subject)}"

    def _summary(self, found: NeighborList) -> str:
        if found.is_removed or found.is_unknown:
            return "removed" if found.is_removed else "unknown object"
        texts = [self.names.text_of(number) for number in found.ids[:_SHOWN_NEIGHBORS].tolist()]
        if found.distances is not None:
            texts = [f"{text} ({distance:.6g})" for text, distance in zip(texts, found.distances)]
        return ", ".join(texts) + (" …" if len(found) > _SHOWN_NEIGHBORS else "")

    def _place_of(self) -> Mapping[tuple[int, Optional[int]], int]:
        """Returns the place of each list by query and subject."""
        if self._places is None:
            subjects = [
                subject if has else None
                for subject, has in zip(self.subject_ids.tolist(), self.has_subject.tolist())]
            self._places = {
                key: place for place, key in enumerate(zip(self.query_ids.tolist(), subjects))}
        return self._places


def make_answers(result: Result, follow: Any) -> Lists:
    """Returns the lists of questions. Raises UnknownObject if `follow` is a single id and the tick
    does not have its object."""
    lists = result.lists(0)
    if follow is not None and np.ndim(follow) == 0 and lists.is_unknown.any():
        tick = int(result.info().tick)
        raise UnknownObject(
            ErrorCode.REFUSED,
            f"Tick {tick} has no object {follow!r}: it was never put, was removed or has expired. "
            "Check the id; an object that was just put is there from the next tick on."
            if tick else "No tick has finished yet, so there is no object; ask after the next one.",
            "unknown_object")
    return lists


@dataclass(frozen=True)
class Tick:
    """The result of a tick.

    Attributes:
        tick: its number.
        tau_us: its time in microseconds.
        object_count: how many objects there are.
        streams: the changed lists of each stream, by its name.
        build_ms, search_ms, diff_ms: how long the stages took.
        warning: says which limit removed queries; "" if no query was removed.
        epoch: the epoch of the server; 0 from an Engine.
    """

    tick: int
    tau_us: int
    object_count: int
    streams: Mapping[str, Lists]
    build_ms: float
    search_ms: float
    diff_ms: float
    warning: str
    epoch: int

    @property
    def time(self) -> np.datetime64:
        """Returns tau as a datetime64 in microseconds."""
        return np.datetime64(self.tau_us, "us")


def make_tick(result: Optional[Result], info: Optional[_library.TickInfo] = None) -> Tick:
    """Returns a Tick. If `info` is None, the info of the result is used."""
    if info is None:
        assert result is not None
        info = result.info()
    each = [] if result is None else [result.lists(i) for i in range(int(info.stream_count))]
    return Tick(
        tick=int(info.tick),
        tau_us=int(info.tau_us),
        object_count=int(info.object_count),
        streams={lists.stream: lists for lists in each},
        build_ms=float(info.build_ms),
        search_ms=float(info.search_ms),
        diff_ms=float(info.diff_ms),
        warning=text_of(info.warning),
        epoch=int(info.epoch),
    )


@dataclass(frozen=True, eq=False)
class Batch:
    """The outcome of a batch of rows. Rows are independent of each other.

    Attributes:
        accepted, late, rejected: how many. A late row is older than what is stored.
        statuses: uint8 (rows,), 0 for accepted, from an Engine; None from a Client.
    """

    accepted: int
    late: int
    rejected: int
    statuses: Optional[npt.NDArray[np.uint8]] = None

    def reasons(self) -> dict[str, int]:
        """Returns why rows were not accepted, and how many for each reason; {} from a Client."""
        if self.statuses is None:
            return {}
        codes, counts = np.unique(self.statuses[self.statuses != 0], return_counts=True)
        say = _library.library().row_status_text
        return {text_of(say(int(code))): int(count) for code, count in zip(codes, counts)}


def make_batch(
    counts: _library.Counts, statuses: Optional[npt.NDArray[np.uint8]] = None
) -> Batch:
    return Batch(int(counts.accepted), int(counts.late), int(counts.rejected), statuses)
