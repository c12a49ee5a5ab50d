"""Named types: replaced by their definitions before a query is bound.

A type may be dropped and created again with another definition. A query keeps the definition of the
time when it was registered, as it does for macros (`macros`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from cqlduck.rewrite.bind.macros import note

Defined = Callable[[str], str | None]


def expand_types(tree: exp.Query, known: Mapping[str, str], defined: Defined) -> dict[str, str]:
    """Put what user's types stand for in the place of their names, in place.

    Args:
        tree: The query.
        known: What types stood for when the query was registered, by lower-case name.
        defined: Returns what a type stands for by now, or None if there is none of the name.

    Returns:
        What the types stand for whose names have been met.
    """
    taken: dict[str, str] = {}
    for node in list(tree.find_all(exp.DataType)):
        if node.this != exp.DType.USERDEFINED:
            continue
        written = node.sql("duckdb")
        name = written.strip('"').lower()
        if name not in taken:
            found = known.get(name) or defined(written)
            if found is None:
                continue
            taken[name] = found
        note(node)
        node.replace(exp.DataType.build(taken[name], dialect="duckdb"))
    return taken
