# SPDX-License-Identifier: Apache-2.0
"""Exact k-nearest neighbours: of moving objects at every tick, of vectors in batch.

Engine runs in this process, and Client talks to a server; both return Lists. knn and Index search
vectors. The estimators, such as NearestNeighbors, follow scikit-learn, and are imported at their
first use. docs/python.md explains all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import aio
from ._library import NO_LABEL
from ._names import text_id
from .client import Client, ServerInfo
from .engine import Engine
from .errors import (
    ErrorCode,
    InvalidArgument,
    Limit,
    OutOfMemory,
    RoundingWarning,
    StarlingError,
    TimedOut,
    UnknownObject,
)
from ._results import Neighbors, RadiusLists, SearchResult
from .vectors import Index, knn, version
from .lists import Batch, Lists, NeighborList, Tick
from .subscription import Event, Subscription
from .traces import replay

if TYPE_CHECKING:
    from .neighbors import (
        KNeighborsClassifier,
        KNeighborsRegressor,
        KNeighborsTransformer,
        NearestNeighbors,
    )
    from .radius import (
        RadiusNeighborsClassifier,
        RadiusNeighborsRegressor,
        RadiusNeighborsTransformer,
    )

__version__ = "0.2.0"

_ESTIMATORS = {
    "KNeighborsClassifier": "neighbors",
    "KNeighborsRegressor": "neighbors",
    "KNeighborsTransformer": "neighbors",
    "NearestNeighbors": "neighbors",
    "RadiusNeighborsClassifier": "radius",
    "RadiusNeighborsRegressor": "radius",
    "RadiusNeighborsTransformer": "radius",
}

__all__ = [
    "Batch", "Client", "Engine", "ErrorCode", "Event", "Index", "InvalidArgument",
    "KNeighborsClassifier", "KNeighborsRegressor", "KNeighborsTransformer", "Limit", "Lists",
    "NO_LABEL", "NearestNeighbors", "NeighborList", "Neighbors", "OutOfMemory",
    "RadiusLists", "RadiusNeighborsClassifier", "RadiusNeighborsRegressor",
    "RadiusNeighborsTransformer", "RoundingWarning", "SearchResult", "ServerInfo", "StarlingError",
    "Subscription", "Tick", "TimedOut", "UnknownObject", "aio", "knn", "replay", "text_id",
    "version",
]


def __getattr__(name: str) -> Any:
    # Importing scikit-learn takes most of a second.
    if name in _ESTIMATORS:
        from importlib import import_module

        return getattr(import_module(f".{_ESTIMATORS[name]}", __name__), name)
    raise AttributeError(f"module 'starling' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
