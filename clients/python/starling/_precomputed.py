# SPDX-License-Identifier: Apache-2.0
"""Neighbours from distances that the caller has computed (metric="precomputed"): a dense matrix, or
a sparse graph whose missing entries are no neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _brute
from ._brute import Nearest
from ._distances import blocks_of
from ._radius import keep_entries, sort_lists, starts_of
from ._results import RadiusLists

_FORMATS = ("csr", "csc", "coo", "lil")  # other formats drop entries of 0


def check_format(graph: Any) -> None:
    """Raises TypeError for a sparse format that does not keep entries of 0."""
    if graph.format not in _FORMATS:
        raise TypeError(
            f"Sparse matrix in {graph.format!r} format is not supported due to its handling of "
            f"explicit zeros; use one of {', '.join(_FORMATS)}.")


def check_distances(values: Any) -> None:
    """Raises ValueError for a negative distance."""
    if values.size and values.min() < 0:
        raise ValueError("Negative values in data passed to precomputed distance matrix.")


def nearest(matrix: Any, k: int, is_graph: bool, skips_own: bool) -> Nearest:
    """Returns the k least distances of each row of a matrix (m, n) and their columns.

    Args:
        is_graph: whether the matrix is sparse.
        skips_own: whether row i leaves out column i.
    """
    if is_graph:
        return _nearest_of_graph(matrix, k, skips_own)
    count, width = matrix.shape
    found = Nearest(np.empty((count, k)), np.empty((count, k), dtype=np.int64))
    for block in blocks_of(count, width):
        part = matrix[block].astype(np.float64)
        own = block.start + np.arange(len(part)) if skips_own else None
        found.distances[block], found.indices[block] = _brute.select(part, k, own)
    return found


def _nearest_of_graph(graph: Any, k: int, skips_own: bool) -> Nearest:
    counts = np.diff(graph.indptr)
    wanted = k + skips_own
    if counts.size and counts.min() < wanted:
        raise ValueError(
            f"{wanted} neighbors per samples are required, but some samples have only "
            f"{counts.min()} neighbors in precomputed graph matrix. Use fewer neighbours, or "
            "compute a graph with more of them.")
    lists = _lists_of(graph, skips_own)
    places = lists.offsets[:-1, np.newaxis] + np.arange(k)
    return Nearest(lists.distances[places], lists.indices[places])


def within(matrix: Any, radius: float, is_graph: bool, skips_own: bool) -> RadiusLists:
    """Returns the distances of each row that are at most the radius. The entries of a dense matrix
    are in the order of columns, those of a graph nearest first."""
    if is_graph:
        lists = _lists_of(matrix, skips_own)
        return keep_entries(lists, lists.distances <= radius)
    is_near = matrix <= radius
    if skips_own:
        np.fill_diagonal(is_near, False)
    return RadiusLists(
        starts_of(is_near.sum(axis=1)), np.nonzero(is_near)[1], matrix[is_near].astype(np.float64))


def _lists_of(graph: Any, skips_own: bool) -> RadiusLists:
    lists = RadiusLists(
        graph.indptr.astype(np.int64), graph.indices.astype(np.int64),
        graph.data.astype(np.float64))
    if skips_own:
        lists = keep_entries(lists, lists.indices != lists.owners)
    return sort_lists(lists)
