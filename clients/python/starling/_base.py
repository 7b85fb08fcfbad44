# SPDX-License-Identifier: Apache-2.0
"""What the estimators share: the fitted rows, searches for the k nearest, and searches by radius.

The library answers if it has the metric. _brute.py and _radius.py compute the rest in float64, and
_precomputed.py takes distances that the caller has computed."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _arrays, _brute, _precomputed, _radius
from ._distances import Floats
from ._estimator import BaseEstimator, check_fitted, check_rows, is_sparse, threads_of, to_dense
from ._metrics import Metric, choose
from ._radius import RadiusFilter
from ._results import Neighbors, RadiusLists, Rows
from .vectors import DIMENSION_MAX, K_MAX, Index

Array = npt.NDArray[Any]

_BLOCK_BYTES = 64 << 20  # bytes of sparse queries that are made dense at a time


class NeighborsBase(BaseEstimator):
    """The base of all estimators. Attributes after `fit`: n_samples_fit_, n_features_in_,
    effective_metric_, effective_metric_params_."""

    algorithm: str
    leaf_size: int
    metric: Union[str, Callable[..., float]]
    p: Optional[float]
    metric_params: Optional[Mapping[str, Any]]
    n_jobs: Optional[int]
    backend: str

    def _fit_rows(self, X: Any) -> None:
        metric = choose(self.metric, self.p, self.metric_params, self.algorithm)
        if metric.name == "precomputed":
            rows = self._check_precomputed(X, fitting=True)
            if rows.shape[0] != rows.shape[1]:
                raise ValueError(
                    f"A precomputed matrix must be square, but the shape of X is {rows.shape}.")
        else:
            rows = self._check(_rows_of(X), metric, fitting=True)
        if is_sparse(rows) and metric.function is None and metric.name != "precomputed":
            rows = to_dense(rows, "X")
        if rows is X or is_sparse(rows) or rows.base is not None:
            # The caller may change X after fit.
            rows = rows.copy() if is_sparse(rows) else _arrays.to_copy(rows)
        self._metric = metric
        self._fit_X = rows
        self._index: Optional[Index] = None
        self._radius_filter: Optional[RadiusFilter] = None
        # These attributes are named as in scikit-learn.
        self.effective_metric_ = self.metric if callable(self.metric) else metric.name
        self.effective_metric_params_ = dict(metric.parameters)
        if metric.name == "minkowski":
            self.effective_metric_params_["p"] = metric.p
        self.n_samples_fit_ = rows.shape[0]
        self._fit_method = "brute"
        # The cosine distance to a row of zeros is 1/2 in the library, and 1 in scikit-learn.
        self._has_zero_row = metric.engine == "cosine" and not _all_have_direction(rows)
        if self._takes_library(rows, 1):
            self._search_index(warns=True)  # refuses rows that the metric does not allow

    def _check(self, X: Any, metric: Metric, fitting: bool) -> Any:
        rows = check_rows(
            self, X, fitting, fits_float32=metric.engine is not None,
            allows_nan=metric.name == "nan_euclidean")
        if is_sparse(rows) and not metric.takes_sparse:
            raise ValueError(
                f"Metric {metric.name!r} not valid for sparse input. Pass a dense array, such as "
                "X.toarray().")
        return rows

    def _check_precomputed(self, X: Any, fitting: bool) -> Any:
        if is_sparse(X):
            _precomputed.check_format(X)
        matrix = check_rows(self, X, fitting, fits_float32=False)
        _precomputed.check_distances(matrix.data if is_sparse(matrix) else matrix)
        return matrix

    def _takes_library(self, queries: Any, k: int) -> bool:
        """Whether the library answers these queries."""
        if self._metric.engine is None or k > K_MAX or queries.shape[1] > DIMENSION_MAX:
            return False
        if self._metric.engine != "cosine":
            return True
        return not self._has_zero_row and _all_have_direction(queries)

    def _search_index(self, warns: bool = False) -> Index:
        if self._index is None:
            index = Index._made(
                self._fit_X, self._metric.engine or "l2", self.backend, 0,
                threads_of(self.n_jobs), warns)
            if RadiusFilter.takes(self._metric):
                self._radius_filter = RadiusFilter(self._metric, self._fit_X, index)
            self._index = index  # set last, because Ctrl-C may raise in any line above
        return self._index

    def _candidates(self, queries: Any) -> Optional[RadiusFilter]:
        """Returns the filter that finds candidates for a search by radius; None if the library
        cannot find them."""
        if not self._takes_library(queries, 1):
            return None
        self._search_index()
        return getattr(self, "_radius_filter", None)  # a pickle of an older version lacks it

    def _blocks(self, X: Any) -> Iterator[tuple[Any, Optional[int]]]:
        """Yields blocks of queries, each with the row number of its first query or None. If X is
        None, yields the fitted rows and 0. Otherwise yields dense blocks of X and None. If the
        metric is a function, all rows are one block, and stay sparse if they are sparse."""
        if X is None:
            yield self._fit_X, 0
            return
        rows = self._check(X, self._metric, fitting=False)
        if not is_sparse(rows) or self._metric.function is not None:
            if is_sparse(rows) != is_sparse(self._fit_X) and self._metric.function is not None:
                kinds = "dense", "sparse"
                raise ValueError(
                    f"The queries are {kinds[is_sparse(rows)]} and the fitted rows are "
                    f"{kinds[not is_sparse(rows)]}; a function of two rows needs the same kind.")
            yield rows, None
            return
        size = max(1, _BLOCK_BYTES // (rows.shape[1] * rows.dtype.itemsize))
        for first in range(0, rows.shape[0], size):
            yield rows[first:first + size].toarray(), None

    def __getstate__(self) -> dict[str, Any]:
        # The index is memory of the library and cannot be pickled. It is made again from the rows.
        state = super().__getstate__()
        return {**state, "_index": None, "_radius_filter": None} if "_index" in state else state

    def _more_tags(self) -> dict[str, Any]:  # before scikit-learn 1.6
        return {"pairwise": self.metric == "precomputed",
                "allow_nan": self.metric == "nan_euclidean",
                "multioutput": hasattr(self, "predict")}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = hasattr(self, "predict")
        return tags


class KNeighbors(NeighborsBase):
    """Searches for the k nearest rows."""

    n_neighbors: int

    def kneighbors(
        self, X: Any = None, n_neighbors: Optional[int] = None, return_distance: bool = True
    ) -> Any:
        """Finds the nearest fitted rows of each row of X, nearest first.

        Args:
            X: (m, n_features); None: the fitted rows, and no row is its own neighbour. With
                metric="precomputed" the distances to the fitted rows, (m, n_samples_fit_).
            n_neighbors: None: the constructor's. At most n_samples_fit_, or one less if X is None.
            return_distance: whether to return distances too.

        Returns Neighbors: distances, float64 (m, n_neighbors), and indices of rows, int64
        (m, n_neighbors); or the indices alone.
        """
        check_fitted(self)
        k = self._count_of(n_neighbors, self.n_samples_fit_ - (X is None))
        if self._metric.name == "precomputed":
            matrix = self._fit_X if X is None else self._check_precomputed(X, fitting=False)
            found = Neighbors(*_precomputed.nearest(matrix, k, is_sparse(matrix), X is None))
        else:
            parts = [self._nearest(rows, k, first) for rows, first in self._blocks(X)]
            found = parts[0] if len(parts) == 1 else Neighbors(
                *(np.concatenate(arrays) for arrays in zip(*parts)))
        return found if return_distance else found.indices

    def _nearest(self, queries: Any, k: int, first_row: Optional[int]) -> Neighbors:
        if not self._takes_library(queries, k):
            return Neighbors(*_brute.nearest(self._metric, queries, self._fit_X, k, first_row))
        found = self._search_index().search(queries, k, first_row=first_row)
        distances = found.distances
        if self._metric.is_squared:
            distances *= distances
        return Neighbors(distances, found.indices)

    def _count_of(self, n_neighbors: Optional[int], most: int) -> int:
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        if k > most:
            raise ValueError(
                f"Expected n_neighbors <= n_samples, but n_samples = {self.n_samples_fit_}, "
                f"n_neighbors = {k}"
                + ("" if most == self.n_samples_fit_ else ", and no row is its own neighbour"))
        return int(k)

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: Optional[int] = None, mode: str = "connectivity"
    ) -> Any:
        """Returns the graph of neighbours as a scipy.sparse.csr_matrix (m, n_samples_fit_).

        Args:
            X, n_neighbors: as for kneighbors.
            mode: "connectivity": entries are 1; "distance": entries are distances.
        """
        check_fitted(self)
        check_mode(mode)
        found = self.kneighbors(X, n_neighbors)
        count, k = found.indices.shape
        offsets = np.arange(0, count * k + 1, k)
        return _graph(
            mode, found.distances.ravel(), found.indices.ravel(), offsets, self.n_samples_fit_)


class RadiusNeighbors(NeighborsBase):
    """Searches for all rows within a radius. Distances are computed from the float64 rows."""

    radius: float

    def radius_neighbors(
        self, X: Any = None, radius: Optional[float] = None, return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Finds the fitted rows whose distance to a row of X is at most the radius.

        Args:
            X: (m, n_features); None: the fitted rows, and no row is its own neighbour. With
                metric="precomputed" the distances to the fitted rows, (m, n_samples_fit_).
            radius: None: the constructor's.
            return_distance: whether to return distances too.
            sort_results: True: nearest first, equal distances in the order of rows. False: in the
                order of rows.

        Returns Neighbors: distances and indices of rows, each an array (m,) of arrays; or the
        indices alone.
        """
        check_fitted(self)
        if sort_results and not return_distance and self._metric.name != "precomputed":
            raise ValueError("return_distance must be True if sort_results is True.")
        lists = self._within(X, radius, sort_results)
        indices = _split(lists.indices, lists.offsets)
        return Neighbors(_split(lists.distances, lists.offsets), indices) if return_distance else (
            indices)

    def radius_neighbors_graph(
        self, X: Any = None, radius: Optional[float] = None, mode: str = "connectivity",
        sort_results: bool = False,
    ) -> Any:
        """Returns the graph of rows within the radius as a scipy.sparse.csr_matrix
        (m, n_samples_fit_).

        Args:
            X, radius, sort_results: as for radius_neighbors.
            mode: "connectivity": entries are 1; "distance": entries are distances.
        """
        check_fitted(self)
        check_mode(mode)
        lists = self._within(X, radius, sort_results)
        return _graph(mode, lists.distances, lists.indices, lists.offsets, self.n_samples_fit_)

    def _within(self, X: Any, radius: Optional[float], is_sorted: bool) -> RadiusLists:
        limit = self.radius if radius is None else radius
        if isinstance(limit, bool) or not isinstance(limit, (int, float, np.number)):
            raise TypeError(f"radius must be a number, not {limit!r}.")
        if np.isnan(limit):
            raise ValueError("radius is not a number.")
        if self._metric.name == "precomputed":
            matrix = self._fit_X if X is None else self._check_precomputed(X, fitting=False)
            lists = _precomputed.within(matrix, limit, is_sparse(matrix), X is None)
        else:
            lists = _radius.join([
                _radius.within(
                    rows, self._fit_X, limit, self._metric, first, self._candidates(rows))
                for rows, first in self._blocks(X)])
        return _radius.sort_lists(lists) if is_sorted else lists


def _all_have_direction(rows: Array) -> bool:
    """Whether each row has a component other than 0."""
    return all(rows[block].any(axis=1).all() for block in _arrays.slices_of(rows))


def check_mode(mode: str) -> None:
    """Raises ValueError unless `mode` is one of the two modes of a graph."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" '
            "instead")


def _graph(mode: str, distances: Floats, indices: Rows, offsets: Rows, width: int) -> Any:
    from scipy.sparse import csr_matrix

    weights = distances if mode == "distance" else np.ones(len(indices))
    return csr_matrix((weights, indices, offsets), shape=(len(offsets) - 1, width))


def _split(values: Array, offsets: Rows) -> Array:
    """Returns an array of arrays, one for each list."""
    parts = np.empty(len(offsets) - 1, dtype=object)
    for i, (first, last) in enumerate(zip(offsets[:-1], offsets[1:])):
        parts[i] = values[first:last].copy()
    return parts


def _rows_of(X: Any) -> Any:
    """Returns the rows that a fitted estimator or a tree of scikit-learn holds, and anything else
    as it is."""
    if hasattr(X, "_fit_X") and hasattr(X, "n_samples_fit_"):
        return X._fit_X
    if hasattr(X, "query_radius") and hasattr(X, "data"):
        return np.asarray(X.data)
    return X
