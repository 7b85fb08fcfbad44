# SPDX-License-Identifier: Apache-2.0
"""Recorded traces as frames: runs the program `starling replay`, and reads what it writes."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Optional

import numpy as np

from . import _arrays
from .errors import ErrorCode, InvalidArgument, StarlingError

if TYPE_CHECKING:
    import pandas


def replay(*traces: Any, program: Optional[str] = None, **flags: Any) -> pandas.DataFrame:
    """Runs recorded traces through an engine and returns the neighbour lists of each tick.

    Args:
        traces: paths of files and folders; together they are one trace. docs/traces.md says which
            files are read.
        program: the path of `starling`; None: the variable STARLING_PROGRAM, else that on PATH.
        flags: those of `starling replay`, with _ for -, and with_ for --with: k=5, tick="1s",
            object_ttl="3s", changes=True. A duration may be a timedelta, and a list is several
            words.

    Returns a frame with the columns tick, time (datetime64), query_id and object_id (texts), rank
    from 1 (Int64), and distance_m. An empty list has one row of rank 0, where object_id and
    distance_m are missing. With changes=True, a removed list has one row where rank is missing too.
    Distances have three decimals; with exact=True they are those of the engine, and each keeps its
    neighbour as distance_max. Needs pandas. Raises StarlingError with the program's words if it
    fails, and FileNotFoundError if there is no program. The program's warnings, and the first row
    that it skips for each reason, are a UserWarning each.
    """
    import pandas

    path = program or os.environ.get("STARLING_PROGRAM") or shutil.which("starling")
    if path is None:
        raise FileNotFoundError(
            "The program starling is not on PATH; name it in STARLING_PROGRAM or `program`.")
    words = [path, "replay", *map(os.fspath, traces)]
    for name, value in flags.items():
        words += _words_of("--" + name.rstrip("_").replace("_", "-"), value)
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen([*words, "--out", "-"], stdout=subprocess.PIPE, stderr=said) as running:
            assert running.stdout is not None
            try:
                # pandas' default parser may be one unit in the last place off.
                frame = pandas.read_csv(
                    running.stdout, float_precision="round_trip", keep_default_na=False,
                    na_values=[""], dtype={"query_id": str, "object_id": str, "rank": "Int64"})
            except pandas.errors.EmptyDataError:
                frame = pandas.DataFrame()
            finally:
                running.stdout.close()
        said.seek(0)
        sentence = said.read().decode("utf-8", "replace").strip()
        if running.returncode != 0:
            wrong = running.returncode == 2
            raise (InvalidArgument if wrong else StarlingError)(
                ErrorCode.INVALID_ARGUMENT if wrong else ErrorCode.REFUSED, sentence)
    for warning in _warnings_in(sentence):
        warnings.warn(warning, stacklevel=2)
    times = pandas.to_datetime(frame.pop("time_us"), unit="us")
    frame = frame.drop(columns="time", errors="ignore")  # of --with time, the same times as texts
    frame.insert(1, "time", times)
    return frame


def _warnings_in(said: str) -> Iterator[str]:
    """Yields the warnings among the lines of the program's standard error."""
    for line in said.splitlines():
        if line.startswith("replay: warning: "):
            yield line[len("replay: warning: "):]
        elif line.startswith("replay: the first row "):
            yield "rows were skipped: " + line[len("replay: "):]


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
