"""Rows that two queries hold for windows in rows alone: when they are the same, and may be copied.

A window in rows forgets an element when as many others have come, however long that takes. So no
number of instants says when it no longer shows when a query began (`plan.warmth`); that its
synopsis has the same rows as that of an older query does. From then on both have the same window.
Its content cannot be had from the store, which is cut: another plan takes it over from theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cqlduck.rewrite.physical.identity import identity
from cqlduck.rewrite.physical.statement import Synopsis
from cqlduck.rewrite.plan import Plan, RowWindow, properties, unique
from cqlduck.rewrite.statements.choose import appointed
from cqlduck.rewrite.statements.compiled import Compiled
from cqlduck.rewrite.text.time import Clock


@dataclass(frozen=True)
class RowSynopsis:
    """The synopsis of a window in rows alone.

    Attributes:
        id: The id of the window.
        synopsis: Its synopsis.
        columns: The columns of the synopsis, by what they mean; those of its own by their names.
    """

    id: str
    synopsis: Synopsis
    columns: Mapping[str, str]


def can_be_compared(plan: Plan) -> bool:
    """Return whether windows of equal rows say the same, now and later.

    Not if they slide by rows, which are counted from the first one; nor of a derived stream, whose
    elements each query numbers for itself.
    """
    return all(w.slide is None and properties(w.input).is_numbered for w in _alone(plan))


def row_synopses(query: str, compiled: Compiled, clock: Clock) -> Sequence[RowSynopsis]:
    """Return what a query keeps for its windows in rows alone.

    Args:
        query: The name of the query.
        compiled: Its plan.
        clock: The clock.
    """
    writer = appointed(query, compiled.plan, clock)
    known = {synopsis.name: synopsis for synopsis in compiled.synopses}
    found = []
    for window in _alone(writer.plan):
        synopsis = known.get(writer.table(window, "rows"))
        if synopsis is not None:
            its = identity(window)
            columns = {its.meanings.get(c.name, c.name): c.name for c in synopsis.columns}
            found.append(RowSynopsis(its.id, synopsis, columns))
    return found


def _alone(plan: Plan) -> Iterator[RowWindow]:
    """Yield the windows in rows that no range bounds."""
    for node in unique(plan):
        if isinstance(node, RowWindow) and node.width is None:
            yield node
