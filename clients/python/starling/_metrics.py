# SPDX-License-Identifier: Apache-2.0
"""The words for a metric: those of the library, scikit-learn and SciPy. knn, Index and Engine take
the library's metrics by any of their names."""

from __future__ import annotations

from typing import Any

# Other names of the library's metrics.
_OTHER_NAMES = {
    "euclidean": "l2", "manhattan": "l1", "cityblock": "l1", "infinity": "chebyshev",
    "correlation": "pearson", "jensenshannon": "jensen-shannon",
}


def library_name(metric: Any) -> Any:
    """Returns the library's name of a metric, and any other value as it is."""
    return _OTHER_NAMES.get(metric, metric) if isinstance(metric, str) else metric
