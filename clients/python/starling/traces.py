# SPDX-License-Identifier: Apache-2.0
"""Recorded traces as frames: runs the program `starling replay`, and reads what it writes."""

from __future__ import annotations

import datetime
import io
import os
import selectors
import shutil
import subprocess
import tempfile
import time
import warnings
from typing import IO, TYPE_CHECKING, Any, Iterator, Optional

import numpy as np

from . import _arrays
from ._progress import Bar, Progress, to_function
from .errors import ErrorCode, InvalidArgument, StarlingError

if TYPE_CHECKING:
    import pandas

_READ_BYTES = 1 << 16  # capacity of a pipe
_PATIENCE = 0.1  # seconds between two calls of `progress`


def replay(
    *traces: Any, program: Optional[str] = None, progress: Progress = None, **flags: Any
) -> pandas.DataFrame:
    """Runs recorded traces through an engine and returns the neighbour lists of each tick.

    Args:
        traces: paths of files and folders; together they are one trace. docs/traces.md says which
            files are read.
        program: the path of `starling`; None: the path in STARLING_PROGRAM, else the program on
            PATH.
        progress: a function that gets two numbers a few times a second, `done` and `total` ticks;
            both are 0 while rows are read. An exception that it raises ends the program. None, True
            and False mean the same as for `knn`.
        flags: the flags of `starling replay`, with _ for -, and with_ for --with: k=5, tick="1s",
            object_ttl="3s", changes=True. A duration may be a timedelta. A list is passed as words
            with commas between them.

    Returns a frame with the columns tick, time (datetime64), query_id and object_id (texts), rank
    from 1 (Int64), and distance_m. An empty list has one row of rank 0, where object_id and
    distance_m are missing. With changes=True, a removed list has one row where rank is missing too.
    Distances have three decimals. With exact=True they are the engine's exact numbers, so that each
    keeps its neighbour if it is used as distance_max. Needs pandas. Raises StarlingError with the
    program's message if it fails, and FileNotFoundError if there is no program. Each warning of the
    program is a UserWarning, and so is the first row that it skips for each reason.
    """
    import pandas

    path = program or os.environ.get("STARLING_PROGRAM") or shutil.which("starling")
    if path is None:
        raise FileNotFoundError(
            "The program starling is not on PATH; name it in STARLING_PROGRAM or `program`.")
    words = [path, "replay", *map(os.fspath, traces)]
    for name, value in flags.items():
        words += _words_of("--" + name.rstrip("_").replace("_", "-"), value)
    follows = progress is not False and "journal" not in flags
    with tempfile.TemporaryFile() as said, _Output(progress) as output:
        with output.start([*words, "--out", "-"], said, follows) as running:
            try:
                # pandas' default parser may be one unit in the last place off.
                frame = pandas.read_csv(
                    io.BufferedReader(output, _READ_BYTES), float_precision="round_trip",
                    keep_default_na=False, na_values=[""],
                    dtype={"query_id": str, "object_id": str, "rank": "Int64"})
            except pandas.errors.EmptyDataError:
                frame = pandas.DataFrame()
            except BaseException:
                running.kill()
                output.check()
                raise
            output.check()
        said.seek(0)
        sentence = said.read().decode("utf-8", "replace").strip()
        if running.returncode != 0:
            wrong = running.returncode == 2
            raise (InvalidArgument if wrong else StarlingError)(
                ErrorCode.INVALID_ARGUMENT if wrong else ErrorCode.REFUSED, sentence)
    for warning in _warnings_in(sentence):
        warnings.warn(warning, stacklevel=2)
    times = pandas.to_datetime(frame.pop("time_us"), unit="us")
    frame = frame.drop(columns="time", errors="ignore")  # --with time adds the same times as texts
    frame.insert(1, "time", times)
    return frame


def _warnings_in(said: str) -> Iterator[str]:
    """Yields the warnings among the lines of the program's standard error."""
    for line in said.splitlines():
        if line.startswith("replay: warning: "):
            yield line[len("replay: warning: "):]
        elif line.startswith("replay: the first row "):
            yield "rows were skipped: " + line[len("replay: "):]


class _Output(io.RawIOBase):
    """The standard output of the program. Reads lines of progress in between.

    An exception of a signal handler or of `progress` ends the program. `check` raises it, because
    the parser that reads the output might replace it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = to_function(progress, "replaying")
        self._error: Optional[BaseException] = None
        self._selector = selectors.DefaultSelector()
        self._line = b""
        self._state = 0, 0
        self._due = 0.0

    def start(
        self, words: list[str], said: IO[bytes], follows: bool
    ) -> subprocess.Popen[bytes]:
        """Starts the program. `said` gets its stderr."""
        told, tells = os.pipe()
        self._told = open(told, "rb", buffering=0)
        with open(tells, "wb", buffering=0):
            if follows:
                words = [*words, "--progress-fd", str(tells)]
            self._running = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=said, pass_fds=[tells])
        assert self._running.stdout is not None
        self._selector.register(self._running.stdout, selectors.EVENT_READ)
        self._selector.register(self._told, selectors.EVENT_READ)
        return self._running

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            while True:
                ready = [key.fileobj for key, _ in self._selector.select(_PATIENCE)]
                if self._told in ready:
                    self._follow()
                if time.monotonic() >= self._due:
                    self._due = time.monotonic() + _PATIENCE
                    self._progress(*self._state)
                if self._running.stdout in ready:
                    return os.readv(self._running.stdout.fileno(), [buffer])
        except BaseException as error:
            self._error = error
            self._running.kill()
            return 0

    def _follow(self) -> None:
        """Reads lines of progress: what, done and total. The total is 0 while rows are read."""
        read = self._told.read(4096)
        if not read:
            self._selector.unregister(self._told)
            return
        *lines, self._line = (self._line + read).split(b"\n")
        for line in lines:
            done, total = map(int, line.split()[-2:])
            self._state = (done, total) if total else (0, 0)

    def check(self) -> None:
        """Raises the exception that ended the program, if there was one."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        if not self.closed:
            self._selector.close()
            if hasattr(self, "_told"):
                self._told.close()
            if isinstance(self._progress, Bar):
                self._progress.clear()
        super().close()


def _words_of(flag: str, value: Any) -> list[str]:
    """Returns a flag and its value as words of a command line."""
    if value is True:
        return [flag]
    if value is False or value is None:
        return []
    if isinstance(value, (datetime.timedelta, np.timedelta64)):
        return [flag, f"{_arrays.to_duration_us(value, flag, 0)}us"]
    if isinstance(value, (list, tuple)):
        return [flag, ",".join(map(str, value))]
    return [flag, str(value)]
