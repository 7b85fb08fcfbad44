# SPDX-License-Identifier: Apache-2.0
"""Turns the arguments of put_queries and neighbors into an array of starling_query."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _arrays, _library
from ._names import Names
from ._rows import index_of

_FIELDS: dict[Any, Any] = {
    ctypes.c_size_t: np.uintp, ctypes.c_uint64: np.uint64, ctypes.c_uint32: np.uint32,
    ctypes.c_int32: np.int32, ctypes.c_int64: np.int64, ctypes.c_double: np.float64,
    ctypes.c_void_p: np.uintp, ctypes.c_double * 3: (np.float64, 3),
}
QUERY = np.dtype({
    "names": [field[0] for field in _library.Query._fields_],
    "formats": [_FIELDS[field[1]] for field in _library.Query._fields_],
    "offsets": [getattr(_library.Query, field[0]).offset for field in _library.Query._fields_],
    "itemsize": ctypes.sizeof(_library.Query),
})


class Queries:
    """An array of starling_query and the vectors that it points to."""

    def __init__(self, rows: npt.NDArray[Any], vectors: Optional[npt.NDArray[np.float32]]) -> None:
        self.rows = rows
        self.vectors = vectors

    @property
    def address(self) -> int:
        return self.rows.ctypes.data

    def __len__(self) -> int:
        return len(self.rows)


def make_queries(
    names: Names,
    dimension: int,
    k: Any,
    *,
    ids: Any = None,
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
) -> Queries:
    """Returns the queries. `dimension` is 0 in a space of positions."""
    if (at is not None) + (follow is not None) + bool(every_object) != 1:
        raise ValueError("Give one of at, follow and every_object.")
    numbers = None if ids is None else names.ids_of(ids)
    places = None if at is None else _to_places(at, dimension)
    leaders = None if follow is None else names.ids_of(follow, "follow")
    count = _count_of(numbers, places, leaders)
    rows = np.zeros(count, dtype=QUERY)
    rows["size"] = QUERY.itemsize
    rows["k"] = _arrays.to_integers(k, np.uint32, count, "k")
    if numbers is not None:
        rows["id"] = numbers
    vectors = None
    if leaders is not None:
        rows["anchor"], rows["object"] = 1, leaders
    elif places is None:
        rows["anchor"] = 2
    elif dimension:
        vectors = places.astype(np.float32, copy=False)
        rows["vector"] = vectors.ctypes.data + np.arange(count) * vectors.strides[0]
    else:
        rows["position"][:, : places.shape[1]] = places
    for name, bits in (("tags_required", tags_required), ("tags_forbidden", tags_forbidden),
                       ("subject_required", subject_required),
                       ("subject_forbidden", subject_forbidden)):
        rows[name] = _arrays.to_integers(bits, np.uint32, count, name)
    rows["distance_max"] = _arrays.to_floats(distance_max, count, "distance_max")
    rows["age_max_us"] = _arrays.to_durations_us(age_max, count, "age_max", _library.FOREVER)
    rows["lease_us"] = _arrays.to_durations_us(lease, count, "lease", 0)
    rows["vote"] = bool(vote)
    rows["regress"] = 0 if regress is None else index_of(regress, _library.WEIGHTS, "regress")
    return Queries(rows, vectors)


def _to_places(at: Any, dimension: int) -> npt.NDArray[Any]:
    if np.ndim(at) == 1:
        at = _arrays.as_array(at)[np.newaxis]
    if dimension:
        return _arrays.to_float32(_arrays.to_vectors(at, "at", dimension))
    places = _arrays.to_reals(at, "at", 2)
    if places.shape[1] not in (2, 3):
        raise ValueError(f"at has {places.shape[1]} columns; a position has 2 or 3.")
    return places


def _count_of(
    numbers: Optional[npt.NDArray[Any]],
    places: Optional[npt.NDArray[Any]],
    leaders: Optional[npt.NDArray[Any]],
) -> int:
    anchors = places if places is not None else leaders
    if numbers is None:
        return 1 if anchors is None else len(anchors)
    if anchors is not None and len(anchors) != len(numbers):
        raise ValueError(f"There are {len(numbers)} ids and {len(anchors)} places.")
    return len(numbers)
