# SPDX-License-Identifier: Apache-2.0
"""Distances in float64 between blocks of rows, for what the library does not answer: metrics that
it does not have, more neighbours or components than it takes, and radii.

Rows are not rounded to float32. The metrics of docs/vectors.md follow its definitions, but a
cosine distance to a row of zeros is 1, as in scikit-learn."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Iterator, Optional

import numpy as np
import numpy.typing as npt

from ._metrics import Metric

Floats = npt.NDArray[np.float64]

_PAIR_BYTES = 1 << 19  # bytes of the rows of pairs at a time; fits in the second-level cache
_BLOCK_BYTES = 4 << 20  # bytes of distances at a time; larger blocks leave the cache
_EXPONENT_MAX = 900  # greatest exponent of a p-th power of two; float64 ends at 1023
_LEAST = 2.0**-126  # a smaller component counts as this in a logarithm (docs/vectors.md)


def blocks_of(query_count: int, point_count: int) -> Iterator[slice]:
    """Yields slices of queries whose distances to all points take a few MiB."""
    size = max(1, _BLOCK_BYTES // (8 * max(point_count, 1)))
    return (slice(first, first + size) for first in range(0, query_count, size))


def distances(metric: Metric, queries: Any, points: Any) -> Floats:
    """Returns the distances of all queries to all points, float64 (m, n).

    Args:
        queries, points: dense rows. Rows of scipy.sparse are allowed if the metric is a function.
    """
    if metric.function is not None:
        return _by_function(metric, queries, points)
    if metric.p is not None:
        found = _minkowski(queries, points, metric.p, metric.parameters.get("w"), metric.is_squared)
    elif metric.name == "haversine":
        found = _haversine(queries, points)
    elif metric.name in ("braycurtis", "canberra"):
        found = _by_size(queries, points, metric.name == "canberra")
    elif metric.name == "nan_euclidean":
        found = _nan_euclidean(queries, points)
    elif metric.engine is not None:
        found = _of_library(metric.engine, queries, points)
    else:
        found = _by_peers(metric, queries, points)
    return found


def distances_of_pairs(
    metric: Metric, queries: Any, points: Any, owners: Any, indices: Any, threads: int
) -> Floats:
    """Returns the distances of queries[owners] to points[indices], float64.

    Args:
        metric: l2 or its square, l1, chebyshev or cosine.
        queries, points: for cosine, what `prepared` returns.
    """
    found = np.empty(len(owners))

    def fill(block: slice) -> None:
        apart = queries[owners[block]].astype(np.float64)
        apart -= points[indices[block]]
        if metric.p == 1:
            np.abs(apart, out=apart).sum(axis=1, out=found[block])
        elif metric.p == np.inf:
            np.abs(apart, out=apart).max(axis=1, out=found[block], initial=0)
        else:
            np.einsum("ij,ij->i", apart, apart, out=found[block])

    size = max(1, _PAIR_BYTES // (8 * points.shape[1]))
    with ThreadPoolExecutor(threads) as pool:  # NumPy lets other threads run
        list(pool.map(fill, (slice(i, i + size) for i in range(0, len(owners), size))))
    if metric.engine == "cosine":
        found /= 2
    elif metric.p == 2 and not metric.is_squared:
        np.sqrt(found, out=found)
    return found


def _columns(queries: Any, points: Any) -> Iterator[tuple[Floats, Floats]]:
    """Yields each component of all rows: (m, 1) and (n,)."""
    for j in range(points.shape[1]):
        yield queries[:, j, np.newaxis].astype(np.float64), points[:, j].astype(np.float64)


def _minkowski(
    queries: Any, points: Any, p: float, weights: Optional[Floats], is_squared: bool
) -> Floats:
    if weights is not None and len(weights) != points.shape[1]:
        raise ValueError(
            f"metric_params['w'] has {len(weights)} weights, but rows have {points.shape[1]} "
            "components.")
    total = np.zeros((len(queries), len(points)))
    is_power = p not in (1, 2, np.inf)
    scale = _scale(queries, points, p) if is_power else None
    for j, (x, y) in enumerate(_columns(queries, points)):
        if weights is not None and weights[j] == 0:
            continue
        apart = np.subtract(x, y)
        if p == 2:
            apart *= apart
        else:
            np.abs(apart, out=apart)
        if is_power:
            if scale is not None:
                apart /= scale
            apart **= p
        if p == np.inf:  # weights drop out: their p-th roots go to 1
            np.maximum(total, apart, out=total)
            continue
        if weights is not None:
            apart *= weights[j]
        total += apart
    if p == 2 and not is_squared:
        return np.sqrt(total, out=total)
    if is_power:
        total **= 1 / p
        if scale is not None:
            total *= scale
    return total


def _scale(queries: Any, points: Any, p: float) -> Optional[Floats]:
    """Returns a power of two for each pair, such that p-th powers neither overflow nor vanish; None
    if all are 1. A power of two keeps the digits, so equal distances stay equal."""
    largest = _minkowski(queries, points, np.inf, None, False)
    exponents = np.frexp(largest)[1]
    is_extreme = (np.abs(exponents) * p > _EXPONENT_MAX) & (largest > 0)
    if not is_extreme.any():
        return None
    return np.ldexp(1.0, np.where(is_extreme, exponents, 0))


def _haversine(queries: Any, points: Any) -> Floats:
    if points.shape[1] != 2:
        raise ValueError(
            "Haversine distance only valid in 2 dimensions: latitude and longitude in radians.")
    (latitude, other_latitude), (longitude, other_longitude) = _columns(queries, points)
    half_chord_sq = np.sin((latitude - other_latitude) / 2) ** 2 + (
        np.cos(latitude) * np.cos(other_latitude)
        * np.sin((longitude - other_longitude) / 2) ** 2)
    angles: Floats = 2 * np.arcsin(np.sqrt(np.minimum(half_chord_sq, 1)))
    return angles


def _by_size(queries: Any, points: Any, each: bool) -> Floats:
    """Returns sum |x - y| / sum (|x| + |y|), or with `each` the sum of |x - y| / (|x| + |y|). 0 / 0
    is 0. SciPy's Bray-Curtis distance divides by |x + y|, which differs for negative components.
    scikit-learn's searches divide by |x| + |y|."""
    total = np.zeros((len(queries), len(points)))
    sizes = np.zeros_like(total)
    for x, y in _columns(queries, points):
        apart, size = np.abs(x - y), np.abs(x) + np.abs(y)
        if each:
            total += np.divide(apart, size, out=np.zeros_like(total), where=size > 0)
        else:
            total += apart
            sizes += size
    return total if each else np.divide(total, sizes, out=np.zeros_like(total), where=sizes > 0)


def _nan_euclidean(queries: Any, points: Any) -> Floats:
    """Returns distances over the components that both rows have, scaled up to all components; NaN
    if the rows share no component."""
    total = np.zeros((len(queries), len(points)))
    shared = np.zeros_like(total)
    for x, y in _columns(queries, points):
        apart = x - y
        is_shared = ~np.isnan(apart)
        shared += is_shared
        total += np.where(is_shared, apart * apart, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: Floats = np.sqrt(total * (points.shape[1] / shared))
    scaled[shared == 0] = np.nan
    return scaled


def _of_library(metric: str, queries: Any, points: Any) -> Floats:
    """Returns distances by the definitions of docs/vectors.md."""
    x, y = prepared(metric, queries), prepared(metric, points)
    total = np.zeros((len(x), len(y)))
    for a, b in _columns(x, y):
        if metric == "inner-product":
            total -= a * b
        elif metric == "kullback-leibler":
            total += _divergence(a, b)
        elif metric == "jensen-shannon":
            middle = (a + b) / 2
            total += _divergence(a, middle) + _divergence(b, middle)
        else:
            total += (a - b) ** 2
    if metric in ("cosine", "pearson"):
        total /= 2
        if metric == "cosine":
            total[~x.any(axis=1)] = 1
            total[:, ~y.any(axis=1)] = 1
    elif metric in ("hellinger", "jensen-shannon"):
        total = np.sqrt(np.maximum(total, 0) / 2)
    return total


def prepared(metric: str, rows: Any) -> Floats:
    """Returns the rows as docs/vectors.md prepares them for the library's metric, in float64."""
    wide: Floats = rows.astype(np.float64)
    if metric in ("hellinger", "jensen-shannon", "kullback-leibler") and (wide < 0).any():
        raise ValueError(f"metric {metric!r} does not take negative components.")
    if metric == "hellinger":
        return np.sqrt(wide)
    if metric in ("jensen-shannon", "kullback-leibler"):
        return _divided(wide, wide.sum(axis=1, keepdims=True))
    if metric == "pearson":
        is_flat = (wide == wide[:, :1]).all(axis=1)
        wide -= wide.mean(axis=1, keepdims=True)
        wide[is_flat] = 0
    if metric in ("cosine", "pearson"):
        wide = _divided(wide, np.abs(wide).max(axis=1, keepdims=True))  # no square overflows
        wide = _divided(wide, np.sqrt((wide * wide).sum(axis=1, keepdims=True)))
    return wide


def _divided(rows: Floats, by: Floats) -> Floats:
    return np.divide(rows, by, out=np.zeros_like(rows), where=by != 0)


def _divergence(x: Floats, y: Floats) -> Floats:
    logarithm = np.log(np.maximum(x, _LEAST) / np.maximum(y, _LEAST))
    part: Floats = np.where(x > 0, x * logarithm, 0) - x + y
    return part


def _by_function(metric: Metric, queries: Any, points: Any) -> Floats:
    assert metric.function is not None
    # If the points are a sparse matrix, each of these rows is one, too.
    others = [points[j] for j in range(points.shape[0])]
    found = np.empty((queries.shape[0], len(others)))
    for i in range(queries.shape[0]):
        row = queries[i]
        for j, other in enumerate(others):
            found[i, j] = metric.function(row, other, **metric.parameters)
    return found


def _by_peers(metric: Metric, queries: Any, points: Any) -> Floats:
    try:
        from sklearn.metrics import pairwise_distances
    except ImportError:
        return _by_scipy(metric, queries, points)
    found = pairwise_distances(
        queries.astype(np.float64), points.astype(np.float64), metric=metric.name,
        **metric.parameters)
    return np.asarray(found, dtype=np.float64)


def _by_scipy(metric: Metric, queries: Any, points: Any) -> Floats:
    try:
        from scipy.spatial.distance import cdist
    except ImportError as error:
        raise ImportError(
            f"metric {metric.name!r} needs SciPy or scikit-learn; install one of them.") from error
    return np.asarray(cdist(queries, points, metric.name, **metric.parameters), dtype=np.float64)
