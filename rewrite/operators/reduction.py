"""The reduction of a state by the keys of a delta, before the two are joined.

    ΔR ⋈ S  =  ΔR ⋈ (S ⋉ π_k₁ ΔR ⋉ … ⋉ π_kₙ ΔR)        k₁ … kₙ: the columns of the equalities

ΔR is what changes of an input, or in the form `stepwise` all combinations of it so far.

A scan of DuckDB (release 2.0) leaves out what the other side of a join has no partner for, but only
where that join has one equality: of several it knows the least and the greatest value of each, and
of `IS NOT DISTINCT FROM` nothing. So a few tuples that meet a large state by two columns have all
of it read. A semijoin by each column alone is a join of one equality. The best of them leaves out
the most, whichever it is. Where all columns have few values, nothing is left out, and the semijoins
are work besides: so whether states are reduced is an option of the point `stages`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from sqlglot import exp

from cqlduck.rewrite.plan.aggregates import INTEGERS
from cqlduck.rewrite.relalg import Rows
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.equalities import sides_of

SCANNED = (INTEGERS - {"BOOLEAN"}) | {"DATE", "TIMESTAMP"}
"""The types of whose values DuckDB tests each while it scans."""

Keys = tuple[tuple[str, str], ...]
"""Columns of a delta, and the columns of a state that are equal to them."""


def keys(
    conditions: Iterable[exp.Expr],
    types: Mapping[str, str],
    whose: Mapping[str, int],
    delta: Set[int],
    met: int,
) -> Keys:
    """Return the columns by which a delta meets another input.

    Args:
        conditions: Conditions that all combinations meet.
        types: The types of columns.
        whose: The places of the inputs that have them.
        delta: The places of the inputs of which the delta has columns.
        met: The place of the one that is met.
    """
    found: dict[str, str] = {}
    for condition in conditions:
        sides = {whose.get(side.name): side.name for side in sides_of(condition)}
        theirs = sides.pop(met, None)
        if theirs is not None and sides.keys() and sides.keys() <= delta:
            (mine,) = sides.values()
            if types[mine] == types[theirs] and types[mine] in SCANNED:
                found[mine] = theirs
    return tuple(found.items())


def reads_state(rows: Rows) -> bool:
    """Return whether rows are read from a store or a synopsis."""
    return any(table.db != "temp" for table in rows.tables())


def reduced(state: Rows, delta: exp.Table, by: Keys) -> Rows:
    """Return those rows of a state of which each key is in a delta.

    Args:
        state: The rows.
        delta: The temporary table that has it.
        by: The keys.
    """
    return state.where(
        *[
            exp.In(
                this=column(theirs),
                query=exp.select(column(mine)).from_(delta.copy(), copy=False).subquery(copy=False),
            )
            for mine, theirs in by
        ]
    )
