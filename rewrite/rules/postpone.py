"""Expressions of a subquery that may raise are evaluated above the join or WHERE that reads it.

    R ⋈ₚ π_f(x)→y (S)  =  π_f(x)→y (R ⋈ₚ[y := f(x)] S)        where f may raise
    σ_p (π_f(x)→y (S)) =  π_f(x)→y (σ_p[y := f(x)] (S))
    π_f(x)→y (S) − π_f(x)→y (T)  =  π_f(x)→y (S − T)       where T is a part of S

Below the join f would be evaluated for all tuples of S, or not for those without a partner in R,
depending on DuckDB's plan and on how time is cut. Above, it is evaluated for tuples that are needed
at an instant. An expression that never raises stays below, where it is evaluated once for each
tuple.

An expression that is read in several places is written in each, so in nested subqueries its size
would double at each level. One that would exceed a bound stays where it is in the text.

Conditions of a subquery come before those of the outer query, so they become one selection, in this
order. Below a join a selection that may raise is materialized: DuckDB skips tuples of join inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from cqlduck.rewrite.plan import (
    Column,
    Difference,
    During,
    Filter,
    Join,
    Plan,
    Project,
    Recompute,
    Trace,
    UnionAll,
    guards,
    on_children,
    properties,
)
from cqlduck.rewrite.plan.raising import can_raise
from cqlduck.rewrite.relalg.builders import column

_MOST = 500
"""How many nodes an expression has at most in which columns are replaced by what they stand for."""


def postpone(plan: Plan) -> Plan:
    """Move expressions that may raise above the joins of a plan."""
    plan = on_children(plan, postpone)
    match plan:
        case Project(input=Project() as inner) if _raising(inner):
            return _composed(plan, inner) if is_small(plan.expressions, meant_by(inner)) else plan
        case Project(input=UnionAll() as union) if any(map(_raising, union.inputs)):
            return UnionAll(tuple(postpone(replace(plan, input=arm)) for arm in union.inputs))
        case Join():
            return _joined(plan)
        case Difference(left=Project() as left) if _raising(left):
            return _left_over(plan, left)
        case Filter() | During() if not properties(plan).is_stream:
            return _selected(plan)
        case _:
            return plan


def _joined(plan: Join) -> Plan:
    for place, union in enumerate(plan.inputs):
        if isinstance(union, UnionAll) and any(map(_raising, union.inputs)):
            arms = (_joined(_with_input(plan, place, arm)) for arm in union.inputs)
            return UnionAll(tuple(arms))
    return _above(plan) if any(map(_raising, plan.inputs)) else plan


def _left_over(node: Difference, left: Project) -> Plan:
    """Return what is left of a projection, where what is gone is shown by the same expressions."""
    late, right = _raising(left), node.right
    if not isinstance(right, Project):
        return node
    kept: list[list[tuple[exp.Expr, Column]]] = [[], []]
    fresh: dict[str, tuple[str, Column]] = {}
    types = {known.name: known.type for known in left.input.columns}
    for one, other, known in zip(left.expressions, right.expressions, left.columns, strict=True):
        if known.name not in late:
            kept[0].append((one, known))
            kept[1].append((other, known))
            continue
        meant = _read_alike(one, other)
        if meant is None:
            return node
        for name, its in meant.items():
            if fresh.setdefault(name, (its, Column(f"{name} left", types[name])))[0] != its:
                return node
    kept[0] += [(column(name), known) for name, (_, known) in fresh.items()]
    kept[1] += [(column(its), known) for its, known in fresh.values()]
    if not kept[0]:
        kept = [[(exp.Literal.number(1), Column("one left", "INTEGER"))]] * 2
    sides = []
    for side, listed in zip((left, right), kept, strict=True):
        values, columns = zip(*listed, strict=True)
        sides.append(Project(side.input, values, columns))
    renamed = {name: column(known.name) for name, (_, known) in fresh.items()}
    shown = [
        written(value, renamed) if known.name in late else column(known.name)
        for value, known in zip(left.expressions, left.columns, strict=True)
    ]
    return Project(replace(node, left=sides[0], right=sides[1]), tuple(shown), left.columns)


def _read_alike(one: exp.Expr, other: exp.Expr) -> Mapping[str, str] | None:
    """Return for the columns that an expression reads those that another one reads in their places.

    None if the expressions differ in more than columns, or one column stands for several.
    """
    mine, theirs = ([n.name for n in tree.find_all(exp.Column)] for tree in (one, other))
    if len(mine) != len(theirs):
        return None
    meant = dict(zip(mine, theirs, strict=True))
    as_other = {name: column(its) for name, its in meant.items()}
    return meant if _bare(written(one, as_other)) == _bare(other) else None


def _bare(tree: exp.Expr) -> exp.Expr:
    """Return an expression without parentheses around its parts."""
    return tree.copy().transform(lambda n: n.unnest() if isinstance(n, exp.Paren) else n)


def _with_input(node: Join, place: int, plan: Plan) -> Join:
    inputs = (*node.inputs[:place], plan, *node.inputs[place + 1 :])
    return replace(node, inputs=inputs)


def materialize_raising(plan: Plan) -> Plan:
    """Materialize the selections that may raise below joins and recomputed queries."""
    plan = on_children(plan, materialize_raising)
    if isinstance(plan, (Join, Recompute)):
        return on_children(plan, _settled)
    return plan


def _settled(plan: Plan) -> Plan:
    match plan:
        case Filter() if guards.may_raise(plan):
            return Trace(plan, "trace")
        case Filter() | During() | Project() | UnionAll():
            return on_children(plan, _settled)
        case _:
            return plan


def _selected(plan: Filter | During) -> Plan:
    """Return a selection below expressions that may raise, and as one with such conditions."""
    match plan.input:
        case UnionAll() as union if any(map(_is_late, union.inputs)):
            return UnionAll(tuple(postpone(replace(plan, input=arm)) for arm in union.inputs))
        case Project() as inner if _is_late(inner):
            meant = meant_by(inner)
            sides = (plan.predicate,) if isinstance(plan, Filter) else (*plan.begins, *plan.ends)
            if not is_small(sides, meant):
                return plan
            below: Filter | During
            if isinstance(plan, Filter):
                below = Filter(inner.input, written(plan.predicate, meant))
            else:
                begins, ends = (
                    tuple(written(side, meant) for side in sides)
                    for sides in (plan.begins, plan.ends)
                )
                below = During(inner.input, begins, ends, plan.written)
            return replace(inner, input=_selected(below))
        case Filter() as inner if isinstance(plan, Filter) and guards.may_raise(inner):
            both = [exp.paren(c.predicate.copy()) for c in (inner, plan)]
            return Filter(inner.input, exp.and_(*both))
        case _:
            return plan


def _is_late(plan: Plan) -> bool:
    """Return whether a plan selects or shows what may raise, above all that it keeps."""
    match plan:
        case Project():
            return bool(_raising(plan)) or _is_late(plan.input)
        case Filter():
            return guards.may_raise(plan) or _is_late(plan.input)
        case UnionAll():
            return any(map(_is_late, plan.inputs))
        case _:
            return False


def _raising(plan: Plan) -> set[str]:
    """Return the columns of a projection that may raise; of anything else, none."""
    if not isinstance(plan, Project):
        return set()
    types = {known.name: known.type for known in plan.input.columns}
    pairs = zip(plan.expressions, plan.columns, strict=True)
    return {known.name for value, known in pairs if can_raise(value, types)}


def _composed(outer: Project, inner: Project) -> Project:
    meant = meant_by(inner)
    listed = tuple(written(value, meant) for value in outer.expressions)
    return Project(inner.input, listed, outer.columns)


def _above(node: Join) -> Plan:
    inputs: list[Plan] = []
    meant: dict[str, exp.Expr] = {}
    for place, plan in enumerate(node.inputs):
        late = _raising(plan)
        if not late:
            inputs.append(plan)
            continue
        assert isinstance(plan, Project)
        pairs = list(zip(plan.expressions, plan.columns, strict=True))
        read = {
            c.name
            for value, known in pairs
            if known.name in late
            for c in value.find_all(exp.Column)
        }
        fresh = {
            known.name: Column(f"{known.name} of input {place}", known.type)
            for known in plan.input.columns
            if known.name in read
        }
        renamed = {name: column(known.name) for name, known in fresh.items()}
        meant |= {
            known.name: written(value, renamed) for value, known in pairs if known.name in late
        }
        kept = [(value, known) for value, known in pairs if known.name not in late]
        kept += [(column(name), known) for name, known in fresh.items()]
        if not kept:
            kept = [(exp.Literal.number(1), Column(f"one of input {place}", "INTEGER"))]
        values, columns = zip(*kept, strict=True)
        inputs.append(Project(plan.input, values, columns))
    if not is_small(node.predicates, meant):
        return node
    shown = {c.name for c in node.columns}
    needed = {
        c.name for name, value in meant.items() if name in shown for c in value.find_all(exp.Column)
    }
    names = [c.name for plan in inputs for c in plan.columns]
    joined = replace(
        node,
        inputs=tuple(inputs),
        predicates=tuple(written(predicate, meant) for predicate in node.predicates),
        shown=tuple(name for name in names if name in shown | needed) or (names[0],),
    )
    listed = tuple(meant.get(c.name, column(c.name)).copy() for c in node.columns)
    return Project(joined, listed, node.columns)


def meant_by(plan: Project) -> dict[str, exp.Expr]:
    """Return what the columns of a projection stand for, by name."""
    return {known.name: e for e, known in zip(plan.expressions, plan.columns, strict=True)}


def is_small(trees: Iterable[exp.Expr], meant: Mapping[str, exp.Expr]) -> bool:
    """Return whether no expression gets too large when columns are replaced in it."""
    sizes = {name: sum(1 for _ in value.walk()) for name, value in meant.items()}

    def size(tree: exp.Expr) -> int:
        return sum(sizes.get(n.name, 1) if isinstance(n, exp.Column) else 1 for n in tree.walk())

    return all(size(tree) <= _MOST or _reads_once(tree) for tree in trees)


def _reads_once(tree: exp.Expr) -> bool:
    """Return whether an expression reads no column in two places, so that it does not double."""
    read = [known.name for known in tree.find_all(exp.Column)]
    return len(read) == len(set(read))


def written(tree: exp.Expr, meant: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return an expression with columns replaced by what they stand for."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.name not in meant:
            return node
        value = meant[node.name].copy()
        return value if isinstance(value, exp.Column) else exp.paren(value, copy=False)

    return tree.copy().transform(replaced, copy=False)
