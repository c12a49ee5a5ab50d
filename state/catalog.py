"""The catalogue: the streams, relations and queries that there are.

`Input` and `Query` are what the engine works with; `catalog_rows` keeps them in the database. After
a rollback the engine loads all again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import chain
from operator import attrgetter
from typing import Any

from cqlduck.rewrite.bind.macros import Captured
from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.text.names import SYSTEM
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
    stands for it in the ids of operators; `position` is where it stands among others. `family` is
    the family whose constants it has, if it is no relation of a user.
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
    family: str | None = None
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
    """A continuous query as the catalogue has it.

    A **family** is a query of ours that computes several queries of users, its **members**. A
    member has no plan: its answer and its log are views of the family's. `family` is the family of
    a member, and `member` its number there, unless all members are equal. `shape` is what the
    members of a family have in common, and `is_open` whether others may still join once it has
    begun. `sharing` is whether the query may be a member; None leaves it to the setting.
    `is_anew` is whether its plan answers it anew at each change, and is not incremental.

    Of a member `projection` lists the columns of the family that it shows, one for each of its own,
    unless these are called alike; and `selection` those that are true in all tuples that it shows.
    `merged_at` is the instant at which a member was merged into its family that had a plan of its
    own until then: up to it the member has a log of its own, as long as history goes so far back.

    `is_deferred` is whether the query is answered when somebody reads it, and not in each tick.
    `promised` is how far it is behind then: the instant to which ticks would have brought it.

    A query that begins, or goes on, behind the others does so behind `backfill_from`, and will be
    level with them at `backfill_to`. From `complete_from` on its answer is what it would be if it
    had been there for ever; None if it never is.
    """

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
    family: str | None = None
    member: int | None = None
    shape: str | None = None
    is_open: bool = False
    weight: float = 1.0
    sharing: bool | None = None
    projection: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    is_anew: bool = False
    merged_at: Instant | None = None
    is_deferred: bool = False
    promised: Instant | None = None
    backfill_from: Instant | None = None
    backfill_to: Instant | None = None
    complete_from: Instant | None = None
    saved: tuple[object, ...] = field(default=(), compare=False, repr=False)
    written: tuple[object, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def changes(self) -> str:
        """The name of the log of its elements inside `cql_state`."""
        return f"changes_{self.name}"

    @property
    def before(self) -> str:
        """The name of the log that a member had before it was merged, inside `cql_state`."""
        return f"before_{self.name}"

    @property
    def has_before(self) -> bool:
        """Whether a member has a log from before it was merged, into which its history reaches."""
        at, history = self.merged_at, self.history_from
        return at is not None and (history is None or history <= at)

    @property
    def closed_to(self) -> Instant | None:
        """The instant up to which whoever asks gets the answer."""
        return self.frontier if self.promised is None else self.promised

    @property
    def answer(self) -> str:
        """The name of the kept answer inside `cql_state`."""
        return f"answer_{self.name}"

    @property
    def beside(self) -> str:
        """The name of what amendments need beside the log inside `cql_state`; see `amend`."""
        return f"beside_{self.name}"

    @property
    def projected(self) -> tuple[str, ...]:
        """The columns of its family that a member shows, one for each of its own."""
        return self.projection or tuple(column.name for column in self.columns)

    @property
    def standing_answer(self) -> str:
        """The name of the view of a family's answer inside `cql_state`, with weights."""
        return f"standing_{self.name}"

    @property
    def planned_by(self) -> str:
        """The name of the query whose plan computes it, itself or its family, in lower case."""
        return (self.name if self.family is None else self.family).lower()


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
        members: Of each family its members.
    """

    inputs: dict[str, tuple[Input, ...]] = field(default_factory=dict)
    holding: dict[str, tuple[Input, ...]] = field(default_factory=dict)
    readers: dict[str, list[Query]] = field(default_factory=dict)
    above: dict[str, list[Query]] = field(default_factory=dict)
    below: dict[str, tuple[Query, ...]] = field(default_factory=dict)
    stopped: dict[str, tuple[Query, ...]] = field(default_factory=dict)
    amending: dict[str, bool] = field(default_factory=dict)
    members: dict[str, list[Query]] = field(default_factory=dict)

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
        # a member reads nothing: its family does
        if query.family is None:
            for name in dict.fromkeys(query.inputs):
                self.readers.setdefault(name, []).append(query)
                read = catalogue.queries.get(name.lower())
                if read is not None and read.family is not None:
                    self.readers.setdefault(read.family, []).append(query)
            constants = [one for one in catalogue.constants.values() if one.family == query.name]
            for one in (*inputs, *constants):
                self.above.setdefault(one.name, []).append(query)
        else:
            self.members.setdefault(query.family, []).append(query)


# of all that is registered, in each registration: no function of ours is called for one of them
_position: Callable[[Input | Query], int] = attrgetter("position")
_number: Callable[[Input | Query], int] = attrgetter("number")


@dataclass
class Catalogue:
    """All that is registered, by lower-case name, in the order of registration.

    Attributes:
        settings: What was chosen for the database.
        inputs: The streams and relations of users.
        queries: The queries of users.
        functions: The functions of users.
        families: The queries of ours, each of which computes several of the users'.
        constants: The relations of ours: in which constants the members of a family differ.
    """

    settings: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    families: dict[str, Query] = field(default_factory=dict)
    constants: dict[str, Input] = field(default_factory=dict)

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
        self.families, self.constants = saved.families, saved.constants
        self.__dict__.pop("clock", None)
        self._forget_readings()

    def _forget_readings(self) -> None:
        for known in ("reading", "running"):
            self.__dict__.pop(known, None)

    def add(self, thing: Input | Query) -> None:
        """Add what has been registered; what a query reads is there already."""
        self._among(thing)[thing.name.lower()] = thing
        if isinstance(thing, Query):
            self.__dict__.pop("running", None)
            if "reading" in self.__dict__:
                self.reading.add(self, thing)

    def _among(self, thing: Input | Query) -> dict[str, Any]:
        """Return those by name among which a stream, a relation or a query is."""
        if isinstance(thing, Input):
            return self.inputs if thing.family is None else self.constants
        return self.queries if thing.shape is None else self.families

    def reorder(self) -> None:
        """Bring queries into the order of their positions: one of them has another."""
        self.queries = {q.name.lower(): q for q in sorted(self.queries.values(), key=_position)}
        self._forget_readings()

    @property
    def next_number(self) -> int:
        """A number that no input or query has."""
        return 1 + max(map(_number, self._all()), default=0)

    @property
    def next_position(self) -> int:
        """The position behind all inputs and queries."""
        return 1 + max(map(_position, self._all()), default=0)

    def _all(self) -> Iterator[Input | Query]:
        known = (self.inputs, self.constants, self.queries, self.families)
        return chain.from_iterable(one.values() for one in known)

    def remove(self, thing: Input | Query) -> None:
        """Remove what has been dropped."""
        self._among(thing).pop(thing.name.lower(), None)
        self._forget_readings()

    @functools.cached_property
    def reading(self) -> Reading:
        """Who reads whom, worked out once for what is registered."""
        reading = Reading()
        for query in self._ordered((*self.queries.values(), *self.families.values())):
            reading.add(self, query)
        # whole at once: the bar of a long call looks from a thread of its own
        return reading

    @functools.cached_property
    def running(self) -> Sequence[Query]:
        """The queries that have a plan of their own, in the order in which ticks run them."""
        known = (*self.queries.values(), *self.families.values())
        return self._ordered(query for query in known if query.family is None)

    def _ordered(self, queries: Iterable[Query]) -> list[Query]:
        """Return queries behind those that they read, else in the order of their positions.

        The family of a member comes before who reads the member, though it may be younger. There
        is no circle: members of a family read the same, so one of families were one of queries.
        """
        known = {query.name: query for query in sorted(queries, key=_position)}
        placed, needs, is_ordered = set[str](), dict[str, list[str]](), True
        for query in known.values():
            read = (self.queries.get(name.lower()) for name in query.inputs)
            names = chain.from_iterable((one.name, one.family) for one in read if one is not None)
            needs[query.name] = [name for name in names if name in known]
            is_ordered &= placed.issuperset(needs[query.name])
            placed.add(query.name)
        if is_ordered:
            return list(known.values())
        return [known[name] for name in TopologicalSorter(needs).static_order()]

    def planned(self, name: str) -> Query:
        """Return a query that has a plan of its own."""
        found = self.families.get(name.lower())
        return self.queries[name.lower()] if found is None else found

    @property
    def system(self) -> Input | None:
        """The stream of what operators did, if a query reads it."""
        return self.inputs.get(SYSTEM.lower())

    def input_of(self, name: str) -> Input | None:
        """Return a stream or relation, also one of ours, or None."""
        return self.inputs.get(name.lower()) or self.constants.get(name.lower())

    def members_of(self, query: Query) -> Sequence[Query]:
        """Return the members of a family, in their order; of another query none."""
        return self.reading.members.get(query.name, ())

    def family_of(self, query: Query) -> Query | None:
        """Return the family of a member; of another query None."""
        return None if query.family is None else self.families[query.family.lower()]

    def constants_of(self, family: Query) -> Input | None:
        """Return the relation in which the members of a family differ; None if they are equal."""
        known = (one for one in self.constants.values() if one.family == family.name)
        return next(known, None)

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
        if state != "active" and not state.startswith(WAITS):
            query.promised = None
        self._forget_readings()

    def readers_of(self, thing: Input | Query) -> list[Query]:
        """Return the queries that read something, themselves or through others, in their order."""
        found = {thing.name, *(member.name for member in self.reading.members.get(thing.name, ()))}
        readers = []
        for other in self._ordered((*self.queries.values(), *self.families.values())):
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
