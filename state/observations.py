"""What the re-optimizer decided, and under which statistics: `cql_state.observations`.

A row is an entry ⟨t, S, P⟩ of the plan log of the thesis (section 7.1): at instant t, under the
statistics S, option P was picked. Besides, what it was expected to take, what it then took, and
what other options would have cost by the same model. The log is thinned: of each point at most
`MAX_OBSERVATIONS` rows stay, and of what is older than half of them every second one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cqlduck.errors import DatabaseError
from cqlduck.rewrite.text.time import Instant
from cqlduck.state.choices import Point
from cqlduck.state.connection import Database

MAX_OBSERVATIONS = 256
"""How many observations of a point are stored at most, but for those of the last thinning."""

THINNED_EVERY = 64
"""After how many observations they are counted."""

STAYS, CONFIRMED, RETURNED = "stays", "confirmed", "taken back"
UNDECIDED = "little to gain"
"""What became of the option: it stood and nothing was better, it was chosen and confirmed, or it
was not; or it stood, and what is better saves too little to be worth a switch."""


@dataclass(frozen=True)
class Observation:
    """What was decided at a point.

    Attributes:
        statistics: S, such as which part of all tuples each filter drops; all about 0 to 1.
        option: P, the option that was picked.
        outcome: What became of it: `STAYS`, `CONFIRMED`, `RETURNED` or `UNDECIDED`.
        before: Seconds for an element with the option before, if they were measured.
        expected: Seconds for an element with this one as modelled, if that is known.
        measured: The same as measured, if it was.
        costs: By option what it costs by the model, in the unit of the kind of point.
    """

    statistics: tuple[float, ...]
    option: str
    outcome: str
    before: float | None = None
    expected: float | None = None
    measured: float | None = None
    costs: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_won(self) -> bool:
        """Whether the option was right under these statistics, as far as was seen."""
        return self.outcome in (STAYS, CONFIRMED)


@dataclass(frozen=True)
class Noted:
    """An observation with when and where it was made.

    Attributes:
        tick: The number of the tick before which it was made.
        instant: The frontier of the query before that tick, or None.
        point: The point.
        seen: What was decided.
    """

    tick: int
    instant: Instant | None
    point: Point
    seen: Observation


def load(database: Database, last: int) -> dict[Point, list[Observation]]:
    """Return the last observations of each point, in their order.

    Args:
        database: The database.
        last: How many of each point.

    Raises:
        DatabaseError: A row that nobody has written so.
    """
    if database.is_new:
        return {}
    found: dict[Point, list[Observation]] = {}
    for (
        *key,
        statistics,
        option,
        outcome,
        before,
        expected,
        measured,
        options,
        costs,
    ) in database.rows(
        "SELECT point, owner, operator, ticks, input, statistics, option, outcome, before, "
        "expected, measured, options, costs FROM cql_state.observations "
        "QUALIFY row_number() OVER (PARTITION BY point, owner, operator, ticks, input "
        f"ORDER BY number DESC) <= {last} ORDER BY number"
    ):
        point = Point(*key)
        if len(options) != len(costs) or None in (*statistics, *options, *costs):
            raise DatabaseError(
                f"a row of cql_state.observations of the point {point.name} of {point.owner} is "
                "not what was written: a statistic or a cost is missing",
                hint="delete the rows of the point in DuckDB; it then decides without them",
            )
        seen = Observation(
            tuple(statistics), option, outcome, before, expected, measured,
            dict(zip(options, costs, strict=True)),
        )  # fmt: skip
        found.setdefault(point, []).append(seen)
    return found


def write(database: Database, noted: Sequence[Noted]) -> None:
    """Write observations behind those that are there, and thin these now and then.

    Args:
        database: The database, inside a transaction.
        noted: The observations, in their order; at least one.
    """
    last = int(database.value("SELECT coalesce(max(number), 0) FROM cql_state.observations"))
    values: list[object] = []
    for number, one in enumerate(noted, last + 1):
        point, seen = one.point, one.seen
        values += [number, one.tick, one.instant]
        values += [point.name, point.owner, point.operator, point.ticks, point.input]
        values += [list(seen.statistics), seen.option, seen.outcome]
        values += [seen.before, seen.expected, seen.measured]
        values += [list(seen.costs), list(seen.costs.values())]
    marks = ", ".join(["(" + ", ".join(["?"] * 16) + ")"] * len(noted))
    database.execute(f"INSERT INTO cql_state.observations VALUES {marks}", values)
    if (last + len(noted)) // THINNED_EVERY > last // THINNED_EVERY:
        _thin(database)


def _thin(database: Database) -> None:
    """Of points with too many observations delete every second one of the older ones."""
    database.execute(
        "DELETE FROM cql_state.observations WHERE number IN (SELECT number FROM (SELECT number, "
        "row_number() OVER of_point AS place, count(*) OVER (PARTITION BY point, owner, operator, "
        "ticks, input) AS rows FROM cql_state.observations WINDOW of_point AS (PARTITION BY point, "
        "owner, operator, ticks, input ORDER BY number)) AS placed "
        f"WHERE rows > {MAX_OBSERVATIONS} AND place <= rows - {MAX_OBSERVATIONS // 2} "
        "AND place % 2 = 0)"
    )


def forget(database: Database, owner: str) -> None:
    """Remove what was observed of a query or stream; inside a transaction."""
    database.execute("DELETE FROM cql_state.observations WHERE owner = ?", [owner])


def of_owner(noted: Iterable[Noted], owner: str) -> tuple[Noted, ...]:
    """Return observations without those of a query or stream."""
    return tuple(one for one in noted if one.point.owner != owner)
