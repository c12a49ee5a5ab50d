"""The content of each synopsis, as one SELECT over what is stored below its operator.

    groups     γ of the tuples of the input (`groups`)
    outliers   the values among them that are not fixed-point numbers
    counts     the multiplicity of each tuple in each input; append-only: its first instant
    rows       the last rows of the stream, from its store
    trace      for a relation, the sum of the log: the input at the frontier; for a stream, those of
               its elements that are still needed, if nothing below has to remember earlier content
    content    the relation at the last boundary
    cache      the combinations of the inputs of its segment, with the ends of their lifetimes; of a
               partial one those of the keys that it knows
    keys       none: which keys a partial cache knows is what was asked for
    panes      γ of the arrivals of each of the last panes, from the stream's store

All at the frontier, `$t1`. A SELECT may read synopses of inputs, never the one that it defines. So
each is checked against those below it, and if all are right, the answer is that of the inputs. What
the stores have forgotten cannot be compared: `needs` says how far back a SELECT reads.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from cqlduck.rewrite.explain import describe, kind_of
from cqlduck.rewrite.operators import (
    anew,
    at_boundaries,
    counting,
    duplicate_eliminate,
    groups,
    partial_caches,
    row_windows,
)
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.physical.statement import CACHE, DISPOSABLE, KEYS, Synopsis
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    NEVER,
    Aggregate,
    Anew,
    Cache,
    Column,
    Difference,
    Distinct,
    During,
    Filter,
    Join,
    Net,
    Plan,
    Project,
    Recompute,
    RowWindow,
    SetOperation,
    TimeWindow,
    Trace,
    UnionAll,
    properties,
    unique,
)
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    LEAVE,
    SEQ,
    TS,
    WEIGHT,
    add,
    count,
    named,
    number,
    once,
    parameter,
    references,
    state_table,
    until,
)
from cqlduck.rewrite.relalg.values import FLOATING, identity_columns, may_vary
from cqlduck.rewrite.statements.at_rest import AtRest, Need, Past, without_past
from cqlduck.rewrite.statements.choose import appointed
from cqlduck.rewrite.statements.filling import caches_in
from cqlduck.rewrite.text.time import Clock, Duration

Synopses = Mapping[tuple[int, str], Synopsis]
"""The synopses of a query, by the numbers of their operators and their kinds."""


@dataclass(frozen=True)
class Content:
    """What a synopsis should hold at the frontier `$t1`, and how far it is from that.

    Args:
        synopsis: The synopsis.
        operator: Its operator, for people.
        found: What it should hold and what it does. None if the past that it would take is kept
            nowhere.
        reason: Why it cannot be had, whatever the stores have.
    """

    synopsis: Synopsis
    operator: str
    found: _Found | None = None
    reason: str | None = None

    @functools.cached_property
    def query(self) -> exp.Query:
        """The content: (columns of the synopsis, `_weight`), with how often a row is there.

        In a log the weight is a column.
        """
        assert self.found is not None
        held = self.found.held
        query = held.project(_listed(held, self.synopsis), "content").query()
        return _with(query, self.found.values)

    @functools.cached_property
    def differing(self) -> exp.Query:
        """How many rows of the synopsis are missing or too many, as one number."""
        assert self.found is not None
        return _with(_differing(self.found), self.found.values)

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the stores must still have for both."""
        if self.found is None:
            return ()
        values = self.found.values
        return tuple(
            Need(need.source, None if need.after is None else _with(need.after, values))
            for need in self.found.reads.needs
        )


def contents(
    name: str, plan: Plan, clock: Clock, synopses: Iterable[Synopsis]
) -> tuple[Content, ...]:
    """Return the content of each synopsis of a query, from the bottom of its plan.

    Args:
        name: The name of the query.
        plan: Its plan.
        clock: The clock.
        synopses: The synopses, as its statements read them.
    """
    writer = appointed(name, plan, clock)
    caches = caches_in(writer, [s.name for s in synopses if s.kind == CACHE])
    if caches:
        writer = appointed(name, plan, clock, Form(caches=caches))
    nodes = {writer.instance(node): node for node in unique(writer.plan)}
    known = {(s.operator, s.kind): s for s in synopses if s.kind not in DISPOSABLE}
    found = ((nodes.get(s.name.removesuffix(f"_{s.kind}")), s) for s in synopses)
    return tuple(_content(writer, node, s, known) for node, s in found if node is not None)


@dataclass(frozen=True)
class Answer:
    """What a query that yields a relation should show at the frontier `$t1`.

    Args:
        query: The answer: (columns, `_weight`), over its synopses and what is stored below.
        needs: What the stores must still have for it.
        loose: The columns that another order of the tuples may change in the last bits.
    """

    query: exp.Query
    needs: tuple[Need, ...]
    loose: frozenset[str]
    reason: None = None


def answer_at_rest(name: str, plan: Plan, clock: Clock, synopses: Iterable[Synopsis]) -> Answer:
    """Return the answer of a query that yields a relation, between two ticks.

    Args:
        name: The name of the query.
        plan: Its plan.
        clock: The clock.
        synopses: Its synopses, which are filled.
    """
    writer = appointed(name, plan, clock)
    known = {(s.operator, s.kind): s for s in synopses}
    rest = AtRest(
        writer.query, writer.plan, writer.clock, divided=writer.divided, synopses_of=known
    )
    rows = rest.standing(writer.plan)
    listed = [*references(plan.columns), column(WEIGHT)]
    values = {"t0": parameter("t1")}
    query = _with(rows.project(listed, "answer").query(), values)
    needs = (
        Need(need.source, None if need.after is None else _with(need.after, values))
        for need in rest.needs
    )
    return Answer(query, tuple(needs), _loose(rest, writer.plan))


@dataclass(frozen=True)
class _Found:
    """A content in the making.

    Args:
        held: (columns, `_weight`): what the synopsis should hold.
        kept: The same of what it does hold.
        columns: The columns by which they are compared.
        reads: Reads the inputs.
        values: What stands for parameters of a tick.
    """

    held: Rows
    kept: Rows
    columns: tuple[Column, ...]
    reads: AtRest | Past
    values: Mapping[str, exp.Expr]


def _content(writer: Writer, node: Plan, synopsis: Synopsis, known: Synopses) -> Content:
    operator = f"{kind_of(node)}: {describe(node)}".rstrip(": ")
    if synopsis.kind == "trace" and properties(node).is_stream:
        assert isinstance(node, Trace)
        unknown = next(without_past(node.input), None)
        if unknown is not None:
            reason = (
                f"it holds the past of a stream that is made of {kind_of(unknown)}: "
                f"{describe(unknown)}, and what stood there at earlier instants is not kept"
            )
            return Content(synopsis, operator, reason=reason)
    if synopsis.kind == KEYS:
        return Content(synopsis, operator, reason="which keys were asked for is kept nowhere else")
    return Content(synopsis, operator, _found(writer, node, synopsis, known))


def _listed(held: Rows, synopsis: Synopsis) -> list[exp.Expr]:
    """Return the columns of a synopsis; what is not known to have come earlier came just now."""
    now = named(cast(parameter("t1"), "BIGINT"), TS)
    names = dict.fromkeys([*(c.name for c in synopsis.columns), WEIGHT])
    dated = TS in (held.names or ())
    return [now if name == TS and not dated else column(name) for name in names]


def _found(writer: Writer, node: Plan, synopsis: Synopsis, known: Synopses) -> _Found:
    rest = AtRest(
        writer.query,
        writer.plan,
        writer.clock,
        divided=writer.divided,
        synopses_of=known,
    )
    table = Rows.of(state_table(synopsis.name), [c.name for c in synopsis.columns])
    values: dict[str, exp.Expr] = {"t0": parameter("t1")}
    columns, kept, held = synopsis.columns, _each_once(table, synopsis.columns), None
    match synopsis.kind, node:
        case "groups", Aggregate():
            state = groups.state(node, rest.standing(node.input))
            columns = _without(columns, groups.loose(node))
            held = _each_once(state, synopsis.columns)
        case "outliers", Aggregate():
            held, kept = groups.values_in_bags(node, rest.standing(node.input)), _up_to_now(table)
            columns = _without(columns, {TS, WEIGHT})
        case "counts", Distinct():
            came = duplicate_eliminate.first_instants(node, rest.standing(node.input))
            if not _knows_instants(node.input):
                columns = node.columns
            held = _each_once(came, synopsis.columns)
        case "counts", SetOperation() | Net():
            sides = [rest.standing(side) for side in node.children]
            held = _each_once(counting.counted(node, sides), columns)
        case "rows", RowWindow():
            held = row_windows.history(rest, node)
            if not properties(node.input).is_numbered:
                order: list[exp.Expr] = [column(TS), column(SEQ)]
                held = row_windows.in_order(node, held, order)
                kept = _each_once(row_windows.in_order(node, table, order), columns)
            held = _each_once(held, columns)
        case "trace", Trace() if properties(node).is_stream:
            return _found_past(writer, node, synopsis, table)
        case "trace", Trace():
            held, kept = rest.standing(node.input), _up_to_now(table)
            columns = _without(node.columns, _loose(rest, node.input))
        case "trace", Anew():
            held, kept, columns = _answered(rest, node), _up_to_now(table), node.columns
        case "cache", Cache():
            held = _cached(rest, node)
            if synopsis.has_lifetimes:
                stays = exp.GT(this=column(LEAVE), expression=parameter("t1"))
                kept = table.where(stays, alias="cache")
                columns = _without(columns, {WEIGHT})
        case "content", _:
            boundary = named(at_boundaries.last_boundary(node), at_boundaries.BOUNDARY)
            listed = [*references(node.columns), boundary, column(WEIGHT)]
            held = rest.standing(node).project(listed, "relation")
            columns = _without(columns, _loose(rest, node))
        case "panes", Aggregate():
            assert writer.at_boundaries is not None
            panes, begin = at_boundaries.stored_panes(rest, writer.at_boundaries, node)
            held = _each_once(panes, columns)
            values = {"t0": begin}
    assert held is not None, synopsis.kind
    return _Found(held, kept, columns, rest, values)


def _cached(rest: AtRest, node: Cache) -> Rows:
    """Return the combinations of a segment; of a partial cache those of the keys that it knows."""
    held = rest.standing(node.input)
    if node.partial is None:
        return held
    return held.where(partial_caches.is_known(rest, node), alias="cached")


def _answered(rest: AtRest, node: Anew) -> Rows:
    """Return (columns, `_weight`): the answer of a query at the frontier."""
    for leaf in anew.leaves(node.input):
        # notes what is needed of the stores
        rest.alive(leaf)
    return _each_once(anew.tuples_at(rest, node.input, parameter("t1")), node.columns)


def _found_past(writer: Writer, node: Trace, synopsis: Synopsis, table: Rows) -> _Found:
    """Return the trace of a stream: what has come of it, as far as it is still needed."""
    past = Past(writer.query, writer.plan, writer.clock, divided=writer.divided)
    held, kept = past.elements(node.input), table
    if synopsis.reach is not None:
        held, kept = (_needed(rows, synopsis.reach) for rows in (held, kept))
    values = {"t0": exp.paren(add(parameter("begin"), -1)), "low": number(NEVER)}
    return _Found(held, kept, _without(synopsis.columns, {WEIGHT}), past, values)


def _up_to_now(log: Rows) -> Rows:
    """Return the elements of a log that count at the frontier: none is of a later instant."""
    return log.where(until(column(TS), parameter("t1")))


def _needed(trace: Rows, reach: Duration) -> Rows:
    """Return the elements of the trace of a stream that are still needed; others may be gone."""
    return trace.where(
        exp.GTE(this=column(TS), expression=add(parameter("t1"), -reach)), alias="trace"
    )


def _each_once(rows: Rows, columns: Iterable[Column]) -> Rows:
    return rows.project([*references(columns), once()], "rows")


def _without(columns: Iterable[Column], names: Iterable[str]) -> tuple[Column, ...]:
    gone = set(names)
    return tuple(c for c in columns if c.name not in gone)


Tree = TypeVar("Tree", bound=exp.Expr)


def _with(tree: Tree, values: Mapping[str, exp.Expr]) -> Tree:
    """Return a statement of a tick with values for `$t0` and `$low`; both are an instant."""
    known = {"low": values["t0"], **values}

    def known_value(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Placeholder) and str(part.this) in known:
            return known[str(part.this)].copy()
        return part

    found = tree.transform(known_value)
    return found  # type: ignore[return-value]  # of the same kind


def _differing(found: _Found) -> exp.Select:
    """Return how many rows the synopsis has too many or lacks; values are compared as the same."""
    listed = references(found.columns)
    less = named(exp.Neg(this=column(WEIGHT)), WEIGHT)
    both = Rows.union(
        [
            found.held.project([*listed, column(WEIGHT)], "held"),
            found.kept.project([*listed, less], "kept"),
        ]
    )
    net = both.select(
        [named(count(), WEIGHT)],
        group=identity_columns(found.columns),
        having=exp.NEQ(this=exp.Sum(this=column(WEIGHT)), expression=number(0)),
        alias="rows",
    )
    total = exp.Coalesce(this=exp.Sum(this=exp.Abs(this=column(WEIGHT))), expressions=[number(0)])
    return exp.select(named(cast(total, "BIGINT"), "differing")).from_(
        net.subquery("net", copy=False), copy=False
    )


def _knows_instants(plan: Plan) -> bool:
    """Return whether what stands of a relation that only grows says when it came."""
    match plan:
        case TimeWindow() | Trace() | Distinct():
            return True
        case Filter() | Project() | Join() | UnionAll():
            return all(_knows_instants(child) for child in plan.children)
        case _:
            return False


def _loose(rest: AtRest, node: Plan) -> frozenset[str]:
    """Return the columns of a node that another order of the tuples may change in the last bits."""
    match node:
        case Aggregate() if not rest.has(node, "groups"):
            return groups.loose(node)
        case Recompute():
            return frozenset(c.name for c in node.columns if _is_floating(c.type))
        case Project():
            below = _loose(rest, node.input)
            return frozenset(
                known.name
                for value, known in zip(node.expressions, node.columns, strict=True)
                if any(part.name in below for part in value.find_all(exp.Column))
            )
        case UnionAll():
            return frozenset(
                known.name
                for arm in node.inputs
                for known in arm.columns
                if known.name in _loose(rest, arm)
            )
        case Filter() | During() | Join() | Difference() | Net():
            return frozenset().union(*(_loose(rest, child) for child in node.children))
        case _:
            return frozenset()


def _is_floating(type_name: str) -> bool:
    return may_vary(type_name) and any(kind in type_name for kind in FLOATING)
