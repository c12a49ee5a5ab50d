"""Partial caches: those of the keys that were asked for (thesis, sections 5.3.2 and 5.4.1).

A partial cache has the combinations of a segment for the values of some **keys**: columns of the
segment that equalities of the join link with columns of the inputs whose pipelines use it. A key is
**asked for** when a tuple of one of these begins or ends. It is a hit if the cache knows it, even
if no combination has it; a miss is looked up in the inputs of the segment, and known from then on.

Memory is direct-mapped: a key has one of so many **slots**, by its hash, and takes it from the key
that had it before, whose combinations go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp


class Link(NamedTuple):
    """An equality of two columns of different inputs of a join, of one type.

    Attributes:
        place: An input.
        column: Its column.
        other: The other input.
        theirs: Its column.
    """

    place: int
    column: str
    other: int
    theirs: str


class Asker(NamedTuple):
    """How the tuples of an input ask for keys.

    Attributes:
        columns: The columns that are equal to the keys, in their order.
        conditions: What the tuples have to meet besides, over the columns of the input.
    """

    columns: tuple[str, ...]
    conditions: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class Partial:
    """What a partial cache has.

    Args:
        keys: The columns of its segment whose values are asked for.
        slots: How many keys it has room for.
        askers: How each of the inputs asks whose pipelines use it.
    """

    keys: tuple[str, ...]
    slots: int
    askers: tuple[Asker, ...]


def keys_of(
    links: Iterable[Link], segment: Sequence[int], users: Sequence[int]
) -> dict[str, tuple[str, ...]]:
    """Return the keys by which the pipelines of some inputs ask for combinations of a segment.

    Args:
        links: The equalities of the join, each in both directions.
        segment: The inputs in the segment.
        users: The inputs.

    Returns:
        By column of the segment the column of each user that is equal to it; only those columns to
        which all users have one.

    >>> keys_of([Link(0, "r.a", 1, "s.a"), Link(2, "u.b", 1, "s.b")], (1, 3), (0,))
    {'s.a': ('r.a',)}
    """
    of_users: dict[int, dict[str, str]] = {user: {} for user in users}
    for link in links:
        if link.place in of_users and link.other in segment:
            of_users[link.place].setdefault(link.theirs, link.column)
    found = [of_users[user] for user in users]
    shared = sorted(set.intersection(*map(set, found))) if found else []
    return {column: tuple(mine[column] for mine in found) for column in shared}
