"""Anew: a whole query that DuckDB answers by its own plan, at each instant of a change.

With T the instants of the tick at which something changes below, and t₀ before them,

    R(τ) = Q(L₁(τ), …, Lₙ(τ))    for τ in T, one plain SELECT over what stands at τ
    + R(τ) at τ, and − R(τ) at the instant of T after τ; − R(t₀), from its trace, at the first

No LATERAL, and no copy of an input: DuckDB sees the query as it was written over the stores, and
has its own plan for it. Nothing of what is below keeps a synopsis. A tick without a change does not
ask for the answer, one with n instants of change asks n times. A tick of one instant has no T to
look for, where the inputs can tell whether one of them changes.

In the words of materialized views it is the complete refresh, and the other plan of the query the
incremental one. A query goes from one to the other between ticks.
"""

from __future__ import annotations

from sqlglot import exp

from cqlduck.rewrite.operators import instants
from cqlduck.rewrite.operators.instants import AT
from cqlduck.rewrite.operators.leaves import standing_at
from cqlduck.rewrite.operators.traces import logged
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.physical.quiet import Quiet, quiet
from cqlduck.rewrite.physical.statement import Statement
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Anew,
    Column,
    Net,
    Plan,
    RelationScan,
    TimeWindow,
    Trace,
    properties,
    unique,
)
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import cast, column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    NEXT,
    TS,
    WEIGHT,
    after,
    consolidate,
    element_names,
    elements_to_lifetimes,
    greatest,
    named,
    number,
    over_time,
    parameter,
    references,
    state_table,
    temp_table,
    tuples_of,
    union_all,
    until,
)


class CompleteRefresh(Operator[Anew]):
    """A query answered anew at each instant of change, and compared with what was."""

    purpose = "answer the whole query anew"

    def keep(self) -> None:
        """Keep the instants of change, the answers at them, and their differences."""
        node, writer = self.node, self.writer
        columns = (*node.columns, Column(TS, "BIGINT"), Column(WEIGHT, "BIGINT"))
        table = writer.synopsis(node, "trace", columns, is_log=True)
        for leaf in leaves(node.input):
            # notes how far back the stores are read
            writer.alive(leaf)
        name, known = f"_cql_delta_{writer.instance(node)}", self._known
        unless = _unless(node.input) if writer.form.single else ()
        if not unless:
            writer.keep(node, known, self._instants(), "the instants at which an input changes")
        if not writer.form.single:
            self._answer_each(known)
        writer.room(node, name, columns, "room for what has changed")
        writer.deltas[id(node)] = name
        changes = exp.insert(self._changes(), temp_table(name), copy=False)
        purpose = self.purpose if writer.form.single else "what has changed from instant to instant"
        needs = () if unless else ((known,),)
        writer.statements.append(
            Statement(writer.number(node), purpose, changes, needs=needs, unless=unless)
        )
        append = exp.insert(self.elements().query(), state_table(table))
        writer.update(node, "append what has changed to the trace", append)

    def _answer_each(self, known: str) -> None:
        """Keep the answers at all instants of change, an instant a statement."""
        columns = [*self.node.columns, *(Column(name, "BIGINT") for name in (AT, NEXT))]
        self.writer.room(self.node, self._results, columns, "room for the answers")
        times = [
            named(cast(parameter(p), "BIGINT"), name) for p, name in (("at", AT), ("next", NEXT))
        ]
        rows = tuples_at(self.writer, self.node.input, parameter("at"))
        listed = rows.project([*references(self.node.columns), *times], "answer")
        tree = exp.insert(listed.query(), temp_table(self._results), copy=False)
        self.writer.each(self.node, known, tree, self.purpose)

    @property
    def _known(self) -> str:
        return f"_cql_instants_{self.writer.instance(self.node)}"

    @property
    def _results(self) -> str:
        return f"_cql_results_{self.writer.instance(self.node)}"

    def _instants(self) -> exp.Select:
        """Return (`_ts`, `_cql_next`): the instants of the tick at which an input changes."""
        first = cast(greatest(parameter("t0"), parameter("begin")), "BIGINT")
        parts: list[exp.Query] = [exp.select(named(first, TS))]
        for leaf in leaves(self.node.input):
            changes = self.writer.elements(leaf).project([column(TS)], "changes")
            if self.writer.form.single:
                # what begins or ends does so at the one instant
                lives = self.writer.lives(leaf)
                changes = lives.project([named(cast(parameter("t1"), "BIGINT"), TS)], "changes")
            parts.append(changes.query())
        inside = after(column(TS), parameter("t0")), until(column(TS), parameter("t1"))
        following = over_time(exp.Lead(this=column(TS)))
        return (
            exp.select(column(TS), named(following, NEXT))
            .from_(union_all(parts).subquery("all_instants", copy=False), copy=False)
            .where(*inside, copy=False)
            .group_by(column(TS), copy=False)
        )

    def _changes(self) -> exp.Query:
        """Return the differences between the answers, the first with what stood before the tick."""
        columns = self.node.columns
        if self.writer.form.single:
            now: exp.Expr = cast(parameter("t1"), "BIGINT")
            come = tuples_at(self.writer, self.node.input, parameter("t1"))
            parts = [_weighted(come, columns, now, number(1))]
        else:
            earliest = exp.select(exp.Min(this=column(TS))).from_(temp_table(self._known))
            now = exp.Subquery(this=earliest)
            answers = Rows.of(temp_table(self._results))
            has_next = exp.not_(exp.Is(this=column(NEXT), expression=exp.null()))
            parts = [
                _weighted(answers, columns, column(AT), number(1)),
                _weighted(answers.where(has_next), columns, column(NEXT), number(-1)),
            ]
        gone = exp.Neg(this=column(WEIGHT))
        parts.append(_weighted(logged(self.writer, self.node), columns, now, gone))
        return consolidate(Rows.union(parts), columns).query()

    @property
    def is_at_hand(self) -> bool:
        """Whether what begins or ends is read from a temporary table: it is."""
        return True

    def elements(self) -> Rows:
        """Return the net elements of the tick."""
        return Rows.of(self.delta_table, element_names(self.node.columns))

    def standing(self) -> Rows:
        """Return the trace up to $t0."""
        return elements_to_lifetimes(logged(self.writer, self.node), self.node.columns)


def leaves(plan: Plan) -> list[TimeWindow | RelationScan]:
    """Return what a whole query reads: relations, and windows in time over streams, each once."""
    return [node for node in unique(plan) if isinstance(node, (TimeWindow, RelationScan))]


def _unless(plan: Plan) -> tuple[Quiet, ...]:
    """Return what its inputs do in a tick without a change; nothing if one of them cannot tell."""
    found = [quiet(leaf) for leaf in leaves(plan)]
    return tuple(one for one in found if one is not None) if all(found) else ()


def tuples_at(writer: Writer, plan: Plan, instant: exp.Expr) -> Rows:
    """Return (columns): the tuples of a relation at an instant, each as often as it is there.

    Args:
        writer: Reads what is stored.
        plan: The relation, of operators over tables (`instants`), windows in time and relations.
        instant: The instant, of the tick or the frontier.
    """
    match plan:
        case Trace() | Net() | Anew():
            # they keep something in other plans, and change nothing
            return tuples_at(writer, plan.input, instant)
        case RelationScan() if not plan.source.is_query:
            return standing_at(plan, instant)
        case TimeWindow() | RelationScan():
            stands = until(column(ENTER), instant.copy()), after(column(LEAVE), instant.copy())
            rows = writer.alive(plan).where(*stands, alias="alive")
            if not properties(plan).has_unit_weights:
                rows = tuples_of(rows, plan.columns, is_repeated=True)
            return rows.project(references(plan.columns), "tuples")
        case _:
            inputs = [tuples_at(writer, inner, instant) for inner in plan.children]
            return instants.at(plan, inputs, instants.Instants(instant))


def _weighted(rows: Rows, columns: tuple[Column, ...], instant: exp.Expr, weight: exp.Expr) -> Rows:
    """Return rows as elements of an instant, of a weight."""
    listed = [
        *references(columns),
        named(instant.copy(), TS),
        named(cast(weight, "BIGINT"), WEIGHT),
    ]
    return rows.project(listed, "weighted")
