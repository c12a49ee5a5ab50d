"""The choices at points, as rows: `cql_state.choices`, and the log of their changes.

A point is a place of a plan, of a stream's input, or of the database where one of several options
runs; `cqlduck.streamon` defines the points and chooses. In this module they are names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cqlduck.errors import DatabaseError
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.connection import Database

DEFAULT, MEASURED, USER = "default", "measured", "user"
"""Who chose an option."""

MAX_LOGGED_CHOICES = 10_000
"""How many changes the log keeps at least."""


class Point(NamedTuple):
    """A point of choice.

    Attributes:
        name: What is chosen, such as 'stages'.
        owner: The query or stream whose it is; None if it is the database's, or any owner's.
        operator: The number of the query's operator, if it is one's.
        ticks: For which ticks it is chosen apart from others; '' if for all. None in a pin that is
            for all points of the name, whatever their ticks.
        input: Of a pipeline of a join, the number of the input that changes, from 0.
    """

    name: str
    owner: str | None = None
    operator: int | None = None
    ticks: str | None = ""
    input: int | None = None


@dataclass(frozen=True)
class Choice:
    """What is chosen at a point.

    Attributes:
        option: The option.
        options: All of them.
        chosen_by: 'default', 'measured' or 'user'.
        since: The number of the first tick with it.
        seconds: What a tick took with each option, as far as it was measured.
    """

    option: str
    options: tuple[str, ...]
    chosen_by: str
    since: int
    seconds: tuple[float | None, ...]


@dataclass(frozen=True)
class Change:
    """A row of the plan log: the option of a point has changed.

    Attributes:
        tick: The number of the first tick with the new one.
        instant: The frontier of the query before that tick, or None.
        point: The point.
        before: The option before.
        after: The option from now on.
        chosen_by: As in `Choice`.
        reason: Why, in words.
        seconds: What a tick took with the one and with the other, if that was measured.
    """

    tick: int
    instant: Instant | None
    point: Point
    before: str
    after: str
    chosen_by: str
    reason: str
    seconds: tuple[float | None, float | None]


def load(database: Database) -> dict[Point, Choice]:
    """Return what is chosen, by point.

    Raises:
        DatabaseError: A row that nobody has written so.
    """
    if database.is_new:
        return {}
    rows = database.rows(
        "SELECT point, owner, operator, ticks, input, option, options, chosen_by, since, seconds "
        "FROM cql_state.choices"
    )
    found = {}
    for *key, option, options, chosen_by, since, seconds in rows:
        point = Point(*key)
        measured = [one for one in seconds if one is not None]
        is_whole = len(options) == len(seconds) and option in options
        if not is_whole or not all(0 <= one < math.inf for one in measured):
            raise DatabaseError(
                f"a row of cql_state.choices of the point {point.name} of {point.owner} is not "
                f"what was written: {option} of {options}, which took {seconds} seconds",
                hint="delete the row in DuckDB; the point then begins with its default option",
            )
        found[point] = Choice(option, tuple(options), chosen_by, since, tuple(seconds))
    return found


def write(database: Database, choices: Mapping[Point, Choice | None]) -> None:
    """Write what is chosen at some points in place of what stands there; None is nothing.

    Args:
        database: The database, inside a transaction.
        choices: What is chosen, by point.
    """
    _remove(database, choices)
    values: list[object] = []
    for point, choice in choices.items():
        if choice is not None:
            values += [*_key(point)[:4], list(choice.options), list(choice.seconds)]
            values += [choice.option, choice.chosen_by, choice.since, point.input]
    if values:
        marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * (len(values) // 10))
        database.execute(f"INSERT INTO cql_state.choices VALUES {marks}", values)


def _remove(database: Database, points: Iterable[Point]) -> None:
    keys = [_key(point) for point in points]
    if keys:
        marks = ", ".join(["(?, ?, ?, ?, ?)"] * len(keys))
        database.execute(
            "DELETE FROM cql_state.choices USING (VALUES "
            f"{marks}) AS gone (point, owner, operator, ticks, input) "
            "WHERE choices.point = gone.point AND choices.owner IS NOT DISTINCT FROM gone.owner "
            "AND choices.operator IS NOT DISTINCT FROM gone.operator "
            "AND choices.ticks IS NOT DISTINCT FROM gone.ticks "
            "AND choices.input IS NOT DISTINCT FROM gone.input",
            [value for key in keys for value in key],
        )


def _key(point: Point) -> tuple[object, ...]:
    return point.name, point.owner, point.operator, point.ticks, point.input


def log(database: Database, changes: Sequence[Change]) -> None:
    """Write changes into the plan log, of which the last are kept.

    Args:
        database: The database, inside a transaction.
        changes: The changes, in their order.
    """
    last = int(database.value("SELECT coalesce(max(number), 0) FROM cql_state.plan_log"))
    values: list[object] = []
    for number, change in enumerate(changes, last + 1):
        values += [number, change.tick, change.instant, *_key(change.point)[:4], change.before]
        values += [change.after, change.chosen_by, change.reason, *change.seconds]
        values += [change.point.input]
    marks = ", ".join(["(" + ", ".join(["?"] * 14) + ")"] * len(changes))
    database.execute(f"INSERT INTO cql_state.plan_log VALUES {marks}", values)
    newest = last + len(changes)
    if newest // 1000 > last // 1000:
        database.execute(
            "DELETE FROM cql_state.plan_log WHERE number <= ?", [newest - MAX_LOGGED_CHOICES]
        )


def last_reason(database: Database, point: Point, unwritten: Sequence[Change]) -> str | None:
    """Return why the option of a point was changed last, or None if it never was.

    Args:
        database: The database.
        point: The point.
        unwritten: The changes that are not in the log yet.
    """
    for change in reversed(unwritten):
        if change.point == point:
            return change.reason
    rows = database.rows(
        "SELECT reason FROM cql_state.plan_log WHERE point = ? AND owner IS NOT DISTINCT FROM ? "
        "AND operator IS NOT DISTINCT FROM ? AND ticks IS NOT DISTINCT FROM ? "
        "AND input IS NOT DISTINCT FROM ? ORDER BY number DESC LIMIT 1",
        list(_key(point)),
    )
    return rows[0][0] if rows else None


def forget(database: Database, owner: str, *, keeps_pins: bool = False) -> None:
    """Remove what was chosen for a query or stream, and its part of the log.

    Args:
        database: The database, inside a transaction.
        owner: The query or stream.
        keeps_pins: Whether what a user wants of it stays: that is of ticks of all sizes.
    """
    some = " AND ticks IS NOT NULL" if keeps_pins else ""
    database.execute(f"DELETE FROM cql_state.choices WHERE owner = ?{some}", [owner])
    database.execute("DELETE FROM cql_state.plan_log WHERE owner = ?", [owner])


def show(database: Database, texts: Mapping[str, Mapping[int, str]]) -> None:
    """Have `cql.operators` show other statements.

    Args:
        database: The database, inside a transaction.
        texts: Of queries the text of each operator that has statements.
    """
    listed = [(q, n, text) for q, mine in texts.items() for n, text in mine.items()]
    if listed:
        queries, numbers, shown = (list(column) for column in zip(*listed, strict=True))
        database.execute(
            "UPDATE cql_state.operators AS o SET sql = n.sql FROM (SELECT unnest($queries) AS "
            "query, unnest($numbers) AS number, unnest($texts) AS sql) AS n "
            "WHERE o.query = n.query AND o.number = n.number",
            {"queries": queries, "numbers": numbers, "texts": shown},
        )
