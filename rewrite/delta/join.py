"""The join: multilinear, one term for each input.

    Δ(R₁ ⋈ … ⋈ Rₙ) = Σᵢ  R₁ ⋈ … ⋈ Rᵢ₋₁  ⋈  ΔRᵢ  ⋈  (Rᵢ₊₁ + ΔRᵢ₊₁) ⋈ … ⋈ (Rₙ + ΔRₙ)

Left of i stands what neither begins nor ends in the tick, at i what does, right of it both; so each
combination with at least one change is in exactly one term. A combination lives while all its
tuples do: from the greatest `_cql_enter` to the least `_cql_leave`, with the product of the
weights. Each term is written as a pipeline (`pipelines`); in a tick of few elements each is a step
of its own, which is not run if its input did not change. What `bounds` says of time may leave terms
out: where one input is always the latest, its term is all, with everything that touches the tick.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from cqlduck.rewrite.delta import pipelines
from cqlduck.rewrite.delta.pipelines import Pipeline
from cqlduck.rewrite.partners import names_in
from cqlduck.rewrite.plan import Join, Plan, properties
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.scope import column
from cqlduck.rewrite.weighted import (
    ENTER,
    TS,
    WEIGHT,
    lifetime_names,
    lifetimes_to_elements,
    named,
    references,
    temp_table,
)

if TYPE_CHECKING:
    from cqlduck.rewrite.delta.rules import Rules


def is_stepwise(rules: Rules, node: Join) -> bool:
    """Return whether each pipeline is a step of its own, which is not run if nothing changed.

    In a large tick it is not: there all inputs change, and the combinations are many.
    """
    return rules.form.staged and len(list(pipelines.of(rules.clock, node))) > 1


def keep(rules: Rules, node: Join) -> None:
    """Keep the combinations that begin or end in the tick, which several operators read."""
    if is_stepwise(rules, node):
        parts = [(rows.query(), needs) for rows, needs in _pipelines(rules, node)]
        rules.gather(node, parts, "combinations that begin or end")
    else:
        rules.delta(node, _lives(rules, node).query(), "the combinations that begin or end")


def elements(rules: Rules, node: Join) -> Rows:
    """Return the changes of the join in the tick."""
    if properties(node).never_expires:
        listed = [*references(node.columns), named(column(ENTER), TS), column(WEIGHT)]
        return lives(rules, node).project(listed, "joined")
    return lifetimes_to_elements(lives(rules, node), node.columns)


def lives(rules: Rules, node: Join) -> Rows:
    """Return the combinations that begin or end in the tick."""
    name = rules.deltas.get(id(node))
    if name is None:
        return _lives(rules, node)
    return Rows.of(temp_table(name), lifetime_names(node.columns))


def _lives(rules: Rules, node: Join) -> Rows:
    return Rows.union([rows for rows, _ in _pipelines(rules, node)])


def _pipelines(rules: Rules, node: Join) -> Iterator[tuple[Rows, frozenset[str]]]:
    """Yield each pipeline, and the temporary tables without which it is empty."""
    for pipe in pipelines.of(rules.clock, node):
        for arm in pipelines.arms(node):
            legs = {place: _leg(rules, node, pipe, place) for place in pipe.order}
            read = list(legs[pipe.changed].tables())
            is_kept = all(table.db == "temp" for table in read)
            needs = frozenset(table.name for table in read) if is_kept else frozenset()
            yield pipelines.nested(node, pipe, arm, legs), needs


def _leg(rules: Rules, node: Join, pipe: Pipeline, place: int) -> Rows:
    """Return what a pipeline meets of an input."""
    plan = node.inputs[place]
    if place == pipe.changed:
        return rules.staged_lives(plan, _harmless(plan, node))
    if place in pipe.standing:
        return rules.standing(plan)
    return rules.lives(plan) if place in pipe.fresh else rules.alive(plan)


def _harmless(plan: Plan, node: Join) -> list[exp.Expr]:
    """Return conditions about one input that all of its tuples have to meet, and never raise.

    Those are the ones before the first that may: of what does not meet it, it has to be known.
    """
    names = {c.name for c in plan.columns}
    early = set.intersection(*(set(arm.early) for arm in pipelines.arms(node)))
    return [c for c in node.predicates if c in early and names_in([c]) and names_in([c]) <= names]
