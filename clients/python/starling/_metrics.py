# SPDX-License-Identifier: Apache-2.0
"""The names of metrics in the library, in scikit-learn and in SciPy.

knn and Index take the library's metrics by any of their names. The estimators take all metrics of
scikit-learn: `choose` says which the library answers, and _distances.py computes the others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Optional, Union

import numpy as np

from ._library import METRICS
from ._rows import guess

# Other names of the library's metrics.
OTHER_NAMES = {
    "euclidean": "l2", "manhattan": "l1", "cityblock": "l1", "infinity": "chebyshev",
    "correlation": "pearson", "jensenshannon": "jensen-shannon",
}
_BY_P: Mapping[Any, str] = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
_PLAIN_P = {"l2": 2.0, "l1": 1.0, "chebyshev": np.inf}  # Minkowski's p of the library's metrics

ALGORITHMS = ("auto", "ball_tree", "brute", "kd_tree")
# A tree needs the triangle inequality, and a k-d tree also distances of single components.
# scikit-learn refuses a tree with other metrics, and a program may rely on the refusal.
_KD_TREE = frozenset((
    "chebyshev", "cityblock", "euclidean", "infinity", "l1", "l2", "manhattan", "minkowski", "p"))
_BALL_TREE = _KD_TREE | {
    "braycurtis", "canberra", "dice", "hamming", "haversine", "jaccard", "kulsinski",
    "mahalanobis", "matching", "pyfunc", "rogerstanimoto", "russellrao", "seuclidean",
    "sokalmichener", "sokalsneath"}
_OWN = (
    "sqeuclidean", "braycurtis", "canberra", "haversine", "nan_euclidean", "precomputed")
# Metrics that SciPy or scikit-learn computes.
_BY_PEERS = (
    "dice", "hamming", "jaccard", "kulsinski", "mahalanobis", "matching", "rogerstanimoto",
    "russellrao", "seuclidean", "sokalmichener", "sokalsneath", "yule")
_NEEDS = {"seuclidean": ("V",), "mahalanobis": ("V", "VI")}

Function = Callable[..., float]


@dataclass(frozen=True)
class Metric:
    """A metric of an estimator.

    Attributes:
        name: scikit-learn's or the library's name of the metric; "callable" for a function.
        engine: the library's metric, or None if the library does not have it.
        is_squared: whether distances are the squares of the library's.
        p: the p of Minkowski's distance; None for metrics without one.
        parameters: what else the metric needs: w, V, VI.
        function: the metric as a function of two rows, or None.
    """

    name: str
    engine: Optional[str] = None
    is_squared: bool = False
    p: Optional[float] = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    function: Optional[Function] = None

    @property
    def takes_sparse(self) -> bool:
        """Whether scikit-learn takes sparse rows with this metric."""
        return self.engine is not None or self.function is not None or self.p is not None or (
            self.name == "precomputed")


def library_name(metric: Any) -> Any:
    """Returns the library's name of a metric, and any other value as it is."""
    return OTHER_NAMES.get(metric, metric) if isinstance(metric, str) else metric


def choose(
    metric: Union[str, Function], p: Optional[float], metric_params: Optional[Mapping[str, Any]],
    algorithm: str,
) -> Metric:
    """Returns the metric of an estimator's parameters. Raises ValueError for wrong parameters."""
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f"algorithm is {algorithm!r}; it must be one of {', '.join(ALGORITHMS)}.")
    parameters = dict(metric_params or {})
    if "p" in parameters and p is not None:
        warnings.warn(
            "metric_params has a p, so the p of the constructor is not used.", SyntaxWarning,
            stacklevel=4)
    if callable(metric):
        chosen = Metric("callable", parameters=parameters, function=metric)
    elif metric in ("minkowski", "p"):
        power = parameters.pop("p", p)
        chosen = _minkowski(2 if power is None else power, parameters, algorithm)
    else:
        chosen = _named(metric, parameters)
    _check_algorithm(metric, chosen, algorithm)
    return chosen


def _minkowski(p: Any, parameters: dict[str, Any], algorithm: str) -> Metric:
    if isinstance(p, bool) or not isinstance(p, (int, float, np.number)) or not p > 0:
        raise ValueError(f"p is {p!r}; it must be a number above 0, or infinity.")
    _refuse_others("minkowski", parameters, ("w",))
    if parameters.get("w") is None:
        parameters.pop("w", None)
        if p in _BY_P:
            return _named(_BY_P[p], {})
    else:
        weights = np.asarray(parameters["w"], dtype=np.float64)
        if weights.ndim != 1 or not (weights >= 0).all():
            raise ValueError("metric_params['w'] must be a row of weights, none below 0.")
        parameters["w"] = weights
    if p < 1:
        # The texts are scikit-learn's, because programs look for them.
        if algorithm in ("kd_tree", "ball_tree"):
            raise ValueError(
                f'algorithm="{algorithm}" does not support 0 < p < 1 for the Minkowski metric. To '
                'resolve this problem either set p >= 1 or algorithm="brute".')
        warnings.warn(
            "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the "
            "execution with `algorithm='brute'`.", stacklevel=5)
    return Metric("minkowski", p=float(p), parameters=parameters)


def _named(name: Any, parameters: dict[str, Any]) -> Metric:
    library = library_name(name)
    if isinstance(library, str) and library in METRICS:
        _refuse_others(name, parameters, ())
        return Metric(name, engine=library, p=_PLAIN_P.get(library))
    if name in _OWN:
        _refuse_others(name, parameters, ())
        is_squared = name == "sqeuclidean"
        return Metric(name, engine="l2" if is_squared else None, is_squared=is_squared,
                      p=2.0 if is_squared else None)
    if name not in _BY_PEERS:
        allowed = "minkowski", *OTHER_NAMES, *METRICS, *_OWN, *_BY_PEERS
        raise ValueError(
            f"metric is {name!r}; it must be a function of two rows, or one of "
            f"{', '.join(allowed)}.{guess(name, allowed)}")
    if name in _NEEDS:
        if not any(parameters.get(needed) is not None for needed in _NEEDS[name]):
            raise ValueError(
                f"metric {name!r} needs metric_params with {' or '.join(_NEEDS[name])}, because "
                "that of the queries would change from search to search.")
        parameters = {key: np.asarray(value, dtype=np.float64) for key, value in parameters.items()}
        if name == "mahalanobis" and "VI" not in parameters:
            parameters["VI"] = np.linalg.inv(parameters.pop("V"))
    return Metric(name, parameters=parameters)


def _refuse_others(name: Any, parameters: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    others = sorted(set(parameters) - set(allowed))
    if others:
        raise ValueError(f"metric {name!r} does not take the metric_params {', '.join(others)}.")


def _check_algorithm(metric: Any, chosen: Metric, algorithm: str) -> None:
    """Raises ValueError if `algorithm` is a tree that scikit-learn refuses for the metric."""
    if algorithm == "kd_tree":
        is_fit = metric in _KD_TREE and "w" not in chosen.parameters
    else:
        is_fit = algorithm != "ball_tree" or callable(metric) or metric in _BALL_TREE
    if not is_fit:
        raise ValueError(
            f"Metric {metric!r} not valid for algorithm {algorithm!r}. Use 'auto': its answers are "
            "exact, too.")
