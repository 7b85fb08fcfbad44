# SPDX-License-Identifier: Apache-2.0
"""Estimators of all rows within a radius, with scikit-learn's conventions. Distances are computed
from the float64 rows."""

from __future__ import annotations

import warnings
from typing import Any, Mapping, Optional, Union

import numpy as np

from ._base import Array, RadiusNeighbors
from ._estimator import RegressorMixin, check_fitted, check_targets, keep_parameters
from ._votes import LabelsMixin, Weights, check_weights, means_of, shares_of, weights_of_lists
from .neighbors import GraphTransformerMixin, MetricWord


class RadiusNeighborsTransformer(GraphTransformerMixin, RadiusNeighbors):
    """Turns rows into a sparse graph of the fitted rows within a radius, nearest first.

    Args: mode is "distance" or "connectivity"; the others are those of NearestNeighbors. A fitted
    row is its own neighbour.
    """

    def __init__(
        self,
        *,
        mode: str = "distance",
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

    def fit(self, X: Any, y: Any = None) -> RadiusNeighborsTransformer:
        """Takes the rows: (n, n_features). y is not used."""
        self._fit_rows(X)
        return self

    def transform(self, X: Any) -> Any:
        """Returns the graph of X as a scipy.sparse.csr_matrix (m, n_samples_fit_)."""
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)


class RadiusNeighborsClassifier(LabelsMixin, RadiusNeighbors):
    """Lets the labels of the fitted rows within a radius vote, as scikit-learn's
    RadiusNeighborsClassifier.

    If several labels have equally many votes, the first in `classes_` wins.

    Args:
        radius: the greatest distance of a neighbour, inclusive.
        weights: "uniform", "distance", None or a function, which gets an array of the distances of
            each row.
        outlier_label: what a row without neighbours gets: a label, a list with one for each output,
            "most_frequent", or None: a row without neighbours is refused.
        The others are those of NearestNeighbors.

    Attributes after `fit`: classes_, an array, or a list of them for several outputs; outputs_2d_;
    and outlier_label_, a list with one label for each output, or None.
    """

    weights: Weights
    outlier_label: Any

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Weights = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: Optional[float] = 2,
        metric: MetricWord = "minkowski",
        outlier_label: Any = None,
        metric_params: Optional[Mapping[str, Any]] = None,
        n_jobs: Optional[int] = None,
        backend: str = "auto",
    ) -> None:
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any) -> RadiusNeighborsClassifier:
        """Takes the rows, (n, n_features), and their labels, (n,) or (n, outputs)."""
        check_weights(self.weights)
        self._fit_rows(X)
        self._take_labels(y, self.n_samples_fit_)
        self.outlier_label_ = self._outlier_labels()
        return self

    def _outlier_labels(self) -> Optional[list[Any]]:
        given = self.outlier_label
        if given is None:
            return None
        if isinstance(given, str) and given == "most_frequent":
            return [classes[np.bincount(codes).argmax()]
                    for classes, codes in zip(self._classes, self._codes)]
        labels = list(given) if isinstance(given, (list, tuple, np.ndarray)) else (
            [given] * len(self._classes))
        if len(labels) != len(self._classes):
            raise ValueError(
                f"outlier_label has {len(labels)} labels, but y has {len(self._classes)} outputs.")
        for label, classes in zip(labels, self._classes):
            if not np.isscalar(label) or np.append(classes, label).dtype != classes.dtype:
                raise TypeError(
                    f"outlier_label has {label!r}; it must be of the type of y, {classes.dtype}.")
        return labels

    def predict(self, X: Any) -> Array:
        """Returns labels: (m,), or (m, outputs)."""
        votes, is_empty = self._votes_of(X)
        found = self._winners(votes)
        if is_empty.any():
            assert self.outlier_label_ is not None
            self._warn_of_unknown_labels()
            found[is_empty] = self.outlier_label_ if self.outputs_2d_ else self.outlier_label_[0]
        return found

    def predict_proba(self, X: Any) -> Union[Array, list[Array]]:
        """Returns the share of each class in the votes, (m, classes), in the order of classes_; a
        list of them for several outputs. A row without neighbours has 1 for its outlier label, or
        zeros if no fitted row has that label."""
        votes, is_empty = self._votes_of(X)
        shares = [shares_of(vote) for vote in votes]
        if is_empty.any():
            assert self.outlier_label_ is not None
            self._warn_of_unknown_labels()
            for share, classes, label in zip(shares, self._classes, self.outlier_label_):
                share[np.ix_(is_empty, classes == label)] = 1
        return shares if self.outputs_2d_ else shares[0]

    def _votes_of(self, X: Any) -> tuple[list[Array], Array]:
        """Returns the votes of each output, and which rows have no neighbours."""
        check_fitted(self)
        lists = self._within(X, None, False)
        is_empty = np.diff(lists.offsets) == 0
        if is_empty.any() and self.outlier_label_ is None:
            raise ValueError(
                f"No neighbors found for the rows {np.flatnonzero(is_empty).tolist()}. Use a "
                "larger radius, give an outlier_label, or remove the rows.")
        weights = weights_of_lists(self.weights, lists)
        return self._votes(lists.owners, lists.indices, weights, len(is_empty)), is_empty

    def _warn_of_unknown_labels(self) -> None:
        for classes, label in zip(self._classes, self.outlier_label_ or ()):
            if label not in classes:
                warnings.warn(
                    f"Outlier label {label} is not in training classes. All class probabilities of "
                    "outliers will be assigned with 0.", stacklevel=3)


class RadiusNeighborsRegressor(RegressorMixin, RadiusNeighbors):
    """Takes the mean of the values of the fitted rows within a radius, as scikit-learn's
    RadiusNeighborsRegressor. A row without neighbours gets NaN, and a warning.

    Args: radius is inclusive; weights is "uniform", "distance", None or a function, which gets an
    array of the distances of each row; the others are those of NearestNeighbors.
    """

    weights: Weights

    def __init__(
        self,
        radius: float = 1.0,
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

    def fit(self, X: Any, y: Any) -> RadiusNeighborsRegressor:
        """Takes the rows, (n, n_features), and their values, (n,) or (n, outputs)."""
        check_weights(self.weights)
        self._fit_rows(X)
        self._values = check_targets(y, self.n_samples_fit_, numeric=True)
        return self

    def predict(self, X: Any) -> Array:
        """Returns means: float64 (m,), or (m, outputs)."""
        check_fitted(self)
        lists = self._within(X, None, False)
        if (np.diff(lists.offsets) == 0).any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.",
                stacklevel=2)
        return means_of(self._values, lists, weights_of_lists(self.weights, lists))
