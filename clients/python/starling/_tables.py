# SPDX-License-Identifier: Apache-2.0
"""The methods that Engine and Client share: they send rows and queries to the tables."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _arrays, _library
from ._names import Names
from ._rows import Closing, Handle, to_bytes
from .errors import check
from .lists import Batch, make_batch


class Tables(Closing):
    """The base of Engine and Client."""

    _prefix: str  # prefix of the library's functions
    _call: Any
    _handle: Handle
    _has_statuses: bool  # whether the functions return a status for each row
    names: Names

    def _send(self, function: str, count: int, *arguments: Any) -> Batch:
        """Calls a function of the library that takes `count` rows."""
        statuses = np.empty(count, dtype=np.uint8) if self._has_statuses else None
        counts = _library.Counts()
        places = (_arrays.address(statuses),) if self._has_statuses else ()
        check(getattr(self._call, f"{self._prefix}_{function}")(
            self._handle.raw, *arguments, *places, ctypes.byref(counts)))
        return make_batch(counts, statuses)

    def update_tags(
        self, ids: npt.ArrayLike, times: Any = None, *, set: Any = 0, clear: Any = 0
    ) -> Batch:
        """Sets and clears tag bits of known objects. `set` and `clear` are (n,) or one for all."""
        numbers = self.names.ids_of(ids)
        count = len(numbers)
        moments = _arrays.to_times_us(times, count, "times")
        ones = _arrays.to_integers(set, np.uint32, count, "set")
        zeros = _arrays.to_integers(clear, np.uint32, count, "clear")
        return self._send(
            "update_tags", count, count, *map(_arrays.address, (numbers, moments, ones, zeros)))

    def remove(self, ids: npt.ArrayLike, times: Any = None) -> Batch:
        """Removes objects. Rows that are older than the removal do not bring them back."""
        numbers = self.names.ids_of(ids)
        count = len(numbers)
        moments = _arrays.to_times_us(times, count, "times")
        return self._send(
            "remove_objects", count, count, _arrays.address(numbers), _arrays.address(moments))

    def remove_queries(self, stream: str, ids: npt.ArrayLike) -> Batch:
        """Removes queries of a stream: (n,)."""
        numbers = self.names.ids_of(ids)
        return self._send(
            "remove_queries", len(numbers), to_bytes(stream, "stream"), _arrays.address(numbers),
            len(numbers))
