"""The writer: builds the operators of a plan, and collects their statements and synopses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from cqlduck.rewrite.physical.arrivals import arrivals, changes, stream
from cqlduck.rewrite.physical.form import UNSTAGED, Form
from cqlduck.rewrite.physical.place import Place
from cqlduck.rewrite.physical.quiet import Quiet, quiet
from cqlduck.rewrite.physical.statement import Reusable, Statement, Synopsis
from cqlduck.rewrite.plan import Aggregate, Column, Plan, RowWindow, Source, orders
from cqlduck.rewrite.plan.divided import Divided, Origin
from cqlduck.rewrite.plan.orders import Site
from cqlduck.rewrite.plan.trees import nodes, placeholders
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import data_type
from cqlduck.rewrite.relalg.elements import ENTER, LEAVE, WEIGHT, lifetime_names, temp_table
from cqlduck.rewrite.text.time import ZERO, Clock, Duration


class _Answers(Protocol):
    """What an operator answers those above it; `operator.Operator` says what each means."""

    @property
    def is_at_hand(self) -> bool: ...
    def keep(self) -> None: ...
    def elements(self) -> Rows: ...
    def lives(self) -> Rows: ...
    def staged_lives(self) -> Rows | None: ...
    def begins(self) -> Rows: ...
    def standing(self) -> Rows: ...
    def alive(self) -> Rows: ...
    def alive_of(self, asked: Rows, by: Mapping[str, str]) -> Rows: ...
    def rows(
        self, low: exp.Expr | None, high: exp.Expr, span: Duration | None, extra: tuple[str, ...]
    ) -> Rows: ...
    def row_log(self) -> Rows: ...
    def answer(self) -> Rows | None: ...


@dataclass
class Writer:
    """Takes the statements of one plan, in one form, and passes on what operators ask of others.

    `statements` are to run in order: first the deltas, then `updates` of synopses. `spans` says for
    each stream that is read how many instants before $t0 its elements are still needed (None: all),
    `reaches` the same of the traces of streams. If joins have caches, `divided` says how the plan
    has come of the query's.
    """

    query: str
    plan: Plan
    clock: Clock
    form: Form = UNSTAGED
    numbers: dict[int, int] = field(default_factory=dict)
    instances: dict[int, str] = field(default_factory=dict)
    deltas: dict[int, str] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    updates: list[Statement] = field(default_factory=list)
    synopses: list[Synopsis] = field(default_factory=list)
    spans: dict[str, Duration | None] = field(default_factory=dict)
    reaches: dict[str, Duration | None] = field(default_factory=dict)
    divided: Divided | None = None
    place: Place = field(init=False)
    operators: dict[int, _Answers] = field(default_factory=dict)
    _staged: dict[int, tuple[str, tuple[exp.Expr, ...]]] = field(default_factory=dict)
    """By node the table with what begins or ends, and the conditions that are tested in it."""
    _shared: dict[str, frozenset[str]] = field(default_factory=dict)
    """On which parameters the temporary tables depend that others may share."""

    def operator(self, node: Plan) -> _Answers:
        """Return the operator that a node has become."""
        return self.operators[id(node)]

    @property
    def at_boundaries(self) -> Plan | None:
        """The relation that is evaluated in full at boundaries, or None."""
        return self.place.at_boundaries

    @property
    def framed(self) -> Mapping[int, Aggregate]:
        """By ROWS window, the aggregate that alone reads it and computes its frames there."""
        return self.place.framed

    @property
    def readers(self) -> Mapping[int, int]:
        """By node, how many nodes read it."""
        return self.place.readers

    def origin(self, node: Plan) -> Origin:
        """Return what a node has come of; itself if the plan is not divided by caches."""
        known = None if self.divided is None else self.divided.origins.get(id(node))
        return Origin(node) if known is None else known

    # -- what a node keeps -----------------------------------------------------------------------

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
        is_log: bool = False,
    ) -> str:
        """Ask for a synopsis; return its table."""
        name = self.table(node, kind)
        self.synopses.append(Synopsis(name, self.number(node), kind, columns, is_log=is_log))
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

    def room(
        self,
        node: Plan,
        name: str,
        columns: Sequence[Column],
        purpose: str,
        *,
        is_stage: bool = False,
    ) -> None:
        """Make a temporary table for what later statements of the tick insert.

        What several threads insert into a table that CREATE TABLE AS has made of no rows, DuckDB
        (release 2.0) does not find before the transaction has ended. So its columns are listed.
        """
        listed = [
            exp.ColumnDef(
                this=exp.to_identifier(c.name, quoted=True), kind=data_type(c.type).copy()
            )
            for c in columns
        ]
        create = _create(name, None)
        create.set("this", exp.Schema(this=create.this, expressions=listed))
        self.statements.append(Statement(self.number(node), purpose, create, is_stage=is_stage))

    def gather(self, node: Plan, parts: Iterable[exp.Query], purpose: str) -> None:
        """Keep the union of several results for the tick, each added by a step of its own.

        Args:
            node: The node, whose lifetimes they are.
            parts: The results.
            purpose: What each is.
        """
        name = f"_cql_delta_{self.instance(node)}"
        self.deltas[id(node)] = name
        columns = [*node.columns, *(Column(c, "BIGINT") for c in (ENTER, LEAVE, WEIGHT))]
        self.room(node, name, columns, "an empty table", is_stage=True)
        for query in parts:
            self.first(node, purpose, exp.insert(query, temp_table(name), copy=False))

    def reusable(
        self,
        node: Plan,
        name: str,
        query: exp.Query,
        purpose: str,
        *,
        is_stage: bool = False,
        is_sure: bool = False,
        empty: Quiet | None = None,
    ) -> str:
        """Keep what other queries may need in the same tick; return its temporary table.

        The table is called after the statement, so that all find it who ask for the same. What is
        made of a table of this query alone is not reused.

        Args:
            node: The node.
            name: What the table is called, before what tells it from others.
            query: What it holds.
            purpose: What it is for.
            is_stage: Whether another form reads that where it needs it.
            is_sure: Whether that form is known to be no faster.
            empty: When it holds nothing.
        """
        parts = nodes(query, exp.Expr)
        read = {t.name for t in parts if isinstance(t, exp.Table) and t.db == "temp"}
        shared = None
        if read <= self._shared.keys():
            digest = hashlib.sha256(query.sql("duckdb").encode()).hexdigest()
            parameters = placeholders(query).union(*[self._shared[table] for table in read])
            shared = Reusable(f"_cql_{name}_{digest[:12]}", parameters, empty)
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

    def staged_lives(self, node: Plan) -> Rows:
        """Return what begins or ends, for a node that meets others; where it pays, kept before."""
        return self.tested_lives(node)[0]

    def tested_lives(
        self, node: Plan, conditions: Sequence[exp.Expr] = (), site: Site | None = None
    ) -> tuple[Rows, Sequence[exp.Expr]]:
        """Return the same, and the conditions that are left to be tested.

        Expressions stay outside of the stage: in it they would be evaluated for tuples that meet
        none, and could fail there. Comparisons that cannot fail are in it: what a stage has not,
        DuckDB does not look for.

        Args:
            node: The node.
            conditions: Some that its tuples have to meet and that cannot fail.
            site: Where it is chosen which these are.
        """
        if not self.form.staged or self.operator(node).is_at_hand:
            return self.lives(node), conditions
        linear = self.operator(node).staged_lives()
        if linear is not None:
            return linear, conditions
        if id(node) not in self._staged:
            # what several read is kept once, for all of them
            tested = tuple(conditions) if self.readers[id(node)] == 1 else ()
            lives = self.lives(node)
            query = (lives.where(*tested) if tested else lives).query()
            purpose = "what begins or ends"
            query = query if site is None else orders.mark(query, site)
            table = self.reusable(node, "lives", query, purpose, is_stage=True, empty=quiet(node))
            self._staged[id(node)] = table, tested
        table, tested = self._staged[id(node)]
        left = [condition for condition in conditions if condition not in tested]
        return Rows.of(temp_table(table), lifetime_names(node.columns)), left

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
        kept = self.reusable(node, name, query, purpose, is_stage=True, is_sure=is_sure)
        return exp.select("*").from_(temp_table(kept))

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
        return self.operator(node).elements()

    def lives(self, node: Plan) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): what begins or ends."""
        return self.operator(node).lives()

    def begins(self, node: Plan) -> Rows:
        """Return the lifetimes that begin in the tick: of a window in time, or part of it."""
        return self.operator(node).begins()

    def standing(self, node: Plan) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): what neither begins nor ends."""
        return self.operator(node).standing()

    def alive(self, node: Plan) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): all that touches the tick."""
        return self.operator(node).alive()

    def alive_of(self, node: Plan, asked: Rows, by: Mapping[str, str]) -> Rows:
        """Return the same, as far as it has keys that are asked for (`operator.Operator`)."""
        return self.operator(node).alive_of(asked, by)

    def rows(
        self,
        node: Plan,
        low: exp.Expr | None,
        high: exp.Expr,
        *,
        span: Duration | None = ZERO,
        extra: tuple[str, ...] = (),
    ) -> Rows:
        """Return the elements of a stream with `low` < `_ts` ≤ `high`.

        `span` is how many instants before $t0 that can reach (None: without bound).
        """
        return self.operator(node).rows(low, high, span, extra)

    def row_log(self, node: RowWindow) -> Rows:
        """Return the rows of a window that come or go in the tick, with their lifetimes."""
        return self.operator(node).row_log()

    def answer(self, node: Plan) -> Rows | None:
        """Return (columns, `_weight`): the relation after the tick, if a synopsis holds it."""
        return self.operator(node).answer()

    # -- what is read of streams and relations ---------------------------------------------------

    def reads_back(self, source: Source, low: exp.Expr | None, span: Duration | None) -> None:
        """Note how far back a stream is read.

        Args:
            source: The stream.
            low: After which instant.
            span: How many instants before $t0 that can be (None: without bound).
        """
        known = self.spans.get(source.name, ZERO)
        self.spans[source.name] = None if known is None or span is None else max(known, span)

    def trace_reads_back(self, table: str, span: Duration | None) -> None:
        """Note how far back the trace of a stream is read, as `reads_back` does of a store."""
        known = self.reaches.get(table, ZERO)
        self.reaches[table] = None if known is None or span is None else max(known, span)

    def written_synopses(self) -> tuple[Synopsis, ...]:
        """Return the synopses, after all statements are written: they say what is read of them."""
        return tuple(
            replace(synopsis, reach=self.reaches.get(synopsis.name)) for synopsis in self.synopses
        )

    def arrivals(self, source: Source) -> Rows:
        """Return the arrivals of a stream in the tick."""
        return Rows.of(arrivals(source.name))

    def changes(self, source: Source) -> Rows:
        """Return the lifetimes of a relation that begin or end in the tick."""
        return Rows.of(changes(source.name))

    def stored(self, source: Source) -> Rows:
        """Return what is kept of a stream."""
        return Rows.of(stream(source.name))


def _create(name: str, query: exp.Query | None) -> exp.Create:
    return exp.Create(
        this=temp_table(name),
        kind="TABLE",
        expression=query,
        replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
    )
