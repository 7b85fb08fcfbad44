# SPDX-License-Identifier: Apache-2.0
"""Estimators of the k nearest rows with scikit-learn's conventions. radius.py has the estimators of
a radius.

The library answers in float32 if it has the metric, as starling.Index does, and distances are
float64, as docs/vectors.md defines them. scikit-learn is optional: without it, only sparse graphs
(SciPy), some metrics and pipelines are missing."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Union

import numpy as np

from ._base import Array, KNeighbors, RadiusNeighbors
from ._estimator import (
    RegressorMixin, TransformerMixin, check_fitted, check_targets, keep_parameters)
from ._votes import LabelsMixin, Weights, check_weights, shares_of, weights_of

MetricWord = Union[str, Callable[..., float]]


class _Neighbors(KNeighbors):
    """The base of the estimators of the k nearest rows."""


class NearestNeighbors(RadiusNeighbors, _Neighbors):
    """Finds nearest rows, as scikit-learn's NearestNeighbors.

    Args:
        n_neighbors: the number of neighbours if kneighbors gets none.
        radius: the radius if radius_neighbors gets none.
        algorithm: "auto", "brute", "kd_tree" or "ball_tree": all are exact, and give the same
            answer. As in scikit-learn, a tree refuses metrics that it does not support.
        leaf_size: has no effect.
        metric: docs/python.md lists the names. "precomputed": rows are distances. A function of two
            rows is called for each pair.
        p: of "minkowski": any number above 0, or infinity.
        metric_params: what else the metric needs: w of "minkowski", V, VI.
        n_jobs: threads on the CPU of searches by the library; None and -1: one per core.
        backend: "cpu", "cuda" or "auto".
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: MetricWord = "minkowski",
        p: Optional[float] = 2,
        metric_params: Optional[Mapping[str, Any]] = None,
        n_jobs: Optional[int] = None,
        backend: str = "auto",
    ) -> None:
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> NearestNeighbors:
        """Takes the rows: (n, n_features). y is not used."""
        self._fit_rows(X)
        return self


class GraphTransformerMixin(TransformerMixin):
    """The methods that the transformers by k and by radius share."""

    mode: str

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fits, and returns the graph of the same rows."""
        estimator: Any = self
        return estimator.fit(X).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Returns a name for each fitted row."""
        check_fitted(self)
        estimator: Any = self
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(estimator.n_samples_fit_)], dtype=object)


class KNeighborsTransformer(GraphTransformerMixin, _Neighbors):
    """Turns rows into a sparse graph of their neighbours among the fitted rows.

    Args: mode is "distance" or "connectivity"; the others are those of NearestNeighbors. With
    "distance" each row has one neighbour more, because a fitted row is its own neighbour.
    """

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: MetricWord = "minkowski",
        p: Optional[float] = 2,
        metric_params: Optional[Mapping[str, Any]] = None,
        n_jobs: Optional[int] = None,
        backend: str = "auto",
    ) -> None:
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> KNeighborsTransformer:
        """Takes the rows: (n, n_features). y is not used."""
        self._fit_rows(X)
        return self

    def transform(self, X: Any) -> Any:
        """Returns the graph of X as a scipy.sparse.csr_matrix (m, n_samples_fit_)."""
        check_fitted(self)
        count = self.n_neighbors + (self.mode == "distance")
        return self.kneighbors_graph(X, n_neighbors=count, mode=self.mode)


class KNeighborsClassifier(LabelsMixin, _Neighbors):
    """Lets the labels of the nearest fitted rows vote, as scikit-learn's KNeighborsClassifier.

    If several labels have equally many votes, the first in `classes_` wins.

    Args: weights is "uniform", "distance", None or a function of the distances; the others are
    those of NearestNeighbors.

    Attributes after `fit`: classes_, an array, or a list of them for several outputs; and
    outputs_2d_.
    """

    weights: Weights

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: Optional[float] = 2,
        metric: MetricWord = "minkowski",
        metric_params: Optional[Mapping[str, Any]] = None,
        n_jobs: Optional[int] = None,
        backend: str = "auto",
    ) -> None:
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any) -> KNeighborsClassifier:
        """Takes the rows, (n, n_features), and their labels, (n,) or (n, outputs)."""
        check_weights(self.weights)
        self._fit_rows(X)
        self._take_labels(y, self.n_samples_fit_)
        return self

    def predict(self, X: Any) -> Array:
        """Returns labels: (m,), or (m, outputs)."""
        return self._winners(self._votes_of(X))

    def predict_proba(self, X: Any) -> Union[Array, list[Array]]:
        """Returns the share of each class in the votes, (m, classes), in the order of classes_; a
        list of them for several outputs."""
        shares = [shares_of(votes) for votes in self._votes_of(X)]
        return shares if self.outputs_2d_ else shares[0]

    def _votes_of(self, X: Any) -> list[Array]:
        found = self.kneighbors(X)
        weights = weights_of(self.weights, found.distances)
        count, k = found.indices.shape
        owners = np.repeat(np.arange(count), k)
        flat = None if weights is None else np.ravel(weights)
        return self._votes(owners, found.indices.ravel(), flat, count)


class KNeighborsRegressor(RegressorMixin, _Neighbors):
    """Takes the mean of the values of the nearest fitted rows, as scikit-learn's
    KNeighborsRegressor.

    Args: weights is "uniform", "distance", None or a function of the distances; the others are
    those of NearestNeighbors.
    """

    weights: Weights

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: Optional[float] = 2,
        metric: MetricWord = "minkowski",
        metric_params: Optional[Mapping[str, Any]] = None,
        n_jobs: Optional[int] = None,
        backend: str = "auto",
    ) -> None:
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any) -> KNeighborsRegressor:
        """Takes the rows, (n, n_features), and their values, (n,) or (n, outputs)."""
        check_weights(self.weights)
        self._fit_rows(X)
        self._values = check_targets(y, self.n_samples_fit_, numeric=True)
        return self

    def predict(self, X: Any) -> Array:
        """Returns means: float64 (m,), or (m, outputs)."""
        found = self.kneighbors(X)
        weights = weights_of(self.weights, found.distances)
        values = self._values[found.indices]
        if weights is None:
            means: Array = values.mean(axis=1)
            return means
        if values.ndim == 3:
            weights = weights[:, :, np.newaxis]
        weighted: Array = (values * weights).sum(axis=1) / weights.sum(axis=1)
        return weighted
