"""What is registered: streams, relations and queries, as the engine works with them.

`catalog_rows` keeps them in the database, `catalog` knows all of them and who reads whom.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from cqlduck.rewrite.plan import Column
from cqlduck.rewrite.plan.log_names import condensed_log_of, log_of
from cqlduck.rewrite.text.time import Instant, RawDuration, RawTime

FAILED = "failed"
"""The state of a query that has met an error, which it stands before."""

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
    While it waits, `promised` is the instant to which ticks would have brought it; else None.

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
        return log_of(self.name)

    @property
    def condensed(self) -> str:
        """The name of what other queries read of it as standing, inside `cql_state`."""
        return condensed_log_of(self.name)

    @property
    def base(self) -> str:
        """The name of its answer at an earlier instant, for other queries; see `condensed`."""
        return f"base_{self.name}"

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
