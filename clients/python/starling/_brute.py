# SPDX-License-Identifier: Apache-2.0
"""Finds exact nearest rows in float64, for what the library does not answer. Computes all distances
of a block of queries and selects the least. Equal distances are in the order of rows, as everywhere
in Starling."""

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
    """Returns the k nearest points of each query. If first_row is not None, query i is point
    first_row + i, and is not its own neighbour."""
    count = queries.shape[0]
    found = Nearest(np.empty((count, k)), np.empty((count, k), dtype=np.int64))
    for block in blocks_of(count, points.shape[0]):
        part = distances(metric, queries[block], points)
        own = None if first_row is None else first_row + block.start + np.arange(len(part))
        found.distances[block], found.indices[block] = select(part, k, own)
    return found


def select(all_distances: Floats, k: int, own: Optional[Rows] = None) -> Nearest:
    """Returns the k least distances of each row and their columns. Among equal distances, the lower
    columns come first. Row i leaves out column own[i]. NaN counts as the largest distance."""
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
