"""What a tick of one query is to do and what it did, apart from how it is done (`state.tick`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cqlduck.errors import DatabaseError
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.caches import Fill
from cqlduck.state.filling import Limit
from cqlduck.state.probing import Found, Wanted
from cqlduck.state.registered import Query

PREFETCH, PASSING = "prefetch", "passing"
"""The points of choice to which a tick comes on its way (`cqlduck.streamon.points`)."""


class TickOptions(Protocol):
    """What a tick runs at points of choice."""

    @property
    def form(self) -> Form:
        """The form of the statements."""
        ...

    @property
    def probes(self) -> Sequence[Wanted]:
        """The probes that are to run after the statements."""
        ...

    @property
    def wants_steps(self) -> bool:
        """Whether it is to be counted what each statement takes."""
        ...

    @property
    def fill_limit(self) -> Limit | None:
        """What it may take to fill a cache; None is any."""
        ...

    @property
    def most_instants(self) -> int | None:
        """At how many instants of change a query may be answered anew; None is any."""
        ...

    def is_default(self, point: str, operator: int) -> bool:
        """Return whether a point of an operator has its default option, and not the other one."""
        ...


@dataclass(frozen=True)
class StepRan:
    """What became of a statement of a tick.

    Attributes:
        seconds: How long it took.
        rows: How many rows it wrote, or has the table that was there.
        is_skipped: Whether it did not run, because its table was there or it had nothing to do.
        is_prefetched: Whether its work was done before the tick.
    """

    seconds: float = 0.0
    rows: int = 0
    is_skipped: bool = False
    is_prefetched: bool = False


@dataclass(frozen=True)
class Ran:
    """What a tick of a query did.

    Attributes:
        elements: How many elements of its answer it wrote.
        rows: How many rows it wrote.
        added: How many of them it added to tables that are kept, by table.
        steps: What became of each statement, in order, if that was to be counted.
        profiles: What the probes found.
        filling: The seconds that it took to make, fill and drop caches.
        fills: The caches that were filled.
    """

    elements: int = 0
    rows: int = 0
    added: Mapping[str, int] = field(default_factory=dict)
    steps: tuple[StepRan, ...] = ()
    profiles: tuple[Found, ...] = ()
    filling: float = 0.0
    fills: tuple[Fill, ...] = ()


@dataclass(frozen=True)
class TickPlan:
    """What a tick of a query is to do.

    Attributes:
        query: The query; its frontier and its first instant move.
        compiled: Its statements.
        until: t₁: the instant to which the tick brings its answer.
        first: The instant after its frontier, or at which it begins if it has not begun.
        chosen: What it runs at points of choice.
        amends: Whether it may be worked out again.
        may_wait: Whether its elements may stay in memory before they are in the log.
    """

    query: Query
    compiled: Compiled
    until: Instant
    first: Instant
    chosen: TickOptions
    amends: bool = False
    may_wait: bool = False


class TooManyInstants(DatabaseError):
    """A tick has more instants of change than it may have to be answered anew.

    The transaction has to be undone.

    Attributes:
        instants: How many it has.
    """

    instants: int = 0

    @classmethod
    def of(cls, instants: int) -> TooManyInstants:
        """Return the error that says how many there are."""
        error = cls(f"the tick has {instants} instants of change")
        error.instants = instants
        return error
