"""Rows of streams that have come, and lie in their queues until the tick says where they go.

What a tick reads of a stream it mostly reads once: a filter, a sum over all that came. If no later
tick can need any of it, the rows need not go into the store and leave it again: the statements of
the tick read them from the queue, an Arrow table, as if they were the store. That was a third of
the time of a tick that filters 100,000 rows. Else they go into the store before anything reads it.

The rows wait inside of one transaction. If it is undone, they have not come.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from cqlduck.rewrite.delta.form import queue_of
from cqlduck.rewrite.time import Clock
from cqlduck.state import queues
from cqlduck.state.catalog import Input
from cqlduck.state.connection import Database, quoted
from cqlduck.state.queues import Arrival


@dataclass(frozen=True)
class Queue:
    """What waits of a stream.

    Attributes:
        thing: The stream; its counters are past these rows already.
        table: The rows as the store would have them.
        before: The last instant of which the stream had rows before these, or None.
        made: What was worked out of them, by the SELECT (`state.apart`).
    """

    thing: Input
    table: pa.Table
    before: int | None
    made: Mapping[str, pa.Table]


class Waiting:
    """The queues of a tick.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        """Begin closed: what comes then goes into the store."""
        self._database = database
        self._stack: contextlib.ExitStack | None = None
        self._queues: dict[str, Queue] = {}

    @contextlib.contextmanager
    def room(self) -> Iterator[None]:
        """Let rows wait inside of the block, which is a transaction with its tick."""
        with contextlib.ExitStack() as stack:
            self._stack = stack
            try:
                yield
            finally:
                self._stack = None
                self._queues.clear()

    def take(self, clock: Clock, thing: Input, rows: Arrival) -> bool:
        """Let rows wait if they are clean rows of a stream; return whether they do.

        What waits of the stream already goes into the store first, so that it is before these.
        """
        self.store(thing.name)
        ready = rows.ready
        seen = None if ready is None else ready.seen
        if self._stack is None or ready is None or seen is None or not seen.count:
            return False
        if thing.kind != "stream" or not queues.is_clean(clock, thing, seen):
            return False
        table = ready.queue(thing)
        if table is None:
            return False
        self._queues[thing.name] = Queue(thing, table, thing.last_instant, ready.made)
        queues.count(clock, thing, seen)
        return True

    def store(self, name: str) -> None:
        """Take what waits of a stream into its store."""
        queue = self._queues.pop(name, None)
        if queue is None:
            return
        store, name = f"cql_state.{quoted(queue.thing.table)}", queue_of(queue.thing.name)
        with self._database.incoming.readable(name, queue.table):
            self._database.execute(f"INSERT INTO {store} SELECT * FROM {quoted(name)}")

    def settle(self, passes: Callable[[Queue], bool]) -> Mapping[str, Queue]:
        """Take into the stores what does not pass; return what is read from queues, by stream."""
        for name, queue in list(self._queues.items()):
            if not passes(queue):
                self.store(name)
                continue
            assert self._stack is not None
            self._stack.enter_context(self._database.incoming.readable(queue_of(name), queue.table))
            self._forget(queue)
        return dict(self._queues)

    def _forget(self, queue: Queue) -> None:
        """Empty the store: nobody needs what is in it, as nobody will need what is in the queue."""
        thing = queue.thing
        kept_some = queue.before is not None
        if kept_some and (thing.forgotten is None or thing.forgotten < (queue.before or 0)):
            self._database.execute(f"DELETE FROM cql_state.{quoted(thing.table)}")
        thing.forgotten = thing.last_instant
