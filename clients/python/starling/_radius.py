# SPDX-License-Identifier: Apache-2.0
"""All rows within a radius. `within` is the only search by radius of the package: the estimators
call it, and a search of the library can take its place."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import numpy as np
import numpy.typing as npt

from ._distances import Floats, blocks_of, distances
from ._metrics import Metric

Rows = npt.NDArray[np.int64]


class RadiusLists(NamedTuple):
    """Lists as compressed rows: list i has the entries offsets[i] to offsets[i + 1].

    Attributes:
        offsets: int64 (m + 1,).
        indices: int64, the rows of points.
        distances: float64.
    """

    offsets: Rows
    indices: Rows
    distances: Floats

    @property
    def owners(self) -> Rows:
        """Returns the list of each entry."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def within(
    queries: Any, points: Any, radius: float, metric: Metric, first_row: Optional[int] = None
) -> RadiusLists:
    """Returns the points whose distance to a query is at most the radius, in the order of rows.
    Query i is point first_row + i, and not its own neighbour, if first_row is not None."""
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
        return RadiusLists(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))
    counts = np.bincount(np.concatenate(owners), minlength=queries.shape[0])
    return RadiusLists(starts_of(counts), np.concatenate(indices), np.concatenate(found))


def starts_of(counts: npt.NDArray[Any]) -> Rows:
    """Returns where each of consecutive parts of these sizes starts, and the end of the last."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def sort_lists(lists: RadiusLists) -> RadiusLists:
    """Returns the lists nearest first, equal distances in the order of rows."""
    order = np.lexsort((lists.indices, lists.distances, lists.owners))
    return RadiusLists(lists.offsets, lists.indices[order], lists.distances[order])


def keep_entries(lists: RadiusLists, is_kept: npt.NDArray[np.bool_]) -> RadiusLists:
    """Returns the lists with some of their entries."""
    before = starts_of(is_kept)
    return RadiusLists(before[lists.offsets], lists.indices[is_kept], lists.distances[is_kept])


def join(parts: Sequence[RadiusLists]) -> RadiusLists:
    """Returns all lists of several blocks of queries, in their order."""
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return RadiusLists(
        starts_of(counts), np.concatenate([part.indices for part in parts]),
        np.concatenate([part.distances for part in parts]))
