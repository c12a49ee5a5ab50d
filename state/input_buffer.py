"""The buffer of what comes: rows of streams lie in it until a tick says where they go.

What a tick reads of a stream it mostly reads once: a filter, a sum over all that came. If no later
tick can need any of it, the rows need not go into the store and leave it again: the arrivals of the
tick are the queue, an Arrow table. That was a third of the time of a tick that filters 100,000
rows. Else they go into the store before anything reads it; the arrivals may be the queue still,
beside older rows in the store. Of 92,000 bids in a join that was a third of the tick.

In memory the queue may hold what windows look back to, too: while that is `MOST` rows at most the
store stays empty, and a tick writes none of its rows. They go into the store when somebody is about
to look at it; from the store they come back when nobody has looked for `QUIET` ticks. Rows of small
ticks are put together into pieces, so that a tick meets few of them, however many ticks it holds.

The rows wait inside of one transaction. If it is undone, they have not come.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cqlduck.rewrite.text.time import Clock
from cqlduck.state import lateness, names, queues
from cqlduck.state.catalog import Input
from cqlduck.state.connection import Database, quoted
from cqlduck.state.queues import Arrival

MOST = 400_000
"""How many rows a queue holds at most from tick to tick."""

PIECE = 10_000
"""How many rows a piece has at most that is put together from the rows of several ticks."""

QUIET = 16
"""For how many ticks rows stay in a store that somebody has looked at."""


class Place(enum.Enum):
    """Where the rows of a stream lie that come in a tick."""

    QUEUE = "queue"
    """In memory alone, as far as no later tick can miss them in the store."""

    BOTH = "queue and store"
    """In the store, for what looks back, and in memory, for the tick."""

    STORE = "store"
    """In the store alone."""


@dataclass(frozen=True)
class Queue:
    """What waits of a stream.

    Attributes:
        thing: The stream; its counters are past these rows already.
        table: The rows that have come since the last tick, as the store would have them.
        before: The last instant of which the stream had rows before these, or None.
        made: What was worked out of them, by the SELECT (`state.prefetch`).
        held: All rows that are kept of the stream, if they are here and not in its store.
        is_read_once: Whether the tick reads all that has come, and no later one any of it.
    """

    thing: Input
    table: pa.Table
    before: int | None
    made: Mapping[str, pa.Table] = field(default_factory=dict)
    held: pa.Table | None = None
    is_read_once: bool = False


@dataclass(frozen=True)
class Piece:
    """Rows that came together, or in ticks that follow each other.

    Attributes:
        table: The rows as the store would have them.
        last: Their last instant.
    """

    table: pa.Table
    last: int


Held = tuple[Piece, ...]
"""The rows that a queue holds from tick to tick, in the order of their arrival."""


def joined(held: Held, table: pa.Table) -> Held:
    """Return what is held, and the rows of one more tick.

    A piece has at least twice as many rows as the one after it, or both have `PIECE` together. So
    of n rows there are about log n + n / `PIECE` pieces, and each row is copied log `PIECE` times.
    """
    last = queues.last_of(table)
    while held:
        *others, before = held
        rows = before.table.num_rows
        if rows >= 2 * table.num_rows or rows + table.num_rows > PIECE:
            break
        table = pa.concat_tables([before.table, table]).combine_chunks()
        held, last = tuple(others), max(before.last, last)
    return (*held, Piece(table, last))


def _tables(held: Held) -> list[pa.Table]:
    return [piece.table for piece in held]


class InputBuffer:
    """The rows of streams that are in no store yet.

    Args:
        database: The database.
        inputs: Gives the inputs, by lower-case name.
    """

    def __init__(self, database: Database, inputs: Callable[[], Mapping[str, Input]]) -> None:
        """Begin closed: what comes then goes into the store."""
        self._database = database
        self._inputs = inputs
        database.participants.append(self)
        self._stack: contextlib.ExitStack | None = None
        self._queues: dict[str, Queue] = {}
        self._held: dict[str, Held] = {}
        self._looked: dict[str, int] = {}

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Let rows wait inside of the block, which is a transaction with its tick."""
        with contextlib.ExitStack() as stack:
            self._stack = stack
            try:
                yield
            finally:
                self._stack = None
                self._queues.clear()

    def mark(self) -> Mapping[str, Held]:
        """Return what is held now."""
        return dict(self._held)

    def roll_back(self, mark: Mapping[str, Held]) -> None:
        """Hold what was held then."""
        self._held = dict(mark)

    def take(self, clock: Clock, thing: Input, rows: Arrival) -> bool:
        """Let rows wait if they are clean rows of a stream; return whether they do.

        Else what waits of the stream already goes into the store, so that it is before these.
        """
        ready = rows.ready
        seen = None if ready is None else ready.seen
        if self._stack is not None and ready is not None and seen is not None and seen.count:
            last = lateness.limit(clock, thing)
            is_clean = thing.kind == "stream" and queues.is_clean(clock, thing, seen, last)
            table = ready.queue(thing, thing.next_seq) if is_clean else None
            if table is not None:
                first = self._queues.get(thing.name)
                made = ready.made if ready.begin == thing.next_seq else {}
                queue = Queue(thing, table, thing.last_instant, made)
                if first is not None:
                    table = pa.concat_tables([first.table, table])
                    queue = Queue(thing, table, first.before)
                self._queues[thing.name] = queue
                queues.count(clock, thing, seen)
                return True
        self.store(thing)
        return False

    def store(self, thing: Input) -> None:
        """Take what waits of a stream, and what its queue holds, into its store."""
        queue = self._queues.pop(thing.name, None)
        tables = [
            *_tables(self._held.pop(thing.name, ())),
            *([] if queue is None else [queue.table]),
        ]
        if not tables:
            return
        name = names.held(thing.name)
        with self._database.incoming.readable(name, pa.concat_tables(tables)):
            self._database.execute(
                f"INSERT INTO cql_state.{quoted(thing.table)} SELECT * FROM {quoted(name)}"
            )

    def flush(self) -> None:
        """Take what is held into the stores, because somebody is about to look at them."""
        for thing in self._inputs().values():
            if self._held.get(thing.name):
                self.store(thing)
                self._looked[thing.name] = QUIET

    @property
    def holds_some(self) -> bool:
        """Whether a queue holds rows from tick to tick."""
        return any(self._held.values())

    def settle(
        self,
        is_read_once: Callable[[Queue], bool],
        may_stay: Callable[[Input], bool],
        place: Callable[[Input], Place],
    ) -> Mapping[str, Queue]:
        """Take into the stores what they are for; return what waits besides, by stream.

        Args:
            is_read_once: Says of a queue whether this tick reads all of it, and no later one any.
            may_stay: Says of a stream whether its queue may hold what later ticks read.
            place: Says of a stream where what comes is to lie, as far as it may.
        """
        found: dict[str, Queue] = {}
        for thing in self._inputs().values():
            queue = self._queues.get(thing.name)
            if queue is None and not self._held.get(thing.name):
                continue
            where = place(thing)
            is_queue = where is Place.QUEUE
            is_new = queue is not None and thing.name not in self._held
            if is_queue and queue is not None and is_new and is_read_once(queue):
                self._forget(queue)
                queue = replace(queue, held=queue.table, is_read_once=True)
            elif is_queue and may_stay(thing) and self._hold(thing, queue):
                everything = pa.concat_tables(_tables(self._held[thing.name]))
                if queue is None:
                    queue = Queue(thing, everything.slice(0, 0), thing.last_instant)
                queue = replace(queue, held=everything)
            else:
                self.store(thing)
                if queue is None or where is Place.STORE:
                    continue
            found[thing.name] = queue
            self._show(names.arrived(thing.name), queue.table)
            if queue.held is not None:
                self._show(names.held(thing.name), queue.held)
        return found

    def _show(self, name: str, table: pa.Table) -> None:
        assert self._stack is not None
        self._stack.enter_context(self._database.incoming.readable(name, table))

    def _hold(self, thing: Input, queue: Queue | None) -> bool:
        """Have the queue hold what is needed of a stream, if it is not too much."""
        held = self._held.get(thing.name)
        if held is None:
            left = self._looked.get(thing.name, 0)
            self._looked[thing.name] = max(left - 1, 0)
            if left or not self._database.in_memory:
                return False
            store = f"cql_state.{quoted(thing.table)}"
            count = self._database.value(f"SELECT count(*) FROM {store}")
            if count > MOST:
                return False
            held = ()
            if count:
                held = joined((), self._database.arrow(f"FROM {store}"))
                self._database.execute(f"DELETE FROM {store}")
        rows = sum(piece.table.num_rows for piece in held)
        if rows + (0 if queue is None else queue.table.num_rows) > MOST:
            # they are where `store` looks for them
            self._held[thing.name] = held
            return False
        self._queues.pop(thing.name, None)
        self._held[thing.name] = held if queue is None else joined(held, queue.table)
        return True

    def forget(self, thing: Input, until: int) -> bool:
        """Let go of what a queue holds up to an instant; return whether it holds anything."""
        held = self._held.get(thing.name)
        if held is None:
            return False
        gone = [piece.last for piece in held if piece.last <= until]
        if gone:
            self._held[thing.name] = tuple(piece for piece in held if piece.last > until)
            thing.forgotten = max(gone)
        return True

    def _forget(self, queue: Queue) -> None:
        """Empty the store: nobody needs what is in it, as nobody will need what is in the queue."""
        thing = queue.thing
        kept_some = queue.before is not None
        if kept_some and (thing.forgotten is None or thing.forgotten < (queue.before or 0)):
            self._database.execute(f"DELETE FROM cql_state.{quoted(thing.table)}")
        thing.forgotten = thing.last_instant
