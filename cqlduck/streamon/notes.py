"""What EXPLAIN says of the points of a query: which option stands, since when, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cqlduck.rewrite import Compiled
from cqlduck.rewrite.plan import Filter, Join, Plan, unique
from cqlduck.rewrite.plan.filters import in_text_order
from cqlduck.rewrite.statements.ordered import Ordered, TableSearch
from cqlduck.state import choices
from cqlduck.state.choices import Change, Choice, Point
from cqlduck.state.connection import Database
from cqlduck.streamon.points import ANSWER, KINDS


def notes(
    database: Database,
    chosen: Mapping[Point, Choice],
    changes: Sequence[Change],
    compiled: Mapping[str, Compiled],
    query: str,
) -> str:
    """Return in lines which option is in force at the points of a query.

    Of what has an order also which things are ordered, by number, and why they are in this order.

    Args:
        database: The database.
        chosen: What is chosen, by point.
        changes: Changes that are not in the log yet.
        compiled: The queries' statements, by lower-case name.
        query: The query.
    """
    lines = []
    for point, choice in sorted(chosen.items(), key=str):
        if point.owner == query:
            about = None
            if KINDS[point.name].example and point.operator is not None:
                about = _about(compiled[query.lower()], point)
                if about is None:
                    # chosen for the other plan of a query that is answered anew
                    continue
            whose = "" if point.operator is None else f" of operator {point.operator}"
            whose += "" if point.input is None else f", input {point.input + 1}"
            ticks = f" in ticks of {point.ticks}" if point.ticks else ""
            lines.append(
                f"-- {point.name}{whose}: {choice.option}{ticks}, chosen by "
                f"{choice.chosen_by}, since tick {choice.since}"
            )
            if about is not None:
                lines += _names(about)
            if about is not None or point.name == ANSWER:
                reason = choices.last_reason(database, point, changes)
                lines += [] if reason is None else [f"--   {reason}"]
    return "\n".join([*lines, *_in_text_order(compiled[query.lower()].plan)])


def _in_text_order(plan: Plan) -> Iterator[str]:
    """Yield in lines which filters keep the order of the text, and why."""
    for number, node in enumerate(unique(plan)):
        found = in_text_order(node) if isinstance(node, (Filter, Join)) else []
        if found:
            raises, *behind = (one.sql("duckdb") for one in found)
            yield f"-- filters of operator {number}: {raises} may raise an error"
            if behind:
                yield f"--   it stays where the text has it, with {', '.join(behind)} behind it"
            else:
                yield "--   it stays where the text has it, behind all others"


def _about(compiled: Compiled, point: Point) -> Ordered | None:
    """Return what is chosen at a point of an operator; None if the plan has no such point."""
    site = point.name, point.operator, point.input
    return next((about for about in compiled.ordered if about.site == site), None)


def _names(about: Ordered) -> Iterator[str]:
    """Yield in lines what is ordered, or the keys that may have an index, by number."""
    for place, text in enumerate(about.names):
        if not isinstance(about, TableSearch) or place in about.keys:
            yield f"--   {place + 1}: {text}"
