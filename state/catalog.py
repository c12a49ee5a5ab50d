"""The catalogue: the streams, relations and queries that there are.

`Input` and `Query` are what the engine works with; `catalog_rows` keeps them in the database. After
a rollback the engine loads all again.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cqlduck.rewrite.bind.macros import Captured
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.time import Clock, Instant, RawDuration, RawTime
from cqlduck.state.functions import Function

EXPIRED = "expired"
"""The state of a query that has stood still for so long that its inputs are not kept for it."""

WAITS = "waits for function "
"""What the state of a query begins with that calls a function which is not registered."""

IN_ORDER = RawDuration(0)
"""The bound of a stream whose elements come in the order of time."""


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
    bound: RawDuration = IN_ORDER
    bound_text: str | None = None
    late: str = "REJECT"
    ahead: RawDuration | None = None
    ahead_text: str | None = None
    primary_key: tuple[str, ...] = ()
    source: str | None = None
    query: str | None = None
    heartbeat: Instant | None = None
    first_instant: Instant | None = None
    last_raw: RawTime | None = None
    last_instant: Instant | None = None
    forgotten: Instant | None = None
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
    since: Instant | None = None
    begin_instant: Instant | None = None
    frontier: Instant | None = None
    answer_instant: Instant | None = None
    history_from: Instant | None = None
    keep: str | None = None
    amend_from: Instant | None = None
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
    functions: dict[str, Function] = field(default_factory=dict)

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
        self.functions = saved.functions
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
        """Let a query be in a state from now on: active, inactive, failed, expired, or waiting."""
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

    def functions_of(self, query: Query) -> Sequence[str]:
        """Return the names of the users' functions that a query calls."""
        if not self.functions or query.taken is None:
            return ()
        return Captured.of(query.taken).functions

    def callers(self, function: str) -> list[Query]:
        """Return the queries that call a user's function."""
        return [
            query
            for query in self.queries.values()
            if function.lower() in map(str.lower, self.functions_of(query))
        ]

    def amends(self, query: Query) -> bool:
        """Return whether a query may be worked out again, and needs all of its inputs."""
        known = [self.inputs.get(name.lower()) for name in query.inputs]
        return any(thing is not None and thing.late == "AMEND" for thing in known)

    @property
    def half_open(self) -> bool:
        """Whether `window_edge` is half_open."""
        return self.settings.get("window_edge") == "half_open"
