# SPDX-License-Identifier: Apache-2.0
"""Follows long calls of the library: runs signal handlers, so that Ctrl-C ends a call, and shows
the progress of the call."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from types import TracebackType
from typing import Any, Callable, Generator, Optional, TextIO, Union

from . import _library
from .errors import check

# None: a bar on stderr after two seconds, in the main thread only. True: a bar at once, in any
# thread. False: no bar. A function: it is called with two numbers, done and total. A bar is drawn
# only if stderr is a terminal.
Progress = Union[None, bool, Callable[[int, int], Any]]

_BAR_AFTER = 2.0  # seconds
_CELLS = 30

_thread = threading.local()  # .watch: the innermost Watch of the thread


class Bar:
    """Draws one line on stderr and redraws it in place, if stderr is a terminal."""

    def __init__(self, what: str, after: float = 0.0) -> None:
        self._what = what
        self._due = time.monotonic() + after
        self._terminal = _terminal()
        self._is_drawn = False

    def __call__(self, done: int, total: int) -> None:
        if self._terminal is None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + 0.1
        self._is_drawn = True
        text = f"{self._what} {done:,}" if done else self._what
        if total:
            full = _CELLS * done // total
            text += f" [{'#' * full:{_CELLS}}] {100 * done // total} %"
        self._write(text)

    def clear(self) -> None:
        if self._is_drawn:
            self._write("")
            self._is_drawn = False

    def _write(self, text: str) -> None:
        if self._terminal is None:
            return
        try:
            self._terminal.write(f"\r\033[K{text}")
            self._terminal.flush()
        except (OSError, ValueError):  # a closed terminal does not end the call
            self._terminal = None


def _terminal() -> Optional[TextIO]:
    """Returns stderr if it is a terminal."""
    try:
        return sys.stderr if sys.stderr.isatty() else None
    except (AttributeError, OSError, ValueError):  # stderr is None, closed, or lacks `isatty`
        return None


def to_function(progress: Progress, what: str) -> Callable[[int, int], Any]:
    """Returns `progress` if it is a function, else a Bar. Raises TypeError for any other value."""
    if callable(progress):
        return progress
    if progress is not None and not isinstance(progress, bool):
        raise TypeError(
            f"progress must be a function of two numbers, True, False or None, not {progress!r}.")
    if progress is None and threading.current_thread() is not threading.main_thread():
        progress = False
    return Bar(what, float("inf") if progress is False else 0.0 if progress else _BAR_AFTER)


class Watch:
    """A `with` block around calls of the library. An exception of a signal handler or of `progress`
    ends the call and is raised by `check`. `total` is the number of queries, if there are any."""

    def __init__(self, progress: Progress, what: str, total: int = 0) -> None:
        self._progress = to_function(progress, what)
        self._total = total
        self._error: Optional[BaseException] = None
        answers = self._answers()
        next(answers)
        # This is a generator and not a function: Python runs the handlers of pending signals where
        # the generator continues, within its `try`. In a function, they would run before the first
        # line, and ctypes would lose their exception.
        self._function = _library.ProgressFunction(answers.send)

    def _answers(self) -> Generator[int, Any, None]:
        answer = 0
        while True:
            try:
                while True:
                    pointer = yield answer
                    state = pointer.contents
                    self._progress(state.done, state.total)
            except GeneratorExit:
                return
            except BaseException as error:
                self._error, answer = error, 1

    def check(self, code: int) -> None:
        """Raises the exception that ended the call, or the library's error if `code` is one.
        Otherwise calls the caller's progress function once more: all queries are done."""
        if self._error is not None:
            raise self._error
        check(code)
        if self._total and not isinstance(self._progress, Bar):
            self._progress(self._total, self._total)

    def __enter__(self) -> Watch:
        self._outer: Optional[Watch] = getattr(_thread, "watch", None)
        self._set(self)
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._set(self._outer)
        self._error = None
        if isinstance(self._progress, Bar):
            self._progress.clear()

    @staticmethod
    def _set(watch: Optional[Watch]) -> None:
        _thread.watch = watch
        function = _library.ProgressFunction(0) if watch is None else watch._function
        check(_library.library().set_progress(function, None))
