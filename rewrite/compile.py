"""Compiling: from the text of a query to its plan, operators and statements."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from cqlduck.errors import BindError, Error, NotSupportedError
from cqlduck.rewrite import explain
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.binder import Binder
from cqlduck.rewrite.bind.catalog import Catalog
from cqlduck.rewrite.bind.macros import Taken, expand_macros
from cqlduck.rewrite.bind.named_types import expand_types
from cqlduck.rewrite.bind.scope import refuse_always
from cqlduck.rewrite.physical import identity
from cqlduck.rewrite.physical.algebra import needs_lifetimes
from cqlduck.rewrite.physical.arrivals import Passing, Prefetch, passing, prefetch
from cqlduck.rewrite.physical.evaluators import has_frame
from cqlduck.rewrite.physical.form import FIRST, UNSTAGED, Form
from cqlduck.rewrite.physical.statement import Reusable, Statement, Synopsis
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Aggregate,
    Column,
    Filter,
    Join,
    Plan,
    Recompute,
    Source,
    ToStream,
    properties,
    unique,
)
from cqlduck.rewrite.plan.aggregates import aggregate_calls
from cqlduck.rewrite.plan.conditions import conjuncts
from cqlduck.rewrite.plan.trees import placeholders
from cqlduck.rewrite.relalg.builders import typed_nothing
from cqlduck.rewrite.relalg.elements import (
    TS,
    WEIGHT,
    consolidate,
    number,
    references,
    state_table,
    union_all,
)
from cqlduck.rewrite.rules import optimize
from cqlduck.rewrite.statements.choose import writer_of
from cqlduck.rewrite.text.names import RESERVED, reserved
from cqlduck.rewrite.text.parsed import place_of
from cqlduck.rewrite.text.queries import parse_query
from cqlduck.rewrite.text.time import Clock, Duration


@dataclass(frozen=True)
class Step:
    """A statement of a tick as text, with the parameters that it takes.

    With `each`, a temporary table of instants and the ones after them, it runs once for each of
    these, as `$at` and `$next`. `answer` is the SELECT in the one that writes the answer's elements
    into their log (columns, `_ts` and `_weight`), `passing` says how these are arrivals of a
    stream. `prefetch` is what can be made before the tick. `is_stage` says that the form without
    stages does without it, `is_sure` that it is known to be no faster so. `shared` is what need not
    be made again in a tick, by whatever query. `makes` is the temporary table that it makes or adds
    to. If it `needs` some, it does nothing when all of them are empty.
    """

    operator: int
    purpose: str
    sql: str
    parameters: frozenset[str]
    each: str | None = None
    answer: str | None = None
    passing: Passing | None = None
    prefetch: Prefetch | None = None
    is_stage: bool = False
    is_sure: bool = False
    shared: Reusable | None = None
    makes: str | None = None
    needs: frozenset[str] = frozenset()


class Steps:
    """The statements of a plan's ticks, in each form written when it is asked for first.

    Args:
        name: The query.
        clock: The clock.
        make: Makes the plan.
        stored: Forms that have been written before, each as what reads its statements.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        make: Callable[[], Plan],
        stored: Mapping[Form, Callable[[], tuple[Step, ...]]] | None = None,
    ) -> None:
        """Begin with what has been written before."""
        self.name = name
        self.clock = clock
        self.written: dict[Form, tuple[Step, ...]] = {}
        """The forms that have been asked for."""
        self.stored = dict(stored or {})
        self._make = make

    @functools.cached_property
    def plan(self) -> Plan:
        """The plan."""
        return self._make()

    @functools.cached_property
    def operators(self) -> tuple[OperatorRow, ...]:
        """The operators of the plan for people to look at, from the top."""
        return tuple(_operators(self.plan, self.of(FIRST)))

    def of(self, form: Form) -> tuple[Step, ...]:
        """Return the statements of a tick, in order; the last ones update synopses."""
        if form not in self.written and replace(form, staged=True) in self.stored:
            # it may have no stages, and be the other one too
            self._read(replace(form, staged=True))
        if form not in self.written:
            if form in self.stored:
                self._read(form)
            else:
                self.take(form, _steps(writer_of(self.name, self.plan, self.clock, form)))
        return self.written[form]

    def _read(self, form: Form) -> None:
        if form not in self.written:
            self.take(form, self.stored[form]())

    def take(self, form: Form, steps: tuple[Step, ...]) -> None:
        """Take the statements of a form that have been written."""
        self.written[form] = steps
        if form.staged and not any(step.is_stage for step in steps):
            self.written[replace(form, staged=False)] = steps

    def unstored(self) -> list[Form]:
        """Return the forms that have been written and are not stored, each statement once."""
        return [
            form
            for form, steps in self.written.items()
            if form not in self.stored
            and (form.staged or self.written.get(replace(form, staged=True)) is not steps)
        ]

    def note(self, form: Form) -> None:
        """Note that a form is stored."""
        self.stored[form] = functools.partial(self.written.__getitem__, form)

    def has(self, form: Form) -> bool:
        """Return whether a form has been asked for, now or before the database was opened."""
        return form in self.written or form in self.stored

    def shown(self, forms: Sequence[Form]) -> list[tuple[Step, Form | None]]:
        """Return the statements of forms, each once; those of the first one alone without a form.

        Args:
            forms: The forms.
        """
        found: list[tuple[Step, Form | None]] = [(step, None) for step in self.of(forms[0])]
        for form in forms[1:]:
            known = {step for step, _ in found}
            found += [(step, form) for step in self.of(form) if step not in known]
        return found

    def texts(self, forms: Sequence[Form]) -> dict[int, str]:
        """Return the statements of forms as text, by the number of the operator."""
        found: dict[int, list[str]] = {}
        for step, form in self.shown(forms):
            note = "" if form is None else f"-- in {form}\n"
            found.setdefault(step.operator, []).append(f"{note}{step.sql}")
        return {number: ";\n\n".join(mine) for number, mine in found.items()}

    def has_stages(self, form: Form) -> bool:
        """Return whether stages make a difference to ticks of a form."""
        return any(step.is_stage for step in self.of(replace(form, staged=True)))


@dataclass(frozen=True)
class OperatorRow:
    """An operator for people to look at: a row of `cql.operators`."""

    number: int
    parent: int | None
    id: str
    inputs: tuple[str, ...]
    kind: str
    description: str
    sql: str


@dataclass(frozen=True)
class Compiled:
    """A query, ready to run.

    Args:
        kind: 'stream' or 'relation': what the query yields.
        columns: Its columns, without `_ts` and `_weight`.
        sources: What it reads, by lower-case name.
        steps: The statements of its ticks.
        root: The id of the operator that the query is.
        synopses: The tables that it keeps between ticks.
        spans: For each stream, how many instants before the frontier its elements are still
            needed; None is all of them.
        order: ORDER BY of the outermost SELECT as text, or None: how `table()` shows the answer.
        answer: The answer at the frontier, (columns, `_weight`), each of weight 1, read from
            synopses; or None where they do not hold it.
        repeats: Whether it may have elements at every instant: an Rstream of what stands, or the
            current time in the answer.
        counts_instants: Whether a window counts bare instants, which only integer time allows.
        is_heavy: Whether a tick costs pairs of instants and tuples, so that it should stay small.
        is_net: Whether of the elements that a tick writes no two have the same tuple and instant.
        period: After its first tick it changes at multiples of so many instants alone, its windows
            being such; None if it may change at any.
        taken: What it has taken of macros and types, as text (`macros.Taken`).
    """

    kind: str
    columns: tuple[Column, ...]
    sources: dict[str, Source]
    steps: Steps
    root: str
    synopses: tuple[Synopsis, ...]
    spans: dict[str, Duration | None]
    order: str | None
    repeats: bool = False
    counts_instants: bool = False
    is_heavy: bool = False
    answer: str | None = None
    period: Duration | None = None
    is_net: bool = False
    taken: str = ""

    @property
    def plan(self) -> Plan:
        """The logical plan."""
        return self.steps.plan

    @property
    def operators(self) -> tuple[OperatorRow, ...]:
        """The operators of the plan for people to look at."""
        return self.steps.operators

    def rests(self, before: int, until: int) -> bool:
        """Return whether nothing can change after one instant and up to another."""
        return self.period is not None and before // self.period == until // self.period

    def explain(
        self, forms: Sequence[Form] = (UNSTAGED, Form(single=True, staged=True)), notes: str = ""
    ) -> str:
        """Return the plan as text, and under each operator's number its statements.

        Args:
            forms: The forms of which they are; of those after the first one what is another
                statement. By default what differs most: the others mix these.
            notes: What is to be said between the plan and the statements.
        """
        parts = ["\n".join(explain.tree(self.plan)), *([notes] if notes else [])]
        for step, form in self.steps.shown(forms):
            where = "" if form is None else f", in {form}"
            parts.append(f"-- operator {step.operator}: {step.purpose}{where}\n{step.sql};")
        return "\n\n".join(parts)


_OPEN = (
    "_ts is a BIGINT as long as nothing says that time is wall-clock time; a heartbeat with a date "
    "does, or a stream with TIMESTAMP BY"
)
_EMPTY = "_ts is no part of *: write _ts AS something else"


def compile_query(name: str, body: str, catalog: Catalog) -> Compiled:
    """Compile the body of a continuous query.

    Args:
        name: The query's public name; its synopses are called after it.
        body: The SELECT, in CQL.
        catalog: Streams, relations, queries, and the types of expressions.

    Raises:
        Error: Of the family, with a place in `body`.
    """
    try:
        syntax = parse_query(body)
        macros = expand_macros(syntax.tree, catalog.macros, catalog.aggregates, catalog.volatile)
        types = expand_types(syntax.tree, catalog.types, catalog.described)
        order = _take_order(syntax.tree)
        binder = Binder(catalog, syntax)
        plan = binder.bind()
        _check_columns(plan)
        _check_conditions(plan, catalog)
        order_sql = None if order is None else _order(order, plan, catalog)
        plan = optimize(plan)
    except Error as error:
        if isinstance(error, BindError) and TS in body.lower():
            is_empty = "SELECT list is empty" in str(error)
            error.hint = error.hint or (
                _EMPTY if is_empty else _OPEN if catalog.time_is_open else None
            )
        raise error.at(body, error.offset if error.offset is not None else 0) from error
    except RecursionError as error:
        raise Error("the query is nested too deeply", text=body, offset=0) from error
    writer = writer_of(name, plan, catalog.clock, FIRST)
    steps = Steps(name, catalog.clock, lambda: plan)
    steps.take(FIRST, _steps(writer))
    answer = writer.answer(plan)
    return Compiled(
        "stream" if properties(plan).is_stream else "relation",
        plan.columns,
        binder.sources,
        steps,
        identity(plan).id,
        tuple(writer.synopses),
        dict(writer.spans),
        order_sql,
        any(map(_repeats, unique(plan))),
        any(
            d is not None and d.instants is not None
            for window in syntax.windows.values()
            for d in (window.range, window.slide)
        ),
        any(map(_is_heavy, unique(plan))),
        None if answer is None else answer.query().sql("duckdb"),
        properties(plan).period,
        _is_netted(plan, writer) or properties(plan).is_consolidated,
        Taken(macros, binder.called, types).text(),
    )


def _repeats(node: Plan) -> bool:
    """Return whether a node may have elements at every instant."""
    if isinstance(node, ToStream):
        return node.kind == "rstream" and not properties(node.input).is_instantaneous
    return isinstance(node, Recompute) and node.always


def _is_heavy(node: Plan) -> bool:
    if isinstance(node, Aggregate):
        return needs_lifetimes(node) and not has_frame(node) and properties(node).period is None
    return isinstance(node, Recompute)


def _is_netted(plan: Plan, writer: Writer) -> bool:
    """Return whether the elements of the answer are netted before they are written."""
    facts = properties(plan)
    needs_none = isinstance(plan, ToStream) or facts.is_append_only or facts.is_compact
    return not needs_none and writer.at_boundaries is None


def _steps(writer: Writer) -> tuple[Step, ...]:
    """Return the statements of a tick: of deltas, of the answer, and of synopses."""
    plan = writer.plan
    output = writer.elements(plan)
    if _is_netted(plan, writer):
        output = consolidate(output, plan.columns)
    listed = [*references(plan.columns), exp.column(TS), exp.column(WEIGHT)]
    output = output.project(listed, "output")
    changes = exp.insert(output.query(), state_table(f"changes_{writer.query}"), copy=False)
    answer = _answer(Statement(0, "write the elements of the answer", changes), passing(output))
    return (*map(_step, writer.statements), answer, *map(_step, writer.updates))


def _answer(statement: Statement, how: Passing | None) -> Step:
    """Return the step that writes elements into their log, which may be asked for these alone."""
    tree = statement.tree
    step = _step(replace(statement, tree=tree.expression))
    into = exp.Insert(this=tree.this).sql("duckdb").strip()
    return replace(step, sql=f"{into}\n{step.sql}", answer=step.sql, passing=how)


def _step(statement: Statement) -> Step:
    tree = statement.tree
    return Step(
        statement.operator,
        statement.purpose,
        parameters=placeholders(tree),
        each=statement.each,
        prefetch=prefetch(tree),
        is_stage=statement.is_stage,
        is_sure=statement.is_sure,
        shared=statement.shared,
        makes=_made(tree),
        needs=statement.needs,
        # last, because to write a tree that is not copied changes it
        sql=tree.sql("duckdb", pretty=True, copy=False),
    )


def _made(tree: exp.Expr) -> str | None:
    """Return the temporary table that a statement makes or adds to, or None."""
    table = tree.this if isinstance(tree, (exp.Create, exp.Insert)) else None
    return table.name if isinstance(table, exp.Table) and table.db == "temp" else None


def _operators(plan: Plan, steps: tuple[Step, ...]) -> Iterator[OperatorRow]:
    numbers = {id(node): number for number, node in enumerate(unique(plan))}
    parents: dict[int, int] = {}
    for node in unique(plan):
        for child in node.children:
            parents.setdefault(id(child), numbers[id(node)])
    for node in unique(plan):
        number = numbers[id(node)]
        yield OperatorRow(
            number,
            parents.get(id(node)),
            identity(node).id,
            tuple(identity(child).id for child in node.children),
            explain.kind_of(node),
            explain.describe(node),
            ";\n\n".join(step.sql for step in steps if step.operator == number),
        )


def _check_columns(plan: Plan) -> None:
    for known in plan.columns:
        if known.name.lower() in RESERVED:
            raise reserved(known.name)


def _check_conditions(plan: Plan, catalog: Catalog) -> None:
    """Refuse conditions whose types do not fit, before a tick would fail of them.

    Raises:
        BindError: DuckDB's own word on one of them.
    """
    found: list[tuple[exp.Expr, exp.Select]] = []
    for node in unique(plan):
        match node:
            case Filter():
                parts: Sequence[exp.Expr] = conjuncts(node.predicate)
            case Join():
                parts = node.predicates
            case _:
                continue
        source = typed_nothing([c for inner in node.children for c in inner.columns])
        for part in parts:
            whole = exp.select(exp.alias_(number(1), "one")).from_(source.subquery("input"))
            found.append((part, whole.where(part.copy(), copy=False)))
    if not found or catalog.described(union_all([w.copy() for _, w in found]).sql("duckdb")):
        return
    for part, whole in found:
        try:
            catalog.describe(whole.sql("duckdb"))
        except BindError as error:
            error.offset = place_of(part)
            raise


def _take_order(tree: exp.Query) -> exp.Order | None:
    """Remove and return the ORDER BY of the outermost SELECT."""
    if not isinstance(tree, exp.Select) or tree.args.get("limit") or tree.args.get("offset"):
        return None
    distinct = tree.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        return None
    order = tree.args.get("order")
    tree.set("order", None)
    return order


def _order(order: exp.Order, plan: Plan, catalog: Catalog) -> str:
    """Return ORDER BY over the answer's columns.

    Raises:
        NotSupportedError: It names what the answer does not have.
    """
    known = {c.name.lower() for c in plan.columns}
    copy = order.copy()
    current_time.refuse(copy, "ORDER BY")
    refuse_always(copy, catalog.volatile)
    if any(True for _ in aggregate_calls(copy, catalog.aggregates)):
        raise NotSupportedError(
            "ORDER BY an aggregate, which is no column of the answer",
            hint="select the aggregate too, and order by its name",
            offset=place_of(order),
        )
    for node in copy.find_all(exp.Column):
        if node.name.lower() not in known:
            raise NotSupportedError(
                f"ORDER BY {node.sql('duckdb')}, which is no column of the answer",
                hint="ORDER BY orders what table() shows; select the column too",
                offset=place_of(node),
            )
        node.set("table", None)
    return copy.sql("duckdb").strip()
