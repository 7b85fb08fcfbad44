# SPDX-License-Identifier: Apache-2.0
"""The base classes and the validation of the estimators: scikit-learn's own if it is installed,
else small ones with the same names."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import numpy.typing as npt

from . import _arrays

try:
    import sklearn.base as _base
    import sklearn.exceptions as _exceptions
    import sklearn.utils.validation as _validation
except ImportError:
    _base = None

DENSE_BYTES_MAX = 4 << 30  # most bytes of sparse rows that are made dense


def keep_parameters(estimator: Any, parameters: dict[str, Any]) -> None:
    """Sets each argument of a constructor as an attribute of the estimator. `parameters` is the
    locals() of the constructor. scikit-learn allows a constructor to do no more."""
    vars(estimator).update({name: value for name, value in parameters.items() if name != "self"})


class PlainEstimator:
    """The part of scikit-learn's BaseEstimator that gets and sets parameters."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the parameters of the constructor and their values."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def set_params(self, **parameters: Any) -> Any:
        """Sets parameters. Raises ValueError for an unknown parameter."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: "
                    f"{sorted(known)!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items()
            if value is not defaults[name].default]
        return f"{type(self).__name__}({', '.join(changed)})"


class PlainClassifier:
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Returns the share of rows whose prediction is right."""
        right = np.asarray(self.predict(X)) == np.asarray(y)  # type: ignore[attr-defined]
        return float(np.average(right, weights=sample_weight))


class PlainRegressor:
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Returns the coefficient of determination, at most 1."""
        truth = np.asarray(y, dtype=np.float64)
        errors = (truth - self.predict(X)) ** 2  # type: ignore[attr-defined]
        mean = np.average(truth, axis=0, weights=sample_weight)
        spread = np.average((truth - mean) ** 2, axis=0, weights=sample_weight)
        return float(np.mean(1 - np.average(errors, axis=0, weights=sample_weight) / spread))


class PlainTransformer:
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fits, and returns the transform of the same rows."""
        return self.fit(X, y).transform(X)  # type: ignore[attr-defined]


class NotFitted(ValueError, AttributeError):
    """`fit` was not called yet."""


if TYPE_CHECKING or _base is None:
    BaseEstimator = PlainEstimator
    ClassifierMixin = PlainClassifier
    RegressorMixin = PlainRegressor
    TransformerMixin = PlainTransformer
    NotFittedError = NotFitted
else:
    BaseEstimator = _base.BaseEstimator
    ClassifierMixin = _base.ClassifierMixin
    RegressorMixin = _base.RegressorMixin
    TransformerMixin = _base.TransformerMixin
    NotFittedError = _exceptions.NotFittedError


def check_rows(
    estimator: Any, X: Any, fitting: bool, *, fits_float32: bool = True, allows_nan: bool = False
) -> Any:
    """Returns rows as contiguous float32 or float64, or as a CSR matrix of these types, and checks
    or sets n_features_in_ and the names of the features. Raises ValueError or TypeError as
    scikit-learn does.

    Args:
        fits_float32: whether a number beyond float32's range is refused.
        allows_nan: whether NaN is allowed, and means a missing component.
    """
    X = _arrays.on_the_host(X)
    _arrays.refuse_masked(X, "X")
    if _base is None:
        rows = _check_plainly(estimator, X, fitting, allows_nan)
    else:
        rows = _check_by_scikit_learn(estimator, X, fitting, allows_nan)
    if is_sparse(rows):
        rows = rows.astype(_arrays.floats_for(rows.dtype), copy=False)
    else:
        rows = _arrays.to_contiguous(rows, _arrays.floats_for(rows.dtype))
    if fits_float32:
        _check_range(rows.data if is_sparse(rows) else rows)
    return rows


def _check_by_scikit_learn(estimator: Any, X: Any, fitting: bool, allows_nan: bool) -> Any:
    kinds = [np.float64, np.float32]  # other types become the first one
    if hasattr(X, "dtype") and isinstance(X.dtype, np.dtype):
        kinds.sort(key=lambda kind: kind != _arrays.floats_for(X.dtype))
    options = {"dtype": kinds, "order": "C", "accept_sparse": "csr"}
    nan = "allow-nan" if allows_nan else True
    if hasattr(estimator, "_validate_data"):  # before scikit-learn 1.6
        return estimator._validate_data(X, reset=fitting, force_all_finite=nan, **options)
    return _validation.validate_data(
        estimator, X, reset=fitting, ensure_all_finite=nan, **options)


def is_sparse(rows: Any) -> bool:
    """Whether these are rows of scipy.sparse."""
    return hasattr(rows, "toarray") and hasattr(rows, "tocsr")


def to_dense(rows: Any, argument: str) -> Any:
    """Returns sparse rows as dense rows, and other rows as they are. Raises MemoryError if the
    dense rows would be larger than DENSE_BYTES_MAX."""
    if not is_sparse(rows):
        return rows
    bytes_needed = rows.shape[0] * rows.shape[1] * rows.dtype.itemsize
    if bytes_needed > DENSE_BYTES_MAX:
        raise MemoryError(
            f"{argument} is sparse, and searches need dense rows: {rows.shape[0]} rows of "
            f"{rows.shape[1]} components would take {bytes_needed / 2**30:.1f} GiB, and at most "
            f"{DENSE_BYTES_MAX >> 30} GiB are made. Reduce the components first, for example with "
            "TruncatedSVD.")
    return rows.toarray()


def _check_range(floats: npt.NDArray[Any]) -> None:
    """Raises ValueError if a number is beyond float32."""
    most = np.finfo(np.float32).max
    if any(max(floats[block].max(), -floats[block].min()) > most
           for block in _arrays.slices_of(floats)):
        raise ValueError("Input X contains infinity or a value too large for dtype('float32').")


def _check_plainly(estimator: Any, X: Any, fitting: bool, allows_nan: bool) -> Any:
    rows = X.tocsr() if is_sparse(X) else np.asarray(X)
    if rows.dtype.kind == "O":
        rows = rows.astype(np.float64)
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"X must be real numbers, not {rows.dtype}.")
    if rows.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {rows.ndim}D array instead. Reshape your data either using "
            "array.reshape(-1, 1) or array.reshape(1, -1).")
    if rows.shape[0] < 1 or rows.shape[1] < 1:
        raise ValueError(f"Found array with shape {rows.shape}; at least 1 row and 1 feature are "
                         "required.")
    components = rows.data if is_sparse(rows) else rows
    if any(np.isinf(components[block]).any()
           or not allows_nan and np.isnan(components[block]).any()
           for block in _arrays.slices_of(components)):
        raise ValueError("Input X contains NaN or infinity.")
    if fitting:
        estimator.n_features_in_ = rows.shape[1]
    elif rows.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input")
    return rows


def check_targets(y: Any, count: int, numeric: bool) -> npt.NDArray[Any]:
    """Returns labels or values of shape (count,) or (count, outputs)."""
    _arrays.refuse_masked(y, "y")
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = _arrays.on_the_host(y)
    if _base is not None:
        targets = _validation.check_array(y, ensure_2d=False, dtype=None, input_name="y")
    else:
        targets = np.asarray(y)
    if targets.ndim == 2 and targets.shape[1] == 1:
        if _base is not None:
            targets = _validation.column_or_1d(targets, warn=True)
        else:
            targets = targets[:, 0]
    if targets.ndim not in (1, 2):
        raise ValueError(
            f"y should be a 1d or 2d array, got an array of shape {targets.shape} instead.")
    if len(targets) != count:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{count}, {len(targets)}]")
    checked: npt.NDArray[Any] = targets.astype(np.float64) if numeric else targets
    return checked


def check_fitted(estimator: Any, attribute: str = "n_samples_fit_") -> None:
    """Raises NotFittedError if `fit` was not called."""
    if not hasattr(estimator, attribute):
        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with "
            "appropriate arguments before using this estimator.")


def check_classes(targets: npt.NDArray[Any]) -> None:
    """Raises ValueError if the targets are continuous numbers."""
    if targets.dtype.kind == "f" and not (targets == np.floor(targets)).all():
        raise ValueError("Unknown label type: continuous")


def threads_of(n_jobs: Optional[int]) -> int:
    """Returns the library's number of threads: 0, which is one per core, for None and -1."""
    return 0 if n_jobs is None or n_jobs < 0 else n_jobs
