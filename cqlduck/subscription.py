"""Subscriptions: the elements of a query as ticks close, for a loop or an event loop.

A subscription has the frontier up to which it has read. It reads the elements since, and waits for
the next tick only while there may be one. A thread waits on a condition; a task is woken by the
thread that runs the tick, so no number of waiting tasks needs a waiting thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator

import pyarrow as pa

from cqlduck.rewrite.text.time import Instant

Fetch = Callable[[Instant | None], tuple[list[pa.RecordBatch], Instant | None]]
"""Returns the batches that have come after an instant, and how far these go."""


class ChangeSignal(threading.Condition):
    """Says that something has changed: to threads that wait, and by calls.

    Attributes:
        count: How often it has said so.
    """

    def __init__(self) -> None:
        """Nobody waits yet."""
        super().__init__()
        self.count = 0
        self._wakers: list[Callable[[], None]] = []

    def notify_all(self) -> None:
        """Wake all who wait; the lock is held."""
        self.count += 1
        super().notify_all()
        for wake in self._wakers:
            wake()

    def wait_beyond(self, count: int, until: float | None) -> bool:
        """Wait until it has changed more than `count` times; return whether it has.

        Args:
            count: As it was.
            until: When to give up, by `time.monotonic()`, or None for never.
        """
        left = None if until is None else max(until - time.monotonic(), 0)
        with self:
            return self.wait_for(lambda: self.count > count, left)

    @contextlib.contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call a function at each change while the block runs."""
        with self:
            self._wakers.append(wake)
        try:
            yield
        finally:
            with self:
                self._wakers.remove(wake)


def _nothing() -> None:
    """Let whoever waits wait."""


class Subscription(Iterator[pa.RecordBatch], AsyncIterator[pa.RecordBatch]):
    """Yields batches, in a `for` or an `async for`; what it has yielded it does not yield again.

    Args:
        fetch: Returns what has come.
        goes_on: Returns whether ticks run by themselves; raises if the connection may not be used.
        changed: Says that something may have come, or will not go on.
        position: The instant after which it begins, or None.
        timeout: How many seconds it waits for a batch before it ends, or None for as long as more
            may come.
        refuse_to_wait: Raises if it is called inside of a tick, which would wait for itself.
    """

    def __init__(
        self,
        fetch: Fetch,
        goes_on: Callable[[], bool],
        changed: ChangeSignal,
        position: Instant | None,
        timeout: float | None,
        refuse_to_wait: Callable[[], None] = _nothing,
    ) -> None:
        """Begin to listen."""
        self._fetch = fetch
        self._goes_on = goes_on
        self._refuse_to_wait = refuse_to_wait
        self._changed = changed
        self._position = position
        self._timeout = timeout
        self._ready: deque[pa.RecordBatch] = deque()
        self._one = threading.Lock()
        self._ended = False

    def __next__(self) -> pa.RecordBatch:
        """Return the next batch, for which it may wait.

        Raises:
            StopIteration: No more comes, or not in time.
            DatabaseError: A listener would wait for the tick that waits for it.
        """
        until = self._until()
        while not self._ended:
            # before it looks: the last tick may be over by the time that nothing goes on
            goes_on, seen = self._goes_on(), self._changed.count
            batch = self._take()
            if batch is not None:
                return batch
            if goes_on:
                self._refuse_to_wait()
            self._ended = not goes_on or not self._changed.wait_beyond(seen, until)
        raise StopIteration

    async def __anext__(self) -> pa.RecordBatch:
        """Return the next batch without holding up the event loop.

        Raises:
            StopAsyncIteration: No more comes, or not in time.
        """
        until = self._until()
        # before any lock: in a child of the process nobody lets go of those that are held
        self._goes_on()
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            # the loop may be closed while the thread that ticks goes on
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(woken.set)

        with self._changed.waking(wake):
            while not self._ended:
                woken.clear()
                goes_on = self._goes_on()
                # a task that is cancelled takes nothing: the thread fetches, and taking is here
                try:
                    await asyncio.to_thread(self._fill)
                except Exception:
                    self._ended = True
                    raise
                if self._ready:
                    return self._ready.popleft()
                left = None if until is None else max(until - time.monotonic(), 0)
                try:
                    if goes_on:
                        await asyncio.wait_for(woken.wait(), left)
                    self._ended = not goes_on
                except TimeoutError:
                    self._ended = True
        raise StopAsyncIteration

    def _until(self) -> float | None:
        return None if self._timeout is None else time.monotonic() + self._timeout

    def _take(self) -> pa.RecordBatch | None:
        """Return the next batch of what has come, or None if there is none."""
        try:
            self._fill()
        except BaseException:
            self._ended = True
            raise
        with contextlib.suppress(IndexError):  # another thread may have taken it
            return self._ready.popleft()
        return None

    def _fill(self) -> None:
        """Fetch what has come, unless some of it is there still."""
        with self._one:
            if not self._ready:
                batches, self._position = self._fetch(self._position)
                self._ready.extend(batches)
