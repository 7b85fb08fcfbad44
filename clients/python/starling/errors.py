# SPDX-License-Identifier: Apache-2.0
"""The errors of the library and of servers as exceptions, each with a sentence."""

from __future__ import annotations

import ctypes
import enum
from typing import NamedTuple, Optional

from . import _library


class ErrorCode(enum.IntEnum):
    """The kinds of errors: the codes of starling.h."""

    INVALID_ARGUMENT = 1
    BAD_HANDLE = 2
    IN_USE = 3
    REFUSED = 4
    TIMED_OUT = 5
    OUT_OF_MEMORY = 6
    UNAVAILABLE = 7
    TICK_FAILED = 8
    INTERNAL = 9
    CANCELLED = 10


class Limit(NamedTuple):
    """A limit of the engine or the server that was reached."""

    name: str
    value: int


class StarlingError(Exception):
    """A call failed and has changed nothing. `str(error)` is the sentence.

    Attributes:
        code: the kind of error.
        name: the code of a refusal, such as "unknown_stream"; "" for other errors.
        sentence: what is wrong, where, and what is allowed.
        limit: the limit that was reached, or None.
    """

    def __init__(
        self, code: ErrorCode, sentence: str, name: str = "", limit: Optional[Limit] = None
    ) -> None:
        super().__init__(code, sentence, name, limit)
        self.code = code
        self.sentence = sentence
        self.name = name
        self.limit = limit

    def __str__(self) -> str:
        return self.sentence


class InvalidArgument(StarlingError, ValueError):
    """An argument is wrong. The sentence names it."""


class TimedOut(StarlingError, TimeoutError):
    """The server did not answer in time."""


class OutOfMemory(StarlingError, MemoryError):
    """There is not enough memory."""


class RoundingWarning(UserWarning):
    """Points that differ are equal once they are rounded to float32."""


class UnknownObject(StarlingError, KeyError):
    """A question follows an object that the tick of its answer does not have."""


_CLASSES: dict[ErrorCode, type[StarlingError]] = {
    ErrorCode.INVALID_ARGUMENT: InvalidArgument,
    ErrorCode.TIMED_OUT: TimedOut,
    ErrorCode.OUT_OF_MEMORY: OutOfMemory,
}


def text_of(raw: Optional[bytes]) -> str:
    """Returns a text of the library."""
    return (raw or b"").decode("utf-8", "replace")


def check(code: int) -> None:
    """Raises this thread's last error if `code` is not 0."""
    if code == 0:
        return
    error = _library.Error()
    _library.library().last_error(ctypes.byref(error))
    try:
        kind = ErrorCode(code)
    except ValueError:  # the library is newer than this package
        kind = ErrorCode.INTERNAL
    limit_name = text_of(error.limit_name)
    raise _CLASSES.get(kind, StarlingError)(
        kind,
        text_of(error.sentence) or f"starling failed with the code {code}.",
        text_of(error.name),
        Limit(limit_name, error.limit_value) if limit_name else None,
    )
