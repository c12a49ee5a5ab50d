"""The statements of a tick as text, in each form, and its probes, written when first needed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlglot import exp

from cqlduck.errors import Error
from cqlduck.rewrite import explain
from cqlduck.rewrite.operators.statement_marks import INTERVALS, PIPELINE, REDUCIBLE, is_marked
from cqlduck.rewrite.physical import identity
from cqlduck.rewrite.physical.arrivals import Passing, Prefetch, passing, prefetch
from cqlduck.rewrite.physical.emptiness import Needs, needs
from cqlduck.rewrite.physical.form import FIRST, Form
from cqlduck.rewrite.physical.quiet import Quiet
from cqlduck.rewrite.physical.statement import Reusable, Statement
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Plan, ToStream, properties, unique
from cqlduck.rewrite.plan.log_names import log_of
from cqlduck.rewrite.plan.orders import Site, marked_in
from cqlduck.rewrite.plan.trees import placeholders
from cqlduck.rewrite.relalg.elements import TS, WEIGHT, consolidate, references, state_table
from cqlduck.rewrite.statements.choose import writer_of
from cqlduck.rewrite.statements.filling import Filled, filled
from cqlduck.rewrite.statements.ordered import Ordered
from cqlduck.rewrite.statements.probes import Probe, probe
from cqlduck.rewrite.text.time import Clock


@dataclass(frozen=True)
class Step:
    """A statement of a tick as text, with the parameters that it takes.

    With `each`, a temporary table of instants and the ones after them, it runs once for each of
    these, as `$at` and `$next`. `answer` is the SELECT in the one that writes the answer's elements
    into their log (columns, `_ts` and `_weight`), `passing` says how these are arrivals of a
    stream. `prefetch` is what can be made before the tick. `is_stage` says that the form without
    stages does without it, `is_sure` that it is known to be no faster so, `is_reducible` that a
    state which it reads may be reduced, `has_steps` that it is a pipeline whose steps may be
    statements of their own, `has_intervals` that it makes pairs which can be summed up by interval.
    `shared` is what need not be made again in a tick, by whatever query. `makes` is
    the temporary table that it makes or adds to, `is_new` says which; `adds_to` is the table that
    is kept to which it adds rows. It
    `needs` a row in one of each of these sets of temporary tables, or it does nothing, or makes an
    empty table; so it does while all inputs of `unless`, if there are any, are quiet. `sites` are
    those whose order shows in it.
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
    is_reducible: bool = False
    has_steps: bool = False
    has_intervals: bool = False
    shared: Reusable | None = None
    makes: str | None = None
    is_new: bool = False
    adds_to: str | None = None
    needs: Needs = ()
    unless: tuple[Quiet, ...] = ()
    sites: frozenset[Site] = frozenset()


class Offers(NamedTuple):
    """What may be chosen of the stages of a form.

    Attributes:
        is_reducible: Whether states that they meet may be reduced.
        has_steps: Whether pipelines have several steps.
        has_intervals: Whether they make pairs that can be summed up by interval.
    """

    is_reducible: bool
    has_steps: bool
    has_intervals: bool


MAX_ORDERED = 32
"""How many forms with chosen orders are kept: of n filters there are n! orders."""


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
        self.staged: dict[Form, bool] = {}
        """Of forms whether stages make a difference, as far as that was asked."""
        self._offers: dict[Form, Offers] = {}
        self.caches: dict[Form, tuple[Filled, ...]] = {}
        """Of the forms with caches that have been written, these."""
        self.stored = dict(stored or {})
        self._make = make
        self._probes: dict[tuple[Site, bool], Probe | None] = {}
        self.unprofiled: set[Site] = set()
        """Where a probe has failed, so that no other one runs."""

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
                writer = writer_of(self.name, self.plan, self.clock, form)
                self.caches[form] = filled(writer) if form.caches else ()
                self.add(form, write_steps(writer))
        return self.written[form]

    def _read(self, form: Form) -> None:
        if form not in self.written:
            self.add(form, self.stored[form]())

    def add(self, form: Form, steps: tuple[Step, ...]) -> None:
        """Add the statements of a form that have been written."""
        if form.is_chosen:
            ordered = [one for one in self.written if one.is_chosen]
            for oldest in ordered[: max(0, len(ordered) + 1 - MAX_ORDERED)]:
                del self.written[oldest]
                self.caches.pop(oldest, None)
        self.written[form] = steps
        if form.staged and not any(step.is_stage for step in steps):
            self.written[replace(form, staged=False)] = steps
            if form in self.caches:
                self.caches[replace(form, staged=False)] = self.caches[form]

    def fills(self, form: Form) -> tuple[Filled, ...]:
        """Return the caches that a form has, and what fills each when it is made."""
        if not form.caches:
            return ()
        self.of(form)
        return self.caches[form]

    def probe(self, about: Ordered, *, single: bool) -> Probe | None:
        """Return what profiles filters, a pipeline, or the inputs of a join.

        None if the plan cannot be made any more: statements that are stored run without it.

        Args:
            about: What is profiled.
            single: Whether in a tick of one instant, whose temporary tables it reads.
        """
        key = about.site, single
        if key not in self._probes:
            try:
                writer = writer_of(self.name, self.plan, self.clock, Form(single, staged=True))
                self._probes[key] = probe(writer, about)
            except Error:
                self._probes[key] = None
        return self._probes[key]

    def unstored(self) -> list[Form]:
        """Return the forms that have been written and are to be stored, each statement once.

        Those with chosen orders or caches are not: there are too many.
        """
        return [
            form
            for form, steps in self.written.items()
            if form not in self.stored
            and not form.is_chosen
            and (form.staged or self.written.get(replace(form, staged=True)) is not steps)
        ]

    def note(self, form: Form) -> None:
        """Note that a form is stored."""
        self.stored[form] = functools.partial(self.written.__getitem__, form)

    def unstore(self) -> None:
        """Read the forms that are stored, as that is about to go: they are stored anew then."""
        for form in self.stored:
            self._read(form)
        self.stored.clear()

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

    def offers(self, form: Form) -> Offers:
        """Return what may be chosen of the stages of a form."""
        found = self._offers.get(form)
        if found is None:
            steps = self.of(_plainly(form))
            found = self._offers[form] = Offers(
                any(step.is_reducible for step in steps),
                any(step.has_steps for step in steps),
                any(step.has_intervals for step in steps),
            )
        return found

    def has_stages(self, form: Form) -> bool:
        """Return whether stages make a difference to ticks of a form."""
        if form not in self.staged:
            steps = self.of(replace(form, staged=True))
            self.staged[form] = any(step.is_stage for step in steps)
        return self.staged[form]


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


def _plainly(form: Form) -> Form:
    """Return a form with stages, and with nothing that can be chosen besides."""
    return replace(form, staged=True, reduces=False, stepwise=False, intervals=False)


def is_net(plan: Plan, writer: Writer) -> bool:
    """Return whether the elements of the answer are netted before they are written."""
    facts = properties(plan)
    needs_none = isinstance(plan, ToStream) or facts.is_append_only or facts.is_compact
    return not needs_none and writer.at_boundaries is None


def write_steps(writer: Writer) -> tuple[Step, ...]:
    """Return the statements of a tick: of deltas, of the answer, and of synopses."""
    plan = writer.plan
    output = writer.elements(plan)
    if is_net(plan, writer):
        output = consolidate(output, plan.columns)
    listed = [*references(plan.columns), exp.column(TS), exp.column(WEIGHT)]
    output = output.project(listed, "output")
    changes = exp.insert(output.query(), state_table(log_of(writer.query)), copy=False)
    answer = _answer(Statement(0, "write the elements of the answer", changes), passing(output))
    return (*map(_step, writer.statements), answer, *map(_step, writer.updates))


def _answer(statement: Statement, how: Passing | None) -> Step:
    """Return the step that writes elements into their log, which may be asked for these alone."""
    tree = statement.tree
    when = needs(tree)
    step = _step(replace(statement, tree=tree.expression))
    into = exp.Insert(this=tree.this).sql("duckdb").strip()
    return replace(step, sql=f"{into}\n{step.sql}", answer=step.sql, passing=how, needs=when)


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
        is_reducible=is_marked(tree, REDUCIBLE),
        has_steps=is_marked(tree, PIPELINE),
        has_intervals=is_marked(tree, INTERVALS),
        shared=statement.shared,
        makes=_made(tree, "temp"),
        is_new=isinstance(tree, exp.Create),
        adds_to=_made(tree, "cql_state") if isinstance(tree, exp.Insert) else None,
        needs=(*statement.needs, *needs(tree)),
        unless=statement.unless,
        sites=marked_in(tree),
        # last, because to write a tree that is not copied changes it
        sql=tree.sql("duckdb", pretty=True, copy=False),
    )


def _made(tree: exp.Expr, schema: str) -> str | None:
    """Return the table of a schema that a statement makes or adds to, or None."""
    table = tree.this if isinstance(tree, (exp.Create, exp.Insert)) else None
    table = table.this if isinstance(table, exp.Schema) else table
    return table.name if isinstance(table, exp.Table) and table.db == schema else None


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
