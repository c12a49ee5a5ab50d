"""The inputs of a `Recompute` inside its query, where tables stand for them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

INPUT = "_cql_leg"
"""How the names of the tables begin that stand for the inputs of a `Recompute`."""


def place_in(item: exp.Expr) -> int | None:
    """Return the number of the input that an item of FROM is, or None."""
    is_input = isinstance(item, exp.Table) and item.name.startswith(INPUT)
    return int(item.name.removeprefix(INPUT)) if is_input else None


def fill_inputs(query: exp.Query, leg: Callable[[int], exp.Query]) -> exp.Query:
    """Return a copy of a query with a subquery in the place of each input, under its alias."""
    filled = query.copy()
    for table in list(filled.find_all(exp.Table)):
        if (place := place_in(table)) is not None:
            inner = leg(place).subquery(table.alias, copy=False)
            for part in ("joins", "pivots"):
                inner.set(part, table.args.get(part))
            table.replace(inner)
    return filled
