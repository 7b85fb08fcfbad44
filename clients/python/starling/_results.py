# SPDX-License-Identifier: Apache-2.0
"""The results of searches: distances and row numbers under their names."""

from __future__ import annotations

import warnings
from typing import Any, Iterator, NamedTuple, Tuple, cast

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float64]


class Neighbors(NamedTuple):
    """Neighbours that an estimator has found.

    Attributes:
        distances: float64 (m, k); by radius an array of m arrays.
        indices: rows, int64 (m, k); by radius an array of m arrays.
    """

    distances: npt.NDArray[Any]
    indices: npt.NDArray[Any]


class RadiusLists(NamedTuple):
    """Lists of any length as compressed rows. The rows of list i are
    indices[offsets[i]:offsets[i + 1]], and its distances are at the same places.

    Attributes:
        offsets: int64 (m + 1,).
        indices: int64, the rows of points.
        distances: float64.
    """

    offsets: Rows
    indices: Rows
    distances: Distances

    @property
    def owners(self) -> Rows:
        """Returns the query of each entry, as int64."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class SearchResult(Tuple[Rows, Distances]):
    """Neighbours that `knn` or an Index has found.

    Use the names. As a tuple it is (indices, distances) today, and will be (distances, indices) in
    a later version, as everywhere else. Unpacking it, or taking a part by its place, warns.

    Attributes:
        distances: float64 (m, k), nearest first; infinity where a neighbour is missing.
        indices: rows of the points, int64 (m, k); -1 where a neighbour is missing.
    """

    __slots__ = ()

    def __new__(cls, indices: Rows, distances: Distances) -> SearchResult:
        pair: Any = (indices, distances)
        return super().__new__(cls, pair)

    @property
    def indices(self) -> Rows:
        """Returns the row numbers of the points, nearest first."""
        indices: Any = super().__getitem__(0)
        return cast(Rows, indices)

    @property
    def distances(self) -> Distances:
        """Returns the distances, nearest first."""
        distances: Any = super().__getitem__(1)
        return cast(Distances, distances)

    def __iter__(self) -> Iterator[Any]:
        _warn_of_order()
        return super().__iter__()

    def __getitem__(self, place: Any) -> Any:
        _warn_of_order()
        return super().__getitem__(place)

    def __reduce__(self) -> Any:
        return SearchResult, (self.indices, self.distances)

    def __repr__(self) -> str:
        return f"SearchResult(indices={self.indices!r}, distances={self.distances!r})"


def _warn_of_order() -> None:
    warnings.warn(
        "The result of knn and of Index.search is (indices, distances) today, and will be "
        "(distances, indices) in a later version. Use .distances and .indices.", FutureWarning,
        stacklevel=3)
