# SPDX-License-Identifier: Apache-2.0
"""Estimators with scikit-learn's conventions over the exact search of starling.Index.

Rows are rounded to float32 as those of starling.Index are. Distances are float64, as
docs/vectors.md defines them. scikit-learn is optional: without it, only sparse graphs (SciPy) and
pipelines are missing."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import numpy as np
import numpy.typing as npt

from ._estimator import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
    check_classes,
    check_fitted,
    check_rows,
    check_targets,
    threads_of,
)
from ._library import METRICS
from ._metrics import library_name
from ._results import Neighbors
from .vectors import K_MAX, Index

Array = npt.NDArray[Any]
Weights = Union[None, str, Callable[[Array], Array]]

_BY_P = {1: "l1", 2: "l2", np.inf: "chebyshev"}


class _Neighbors(BaseEstimator):
    """The base of all estimators. Attributes after `fit`: n_samples_fit_, n_features_in_,
    effective_metric_."""

    n_neighbors: int
    metric: str
    p: float
    n_jobs: Optional[int]
    backend: str

    def _fit_rows(self, X: Any) -> None:
        rows = check_rows(self, X, fitting=True)
        self.effective_metric_ = self._metric()
        self._fit_X = rows
        self._index: Optional[Index] = None
        self.n_samples_fit_ = len(rows)
        self._search_index()  # refuses rows that the metric does not allow

    def _metric(self) -> str:
        if self.metric == "minkowski":
            if self.p not in _BY_P:
                raise ValueError(f"p is {self.p}; it must be 1, 2 or infinity.")
            return _BY_P[self.p]
        metric: str = library_name(self.metric)
        if metric not in METRICS:
            allowed = ", ".join(("minkowski", "euclidean", "manhattan", "cityblock", *METRICS))
            raise ValueError(f"metric is {self.metric!r}; it must be one of {allowed}.")
        return metric

    def _search_index(self) -> Index:
        if self._index is None:
            self._index = Index(
                self._fit_X, self.effective_metric_, backend=self.backend,
                threads=threads_of(self.n_jobs))
        return self._index

    def __getstate__(self) -> dict[str, Any]:
        # The index is memory of the library; it is made again from the rows.
        state = super().__getstate__()
        return {**state, "_index": None} if "_index" in state else state

    def kneighbors(
        self, X: Any = None, n_neighbors: Optional[int] = None, return_distance: bool = True
    ) -> Any:
        """Finds the nearest fitted rows of each row of X, nearest first.

        Args:
            X: (m, n_features); None: the fitted rows, and no row is its own neighbour.
            n_neighbors: None: that of the constructor. At most n_samples_fit_, less 1 without X.
            return_distance: whether to return distances too.

        Returns Neighbors: distances, float64 (m, n_neighbors), and indices of rows, int64
        (m, n_neighbors); or the indices alone.
        """
        check_fitted(self)
        k = self._count_of(n_neighbors, self.n_samples_fit_ - (X is None))
        if X is None:
            found = self._search_index().search(self._fit_X, k, first_row=0)
        else:
            found = self._search_index().search(check_rows(self, X, fitting=False), k)
        return Neighbors(found.distances, found.indices) if return_distance else found.indices

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
        if k > K_MAX:
            raise ValueError(f"Expected n_neighbors <= {K_MAX}. Got {k}")
        return int(k)

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: Optional[int] = None, mode: str = "connectivity"
    ) -> Any:
        """Returns the graph of neighbours as a scipy.sparse.csr_matrix (m, n_samples_fit_).

        Args:
            X, n_neighbors: as for kneighbors.
            mode: "connectivity": entries are 1; "distance": entries are distances.
        """
        from scipy.sparse import csr_matrix

        if mode not in ("connectivity", "distance"):
            raise ValueError(
                f'Unsupported mode, must be one of "connectivity" or "distance" but got "{mode}" '
                "instead")
        distances, rows = self.kneighbors(X, n_neighbors)
        count, k = rows.shape
        weights = distances if mode == "distance" else np.ones(rows.shape)
        starts = np.arange(0, count * k + 1, k)
        return csr_matrix(
            (weights.ravel(), rows.ravel(), starts), shape=(count, self.n_samples_fit_))


class NearestNeighbors(_Neighbors):
    """Finds nearest rows, as scikit-learn's NearestNeighbors with algorithm="brute".

    Args:
        n_neighbors: how many, if kneighbors does not say.
        metric: "minkowski" (with p), "euclidean", "manhattan", "cityblock", "correlation",
            "jensenshannon", or a metric of docs/vectors.md.
        p: of "minkowski": 1, 2 or infinity.
        n_jobs: threads on the CPU; None and -1: one per core.
        backend: "cpu", "cuda" or "auto".
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        metric: str = "minkowski",
        p: float = 2,
        n_jobs: Optional[int] = None,
        backend: str = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.p = p
        self.n_jobs = n_jobs
        self.backend = backend

    def fit(self, X: Any, y: Any = None) -> NearestNeighbors:
        """Takes the rows: (n, n_features). y is not used."""
        self._fit_rows(X)
        return self


class KNeighborsTransformer(TransformerMixin, _Neighbors):
    """Turns rows into a sparse graph of their neighbours among the fitted rows.

    Args: mode is "distance" or "connectivity"; the others are those of NearestNeighbors. With
    "distance" each row has one neighbour more, because a fitted row is its own neighbour.
    """

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        metric: str = "minkowski",
        p: float = 2,
        n_jobs: Optional[int] = None,
        backend: str = "auto",
    ) -> None:
        self.mode = mode
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.p = p
        self.n_jobs = n_jobs
        self.backend = backend

    def fit(self, X: Any, y: Any = None) -> KNeighborsTransformer:
        """Takes the rows: (n, n_features). y is not used."""
        self._fit_rows(X)
        return self

    def transform(self, X: Any) -> Any:
        """Returns the graph of X as a scipy.sparse.csr_matrix (m, n_samples_fit_)."""
        check_fitted(self)
        count = self.n_neighbors + (self.mode == "distance")
        return self.kneighbors_graph(X, n_neighbors=count, mode=self.mode)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fits, and returns the graph of the same rows."""
        return self.fit(X).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Returns a name for each fitted row."""
        check_fitted(self)
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self.n_samples_fit_)], dtype=object)


def _weights_of(weights: Weights, distances: Array) -> Optional[Array]:
    """Returns a weight for each neighbour, or None if all are equal. With "distance" a weight is 1
    / distance; where a row has neighbours at distance 0, they alone count."""
    if weights in (None, "uniform"):
        return None
    if callable(weights):
        return weights(distances)
    if weights != "distance":
        raise ValueError(
            f"weights is {weights!r}; it must be 'uniform', 'distance', None or a function.")
    if (distances < 0).any():
        raise ValueError("An inner product can be negative, so weights cannot be 'distance'.")
    with np.errstate(divide="ignore"):
        parts = 1 / distances
    is_infinite = np.isinf(parts)
    has_infinite = is_infinite.any(axis=1)
    parts[has_infinite] = is_infinite[has_infinite]
    return parts


class KNeighborsClassifier(ClassifierMixin, _Neighbors):
    """Lets the labels of the nearest fitted rows vote, as scikit-learn's KNeighborsClassifier.

    If several labels have equally many votes, the first in `classes_` wins.

    Args: weights is "uniform", "distance", None or a function of the distances; the others are
    those of NearestNeighbors.

    Attributes after `fit`: classes_, an array, or a list of them for several outputs; and
    outputs_2d_.
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        metric: str = "minkowski",
        p: float = 2,
        n_jobs: Optional[int] = None,
        backend: str = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.p = p
        self.n_jobs = n_jobs
        self.backend = backend

    def fit(self, X: Any, y: Any) -> KNeighborsClassifier:
        """Takes the rows, (n, n_features), and their labels, (n,) or (n, outputs)."""
        _weights_of(self.weights, np.ones((1, 1)))
        self._fit_rows(X)
        targets = check_targets(y, self.n_samples_fit_, numeric=False)
        check_classes(targets)
        self.outputs_2d_ = targets.ndim == 2
        columns = list(targets.T) if self.outputs_2d_ else [targets]
        pairs = [np.unique(column, return_inverse=True) for column in columns]
        self._classes = [classes for classes, _ in pairs]
        self._codes = [codes for _, codes in pairs]
        self.classes_ = self._classes if self.outputs_2d_ else self._classes[0]
        return self

    def predict(self, X: Any) -> Array:
        """Returns labels: (m,), or (m, outputs)."""
        shares = self._shares(X)
        found = [
            classes[share.argmax(axis=1)] for classes, share in zip(self._classes, shares)]
        labels: Array = np.stack(found, axis=1) if self.outputs_2d_ else found[0]
        return labels

    def predict_proba(self, X: Any) -> Union[Array, list[Array]]:
        """Returns the share of each class in the votes, (m, classes), in the order of classes_; a
        list of them for several outputs."""
        shares = self._shares(X)
        return shares if self.outputs_2d_ else shares[0]

    def _shares(self, X: Any) -> list[Array]:
        distances, rows = self.kneighbors(X)
        weights = _weights_of(self.weights, distances)
        parts = np.ones(rows.shape) if weights is None else weights
        shares = []
        for classes, codes in zip(self._classes, self._codes):
            places = codes[rows] + np.arange(len(rows))[:, np.newaxis] * len(classes)
            votes = np.bincount(
                places.ravel(), parts.ravel(), minlength=len(rows) * len(classes))
            votes = votes.reshape(len(rows), len(classes))
            sums = votes.sum(axis=1, keepdims=True)
            sums[sums == 0] = 1
            shares.append(votes / sums)
        return shares


class KNeighborsRegressor(RegressorMixin, _Neighbors):
    """Takes the mean of the values of the nearest fitted rows, as scikit-learn's
    KNeighborsRegressor.

    Args: weights is "uniform", "distance", None or a function of the distances; the others are
    those of NearestNeighbors.
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        metric: str = "minkowski",
        p: float = 2,
        n_jobs: Optional[int] = None,
        backend: str = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.p = p
        self.n_jobs = n_jobs
        self.backend = backend

    def fit(self, X: Any, y: Any) -> KNeighborsRegressor:
        """Takes the rows, (n, n_features), and their values, (n,) or (n, outputs)."""
        _weights_of(self.weights, np.ones((1, 1)))
        self._fit_rows(X)
        self._values = check_targets(y, self.n_samples_fit_, numeric=True)
        return self

    def predict(self, X: Any) -> Array:
        """Returns means: float64 (m,), or (m, outputs)."""
        distances, rows = self.kneighbors(X)
        weights = _weights_of(self.weights, distances)
        values = self._values[rows]
        if weights is None:
            means: Array = values.mean(axis=1)
            return means
        if values.ndim == 3:
            weights = weights[:, :, np.newaxis]
        weighted: Array = (values * weights).sum(axis=1) / weights.sum(axis=1)
        return weighted
