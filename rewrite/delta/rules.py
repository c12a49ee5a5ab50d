"""The dispatch: which function answers for which node, and what the answers leave behind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from cqlduck.rewrite import guards
from cqlduck.rewrite.delta import (
    aggregate,
    boundaries,
    counting,
    during,
    join,
    newest,
    recompute,
    sampling,
    streams,
    windows,
)
from cqlduck.rewrite.delta.arrivals import arrivals, stream
from cqlduck.rewrite.delta.form import WHOLE, Form
from cqlduck.rewrite.physical import instances
from cqlduck.rewrite.plan import (
    Aggregate,
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
    RelationScan,
    RowWindow,
    Sample,
    SetOperation,
    Source,
    StreamScan,
    TimeWindow,
    ToStream,
    Trace,
    UnionAll,
    bottom_up,
    children,
    properties,
    unique,
)
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.scope import cast, column, typed_nothing
from cqlduck.rewrite.time import Clock
from cqlduck.rewrite.weighted import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    after,
    elements_to_lifetimes,
    forever,
    greatest,
    lifetime_names,
    lifetimes_to_elements,
    named,
    number,
    parameter,
    references,
    state_table,
    temp_table,
    until,
)


@dataclass(frozen=True)
class Synopsis:
    """A table in `cql_state` that an operator keeps between ticks.

    Args:
        name: The table.
        operator: The number of the operator in its plan.
        kind: 'groups', 'counts', 'outliers', 'rows' or 'trace'.
        columns: Its columns.
        reach: For the trace of a stream, how many instants an element is needed after its own, or
            None for ever.
        is_log: Whether it is a log of a relation's elements, which may be compacted.
    """

    name: str
    operator: int
    kind: str
    columns: tuple[Column, ...]
    reach: int | None = None
    is_log: bool = False


@dataclass(frozen=True)
class Shared:
    """A temporary table that other queries may need too, and the parameters it depends on."""

    table: str
    parameters: frozenset[str]


@dataclass(frozen=True)
class Statement:
    """One statement of a tick: the tree, and what it is for.

    With `each`, a temporary table of instants and the ones after them, it runs once for each of
    these, as `$at` and `$next`. `is_stage` says that another form does without it, `is_sure` that
    this one is known to be no slower. `shared` is what it makes if other queries may need the same.
    If it `needs` temporary tables, it does nothing when all of them are empty, and is not run.
    """

    operator: int
    purpose: str
    tree: exp.Expr
    each: str | None = None
    is_stage: bool = False
    is_sure: bool = False
    shared: Shared | None = None
    needs: frozenset[str] = frozenset()


@dataclass
class Rules:
    """Writes the statements of one plan, in one form.

    `statements` are to run in order: first the deltas, then `updates` of synopses. `spans` says for
    each stream that is read how many instants before $t0 its elements are still needed (None: all).
    `framed` says of a ROWS window which aggregate alone reads it; `at_boundaries` is the relation
    that is worked out whole, if that is so.
    """

    query: str
    plan: Plan
    clock: Clock
    form: Form = WHOLE
    numbers: dict[int, int] = field(default_factory=dict)
    instances: dict[int, str] = field(default_factory=dict)
    readers: dict[int, int] = field(default_factory=dict)
    deltas: dict[int, str] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    updates: list[Statement] = field(default_factory=list)
    synopses: list[Synopsis] = field(default_factory=list)
    spans: dict[str, int | None] = field(default_factory=dict)
    framed: dict[int, Aggregate] = field(default_factory=dict)
    at_boundaries: Plan | None = field(init=False, default=None)
    _staged: dict[int, str] = field(default_factory=dict)
    _shared: dict[str, frozenset[str]] = field(default_factory=dict)
    """On which parameters the temporary tables depend that others may share."""

    def __post_init__(self) -> None:
        """Number the operators from the top, and write the deltas that are kept for a tick."""
        self._number_operators()
        for node in bottom_up(self.plan):
            if isinstance(node, Aggregate):
                window = aggregate.window_of_its_own(node, self.readers)
                if window is not None:
                    self.framed[id(window)] = node
        self.at_boundaries = boundaries.relation_of(self.plan)
        if self.at_boundaries is not None:
            boundaries.keep(self, self.at_boundaries)
            return
        for node in bottom_up(self.plan):
            self._keep_delta(node)

    def _number_operators(self) -> None:
        for position, node in enumerate(unique(self.plan)):
            self.numbers[id(node)] = position
            self.instances[id(node)] = instances.name(self.query, node, self.instances.values())
            for child in children(node):
                self.readers[id(child)] = self.readers.get(id(child), 0) + 1

    # -- what a node keeps -----------------------------------------------------------------------

    def _keep_delta(self, node: Plan) -> None:
        match node:
            case Aggregate():
                aggregate.keep(self, node)
            case Distinct() | SetOperation() | Net():
                counting.keep(self, node)
            case RowWindow() if newest.fits(self, node):
                newest.keep(self, node)
            case RowWindow():
                windows.keep_rows(self, node)
            case Join() if self.readers.get(id(node), 0) > 1 or join.is_stepwise(self, node):
                join.keep(self, node)
            case Recompute():
                recompute.keep(self, node)
            case Trace():
                streams.keep_trace(self, node)
            case _:
                pass

    def number(self, node: Plan) -> int:
        """Return the number of an operator."""
        return self.numbers[id(node)]

    def instance(self, node: Plan) -> str:
        """Return the name of what the query has of an operator; its tables are called after it."""
        return self.instances[id(node)]

    def table(self, node: Plan, kind: str) -> str:
        """Return the table of an operator's synopsis."""
        return f"{self.instance(node)}_{kind}"

    def synopsis(
        self,
        node: Plan,
        kind: str,
        columns: tuple[Column, ...],
        *,
        reach: int | None = None,
        is_log: bool = False,
    ) -> str:
        """Ask for a synopsis; return its table."""
        name = self.table(node, kind)
        self.synopses.append(Synopsis(name, self.number(node), kind, columns, reach, is_log))
        return name

    def delta(self, node: Plan, query: exp.Query, purpose: str) -> str:
        """Keep the result of a query for the tick; return its temporary table."""
        name = f"_cql_delta_{self.instance(node)}"
        self.deltas[id(node)] = name
        return self.keep(node, name, query, purpose)

    def keep(self, node: Plan, name: str, query: exp.Query, purpose: str) -> str:
        """Keep the result of a query in a temporary table; return its name."""
        self.statements.append(Statement(self.number(node), purpose, _create(name, query)))
        return name

    def gather(
        self, node: Plan, parts: Sequence[tuple[exp.Query, frozenset[str]]], purpose: str
    ) -> None:
        """Keep the union of several results for the tick, each added by a step of its own.

        Args:
            node: The node, whose lifetimes they are.
            parts: Each result, and the temporary tables without which it is empty.
            purpose: What each is.
        """
        name = f"_cql_delta_{self.instance(node)}"
        self.deltas[id(node)] = name
        columns = [*node.columns, *(Column(c, "BIGINT") for c in (ENTER, LEAVE, WEIGHT))]
        create = _create(name, typed_nothing(columns))
        self.statements.append(
            Statement(self.number(node), "an empty table", create, is_stage=True)
        )
        for query, needs in parts:
            tree = exp.insert(query, temp_table(name))
            self.statements.append(Statement(self.number(node), purpose, tree, needs=needs))

    def share(
        self,
        node: Plan,
        name: str,
        query: exp.Query,
        purpose: str,
        *,
        is_stage: bool = False,
        is_sure: bool = False,
    ) -> str:
        """Keep what other queries may need in the same tick; return its temporary table.

        The table is called after the statement, so that all find it who ask for the same. What is
        made of a table of this query alone is shared with nobody.

        Args:
            node: The node.
            name: What the table is called, before what tells it from others.
            query: What it holds.
            purpose: What it is for.
            is_stage: Whether another form reads that where it needs it.
            is_sure: Whether that form is known to be no faster.
        """
        read = {table.name for table in query.find_all(exp.Table) if table.db == "temp"}
        shared = None
        if read <= self._shared.keys():
            digest = hashlib.sha256(query.sql("duckdb").encode()).hexdigest()
            own = frozenset(str(node.this) for node in query.find_all(exp.Placeholder))
            parameters = own.union(*(self._shared[table] for table in read))
            shared = Shared(f"_cql_{name}_{digest[:12]}", parameters)
            self._shared[shared.table] = parameters
        table = f"_cql_{name}_{self.instance(node)}" if shared is None else shared.table
        self.statements.append(
            Statement(
                self.number(node),
                purpose,
                _create(table, query),
                is_stage=is_stage,
                is_sure=is_sure,
                shared=shared,
            )
        )
        return table

    def staged_lives(self, node: Plan, conditions: Sequence[exp.Expr] = ()) -> Rows:
        """Return what begins or ends, for a node that meets others; where it pays, kept before.

        Expressions stay outside of the stage: in it they would be worked out for tuples that meet
        none, and could fail there. Comparisons that cannot fail are in it: what a stage has not,
        DuckDB does not look for.

        Args:
            node: The node.
            conditions: Some that its tuples have to meet and that cannot fail; they are tested
                again outside.
        """
        match node:
            case Filter() | Project() | UnionAll() | Difference() if self.form.staged:
                return self._linear(node, "staged_lives", (ENTER, LEAVE, WEIGHT))
            case _ if not self.form.staged or self._is_at_hand(node):
                return self.lives(node)
        if id(node) not in self._staged:
            lives = self.lives(node)
            # what several read is kept once, for all of them
            if conditions and self.readers[id(node)] == 1:
                lives = lives.where(*conditions)
            purpose = "what begins or ends"
            query = lives.query()
            self._staged[id(node)] = self.share(node, "lives", query, purpose, is_stage=True)
        return Rows.of(temp_table(self._staged[id(node)]), lifetime_names(node.columns))

    def staged(
        self, node: Plan, name: str, query: exp.Query, purpose: str, *, is_sure: bool = False
    ) -> exp.Query:
        """Return what a query gives; where it pays, kept in a temporary table before.

        Args:
            node: The node.
            name: What the table is called, before what tells it from others.
            query: The query.
            purpose: What it is for.
            is_sure: Whether it always pays, so that ticks without it need not be tried.
        """
        if not self.form.staged:
            return query
        kept = self.share(node, name, query, purpose, is_stage=True, is_sure=is_sure)
        return exp.select("*").from_(temp_table(kept))

    def _is_at_hand(self, node: Plan) -> bool:
        """Return whether what begins or ends is read from temporary tables as it is."""
        match node:
            case RowWindow() | Trace():
                return True
            case Join():
                return id(node) in self.deltas
            case _:
                return False

    def each(self, node: Plan, instants: str, tree: exp.Expr, purpose: str) -> None:
        """Add a statement that runs once for each instant of a temporary table."""
        self.statements.append(Statement(self.number(node), purpose, tree, each=instants))

    def first(self, node: Plan, purpose: str, tree: exp.Expr) -> None:
        """Add a statement that runs before the deltas that are written after it."""
        self.statements.append(Statement(self.number(node), purpose, tree))

    def update(self, node: Plan, purpose: str, tree: exp.Expr) -> None:
        """Add a statement that brings a synopsis up to date."""
        self.updates.append(Statement(self.number(node), purpose, tree))

    # -- what is asked of a node -----------------------------------------------------------------

    def elements(self, node: Plan) -> Rows:
        """Return (columns, `_ts`, `_weight`): the changes in ($t0, $t1]."""
        match node:
            case _ if node is self.at_boundaries:
                return boundaries.elements(self, node)
            case StreamScan() | Sample():
                return self.rows(node, parameter("t0"), parameter("t1"))
            case RelationScan():
                return self._relation_elements(node)
            case Filter() | Project() | UnionAll() | Difference():
                return self._linear(node, "elements", (TS, WEIGHT))
            case TimeWindow():
                return windows.time_elements(self, node)
            case RowWindow() | During():
                return lifetimes_to_elements(self.lives(node), node.columns)
            case Join():
                return join.elements(self, node)
            case Distinct() | SetOperation() | Net():
                return counting.elements(self, node)
            case Aggregate():
                return aggregate.elements(self, node)
            case Recompute():
                return recompute.elements(self, node)
            case ToStream():
                return streams.elements(self, node)
            case Trace():
                return streams.trace_elements(self, node)

    def lives(self, node: Plan) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): what begins or ends."""
        match node:
            case Filter() | Project() | UnionAll() | Difference():
                return self._linear(node, "lives", (ENTER, LEAVE, WEIGHT))
            case RelationScan() if not node.source.is_query:
                changes = exp.or_(
                    after(column(ENTER), parameter("low")), until(column(LEAVE), parameter("t1"))
                )
                return self._relation_lives(node, exp.paren(changes))
            case TimeWindow():
                return windows.time_lives(self, node)
            case RowWindow():
                return windows.row_lives(self, node)
            case Distinct() | SetOperation() | Net():
                return counting.lives(self, node)
            case Aggregate():
                return aggregate.lives(self, node)
            case Join():
                return join.lives(self, node)
            case During():
                return during.lives(self, node)
            case Trace() if properties(node).is_instantaneous:
                return streams.trace_lives(self, node)
            case _:
                return elements_to_lifetimes(self.elements(node), node.columns)

    def row_log(self, node: RowWindow) -> Rows:
        """Return the rows of a window that come or go in the tick, with their lifetimes."""
        if newest.fits(self, node):
            return newest.row_log(self, node)
        return Rows.of(temp_table(self.deltas[id(node)]))

    def begins(self, node: Plan) -> Rows:
        """Return the lifetimes that begin in the tick: of a window in time, or part of it."""
        match node:
            case Filter() | Project():
                return self._linear(node, "begins", (ENTER, LEAVE, WEIGHT))
            case TimeWindow():
                return windows.time_begins(self, node)
            case _:
                raise AssertionError(f"{type(node).__name__} is no window in time")

    def standing(self, node: Plan) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): what neither begins nor ends."""
        match node:
            case RelationScan() if not node.source.is_query:
                return self._relation_lives(
                    node,
                    until(column(ENTER), parameter("low")),
                    after(column(LEAVE), parameter("t1")),
                )
            case RelationScan():
                return self._relation_rows(node, until(column(TS), parameter("low")))
            case Filter() | Project() | UnionAll() | Difference():
                return self._linear(node, "standing", (ENTER, LEAVE, WEIGHT))
            case TimeWindow():
                return windows.time_standing(self, node)
            case RowWindow():
                return windows.row_standing(self, node)
            case Distinct() | SetOperation() | Net():
                return counting.standing(self, node)
            case Aggregate():
                return aggregate.standing(self, node)
            case Trace():
                return streams.trace_standing(self, node)
            case During():
                return during.standing(self, node)
            case _:
                raise AssertionError(f"{type(node).__name__} keeps no state of its own")

    def alive(self, node: Plan) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): all that touches the tick."""
        match node:
            case RelationScan() if not node.source.is_query:
                return self._relation_lives(node)
            case RelationScan():
                return self._relation_rows(node, until(column(TS), parameter("t1")))
            case Filter() | Project() | UnionAll() | Difference():
                return self._linear(node, "alive", (ENTER, LEAVE, WEIGHT))
            case TimeWindow():
                return windows.time_alive(self, node)
            case During():
                return during.alive(self, node)
            case _:
                return Rows.union([self.standing(node), self.lives(node)])

    # -- leaves and linear operators -------------------------------------------------------------

    def rows(
        self,
        node: Plan,
        low: exp.Expr | None,
        high: exp.Expr,
        *,
        span: int | None = 0,
        extra: tuple[str, ...] = (),
    ) -> Rows:
        """Return the elements of a stream with `low` < `_ts` ≤ `high`.

        `span` is how many instants before $t0 that can reach (None: without bound).
        """
        match node:
            case StreamScan():
                return self._stored(node, low, high, span, extra)
            case Filter():
                inner = self.rows(node.input, low, high, span=span, extra=extra)
                return inner.where(guards.restriction(node), alias="stream")
            case Sample():
                return sampling.sampled(self, node, low, high, span, extra)
            case Trace():
                return streams.trace_rows(self, node, low, high)
            case _:
                raise AssertionError(f"{type(node).__name__} keeps no elements")

    def answer(self, node: Plan) -> Rows | None:
        """Return (columns, `_weight`): the relation after the tick, if a synopsis holds it.

        Each row is one tuple, so its weight is 1.
        """
        match node:
            case _ if node is self.at_boundaries:
                return boundaries.answer(self, node)
            case RowWindow(slide=None, every=None):
                return windows.row_content(self, node)
            case Aggregate():
                return aggregate.kept(self, node)
            case Filter(input=inner) | Project(input=inner) if self.answer(inner) is not None:
                return self._linear(node, "answer", (WEIGHT,))
            case _:
                return None

    def _stored(
        self,
        node: StreamScan,
        low: exp.Expr | None,
        high: exp.Expr,
        span: int | None,
        extra: tuple[str, ...],
    ) -> Rows:
        known = self.spans.get(node.source.name, 0)
        self.spans[node.source.name] = None if known is None or span is None else max(known, span)
        listed = self._scanned(node)
        if node.instant is not None:
            listed.append(named(column(TS), node.instant))
        weight = column(WEIGHT) if node.source.is_query else named(_one(), WEIGHT)
        listed += [column(TS), weight, *map(column, extra)]
        if low == parameter("t0") and high == parameter("t1"):
            return self._arrivals(node.source).project(listed)
        bounds = [] if low is None else [after(column(TS), low)]
        since = after(column(TS), parameter("since"))
        return (
            self._kept(node.source).where(since, until(column(TS), high), *bounds).project(listed)
        )

    def _arrivals(self, source: Source) -> Rows:
        """Return what comes of a stream in the tick."""
        return Rows.of(arrivals(source.name))

    def _kept(self, source: Source) -> Rows:
        """Return what is kept of a stream."""
        return Rows.of(stream(source.name))

    def _scanned(self, node: StreamScan | RelationScan) -> list[exp.Expr]:
        return [
            named(column(known.name), name)
            for known, name in zip(node.source.columns, node.names, strict=True)
            if name is not None
        ]

    def _relation_lives(self, node: RelationScan, *conditions: exp.Expr) -> Rows:
        """Return the tuples of a base relation that are there in the tick, from $begin on."""
        enter = greatest(column(ENTER), parameter("begin"))
        return (
            Rows.of(state_table(node.source.table))
            .where(
                until(column(ENTER), parameter("t1")),
                after(column(LEAVE), parameter("t0")),
                after(column(LEAVE), parameter("begin")),
                *conditions,
            )
            .project(
                [
                    *self._scanned(node),
                    named(enter, ENTER),
                    column(LEAVE),
                    named(_one(), WEIGHT),
                ]
            )
        )

    def _relation_elements(self, node: RelationScan) -> Rows:
        if not node.source.is_query:
            return lifetimes_to_elements(self.lives(node), node.columns)
        instant = greatest(column(TS), parameter("begin"))
        return (
            Rows.of(state_table(node.source.table))
            .where(after(column(TS), parameter("low")), until(column(TS), parameter("t1")))
            .project([*self._scanned(node), named(instant, TS), column(WEIGHT)])
        )

    def _relation_rows(self, node: RelationScan, condition: exp.Expr) -> Rows:
        instant = greatest(column(TS), parameter("begin"))
        end = named(forever(), LEAVE)
        return (
            Rows.of(state_table(node.source.table))
            .where(condition)
            .project([*self._scanned(node), named(instant, ENTER), end, column(WEIGHT)])
        )

    def _linear(
        self, node: Filter | Project | UnionAll | Difference, ask: str, time: tuple[str, ...]
    ) -> Rows:
        answer: Callable[[Plan], Rows] = getattr(self, ask)
        match node:
            case UnionAll():
                return Rows.union([answer(inner) for inner in node.inputs])
            case Difference():
                *kept, weight = time
                less = named(exp.Neg(this=column(weight)), weight)
                gone = [*references(node.columns), *map(column, kept), less]
                return Rows.union([answer(node.left), answer(node.right).project(gone, "less")])
            case Filter():
                return answer(node.input).where(guards.restriction(node))
            case Project():
                listed = [
                    named(expression, known.name)
                    for expression, known in zip(node.expressions, node.columns, strict=True)
                ]
                return answer(node.input).project([*listed, *map(column, time)])


def _create(name: str, query: exp.Query) -> exp.Create:
    return exp.Create(
        this=temp_table(name),
        kind="TABLE",
        expression=query,
        replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )


def _one() -> exp.Expr:
    return cast(number(1), "BIGINT")
