"""Memory: what bounds each thing that a query keeps, or that it grows for ever.

The verdict follows from the plan alone. What an operator yields at an instant is bounded by windows
and by the relations that it reads. A synopsis has no more rows than that, with two exceptions:
groups, and tuples without duplicates, over what grows for ever are as many as there are values; and
the log of a stream that an operator yields is kept as far back as an operator above looks (stream
chapter, section 2.2; "bounded memory" is what these words say there of windows). A query that reads
a stream with LATE AMEND is another matter: it may be evaluated again from its beginning on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from sqlglot import exp

from cqlduck.rewrite.explain import describe
from cqlduck.rewrite.physical.statement import Synopsis
from cqlduck.rewrite.plan import (
    Aggregate,
    Distinct,
    During,
    Filter,
    Join,
    Plan,
    Project,
    RelationScan,
    RowWindow,
    SetOperation,
    Source,
    StreamScan,
    TimeWindow,
    ToStream,
    VaryingWindow,
    properties,
    unique,
)
from cqlduck.rewrite.plan.traversal import chain_of, value_of
from cqlduck.rewrite.statements.compiled import Compiled


class Growth(IntEnum):
    """How what is kept can grow, from the least on."""

    CONSTANT = 0
    """It has a fixed number of rows at most."""
    WINDOW = 1
    """It has no more than came in some time."""
    RELATION = 2
    """It has no more than relations have by now, or answers of other queries."""
    VALUES = 3
    """It has a row for each value that ever came."""
    EVER = 4
    """It grows with each element."""


@dataclass(frozen=True)
class Bound:
    """How what an operator yields at an instant, or keeps, can grow.

    Attributes:
        growth: How.
        by: What bounds it, or makes it grow.
        cure: What would bound it, where that is nothing.
    """

    growth: Growth
    by: tuple[str, ...]
    cure: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it in words."""
        cured = f"; it would be bounded by {' and '.join(self.cure)}" if self.cure else ""
        return self.in_words + cured

    @property
    def in_words(self) -> str:
        """How it grows, in words."""
        by = " and ".join(self.by)
        match self.growth:
            case Growth.CONSTANT:
                return f"is bounded: {by}"
            case Growth.WINDOW | Growth.RELATION:
                return f"is bounded by {by}"
            case Growth.VALUES:
                return f"grows with each new {by}"
        return f"grows for ever, with {by}"


ONE_ROW = Bound(Growth.CONSTANT, ("one row",))


@dataclass(frozen=True)
class Stored:
    """Something that a query keeps, and what bounds it.

    Attributes:
        what: What it is, in words.
        table: The table, inside schema `cql_state`.
        bound: What bounds it.
    """

    what: str
    table: str
    bound: Bound

    def __str__(self) -> str:
        """Return it in a line."""
        return f"{self.what} {self.bound}"


def memory_of(compiled: Compiled, answer: str = "", amended: Sequence[str] = ()) -> list[Stored]:
    """Return what a query keeps: the stores of its streams, as far as it needs them, and synopses.

    The log of its answer is not among them: it is kept as history, which a query may bound. Nor is
    the answer, unless it is all that grows: else something else is there that grows as it does.

    Args:
        compiled: The query.
        answer: The table that a relation's answer has, where synopses do not hold it.
        amended: The streams with LATE AMEND that it reads.
    """
    nodes = list(unique(compiled.plan))
    found = []
    for source in compiled.sources.values():
        bound = _of_source(compiled, source, amended)
        if bound is not None:
            what = "log" if source.is_query else "store"
            found.append(Stored(f"the {what} of {source.name}", source.table, bound))
    for synopsis in compiled.synopses:
        node = nodes[synopsis.operator]
        what = f"{synopsis.kind} of operator {synopsis.operator}"
        found.append(Stored(what, synopsis.name, _of_synopsis(node, synopsis)))
    if compiled.kind == "relation" and compiled.answer is None:
        bound = bound_of(compiled.plan)
        if bound.growth is Growth.EVER and not unbounded(found):
            found.append(Stored("the answer", answer, bound))
    return found


def _of_source(compiled: Compiled, source: Source, amended: Sequence[str]) -> Bound | None:
    """Return what bounds what a query needs of an input; None if it needs nothing of its own."""
    if amended:
        named = " and ".join(amended)
        by = f"each element of {source.name}, as LATE AMEND of {named} may need it"
        return Bound(Growth.EVER, (by,), (f"LATE KEEP of {named}",))
    if source.kind != "stream" or source.name not in compiled.spans:
        return None
    span = compiled.spans[source.name]
    if span is None:
        return _elements(source.name)
    if source.is_query:
        # it is kept as history, which the other query may bound
        return None
    many = "instant" if span == 0 else f"{span + 1} instants"
    return Bound(Growth.WINDOW, (f"the last {many} of {source.name}",))


def unbounded(kept: Iterable[Stored]) -> list[Stored]:
    """Return what grows for ever, with each element."""
    return [one for one in kept if one.bound.growth is Growth.EVER]


def _of_synopsis(node: Plan, synopsis: Synopsis) -> Bound:
    if synopsis.kind == "trace" and properties(node).is_stream:
        if synopsis.reach is not None:
            return Bound(Growth.WINDOW, (f"the last {synopsis.reach + 1} instants of its input",))
        return Bound(Growth.EVER, ("each element of its input",), ("a window on it",))
    if synopsis.kind == "outliers" and isinstance(node, Aggregate):
        inner = bound_of(node.input)
        if inner.growth < Growth.EVER:
            return inner
        return Bound(Growth.VALUES, ("NaN, infinity or value far from 1",), inner.cure)
    return bound_of(node)


def bound_of(node: Plan) -> Bound:
    """Return how what a node yields at an instant can grow; of a stream, what it has yielded."""
    match node:
        case StreamScan():
            return _elements(node.source.name)
        case RelationScan():
            words = "the answer of" if node.source.is_query else "the relation"
            return Bound(Growth.RELATION, (f"{words} {node.source.name}",))
        case TimeWindow():
            if node.width is None:
                return bound_of(node.input)
            return Bound(Growth.WINDOW, (_window(node),))
        case VaryingWindow():
            return Bound(Growth.WINDOW, (_window(node),))
        case RowWindow():
            if node.partition_by and node.width is None:
                keys = ", ".join(map(_public, node.partition_by))
                return Bound(Growth.VALUES, (f"{keys} of {_stream(node)}",), ("RANGE beside ROWS",))
            growth = Growth.CONSTANT if node.width is None else Growth.WINDOW
            return Bound(growth, (_window(node),))
        case During() if node.ends:
            return Bound(Growth.WINDOW, (describe(node),))
        case Join() if properties(node).needs_now:
            return Bound(Growth.WINDOW, ("[NOW]",))
        case Aggregate() if not node.keys:
            return ONE_ROW
        case Aggregate() | Distinct():
            return _of_values(bound_of(node.input), node)
        case SetOperation():
            return _of_values(worst(bound_of(node.left), bound_of(node.right)), node)
        case ToStream():
            inner = bound_of(node.input)
            by = inner.by if inner.growth is Growth.EVER else (f"each element of {describe(node)}",)
            return Bound(Growth.EVER, by, inner.cure or ("a window on it",))
    return worst(*map(bound_of, node.children))


def worst(*bounds: Bound) -> Bound:
    """Return the bound of what has parts with some bounds: the greatest growth counts.

    What is bounded is so by all that bounds its parts; what grows does by what has no bound.
    """
    growth = max(bound.growth for bound in bounds)
    least = growth if growth > Growth.RELATION else Growth.WINDOW
    alike = [bound for bound in bounds if bound.growth >= least] or bounds
    return Bound(
        growth,
        tuple(dict.fromkeys(by for bound in alike for by in bound.by)),
        tuple(dict.fromkeys(cure for bound in alike for cure in bound.cure)),
    )


def _of_values(inner: Bound, node: Plan) -> Bound:
    """Return the bound of what has a row for each value among tuples with a bound."""
    if inner.growth is not Growth.EVER:
        return inner
    names = node.keys if isinstance(node, Aggregate) else [c.name for c in node.columns]
    bounds = [(name, _of_value(node.children[0], name)) for name in names]
    growing = [name for name, bound in bounds if bound.growth > Growth.RELATION]
    if not growing and not isinstance(node, SetOperation):
        return worst(*(bound for _, bound in bounds)) if names else ONE_ROW
    shown = [_in_words(_origin(node.children[0], name)) for name in growing or names]
    listed = shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
    return Bound(Growth.VALUES, (listed,), inner.cure)


def _of_value(plan: Plan, name: str) -> Bound:
    """Return how many values a column of an operator can have at an instant."""
    kind = next(column.type for column in plan.columns if column.name == name)
    if kind == "BOOLEAN" or kind.startswith("ENUM"):
        return Bound(Growth.CONSTANT, (f"the values of {kind.partition('(')[0]}",))
    match plan:
        case Project():
            read = [one.name for one in value_of(plan, name).find_all(exp.Column)]
            bounds = [_of_value(plan.input, one) for one in dict.fromkeys(read)]
            return worst(*bounds) if bounds else ONE_ROW
        case Join():
            bounds = [
                _of_value(side, one)
                for one in _equal(plan, name)
                for side in plan.inputs
                if any(column.name == one for column in side.columns)
            ]
            return min(bounds, key=lambda bound: bound.growth)
        case Filter() | TimeWindow():
            return _of_value(plan.input, name)
        case Aggregate() if name in plan.keys:
            return _of_value(plan.input, name)
    return bound_of(plan)


def _equal(join: Join, name: str) -> list[str]:
    """Return a column of a join, and those that are equal to it."""
    pairs = [
        (one.this.name, one.expression.name)
        for one in join.predicates
        if isinstance(one, exp.EQ)
        and isinstance(one.this, exp.Column)
        and isinstance(one.expression, exp.Column)
    ]
    found = [name]
    for known in found:
        others = [b if a == known else a for a, b in pairs if known in (a, b)]
        found += [other for other in dict.fromkeys(others) if other not in found]
    return found


def _origin(plan: Plan, name: str) -> exp.Expr:
    """Return what a column of an operator's input is, as an expression of the text."""
    while isinstance(plan, (Project, Filter)):
        if isinstance(plan, Project):
            value = value_of(plan, name)
            if not isinstance(value, exp.Column):
                return value
            name = value.name
        plan = plan.input
    return exp.column(name)


def _in_words(value: exp.Expr) -> str:
    return value.name if isinstance(value, exp.Column) else value.sql("duckdb")


def _elements(stream: str) -> Bound:
    return Bound(
        Growth.EVER, (f"each element of {stream}",), (f"a window: {stream} [RANGE 1 HOUR]",)
    )


def _window(node: TimeWindow | VaryingWindow | RowWindow) -> str:
    return f"{_stream(node)} {describe(node)}"


def _stream(node: TimeWindow | VaryingWindow | RowWindow) -> str:
    *_, source = chain_of(node.input)
    return source.source.name if isinstance(source, StreamScan) else "a subquery"


def _public(name: str) -> str:
    return name.split(".", 1)[-1]
