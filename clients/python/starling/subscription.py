# SPDX-License-Identifier: Apache-2.0
"""Follows a stream of a server. The library repairs gaps and restarts."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Iterator, Optional, Union

import numpy.typing as npt

from . import _library
from ._names import Names
from ._rows import Closing, Handle, to_bytes
from .errors import ErrorCode, StarlingError, check, text_of
from .lists import Lists, Result, Tick, make_tick

COMMANDS = "tcp://127.0.0.1:7411"
TIMEOUT = 30.0

Path = Union[str, "os.PathLike[str]"]

_POLL_MS = 200  # how long one wait in the library lasts, so that Ctrl-C is seen


def set_key(
    options: Union[_library.ClientOptions, _library.SubscriptionOptions],
    key: Optional[Path],
    server_key: Optional[Path],
) -> None:
    """Sets key_file and server_key of the options. If `key` is None, the key file is the path in
    the environment variable STARLING_KEY, if it is set."""
    path = os.environ.get("STARLING_KEY") or None if key is None else os.fspath(key)
    if path is not None:
        options.key_file = to_bytes(path, "key")
    if server_key is not None:
        options.server_key = to_bytes(os.fspath(server_key), "server_key")


@dataclass(frozen=True)
class Event:
    """One event of a subscription.

    Attributes:
        kind: "snapshot": `lists` replaces all lists held so far; "tick": `lists` are those that
            changed; "lost": `lost` ticks were lost, and a snapshot follows; "restarted": the
            server has restarted, and a snapshot follows.
        lists: the lists of a snapshot or a tick, else None.
        tick: the tick of a snapshot or a tick event, else None.
        lost: how many ticks were lost.
    """

    kind: str
    lists: Optional[Lists]
    tick: Optional[Tick]
    lost: int


class Subscription(Closing):
    """Follows a stream. Iterating yields its events without end; each step waits for the next.

    The library repairs gaps and restarts of the server: a program that applies each event holds the
    server's exact answer, and `lists` returns it at any time. Client.subscribe makes one.
    """

    def __init__(
        self,
        stream: str,
        *,
        commands: str = COMMANDS,
        results: Optional[str] = None,
        timeout: float = TIMEOUT,
        name: str = "python",
        key: Optional[Path] = None,
        server_key: Optional[Path] = None,
        queries: Optional[npt.ArrayLike] = None,
        subjects: Optional[npt.ArrayLike] = None,
        names: Optional[Names] = None,
    ) -> None:
        call = _library.library()
        self._call = call
        self._handle = Handle("subscription", call.subscription_close)
        self.names = Names() if names is None else names
        options = _library.SubscriptionOptions()
        check(call.subscription_options_init(ctypes.byref(options), options.size))
        options.commands = to_bytes(commands, "commands")
        if results is not None:
            options.results = to_bytes(results, "results")
        options.name = to_bytes(name, "name")
        options.stream = to_bytes(stream, "stream")
        options.timeout_ms = to_ms(timeout)
        set_key(options, key, server_key)
        kept = []  # keeps the arrays alive until the library has copied them
        for what, ids in (("query", queries), ("subject", subjects)):
            if ids is not None:
                numbers = self.names.ids_of(ids)
                kept.append(numbers)
                setattr(options, what + "_ids", numbers.ctypes.data)
                setattr(options, what + "_count", len(numbers))
        raw = ctypes.c_void_p()
        check(call.subscription_open(ctypes.byref(options), ctypes.byref(raw)))
        self._handle.take(raw)
        self.obstacle = ""
        self._has_started = False

    def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """Waits for the next event: at most `timeout` seconds, or without end if it is None.

        Returns None if the time is up. Then `obstacle` says why the last request to the server
        failed, or that no messages come from `results`. It is "" if all is well.

        Raises StarlingError with the name "unknown_stream" if the server has no such stream and
        this subscription has never had a snapshot of it. A later call asks again."""
        left_ms = None if timeout is None else to_ms(timeout)
        while True:
            wait_ms = _POLL_MS if left_ms is None else min(_POLL_MS, left_ms)
            event = self._take(wait_ms)
            if event is not None:
                return event
            if left_ms is not None:
                left_ms -= wait_ms
                if left_ms <= 0:
                    return None

    def lists(self) -> Lists:
        """Returns all lists that are held now, in the order of query and subject. Raises
        StarlingError before the first snapshot."""
        raw = ctypes.c_void_p()
        check(self._call.subscription_lists(self._handle.raw, ctypes.byref(raw)))
        return Result(raw, self.names).lists(0)

    def _take(self, timeout_ms: int) -> Optional[Event]:
        raw_event, raw = _library.Event(), ctypes.c_void_p()
        check(self._call.subscription_next(
            self._handle.raw, timeout_ms, ctypes.byref(raw_event), ctypes.byref(raw)))
        self.obstacle = text_of(raw_event.obstacle)
        name = text_of(raw_event.obstacle_name)
        kind = _library.EVENTS[raw_event.kind]
        if kind == "none":
            if name == "unknown_stream" and not self._has_started:
                raise StarlingError(ErrorCode.REFUSED, self.obstacle, name)
            return None
        self._has_started = True
        tick = make_tick(Result(raw, self.names)) if raw else None
        lists = None if tick is None else next(iter(tick.streams.values()), None)
        return Event(kind, lists, tick, int(raw_event.ticks) if kind == "lost" else 0)

    def close(self) -> None:
        """Ends the subscription. Lists that it returned stay valid."""
        self._handle.close()

    def __iter__(self) -> Iterator[Event]:
        while True:
            event = self.next()
            assert event is not None
            yield event


def to_ms(seconds: float) -> int:
    """Returns whole milliseconds. Raises TypeError or ValueError if `seconds` is no time to
    wait."""
    if not isinstance(seconds, (int, float)):
        raise TypeError(f"timeout must be a number of seconds, not {seconds!r}.")
    if not 0 <= seconds < 2**40:
        raise ValueError(f"timeout is {seconds}; it must be zero or more seconds.")
    return round(seconds * 1000)
