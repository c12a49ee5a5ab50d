"""The catalogue: the streams, relations and queries that there are, and who reads whom.

`registered` says what each is; `catalog_rows` keeps them in the database. After a rollback the
engine loads all again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import chain
from operator import attrgetter
from typing import Any

from cqlduck.rewrite.bind.macros import Captured
from cqlduck.rewrite.text.names import SYSTEM
from cqlduck.rewrite.text.time import Clock
from cqlduck.state.functions import Function
from cqlduck.state.registered import EXPIRED, WAITS, Input, Query


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

    def forget(self, member: Query) -> None:
        """Forget a member of a family that nobody reads."""
        assert member.family is not None
        # who goes through them removes them one by one
        rest = [one for one in self.members[member.family] if one is not member]
        self.members[member.family] = rest
        known: tuple[dict[str, Any], ...]
        known = self.inputs, self.holding, self.below, self.stopped, self.amending
        for facts in known:
            facts.pop(member.name, None)


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
        for known in ("reading", "running", "_last"):
            self.__dict__.pop(known, None)

    def add(self, thing: Input | Query) -> None:
        """Add what has been registered; what a query reads is there already."""
        self._among(thing)[thing.name.lower()] = thing
        if "_last" in self.__dict__:
            position, number = self._last
            last = max(position, thing.position), max(number, thing.number)
            self.__dict__["_last"] = last
        if isinstance(thing, Query):
            if thing.family is None:
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
        return 1 + self._last[1]

    @property
    def next_position(self) -> int:
        """The position behind all inputs and queries."""
        return 1 + self._last[0]

    @functools.cached_property
    def _last(self) -> tuple[int, int]:
        """The greatest position and the greatest number of all inputs and queries."""
        known = (self.inputs, self.constants, self.queries, self.families)
        there: list[Input | Query] = list(chain.from_iterable(one.values() for one in known))
        return max(map(_position, there), default=0), max(map(_number, there), default=0)

    def remove(self, thing: Input | Query) -> None:
        """Remove what has been dropped."""
        self._among(thing).pop(thing.name.lower(), None)
        is_known = "reading" in self.__dict__ and not self.readers(thing)
        if is_known and isinstance(thing, Query) and thing.family is not None:
            # others read what they have read
            self.__dict__.pop("_last", None)
            self.reading.forget(thing)
        else:
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
        return self.any_amended(query.inputs)

    def any_amended(self, names: Iterable[str]) -> bool:
        """Return whether one of some inputs is a stream with LATE AMEND."""
        known = [self.inputs.get(name.lower()) for name in names]
        return any(thing is not None and thing.late == "AMEND" for thing in known)

    @property
    def half_open(self) -> bool:
        """Whether `window_edge` is half_open."""
        return self.settings.get("window_edge") == "half_open"
