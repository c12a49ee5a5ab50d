"""Operators between ticks: the relation of a node at the frontier, from stored data.

Between ticks there are no arrivals: `$t0` and `$t1` are one instant, the frontier τ, and the
standing lifetimes are all. So `standing` of a node is R(τ), as lifetimes that cover τ:

    windows, relations      the content of the store at τ
    linear operators, join  the same of their inputs; for a join, all combinations
    operators with synopsis the synopsis
    all others              the operator over its inputs at τ (`instants`)

`Past` reads the elements of all instants up to the frontier, in one tick from before the first
instant. No synopsis has the content of earlier instants, so it is for operators that need none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from cqlduck.rewrite.operators import (
    counting,
    duplicate_eliminate,
    instants,
    pipelines,
    row_windows,
)
from cqlduck.rewrite.physical.place import Place
from cqlduck.rewrite.physical.statement import Synopsis
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import (
    Aggregate,
    Cache,
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
    VaryingWindow,
    properties,
)
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import (
    ENTER,
    LEAVE,
    TS,
    WEIGHT,
    after,
    begun,
    element_names,
    forever,
    named,
    once,
    parameter,
    references,
    state_table,
    tuples_of,
    until,
)
from cqlduck.rewrite.statements.choose import appoint
from cqlduck.rewrite.text.time import ZERO, Duration


@dataclass(frozen=True)
class Need:
    """That a store, or the trace of a stream, still has what came after an instant.

    Args:
        source: The stream, relation or query whose store or log it is; or the trace.
        after: The instant, as an expression over the parameters; None if it is all that counts.
    """

    source: Source | Synopsis
    after: exp.Expr | None


@dataclass
class _Reading(Writer):
    """Reads without a tick: it writes nothing, and notes what it needs of the stores."""

    needs: list[Need] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Choose the operator of each node by itself; nothing is kept for a tick."""
        appoint(self, Place(self.plan, self.clock, self.form))

    def reads_back(self, source: Source, low: exp.Expr | None, span: Duration | None) -> None:
        """Note that a store is needed from an instant on."""
        self.needs.append(Need(source, low))

    def arrivals(self, source: Source) -> Rows:
        """Return what comes in the tick, from the store."""
        later = (parameter(name) for name in ("since", "t0"))
        bounds = [after(column(TS), bound) for bound in later]
        return self.stored(source).where(*bounds, until(column(TS), parameter("t1")))

    def changes(self, source: Source) -> Rows:
        """Return the same of a relation, from the store."""
        begins, ends = after(column(ENTER), parameter("low")), until(column(LEAVE), parameter("t1"))
        return Rows.of(state_table(source.table)).where(exp.paren(exp.or_(begins, ends)))

    def stored(self, source: Source) -> Rows:
        """Return the store."""
        return Rows.of(state_table(source.table))


@dataclass
class AtRest(_Reading):
    """Says what stands when no tick is under way.

    Attributes:
        synopses_of: The synopses by the numbers of their operators and their kinds.
    """

    synopses_of: Mapping[tuple[int, str], Synopsis] = field(default_factory=dict)

    def has(self, node: Plan, kind: str) -> bool:
        """Return whether an operator has a synopsis of a kind."""
        return (self.number(node), kind) in self.synopses_of

    def standing(self, node: Plan) -> Rows:
        """Return (columns, `_cql_enter`, `_cql_leave`, `_weight`): the tuples at the frontier."""
        match node:
            case RelationScan():
                self.needs.append(Need(node.source, parameter("t1")))
                return super().standing(node)
            case RowWindow():
                return self._window(node)
            case Join():
                return self._joined(node)
            case Cache() if node.partial is not None:
                # it has the combinations of some keys
                return self.standing(node.input)
            case Aggregate() if self.has(node, "groups"):
                return _now(node, self.answer_rows(node))
            case Distinct():
                return self._first(node)
            case SetOperation() | Net() if self.has(node, "counts"):
                return _now(
                    node, counting.shown(node, Rows.of(state_table(self.table(node, "counts"))))
                )
            case Net():
                return self.standing(node.input)
            case Aggregate() | SetOperation() | Recompute():
                return _now(node, self._worked_out(node))
            case Trace() if properties(node).is_instantaneous:
                return self.standing(node.input)
            case _:
                return super().standing(node)

    def alive(self, node: Plan) -> Rows:
        """Return what stands: nothing else touches the instant."""
        return self.standing(node)

    def rows(
        self,
        node: Plan,
        low: exp.Expr | None,
        high: exp.Expr,
        *,
        span: Duration | None = ZERO,
        extra: tuple[str, ...] = (),
    ) -> Rows:
        """Return the elements of a stream with `low` < `_ts` ≤ `high`."""
        if not isinstance(node, Trace):
            return super().rows(node, low, high, span=span, extra=extra)
        self.needs.append(Need(self.synopses_of[self.number(node), "trace"], low))
        log = Rows.of(state_table(self.table(node, "trace")), element_names(node.columns))
        bounds = [until(column(TS), high), *([] if low is None else [after(column(TS), low)])]
        return log.where(*bounds)

    def answer_rows(self, node: Plan) -> Rows:
        """Return (columns, `_weight`): what a synopsis holds that is the answer of its operator."""
        found = self.operator(node).answer()
        assert found is not None
        return found

    def _window(self, node: RowWindow) -> Rows:
        """Return the tuples of a window in rows, from its synopsis."""
        if node.slide is None and node.every is None:
            return _now(node, self.answer_rows(node))
        kept = exp.select("*").from_(state_table(self.table(node, "rows")), copy=False)
        shown = Rows.given(
            row_windows.placed(node, kept), row_windows.placed_names(node), "placed"
        ).where(until(column(ENTER), parameter("t1")), after(column(LEAVE), parameter("t1")))
        return shown.project([*references(node.columns), column(ENTER), column(LEAVE), once()])

    def _first(self, node: Distinct) -> Rows:
        """Return each tuple once, from the instant on at which it came, if that is known."""
        if self.has(node, "counts"):
            names = [*(c.name for c in node.columns), TS]
            known = Rows.of(state_table(self.table(node, "counts")), names)
        else:
            known = duplicate_eliminate.first_instants(node, self.standing(node.input))
        times = [named(column(TS), ENTER), named(forever(), LEAVE), once()]
        return known.project([*references(node.columns), *times], "first")

    def _joined(self, node: Join) -> Rows:
        """Return all combinations of what stands."""
        whole = pipelines.anywhere(node, 0)
        legs = {place: self.standing(plan) for place, plan in enumerate(node.inputs)}
        return Rows.union(
            [pipelines.nested(node, whole, arm, legs) for arm in pipelines.arms(node)]
        )

    def _worked_out(self, node: Aggregate | SetOperation | Recompute) -> Rows:
        """Return (columns, `_weight`): what an operator that keeps nothing makes of its inputs."""
        inputs = []
        for plan in node.children:
            rows = self.standing(plan)
            if not properties(plan).has_unit_weights:
                rows = tuples_of(rows, plan.columns, is_repeated=True)
            inputs.append(rows)
        return instants.at(node, inputs, instants.NOW).project([*references(node.columns), once()])


@dataclass
class Past(_Reading):
    """Says what has been since the first instant, of what needs no synopsis for that."""

    def lives(self, node: Plan) -> Rows:
        """Return the lifetimes of all instants up to the frontier."""
        match node:
            case Trace():
                return self.lives(node.input)
            case RelationScan():
                self.needs.append(Need(node.source, None))
        return super().lives(node)

    def alive(self, node: Plan) -> Rows:
        """Return the same: nothing stands before the first instant."""
        return self.lives(node)

    def elements(self, node: Plan) -> Rows:
        """Return the changes of all instants up to the frontier."""
        if isinstance(node, RelationScan):
            self.needs.append(Need(node.source, None))
        return super().elements(node)


def without_past(plan: Plan) -> Iterator[Plan]:
    """Yield the operators of a relation whose past is not kept, as they need what stood then."""
    match plan:
        case StreamScan() | RelationScan():
            return
        case Trace() if not properties(plan).is_instantaneous:
            yield plan
        case (
            Sample() | TimeWindow() | VaryingWindow() | Filter() | During() | Project() | Join()
            | UnionAll() | Difference() | ToStream() | Trace()
        ):  # fmt: skip
            for child in plan.children:
                yield from without_past(child)
        case _:
            yield plan


def _now(node: Plan, rows: Rows) -> Rows:
    """Return (columns, `_weight`) as lifetimes of which the beginning and the end are not known."""
    listed = [*references(node.columns), begun(), named(forever(), LEAVE), column(WEIGHT)]
    return rows.project(listed, "now")
