# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio: the names and arguments of starling.Client, awaited.

Each client and each subscription has a thread, which runs its calls one after the other."""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Callable, Concatenate, Coroutine, Optional, ParamSpec, TypeVar

import numpy.typing as npt

from .client import Client as BlockingClient
from .lists import Lists
from .subscription import COMMANDS, TIMEOUT, Event, Path
from .subscription import Subscription as BlockingSubscription

P = ParamSpec("P")
T = TypeVar("T")

_SLICE = 0.2  # seconds of one wait in the thread, so that closing is quick


def _awaited(
    method: Callable[Concatenate[BlockingClient, P], T]
) -> Callable[Concatenate[Client, P], Coroutine[Any, Any, T]]:
    """Returns a method that runs a method of the blocking client in the client's thread."""

    @functools.wraps(method)
    async def call(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        work = functools.partial(method, self._blocking, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    return call


class Client:
    """A client of a server. `await Client.connect(...)` or `async with await Client.connect()`
    makes one; the arguments are those of starling.Client."""

    def __init__(self, client: BlockingClient, thread: ThreadPoolExecutor) -> None:
        self._blocking = client
        self._thread = thread

    @classmethod
    async def connect(
        cls,
        commands: str = COMMANDS,
        results: Optional[str] = None,
        timeout: float = TIMEOUT,
        *,
        name: str = "python",
        restore: bool = True,
        key: Optional[Path] = None,
        server_key: Optional[Path] = None,
    ) -> Client:
        """Connects, and waits for the server for at most `timeout` seconds."""
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starling")
        work = functools.partial(
            BlockingClient, commands, results, timeout, name=name, restore=restore, key=key,
            server_key=server_key)
        try:
            return cls(await asyncio.get_running_loop().run_in_executor(thread, work), thread)
        except BaseException:
            thread.shutdown(wait=False)
            raise

    info = _awaited(BlockingClient.info)
    update = _awaited(BlockingClient.update)
    post = _awaited(BlockingClient.post)
    flush = _awaited(BlockingClient.flush)
    update_tags = _awaited(BlockingClient.update_tags)
    remove = _awaited(BlockingClient.remove)
    put_names = _awaited(BlockingClient.put_names)
    put_stream = _awaited(BlockingClient.put_stream)
    remove_stream = _awaited(BlockingClient.remove_stream)
    put_queries = _awaited(BlockingClient.put_queries)
    remove_queries = _awaited(BlockingClient.remove_queries)
    neighbors = _awaited(BlockingClient.neighbors)
    advance = _awaited(BlockingClient.advance)
    stats = _awaited(BlockingClient.stats)

    async def subscribe(
        self,
        stream: str,
        *,
        queries: Optional[npt.ArrayLike] = None,
        subjects: Optional[npt.ArrayLike] = None,
    ) -> Subscription:
        """Follows a stream: `async for event in await client.subscribe("riders")`."""
        work = functools.partial(
            self._blocking.subscribe, stream, queries=queries, subjects=subjects)
        return Subscription(
            await asyncio.get_running_loop().run_in_executor(self._thread, work))

    async def close(self) -> None:
        """Ends the connection."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._blocking.close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()


class Subscription:
    """Follows a stream: an asynchronous iterator of the events of starling.Subscription."""

    def __init__(self, subscription: BlockingSubscription) -> None:
        self._blocking = subscription
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starling")
        # The wait that is under way. If `next` is cancelled, its next call continues this wait, so
        # that no event is lost.
        self._wait: Optional[asyncio.Future[Optional[Event]]] = None

    async def next(self) -> Event:
        """Waits for the next event."""
        while True:
            if self._wait is None:
                self._wait = asyncio.get_running_loop().run_in_executor(
                    self._thread, self._blocking.next, _SLICE)
            try:
                event = await asyncio.shield(self._wait)
            except asyncio.CancelledError:
                raise
            except BaseException:
                self._wait = None
                raise
            self._wait = None
            if event is not None:
                return event

    @property
    def obstacle(self) -> str:
        """Returns why the last request to the server failed, such as an unknown stream; or ""."""
        return self._blocking.obstacle

    async def lists(self) -> Lists:
        """Returns all lists that are held now, in the order of query and subject."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._blocking.lists)

    async def close(self) -> None:
        """Ends the subscription. Lists that it returned stay valid."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._blocking.close)
        self._thread.shutdown(wait=False)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Event:
        return await self.next()

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()
