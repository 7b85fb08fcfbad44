# SPDX-License-Identifier: Apache-2.0
"""Weights of neighbours, votes for labels and means of values, shared by the estimators of k
neighbours and of a radius. The entries of all lists are flat arrays, and `owners` has the query's
row of each entry."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import numpy as np
import numpy.typing as npt

from ._estimator import ClassifierMixin, check_classes, check_targets
from ._results import RadiusLists, Rows

Array = npt.NDArray[Any]
Weights = Union[None, str, Callable[[Array], Array]]


def check_weights(weights: Weights) -> None:
    """Raises ValueError for an unknown word."""
    if not (weights in (None, "uniform", "distance") or callable(weights)):
        raise ValueError(
            f"weights is {weights!r}; it must be 'uniform', 'distance', None or a function.")


def weights_of(weights: Weights, distances: Array) -> Optional[Array]:
    """Returns a weight for each neighbour, (m, k), or None if all are equal. With "distance" a
    weight is 1 / distance; if a row has neighbours at distance 0, only they count."""
    check_weights(weights)
    if weights in (None, "uniform"):
        return None
    if callable(weights):
        own: Array = weights(distances)
        return own
    owners = np.repeat(np.arange(len(distances)), distances.shape[1])
    return _inverses(distances.ravel(), owners, len(distances)).reshape(distances.shape)


def weights_of_lists(weights: Weights, lists: RadiusLists) -> Optional[Array]:
    """Returns a weight for each entry of lists of any length, or None if all are equal. A function
    gets an array of arrays: the distances of each list that is not empty."""
    check_weights(weights)
    if weights in (None, "uniform"):
        return None
    counts = np.diff(lists.offsets)
    if not callable(weights):
        return _inverses(lists.distances, lists.owners, len(counts))
    is_full = counts > 0
    parts = np.empty(np.count_nonzero(is_full), dtype=object)
    for i, first, count in zip(range(len(parts)), lists.offsets[:-1][is_full], counts[is_full]):
        parts[i] = lists.distances[first:first + count]
    flat: Array = np.concatenate([*weights(parts), np.zeros(0)])
    return flat


def _inverses(distances: Array, owners: Rows, count: int) -> Array:
    if (distances < 0).any():
        raise ValueError("An inner product can be negative, so weights cannot be 'distance'.")
    with np.errstate(divide="ignore"):
        parts = 1 / distances
    is_infinite = np.isinf(parts)
    has_infinite = np.bincount(owners[is_infinite], minlength=count)[owners] > 0
    parts[has_infinite] = is_infinite[has_infinite]
    return parts


class LabelsMixin(ClassifierMixin):
    """Labels of the fitted rows, and votes for them. Attributes after `fit`: classes_ and
    outputs_2d_."""

    def _take_labels(self, y: Any, count: int) -> None:
        targets = check_targets(y, count, numeric=False)
        check_classes(targets)
        self.outputs_2d_ = targets.ndim == 2
        columns = list(targets.T) if self.outputs_2d_ else [targets]
        pairs = [np.unique(column, return_inverse=True) for column in columns]
        self._classes = [classes for classes, _ in pairs]
        self._codes = [codes for _, codes in pairs]
        self.classes_ = self._classes if self.outputs_2d_ else self._classes[0]

    def _votes(
        self, owners: Rows, rows: Rows, weights: Optional[Array], count: int
    ) -> list[Array]:
        """Returns the sum of the weights of each class, (count, classes), for each output."""
        found = []
        for classes, codes in zip(self._classes, self._codes):
            places = codes[rows] + owners * len(classes)
            votes = np.bincount(places, weights, minlength=count * len(classes))
            found.append(votes.reshape(count, len(classes)).astype(np.float64))
        return found

    def _winners(self, votes: list[Array]) -> Array:
        found = [classes[vote.argmax(axis=1)] for classes, vote in zip(self._classes, votes)]
        labels: Array = np.stack(found, axis=1) if self.outputs_2d_ else found[0]
        return labels


def shares_of(votes: Array) -> Array:
    """Returns votes divided by their sum; without votes, zeros."""
    sums = votes.sum(axis=1, keepdims=True)
    sums[sums == 0] = 1
    shares: Array = votes / sums
    return shares


def means_of(values: Array, lists: RadiusLists, weights: Optional[Array]) -> Array:
    """Returns the mean of the values of each list, (m,) or (m, outputs); NaN for an empty list."""
    columns = values if values.ndim == 2 else values[:, np.newaxis]
    count = len(lists.offsets) - 1
    sums = np.bincount(lists.owners, weights, minlength=count)
    parts = 1 if weights is None else weights
    means = np.empty((count, columns.shape[1]))
    with np.errstate(invalid="ignore"):
        for j, column in enumerate(columns.T):
            totals = np.bincount(lists.owners, column[lists.indices] * parts, minlength=count)
            means[:, j] = totals / sums
    found: Array = means if values.ndim == 2 else means[:, 0]
    return found
