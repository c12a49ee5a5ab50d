"""The nodes of a logical plan: the paper's operators as immutable values.

A plan is a tree. Its leaves are streams and relations (`sources`), its inner nodes the operators of
Table 1 of the STREAM chapter. A node defines a bag at an instant τ; its law is in `operators/`, the
facts about it in `properties`. Names of columns are unique inside a node (without regard to case),
so an expression over a node's columns needs no qualifiers. A node without a meaning cannot be
built. All nodes stand here because a window is over a stream, and a filtered stream over a plan.

Stream → stream: `Sample`.
Stream → relation: `TimeWindow`, `VaryingWindow`, `RowWindow`.
Relation → relation: `Filter`, `During`, `Project`, `Join`, `Aggregate`, `Distinct`, `UnionAll`,
`Difference`, `SetOperation`, `Recompute` for SQL without a law of its own,
and `Anew` for a whole query that is answered anew.
Relation → stream: `ToStream` (Istream, Dstream, Rstream).
Housekeeping: `Trace`, a materialized relation or stream (chapter, section 3.3); `Net`, a relation
without elements that cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Literal

from sqlglot import exp

from cqlduck.rewrite.plan.inputs import fill_inputs
from cqlduck.rewrite.plan.partial import Partial
from cqlduck.rewrite.plan.sources import (
    Column,
    RelationScan,
    Source,
    StreamScan,
    refuse_repeated,
)
from cqlduck.rewrite.text.time import Duration


@dataclass(frozen=True)
class _OnInput:
    """A node over one input."""

    input: Plan

    @cached_property
    def children(self) -> tuple[Plan, ...]:
        """The input."""
        return (self.input,)


@dataclass(frozen=True)
class _LikeInput(_OnInput):
    """A node over one input, whose columns it has."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the input."""
        return self.input.columns


@dataclass(frozen=True)
class _OnSides:
    """A node over two inputs, whose columns it has."""

    left: Plan
    right: Plan

    def __post_init__(self) -> None:
        """Refuse inputs that differ in their columns."""
        if self.left.columns != self.right.columns:
            raise ValueError("both inputs have the same columns")

    @cached_property
    def children(self) -> tuple[Plan, ...]:
        """Both inputs."""
        return (self.left, self.right)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of both inputs."""
        return self.left.columns


@dataclass(frozen=True)
class _OnInputs:
    """A node over any number of inputs."""

    inputs: tuple[Plan, ...]

    @cached_property
    def children(self) -> tuple[Plan, ...]:
        """The inputs, in order."""
        return self.inputs


@dataclass(frozen=True)
class TimeWindow(_LikeInput):
    """The tuples whose lifetime, a function of their timestamp t alone, covers τ.

    RANGE w: [t, t+w+1). With SLIDE s both ends move to the multiples of s: what was in the range at
    ⌊τ/s⌋·s. HOP w EVERY s: the tuples of [B−w, B) with B = ⌊τ/s⌋·s. `width` None is UNBOUNDED.

    Args:
        input: A stream.
        width: w, in instants, or None.
        slide: s, in instants, or None.
        hop: Whether the content is half-open and begins at the next boundary.
        half_open: Whether the range is (τ−w, τ] (setting `window_edge`).
        written: The window as it was written, where that says more than instants do.
    """

    input: Stream
    width: Duration | None
    slide: Duration | None = None
    hop: bool = False
    half_open: bool = False
    written: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Refuse what is no window."""
        if self.width is not None and self.width < 0:
            raise ValueError("a window's range is not negative")
        if self.slide is not None and self.slide < 1:
            raise ValueError("a window slides by at least one instant")
        if self.hop and (self.slide is None or self.width is None):
            raise ValueError("HOP has a width and a slide")

    @property
    def reach(self) -> Duration | None:
        """How many instants after its timestamp a tuple can matter at most; None is for ever."""
        if self.width is None:
            return None
        return Duration(self.width + 1 + (self.slide or 0))


@dataclass(frozen=True)
class VaryingWindow(_OnInput):
    """The windows `[RANGE w]` for each w that a column of a relation has ever had, together.

    A tuple is there once for each w, which stands in a last column, from its timestamp t up to
    before t+w+1. A w that is new has what had come before: who reads it leaves out what it should
    not have, as all readers join with the relation.

    Args:
        input: A stream.
        widths: The relation.
        column: Its column, in instants.
        limit: Which none of these exceeds.
        half_open: Whether the ranges are (τ−w, τ] (setting `window_edge`).
        name: The name of the last column.
    """

    input: Stream
    widths: Source
    column: str
    limit: Duration
    half_open: bool
    name: str

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the stream, and w."""
        return (*self.input.columns, Column(self.name, "BIGINT"))

    @property
    def reach(self) -> Duration:
        """How many instants after its timestamp a tuple can matter at most."""
        return Duration(self.limit + 1)


@dataclass(frozen=True)
class RowWindow(_LikeInput):
    """The last `rows` tuples by timestamp (ties by arrival), of each partition if there are keys.

    With `width`, those of them whose timestamp is in [τ−width, τ] too. With `slide`, what the
    window held of each partition after its last arrival whose number is a multiple of it. With
    `every`, what it held at ⌊τ/every⌋·every.
    """

    input: Stream
    rows: int
    partition_by: tuple[str, ...] = ()
    width: Duration | None = None
    half_open: bool = False
    slide: int | None = None
    every: Duration | None = None

    def __post_init__(self) -> None:
        """Refuse what is no window."""
        if self.rows < 1:
            raise ValueError("a window has at least one row")
        if self.slide is not None and (self.slide < 1 or self.width is not None):
            raise ValueError("a ROWS window slides by at least one row, and without a range")
        if self.every is not None and (self.every < 1 or self.width is None):
            raise ValueError("a ROWS window moves by at least one instant, and with a range")
        missing = set(self.partition_by) - {c.name for c in self.input.columns}
        if missing:
            raise ValueError(f"PARTITION BY names {missing}, which the stream lacks")


@dataclass(frozen=True)
class Sample(_LikeInput):
    """Of each hundred elements of a stream `percent`, whichever a hash of their numbers says.

    An element's number is that of its arrival; in a derived stream its instant and its place there,
    by all columns. So a replay keeps the same ones, and 5 % are among 10 %.

    Args:
        input: A stream.
        percent: More than 0 and at most 100.
        seed: What the hash begins with: the name of the stream.
    """

    input: Stream
    percent: Decimal
    seed: str

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        if not 0 < self.percent <= 100:
            raise ValueError("a sample is more than 0 and at most 100 per cent")

    @property
    def below(self) -> int:
        """The hashes, of 32 bits, that are kept: those below this."""
        return math.ceil(self.percent * 2**32 / 100)


@dataclass(frozen=True)
class Filter(_LikeInput):
    """The tuples of `input` for which `predicate` is true; of a relation or of a stream."""

    predicate: exp.Expr


@dataclass(frozen=True)
class During(_LikeInput):
    """The tuples of `input`, a relation, at the instants from `begins` up to before `ends`.

    What comparisons with the current time come to (`bind.current_time`). Each expression gives an
    instant; a NULL is never.

    Args:
        input: A relation.
        begins: A tuple is there from the greatest of these instants on.
        ends: And not any more from the least of these on.
        written: The comparisons as they were written.
    """

    begins: tuple[exp.Expr, ...]
    ends: tuple[exp.Expr, ...]
    written: tuple[exp.Expr, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Refuse a restriction that is none."""
        if not self.begins and not self.ends:
            raise ValueError("a restriction of lifetimes has a beginning or an end")


@dataclass(frozen=True)
class Project(_OnInput):
    """One tuple (expressions) for each tuple of `input`; duplicates stay."""

    expressions: tuple[exp.Expr, ...]
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        """Refuse columns that do not fit the expressions."""
        if len(self.expressions) != len(self.columns):
            raise ValueError("a projection has one column for each expression")
        refuse_repeated(self.columns)


@dataclass(frozen=True)
class Join(_OnInputs):
    """The combinations of one tuple of each input for which all `predicates` are true (mjoin).

    With `shown`, only the columns of these names: others are there for the predicates alone.
    """

    predicates: tuple[exp.Expr, ...] = ()
    shown: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse fewer than two inputs and columns that clash."""
        if len(self.inputs) < 2:
            raise ValueError("a join has at least two inputs")
        refuse_repeated(self._known)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the inputs that are shown, in order."""
        shown = self.shown
        return tuple([c for c in self._known if shown is None or c.name in shown])

    @property
    def _known(self) -> list[Column]:
        return [column for plan in self.inputs for column in plan.columns]


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate of an `Aggregate`.

    Args:
        name: Its column.
        function: 'count', 'sum', 'avg', 'min', 'max', or 'other'.
        call: The call as an expression over the input's columns.
        argument: The input's column that count(x), sum, avg, min and max work on, or None.
        type: The type of the result.
        argument_type: The type of the argument, or None; of 'other', the least exact of several.
        distinct: Whether it ignores how often a tuple is there.
        written: The call as it was written, where `call` says more.
    """

    name: str
    function: Literal["count", "sum", "avg", "min", "max", "other"]
    call: exp.Expr
    argument: str | None
    type: str
    argument_type: str | None = None
    distinct: bool = False
    written: exp.Expr | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Aggregate(_OnInput):
    """One tuple (keys, aggregates) for each group; without keys, one tuple also over nothing."""

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    everything: bool = False
    """Whether this is a global aggregate, which has a row over nothing."""

    def __post_init__(self) -> None:
        """Refuse keys that the input lacks."""
        missing = set(self.keys) - {c.name for c in self.input.columns}
        if missing:
            raise ValueError(f"keys {missing} are no columns of the input")
        if self.everything and self.keys:
            raise ValueError("a global aggregate has no keys")
        refuse_repeated(self.columns)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The keys, then the aggregates."""
        types = {c.name: c.type for c in self.input.columns}
        keys = [Column(key, types[key]) for key in self.keys]
        return (*keys, *[Column(call.name, call.type) for call in self.calls])

    @property
    def is_distinct(self) -> bool:
        """Whether it does no more than to make equal tuples one."""
        return not self.calls and set(self.keys) == {c.name for c in self.input.columns}


@dataclass(frozen=True)
class Distinct(_LikeInput):
    """Each tuple of `input` once."""


@dataclass(frozen=True)
class UnionAll(_OnInputs):
    """The tuples of all inputs; their columns are the first one's, in name and type."""

    def __post_init__(self) -> None:
        """Refuse inputs that differ in their columns."""
        if len(self.inputs) < 2:
            raise ValueError("a union has at least two inputs")
        if any(plan.columns != self.columns for plan in self.inputs):
            raise ValueError("the inputs of a union have the same columns")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the first input."""
        return self.inputs[0].columns


@dataclass(frozen=True)
class Difference(_OnSides):
    """The tuples of `left` that are left when those of `right`, which are among them, are gone.

    Each tuple is there as often as in `left` less than as often as in `right`, and `right` never
    has more. So it is linear: antijoins are made of it.

    Args:
        left: A relation.
        right: A part of it.
        is_padded: Whether it is the part of an outer join that gets NULLs. Then what is gone stands
            beside it, in the same union, with its partners.
    """

    is_padded: bool = False


@dataclass(frozen=True)
class SetOperation(_OnSides):
    """EXCEPT or INTERSECT of two inputs, as sets, or with `all` as bags.

    With a tuple l times on the left and r times on the right, it is there max(l − r, 0) times in
    EXCEPT ALL, min(l, r) times in INTERSECT ALL; EXCEPT has it once if l > 0 and r = 0, INTERSECT
    if l > 0 and r > 0.
    """

    kind: Literal["except", "intersect"]
    all: bool = False


@dataclass(frozen=True)
class Recompute(_OnInputs):
    """`query` over the inputs as they are at τ: any SQL, recomputed when an input changes.

    Args:
        inputs: Relations; in `query`, input k stands as the table `_cql_leg<k>`.
        names: For each input, its columns' names inside `query`.
        query: The query.
        columns: Its columns.
        reason: Why there is no law for it.
        grows: Whether its result can only grow if its inputs do, as far as its form tells.
        turns: Instants at which it may change besides those at which an input does: the place of
            an input, and an expression over its columns.
        always: Whether it may change at every instant.
        alone: Why each instant needs a statement of its own, or None.
        keys: For each input the columns of its tuples that are its key, as many in each; or
            nothing. The result over all tuples is that over those of each key, together.
        first: If it does no more than to choose the first tuples of its one input by an order, how
            many these are, with those that OFFSET leaves out; else None.
        is_guarded: Whether it has conditions that may raise, in the order of its text: then tuples
            may meet only if they stand together.
    """

    names: tuple[tuple[str, ...], ...]
    query: exp.Query
    columns: tuple[Column, ...]
    reason: str
    grows: bool = False
    turns: tuple[tuple[int, exp.Expr], ...] = ()
    always: bool = False
    alone: str | None = None
    keys: tuple[tuple[str, ...], ...] = ()
    first: int | None = None
    is_guarded: bool = False

    def __post_init__(self) -> None:
        """Refuse names that do not fit the inputs."""
        if [len(n) for n in self.names] != [len(i.columns) for i in self.inputs]:
            raise ValueError("each input has one name for each of its columns")
        refuse_repeated(self.columns)

    def over(self, leg: Callable[[int], exp.Query]) -> exp.Query:
        """Return the query with a subquery in the place of each input."""
        return fill_inputs(self.query, leg)


@dataclass(frozen=True)
class Anew(_LikeInput):
    """`input`, a relation, evaluated as a whole at each instant at which something below changes.

    It stands at the root of a plan, below relation-to-stream operators alone. What is below it
    keeps nothing.
    """


@dataclass(frozen=True)
class ToStream(_LikeInput):
    """Istream R(τ)−R(τ−1), Dstream R(τ−1)−R(τ), or Rstream R(τ) at every instant."""

    kind: Literal["istream", "dstream", "rstream"]


@dataclass(frozen=True)
class Trace(_LikeInput):
    """`input`, materialized in a synopsis `name`: the log of its elements."""

    name: str


@dataclass(frozen=True)
class Net(_LikeInput):
    """The relation `input`, without elements and lifetimes that cancel.

    No two of its elements have the same tuple and instant, and its lifetimes are those of tuples
    that are there. Other nodes may have an insertion and a deletion of one tuple at one instant, or
    two lifetimes of one tuple whose weights cancel.

    Args:
        input: A relation.
        is_kept: Whether a synopsis has the count of each tuple. Nodes above that read lifetimes
            need it; elements are summed in the tick.
    """

    is_kept: bool


@dataclass(frozen=True)
class Cache(_LikeInput):
    """A segment of a join, whose combinations are kept while the other inputs meet them.

    Args:
        input: The join of the inputs in the segment (thesis, section 5.4).
        partial: Which of them are kept; None is all.
        askers: The inputs that ask for these.
    """

    input: Join
    partial: Partial | None = None
    askers: tuple[Plan, ...] = ()

    @cached_property
    def children(self) -> tuple[Plan, ...]:
        """The join, and what asks for keys of it."""
        return (self.input, *self.askers)


Stream = StreamScan | Sample | Filter | ToStream | Trace
Plan = (
    StreamScan
    | Sample
    | RelationScan
    | TimeWindow
    | VaryingWindow
    | RowWindow
    | Filter
    | During
    | Project
    | Join
    | Aggregate
    | Distinct
    | UnionAll
    | Difference
    | SetOperation
    | Recompute
    | Anew
    | ToStream
    | Trace
    | Net
    | Cache
)
