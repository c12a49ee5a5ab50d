"""The catalogue: streams, relations and queries as rows, and their tables.

`Input` and `Query` are what the engine works with; the views `cql_state.inputs` and
`cql_state.queries` have the same for the next start. What a transaction changed in memory is saved
at its end; after a rollback the engine loads all again.

Each tick moves heartbeats, counters and frontiers. DuckDB (release 2.0) takes half a millisecond
for a statement that writes one row; so a tick writes one row in all, in `cql_state.ticks`, which
lists what has moved since the rows of inputs and queries were written. Of these lists the last
counts, for rows that are older (`as_of`), and the views look there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import Clock
from cqlduck.state.connection import Database

EXPIRED = "expired"
"""The state of a query that has stood still for so long that its inputs are not kept for it."""


@dataclass
class Input:
    """A stream or a relation.

    Instants are numbers (see `rewrite.text.time`); raw times are microseconds on wall-clock time
    and instants on integer time. `bound` and `ahead` are raw. `number` is its own for life, and
    stands for it in the ids of operators; `position` is where it stands among others.
    """

    position: int
    name: str
    kind: str
    columns: tuple[Column, ...]
    timestamp_by: str | None = None
    bound: int = 0
    bound_text: str | None = None
    late: str = "REJECT"
    ahead: int | None = None
    ahead_text: str | None = None
    primary_key: tuple[str, ...] = ()
    source: str | None = None
    query: str | None = None
    heartbeat: int | None = None
    first_instant: int | None = None
    last_raw: int | None = None
    last_instant: int | None = None
    forgotten: int | None = None
    next_seq: int = 0
    next_batch: int = 0
    taken_batch: int | None = None
    taken_rows: int | None = None
    waiting_for: str | None = None
    number: int = 0
    saved: tuple[object, ...] = field(default=(), compare=False, repr=False)
    written: tuple[object, ...] | None = field(default=None, compare=False, repr=False)

    @functools.cached_property
    def table(self) -> str:
        """The name of its store inside `cql_state`."""
        return f"{self.kind}_{self.name}"

    @property
    def pending(self) -> str:
        """The name of a relation's queue inside `cql_state`."""
        return f"pending_{self.name}"


@dataclass
class Query:
    """A continuous query as the catalogue has it."""

    position: int
    name: str
    body: str
    kind: str
    columns: tuple[Column, ...]
    inputs: tuple[str, ...]
    order_by: str | None = None
    state: str = "active"
    error: str | None = None
    error_reason: str | None = None
    error_row: str | None = None
    since: int | None = None
    begin_instant: int | None = None
    frontier: int | None = None
    answer_instant: int | None = None
    history_from: int | None = None
    keep: str | None = None
    amend_from: int | None = None
    number: int = 0
    taken: str | None = None
    saved: tuple[object, ...] = field(default=(), compare=False, repr=False)
    written: tuple[object, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def changes(self) -> str:
        """The name of the log of its elements inside `cql_state`."""
        return f"changes_{self.name}"

    @property
    def answer(self) -> str:
        """The name of the kept answer inside `cql_state`."""
        return f"answer_{self.name}"

    @property
    def beside(self) -> str:
        """The name of what amendments need beside the log inside `cql_state`; see `amend`."""
        return f"beside_{self.name}"


@dataclass
class Reading:
    """Who reads whom, by name; a registration adds to it what is its own.

    Attributes:
        inputs: Of each query the streams and relations that it reads, itself or through others.
        holding: Of each query those of its inputs whose heartbeats hold it: streams, and relations
            with a source of their own; all of them, if it has none of these.
        readers: Of each stream, relation and query the queries that read it themselves.
        above: Of each stream and relation the queries that read it, themselves or through others.
        below: Of each query those that it reads, itself or through others.
        stopped: Of each query those below it that are not active.
        amending: Of each query whether it may be worked out again, see `Catalogue.amends`.
    """

    inputs: dict[str, tuple[Input, ...]] = field(default_factory=dict)
    holding: dict[str, tuple[Input, ...]] = field(default_factory=dict)
    readers: dict[str, list[Query]] = field(default_factory=dict)
    above: dict[str, list[Query]] = field(default_factory=dict)
    below: dict[str, tuple[Query, ...]] = field(default_factory=dict)
    stopped: dict[str, tuple[Query, ...]] = field(default_factory=dict)
    amending: dict[str, bool] = field(default_factory=dict)

    def add(self, catalogue: Catalogue, query: Query) -> None:
        """Add a query after those that it reads."""
        found: dict[str, Input] = {}
        below: dict[str, Query] = {}
        for name in query.inputs:
            thing, inner = catalogue.inputs.get(name.lower()), catalogue.queries.get(name.lower())
            for one in self.inputs.get(name, ()) if thing is None else (thing,):
                found[one.name] = one
            for other in () if inner is None else (inner, *self.below.get(name, ())):
                below[other.name] = other
        self.inputs[query.name] = inputs = tuple(found.values())
        holding = tuple(i for i in inputs if i.kind == "stream" or i.source is not None)
        self.holding[query.name] = holding or inputs
        self.below[query.name] = tuple(below.values())
        self.stopped[query.name] = tuple(q for q in below.values() if q.state != "active")
        self.amending[query.name] = catalogue.amends(query)
        for name in dict.fromkeys(query.inputs):
            self.readers.setdefault(name, []).append(query)
        for one in inputs:
            self.above.setdefault(one.name, []).append(query)


@dataclass
class Catalogue:
    """All that is registered, by lower-case name, in the order of registration."""

    settings: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)

    @property
    def time_is_open(self) -> bool:
        """Whether nothing has said yet what kind of time the database has."""
        return "time" not in self.settings

    @functools.cached_property
    def clock(self) -> Clock:
        """The clock; integer time as long as nothing says otherwise."""
        return Clock(
            self.settings.get("time", "integer"),
            int(self.settings["granularity"]),
            int(self.settings["instant"]),
        )

    def restore(self, saved: Catalogue) -> None:
        """Become what another catalogue is."""
        self.settings, self.inputs, self.queries = saved.settings, saved.inputs, saved.queries
        self.__dict__.pop("clock", None)
        self.__dict__.pop("reading", None)

    def add(self, thing: Input | Query) -> None:
        """Add what has been registered; what a query reads is there already."""
        if isinstance(thing, Input):
            self.inputs[thing.name.lower()] = thing
            return
        self.queries[thing.name.lower()] = thing
        if "reading" in self.__dict__:
            self.reading.add(self, thing)

    @property
    def next_number(self) -> int:
        """A number that no input or query has."""
        return 1 + max((one.number for one in self._all()), default=0)

    @property
    def next_position(self) -> int:
        """The position behind all inputs and queries."""
        return 1 + max((one.position for one in self._all()), default=0)

    def _all(self) -> Iterator[Input | Query]:
        yield from self.inputs.values()
        yield from self.queries.values()

    def remove(self, thing: Input | Query) -> None:
        """Remove what has been dropped."""
        (self.inputs if isinstance(thing, Input) else self.queries).pop(thing.name.lower(), None)
        self.__dict__.pop("reading", None)

    @functools.cached_property
    def reading(self) -> Reading:
        """Who reads whom, worked out once for what is registered."""
        reading = Reading()
        for query in self.queries.values():
            reading.add(self, query)
        # whole at once: the bar of a long call looks from a thread of its own
        return reading

    def inputs_of(self, query: Query) -> Sequence[Input]:
        """Return the streams and relations that a query reads, itself or through others."""
        return self.reading.inputs[query.name]

    def readers(self, thing: Input | Query) -> Sequence[Query]:
        """Return the queries that read a stream, relation or query themselves."""
        return self.reading.readers.get(thing.name, ())

    def live_readers(self, thing: Input | Query) -> list[Query]:
        """Return those of its readers for which what they read is kept: none that has expired."""
        return [query for query in self.readers(thing) if query.state != EXPIRED]

    def queries_of(self, query: Query) -> Sequence[Query]:
        """Return the queries that a query reads, itself or through others."""
        return self.reading.below[query.name]

    def stopped_below(self, query: Query) -> Sequence[Query]:
        """Return the queries that a query reads, itself or through others, and are not active."""
        return self.reading.stopped[query.name]

    def turn(self, query: Query, state: str) -> None:
        """Let a query be in a state from now on: active, inactive, failed or expired."""
        query.state = state
        self.__dict__.pop("reading", None)

    def readers_of(self, query: Query) -> list[Query]:
        """Return the queries that read a query, themselves or through others, in their order."""
        found = {query.name}
        readers = []
        for other in self.queries.values():
            if not found.isdisjoint(other.inputs):
                found.add(other.name)
                readers.append(other)
        return readers

    def amends(self, query: Query) -> bool:
        """Return whether a query may be worked out again, and needs all of its inputs."""
        known = [self.inputs.get(name.lower()) for name in query.inputs]
        return any(thing is not None and thing.late == "AMEND" for thing in known)

    @property
    def half_open(self) -> bool:
        """Whether `window_edge` is half_open."""
        return self.settings.get("window_edge") == "half_open"


def load(database: Database) -> Catalogue:
    """Read the catalogue."""
    catalogue = Catalogue()
    catalogue.settings = {n: v for n, v in database.rows("SELECT * FROM cql_state.settings")}
    for kind in ("inputs", "queries"):
        if not database.value(f"SELECT count(*) FROM cql_state.{ROWS[kind]}"):
            # to plan the view takes ten times as long
            continue
        made = Input if kind == "inputs" else Query
        names = [f.name for f in fields(made) if f.name not in _ASIDE]
        listed = ", ".join([*names, "column_names", "column_types"])
        for row in database.rows(f"SELECT {listed} FROM cql_state.{kind} ORDER BY position"):
            values = dict(zip(names, row[: len(names)], strict=True))
            for key in ("primary_key", "inputs"):
                if key in values:
                    values[key] = tuple(values[key])
            columns = tuple(Column(n, t) for n, t in zip(row[-2], row[-1], strict=True))
            thing: Input | Query
            if kind == "inputs":
                thing = catalogue.inputs[values["name"].lower()] = Input(columns=columns, **values)
            else:
                thing = catalogue.queries[values["name"].lower()] = Query(columns=columns, **values)
            thing.saved = _state(kind, thing)
    return catalogue


def choose(database: Database, catalogue: Catalogue, settings: Mapping[str, str]) -> None:
    """Write settings that were not chosen before; a database keeps them for life."""
    if settings:
        marks = ", ".join(["(?, ?)"] * len(settings))
        values = [value for pair in settings.items() for value in pair]
        database.execute(f"INSERT INTO cql_state.settings VALUES {marks}", values)
        catalogue.settings.update(settings)
        catalogue.__dict__.pop("clock", None)


def insert(database: Database, thing: Input | Query) -> None:
    """Write the row of something new."""
    kind = "inputs" if isinstance(thing, Input) else "queries"
    names = [f.name for f in fields(thing) if f.name not in _ASIDE]
    values = [_plain(getattr(thing, name)) for name in names]
    values += [[c.name for c in thing.columns], [c.type for c in thing.columns]]
    listed = ", ".join([*names, "column_names", "column_types", "as_of"])
    marks = ", ".join("?" for _ in values)
    last = "(SELECT coalesce(max(number), 0) FROM cql_state.ticks)"
    database.execute(
        f"INSERT INTO cql_state.{ROWS[kind]} ({listed}) VALUES ({marks}, {last})", values
    )
    thing.saved = thing.written = _state(kind, thing)


def move(database: Database, query: Query) -> None:
    """Write the row of a query anew: it has another position now, or other columns."""
    delete(database, query)
    insert(database, query)


def delete(database: Database, thing: Input | Query) -> None:
    """Delete the row of what is dropped."""
    rows = ROWS["inputs" if isinstance(thing, Input) else "queries"]
    database.execute(f"DELETE FROM cql_state.{rows} WHERE name = ?", [thing.name])


ROWS = {"inputs": "input_rows", "queries": "query_rows"}
"""Where the rows of inputs and queries stand."""

_ASIDE = ("columns", "saved", "written")
"""Fields of inputs and queries that are no columns."""

_MOVING = {
    "inputs": (
        "heartbeat",
        "first_instant",
        "last_raw",
        "last_instant",
        "forgotten",
        "next_seq",
        "next_batch",
        "taken_batch",
        "taken_rows",
    ),
    "queries": ("begin_instant", "frontier", "answer_instant", "history_from"),
}
"""What ticks move, in the order in which a tick's row lists it after the position."""

_MUTABLE = {
    "inputs": (*_MOVING["inputs"], "waiting_for", "bound"),
    "queries": (
        *_MOVING["queries"],
        "state",
        "error",
        "error_reason",
        "error_row",
        "since",
        "keep",
        "amend_from",
        "taken",
    ),
}
"""What changes of inputs and queries."""

_STATES: Mapping[str, Callable[[Input | Query], tuple[object, ...]]] = {
    kind: attrgetter(*names) for kind, names in _MUTABLE.items()
}
"""Gives what changes of inputs and queries, in the order of `_MUTABLE`."""

MOST_MOVES = 64
"""How many inputs, or queries, the row of a tick lists at most; of more the rows are written."""

MAX_LOGGED_TICKS = 10_000


@dataclass(frozen=True)
class Ticked:
    """A tick for people to look at: a row of `cql.ticks`."""

    number: int
    since: int | None
    until: int
    queries: int
    elements: int
    seconds: float


TickRow = list[object]
"""A row of `cql_state.ticks`: the tick, and what has moved of inputs and of queries."""


def save(
    database: Database, catalogue: Catalogue, last: int, ticks: Sequence[Ticked]
) -> list[TickRow]:
    """Write what changed of inputs and queries since they were read or written last.

    Args:
        database: The database, inside a transaction.
        catalogue: What is registered.
        last: The number of the last tick before these.
        ticks: The ticks that changed it, if any did.

    Returns:
        The rows of the ticks, which are still to be written.
    """
    at = ticks[-1].number if ticks else last
    inputs = _save(database, "inputs", list(catalogue.inputs.values()), at, bool(ticks))
    queries = _save(database, "queries", list(catalogue.queries.values()), at, bool(ticks))
    return [
        [
            *(getattr(tick, f.name) for f in fields(tick)),
            *([inputs, queries] if tick.number == at else [[], []]),
        ]
        for tick in ticks
    ]


def write_ticks(database: Database, rows: Sequence[TickRow]) -> None:
    """Write the rows of ticks, in their order; of many ticks only the last are kept."""
    marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * len(rows))
    values = [value for row in rows for value in row]
    database.execute(f"INSERT INTO cql_state.ticks VALUES {marks}", values)
    for number, *_ in rows:
        assert isinstance(number, int)
        if number % 1000 == 0:
            database.execute(
                "DELETE FROM cql_state.ticks WHERE number <= ?", [number - MAX_LOGGED_TICKS]
            )


def _save(
    database: Database, kind: str, things: Sequence[Input | Query], at: int, ticked: bool
) -> list[list[object]]:
    """Write the rows that have to be; return what the row of tick `at` has to list, if there is."""
    # of all that is registered, in each change: no function of ours is called for one of them
    state = _STATES[kind]
    changed = [thing for thing in things if state(thing) != thing.saved]
    if not ticked:
        _update(database, kind, changed, at)
        return []
    moving, names = _MOVING[kind], _MUTABLE[kind]
    others = [
        thing
        for thing in changed
        if any(
            old != new and name not in moving
            for name, old, new in zip(names, thing.saved, state(thing), strict=True)
        )
    ]
    if others:
        _update(database, kind, others, at)
    moved = [thing for thing in things if state(thing) != thing.written]
    if len(moved) > MOST_MOVES:
        _update(database, kind, moved, at)
        return []
    for thing in moved:
        thing.saved = state(thing)
    return [[t.position, *(getattr(t, name) for name in moving)] for t in moved]


def _update(database: Database, kind: str, things: Iterable[Input | Query], as_of: int) -> None:
    """Write the rows of inputs or queries as they are after a tick."""
    names = _MUTABLE[kind]
    alike: dict[tuple[tuple[str, object], ...], list[int]] = {}
    for thing in things:
        state = _state(kind, thing)
        before = thing.written or (None,) * len(names)
        both = zip(names, before, state, strict=True)
        changed = tuple((n, new) for n, old, new in both if old != new or thing.written is None)
        alike.setdefault(changed, []).append(thing.position)
        thing.saved = thing.written = state
    # an UPDATE for each kind of change: one that joins with VALUES costs as much as four of these
    for changed, positions in alike.items():
        sets = "".join(f"{name} = ?, " for name, _ in changed)
        database.execute(
            f"UPDATE cql_state.{ROWS[kind]} SET {sets}as_of = ? WHERE list_contains(?, position)",
            [*(new for _, new in changed), as_of, positions],
        )


def _state(kind: str, thing: Input | Query) -> tuple[object, ...]:
    return _STATES[kind](thing)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
