# SPDX-License-Identifier: Apache-2.0
"""A client of a running server."""

from __future__ import annotations

import ctypes
import math
import time
from dataclasses import dataclass
from typing import Any, Mapping, Optional

import numpy as np
import numpy.typing as npt

from . import _arrays, _library
from ._arrays import Time
from ._names import Names
from ._queries import make_queries
from ._rows import Handle, make_rows, make_stream, to_bytes
from ._tables import Tables
from .errors import ErrorCode, StarlingError, TimedOut, check, text_of
from .lists import Batch, Lists, Result, Tick, make_answers, make_tick
from .subscription import COMMANDS, TIMEOUT, Path, Subscription, set_key, to_ms

# A server may have two ticks under way when it acknowledges a row, so the third tick that finishes
# after that surely has the row.
_TICKS_UNTIL_SEEN = 3
_TICK_POLL = 0.005  # seconds


@dataclass(frozen=True)
class ServerInfo:
    """Describes a server.

    Attributes:
        epoch: a random number; it changes if the server restarts without its log.
        session: the number of this client's session, which is a secret.
        space, resolution_m, origin: the server's space, and the lattice of its positions.
        dimension, metric: those of the server's vectors; 0 and None in a space of positions.
        manual_ticks: whether ticks come from `advance` alone.
        restarts: how many restarts of the server this client has noticed.
        rows_lost: how many rows the server acknowledged to this client before its restarts. The
            restarted server may lack them: put them again.
    """

    epoch: int
    session: int
    space: str
    resolution_m: float
    origin: tuple[float, float, float]
    dimension: int
    metric: Optional[str]
    manual_ticks: bool
    restarts: int
    rows_lost: int


class Client(Tables):
    """A client of a server. Each call but `post` waits for the replies to what it sends.

    After a lost connection a request is sent again, and applied once. After a restart of the
    server, the client puts its names, streams and queries again; `info().rows_lost` says how many
    rows the restarted server may lack. Arguments are the same as those of Engine. One thread at a
    time may use a client.

    Args:
        commands: the endpoint of the server's commands.
        results: the endpoint of its results, for `subscribe`. None: the server names it.
        timeout: longest wait for a reply in seconds, reconnections included.
        name: the client's name in the server's log.
        restore: whether to put names, streams and queries again after a restart of the server.
        key: the path of this client's key file, for a server with keys (docs/security.md). None:
            the path in the environment variable STARLING_KEY, if it is set. The connection is then
            encrypted, and `subscribe` uses the same key.
        server_key: the server's public key, or the path of a file with it. It replaces the server's
            key in the key file. None: the key file has the server's key.

    Raises TimedOut if no server answers: at once if nothing listens at `commands`, else after
    `timeout`. Raises StarlingError if `commands` is another endpoint, such as the results endpoint,
    or if the server refuses the client or its key.
    """

    _prefix = "client"
    _has_statuses = False

    def __init__(
        self,
        commands: str = COMMANDS,
        results: Optional[str] = None,
        timeout: float = TIMEOUT,
        *,
        name: str = "python",
        restore: bool = True,
        key: Optional[Path] = None,
        server_key: Optional[Path] = None,
    ) -> None:
        call = _library.library()
        self._call = call
        self._handle = Handle("client", call.client_destroy)
        self._commands, self._results = commands, results
        self._timeout_ms, self._name = to_ms(timeout), name
        self._key, self._server_key = key, server_key
        options = _library.ClientOptions()
        check(call.client_options_init(ctypes.byref(options), options.size))
        options.commands = to_bytes(commands, "commands")
        options.name = to_bytes(name, "name")
        options.timeout_ms = self._timeout_ms
        options.restore = bool(restore)
        set_key(options, key, server_key)
        raw = ctypes.c_void_p()
        check(call.client_connect(ctypes.byref(options), ctypes.byref(raw)))
        self._handle.take(raw)
        self.names = Names()
        self._dimension = self.info().dimension

    def info(self) -> ServerInfo:
        """Describes the server, and its restarts as this client has noticed them."""
        raw = _library.ServerInfo()
        check(self._call.client_info(self._handle.raw, ctypes.byref(raw)))
        space = _library.SPACES[raw.space]
        return ServerInfo(
            epoch=int(raw.epoch),
            session=int(raw.session),
            space=space,
            resolution_m=float(raw.resolution_m),
            origin=(raw.origin[0], raw.origin[1], raw.origin[2]),
            dimension=int(raw.dimension),
            metric=_library.METRICS[raw.metric] if space == "vector" else None,
            manual_ticks=bool(raw.manual_ticks),
            restarts=int(raw.restarts),
            rows_lost=int(raw.rows_lost),
        )

    def update(
        self,
        ids: npt.ArrayLike,
        positions: npt.ArrayLike,
        times: Any = None,
        tags: Any = None,
        *,
        labels: Any = None,
        values: Any = None,
        wait: bool = False,
    ) -> Batch:
        """Puts positions or vectors for the server's next tick. Arguments are those of
        Engine.update. Texts among the ids become the objects' names.

        With `wait`, returns when a tick has taken the rows, so that `neighbors` sees them: up to
        three ticks later. On a server with keys, waiting needs the role stats; without this role no
        row is sent. Raises TimedOut if waiting takes longer than the client's timeout, and
        ValueError if the server's ticks are manual: call `advance` instead."""
        if wait:
            if self.info().manual_ticks:
                raise ValueError(
                    "This server ticks only on request; call advance() instead of waiting.")
            self._ticks()
        rows = make_rows(self.names, self._dimension, ids, positions, times, tags, labels, values)
        batch = self._send("update", len(rows), ctypes.byref(rows.struct))
        self._put_names()
        if wait:
            self._await_tick()
        return batch

    def _await_tick(self) -> None:
        """Waits for a tick that has all acknowledged rows."""
        give_up = time.monotonic() + self._timeout_ms / 1000
        seen_at = self._ticks() + _TICKS_UNTIL_SEEN
        while self._ticks() < seen_at:
            if time.monotonic() > give_up:
                raise TimedOut(
                    ErrorCode.TIMED_OUT,
                    f"No tick has taken the rows within {self._timeout_ms} ms. They are accepted, "
                    "and are seen after the server's next ticks.")
            time.sleep(_TICK_POLL)

    def _ticks(self) -> float:
        ticks = self.stats().get("starling_ticks_total", math.nan)
        if not math.isfinite(ticks):
            raise StarlingError(ErrorCode.REFUSED,
                                "The server does not say how many ticks it has had, so nothing can "
                                "wait for one. Call update() without wait.")
        return ticks

    def post(
        self,
        ids: npt.ArrayLike,
        positions: npt.ArrayLike,
        times: Any = None,
        tags: Any = None,
        *,
        labels: Any = None,
        values: Any = None,
    ) -> None:
        """Puts rows as `update` does, but waits only until the server has room for them. `flush`
        returns what became of them."""
        rows = make_rows(self.names, self._dimension, ids, positions, times, tags, labels, values)
        check(self._call.client_post(self._handle.raw, ctypes.byref(rows.struct)))

    def flush(self) -> Batch:
        """Waits for the replies to all posted rows, and returns their sums since the last flush.
        If the server refused a whole batch, raises StarlingError with the first refusal."""
        batch = self._send("flush", 0)
        self._put_names()
        return batch

    def put_names(self, texts: Mapping[int, str]) -> Batch:
        """Gives objects texts for display. The id of each text must be starling.text_id(text)."""
        return self._send_names(list(texts.items()))

    def put_stream(
        self,
        name: str,
        on: str = "order",
        *,
        with_distance: bool = True,
        with_position: bool = False,
        with_tags: bool = False,
    ) -> None:
        """Adds a stream, or changes what it reports. Arguments are those of Engine.put_stream."""
        stream = make_stream(name, on, with_distance, with_position, with_tags)
        check(self._call.client_put_stream(self._handle.raw, ctypes.byref(stream)))

    def remove_stream(self, name: str) -> None:
        """Removes a stream and its queries."""
        check(self._call.client_remove_stream(self._handle.raw, to_bytes(name, "name")))

    def put_queries(
        self,
        stream: str,
        ids: npt.ArrayLike,
        k: Any,
        *,
        at: Any = None,
        follow: Any = None,
        every_object: bool = False,
        tags_required: Any = 0,
        tags_forbidden: Any = 0,
        distance_max: Any = np.inf,
        age_max: Any = None,
        subject_required: Any = 0,
        subject_forbidden: Any = 0,
        lease: Any = None,
        vote: bool = False,
        regress: Optional[str] = None,
    ) -> Batch:
        """Adds standing queries to a stream. Arguments are those of Engine.put_queries."""
        queries = make_queries(
            self.names, self._dimension, k, ids=ids, at=at, follow=follow,
            every_object=every_object, tags_required=tags_required, tags_forbidden=tags_forbidden,
            distance_max=distance_max, age_max=age_max, subject_required=subject_required,
            subject_forbidden=subject_forbidden, lease=lease, vote=vote, regress=regress)
        return self._send(
            "put_queries", len(queries), to_bytes(stream, "stream"), queries.address, len(queries))

    def neighbors(
        self,
        at: Any = None,
        k: Any = 1,
        *,
        follow: Any = None,
        tags_required: Any = 0,
        tags_forbidden: Any = 0,
        distance_max: Any = np.inf,
        age_max: Any = None,
        vote: bool = False,
        regress: Optional[str] = None,
        time: Optional[Time] = None,
    ) -> Lists:
        """Answers questions from the server's last finished tick, or from the last tick at or
        before `time`, which the server reads from its log. The other arguments are those of
        Engine.neighbors."""
        questions = make_queries(
            self.names, self._dimension, k, at=at, follow=follow, tags_required=tags_required,
            tags_forbidden=tags_forbidden, distance_max=distance_max, age_max=age_max, vote=vote,
            regress=regress)
        raw = ctypes.c_void_p()
        if time is None:
            check(self._call.client_neighbors(
                self._handle.raw, questions.address, len(questions), ctypes.byref(raw)))
        else:
            check(self._call.client_neighbors_at(
                self._handle.raw, questions.address, len(questions),
                _arrays.to_time_us(time, "time"), ctypes.byref(raw)))
        return make_answers(Result(raw, self.names), follow)

    def advance(self, tau: Optional[Time] = None) -> Tick:
        """Runs a tick of a server whose ticks are manual, at the time tau (None: now). The tick
        has no lists: subscribe for them."""
        info = _library.TickInfo()
        tau_us = _arrays.now_us() if tau is None else _arrays.to_time_us(tau, "tau")
        check(self._call.client_advance_tick(self._handle.raw, tau_us, ctypes.byref(info)))
        return make_tick(None, info)

    def stats(self) -> dict[str, float]:
        """Returns the server's statistics by their names."""
        found: dict[str, float] = {}

        def take(_: object, name: bytes, value: float) -> None:
            found[text_of(name)] = value

        check(self._call.client_stats(self._handle.raw, _library.TakeStatistic(take), None))
        return found

    def subscribe(
        self,
        stream: str,
        *,
        queries: Optional[npt.ArrayLike] = None,
        subjects: Optional[npt.ArrayLike] = None,
    ) -> Subscription:
        """Follows a stream with a connection of its own, which another thread may use.

        Args:
            stream: its name.
            queries: (n,), only the lists of these queries; None: all.
            subjects: (n,), only the lists of these objects, in every-object queries; None: all.
        """
        return Subscription(
            stream, commands=self._commands, results=self._results,
            timeout=self._timeout_ms / 1000, name=self._name, key=self._key,
            server_key=self._server_key, queries=queries, subjects=subjects, names=self.names)

    def close(self) -> None:
        """Ends the connection."""
        self._handle.close()

    def __repr__(self) -> str:
        return f"<Client of {self._commands}>"

    def _put_names(self) -> None:
        unsent = self.names.take_unsent()
        if unsent:
            self._send_names(unsent)

    def _send_names(self, pairs: list[tuple[int, str]]) -> Batch:
        ids = np.array([number for number, _ in pairs], dtype=np.uint64)
        texts = (ctypes.c_char_p * len(pairs))(*[to_bytes(text, "texts") for _, text in pairs])
        return self._send("put_names", len(pairs), len(pairs), _arrays.address(ids), texts)
