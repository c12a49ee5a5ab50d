"""Named types: replaced by their definitions before a query is bound.

A type may be dropped and created again with another definition. A query keeps the definition of the
time when it was registered, as it does for macros (`macros`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from cqlduck.rewrite.bind.macros import note

Described = Callable[[str], Sequence[tuple[str, str]] | None]


def expand_types(tree: exp.Query, known: Mapping[str, str], described: Described) -> dict[str, str]:
    """Put what user's types stand for in the place of their names, in place.

    Args:
        tree: The query.
        known: What types stood for when the query was registered, by lower-case name.
        described: Returns names and types of the columns of a SELECT, or None if it does not bind.

    Returns:
        What the types stand for whose names have been met.
    """
    taken: dict[str, str] = {}
    for node in list(tree.find_all(exp.DataType)):
        if node.this != exp.DType.USERDEFINED:
            continue
        name = node.sql("duckdb").strip('"').lower()
        if name not in taken:
            found = known.get(name) or _definition(node, described)
            if found is None:
                continue
            taken[name] = found
        note(node)
        node.replace(exp.DataType.build(taken[name], dialect="duckdb"))
    return taken


def _definition(name: exp.DataType, described: Described) -> str | None:
    nothing = exp.alias_(exp.Cast(this=exp.null(), to=name.copy()), "value")
    found = described(exp.select(nothing).sql("duckdb"))
    return None if found is None else found[0][1]
