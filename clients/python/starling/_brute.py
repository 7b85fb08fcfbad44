# SPDX-License-Identifier: Apache-2.0
"""Exact nearest rows in float64 for what the library does not answer: all distances of a block of
queries, and a selection. Equal distances are in the order of rows, as everywhere in Starling."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from ._distances import Floats, blocks_of, distances
from ._metrics import Metric

Rows = npt.NDArray[np.int64]


class Nearest(NamedTuple):
    """The k nearest rows of each query, nearest first: float64 and int64 (m, k)."""

    distances: Floats
    indices: Rows


def nearest(
    metric: Metric, queries: Any, points: Any, k: int, first_row: Optional[int] = None
) -> Nearest:
    """Returns the k nearest points of each query. Query i is point first_row + i, and not its own
    neighbour, if first_row is not None."""
    count = queries.shape[0]
    found = Nearest(np.empty((count, k)), np.empty((count, k), dtype=np.int64))
    for block in blocks_of(count, points.shape[0]):
        part = distances(metric, queries[block], points)
        own = None if first_row is None else first_row + block.start + np.arange(len(part))
        found.distances[block], found.indices[block] = select(part, k, own)
    return found


def select(all_distances: Floats, k: int, own: Optional[Rows] = None) -> Nearest:
    """Returns the k least distances of each row and their columns, of equal ones the lower columns.
    Column own[i] is left out of row i. A distance that is not a number is the largest."""
    count, width = all_distances.shape
    keys = np.where(np.isnan(all_distances), np.inf, all_distances)
    every = np.arange(count)
    if own is not None:
        keys[every, own] = np.inf
    last = np.partition(keys, k - 1, axis=1)[:, k - 1:k]
    is_in = keys < last
    is_last = keys == last
    if own is not None:
        is_last[every, own] = False
    wanted = k - is_in.sum(axis=1, keepdims=True)
    is_in |= is_last & (np.cumsum(is_last, axis=1) <= wanted)
    columns = np.nonzero(is_in)[1].reshape(count, k)
    order = np.argsort(np.take_along_axis(keys, columns, axis=1), axis=1, kind="stable")
    columns = np.take_along_axis(columns, order, axis=1)
    return Nearest(np.take_along_axis(all_distances, columns, axis=1), columns)
