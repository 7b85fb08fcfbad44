# SPDX-License-Identifier: Apache-2.0
"""Loads libstarling.so and declares the structs and functions of starling.h (clients/c).

All other modules call the library through `library()` and check each result with
`starling.errors.check`. A test compares this file with the header."""

from __future__ import annotations

import ctypes
import functools
import numbers
import os
import pathlib
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

NO_LABEL = -(2**63)
NO_ROW = 2**32 - 1
NOT_A_ROW = 2**64 - 1
FOREVER = 2**63 - 1

# The starling_list_event of a list that is gone.
LIST_REMOVED = 1

SPACES = ("planar2", "planar3", "wgs84", "vector")
METRICS = (
    "l2", "cosine", "pearson", "hellinger", "inner-product", "l1", "chebyshev", "jensen-shannon",
    "kullback-leibler",
)
BACKENDS = ("auto", "cpu", "cuda")
REPORTS = ("membership", "order", "distance")
WITH = {"distance": 1, "position": 2, "tags": 4}
ANCHORS = ("fixed", "follow", "every_object")
WEIGHTS = ("none", "uniform", "distance")
NEAREST_FIRST, BY_ROW = 0, 1
EVENTS = ("none", "snapshot", "tick", "lost", "restarted")


class Sized(ctypes.Structure):
    """A struct that begins with its own size. The constructor sets it."""

    def __init__(self, **members: Any) -> None:
        super().__init__(size=ctypes.sizeof(type(self)), **members)


class Error(Sized):
    _fields_ = [
        ("size", c_size_t), ("code", c_int32), ("name", c_char_p), ("sentence", c_char_p),
        ("limit_name", c_char_p), ("limit_value", c_uint64),
    ]


class Counts(Sized):
    _fields_ = [
        ("size", c_size_t), ("accepted", c_uint64), ("late", c_uint64), ("rejected", c_uint64),
    ]


# Pointers to arrays are c_void_p, because numpy gives addresses.
class Rows(Sized):
    _fields_ = [
        ("size", c_size_t), ("count", c_uint64), ("ids", c_void_p), ("times_us", c_void_p),
        ("time_us", c_int64), ("coordinates", c_void_p), ("coordinates_f32", c_void_p),
        ("components", c_uint32), ("tags", c_void_p), ("labels", c_void_p), ("values", c_void_p),
    ]


class Stream(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("on", c_int32), ("with", c_uint32)]


class Query(Sized):
    _fields_ = [
        ("size", c_size_t), ("id", c_uint64), ("k", c_uint32), ("anchor", c_int32),
        ("position", c_double * 3), ("vector", c_void_p), ("object", c_uint64),
        ("tags_required", c_uint32), ("tags_forbidden", c_uint32), ("distance_max", c_double),
        ("age_max_us", c_int64), ("subject_required", c_uint32), ("subject_forbidden", c_uint32),
        ("lease_us", c_int64), ("vote", c_int32), ("regress", c_int32),
    ]


class TickInfo(Sized):
    _fields_ = [
        ("size", c_size_t), ("epoch", c_uint64), ("tick", c_uint64), ("tau_us", c_int64),
        ("object_count", c_uint64), ("stream_count", c_uint64), ("build_ms", c_double),
        ("search_ms", c_double), ("diff_ms", c_double), ("warning", c_char_p),
    ]


class Lists(Sized):
    _fields_ = [
        ("size", c_size_t), ("stream", c_char_p), ("is_last", c_int32), ("list_count", c_uint64),
        ("entry_count", c_uint64), ("query_ids", c_void_p), ("subject_ids", c_void_p),
        ("has_subject", c_void_p), ("events", c_void_p), ("offsets", c_void_p),
        ("object_ids", c_void_p), ("distances", c_void_p), ("positions", c_void_p),
        ("tags", c_void_p), ("votes", c_void_p), ("means", c_void_p),
        ("is_unknown", c_void_p),
    ]


class EngineOptions(Sized):
    _fields_ = [
        ("size", c_size_t), ("space", c_int32), ("resolution_m", c_double),
        ("origin", c_double * 3), ("dimension", c_uint32), ("metric", c_int32),
        ("backend", c_int32), ("device", c_int32), ("threads", c_uint32),
        ("update_threads", c_uint32), ("objects_max", c_uint64), ("queries_max", c_uint64),
        ("neighbors_max", c_uint64), ("object_ttl_us", c_int64), ("tombstone_ttl_us", c_int64),
    ]


class IndexOptions(Sized):
    _fields_ = [
        ("size", c_size_t), ("metric", c_int32), ("backend", c_int32), ("device", c_int32),
        ("threads", c_uint32), ("borrows", c_int32), ("reserved", c_int32),
    ]


class RadiusLists(Sized):
    _fields_ = [
        ("size", c_size_t), ("list_count", c_uint64), ("entry_count", c_uint64),
        ("offsets", c_void_p), ("rows", c_void_p), ("distances", c_void_p),
    ]


class ClientOptions(Sized):
    _fields_ = [
        ("size", c_size_t), ("commands", c_char_p), ("name", c_char_p), ("timeout_ms", c_int64),
        ("restore", c_int32), ("reserved", c_int32), ("key_file", c_char_p),
        ("server_key", c_char_p),
    ]


class ServerInfo(Sized):
    _fields_ = [
        ("size", c_size_t), ("epoch", c_uint64), ("session", c_uint64), ("space", c_int32),
        ("resolution_m", c_double), ("origin", c_double * 3), ("dimension", c_uint32),
        ("metric", c_int32), ("manual_ticks", c_int32), ("restarts", c_uint64),
        ("rows_lost", c_uint64),
    ]


class SubscriptionOptions(Sized):
    _fields_ = [
        ("size", c_size_t), ("commands", c_char_p), ("results", c_char_p), ("name", c_char_p),
        ("timeout_ms", c_int64), ("stream", c_char_p), ("query_ids", c_void_p),
        ("query_count", c_uint64), ("subject_ids", c_void_p), ("subject_count", c_uint64),
        ("key_file", c_char_p), ("server_key", c_char_p),
    ]


class Event(Sized):
    _fields_ = [
        ("size", c_size_t), ("kind", c_int32), ("ticks", c_uint64), ("obstacle", c_char_p),
        ("obstacle_name", c_char_p),
    ]


class ProgressState(Sized):
    _fields_ = [
        ("size", c_size_t), ("context", c_void_p), ("done", c_uint64), ("total", c_uint64),
    ]


# Each struct by its name in the header.
STRUCTS: dict[str, type[Sized]] = {
    "starling_error": Error,
    "starling_counts": Counts,
    "starling_rows": Rows,
    "starling_stream": Stream,
    "starling_query": Query,
    "starling_tick_info": TickInfo,
    "starling_lists": Lists,
    "starling_engine_options": EngineOptions,
    "starling_index_options": IndexOptions,
    "starling_radius_lists": RadiusLists,
    "starling_client_options": ClientOptions,
    "starling_server_info": ServerInfo,
    "starling_subscription_options": SubscriptionOptions,
    "starling_event": Event,
    "starling_progress": ProgressState,
}

TakeStatistic = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_double)
ProgressFunction = ctypes.CFUNCTYPE(c_int32, POINTER(ProgressState))

_handle = c_void_p
_out = POINTER(c_void_p)
_array = c_void_p

# Result and arguments of each function, by its name without "starling_".
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "last_error": (c_int32, [POINTER(Error)]),
    "version": (c_char_p, []),
    "row_status_text": (c_char_p, [c_uint8]),
    "stream_init": (c_int32, [POINTER(Stream), c_size_t]),
    "query_init": (c_int32, [POINTER(Query), c_size_t]),
    "result_info": (c_int32, [_handle, POINTER(TickInfo)]),
    "result_lists": (c_int32, [_handle, c_uint64, POINTER(Lists)]),
    "result_destroy": (c_int32, [_handle]),
    "engine_options_init": (c_int32, [POINTER(EngineOptions), c_size_t]),
    "engine_create": (c_int32, [POINTER(EngineOptions), _out]),
    "engine_destroy": (c_int32, [_handle]),
    "engine_name": (c_char_p, [_handle]),
    "engine_update": (c_int32, [_handle, POINTER(Rows), c_int64, _array, POINTER(Counts)]),
    "engine_update_tags": (
        c_int32, [_handle, c_uint64, _array, _array, _array, _array, _array, POINTER(Counts)]),
    "engine_remove_objects": (
        c_int32, [_handle, c_uint64, _array, _array, _array, POINTER(Counts)]),
    "engine_put_stream": (c_int32, [_handle, POINTER(Stream)]),
    "engine_remove_stream": (c_int32, [_handle, c_char_p]),
    "engine_put_queries": (
        c_int32, [_handle, c_char_p, _array, c_uint64, _array, POINTER(Counts)]),
    "engine_remove_queries": (
        c_int32, [_handle, c_char_p, _array, c_uint64, _array, POINTER(Counts)]),
    "engine_tick": (c_int32, [_handle, c_int64, _out]),
    "engine_begin_tick": (c_int32, [_handle, c_int64]),
    "engine_finish_tick": (c_int32, [_handle, _out]),
    "engine_neighbors": (c_int32, [_handle, _array, c_uint64, _out]),
    "index_options_init": (c_int32, [POINTER(IndexOptions), c_size_t]),
    "index_create": (c_int32, [POINTER(IndexOptions), _array, c_uint64, c_uint32, _out]),
    "index_destroy": (c_int32, [_handle]),
    "index_search": (
        c_int32, [_handle, _array, c_uint64, c_uint32, c_uint64, _array, _array]),
    "index_create_f64": (c_int32, [POINTER(IndexOptions), _array, c_uint64, c_uint32, _out]),
    "index_search_f64": (
        c_int32, [_handle, _array, c_uint64, c_uint32, c_uint64, _array, _array]),
    "index_radius": (
        c_int32, [_handle, _array, c_uint64, c_double, c_uint64, c_int32, _out]),
    "index_radius_f64": (
        c_int32, [_handle, _array, c_uint64, c_double, c_uint64, c_int32, _out]),
    "radius_result_lists": (c_int32, [_handle, POINTER(RadiusLists)]),
    "radius_result_destroy": (c_int32, [_handle]),
    "index_rounding": (c_int32, [_handle, _array, POINTER(c_uint64)]),
    "knn": (
        c_int32, [POINTER(IndexOptions), _array, c_uint64, _array, c_uint64, c_uint32, c_uint32,
                  _array, _array]),
    "set_progress": (c_int32, [ProgressFunction, c_void_p]),
    "copy_from_device": (c_int32, [c_void_p, c_void_p, c_uint64, c_int32]),
    "client_options_init": (c_int32, [POINTER(ClientOptions), c_size_t]),
    "client_connect": (c_int32, [POINTER(ClientOptions), _out]),
    "client_destroy": (c_int32, [_handle]),
    "client_info": (c_int32, [_handle, POINTER(ServerInfo)]),
    "client_update": (c_int32, [_handle, POINTER(Rows), POINTER(Counts)]),
    "client_update_tags": (
        c_int32, [_handle, c_uint64, _array, _array, _array, _array, POINTER(Counts)]),
    "client_remove_objects": (c_int32, [_handle, c_uint64, _array, _array, POINTER(Counts)]),
    "client_put_names": (c_int32, [_handle, c_uint64, _array, POINTER(c_char_p), POINTER(Counts)]),
    "client_put_stream": (c_int32, [_handle, POINTER(Stream)]),
    "client_remove_stream": (c_int32, [_handle, c_char_p]),
    "client_put_queries": (c_int32, [_handle, c_char_p, _array, c_uint64, POINTER(Counts)]),
    "client_remove_queries": (c_int32, [_handle, c_char_p, _array, c_uint64, POINTER(Counts)]),
    "client_neighbors": (c_int32, [_handle, _array, c_uint64, _out]),
    "client_neighbors_at": (c_int32, [_handle, _array, c_uint64, c_int64, _out]),
    "client_advance_tick": (c_int32, [_handle, c_int64, POINTER(TickInfo)]),
    "client_post": (c_int32, [_handle, POINTER(Rows)]),
    "client_flush": (c_int32, [_handle, POINTER(Counts)]),
    "client_stats": (c_int32, [_handle, TakeStatistic, c_void_p]),
    "text_id": (c_uint64, [c_char_p]),
    "subscription_options_init": (c_int32, [POINTER(SubscriptionOptions), c_size_t]),
    "subscription_open": (c_int32, [POINTER(SubscriptionOptions), _out]),
    "subscription_close": (c_int32, [_handle]),
    "subscription_next": (c_int32, [_handle, c_int64, POINTER(Event), _out]),
    "subscription_lists": (c_int32, [_handle, _out]),
}


def set_member(options: Sized, name: str, value: Any) -> None:
    """Sets a number of a struct. Raises TypeError or ValueError if the member cannot hold the
    number, because ctypes would truncate it."""
    kind = type(getattr(options, name))
    if kind is int and (isinstance(value, bool) or not isinstance(value, numbers.Integral)):
        raise TypeError(f"{name} must be an integer, not {value!r}.")
    setattr(options, name, value)
    if kind is int and getattr(options, name) != value:
        raise ValueError(f"{name} cannot be {value}.")


class Library:
    """The functions of libstarling.so, without the prefix "starling_".

    ctypes lets other threads run while a function of the library runs."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self.path: str = loaded._name
        self._loaded = loaded

    # Python calls this only for a name that is not an attribute yet.
    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS:
            raise AttributeError(f"starling.h has no function starling_{name}")
        function = getattr(self._loaded, "starling_" + name)
        function.restype, function.argtypes = FUNCTIONS[name]
        setattr(self, name, function)
        return function


def _candidates() -> list[str]:
    """Returns the paths of the library to try, in this order."""
    named = os.environ.get("STARLING_LIBRARY")
    if named:
        return [named]
    inside = pathlib.Path(__file__).parent / "lib" / "libstarling.so.0"
    return [str(inside), "libstarling.so.0"] if inside.exists() else ["libstarling.so.0"]


@functools.lru_cache(maxsize=None)
def library() -> Library:
    """Returns the library, which the first call loads. Raises ImportError if it cannot be
    loaded."""
    tried = []
    for path in _candidates():
        try:
            return Library(ctypes.CDLL(path))
        except OSError as error:
            tried.append(f"{path}: {error}")
    raise ImportError(
        "libstarling.so.0 cannot be loaded. Install the wheel or Starling's library, or set "
        "STARLING_LIBRARY to the file's path. " + "; ".join(tried))
