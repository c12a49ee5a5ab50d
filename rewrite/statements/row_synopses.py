"""Rows that two queries hold for windows in rows: when they are the same, and may be copied.

A window in rows alone, without a range, forgets an element when as many others have come, however
long that takes. So no number of instants says when it no longer shows when a query began
(`plan.warmth`); that its synopsis has the same rows as that of an older query does. From then on
both have the same window.
The content of any window in rows cannot be had from the store, which is cut: another plan takes it
over from theirs. Rows that only one of them has are out of the range of the window.
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
    """The synopsis of a window in rows.

    Attributes:
        id: The id of the window.
        synopsis: Its synopsis.
        meanings: What the columns of the synopsis mean; of those of its own that is their name.
        is_alone: Whether the window has no range.
    """

    id: str
    synopsis: Synopsis
    meanings: Mapping[str, str]
    is_alone: bool


def can_be_compared(plan: Plan) -> bool:
    """Return whether windows of equal rows say the same, now and later.

    Not if they slide by rows, which are counted from the first one; nor of a derived stream, whose
    elements each query numbers for itself.
    """
    alone = [window for window in _windows(plan) if window.width is None]
    return all(one.slide is None and properties(one.input).is_numbered for one in alone)


def row_synopses(query: str, compiled: Compiled, clock: Clock) -> Sequence[RowSynopsis]:
    """Return what a query keeps for its windows in rows.

    Args:
        query: The name of the query.
        compiled: Its plan.
        clock: The clock.
    """
    writer = appointed(query, compiled.plan, clock)
    known = {synopsis.name: synopsis for synopsis in compiled.synopses}
    found = []
    for window in _windows(writer.plan):
        synopsis = known.get(writer.table(window, "rows"))
        if synopsis is not None:
            its = identity(window)
            meanings = {c.name: its.meanings.get(c.name, c.name) for c in synopsis.columns}
            found.append(RowSynopsis(its.id, synopsis, meanings, window.width is None))
    return found


def _windows(plan: Plan) -> Iterator[RowWindow]:
    """Yield the windows in rows."""
    for node in unique(plan):
        if isinstance(node, RowWindow):
            yield node
