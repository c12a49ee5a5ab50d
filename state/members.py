"""What the members of a family show of it, as SQL over its log or its answer."""

from __future__ import annotations

from cqlduck.rewrite.text.shapes import MEMBER
from cqlduck.state.connection import quoted
from cqlduck.state.registered import Query


def conditions(member: Query) -> list[str]:
    """Return the conditions of the tuples of a family that a member shows."""
    number = [] if member.member is None else [f"{MEMBER} = {member.member}"]
    return [*number, *map(quoted, member.selection)]


def columns(member: Query) -> str:
    """Return the columns of a family that a member shows, under its own names."""
    pairs = zip(member.projected, member.columns, strict=True)
    return ", ".join(
        quoted(c.name) if name == c.name else f"{quoted(name)} AS {quoted(c.name)}"
        for name, c in pairs
    )


def unchanged(member: Query, log: str, instant: str) -> list[str]:
    """Return the condition that a tuple does not leave and return at an instant.

    That is so where another column of the family has changed than those that a member shows.

    Args:
        member: The member.
        log: The log of its family.
        instant: The instant.
    """
    if not member.projection:
        return []
    row = f"row({', '.join(map(quoted, member.projected))})"
    own = " AND ".join([f"_ts = {instant} AND _weight < 0", *conditions(member)])
    left = f"SELECT list({row}) FROM {log} WHERE {own}"
    return [f"NOT coalesce(list_contains(({left}), {row}), false)"]
