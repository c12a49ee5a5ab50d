"""The instants at which a recomputed query changes because of the current time."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from cqlduck.errors import NotSupportedError
from cqlduck.rewrite.bind import current_time
from cqlduck.rewrite.bind.bodies.inputs import Inputs
from cqlduck.rewrite.bind.bodies.select_parts import aggregates_of
from cqlduck.rewrite.plan import place_in
from cqlduck.rewrite.relalg.builders import column, over_nothing
from cqlduck.rewrite.text.parsed import is_now, place_of
from cqlduck.rewrite.text.time import UNFIXED

_UNFIXED = re.compile("|".join(UNFIXED), re.IGNORECASE)

_RENAMING = (exp.Order, exp.Having, exp.Group, exp.Qualify, exp.Lambda, exp.Comprehension)
"""Where a name may be an alias of the SELECT list, or a variable."""


def turning_points(body: exp.Query, inputs: Inputs) -> tuple[list[tuple[int, exp.Expr]], bool]:
    """Return when a query that depends on τ may change of itself, and whether always.

    Raises:
        NotSupportedError: That would be at every microsecond.
    """
    clock = inputs.catalog.clock
    for select in body.find_all(exp.Select):
        for call in aggregates_of(select, inputs):
            around = call.parent if isinstance(call.parent, exp.Filter) else call
            parts = [*around.iter_expressions()] if around is not call else [call]
            if any(current_time.mentions(p) and p.find(exp.Column) is None for p in parts):
                raise NotSupportedError(
                    "an aggregate of the current time alone is not supported",
                    hint="aggregate an expression with a column, such as now() - t",
                    offset=place_of(call),
                )
    turns: list[tuple[int, exp.Expr]] | None = []
    for node in [node for node in body.walk() if is_now(node)]:
        found = _turns(inputs, body, node)
        turns = None if turns is None or found is None else turns + found
    if turns is None and clock.kind == "wall" and clock.granularity == 1:
        hint = "compare it with a column in WHERE, or connect with a granularity such as '1 second'"
        if any(_UNFIXED.search(i.sql("duckdb")) for i in body.find_all(exp.Interval)):
            hint = "months and years have no fixed length; compare it with days instead"
        raise NotSupportedError(
            "the current time stands where the answer would change at every microsecond", hint=hint
        )
    return turns or [], turns is None


def _turns(inputs: Inputs, body: exp.Query, node: exp.Expr) -> list[tuple[int, exp.Expr]] | None:
    """Return when the comparison around a mention of τ turns, or None if that is not known."""
    clock, describe = inputs.catalog.clock, inputs.catalog.described
    around = node.find_ancestor(exp.Between, *current_time.COMPARISONS)
    if around is None or around.find_ancestor(*_RENAMING) is not None:
        return None
    turns: list[tuple[int, exp.Expr]] = []
    for part in current_time.split(around):
        known = current_time.compared(part, clock) if current_time.mentions(part) else None
        if known is None:
            if current_time.mentions(part):
                return None
            continue
        place = _input_of(inputs, body, known.value)
        if place is None:
            return None
        plan, names = inputs.plans[place], inputs.names[place]
        inner = {n.lower(): c for n, c in zip(names, plan.columns, strict=True)}
        value = known.value.copy()
        for read in list(value.find_all(exp.Column)):
            mine = column(inner[read.name.lower()].name)
            if read is value:
                value = mine
            else:
                read.replace(mine)
        types = describe(over_nothing(plan.columns, [value]).sql("duckdb"))
        if not types or not current_time.is_exact(known, types[0][1], clock):
            return None
        known = replace(known, value=value)
        for turn in current_time.turns(known, types[0][1], clock):
            turns.append((place, exp.Anonymous(this="try", expressions=[turn])))
    return turns


def _input_of(inputs: Inputs, body: exp.Query, value: exp.Expr) -> int | None:
    """Return the one input that all columns of an expression come from, or None."""
    if value.find(exp.Query) is not None:
        return None
    tables = {t: place for t in body.find_all(exp.Table) if (place := place_in(t)) is not None}
    others = [
        item
        for item in body.find_all(exp.Table, exp.Subquery, exp.Values, exp.Unnest, exp.Lateral)
        if isinstance(item.parent, (exp.From, exp.Join)) and item not in tables
    ]
    places: set[int] = set()
    for read in value.find_all(exp.Column):
        alias = read.table.lower()
        if len(read.parts) > 2 or (not alias and others):
            return None
        if alias and any((item.alias or item.name).lower() == alias for item in others):
            return None
        found = {
            place
            for table, place in tables.items()
            if (not alias or (table.alias or table.name).lower() == alias)
            and read.name.lower() in map(str.lower, inputs.names[place])
        }
        if len(found) != 1:
            return None
        places |= found
    return places.pop() if len(places) == 1 else None
