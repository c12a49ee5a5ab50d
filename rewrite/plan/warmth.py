"""Warmth: when it no longer shows at which instant a query began.

A query has of its streams what came after it was registered. Once all of that earlier past would
have left its windows anyway, it holds and yields what it would if it had been there for ever: it is
**warm**. Two warm queries of equal operators at one frontier have equal synopses.
"""

from __future__ import annotations

from cqlduck.rewrite.plan.nodes import Plan, RowWindow, TimeWindow, ToStream, VaryingWindow
from cqlduck.rewrite.plan.traversal import unique
from cqlduck.rewrite.text.time import ZERO, Duration


def warm_after(plan: Plan, of_rows: Duration | None = None) -> Duration | None:
    """Return how many instants after the one behind which it begins a query is warm.

    Args:
        plan: Its plan.
        of_rows: For how long an element in a window in rows alone is taken to matter; None if for
            ever.

    Returns:
        The longest time that an element of a stream matters to it; 0 if it reads relations alone.
        None if that has no bound: a stream stands without a window, or under one in rows; or a
        stream of changes stands under a window, which has a relation's first instant in it.
    """
    below = plan.children[0] if isinstance(plan, ToStream) else plan
    known = [_reach(node, of_rows) for node in unique(below)]
    if None in known:
        return None
    return max((reach for reach in known if reach is not None), default=ZERO)


def _reach(node: Plan, of_rows: Duration | None) -> Duration | None:
    """Return how long an element matters because of one operator; None is for ever."""
    match node:
        case TimeWindow() | VaryingWindow():
            return node.reach
        case RowWindow() if node.slide is None and node.width is not None:
            # of the last rows those that are in the range: what is before it does not matter
            return Duration(node.width + 1 + (node.every or 0))
        case RowWindow():
            return of_rows
        case ToStream():
            return None
    return ZERO
