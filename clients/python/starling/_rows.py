# SPDX-License-Identifier: Apache-2.0
"""Turns the arguments of update and put_stream into structs, and owns handles. Engine and Client
share it."""

from __future__ import annotations

import ctypes
import difflib
import os
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Iterable, Iterator, Optional, TypeVar

import numpy as np
import numpy.typing as npt

from . import _arrays, _library
from ._names import Names
from .errors import ErrorCode, StarlingError, check

T = TypeVar("T")


class Handle:
    """Owns a handle of the library. `close` destroys it, and so does leaving a `with` block.

    A handle needs threads of the library, which a forked child does not have. In the child, the
    handle is refused unless `works_in_child` is set, and is never destroyed."""

    def __init__(self, what: str, destroy: Any, works_in_child: bool = False) -> None:
        self._what = what
        self._destroy = destroy
        self._works_in_child = works_in_child
        self._process = os.getpid()
        self._raw: Optional[ctypes.c_void_p] = None

    def take(self, raw: ctypes.c_void_p) -> None:
        self._raw = raw

    @contextmanager
    def taking(self) -> Iterator[ctypes.c_void_p]:
        """Yields a pointer for the library to fill, and takes the handle that it holds at the end,
        even if a signal handler raises after the library has filled it."""
        raw = ctypes.c_void_p()
        try:
            yield raw
        finally:
            if raw:
                self._raw = raw

    @property
    def raw(self) -> ctypes.c_void_p:
        if self._raw is None:
            raise StarlingError(ErrorCode.BAD_HANDLE, f"The {self._what} is closed.")
        if self._is_inherited and not self._works_in_child:
            raise StarlingError(
                ErrorCode.BAD_HANDLE,
                f"The {self._what} belongs to the process before the fork. Make one in this "
                "process.")
        return self._raw

    @property
    def _is_inherited(self) -> bool:
        return os.getpid() != self._process

    def close(self) -> None:
        """Destroys the handle. Raises StarlingError while another thread uses it."""
        if self._raw is not None:
            if not self._is_inherited:
                check(self._destroy(self._raw))
            self._raw = None

    def __del__(self) -> None:
        if self._raw is not None and not self._is_inherited:
            self._destroy(self._raw)


class Closing:
    """A base class: leaving a `with` block closes the object."""

    def __enter__(self: T) -> T:
        return self

    def __exit__(
        self: Any,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


class Rows:
    """A starling_rows and the arrays that it points to."""

    def __init__(self, struct: _library.Rows, arrays: list[Optional[npt.NDArray[Any]]]) -> None:
        self.struct = struct
        self._arrays = arrays

    def __len__(self) -> int:
        return int(self.struct.count)


def make_rows(
    names: Names,
    dimension: int,
    ids: Any,
    positions: Any,
    times: Any = None,
    tags: Any = None,
    labels: Any = None,
    values: Any = None,
) -> Rows:
    """Returns the rows. `dimension` is 0 in a space of positions."""
    numbers = names.ids_of(ids)
    count = len(numbers)
    if np.ndim(positions) == 1 and count == 1:
        positions = _arrays.as_array(positions)[np.newaxis]
    places = _arrays.to_reals(positions, "positions", 2)
    if len(places) != count:
        raise ValueError(f"There are {count} ids and {len(places)} positions.")
    components = places.shape[1]
    if dimension and components != dimension:
        raise ValueError(f"positions has {components} columns; the space has {dimension}.")
    if not dimension and components not in (2, 3):
        raise ValueError(f"positions has {components} columns; a position has 2 or 3.")
    each_time: Optional[npt.NDArray[np.int64]] = None
    common_time_us = 0
    if times is None:
        common_time_us = _arrays.now_us()
    elif np.ndim(times) == 0:
        common_time_us = _arrays.to_time_us(times, "times")
    else:
        each_time = _arrays.to_times_us(times, count, "times")
    bits = None if tags is None else _arrays.to_integers(tags, np.uint32, count, "tags")
    classes = None if labels is None else _arrays.to_integers(labels, np.int64, count, "labels")
    numbers_of = None if values is None else _arrays.to_floats(values, count, "values")
    is_small = places.dtype == np.float32
    struct = _library.Rows(
        count=count,
        ids=_arrays.address(numbers),
        times_us=_arrays.address(each_time),
        time_us=common_time_us,
        coordinates=None if is_small else _arrays.address(places),
        coordinates_f32=_arrays.address(places) if is_small else None,
        components=components,
        tags=_arrays.address(bits),
        labels=_arrays.address(classes),
        values=_arrays.address(numbers_of),
    )
    return Rows(struct, [numbers, each_time, places, bits, classes, numbers_of])


def make_stream(
    name: str, on: str, with_distance: bool, with_position: bool, with_tags: bool
) -> _library.Stream:
    """Returns a starling_stream. Raises ValueError for an unknown `on`."""
    wanted = {"distance": with_distance, "position": with_position, "tags": with_tags}
    bits = sum(_library.WITH[what] for what, is_wanted in wanted.items() if is_wanted)
    stream = _library.Stream(name=to_bytes(name, "name"), on=index_of(on, _library.REPORTS, "on"))
    setattr(stream, "with", bits)
    return stream


def index_of(
    value: str, allowed: tuple[str, ...], argument: str, other_names: Iterable[str] = ()
) -> int:
    """Returns the index of `value` in `allowed`. Raises ValueError, which lists the allowed words
    and suggests a similar one of them or of `other_names`, if there is one."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"{argument} is {value!r}; it must be one of {', '.join(allowed)}."
            + guess(value, (*allowed, *other_names)))
    return allowed.index(value)


def guess(value: Any, allowed: Iterable[str]) -> str:
    """Returns a question with the allowed word that is most like the value, or "" if there is
    none."""
    near = difflib.get_close_matches(value, allowed, 1) if isinstance(value, str) else []
    return f" Did you mean {near[0]}?" if near else ""


def to_bytes(text: Any, argument: str) -> bytes:
    """Returns a text as UTF-8 for the library. Raises TypeError if it is no text, ValueError if it
    has a NUL."""
    if not isinstance(text, str):
        raise TypeError(f"{argument} must be a text, not {type(text).__name__}.")
    if "\0" in text:
        raise ValueError(f"{argument} must not have a NUL.")
    return text.encode()
