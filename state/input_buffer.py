"""The buffer of what comes: rows of streams lie in it until a tick says where they go.

What a tick reads of a stream it mostly reads once: a filter, a sum over all that came. If no later
tick can need any of it, the rows need not go into the store and leave it again: the arrivals of the
tick are the queue, an Arrow table. That was a third of the time of a tick that filters 100,000
rows. Else they go into the store before anything reads it; the arrivals may be the queue still,
beside older rows in the store. Of 92,000 bids in a join that was a third of the tick.

In memory the queue may hold what windows look back to, too: while that is `MAX_ROWS` rows at most
the store stays empty, and a tick writes none of its rows. They go into the store when somebody is
about to look at it; from the store they come back when nobody has looked for `TICKS_IN_STORE`
ticks. Rows of small ticks are put together into pieces, so that a tick meets few of them, however
many ticks it holds.

The rows wait inside of one transaction. If it is undone, they have not come.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cqlduck.rewrite.text.time import Instant
from cqlduck.state import intake, lateness, names
from cqlduck.state.arrivals import Arrivals
from cqlduck.state.arrow import last_of
from cqlduck.state.catalog import Catalogue
from cqlduck.state.connection import Database, quoted
from cqlduck.state.instants import instant_of
from cqlduck.state.intake import Accepted
from cqlduck.state.registered import Input
from cqlduck.state.relation_buffer import RelationBuffer

MAX_ROWS = 400_000
"""How many rows a queue holds at most from tick to tick."""

PIECE = 10_000
"""How many rows a piece has at most that is put together from the rows of several ticks."""

TICKS_IN_STORE = 16
"""For how many ticks rows stay in a store that somebody has looked at."""


class Place(enum.Enum):
    """Where the rows of a stream lie that come in a tick."""

    QUEUE = "queue"
    """In memory alone, as far as no later tick can miss them in the store."""

    BOTH = "queue and store"
    """In the store, for what looks back, and in memory, for the tick."""

    STORE = "store"
    """In the store alone."""


class Stay(enum.Enum):
    """Where the rows of a stream may stay after the tick that reads them."""

    GONE = "gone"
    """Nowhere: the tick reads all of them, and no later one any."""

    HELD = "held"
    """In memory, for later ticks."""

    STORED = "stored"
    """In the store alone."""


@dataclass(frozen=True)
class Buffered:
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
    before: Instant | None
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
    last: Instant


Pieces = tuple[Piece, ...]
"""The rows that a queue holds from tick to tick, in the order of their arrival."""


def joined(held: Pieces, table: pa.Table) -> Pieces:
    """Return what is held, and the rows of one more tick.

    A piece has at least twice as many rows as the one after it, or both have `PIECE` together. So
    of n rows there are about log n + n / `PIECE` pieces, and each row is copied log `PIECE` times.
    """
    last = last_of(table)
    while held:
        *others, before = held
        rows = before.table.num_rows
        if rows >= 2 * table.num_rows or rows + table.num_rows > PIECE:
            break
        table = pa.concat_tables([before.table, table]).combine_chunks()
        held, last = tuple(others), max(before.last, last)
    return (*held, Piece(table, last))


class InputBuffer:
    """The rows of streams that are in no store yet.

    Args:
        database: The database.
        catalogue: What is registered.
        relations: The elements of relations that are in no queue table yet.
    """

    def __init__(self, database: Database, catalogue: Catalogue, relations: RelationBuffer) -> None:
        """Begin closed: what comes then goes into the store."""
        self._database = database
        self._catalogue = catalogue
        self.relations = relations
        database.participants.append(self)
        self._stack: contextlib.ExitStack | None = None
        self.arrived: dict[str, Buffered] = {}
        """What has come, by stream, and has not settled."""
        self.queues: dict[str, Buffered] = {}
        """What the tick may read from here, by stream."""
        self.kept: Mapping[str, Pieces] = {}
        """What is held from tick to tick, by stream."""
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
                self.arrived.clear()
                self.queues.clear()

    def roll_back(self, kept: Mapping[str, Pieces]) -> None:
        """Hold what was held then."""
        self.kept = kept

    def _keep(self, name: str, held: Pieces | None) -> None:
        """Hold something else of a stream; None if nothing, its rows being in the store."""
        if held is not None:
            self.kept = {**self.kept, name: held}
        elif name in self.kept:
            self.kept = {other: one for other, one in self.kept.items() if other != name}

    def accept(self, thing: Input, rows: Arrivals) -> Accepted:
        """Judge rows, and take them: the one way in.

        Rows of a stream that are clean, and lie in a table of Arrow, wait here for the tick that is
        about to run. Others that are clean go into the store as they are, and after what waits; the
        rest is judged one by one.

        Args:
            thing: The stream or relation; its heartbeat and counters move.
            rows: The rows; the table that they read, if it is one of Arrow, need not be registered.

        Raises:
            DataError: A row without a timestamp, or one that does not fit the input.
            LateError: Late rows under REJECT; nothing is taken.
        """
        clock, ready = self._catalogue.clock, rows.ready
        seen = rows.known
        if seen is None:
            with self._readable(rows):
                seen = intake.survey(self._database, thing, rows).get(0)
        if seen is None or not seen.count:
            return Accepted(0, 0)
        if not rows.are_clean:
            last = None if thing.ahead is None else lateness.limit(clock, thing)
            if not intake.is_clean(clock, thing, seen, last):
                self.store(thing)
                with self._readable(rows):
                    return intake.judge(self._database, clock, thing, rows)
        if ready is not None and ready.seen and self._stack is not None and thing.kind == "stream":
            is_made = ready.begin == thing.next_seq
            table = ready.stored if is_made else ready.as_stored(thing, thing.next_seq)
            if table is not None:
                buffered = Buffered(thing, table, thing.last_instant, ready.made if is_made else {})
                first = self.arrived.get(thing.name)
                if first is not None:
                    table = pa.concat_tables([first.table, table])
                    buffered = Buffered(thing, table, first.before)
                self.arrived[thing.name] = buffered
                intake.count(clock, thing, seen.count, seen.lowest, seen.highest)
                return Accepted(seen.count, 0)
        if thing.kind == "relation" and ready is not None and rows.raw is not None:
            instant, operation = instant_of(clock, rows.raw), rows.operation.strip("'")
            if self.relations.add(thing, ready, instant, operation):
                intake.count(clock, thing, seen.count, seen.lowest, seen.highest)
                return Accepted(seen.count, 0)
        self.store(thing)
        with self._readable(rows):
            intake.insert(self._database, clock, thing, rows, seen)
        return Accepted(seen.count, 0)

    def _readable(self, rows: Arrivals) -> contextlib.AbstractContextManager[None]:
        """Let statements of a block read the table of Arrow that rows lie in, if they do."""
        if rows.ready is None or rows.is_registered:
            return contextlib.nullcontext()
        return self._database.incoming.readable(rows.source, rows.ready.table)

    def add(self, thing: Input, table: pa.Table, *, is_held: bool) -> None:
        """Take rows of a stream that a tick makes itself, after its queries have run.

        Args:
            thing: The stream; its counters are those from before these rows.
            table: The rows as the store would have them.
            is_held: Whether the tick that reads them may read them from here.
        """
        buffered = Buffered(thing, table, thing.last_instant)
        if not (is_held and self._hold(thing, buffered)):
            self.arrived[thing.name] = buffered
            self.store(thing)

    def store(self, thing: Input) -> None:
        """Take what waits of a stream into its store, or of a relation into its queue."""
        if thing.kind == "relation":
            self.relations.store(thing)
            return
        buffered, held = self.arrived.pop(thing.name, None), self.kept.get(thing.name)
        if held is not None:
            self._keep(thing.name, None)
        tables = [piece.table for piece in held or ()]
        if buffered is not None:
            tables.append(buffered.table)
        if tables:
            name = f"_cql_stored_{thing.name}"
            with self._database.incoming.readable(name, pa.concat_tables(tables)):
                self._database.execute(
                    f"INSERT INTO cql_state.{quoted(thing.table)} SELECT * FROM {quoted(name)}"
                )

    def flush(self, inputs: Iterable[Input]) -> None:
        """Take what is held of inputs into their stores, where somebody is about to look."""
        for thing in inputs:
            if thing.kind == "relation":
                self.relations.store(thing)
            elif self.kept.get(thing.name):
                self.store(thing)
                self._looked[thing.name] = TICKS_IN_STORE

    def holds_some(self, inputs: Iterable[Input]) -> bool:
        """Return whether a queue holds rows of some inputs, or elements of a relation wait."""
        names = [thing.name for thing in inputs]
        return any(self.kept.get(name) or name in self.relations.kept for name in names)

    def place(self, thing: Input, stay: Stay, *, is_queue: bool) -> bool:
        """Have what waits of a stream lie where it is to lie in the tick, and after it.

        Args:
            thing: The stream.
            stay: Where it may stay after the tick.
            is_queue: Whether a tick may read what has come from here, though it is stored too.

        Returns:
            Whether nothing of the stream is in its store.
        """
        buffered = self.arrived.get(thing.name)
        if stay is Stay.GONE and buffered is not None and thing.name not in self.kept:
            self._forget(buffered)
            buffered = replace(buffered, held=buffered.table, is_read_once=True)
        elif stay is not Stay.STORED and self._hold(thing, buffered):
            everything = pa.concat_tables([piece.table for piece in self.kept[thing.name]])
            if buffered is None:
                buffered = Buffered(thing, everything.slice(0, 0), thing.last_instant)
            buffered = replace(buffered, held=everything)
        else:
            self.store(thing)
            if buffered is None or not is_queue:
                return False
        self.queues[thing.name] = buffered
        assert self._stack is not None
        readable = self._database.incoming.readable
        self._stack.enter_context(readable(names.ARRIVED + thing.name, buffered.table))
        if buffered.held is not None:
            self._stack.enter_context(readable(names.BUFFERED + thing.name, buffered.held))
        return buffered.held is not None

    def _hold(self, thing: Input, buffered: Buffered | None) -> bool:
        """Have the queue hold what is needed of a stream, if it is not too much."""
        held = self.kept.get(thing.name)
        if held is None:
            left = self._looked.get(thing.name, 0)
            self._looked[thing.name] = max(left - 1, 0)
            if left or not self._database.in_memory:
                return False
            store = f"cql_state.{quoted(thing.table)}"
            count = self._database.value(f"SELECT count(*) FROM {store}")
            if count > MAX_ROWS:
                return False
            held = ()
            if count:
                held = joined((), self._database.arrow(f"FROM {store}"))
                self._database.execute(f"DELETE FROM {store}")
        rows = sum(piece.table.num_rows for piece in held)
        if rows + (0 if buffered is None else buffered.table.num_rows) > MAX_ROWS:
            # they are where `store` looks for them
            self._keep(thing.name, held)
            return False
        self.arrived.pop(thing.name, None)
        self._keep(thing.name, held if buffered is None else joined(held, buffered.table))
        return True

    def forget(self, thing: Input, until: Instant) -> None:
        """Let go of what a queue holds up to an instant."""
        held = self.kept[thing.name]
        gone = [piece.last for piece in held if piece.last <= until]
        if gone:
            self._keep(thing.name, tuple(piece for piece in held if piece.last > until))
            thing.forgotten = max(gone)

    def _forget(self, buffered: Buffered) -> None:
        """Empty the store: nobody needs what is in it, as nobody will need what is in the queue."""
        thing = buffered.thing
        kept_some = buffered.before is not None
        if kept_some and (thing.forgotten is None or thing.forgotten < (buffered.before or 0)):
            self._database.execute(f"DELETE FROM cql_state.{quoted(thing.table)}")
        thing.forgotten = thing.last_instant
