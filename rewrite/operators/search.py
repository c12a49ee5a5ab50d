"""The groups that a delta touches, found through an index.

    groups ⋉ π_k ΔS, and the groups in which k is NULL        k: one of the keys

A scan of DuckDB (release 2.0) looks up few values in an index if a semijoin by one column is all
that it filters by: then what it reads is the groups with these values, however many others there
are. Another filter of the same scan, also one that comes of an equality with a join above, has it
read the table instead. `IS NOT DISTINCT FROM` makes none. So the groups are reduced by one key, the
search key, and joined with the delta by `IS NOT DISTINCT FROM` of all keys.

An index costs memory, and time whenever a group comes or goes, and with more than `MAX_KEYS` values
it is not used. So it is an option of the point `search`, and the option says the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cqlduck.rewrite.operators.reduction import SCANNED
from cqlduck.rewrite.physical.writer import Writer
from cqlduck.rewrite.plan import Aggregate, properties
from cqlduck.rewrite.relalg.builders import column
from cqlduck.rewrite.relalg.elements import is_null, qualified, union_all

MAX_KEYS = 128
"""How many values of a delta are looked up in an index at most.

DuckDB takes 15 µs to prepare for each, and to scan a million groups for integers takes 4 ms.
"""

MAX_ELEMENTS = 1024
"""How many elements of a relation find their rows in an index at most.

The columns of what is found are read then by the row, in a scan by the vector: which of them takes
longer depends on how many rows of the store have one of the values.
"""

INDEXED = SCANNED | {"VARCHAR"}
"""The types of keys that may have an index."""


@dataclass(frozen=True)
class Search:
    """How the groups of an aggregate are found through an index.

    Attributes:
        key: The key that has the index.
        keys: All keys.
        never_null: Whether that key is never NULL.
    """

    key: str
    keys: tuple[str, ...]
    never_null: bool

    def touched(
        self, listed: Sequence[exp.Expr], groups: Callable[[], exp.Expr], delta: exp.Expr
    ) -> exp.Query:
        """Return the groups that have the value of a tuple of the delta in the search key.

        Args:
            listed: The columns.
            groups: Returns the synopsis.
            delta: The table of the delta.
        """
        values = exp.select(column(self.key)).from_(delta, copy=False).subquery(copy=False)
        found = exp.select(*listed).from_(groups(), copy=False)
        found = found.where(exp.In(this=column(self.key), query=values), copy=False)
        if self.never_null:
            return found
        others = exp.select(*[one.copy() for one in listed]).from_(groups(), copy=False)
        return union_all([found, others.where(is_null(column(self.key)), copy=False)])

    def matches(self, theirs: str, mine: str) -> exp.Expr:
        """Return whether a tuple of a delta and a group have the same keys; never NULL in one.

        Args:
            theirs: The name of the delta.
            mine: The name of the groups.
        """
        return exp.and_(
            *[
                (exp.EQ if key == self.key else exp.NullSafeEQ)(
                    this=qualified(theirs, key), expression=qualified(mine, key)
                )
                for key in self.keys
            ]
        )


def searchable(node: Aggregate) -> tuple[int, ...]:
    """Return the numbers of the keys of an aggregate that may have an index, from 0."""
    types = {c.name: c.type for c in node.input.columns}
    names = [key.lower() for key in node.keys]
    if "rowid" in names:
        return ()
    return tuple(place for place, key in enumerate(node.keys) if types[key] in INDEXED)


def chosen(writer: Writer, node: Aggregate) -> Search | None:
    """Return how the groups of an aggregate are found, if not by a scan."""
    place = writer.form.search(writer.number(node))
    if place is None or place not in searchable(node):
        return None
    key = node.keys[place]
    return Search(key, tuple(node.keys), key in properties(node.input).not_null)
